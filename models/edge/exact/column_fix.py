"""`exact` (ours): CP-SAT on intervals, prices by column generation, and the groups they leave.

CP-SAT settles small networks and finds schedules. Beyond, prices prove: their bound, better still
with prices of shapes, is within a few per cent, and goals above it (see `goals`) close in on the
optimum: first for the jobs of each worker type alone (see `parts`), then for all together.
"""

from dataclasses import replace

from schedgap.instances.edge import EdgeInstance
from schedgap.models.bracket import Bracket
from schedgap.models.edge.certificates import check_certificate
from schedgap.models.edge.exact.fixing import Fixing
from schedgap.models.edge.exact.goals import FEW_JOBS, Goals
from schedgap.models.edge.exact.parts import Parts, certificate, jobs_by_type
from schedgap.models.edge.exact.steps import STAGES, price, search_intervals, search_lists
from schedgap.models.edge.heuristics.starting import first_bracket
from schedgap.models.edge.problem import no_schedule
from schedgap.models.method import Call, Outcome

FIRST_SHARE, FIRST_SECONDS = 0.2, 2.5  # of CP-SAT on all groups
LIST_SHARE = 0.2  # of a search over lists
PRICE_SHARE = 0.4
PART_SHARE = 0.6  # of the first steps with the parts
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
    several = len(jobs_by_type(instance)) > 1
    few = len(instance.jobs) <= FEW_JOBS
    if not found.closed and (few or not several):  # else each part has a search of its own
        search_intervals(instance, found, clock.share(FIRST_SHARE, most=FIRST_SECONDS))
    fixing = None
    if not found.closed and several:
        fixing = _by_parts(instance, found)
    if not found.closed and fixing is None:
        fixing = _at_once(instance, found)
    if not found.closed and not clock.expired():
        search_intervals(instance, found, clock)
    return _certified(instance, found.outcome(), fixing)


def _at_once(instance: EdgeInstance, found: Bracket) -> Fixing | None:
    """Close in on the optimum of the whole; None where there are no prices."""
    clock = found.call.clock
    prices = price(instance, found, clock.share(PRICE_SHARE))
    if prices is None:
        return None
    goals = Goals(instance, found, Fixing((prices,)))
    if not found.closed:
        goals.tighten(clock)
        goals.settle(clock)
    return goals.fixing


def _by_parts(instance: EdgeInstance, found: Bracket) -> Fixing | None:
    """Close in on the optimum, part by part, then as a whole; None where prices lack."""
    clock, parts = found.call.clock, Parts(instance, found)
    if not parts.prepare(clock.share(PART_SHARE)) or found.closed:
        return None
    goals = Goals(instance, found, parts.fixing())
    parts.settle(clock, goals)
    goals.fixing = replace(goals.fixing, sides=parts.fixing().sides)
    if not (found.closed or clock.expired()):
        goals.tighten(clock)  # PSs bind: the relaxation of the whole knows what the parts do not
    goals.settle(clock)
    return goals.fixing


def _certified(instance: EdgeInstance, outcome: Outcome, fixing: Fixing | None) -> Outcome:
    """Add a certificate, where prices prove all of the bound, and no search had to."""
    if fixing is None or outcome.bound is None:
        return outcome
    written = certificate(instance, fixing)
    value = check_certificate(instance, written)
    if value != outcome.bound:
        return outcome
    return replace(outcome, certificate=written | {"value": value})


def _batch(instance: EdgeInstance, found: Bracket) -> Outcome:
    """Search, bound, and search again what is left between."""
    clock = found.call.clock
    small = len(instance.jobs) * len(instance.servers) <= MOST_PLACES
    if small:
        search_intervals(instance, found, clock.share(0.5))
    prices = None if found.closed else price(instance, found, clock.share(0.5))
    if small and not found.closed and not clock.expired():
        search_intervals(instance, found, clock)
    outcome = found.outcome("" if small else "too large for an exact search")
    return _certified(instance, outcome, None if prices is None else Fixing((prices,)))


def _coarse(instance: EdgeInstance, found: Bracket) -> Outcome:
    """Bound what is too large for all else by worker types; list jobs by the starts of that."""
    clock = found.call.clock
    found.call.progress.phase("bound by worker types")
    stage = f"{STAGES}:type_stage"
    report = found.child("type-bound", stage, instance, clock=clock, engine="highs")
    if report is not None and not found.closed:
        search_lists(instance, found, clock, report.value)
    return found.outcome("too large for an exact search")
