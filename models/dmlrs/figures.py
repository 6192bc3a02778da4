"""Figures 6-10 of the paper as experiments; its plots are lost, some axes are ours."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.generate import generate
from schedgap.models.figure import Experiment, bars, curves

POLICIES = {"PD-ORS": "pd-ors", "FIFO": "fifo", "DRF": "drf", "Dorm": "dorm"}
PLACING = {"PD-ORS": "pd-ors", "OASiS": "oasis"}
JOBS = (10, 20, 30, 40, 50)
MACHINES = (10, 25, 50, 75, 100)
LONG = (10, 20, 30, 40, 50)  # machines of Figure 9


def experiments(
    seeds: Sequence[int] = (0, 1, 2),
    jobs: Sequence[int] = JOBS,
    machines: Sequence[int] = MACHINES,
    long: Sequence[int] = LONG,
    many: int = 100,
) -> list[Experiment]:
    """Return Figures 6-10 on the paper's workload, some draws of each.

    Parameters
    ----------
    seeds : sequence
        Of the instances.
    jobs, machines : sequence
        Their numbers along the axes; where one does not vary, the last, but half of the machines
        in Figure 8.
    long, many : sequence, int
        Machines and jobs of Figure 9, over 80 slots; Figure 10 has the machines in the middle.
    """

    @cache
    def drawn(seed: int, jobs: int, machines: int, horizon: int = 20) -> DmlrsInstance:
        settings = {"jobs": jobs, "machines": machines, "horizon": horizon}
        made = generate("dmlrs", preset="paper", seed=seed, settings=settings)
        assert isinstance(made, DmlrsInstance)
        return made

    half = max(1, machines[-1] // 2)
    same: dict[str, Any] = {
        "seeds": seeds, "family": "dmlrs", "objective": "total utility",
        "brackets": ("fluid-lp", "colgen-heuristic"),
    }  # fmt: skip
    curve = partial(curves, **same)
    apart = "to have both on one machine can raise the utility"
    return [
        curve(figure="6", title="Four policies by the number of machines", x="machines",
              claim="PD-ORS is best", values=machines, methods=POLICIES,
              make=lambda seed, x: drawn(seed, jobs[-1], x)),
        curve(figure="7", title="Four policies by the number of jobs", x="jobs",
              claim="PD-ORS is best", values=jobs, methods=POLICIES,
              make=lambda seed, x: drawn(seed, x, machines[-1])),
        curve(figure="8", title="Workers and parameter servers together or apart, by jobs",
              x="jobs", claim=apart, values=jobs, methods=PLACING,
              make=lambda seed, x: drawn(seed, x, half)),
        curve(figure="9", title="Workers and parameter servers together or apart, by machines",
              x="machines", claim=apart, values=long, methods=PLACING,
              make=lambda seed, x: drawn(seed, many, x, 80)),
        bars(figure="10", title="Utility, delays and admissions of all policies", x="policy",
             claim="no number of it is known", methods={**POLICIES, **PLACING},
             make=lambda seed: drawn(seed, many, long[len(long) // 2], 80),
             metrics=("median delay", "admitted jobs"), **same),
    ]  # fmt: skip
