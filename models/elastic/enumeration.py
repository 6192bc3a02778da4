"""Price and enumerate (ours): all runs of small reduced cost, cut and packed.

Let prices prove L. A schedule of value V pays V - L in reduced costs w (t + d) + price - least of
the job, summed over its runs, and in capacity that is priced and left free. So every schedule of
value <= L + g consists of runs of reduced cost <= g. The relaxation over these few runs can be cut
at will, for none of them has to be priced any more; the better bound leaves fewer runs. A packing
over what is left finds the optimum or proves that it is above L + g, and g grows until the one
happens or the other reaches a known value. A batch problem is minus its weight here; a job left out
has a reduced cost, too.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.columns import Run, fits_together, placements
from schedgap.models.elastic.cutting import Tightened, tighten
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.pool import Pool
from schedgap.models.elastic.program_compact import to_cp_sat, usage
from schedgap.models.elastic.schedule_lp import Pricer, Prices
from schedgap.models.elastic.windows import Windows, value_step, windows
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.engine import OnBound
from schedgap.solvers.linear import LinearProgram

MOST_ENTRIES = 10_000_000  # runs x servers x resources x slots of a packing
FEW_RUNS, MOST_RUNS = 20_000, 200_000  # to start with, and at all
SHRINK, GROWTH = 0.6, 1.5  # of the gap where runs are too many, or hold no schedule
FIRST_LEVEL, LEVEL_GROWTH = 0.25, 2.0  # of the gap that a packing is solved for

OnSchedule = Callable[[list[Run]], None]


@dataclass(frozen=True, slots=True, eq=False)
class Cheap:
    """Runs of reduced cost within a limit, and what it costs to leave a job out."""

    runs: list[Run]
    reduced: list[float]  # [i]
    absent: list[float]  # [j]; infinite where a job must run
    complete: bool  # False when there were too many, or no time


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """Prices with the least cost of each job, and the two values that follow."""

    instance: ElasticInstance
    prices: Prices
    pricer: Pricer = field(init=False)
    least: Floats = field(init=False)  # [j]
    value: float = field(init=False)  # L as computed
    proved: float = field(init=False)  # L less all rounding
    margin: float = field(init=False)  # what reduced costs may be off by, and a bit more

    def __post_init__(self) -> None:
        pricer = Pricer(self.instance, self.prices.pool)
        least = pricer.values(self.prices)[0]
        paid = float((self.prices.price.sum(axis=2) * pricer.capacity).sum())
        value = float(least.sum()) - paid
        proved = pricer.bound(self.prices, least)
        for name, number in (
            ("pricer", pricer),
            ("least", least),
            ("value", value),
            ("proved", proved),
            ("margin", 1e-6 + 2 * (value - proved)),
        ):
            object.__setattr__(self, name, number)

    def cheap(self, limit: float, span: Windows, clock: Clock, most: int) -> Cheap:
        """Return the runs in the windows whose reduced cost is at most `limit`, if there are few.

        `complete` is False when there are more than `most`, or no time.
        """
        instance = self.instance
        view, market = cluster(instance), self.pricer.market(self.prices)
        price = self.prices.per_demand(instance)  # [t, h, r]
        paid = np.concatenate([np.zeros((1, *price.shape[1:])), np.cumsum(price, axis=0)])
        runs: list[Run] = []
        reduced: list[float] = []
        entries, complete = 0, True
        for j in self.pricer.jobs:
            given, least = instance.jobs[j], float(self.least[j])
            for mode in modes(instance, j):
                starts = np.arange(span.first[j], span.end[j] - mode.duration + 1)
                if not len(starts):
                    continue
                if instance.is_batch:
                    base = np.full(len(starts), -given.weight)
                else:
                    base = given.weight * (starts + mode.duration)
                budget = limit + least - base
                near = np.flatnonzero(budget >= 0)
                if not len(near):
                    continue
                # Only where the cheapest placement is cheap enough are all looked at.
                costs = market.costs(mode, starts[near])
                near = near[costs <= budget[near] + 1e-9 * (1 + np.abs(budget[near]))]
                for i in near.tolist():
                    start = int(starts[i])
                    a, b = (min(t, len(price)) for t in (start - 1, start - 1 + mode.duration))
                    window = np.maximum(0.0, paid[b] - paid[a])  # [h, r]
                    omega = window @ view.worker_demand[mode.worker_type]
                    zeta = None if mode.ps_type is None else window @ view.ps_demand[mode.ps_type]
                    room = float(budget[i]) + 1e-9 * (1 + abs(float(budget[i])))
                    for workers, ps, cost in placements(view, mode, omega, zeta, room):
                        runs.append(Run(j, mode, start, workers, ps))
                        reduced.append(max(0.0, cost + float(base[i]) - least))
                        entries += mode.duration * len(workers) * len(view.scale)
                        if len(runs) > most or entries > MOST_ENTRIES:
                            return Cheap(runs, reduced, [], False)
                    if clock.expired():
                        return Cheap(runs, reduced, [], False)
        absent = [-value if instance.is_batch else math.inf for value in self.least.tolist()]
        return Cheap(runs, reduced, absent, complete)


def without_symmetry(instance: ElasticInstance, cheap: Cheap) -> tuple[list[Run], list[float]]:
    """Return the runs, those of one job only where equal servers hold no less than the next one.

    One permutation of equal servers sorts one job, not several: the job with the most runs.
    """
    from schedgap.models.elastic.schedule_lp import pools

    pool = pools(instance, pooled=True).tolist()
    if len(set(pool)) == len(pool):
        return cheap.runs, cheap.reduced
    numbers = np.bincount([run.job for run in cheap.runs], minlength=len(instance.jobs))
    chosen = int(numbers.argmax())

    def is_sorted(run: Run) -> bool:
        held = dict.fromkeys(range(len(pool)), (0, 0))
        last: dict[int, tuple[int, int]] = {}  # by pool
        for h, count in run.workers:
            held[h] = (count, held[h][1])
        for h, count in run.ps:
            held[h] = (held[h][0], count)
        for h, own in held.items():
            if last.get(pool[h], own) < own:
                return False
            last[pool[h]] = own
        return True

    kept = [i for i, run in enumerate(cheap.runs) if run.job != chosen or is_sorted(run)]
    return [cheap.runs[i] for i in kept], [cheap.reduced[i] for i in kept]


@dataclass(frozen=True, slots=True, eq=False)
class Enumerated:
    """Where the search stopped, in the sense of the minimisation."""

    lower: float
    runs: list[Run] | None  # the best schedule found here, if any is better than the given value
    complete: bool
    infeasible: bool = False
    gap: float = 0.0
    columns: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """The runs that are left for schedules up to a value, and what is known of all others.

    `lower` is a bound on all schedules. `last`: no schedule above `most` is of interest; `left` is
    None when there is none up to it either, or when there were too many runs.
    """

    lower: float
    most: float = math.inf
    gap: float = 0.0
    last: bool = False
    left: Tightened | None = None
    columns: int = 0
    note: str = ""

    @property
    def complete(self) -> bool:
        """Whether there is nothing of interest."""
        return self.left is None and self.last


def narrow(
    instance: ElasticInstance,
    prices: Prices,
    upper: float | None,
    *,
    clock: Clock,
    gap: float | None = None,
    cut: bool = True,
    seed: int = 0,
    threads: int = 1,
    on_schedule: OnSchedule | None = None,
    on_bound: OnBound | None = None,
) -> Narrowed:
    """Enumerate runs and cut their relaxation, gap by gap, until runs are left that may fit.

    Parameters
    ----------
    prices : Prices
        Any; those of a good bound make the search short.
    upper : float or None
        Value of a known schedule; None only in a closed horizon.
    gap : float or None
        To start with; None: as large as few runs allow.
    cut : bool
        Whether the relaxation over the runs is cut, which takes HiGHS.
    """
    base, step = Reduced(instance, prices), value_step(instance)
    ceiling = sum(job.weight for job in instance.jobs) * (instance.horizon + 1)
    lower = _on_grid(base.proved, step)
    tell = on_bound or (lambda bound: None)
    tell(lower)
    goal = ceiling if upper is None else _below(upper, step)  # values of interest: <= goal
    span = windows(instance, upper)
    if span is None:
        return Narrowed(lower, note="no schedule is known, and none is ruled out")
    full = goal - base.value + base.margin
    few = gap is None
    gap = full if gap is None else min(gap, full)
    while True:
        last = gap >= full
        most = min(goal, base.value + gap + base.margin)
        if lower > goal + 1e-9 * max(1.0, abs(goal)):
            return Narrowed(lower, goal, gap, last=True)
        cheap = base.cheap(gap + base.margin, span, clock, FEW_RUNS if few else MOST_RUNS)
        if not cheap.complete and few and not clock.expired():
            gap = max(SHRINK * gap, step or 1e-6 * abs(base.value))
            few = gap > (step or 1e-6 * abs(base.value))
            continue
        count = len(cheap.runs)
        if not cheap.complete:
            note = "out of time" if clock.expired() else "too many runs of small reduced cost"
            return Narrowed(lower, gap=gap, columns=count, note=note)
        few = False
        left = _left(base, cheap, most, cut, clock, seed, threads, on_schedule)
        if left is not None:
            bound = min(left.bound, most) if last else min(left.bound, base.value + gap - base.margin)
            lower = max(lower, _on_grid(bound, step))
            tell(lower)
            return Narrowed(lower, most, gap, last, left, count)
        if last:
            return Narrowed(lower, goal, gap, last=True, columns=count)
        lower = max(lower, _on_grid(base.value + gap - base.margin, step))
        tell(lower)
        gap = min(GROWTH * gap, full)


def _left(
    base: Reduced,
    cheap: Cheap,
    most: float,
    cut: bool,
    clock: Clock,
    seed: int,
    threads: int,
    on_schedule: OnSchedule | None,
) -> Tightened | None:
    """Return what is left of the cheap runs; None when they hold no schedule up to a value."""
    instance = base.instance
    runs, reduced = without_symmetry(instance, cheap)
    if not instance.is_batch and len({run.job for run in runs}) < len(instance.jobs):
        return None
    plain = Tightened(
        runs, np.array(reduced), np.array(cheap.absent), base.value, base.value - base.proved
    )
    if not cut or not runs:
        return plain

    def better(found: list[Run]) -> None:
        if on_schedule is not None and fits_together(instance, found):
            on_schedule(found)

    tight = tighten(
        Pool(instance, runs),
        most,
        clock=clock,
        near=plain.reduced,
        seed=seed,
        threads=threads,
        on_runs=better,
    )
    if tight.bound > most:
        return None
    return tight if tight.bound > plain.bound else plain


def price_and_enumerate(
    instance: ElasticInstance,
    prices: Prices,
    upper: float | None,
    *,
    engine: str,
    clock: Clock,
    seed: int = 0,
    threads: int = 1,
) -> Enumerated:
    """Search for a schedule better than `upper`, completely if there is time, in one process.

    Parameters are those of `narrow`; `engine` is "highs", which also cuts the relaxation, or
    "cp-sat", which needs whole amounts and weights.
    """
    gap: float | None = None
    settings: dict[str, Any] = {"clock": clock, "seed": seed, "threads": threads}
    while True:
        narrowed = narrow(instance, prices, upper, gap=gap, cut=engine == "highs", **settings)
        if narrowed.left is None:
            done = narrowed.complete
            return Enumerated(
                max(narrowed.lower, upper) if done and upper is not None else narrowed.lower,
                None,
                done,
                done and upper is None,
                narrowed.gap,
                narrowed.columns,
                narrowed.note,
            )
        packed = pack(instance, narrowed, engine=engine, **settings)
        if packed.runs is not None or not packed.complete:
            return packed
        if narrowed.last:
            lower = packed.lower if upper is None else upper
            return replace(packed, lower=lower, infeasible=upper is None)
        gap = GROWTH * narrowed.gap


def pack(
    instance: ElasticInstance,
    narrowed: Narrowed,
    *,
    engine: str,
    clock: Clock,
    seed: int = 0,
    threads: int = 1,
    on_schedule: OnSchedule | None = None,
    on_bound: OnBound | None = None,
) -> Enumerated:
    """Find the best schedule of the runs that are left, or prove that it is above `most`.

    Level by level: first the runs of least reduced cost only, for schedules near the bound.

    Returns
    -------
    Enumerated
        `complete` and no runs: every schedule is above `most`.
    """
    left, step = narrowed.left, value_step(instance)
    assert left is not None
    lower, gap, level = narrowed.lower, narrowed.most - left.value, FIRST_LEVEL
    while True:
        near = gap if level >= 1 else max(level * gap, step or 0.0)
        reaches = near >= gap
        most = narrowed.most if reaches else left.value + near
        chosen = np.flatnonzero(left.reduced <= near + 2 * left.margin).tolist()
        result = _pack_level(instance, left, chosen, most, engine, clock, seed, threads, on_schedule)
        columns = len(chosen)
        if result.status == "infeasible":
            if reaches:
                if not narrowed.last:
                    lower = max(lower, _on_grid(most - 2 * left.margin, step))
                return Enumerated(lower, None, True, gap=narrowed.gap, columns=columns)
            lower = max(lower, _on_grid(most - 2 * left.margin, step))
            if on_bound is not None:
                on_bound(lower)
            level *= LEVEL_GROWTH
            continue
        scale = step if engine == "cp-sat" and step is not None else 1.0
        found = None
        if result.values is not None:
            found = [left.runs[i] for k, i in enumerate(chosen) if result.values[k] > 0.5]
        complete = result.status == "optimal"
        if result.bound is not None:  # beyond the runs of this level values are above `most`
            bound = result.bound * scale
            bound = min(bound - 1e-9 * max(1.0, abs(bound)), most)
            lower = max(lower, _on_grid(bound, step))
        if complete and found is not None:
            lower = max(lower, float(result.objective or 0.0) * scale)
        return Enumerated(lower, found, complete, gap=narrowed.gap, columns=columns)


def _pack_level(
    instance: ElasticInstance,
    left: Tightened,
    chosen: list[int],
    most: float,
    engine: str,
    clock: Clock,
    seed: int,
    threads: int,
    on_schedule: OnSchedule | None,
) -> EngineResult:
    """Solve the packing over some of the runs for values up to `most`."""
    runs = [left.runs[i] for i in chosen]
    if not instance.is_batch and len({run.job for run in runs}) < len(instance.jobs):
        return EngineResult("infeasible", None, None)
    if instance.is_batch and not runs:
        status = "optimal" if most >= -1e-9 else "infeasible"
        return EngineResult(status, 0.0, 0.0, np.zeros(0))  # type: ignore[arg-type]  # no variables

    def better(objective: float, values: Any) -> None:
        if on_schedule is not None:
            taken = [run for i, run in enumerate(runs) if values[i] > 0.5]
            if fits_together(instance, taken):
                on_schedule(taken)

    settings: dict[str, Any] = {
        "clock": clock, "seed": seed, "threads": threads, "on_incumbent": better
    }  # fmt: skip
    if engine != "cp-sat":
        tight = {"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}
        program = packing(instance, runs, most)
        return solve(program, engine, grid=value_step(instance), options=tight, **settings)
    step = value_step(instance)
    assert step is not None
    place = {i: k for k, i in enumerate(chosen)}
    model = to_cp_sat(
        instance,
        runs,
        reduced=left.reduced[chosen].tolist(),
        absent=left.absent.tolist() if instance.is_batch else None,
        most_reduced=most - left.value + 2 * left.margin,
        least=math.ceil(left.bound / step - 1e-9),
        most=math.floor(most / step + 1e-9),
        exclusive=[[place[i] for i in each if i in place] for each in map(np.ndarray.tolist, left.exclusive)],
    )
    return solve(model, engine, grid=1, **settings)


def packing(instance: ElasticInstance, runs: list[Run], most: float) -> LinearProgram:
    """Return the packing as arrays: rows by job, by server, resource and slot, and the value."""
    view, jobs = cluster(instance), len(instance.jobs)
    used = usage(instance, runs)
    rows, columns, entries = [], [], []
    lower, upper = [-np.inf if instance.is_batch else 1.0] * jobs, [1.0] * jobs
    for i, run in enumerate(runs):
        rows.append(run.job)
        columns.append(i)
        entries.append(1.0)
    for (h, r, _), members in sorted(used.items()):
        for i, amount in members:
            rows.append(len(upper))
            columns.append(i)
            entries.append(amount)
        lower.append(-np.inf)
        upper.append(float(view.capacity[h, r]))
    weight = [job.weight for job in instance.jobs]
    cost = [-weight[run.job] if instance.is_batch else weight[run.job] * run.end for run in runs]
    for i, value in enumerate(cost):
        rows.append(len(upper))
        columns.append(i)
        entries.append(value)
    lower.append(-np.inf)
    upper.append(most)
    shape = (len(upper), len(runs))
    return LinearProgram(
        cost=np.array(cost),
        lower=np.zeros(len(runs)),
        upper=np.ones(len(runs)),
        matrix=sparse.csr_array((entries, (rows, columns)), shape=shape),
        row_lower=np.array(lower),
        row_upper=np.array(upper),
        integer=np.ones(len(runs), dtype=bool),
    )


def _on_grid(bound: float, step: float | None) -> float:
    """Round a valid lower bound up to the step of all values."""
    if step is None:
        return bound
    return math.ceil(bound / step - 1e-9) * step


def _below(upper: float, step: float | None) -> float:
    """Return the largest value that counts as better than a known one."""
    if step is None:
        return upper - 1e-7 * max(1.0, abs(upper))
    return (round(upper / step) - 1) * step
