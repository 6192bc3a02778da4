"""Figures 12 and 14-19 of the paper as experiments; its other figures show measurements."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance
from schedgap.models.figure import Experiment, bars, curves, said

HARE = {"Hare": "hare-fluid", "Hare, finish": "hare-fluid:gpu_rule=finish"}
SCHEMES = {
    **HARE,
    "Gavel_FIFO": "gavel-fifo",
    "SRTF": "srtf",
    "Sched_Homo": "sched-homo",
    "Sched_Allox": "sched-allox",
}
GPUS, JOBS = (80, 120, 160, 200, 240), (100, 150, 200, 250, 300)
MIXES = ("low", "middle", "high")
CLASSES = ("CV", "NLP", "Speech", "Rec")
SHARES = (0.25, 0.35, 0.45, 0.55)
BANDWIDTHS, FACTORS = (10, 15, 20, 25), (0.5, 1, 2, 4)


def experiments(
    seeds: Sequence[int] = (0, 1, 2),
    gpus: Sequence[int] = GPUS,
    jobs: Sequence[int] = JOBS,
    testbed_jobs: int = 40,
    quick: bool = False,
) -> list[Experiment]:
    """Return the experiments behind the figures, on instances drawn from the paper's workload.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the instances; each figure shows means over them.
    gpus, jobs : sequence of int
        Numbers of GPUs and of jobs along the axes; a figure that varies another quantity uses the
        middle entry.
    testbed_jobs : int
        Number of jobs of Figure 12, on 15 GPUs.

    Notes
    -----
    Source: Section 7. Hare is represented by `hare-fluid`, because the paper's relaxation cannot be
    solved at this scale: once with the GPU that is free first, as printed, and once (ours) with
    the GPU that finishes the task first.
    """

    @cache
    def drawn(seed: int, preset: str = "paper", **more: object) -> HareInstance:
        usual = {"gpus": gpus[len(gpus) // 2], "jobs": jobs[len(jobs) // 2]}
        settings = (usual if preset == "paper" else {}) | more
        made = generate("hare", preset=preset, seed=seed, settings=settings)
        assert isinstance(made, HareInstance)
        return made

    def share_of(name: str) -> Callable[[int, float], HareInstance]:
        return lambda seed, x: drawn(seed, shares=f"{name}:{x}")

    same: dict[str, Any] = {
        "seeds": seeds, "family": "hare", "objective": "weighted completion time",
        "brackets": ("lagrangian", "local-search"),
    }  # fmt: skip
    curve = partial(curves, **same)
    return [
        bars(figure="12", title="Schemes on the testbed", x="scheme",
             claims=said("Hare is lower by 47.6 % to 75.3 %"), methods=SCHEMES,
             make=lambda seed: drawn(seed, preset="testbed", jobs=testbed_jobs), **same),
        curve(figure="14", title="Schemes by the number of GPUs", x="GPUs",
              claims=said(
                  "it falls; Sched_Allox takes about twice what Hare does, Gavel_FIFO is worst"),
              values=gpus, make=lambda seed, x: drawn(seed, gpus=x), methods=SCHEMES),
        curve(figure="15", title="Schemes by the number of jobs", x="jobs",
              claims=said("at 300 jobs Hare is lower by 54.6 % to 80.5 %"),
              values=jobs, make=lambda seed, x: drawn(seed, jobs=x), methods=SCHEMES),
        curve(figure="16", title="Schemes by how unlike the GPUs are", x="heterogeneity",
              claims=said("the differences grow; Sched_Homo is close to Hare where it is low"),
              values=MIXES, make=lambda seed, x: drawn(seed, mix=x), methods=SCHEMES),
        *(
            curve(figure=f"17-{of}", title=f"Hare by the share of jobs of class {of}", x="share",
                  claims=said("more NLP jobs raise it, more recommenders lower it"), values=SHARES,
                  make=share_of(of), methods=HARE)
            for of in CLASSES
        ),
        curve(figure="18", title="Schemes by the bandwidth", x="Gbit/s",
              claims=said("Hare falls by 31.2 % from 10 to 25 Gbit/s"), values=BANDWIDTHS,
              make=lambda seed, x: drawn(seed, bandwidth=x), methods=SCHEMES),
        curve(figure="19", title="Schemes by the batch size", x="batch, in its default",
              claims=said("only Sched_Homo reacts"), values=FACTORS,
              make=lambda seed, x: drawn(seed, batch_factor=x), methods=SCHEMES),
    ]  # fmt: skip
