"""`exact` (ours): CP-SAT on intervals, prices by column generation, and the groups they leave.

CP-SAT settles small networks and finds schedules. Beyond, prices prove: those of classes of servers
at once, then those of servers, better still with prices of shapes; targets above their bound (see
`targets`) close in on the optimum: first for the jobs of each worker type alone (see `components`),
then for all together. What a search has proved is proved by prices as well where they can, so that
anyone can check it.
"""

from collections.abc import Sequence
from dataclasses import replace

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.decomposition import jobs_by_type
from schedgap.models.edge.bounds.reduced_cost_fixing import Fixing
from schedgap.models.edge.bounds.worker_types import TypeBound
from schedgap.models.edge.decisions import no_schedule, problem
from schedgap.models.edge.exact.components import Parts
from schedgap.models.edge.exact.steps import bound_types, price, search_intervals, search_lists
from schedgap.models.edge.exact.targets import FEW_JOBS, Targets
from schedgap.models.edge.heuristics.initial import first_bracket
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

FIRST_SHARE, FIRST_SECONDS = 0.2, 2.5  # of CP-SAT on all groups
FEW_PLACES, EARLY_SECONDS = 40, 5.0  # jobs x servers where it comes first
TYPE_SHARE = 0.5  # of the bound by worker types, which ends by itself far sooner as a rule
PROOF_SHARE, PROOF_SECONDS = 0.5, 2.0  # of prices for what is proved; or as long as that took
LIST_SHARE = 0.2  # of a search over lists
PRICE_SHARE = 0.4
PART_SHARE = 0.6  # of the first steps with the parts
MOST_PLACES = 3_000  # jobs x servers with their workers in one search of CP-SAT


def exact(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    found = first_bracket(instance, call)
    note = ""
    if not found.closed:
        note = _batch(instance, found) if instance.is_batch else _search(instance, found)
    if found.closed and found.certificate is None:
        _certify(instance, found)
    return found.outcome(note)


def _search(instance: EdgeInstance, found: SearchState) -> str:
    """Search until the bracket is closed or time is up; return what there is to say of it."""
    clock = found.call.clock
    few, places = len(instance.jobs) <= FEW_JOBS, places_of(instance)
    several = len(jobs_by_type(instance)) > 1
    if places <= FEW_PLACES:  # where CP-SAT proves at once, if it ever does
        search_intervals(instance, found, clock.share(FIRST_SHARE, most=EARLY_SECONDS))
    if not found.closed:
        search_lists(instance, found, clock.share(LIST_SHARE))
    if not found.closed and places > FEW_PLACES and (few or not several):
        search_intervals(instance, found, clock.share(FIRST_SHARE, most=FIRST_SECONDS))
    types: tuple[TypeBound, ...] = ()
    if not found.closed:
        types = bound_types(instance, found, clock.share(TYPE_SHARE))
    if not found.closed and places > MOST_PLACES:
        return _coarse(instance, found, types)
    priced = False
    if not found.closed and several:  # each part has a search of its own
        priced = _by_parts(instance, found, types)
    if not found.closed and not priced:
        _at_once(instance, found, types)
    if not found.closed and not clock.expired():
        search_intervals(instance, found, clock)
    return ""


def _certify(instance: EdgeInstance, found: SearchState) -> None:
    """Try to prove by prices alone what a search has proved: so that anyone can check it."""
    if found.infeasible or found.call.clock.expired():
        return
    seconds = max(PROOF_SECONDS, found.call.clock.elapsed())
    clock = found.call.clock.share(PROOF_SHARE, most=seconds)
    prices = price(instance, found, clock)
    if prices is None or found.certificate is not None or instance.is_batch:
        return
    targets = Targets(instance, found, Fixing((prices,)))
    targets.weigh()
    if found.certificate is None and not clock.expired():
        targets.tighten(clock)


def places_of(instance: EdgeInstance) -> int:
    """Return how many servers the jobs may have workers on, all together."""
    view = problem(instance)
    able = (view.workers > 0).sum(axis=0)
    return sum(int(able[task.worker_type]) for task in view.tasks)


def _at_once(instance: EdgeInstance, found: SearchState, types: Sequence[TypeBound]) -> None:
    """Close in on the optimum of the whole, where there are prices."""
    clock = found.call.clock
    prices = price(instance, found, clock.share(PRICE_SHARE), types=types)
    if prices is None or found.closed:
        return
    targets = Targets(instance, found, Fixing((prices,)))
    targets.tighten(clock)
    targets.settle(clock)


def _by_parts(instance: EdgeInstance, found: SearchState, types: Sequence[TypeBound]) -> bool:
    """Close in on the optimum, part by part, then as a whole; False where prices lack."""
    clock, parts = found.call.clock, Parts(instance, found, types)
    if not parts.prepare(clock.share(PART_SHARE)):
        return False
    if found.closed:
        return True
    targets = Targets(instance, found, parts.fixing())
    parts.settle(clock, targets)
    targets.fixing = replace(targets.fixing, sides=parts.fixing().sides)
    if not (found.closed or clock.expired()):
        targets.tighten(clock)  # PSs bind: the relaxation of the whole knows what the parts do not
    targets.settle(clock)
    return True


def _batch(instance: EdgeInstance, found: SearchState) -> str:
    """Search, bound, and search again what is left between; return what there is to say of it."""
    clock = found.call.clock
    small = places_of(instance) <= MOST_PLACES
    if small:
        search_intervals(instance, found, clock.share(0.5))
    if not found.closed:
        price(instance, found, clock.share(0.5))
    if small and not found.closed and not clock.expired():
        search_intervals(instance, found, clock)
    return "" if small else "too large for an exact search"


def _coarse(instance: EdgeInstance, found: SearchState, types: Sequence[TypeBound]) -> str:
    """List jobs by the starts of the relaxation by worker types, then move them, to the end."""
    starts = {job: start for each in types for job, start in each.starts.items()}
    search_lists(instance, found, found.call.clock, starts, endless=True)
    return "too large for an exact search: lists to the end of the time"
