"""`exact` (ours): CP-SAT on intervals, prices by column generation, and the groups they leave.

CP-SAT settles small networks and finds schedules. Beyond, prices prove: their bound, better still
with prices of shapes, is within a few per cent, and goals above it (see `goals`) close in on the
optimum: first for the jobs of each worker type alone (see `parts`), then for all together.
"""

from dataclasses import replace

from schedgap.instances.edge import EdgeInstance
from schedgap.models.bracket import Bracket
from schedgap.models.edge.fixing import Fixing
from schedgap.models.edge.goals import Goals
from schedgap.models.edge.parts import Parts, jobs_by_type
from schedgap.models.edge.problem import no_schedule
from schedgap.models.edge.starting import first_bracket
from schedgap.models.edge.steps import STAGES, price, search_intervals, search_lists
from schedgap.models.method import Call, Outcome

FIRST_SHARE, FIRST_SECONDS = 0.2, 2.5  # of CP-SAT on all groups
LIST_SHARE = 0.1  # of a search over lists
PRICE_SHARE = 0.4
PART_SHARE = 0.8  # of the parts alone
LOOSE = 0.01  # of the bound, that parts may lose: where they lose more, they are not looked at
MOST_PLACES = 10_000  # jobs x servers in one search of CP-SAT


def exact(instance: EdgeInstance, call: Call) -> Outcome:
    """Run `exact`."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    found, clock = first_bracket(instance, call), call.clock
    if found.closed:
        return found.outcome()
    if instance.is_batch:
        return _batch(instance, found)
    search_lists(instance, found, clock.share(LIST_SHARE))
    if not found.closed and len(instance.jobs) * len(instance.servers) > MOST_PLACES:
        return _coarse(instance, found)
    if not found.closed:
        search_intervals(instance, found, clock.share(FIRST_SHARE, most=FIRST_SECONDS))
    if not found.closed:
        prices = price(instance, found, clock.share(PRICE_SHARE))
        if prices is not None:
            _prove(instance, found, Fixing((prices,)))
    if not found.closed and not clock.expired():
        search_intervals(instance, found, clock)
    return found.outcome()


def _prove(instance: EdgeInstance, found: Bracket, fixing: Fixing) -> None:
    """Close in on the optimum by parts, where there are several, and by goals."""
    clock = found.call.clock
    if len(jobs_by_type(instance)) > 1 and not found.closed:
        parts = Parts(instance, found, fixing.prices[0])
        parts.prepare(clock.share(PART_SHARE))
        if parts.bound >= (1 - LOOSE) * found.lower:
            parts.settle(clock.share(PART_SHARE))
            fixing = replace(fixing, sides=parts.sides())
    goals = Goals(instance, found, fixing)
    if not found.closed:
        goals.tighten(clock)
    goals.settle(clock)


def _batch(instance: EdgeInstance, found: Bracket) -> Outcome:
    """Search, bound, and search again what is left between."""
    clock = found.call.clock
    small = len(instance.jobs) * len(instance.servers) <= MOST_PLACES
    if small:
        search_intervals(instance, found, clock.share(0.5))
    if not found.closed:
        price(instance, found, clock.share(0.5))
    if small and not found.closed and not clock.expired():
        search_intervals(instance, found, clock)
    return found.outcome("" if small else "too large for an exact search")


def _coarse(instance: EdgeInstance, found: Bracket) -> Outcome:
    """Bound what is too large for all else by worker types; list jobs by the starts of that."""
    clock = found.call.clock
    found.call.progress.phase("bound by worker types")
    stage = f"{STAGES}:type_stage"
    report = found.child("type-bound", stage, instance, clock=clock, engine="highs")
    if report is not None and not found.closed:
        search_lists(instance, found, clock, report.value)
    return found.outcome("too large for an exact search")
