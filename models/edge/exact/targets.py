"""Targets: is there a schedule with an objective up to so much? The bound rises with every no.

A schedule with an objective up to a target just above the bound can use few groups. A program over
these decides whether there is one; if not, the target is raised. The first schedule found so is
optimal, and every target that fails is a bound. Where that takes too long, large neighborhoods look
for better schedules, and the next targets get more time. In the end the target is the last one,
just below the best schedule, for long: what a search bounds on the way there counts as well.
"""

import math
from dataclasses import replace

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.reduced_cost_fixing import Fixing, Kept, certificate
from schedgap.models.edge.decisions import problem
from schedgap.models.edge.exact.neighborhoods import improve
from schedgap.models.edge.exact.stages import target_stage
from schedgap.models.edge.exact.steps import search_intervals
from schedgap.models.edge.exact.tightening import tighten
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock

TARGET_SHARE, TARGET_SECONDS = 0.05, 3.0  # for one target and engine; doubled where both fail
SHORTEST = 1.0  # seconds; a process takes a good part of that to start
FAVORED = 3  # so many times that for the engine that is asked first
TURNS = 2  # of doubling, before the last target
LAST_SHARE, LAST_SECONDS = 0.8, 60.0  # for that one
CHECK_SHARE, CHECK_SECONDS = 0.1, 3.0  # of the second engine, on the last target
FEW_JOBS = 13  # up to which CP-SAT is asked first, as it is where parts leave little
QUICK = 0.04  # a target that took no more of what was left doubles the step to the next one
NEAR = (
    0.03,
    0.02,
    0.015,
    0.01,
    0.005,
)  # of the bound: groups of schedules up to there are cut by shapes
CUT_SHARE, CUT_GROUPS = 0.5, 1_500  # of them; where there are more, those of nearer schedules
PASSES, LEAST_NEAR = 2, 0.005  # of cutting; with less than this part of the bound left to near
LAST_GROUPS = 6_000  # of the last target; where there are more, targets stay near
FAR, FAR_SHARE = 0.015, 0.3  # of the bound: better schedules are looked for before any target
MOST_GROUPS = 60_000  # in one program


class Targets:
    """The targets of one instance; what comes of them goes to its bracket.

    Attributes
    ----------
    stuck : bool
        Whether nothing more can be done: too many groups are left.
    """

    def __init__(self, instance: EdgeInstance, found: SearchState, fixing: Fixing) -> None:
        self.instance, self.found, self.fixing = instance, found, fixing
        self.stuck = False
        view = problem(instance)
        self._worst = sum(view.last - task.arrival for task in view.tasks)  # of any schedule
        self._few = len(view.tasks) <= FEW_JOBS or bool(fixing.sides)
        self._engines = ["cp-sat", "highs"] if self._few else ["highs", "cp-sat"]
        self._step, self._turn, self._looked, self._vain = 1, 0, 0, 0
        self._decided = ""

    def settle(self, clock: Clock) -> None:
        """Go on until nothing is left to prove, or no time."""
        while not (self.found.closed or self.stuck or clock.expired()):
            self.advance(clock)
        self.check(clock)

    def tighten(self, clock: Clock) -> None:
        """Add prices with shapes, from the relaxation over the groups that matter most.

        Once more, where it has risen to what these were chosen for: its prices need more groups.
        """
        own, base = clock.share(CUT_SHARE), self.found.lower
        for _ in range(PASSES):
            near, cut = self._cut(base, own)
            self.weigh()
            if cut is None or self.found.closed or near == self.found.upper:
                return
            if cut < near - 1 - LEAST_NEAR * base:
                return
            base = cut

    def _cut(self, base: float, clock: Clock) -> tuple[int, float | None]:
        """Cut the relaxation over groups of schedules up to near a value; return both."""
        found = self.found
        for part in NEAR:
            near = math.ceil(base * (1 + part)) + 1
            near = near if found.upper is None else min(near, int(found.upper))
            kept = self._keep(near)
            if len(kept.groups) <= CUT_GROUPS:
                break
        if kept.hopeless or len(kept.groups) > MOST_GROUPS:
            return near, None
        found.call.progress.phase(f"cutting the relaxation over {len(kept.groups)} groups")
        report = found.child(
            "shapes",
            tighten,
            self.instance,
            kept,
            self.fixing.prices[0].slots,
            clock=clock,
            engine="highs",
        )
        if report is None or report.value is None:
            return near, None
        self.fixing = replace(self.fixing, prices=(*self.fixing.prices, report.value))
        return near, report.trace.get("cut")

    def weigh(self) -> None:
        """Tell the bracket what the prices prove; past their slots nothing is better than known."""
        view, upper = problem(self.instance), self.found.upper
        below = view.last * len(view.tasks) if upper is None else int(upper)
        self._rule_out(below, self._keep(below))

    def _rule_out(self, upper: int, kept: Kept) -> None:
        """Tell the bracket what is known of schedules below a value: it is a bound on all."""
        bound = upper if kept.hopeless else min(upper, kept.bound)
        bare = self.found.lower if self.found.certificate is None else math.inf
        if math.isfinite(bound) and (math.ceil(bound) > self.found.lower or bound == bare):
            proof = None if self.fixing.sides else certificate(self.fixing.prices, upper)
            self.found.bound(math.ceil(bound), proof)

    def advance(self, clock: Clock, weight: float = 1.0, *, alone: bool = True) -> None:
        """Try one target, or look for better schedules.

        Parameters
        ----------
        weight : float
            Part of the time that is for this instance, among others.
        alone : bool
            Whether a long search for the last target takes nothing from others.
        """
        found = self.found
        far = found.upper is not None and found.upper - found.lower > FAR * found.lower
        if far and not self._few and not self._vain:  # as long as that helps
            self.improve(clock.share(FAR_SHARE * weight))
            return
        if found.lower > self._worst:
            found.infeasible = True
            return
        final = self._worst if found.upper is None else int(found.upper) - 1
        target, kept = final, self._keep(final + 1)
        last = alone and self._turn >= TURNS and len(kept.groups) <= LAST_GROUPS
        if not last and not kept.hopeless:
            target = min(int(found.lower) + self._step - 1, final)
            kept = self._keep(target + 1)
        if kept.hopeless:
            self._rule_out(target + 1, kept)
            self._step *= 2
            return
        if len(kept.groups) > MOST_GROUPS:
            self.stuck = True
            return
        found.call.progress.phase(f"a schedule of {target} or less: {len(kept.groups)} groups")
        found.trace["goal"] = {"value": target, "groups": len(kept.groups)}
        if math.isfinite(kept.slack):
            found.trace["goal"]["slack"] = kept.slack
        left, self._decided = clock.remaining(), ""
        for k, engine in enumerate(self._engines[:1] if last else self._engines):
            budget = self._budget(clock, 1.0 if last else weight, last)
            if not last and not k:
                budget = self._budget(clock, FAVORED * weight)
            if self._decide(kept, target, budget, engine):
                self._decided = engine
                break
            if self._step > 1 and not last:
                self._step = 1  # a nearer target first
                return
        if self._decided:
            self._engines.sort(key=self._decided.__ne__)  # the quick one is asked first
            if left - clock.remaining() <= QUICK * weight * left:
                self._step *= 2
            return
        self._step, self._turn = 1, self._turn + 1
        if clock.expired():
            return
        self.improve(self._budget(clock, weight).share(0.5**self._vain))

    def check(self, clock: Clock) -> None:
        """Put before the other engine what one alone has refuted."""
        found = self.found
        if not (found.closed and self._decided) or found.upper is None:
            return
        kept = self._keep(int(found.upper))
        if not kept.hopeless:
            budget = clock.share(CHECK_SHARE, most=CHECK_SECONDS)
            other = next(name for name in self._engines if name != self._decided)
            self._decide(kept, int(found.upper) - 1, budget, other)

    def _keep(self, upper: int) -> Kept:
        return self.fixing.keep(problem(self.instance), upper)

    def _budget(self, clock: Clock, weight: float, last: bool = False) -> Clock:
        """Return the time for one engine and one target."""
        if last:
            return clock.share(LAST_SHARE, most=LAST_SECONDS * 2**self._turn)
        share = min(0.5, TARGET_SHARE * weight * 2**self._turn)
        most = TARGET_SECONDS * weight * 2**self._turn
        return clock.share(1.0, most=max(SHORTEST, min(share * clock.remaining(), most)))

    def improve(self, clock: Clock) -> None:
        """Look for a schedule, or for better ones in large neighborhoods, other ones each time."""
        found, upper = self.found, self.found.upper
        self._looked += 1
        if upper is None:
            search_intervals(self.instance, found, clock)
        else:
            found.call.progress.phase("large neighborhoods")
            found.child(
                "neighborhoods",
                improve,
                self.instance,
                found.schedule,
                self.fixing,
                self._looked,
                clock=clock,
                engine="cp-sat",
            )
        self._vain = 0 if found.upper != upper else self._vain + 1

    def _decide(self, kept: Kept, target: int, clock: Clock, engine: str) -> bool:
        """Look for a schedule with an objective up to a target; return whether that is decided."""
        found = self.found
        report = found.child(
            f"goals in {engine}",
            target_stage,
            self.instance,
            kept,
            target,
            self.fixing.shapes,
            found.schedule,
            engine,
            clock=clock,
            engine=engine,
        )
        return report is not None and bool(report.value)
