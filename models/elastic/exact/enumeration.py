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
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.exact.branch_and_cut import branch_and_cut, is_schedule, value_of
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
from schedgap.solvers import Clock
from schedgap.solvers.engines.results import OnBound

FEW_RUNS, MAX_RUNS = 20_000, 200_000  # to start with, and at all
SHRINK, GROWTH = 0.7, 1.25  # of the gap where runs are too many, or hold no schedule

OnSchedule = Callable[[list[ElasticRun]], None]


@dataclass(frozen=True, slots=True, eq=False)
class EnumerationResult:
    """Where the search stopped, in the sense of the minimisation."""

    lower: float
    runs: (
        list[ElasticRun] | None
    )  # the best schedule found here, if any is better than the given value
    complete: bool
    gap: float = 0.0
    columns: int = 0
    nodes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class RemainingRuns:
    """The runs that are left for schedules up to a value, and what is known of all others.

    `lower` is a bound on all schedules. `last`: no schedule above `most` is of interest; `left` is
    None when there is none up to it either, or when there were too many runs. `goal` is the largest
    value of interest.
    """

    lower: float
    most: float = math.inf
    reach: float = math.inf  # `most`, the rounding of the prices taken off
    gap: float = 0.0
    last: bool = False
    left: TightenedPool | None = None
    columns: int = 0
    note: str = ""
    goal: float = math.inf

    @property
    def cuts(self) -> tuple[PoolCut, ...]:
        """The cuts that were found."""
        return () if self.left is None or self.left.rows is None else self.left.rows.cuts

    @property
    def complete(self) -> bool:
        """Whether there is nothing of interest."""
        return self.left is None and self.last


def enumerate_and_cut(
    instance: ElasticInstance,
    prices: SlotPrices,
    upper: float | None,
    *,
    clock: Clock,
    lower: float = -math.inf,
    gap: float | None = None,
    cuts: Sequence[PoolCut] = (),
    seed: int = 0,
    threads: int = 1,
    on_schedule: OnSchedule | None = None,
    on_bound: OnBound | None = None,
) -> RemainingRuns:
    """Enumerate runs and cut their relaxation, gap by gap, until runs are left that may fit.

    Parameters
    ----------
    prices : Prices
        Any; those of a good bound make the search short.
    upper : float or None
        Value of a known schedule; None only in a closed horizon.
    lower : float
        A known bound on all schedules.
    gap : float or None
        To start with; None: as large as few runs allow.
    cuts : sequence of Cut
        Known ones.
    """
    base, step = ReducedCosts(instance, prices), value_step(instance)
    ceiling = sum(job.weight for job in instance.jobs) * (instance.horizon + 1)
    lower = max(lower, _on_grid(base.proved, step))
    tell = on_bound or (lambda bound: None)
    tell(lower)
    goal = ceiling if upper is None else below(upper, step)  # values of interest: <= goal
    span = windows(instance, upper)
    if span is None:
        return RemainingRuns(lower, note="no schedule is known, and none is ruled out")
    full = goal - base.value + base.margin
    few, least = gap is None, step or 1e-6 * max(1.0, abs(base.value))
    gap = full if gap is None else min(gap, full)
    while True:
        last = gap >= full
        most = min(goal, base.value + gap + base.margin)
        reach = goal if last else min(goal, base.value + gap - base.margin)
        if lower > goal + 1e-9 * max(1.0, abs(goal)):
            return RemainingRuns(lower, goal, goal, gap, last=True, goal=goal)
        cheap = base.cheap(gap + base.margin, span, clock, FEW_RUNS if few else MAX_RUNS)
        if not cheap.complete and few and not clock.expired():
            gap = max(SHRINK * gap, least)
            few = gap > least
            continue
        count = len(cheap.runs)
        if not cheap.complete:
            note = "out of time" if clock.expired() else "too many runs of small reduced cost"
            return RemainingRuns(lower, gap=gap, columns=count, note=note)
        few = False
        left = _left(base, cheap, most, cuts, clock, seed, threads, on_schedule)
        cuts = left.rows.cuts if left is not None and left.rows is not None else cuts
        if left is not None and left.bound <= most:
            lower = max(lower, _on_grid(min(left.bound, reach), step))
            tell(lower)
            return RemainingRuns(lower, most, reach, gap, last, left, count, goal=goal)
        if last:
            return RemainingRuns(lower, goal, goal, gap, last=True, columns=count, goal=goal)
        lower = max(lower, _on_grid(reach, step))
        tell(lower)
        gap = min(GROWTH * gap, full)


def _left(
    base: ReducedCosts,
    cheap: EnumeratedRuns,
    most: float,
    cuts: Sequence[PoolCut],
    clock: Clock,
    seed: int,
    threads: int,
    on_schedule: OnSchedule | None,
) -> TightenedPool | None:
    """Return what is left of the cheap runs; None when a job has none."""
    instance = base.instance
    runs, reduced = without_symmetry(instance, cheap, base.prices.pool)
    if not instance.is_batch and len({run.job for run in runs}) < len(instance.jobs):
        return None
    pool = RunPool(instance, runs)
    plain = TightenedPool(pool, np.array(reduced), np.array(cheap.absent), base.value, base.margin)
    if not runs:
        return plain

    def better(found: list[ElasticRun]) -> None:
        if on_schedule is not None and is_schedule(instance, found):
            on_schedule(found)

    tight = tighten(
        pool,
        most,
        clock=clock,
        near=plain.reduced,
        cuts=cuts,
        seed=seed,
        threads=threads,
        on_runs=better,
    )
    return tight if tight.bound > plain.bound else plain


def branch(
    instance: ElasticInstance,
    narrowed: RemainingRuns,
    *,
    clock: Clock,
    most: float = math.inf,
    seed: int = 0,
    threads: int = 1,
    on_schedule: OnSchedule | None = None,
    on_bound: OnBound | None = None,
) -> EnumerationResult:
    """Find the best schedule of the runs that are left by branch and cut.

    Parameters
    ----------
    most : float
        Only schedules up to this value matter, if it is below that of `narrowed`.

    Returns
    -------
    Enumerated
        `complete` and no runs: every schedule is above `most`, or beyond the reach of the runs.
    """
    left, step = narrowed.left, value_step(instance)
    assert left is not None

    def tell(bound: float) -> None:
        if on_bound is not None:
            on_bound(_on_grid(min(bound, narrowed.reach), step))

    found = branch_and_cut(
        left,
        min(most, narrowed.most),
        below=lambda value: below(value, step),
        clock=clock,
        seed=seed,
        threads=threads,
        on_runs=on_schedule,
        on_bound=tell,
    )
    lower = found.lower
    if step is None and found.runs is not None:  # others may be better by less than `below` leaves
        lower = min(lower, below(value_of(instance, found.runs), None))
    lower = max(narrowed.lower, _on_grid(min(lower, narrowed.reach), step))
    return EnumerationResult(
        lower,
        found.runs,
        found.complete,
        gap=narrowed.gap,
        columns=len(left.pool),
        nodes=found.nodes,
    )


def _on_grid(bound: float, step: float | None) -> float:
    """Round a valid lower bound up to the step of all values."""
    if step is None:
        return bound
    return math.ceil(bound / step - 1e-9) * step


def below(upper: float, step: float | None) -> float:
    """Return the largest value that counts as better than a known one."""
    if step is None:
        return upper - VALUE_TOLERANCE * max(1.0, abs(upper))
    return (round(upper / step) - 1) * step
