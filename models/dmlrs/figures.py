"""Figures 6-10 of the paper as experiments, and two of ours on prices and gain.

Our copy of the paper is a reader's notes: they keep the settings of the figures, one sentence on
OASiS, and some ticks of Figure 7. The plots and what the text concludes from them are lost. Claims
that only the captions imply say so.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.generate import generate
from schedgap.models.figure import (
    Claim,
    Draw,
    Experiment,
    MissingValueError,
    apart,
    bars,
    best,
    curves,
    parts,
)

BASELINES = ("FIFO", "DRF", "Dorm")
POLICIES = {"PD-ORS": "pd-ors", "FIFO": "fifo", "DRF": "drf", "Dorm": "dorm"}
COLOCATION = {"PD-ORS": "pd-ors", "OASiS": "oasis"}
GREEDY = {"PD-ORS, greedy placements (ours)": "pd-ors-greedy"}
JOBS = (10, 20, 30, 40, 50)
MACHINES = (10, 25, 50, 75, 100)
LONG_HORIZON_MACHINES = (10, 20, 30, 40, 50)  # machines of Figure 9
QUICK: dict[str, Any] = {  # the paper's sizes divided by 6.25, at most
    "jobs": (2, 5, 8), "machines": (4, 8, 16), "long_machines": (2, 4, 8), "long_jobs": 16,
}  # fmt: skip
FLOOR = 0.001  # L of the scan; (14) gives about 1e-11, our lower limit (E25)
FLOORS = (0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2)  # lower limits on L; 0: L from (14)
GAINS = ("one", "packing", "cover")
TOP_TICK, PAPER_JOBS = 1200, 50  # of Figure 7
FINISHED, ALL_JOBS = "median delay", "median delay, T if unfinished"

_LOST = "our copy of the paper keeps neither the plot nor the text's conclusion"
IMPLIED = " (implied by the caption)"
_CAPTION = "implied by the caption; our copy of the paper states no order"


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

    L, the lower end of the prices, decides the order of the policies, so Figures 6-10 exist twice:
    with L from (14), which is our lower limit at these utilities (E11, E25), and with L = 0.001.
    Figure 8 also exists with U and L from all jobs, as (13) and (14) are printed. What the paper
    does not state of the workload is scanned: capacities and arrivals in Figures 6-8, and in Figure
    8 how fast the links between machines are, which is what co-location saves.

    `seeds`: seeds of the instances, one draw each. `jobs`, `machines`: their numbers along the
    axes. Where one does not vary it is the last number; Figure 8 has half of the last number of
    machines. `long_machines`: numbers of machines in Figure 9, over 80 slots; Figure 10 has the
    middle one. `long_jobs`: number of jobs in Figures 9 and 10. `quick`: whether to divide the
    paper's sizes by 6.25, with three positions on each axis and brackets that take little time.
    """
    if quick:
        jobs, machines = QUICK["jobs"], QUICK["machines"]
        long_machines, long_jobs = QUICK["long_machines"], QUICK["long_jobs"]

    @cache
    def drawn(
        seed: int, jobs: int, machines: int, horizon: int = 20, workload: str = ""
    ) -> DmlrsInstance:
        settings = {"jobs": jobs, "machines": machines, "horizon": horizon}
        settings |= WORKLOADS.get(workload, {})
        instance = generate("dmlrs", preset="paper", seed=seed, settings=settings)
        assert isinstance(instance, DmlrsInstance)
        return instance

    half = max(1, machines[-1] // 2)
    middle = long_machines[len(long_machines) // 2]
    shared: dict[str, Any] = {
        "seeds": seeds, "family": "dmlrs", "objective": "total utility", "time_limit": 3600.0,
        "brackets": ("fluid-lp", "density" if quick else "colgen-heuristic:moves=2000"),
        "quick": quick,
    }  # fmt: skip
    curve = partial(curves, **shared)

    def versus_oasis(**figure: Any) -> Experiment:
        title = f"Workers and parameter servers together or apart, by {figure['x']}"
        return curve(title=title, **figure)

    def at(workload: str) -> Iterator[Experiment]:
        """Yield Figures 6-8 with a workload that the paper's text admits too."""
        key, _, value = workload.partition(" = ")
        made = partial(drawn, workload=workload)
        scan: dict[str, Any] = {"setting": {key: value}, "brackets": ()}
        if key != "links":
            scan["claims"] = _against_baselines("6")[:1]
            yield curve(figure="6", title="Four policies by the number of machines", x="machines",
                        values=machines, methods=POLICIES,
                        make=lambda seed, x: made(seed, jobs[-1], x), **scan)  # fmt: skip
            scan["claims"] = _against_baselines("7")[:1]
            yield curve(figure="7", title="Four policies by the number of jobs", x="jobs",
                        values=jobs, methods=POLICIES,
                        make=lambda seed, x: made(seed, x, machines[-1]), **scan)  # fmt: skip
        scan["claims"] = _against_oasis("8")
        yield versus_oasis(figure="8", x="jobs", values=jobs, methods=COLOCATION,
                    make=lambda seed, x: made(seed, x, half), **scan)  # fmt: skip

    figures: list[Experiment] = []
    for floor in (None, FLOOR):
        setting = {} if floor is None else {"L": floor}
        policies, colocation = (
            {**_at(floor, named), **(GREEDY if floor is None else {})}
            for named in (POLICIES, COLOCATION)
        )
        figures += [
            curve(figure="6", title="Four policies by the number of machines", x="machines",
                  claims=_against_baselines("6"), values=machines, methods=policies,
                  make=lambda seed, x: drawn(seed, jobs[-1], x), setting=setting),
            curve(figure="7", title="Four policies by the number of jobs", x="jobs",
                  claims=(*_against_baselines("7"), *_top_tick()), values=jobs, methods=policies,
                  make=lambda seed, x: drawn(seed, x, machines[-1]), setting=setting),
            versus_oasis(figure="8", x="jobs", claims=_against_oasis("8"), values=jobs,
                  methods=colocation, make=lambda seed, x: drawn(seed, x, half), setting=setting),
            versus_oasis(figure="9", x="machines", claims=_against_oasis("9"), values=long_machines,
                  methods=colocation, setting=setting,
                  make=lambda seed, x: drawn(seed, long_jobs, x, 80)),
            bars(figure="10", title="Utility, delays and admissions of all policies", x="policy",
                 claims=_training_times(), methods=_at(floor, {**POLICIES, **COLOCATION}),
                 make=lambda seed: drawn(seed, long_jobs, middle, 80), setting=setting,
                 metrics=(FINISHED, ALL_JOBS, "admitted jobs"), **shared),
        ]  # fmt: skip
    all_jobs = {name: f"{method}:prices=oracle" for name, method in COLOCATION.items()}
    return [
        *figures,
        versus_oasis(figure="8", x="jobs", claims=_against_oasis("8"), values=jobs,
                     methods=all_jobs, make=lambda seed, x: drawn(seed, x, half),
                     setting={"prices": "all jobs"}),
        *(scanned for workload in WORKLOADS for scanned in at(workload)),
        curve(figure="price", title="Prices from a lower limit on L (ours)", x="lower limit on L",
              claims=apart("ours", _price_claim()), values=FLOORS, methods=_prices(),
              make=lambda seed, x: drawn(seed, jobs[-1], half)),
        curve(figure="gain", title="G_delta, the gain before the rounding (ours)", x="gain",
              claims=apart("ours", _gain_claim()), values=GAINS, methods=_gains(),
              make=lambda seed, x: drawn(seed, jobs[len(jobs) // 2], half)),
    ]  # fmt: skip


MACHINE = {"gpu": 16, "cpu": 96, "memory": 384, "storage": 200}  # capacities of the preset
WORKLOADS: dict[str, dict[str, Any]] = {  # other readings of what the paper does not state
    "capacity = 2": {f"capacity_{name}": 2 * amount for name, amount in MACHINE.items()},
    "arrivals = slot 1": {"arrive_within": 1},
    "arrivals = first half": {"arrive_within": 50},
    "links = 0.1 to 1 Gbps": {"external": "100-1000"},
    "links = 10 Gbps": {"external": "10000-10000"},
}


def _at(floor: float | None, methods: Mapping[str, str]) -> dict[str, str]:
    """Return methods, those with prices at a lower limit of L."""
    if floor is None:
        return dict(methods)
    priced = ("pd-ors", "oasis")
    return {
        name: f"{method}:price_floor={floor}" if method in priced else method
        for name, method in methods.items()
    }


def _prices() -> dict[str, Any]:
    """Return the methods of the experiment on L."""

    def at(method: str) -> Any:
        return lambda _, x: f"{method}:price_floor={x:g}" if x else method

    return {"PD-ORS, greedy placements (ours)": at("pd-ors-greedy"), "OASiS": at("oasis")}


def _gains() -> dict[str, Any]:
    """Return the methods of the experiment on the gain; delta is 1/2 and L is 0.001."""
    return {"PD-ORS": lambda _, x: f"pd-ors:gain={x}:delta=0.5:price_floor={FLOOR}"}


# --- claims --------------------------------------------------------------------------------


def _against_baselines(figure: str) -> tuple[Claim, ...]:
    """Return the claims of Figures 6 and 7."""
    source = f"Fig. {figure}, {_CAPTION}"
    each = tuple(
        best("PD-ORS", (name,), better="higher", equal=True, source=source,
             text=f"PD-ORS earns at least as much as {name} everywhere on the axis{IMPLIED}")
        for name in BASELINES
    )  # fmt: skip
    every = best("PD-ORS", BASELINES, better="higher", equal=True, source=source,
                 text="PD-ORS earns at least as much as FIFO, DRF and Dorm everywhere on the axis"
                 + IMPLIED)  # fmt: skip
    return *apart("not stated", every, *each), *_lost(figure, "Numerical results")


def _lost(figure: str, place: str) -> tuple[Claim, ...]:
    """Return what the text concludes from a figure, which our copy has lost."""
    text = f"What the text concludes from Figure {figure}"
    return (Claim(text, f"{place}, Fig. {figure}", untestable=_LOST),)


def _top_tick() -> tuple[Claim, ...]:
    """Return what the last tick of Figure 7 suggests; no sentence of our copy is about it."""

    def largest(draw: Draw) -> float:
        """The largest utility of a policy with the most jobs, as if these were 50."""
        x = draw.xs[-1]
        values = [draw.value(series, x) for series in POLICIES]
        return max(values) * PAPER_JOBS / float(x)

    claim = Claim(
        f"The axis of the total utility ends at {TOP_TICK}: with {PAPER_JOBS} jobs the best policy "
        "earns more than 1000 and at most 1200 (in proportion for fewer jobs)",
        "Fig. 7, ticks of its axes",
        lambda draw: 1000 < largest(draw) <= TOP_TICK,
        largest,
        f"for {PAPER_JOBS} jobs",
    )
    return apart("not stated", claim)


def _against_oasis(figure: str) -> tuple[Claim, ...]:
    """Return the claims of Figures 8 and 9."""
    source = f"Numerical results, 2, Fig. {figure}"

    def gain(draw: Draw) -> float:
        together, apart = (sum(draw.curve(name)) for name in COLOCATION)
        return 100 * (together / apart - 1) if apart else float("inf" if together else 0)

    return parts(
        "PD-ORS, which may place workers and parameter servers on one machine, earns more than "
        "OASiS, which may not",
        best("PD-ORS", ("OASiS",), better="higher", equal=True, source=source,
             text=f"In Fig. {figure}, PD-ORS earns at least as much as OASiS everywhere"),
        Claim(f"In Fig. {figure}, PD-ORS earns more than OASiS in the sum over the axis", source,
              lambda draw: sum(draw.curve("PD-ORS")) > sum(draw.curve("OASiS")), gain, "%"),
    )  # fmt: skip


def _training_times() -> tuple[Claim, ...]:
    """Return the claims of Figure 10, in both readings of a median."""
    readings = {FINISHED: "of the finished jobs", ALL_JOBS: "of all jobs, T for unfinished ones"}
    medians = (_least_median(measure, words) for measure, words in readings.items())
    return *apart("not stated", *medians), *_lost("10", "Numerical results, 3")


def _least_median(measure: str, words: str) -> Claim:
    """Return a claim of Figure 10; medians that are all equal, such as T, compare nothing."""
    others = tuple(name for name in {**POLICIES, **COLOCATION} if name != "PD-ORS")

    def difference(draw: Draw) -> float:
        own = draw.value("PD-ORS", measure=measure)
        rest = [draw.value(name, measure=measure) for name in others]
        if {*rest} == {own}:
            raise MissingValueError(f"{measure}: the same for all policies")
        least = min(rest)
        return 100 * (own / least - 1) if least else float("inf" if own else 0)

    return Claim(
        f"PD-ORS has the least median of training times, {words}{IMPLIED}",
        f"Fig. 10, {_CAPTION}",
        lambda draw: difference(draw) <= 1e-9,
        difference,
        "%",
    )


def _price_claim() -> Claim:
    """Return the claim that (14) is a good L."""
    name = "PD-ORS, greedy placements (ours)"

    def excess(draw: Draw) -> float:
        own, others = draw.value(name, FLOORS[0]), max(draw.value(name, x) for x in FLOORS[1:])
        return 100 * (others / own - 1) if own else float("inf" if others else 0)

    return Claim(
        "(ours) No larger L earns more than that of (14); measured: how much more the best L earns",
        "ours, on Algorithm 1, line 1, and (14)",
        lambda draw: excess(draw) <= 1e-9,
        excess,
        "%",
    )


def _gain_claim() -> Claim:
    """Return the claim that the gains of (31) and (32) pay."""

    def difference(draw: Draw) -> float:
        own = max(draw.value("PD-ORS", x) for x in GAINS[1:])
        plain = draw.value("PD-ORS", GAINS[0])
        return 100 * (own / plain - 1) if plain else float("inf" if own else 0)

    return Claim(
        "(ours) The better one of the gains (31) and (32) earns at least as much as none, "
        "with delta = 0.5",
        "ours, on Algorithm 4, lines 1 and 9",
        lambda draw: difference(draw) >= -1e-9,
        difference,
        "%",
    )
