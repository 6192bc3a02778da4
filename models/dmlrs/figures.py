"""Figures 6-10 of the paper as experiments, and two of ours on prices and gain.

`claims.toml` has the claims. Our copy of the paper is a reader's notes. The notes keep the settings
of the figures, one sentence on OASiS, and some ticks of Figure 7. The plots and what the text
concludes from them are lost. Claims that only the captions imply say so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.generate import generate
from schedgap.models.claims import load_claims, with_claims
from schedgap.models.figure import (
    Draw,
    Experiment,
    MissingValueError,
    Named,
    bars,
    curves,
    percent_above,
)

BASELINES = ("FIFO", "DRF", "Dorm")
POLICIES = {"PD-ORS": "pd-ors", "FIFO": "fifo", "DRF": "drf", "Dorm": "dorm"}
COLOCATION = {"PD-ORS": "pd-ors", "OASiS": "oasis"}
PRICED = "PD-ORS, greedy placements (ours)"
GREEDY = {PRICED: "pd-ors-greedy"}
JOBS = (10, 20, 30, 40, 50)
MACHINES = (10, 25, 50, 75, 100)
LONG_HORIZON_MACHINES = (10, 20, 30, 40, 50)  # machines of Figure 9
QUICK: dict[str, Any] = {  # the paper's sizes divided by 6.25, at most
    "jobs": (2, 5, 8), "machines": (4, 8, 16), "long_machines": (2, 4, 8), "long_jobs": 16,
}  # fmt: skip
FLOOR = 0.001  # L of the scan; (14) gives about 1e-11, our lower limit (E25)
FLOORS = (0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2)  # lower limits on L; 0: L from (14)
GAINS = ("one", "packing", "cover")
PAPER_JOBS = 50  # number of jobs in Figure 7
FINISHED, ALL_JOBS = "median delay", "median delay, T if unfinished"
MACHINE = {"gpu": 16, "cpu": 96, "memory": 384, "storage": 200}  # capacities of the preset
WORKLOADS: dict[str, dict[str, Any]] = {  # other readings of what the paper does not state
    "capacity = 2": {f"capacity_{name}": 2 * amount for name, amount in MACHINE.items()},
    "arrivals = slot 1": {"arrive_within": 1},
    "arrivals = first half": {"arrive_within": 50},
    "links = 0.1 to 1 Gbps": {"external": "100-1000"},
    "links = 10 Gbps": {"external": "10000-10000"},
}


def experiments(
    seeds: Sequence[int] = range(10),
    jobs: Sequence[int] = JOBS,
    machines: Sequence[int] = MACHINES,
    long_machines: Sequence[int] = LONG_HORIZON_MACHINES,
    long_jobs: int = 100,
    *,
    quick: bool = False,
) -> list[Experiment]:
    """Return Figures 6-10 on the paper's workload, and ours, with several draws of each.

    L, the lower end of the prices, decides the order of the policies. So Figures 6-10 exist twice,
    with L from (14) and with L = 0.001. At these utilities, the L of (14) is our lower limit (E11,
    E25). Figure 8 also exists with U and L from all jobs, as (13) and (14) are printed. What the
    paper does not state of the workload is scanned: capacities and arrivals in Figures 6-8. In
    Figure 8, the speed of the links between machines is scanned too, because co-location saves
    these links.

    `seeds`: seeds of the instances, one draw each. `jobs`, `machines`: their numbers along the
    axes. Where one does not vary it is the last number; Figure 8 has half of the last number of
    machines. `long_machines`: numbers of machines in Figure 9, over 80 slots; Figure 10 has the
    middle one. `long_jobs`: number of jobs in Figures 9 and 10. `quick`: whether to divide the
    paper's sizes by 6.25, with three positions on each axis and brackets that take little time.
    """
    if quick:
        jobs, machines = QUICK["jobs"], QUICK["machines"]
        long_machines, long_jobs = QUICK["long_machines"], QUICK["long_jobs"]
    figures = _figures(seeds, jobs, machines, long_machines, long_jobs, quick)
    return with_claims(figures, CLAIMS)


def _figures(
    seeds: Sequence[int], jobs: Sequence[int], machines: Sequence[int],
    long_machines: Sequence[int], long_jobs: int, quick: bool,
) -> Iterator[Experiment]:  # fmt: skip
    """Yield all figures; `experiments` explains the parameters."""

    @cache
    def drawn(
        seed: int, jobs: int, machines: int, horizon: int = 20, workload: str = ""
    ) -> DmlrsInstance:
        settings = {"jobs": jobs, "machines": machines, "horizon": horizon}
        settings |= WORKLOADS.get(workload, {})
        instance = generate("dmlrs", preset="paper", seed=seed, settings=settings)
        assert isinstance(instance, DmlrsInstance)
        return instance

    half, middle = max(1, machines[-1] // 2), long_machines[len(long_machines) // 2]
    same: dict[str, Any] = {
        "seeds": seeds, "family": "dmlrs", "objective": "total utility", "time_limit": 3600.0,
        "brackets": ("fluid-lp", "density" if quick else "colgen-heuristic:moves=2000"),
        "quick": quick,
    }  # fmt: skip

    apart = "Workers and parameter servers together or apart, by"
    axes: dict[str, tuple[str, str, Sequence[Any], Callable[[Any], tuple[int, ...]]]] = {
        "6": ("Four policies by the number of machines", "machines", machines,
              lambda x: (jobs[-1], x)),
        "7": ("Four policies by the number of jobs", "jobs", jobs, lambda x: (x, machines[-1])),
        "8": (f"{apart} jobs", "jobs", jobs, lambda x: (x, half)),
        "9": (f"{apart} machines", "machines", long_machines, lambda x: (long_jobs, x, 80)),
        "price": ("Prices from a lower limit on L (ours)", "lower limit on L", FLOORS,
                  lambda x: (jobs[-1], half)),
        "gain": ("G_delta, the gain before the rounding (ours)", "gain", GAINS,
                 lambda x: (jobs[len(jobs) // 2], half)),
    }  # fmt: skip

    def figure(
        number: str, methods: Mapping[str, Named], workload: str = "", **more: Any
    ) -> Experiment:
        title, x, values, sizes = axes[number]
        return curves(
            figure=number, title=title, x=x, values=values, methods=methods,
            make=lambda seed, at: drawn(seed, *sizes(at), workload=workload), **same | more,
        )  # fmt: skip

    for floor in (None, FLOOR):
        setting = {} if floor is None else {"L": floor}
        greedy = GREEDY if floor is None else {}
        for number in ("6", "7", "8", "9"):
            printed = POLICIES if number in ("6", "7") else COLOCATION
            yield figure(number, _at(floor, printed) | greedy, setting=setting)
        yield bars(
            figure="10", title="Utility, delays and admissions of all policies", x="policy",
            methods=_at(floor, POLICIES | COLOCATION), setting=setting,
            make=lambda seed: drawn(seed, long_jobs, middle, 80),
            metrics=(FINISHED, ALL_JOBS, "admitted jobs"), **same,
        )  # fmt: skip
    oracle = {name: f"{method}:prices=oracle" for name, method in COLOCATION.items()}
    yield figure("8", oracle, setting={"prices": "all jobs"})
    for workload in WORKLOADS:
        key, _, value = workload.partition(" = ")
        scan: dict[str, Any] = {"setting": {key: value}, "brackets": ()}
        if key != "links":
            yield figure("6", POLICIES, workload, **scan)
            yield figure("7", POLICIES, workload, **scan)
        yield figure("8", COLOCATION, workload, **scan)
    yield figure("price", {PRICED: _floored("pd-ors-greedy"), "OASiS": _floored("oasis")})
    gain = f"pd-ors:gain={{}}:delta=0.5:price_floor={FLOOR}"
    yield figure("gain", {"PD-ORS": lambda instance, x: gain.format(x)})


def _at(floor: float | None, methods: Mapping[str, str]) -> dict[str, str]:
    """Return methods, those with prices at a lower limit of L."""
    if floor is None:
        return dict(methods)
    priced = ("pd-ors", "oasis")
    return {
        name: f"{method}:price_floor={floor}" if method in priced else method
        for name, method in methods.items()
    }


def _floored(method: str) -> Named:
    """Return a method with the lower limit on L at each position of the axis."""
    return lambda instance, x: f"{method}:price_floor={x:g}" if x else method


# --- measures of claims ----------------------------------------------------------------------


def largest_for_50_jobs(draw: Draw) -> float:
    """Return the largest utility of a policy with the most jobs, in proportion for 50 jobs."""
    x = draw.xs[-1]
    return max(draw.value(series, x) for series in POLICIES) * PAPER_JOBS / float(x)


def sum_gain(draw: Draw) -> float:
    """Return by how many percent PD-ORS earns more than OASiS in the sum over the axis."""
    return percent_above(*(sum(draw.curve(name)) for name in COLOCATION))


def median_excess(draw: Draw, measure: str) -> float:
    """Return by how many percent the median of PD-ORS is above the least of the others.

    Medians that are all equal, such as T, compare nothing.
    """
    own, *rest = (draw.value(name, measure=measure) for name in POLICIES | COLOCATION)
    if {*rest} == {own}:
        raise MissingValueError(f"{measure}: the same for all policies")
    return percent_above(own, min(rest))


def best_floor_excess(draw: Draw) -> float:
    """Return by how many percent the best larger L earns more than L of (14)."""
    own, *others = (draw.value(PRICED, x) for x in FLOORS)
    return percent_above(max(others), own)


def gain_excess(draw: Draw) -> float:
    """Return by how many percent the better gain earns more than none."""
    plain, *gains = (draw.value("PD-ORS", x) for x in GAINS)
    return percent_above(max(gains), plain)


CLAIMS = load_claims(
    Path(__file__).with_name("claims.toml"), largest_for_50_jobs, sum_gain, median_excess,
    best_floor_excess, gain_excess,
)  # fmt: skip
