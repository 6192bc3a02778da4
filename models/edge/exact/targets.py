"""Destructive bounds: decide whether a schedule with an objective up to a target exists.

A schedule with an objective up to a target just above the bound can use few modes and starts, by
reduced-cost fixing. A program over these decides whether there is one. If not, the bound is the
target plus one, and the next target is larger; the first schedule found in this way is optimal.
When a target takes too long, large neighbourhood search looks for better schedules, and the next
targets get more time. Finally the target is one below the incumbent, for long; the bounds of that
search count as well.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999).
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008): a
program over all columns within the gap.
"""

import math
from dataclasses import replace

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.reduced_cost_fixing import (
    ReducedCostFixing,
    RemainingStarts,
    certificate,
)
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.exact.neighborhoods import improve
from schedgap.models.edge.exact.stages import target_stage
from schedgap.models.edge.exact.steps import search_intervals
from schedgap.models.edge.exact.tightening import tighten
from schedgap.models.method import Budget
from schedgap.models.search_state import SearchState

TARGET_SHARE, TARGET_SECONDS = 0.05, 3.0  # for a target and an engine; doubled where both fail
MIN_SECONDS = 1.0  # a child process takes a good part of that to start
FIRST_ENGINE = 3  # factor on the time of the engine that is asked first
MAX_DOUBLINGS = 2  # before the last target
LAST_SHARE, LAST_SECONDS = 0.8, 60.0  # for the last target
CHECK_SHARE, CHECK_SECONDS = 0.1, 3.0  # of the second engine, on the last target
FEW_JOBS = 13  # up to which CP-SAT is asked first; it also is with components, which leave little
QUICK = 0.04  # a target decided within this share of the time doubles the step to the next one
NEAR = (0.03, 0.02, 0.015, 0.01, 0.005)  # relative to the bound: values whose starts get cuts
CUT_SHARE, CUT_STARTS = 0.5, 1_500  # time for cuts, and number of modes and starts in them
PASSES, LEAST_NEAR = 2, 0.005  # of cutting; again only if the bound comes this close to the value
LAST_STARTS = 6_000  # limit of modes and starts for the last target; above it targets stay near
FAR, FAR_SHARE = 0.015, 0.3  # gap relative to the bound above which schedules are improved first
MAX_STARTS = 60_000  # modes and starts in one program


class ObjectiveTargets:
    """The sequence of targets of one instance; results go to its search state.

    `fixing`: prices.

    Attributes
    ----------
    stuck : bool
        Whether no further target can be tried: too many modes and starts remain.
    """

    def __init__(
        self, instance: EdgeInstance, state: SearchState, fixing: ReducedCostFixing
    ) -> None:
        self.instance, self.state, self.fixing = instance, state, fixing
        self.stuck = False
        view = compiled(instance)
        self._worst = sum(view.last - task.arrival for task in view.tasks)  # of any schedule
        self._few = len(view.tasks) <= FEW_JOBS or bool(fixing.components)
        self._engines = ["cp-sat", "highs"] if self._few else ["highs", "cp-sat"]
        self._step = 1  # from the bound to the next target
        self._doublings = 0  # of the time for a target
        self._searches = 0  # by large neighbourhoods
        self._failed_searches = 0  # in a row
        self._decided_by = ""  # engine

    def close_gap(self, budget: Budget) -> None:
        """Try targets until the gap is closed, or time is up."""
        while not (self.state.closed or self.stuck or budget.clock.expired()):
            self.advance(budget)
        self.check(budget)

    def tighten(self, budget: Budget) -> None:
        """Add prices with cuts from the relaxation over the modes and starts that matter most.

        Repeated if the bound has come close to the value for which these were chosen: a larger
        value needs more of them.
        """
        own, base = budget.share(CUT_SHARE), self.state.lower
        for _ in range(PASSES):
            near, cut_bound = self._cut(base, own)
            self.report_price_bound()
            if cut_bound is None or self.state.closed or near == self.state.upper:
                return
            if cut_bound < near - 1 - LEAST_NEAR * base:
                return
            base = cut_bound

    def _cut(self, base: float, budget: Budget) -> tuple[int, float | None]:
        """Add cuts over starts of schedules below a value near `base`; return value and bound."""
        state = self.state
        for part in NEAR:
            near = math.ceil(base * (1 + part)) + 1
            near = near if state.upper is None else min(near, int(state.upper))
            remaining = self._remaining(near)
            if len(remaining.mode_starts) <= CUT_STARTS:
                break
        if remaining.is_empty or len(remaining.mode_starts) > MAX_STARTS:
            return near, None
        state.call.progress.phase(
            f"cutting the relaxation over {len(remaining.mode_starts)} starts"
        )
        report = state.child(
            "shapes",
            tighten,
            self.instance,
            remaining,
            self.fixing.prices[0].slots,
            budget=budget,
            engine="highs",
        )
        if report is None or report.value is None:
            return near, None
        self.fixing = replace(self.fixing, prices=(*self.fixing.prices, report.value))
        return near, report.trace.get("cut")

    def report_price_bound(self) -> None:
        """Report the bound that the prices prove; they cover only schedules below the incumbent."""
        view, upper = compiled(self.instance), self.state.upper
        below = view.last * len(view.tasks) if upper is None else int(upper)
        self._report_bound(below, self._remaining(below))

    def _report_bound(self, upper: int, remaining: RemainingStarts) -> None:
        """Report a bound on schedules below `upper`, cut off at `upper`, as a bound on all."""
        state = self.state
        bound = upper if remaining.is_empty else min(upper, remaining.bound)
        uncertified = state.lower if state.certificate is None else math.inf
        if math.isfinite(bound) and (math.ceil(bound) > state.lower or bound == uncertified):
            proof = None if self.fixing.components else certificate(self.fixing.prices, upper)
            state.bound(math.ceil(bound), proof)

    def advance(self, budget: Budget, weight: float = 1.0, *, alone: bool = True) -> None:
        """Try one target, or improve the incumbent.

        `weight`: share of the time for this instance among several. `alone`: whether the last
        target may take long without delaying other instances.
        """
        state = self.state
        is_far = state.upper is not None and state.upper - state.lower > FAR * state.lower
        if is_far and not self._few and not self._failed_searches:
            self.improve(budget.share(FAR_SHARE * weight))
            return
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
            self._report_bound(target + 1, remaining)
            self._step *= 2
            return
        count = len(remaining.mode_starts)
        if count > MAX_STARTS:
            self.stuck = True
            return
        state.call.progress.phase(f"a schedule of {target} or less: {count} starts")
        state.trace["goal"] = {"value": target, "groups": count}
        if math.isfinite(remaining.slack):
            state.trace["goal"]["slack"] = remaining.slack
        before, self._decided_by = budget.clock.remaining(), ""
        for k, engine in enumerate(self._engines[:1] if is_last else self._engines):
            own = self._share(budget, 1.0 if is_last else weight, is_last)
            if not is_last and not k:
                own = self._share(budget, FIRST_ENGINE * weight)
            if self._decide(remaining, target, own, engine):
                self._decided_by = engine
                break
            if self._step > 1 and not is_last:
                self._step = 1  # a nearer target first
                return
        if self._decided_by:
            self._engines.sort(key=self._decided_by.__ne__)  # next time this engine comes first
            if before - budget.clock.remaining() <= QUICK * weight * before:
                self._step *= 2
            return
        self._step, self._doublings = 1, self._doublings + 1
        if budget.clock.expired():
            return
        self.improve(self._share(budget, weight).share(0.5**self._failed_searches))

    def check(self, budget: Budget) -> None:
        """Let the other engine confirm the last target, if one engine alone has refuted it."""
        state = self.state
        if not (state.closed and self._decided_by) or state.upper is None:
            return
        remaining = self._remaining(int(state.upper))
        if not remaining.is_empty:
            own = budget.share(CHECK_SHARE, most=CHECK_SECONDS)
            other = next(name for name in self._engines if name != self._decided_by)
            self._decide(remaining, int(state.upper) - 1, own, other)

    def _remaining(self, upper: int) -> RemainingStarts:
        return self.fixing.remaining_starts(compiled(self.instance), upper)

    def _share(self, budget: Budget, weight: float, last: bool = False) -> Budget:
        """Return the budget of one engine for one target."""
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

    def _decide(self, remaining: RemainingStarts, target: int, budget: Budget, engine: str) -> bool:
        """Look for a schedule with an objective up to a target; return whether that is decided."""
        state = self.state
        report = state.child(
            f"goals in {engine}",
            target_stage,
            self.instance,
            remaining,
            target,
            self.fixing.cut_prices,
            state.schedule,
            engine,
            budget=budget,
            engine=engine,
        )
        return report is not None and bool(report.value)
