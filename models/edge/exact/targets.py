"""Destructive bounds: decide whether a schedule with an objective up to a target exists.

A schedule with an objective up to a target just above the bound can use few modes and starts, by
reduced-cost fixing. CP-SAT decides over these whether there is one. If not, the bound is the target
plus one, and the next target is larger; the first schedule found in this way is optimal. When a
target takes too long, large neighbourhood search looks for better schedules, and the next targets
get more time. Finally the target is one below the incumbent, for long; the bounds of that search
count as well.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999).
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008): a
program over all columns within the gap.
"""

import math
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.bounds.reduced_cost_fixing import (
    ReducedCostFixing,
    RemainingStarts,
    certificate,
)
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.exact.neighborhoods import improve
from schedgap.models.edge.exact.stages import search_intervals
from schedgap.models.edge.placements import valid_schedule
from schedgap.models.edge.programs import intervals
from schedgap.models.method import Budget
from schedgap.models.search_state import SearchState, StageProgress, StageResult, solve_program
from schedgap.solvers import EngineResult

TARGET_SHARE, TARGET_SECONDS = 0.3, 12.0  # for targets; doubled if they do not raise the bound
MIN_SECONDS = 2.0  # a child process takes a good part of that to start
IMPROVE_WEIGHT = 0.3  # relative to the time for targets, for better schedules
MAX_DOUBLINGS = 2  # before the last target
MOST_DOUBLINGS = 20  # more only if CP-SAT stops at once each time, for lack of memory for instance
LAST_SHARE, LAST_SECONDS = 0.8, 60.0  # for the last target
QUICK = 0.3  # a target decided within this share of the time doubles the step to the next one
LAST_STARTS = 6_000  # limit of modes and starts for the last target; above it targets stay near
MAX_STARTS = 60_000  # modes and starts in one program


def target_stage(
    found: StageProgress,
    instance: EdgeInstance,
    fixing: ReducedCostFixing,
    final: int,
    schedule: EdgeSchedule | None,
    last: bool,
    *,
    budget: Budget,
) -> StageResult:
    """Decide by CP-SAT whether there are schedules up to a target, for one target after another.

    The modes and starts that remain are all that such a schedule can use. So a bound over these,
    cut off at target + 1, is a bound on all schedules, and the best schedule found with an
    objective up to the target is optimal.

    `found`: receives schedules and bounds. `final`: the largest target. `schedule`: starting point.
    `last`: whether to begin with the largest target.

    Returns
    -------
    StageResult
        `value`: whether too many modes and starts remain.
    """
    view, step = compiled(instance), 1
    trace: dict[str, Any] = {}
    while found.lower <= final and not budget.clock.expired():
        target = final if last else min(int(found.lower) + step - 1, final)
        remaining = fixing.remaining_starts(view, target + 1)
        if remaining.is_empty:
            proof = None if fixing.components else certificate(fixing.prices, target + 1)
            found.bound(target + 1, proof)
            step *= 2
            continue
        if len(remaining.mode_starts) > MAX_STARTS:
            return StageResult(trace=trace, value=True)
        before = budget.clock.remaining()
        result, report = _decide(found, instance, remaining, target, schedule, budget)
        trace = {"target": target, "starts": len(remaining.mode_starts), **report.trace}
        if result.status == "optimal":
            return StageResult(complete=True, trace=trace)
        if result.status == "infeasible":
            found.bound(target + 1)
            step *= 2 if before - budget.clock.remaining() <= QUICK * before else 1
        elif step == 1 or last:
            break
        else:
            step = 1  # a nearer target first
    return StageResult(trace=trace)


def _decide(
    found: StageProgress,
    instance: EdgeInstance,
    remaining: RemainingStarts,
    target: int,
    schedule: EdgeSchedule | None,
    budget: Budget,
) -> tuple[EngineResult, StageResult]:
    """Look for the best schedule over the modes and starts that remain, up to a target."""
    lower = math.ceil(remaining.bound - 1e-6)
    model = intervals.build(instance, mode_starts=remaining.mode_starts, lower=lower, upper=target)
    return solve_program(
        found,
        model,
        "cp-sat",
        budget=budget,
        read=lambda values: valid_schedule(instance, intervals.read(model, instance, values)),
        real=lambda bound: min(target + 1.0, bound),
        grid=1,
        start=None if schedule is None else intervals.start(model, instance, schedule),
    )


class ObjectiveTargets:
    """The sequence of targets of one instance; results go to its search state.

    `fixing`: prices.

    Attributes
    ----------
    stuck : bool
        Whether no further target can be tried: too many modes and starts remain, or CP-SAT fails.
    """

    def __init__(
        self, instance: EdgeInstance, state: SearchState, fixing: ReducedCostFixing
    ) -> None:
        self.instance, self.state, self.fixing = instance, state, fixing
        self.stuck = False
        view = compiled(instance)
        self._worst = sum(view.last - task.arrival for task in view.tasks)  # of any schedule
        self._doublings = 0  # of the time for a target
        self._searches = 0  # by large neighbourhoods
        self._failed_searches = 0  # in a row

    def close_gap(self, budget: Budget) -> None:
        """Try targets until the gap is closed, or time is up."""
        while not (self.state.closed or self.stuck or budget.clock.expired()):
            self.advance(budget)

    def advance(self, budget: Budget, weight: float = 1.0, *, alone: bool = True) -> None:
        """Try some targets, and improve the incumbent if they do not raise the bound.

        `weight`: share of the time for this instance among several. `alone`: whether the last
        target may take long without delaying other instances.
        """
        state, lower = self.state, self.state.lower
        if lower > self._worst:
            state.infeasible = True
            return
        final = self._worst if state.upper is None else int(state.upper) - 1
        remaining = self.fixing.remaining_starts(compiled(self.instance), final + 1)
        count = len(remaining.mode_starts)
        last = alone and self._doublings >= MAX_DOUBLINGS and count <= LAST_STARTS
        state.call.progress.phase(f"a schedule of {final} or less: {count} starts")
        report = state.child(
            "targets",
            target_stage,
            self.instance,
            self.fixing,
            final,
            state.schedule,
            last,
            budget=self._share(budget, weight, last),
            engine="cp-sat",
        )
        self.stuck = self._doublings > MOST_DOUBLINGS or (report is not None and bool(report.value))
        if not (state.closed or self.stuck or state.lower > lower):
            self._doublings += 1
            if not budget.clock.expired():
                own = self._share(budget, IMPROVE_WEIGHT * weight)
                self.improve(own.share(0.5**self._failed_searches))

    def _share(self, budget: Budget, weight: float, last: bool = False) -> Budget:
        """Return the budget of one stage of targets."""
        if last:
            return budget.share(LAST_SHARE, most=LAST_SECONDS * 2**self._doublings)
        share = min(0.5, TARGET_SHARE * weight * 2**self._doublings)
        most = TARGET_SECONDS * weight * 2**self._doublings
        return budget.share(1.0, most=max(MIN_SECONDS, min(share * budget.clock.remaining(), most)))

    def improve(self, budget: Budget) -> None:
        """Look for a first schedule by CP-SAT, or for better ones by large neighbourhoods."""
        state, upper = self.state, self.state.upper
        self._searches += 1
        if upper is None:
            search_intervals(self.instance, state, budget)
        else:
            state.call.progress.phase("large neighborhoods")
            state.child(
                "neighborhoods",
                improve,
                self.instance,
                state.schedule,
                self.fixing,
                self._searches,
                budget=budget,
                engine="cp-sat",
            )
        self._failed_searches = 0 if state.upper != upper else self._failed_searches + 1
