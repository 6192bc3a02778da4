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

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.reduced_cost_fixing import (
    ReducedCostFixing,
    RemainingStarts,
    certificate,
)
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.exact.neighborhoods import improve
from schedgap.models.edge.exact.stages import search_intervals, target_stage
from schedgap.models.method import Budget
from schedgap.models.search_state import SearchState

TARGET_SHARE, TARGET_SECONDS = 0.1, 6.0  # for a target; doubled where one was not decided
MIN_SECONDS = 1.0  # a child process takes a good part of that to start
MAX_DOUBLINGS = 2  # before the last target
MOST_DOUBLINGS = 20  # more only if CP-SAT stops at once each time, for lack of memory for instance
LAST_SHARE, LAST_SECONDS = 0.8, 60.0  # for the last target
QUICK = 0.04  # a target decided within this share of the time doubles the step to the next one
LAST_STARTS = 6_000  # limit of modes and starts for the last target; above it targets stay near
FAR, FAR_SHARE = 0.015, 0.3  # gap relative to the bound; of the time, for better schedules first
MAX_STARTS = 60_000  # modes and starts in one program


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
        self._step = 1  # from the bound to the next target
        self._doublings = 0  # of the time for a target
        self._searches = 0  # by large neighbourhoods
        self._failed_searches = 0  # in a row

    def close_gap(self, budget: Budget) -> None:
        """Try targets until the gap is closed, or time is up; improve a poor incumbent first."""
        state = self.state
        if state.upper is not None and state.upper - state.lower > FAR * state.lower:
            self.improve(budget.share(FAR_SHARE))
        while not (self.state.closed or self.stuck or budget.clock.expired()):
            self.advance(budget)

    def advance(self, budget: Budget, weight: float = 1.0, *, alone: bool = True) -> None:
        """Try one target, and improve the incumbent if it is not decided.

        `weight`: share of the time for this instance among several. `alone`: whether the last
        target may take long without delaying other instances.
        """
        state = self.state
        if state.lower > self._worst:
            state.infeasible = True
            return
        final = self._worst if state.upper is None else int(state.upper) - 1
        target, remaining = final, self._remaining(final + 1)
        is_last = (
            alone and self._doublings >= MAX_DOUBLINGS and len(remaining.mode_starts) <= LAST_STARTS
        )
        if not is_last and not remaining.is_empty:
            target = min(int(state.lower) + self._step - 1, final)
            remaining = self._remaining(target + 1)
        if remaining.is_empty:
            proof = None if self.fixing.components else certificate(self.fixing.prices, target + 1)
            state.bound(target + 1, proof)
            self._step *= 2
            return
        if len(remaining.mode_starts) > MAX_STARTS:
            self.stuck = True
            return
        before = budget.clock.remaining()
        if self._decide(remaining, target, self._share(budget, weight, is_last)):
            if before - budget.clock.remaining() <= QUICK * weight * before:
                self._step *= 2
        elif self._step > 1 and not is_last:
            self._step = 1  # a nearer target first
        else:
            self._step, self._doublings = 1, self._doublings + 1
            self.stuck = self._doublings > MOST_DOUBLINGS
            if not budget.clock.expired():
                self.improve(self._share(budget, weight).share(0.5**self._failed_searches))

    def _remaining(self, upper: int) -> RemainingStarts:
        return self.fixing.remaining_starts(compiled(self.instance), upper)

    def _share(self, budget: Budget, weight: float, last: bool = False) -> Budget:
        """Return the budget of one target."""
        if last:
            return budget.share(LAST_SHARE, most=LAST_SECONDS * 2**self._doublings)
        share = min(0.5, TARGET_SHARE * weight * 2**self._doublings)
        most = TARGET_SECONDS * weight * 2**self._doublings
        return budget.share(1.0, most=max(MIN_SECONDS, min(share * budget.clock.remaining(), most)))

    def _decide(self, remaining: RemainingStarts, target: int, budget: Budget) -> bool:
        """Look for a schedule with an objective up to a target; return whether that is decided."""
        state, count = self.state, len(remaining.mode_starts)
        state.call.progress.phase(f"a schedule of {target} or less: {count} starts")
        state.trace["target"] = {"value": target, "starts": count}
        report = state.child(
            "targets",
            target_stage,
            self.instance,
            remaining,
            target,
            state.schedule,
            budget=budget,
            engine="cp-sat",
        )
        return report is not None and bool(report.value)

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
