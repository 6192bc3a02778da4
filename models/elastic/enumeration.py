"""Price and enumerate (ours): all runs of small reduced cost, then a packing over them.

Let prices prove L. A schedule of value V pays V - L in reduced costs w (t + d) + price - least of
the job, summed over its runs, and in capacity that is priced and left free. So every schedule of
value <= L + g consists of runs of reduced cost <= g: a packing over these finds the optimum or
proves that it is above L + g, and g grows until it does the one or the other reaches a known value.
A batch problem is minus its weight here; a job left out has a reduced cost, too.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.columns import Run, fits_together, placements
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.program_compact import to_cp_sat, usage
from schedgap.models.elastic.schedule_lp import Pricer, Prices
from schedgap.models.elastic.windows import Windows, value_step, windows
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.linear import LinearProgram

MOST_ENTRIES = 3_000_000  # runs x servers x resources x slots of a packing
FIRST_GAP = 0.01  # of L
GROWTH = 1.7


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

    def cheap(self, limit: float, span: Windows, clock: Clock) -> Cheap:
        """Return the runs in the windows whose reduced cost is at most `limit`."""
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
                        if entries > MOST_ENTRIES:
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


def price_and_enumerate(
    instance: ElasticInstance,
    prices: Prices,
    upper: float | None,
    *,
    engine: str,
    clock: Clock,
    seed: int = 0,
    threads: int = 1,
    on_schedule: Callable[[list[Run]], None] | None = None,
    on_bound: Callable[[float], None] | None = None,
) -> Enumerated:
    """Search for a schedule better than `upper`, completely if there is time.

    Parameters
    ----------
    prices : Prices
        Any; those of a good bound make the search short.
    upper : float or None
        Value of a known schedule; None only in a closed horizon.
    engine : "cp-sat" or "highs"
        For the packings; CP-SAT needs whole amounts and weights.
    """
    base = Reduced(instance, prices)
    step = value_step(instance)
    ceiling = sum(job.weight for job in instance.jobs) * (instance.horizon + 1)
    lower = _on_grid(base.proved, step)
    tell = on_bound or (lambda bound: None)
    tell(lower)
    goal = ceiling if upper is None else _below(upper, step)  # values of interest: <= goal
    whole = windows(instance, upper)
    if whole is None:
        return Enumerated(lower, None, False, note="no schedule is known, and none is ruled out")
    if upper is None and base.proved > ceiling:
        return Enumerated(lower, None, True, infeasible=True)
    gap = max(step or 1.0, FIRST_GAP * abs(base.value))
    while True:
        if lower > goal + 1e-9 * max(1.0, abs(goal)):
            return Enumerated(max(lower, upper or lower), None, True, upper is None, gap)
        most = goal - base.value + base.margin
        gap = min(gap, most)
        cheap = base.cheap(gap + base.margin, whole, clock)
        if not cheap.complete:
            note = "out of time" if clock.expired() else "too many runs of small reduced cost"
            return Enumerated(lower, None, False, gap=gap, columns=len(cheap.runs), note=note)
        runs, reduced = without_symmetry(instance, cheap)
        result = _pack(
            base, runs, reduced, cheap.absent, gap, min(goal, base.value + gap + base.margin),
            step, engine, clock, seed, threads, on_schedule,
        )  # fmt: skip
        reached = gap >= most
        if result.status == "infeasible":
            if reached:
                end = lower if upper is None else upper
                return Enumerated(end, None, True, upper is None, gap, len(runs))
            lower = max(lower, _on_grid(base.value + gap - base.margin, step))
            tell(lower)
            gap *= GROWTH
            continue
        found = None
        if result.values is not None:
            found = [run for i, run in enumerate(runs) if result.values[i] > 0.5]
        scale = step if engine == "cp-sat" and step is not None else 1.0
        bound = None if result.bound is None else result.bound * scale
        if bound is not None:  # beyond the runs of this packing values are above L + g
            bound = min(bound, base.value + gap - base.margin) if not reached else bound
            lower = max(lower, _on_grid(bound - 1e-9 * max(1.0, abs(bound)), step))
        complete = result.status == "optimal"
        if complete and found is not None:
            lower = float(result.objective or 0.0) * scale
        tell(lower)
        return Enumerated(lower, found, complete, gap=gap, columns=len(runs))


def _pack(
    base: Reduced,
    runs: list[Run],
    reduced: list[float],
    absent: list[float],
    gap: float,
    most: float,
    step: float | None,
    engine: str,
    clock: Clock,
    seed: int,
    threads: int,
    on_schedule: Callable[[list[Run]], None] | None,
) -> EngineResult:
    """Solve the packing over some runs for values up to `most`."""
    instance = base.instance
    jobs = len(instance.jobs)
    if not instance.is_batch and len({run.job for run in runs}) < jobs:
        return EngineResult("infeasible", None, None)
    if instance.is_batch and not runs:
        status = "optimal" if most >= -1e-9 else "infeasible"
        return EngineResult(status, 0.0, 0.0, np.zeros(0))  # type: ignore[arg-type]

    def better(objective: float, values: Any) -> None:
        if on_schedule is not None:
            chosen = [run for i, run in enumerate(runs) if values[i] > 0.5]
            if fits_together(instance, chosen):
                on_schedule(chosen)

    if engine == "cp-sat":
        assert step is not None
        model = to_cp_sat(
            instance,
            runs,
            reduced=reduced,
            absent=absent if instance.is_batch else None,
            most_reduced=gap + base.margin,
            least=math.ceil(base.proved / step - 1e-9),
            most=math.floor(most / step + 1e-9),
        )
        return solve(
            model, engine, clock=clock, seed=seed, threads=threads, grid=1, on_incumbent=better
        )
    program = packing(instance, runs, most)
    return solve(
        program,
        engine,
        clock=clock,
        seed=seed,
        threads=threads,
        grid=step,
        on_incumbent=better,
        options={"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9},
    )


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
