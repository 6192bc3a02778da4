"""Figures 6-10 of the paper as experiments; the paper's plots are lost, so some axes are ours."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.generate import generate
from schedgap.models.figure import Experiment, bars, curves, said

POLICIES = {"PD-ORS": "pd-ors", "FIFO": "fifo", "DRF": "drf", "Dorm": "dorm"}
COLOCATION = {"PD-ORS": "pd-ors", "OASiS": "oasis"}
JOBS = (10, 20, 30, 40, 50)
MACHINES = (10, 25, 50, 75, 100)
LONG_HORIZON_MACHINES = (10, 20, 30, 40, 50)  # machines of Figure 9


def experiments(
    seeds: Sequence[int] = (0, 1, 2),
    jobs: Sequence[int] = JOBS,
    machines: Sequence[int] = MACHINES,
    long_machines: Sequence[int] = LONG_HORIZON_MACHINES,
    long_jobs: int = 100,
    quick: bool = False,
) -> list[Experiment]:
    """Return Figures 6-10 on the paper's workload, with several draws of each.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the instances.
    jobs, machines : sequence of int
        Their numbers along the axes. Where one does not vary it is the last number; Figure 8 has
        half of the last number of machines.
    long_machines : sequence of int
        Numbers of machines in Figure 9, over 80 slots; Figure 10 has the middle one.
    long_jobs : int
        Number of jobs in Figures 9 and 10.
    """

    @cache
    def drawn(seed: int, jobs: int, machines: int, horizon: int = 20) -> DmlrsInstance:
        settings = {"jobs": jobs, "machines": machines, "horizon": horizon}
        instance = generate("dmlrs", preset="paper", seed=seed, settings=settings)
        assert isinstance(instance, DmlrsInstance)
        return instance

    half = max(1, machines[-1] // 2)
    shared: dict[str, Any] = {
        "seeds": seeds, "family": "dmlrs", "objective": "total utility",
        "brackets": ("fluid-lp", "colgen-heuristic"),
    }  # fmt: skip
    curve = partial(curves, **shared)
    claim = "to have both on one machine can raise the utility"
    return [
        curve(figure="6", title="Four policies by the number of machines", x="machines",
              claims=said("PD-ORS is best"), values=machines, methods=POLICIES,
              make=lambda seed, x: drawn(seed, jobs[-1], x)),
        curve(figure="7", title="Four policies by the number of jobs", x="jobs",
              claims=said("PD-ORS is best"), values=jobs, methods=POLICIES,
              make=lambda seed, x: drawn(seed, x, machines[-1])),
        curve(figure="8", title="Workers and parameter servers together or apart, by jobs",
              x="jobs", claims=said(claim), values=jobs, methods=COLOCATION,
              make=lambda seed, x: drawn(seed, x, half)),
        curve(figure="9", title="Workers and parameter servers together or apart, by machines",
              x="machines", claims=said(claim), values=long_machines, methods=COLOCATION,
              make=lambda seed, x: drawn(seed, long_jobs, x, 80)),
        bars(figure="10", title="Utility, delays and admissions of all policies", x="policy",
             claims=said("no number of it is known"), methods={**POLICIES, **COLOCATION},
             make=lambda seed: drawn(seed, long_jobs, long_machines[len(long_machines) // 2], 80),
             metrics=("median delay", "admitted jobs"), **shared),
    ]  # fmt: skip
