"""Price and enumerate: all runs of small reduced cost, tightened by cuts, then branch and cut.

Let prices prove the bound L. A schedule of value V pays V - L in total: the reduced costs
w (start + duration) + price - least_j of its runs, plus the price of the capacity that it leaves
free. Hence every schedule of value <= L + g consists of runs of reduced cost <= g. These runs are
enumerated. Their relaxation can be tightened by any cuts, since no further run has to be priced,
and a better bound leaves fewer runs. Branch and cut then finds an optimum of value <= L + g, or
proves that there is none; the gap g is increased until the first happens, or L + g reaches the
value of a known schedule. A batch problem minimises minus its weight; leaving a job out has a
reduced cost, too.

References
----------
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.exact.branch_and_cut import (
    TreeResult,
    branch_and_cut,
    is_schedule,
    value_of,
)
from schedgap.models.elastic.exact.cutting_planes import PoolCut, TightenedPool, tighten
from schedgap.models.elastic.exact.reduced_costs import (
    EnumeratedRuns,
    ReducedCosts,
    without_symmetry,
)
from schedgap.models.elastic.exact.run_pool import RunPool
from schedgap.models.elastic.programs.columns import ElasticRun
from schedgap.models.elastic.programs.weights import VALUE_TOLERANCE, value_step
from schedgap.models.elastic.time_windows import windows
from schedgap.models.method import Budget
from schedgap.solvers.engines.results import OnBound

FEW_RUNS, MAX_RUNS = 20_000, 200_000  # largest number of runs at first, and at all
SHRINK, GROWTH = 0.7, 1.25  # of the gap, after too many runs and after runs without a schedule

OnSchedule = Callable[[list[ElasticRun]], None]


@dataclass(frozen=True, slots=True, eq=False)
class RemainingRuns:
    """The runs of all schedules of value up to `most` that enumeration and cuts could not exclude.

    Attributes
    ----------
    lower : float
        Bound on all schedules.
    most : float
        Largest value of schedules whose runs are all in the pool.
    reach : float
        `most` less the rounding errors of the prices.
    gap : float
        The g of the enumeration.
    final : bool
        No schedule above `most` is of interest.
    tightened : TightenedPool or None
        The runs. None when no schedule of value up to `most` exists, or when there were too many
        runs.
    columns : int
        Number of runs that were enumerated.
    note : str
        Why it stopped early.
    target : float
        Largest value of interest.
    """

    lower: float
    most: float = math.inf
    reach: float = math.inf
    gap: float = 0.0
    final: bool = False
    tightened: TightenedPool | None = None
    columns: int = 0
    note: str = ""
    target: float = math.inf

    @property
    def cuts(self) -> tuple[PoolCut, ...]:
        """The cuts that were found."""
        return _cuts(self.tightened)

    @property
    def complete(self) -> bool:
        """Whether no schedule of interest exists."""
        return self.tightened is None and self.final


def _cuts(tightened: TightenedPool | None) -> tuple[PoolCut, ...]:
    return () if tightened is None or tightened.rows is None else tightened.rows.cuts


def enumerate_and_cut(
    instance: ElasticInstance,
    prices: SlotPrices,
    upper: float | None,
    *,
    budget: Budget,
    lower: float = -math.inf,
    gap: float | None = None,
    cuts: Sequence[PoolCut] = (),
    on_schedule: OnSchedule | None = None,
    on_bound: OnBound | None = None,
) -> RemainingRuns:
    """Enumerate runs and tighten their relaxation, with growing gaps, until some runs remain.

    `prices`: any prices >= 0; those of a good bound leave few runs. `upper`: value of a feasible
    schedule; None only in a closed horizon. `lower`: a known bound on all schedules. `gap`: the
    first g; None: as large as few runs allow. `on_schedule`, `on_bound`: receive better schedules
    and bounds.
    """
    reduced, step = ReducedCosts(instance, prices), value_step(instance)
    ceiling = sum(job.weight for job in instance.jobs) * (instance.horizon + 1)
    lower = max(lower, _round_up(reduced.proved, step))
    report = on_bound or (lambda bound: None)
    report(lower)
    target = ceiling if upper is None else next_better_value(upper, step)
    span = windows(instance, upper)
    if span is None:
        return RemainingRuns(lower, note="no schedule is known, and none is ruled out")
    # With the gap `full`, the runs of all schedules up to the target are enumerated.
    full = target - reduced.value + reduced.margin
    few, smallest = gap is None, step or 1e-6 * max(1.0, abs(reduced.value))
    gap = full if gap is None else min(gap, full)
    while True:
        final = gap >= full
        most = min(target, reduced.value + gap + reduced.margin)
        reach = target if final else min(target, reduced.value + gap - reduced.margin)
        if lower > target + 1e-9 * max(1.0, abs(target)):
            return RemainingRuns(lower, target, target, gap, final=True, target=target)
        limit = FEW_RUNS if few else MAX_RUNS
        enumerated = reduced.enumerate_runs(gap + reduced.margin, span, budget.clock, limit)
        if not enumerated.complete and few and not budget.clock.expired():
            gap = max(SHRINK * gap, smallest)
            few = gap > smallest
            continue
        count = len(enumerated.runs)
        if not enumerated.complete:
            note = (
                "out of time" if budget.clock.expired() else "too many runs of small reduced cost"
            )
            return RemainingRuns(lower, gap=gap, columns=count, note=note)
        few = False
        tightened = _tighten(reduced, enumerated, most, cuts, budget, on_schedule)
        cuts = _cuts(tightened) if tightened is not None and tightened.rows is not None else cuts
        if tightened is not None and tightened.bound <= most:
            lower = max(lower, _round_up(min(tightened.bound, reach), step))
            report(lower)
            return RemainingRuns(lower, most, reach, gap, final, tightened, count, target=target)
        if final:
            return RemainingRuns(
                lower, target, target, gap, final=True, columns=count, target=target
            )
        lower = max(lower, _round_up(reach, step))  # no schedule up to `reach` exists
        report(lower)
        gap = min(GROWTH * gap, full)


def _tighten(
    reduced: ReducedCosts,
    enumerated: EnumeratedRuns,
    most: float,
    cuts: Sequence[PoolCut],
    budget: Budget,
    on_schedule: OnSchedule | None,
) -> TightenedPool | None:
    """Tighten the relaxation over the enumerated runs; None when a job has no run."""
    instance = reduced.instance
    runs, costs = without_symmetry(instance, enumerated, reduced.prices.pool)
    if not instance.is_batch and len({run.job for run in runs}) < len(instance.jobs):
        return None
    pool = RunPool(instance, runs)
    plain = TightenedPool(
        pool, np.array(costs), np.array(enumerated.absent), reduced.value, reduced.margin
    )
    if not runs:
        return plain

    def on_runs(schedule: list[ElasticRun]) -> None:
        if on_schedule is not None and is_schedule(instance, schedule):
            on_schedule(schedule)

    tightened = tighten(
        pool,
        most,
        budget=budget,
        near=plain.reduced,
        cuts=cuts,
        on_runs=on_runs,
    )
    return tightened if tightened.bound > plain.bound else plain


def branch_remaining(
    instance: ElasticInstance,
    remaining: RemainingRuns,
    *,
    budget: Budget,
    most: float = math.inf,
    on_schedule: OnSchedule | None = None,
    on_bound: OnBound | None = None,
) -> TreeResult:
    """Find the best schedule of the remaining runs by branch and cut.

    `remaining`: with a pool of runs. `most`: only schedules up to this value matter, if it is below
    that of `remaining`. `on_schedule`, `on_bound`: receive better schedules and bounds.

    Returns
    -------
    TreeResult
        `lower` bounds all schedules. `complete` without runs: every schedule has a value above
        `most`, or uses runs that are not in the pool.
    """
    step = value_step(instance)
    assert remaining.tightened is not None

    def report(bound: float) -> None:
        if on_bound is not None:
            on_bound(_round_up(min(bound, remaining.reach), step))

    tree = branch_and_cut(
        remaining.tightened,
        min(most, remaining.most),
        next_better=lambda value: next_better_value(value, step),
        budget=budget,
        on_runs=on_schedule,
        on_bound=report,
    )
    lower = tree.lower
    if step is None and tree.runs is not None:  # others may be better by less than the tolerance
        lower = min(lower, next_better_value(value_of(instance, tree.runs), None))
    return replace(tree, lower=max(remaining.lower, _round_up(min(lower, remaining.reach), step)))


def _round_up(bound: float, step: float | None) -> float:
    """Round a valid lower bound up to the step of all values."""
    if step is None:
        return bound
    return math.ceil(bound / step - 1e-9) * step


def next_better_value(upper: float, step: float | None) -> float:
    """Return the largest value that counts as better than a given one.

    `upper`: value of a schedule. `step`: step of all values; None: values that differ by less than
    a tolerance are equal.
    """
    if step is None:
        return upper - VALUE_TOLERANCE * max(1.0, abs(upper))
    return (round(upper / step) - 1) * step
