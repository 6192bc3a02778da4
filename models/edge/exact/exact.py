"""The method `exact`: CP-SAT, column generation, reduced-cost fixing and destructive bounds.

On small networks all better values are refuted over the program of the proof, before or after
CP-SAT. With few jobs the refuted values rise from the bound of worker types to the incumbent's.
On larger ones prices prove bounds: first those of classes of servers, then those of servers, then
with prices of superadditive cuts. Targets above the bound (see `targets`) close the gap, first for
the jobs of each worker type alone (`components`), then for all jobs together. What a search has
proved without a proof is proved by prices as well if possible, so that anyone can check it.

References
----------
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008):
price, then solve a program over all columns within the gap.
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999):
bounds from targets that are refuted.
"""

from collections.abc import Sequence
from dataclasses import replace

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.decomposition import jobs_by_type
from schedgap.models.edge.bounds.reduced_cost_fixing import ReducedCostFixing
from schedgap.models.edge.bounds.worker_types import TypeBound
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.exact.components import WorkerTypeComponents
from schedgap.models.edge.exact.steps import (
    bound_types,
    price,
    refute,
    search_intervals,
    search_lists,
)
from schedgap.models.edge.exact.targets import FEW_JOBS, ObjectiveTargets
from schedgap.models.edge.heuristics.initial import initial_state
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

FIRST_SHARE, FIRST_SECONDS = 0.2, 2.5  # of CP-SAT on the whole
FEW_PLACES, EARLY_SECONDS = 40, 5.0  # jobs x servers up to which CP-SAT comes first
REFUTE_SHARE, REFUTE_STEP = 0.4, 0.2  # of refuting values, from the bound upwards
TYPE_SHARE = 0.5  # of the bound by worker types, which usually ends much earlier
PROOF_SHARE, PROOF_SECONDS = 0.5, 2.0  # of a certificate afterwards; or as long as the search took
LIST_SHARE = 0.2  # of the annealing over lists
PRICE_SHARE = 0.4
PREPARE_SHARE = 0.6  # of the first steps with the components
MAX_PLACES = 3_000  # jobs x servers with their workers, for one search of CP-SAT


def exact(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    state = initial_state(instance, call)
    state.checkable_only = True
    note = ""
    if not state.closed:
        note = _batch(instance, state) if instance.is_batch else _search(instance, state)
    if state.closed and state.certificate is None and state.proof is None:
        _certify(instance, state)
    return state.outcome(note)


def _search(instance: EdgeInstance, state: SearchState) -> str:
    """Search until the gap is closed or time is up; return a note for the user."""
    budget = state.call.budget
    few, places = len(instance.jobs) <= FEW_JOBS, _places(instance)
    several_types = len(jobs_by_type(instance)) > 1
    if places <= FEW_PLACES:
        refute(instance, state, budget.share(FIRST_SHARE, most=EARLY_SECONDS))
    if not state.closed and places <= FEW_PLACES:  # here CP-SAT proves optimality at once, if ever
        search_intervals(instance, state, budget.share(FIRST_SHARE, most=EARLY_SECONDS))
    if not state.closed:
        search_lists(instance, state, budget.share(LIST_SHARE))
    if not state.closed and places > FEW_PLACES and (few or not several_types):
        search_intervals(instance, state, budget.share(FIRST_SHARE, most=FIRST_SECONDS))
    types: tuple[TypeBound, ...] = ()
    if not state.closed:
        types = bound_types(instance, state, budget.share(TYPE_SHARE))
    if not state.closed and few and places <= MAX_PLACES:
        refute(instance, state, budget.share(REFUTE_SHARE), step=REFUTE_STEP)
    if not state.closed and places > MAX_PLACES:
        return _lists_only(instance, state, types)
    priced = False
    if not state.closed and several_types:
        priced = _by_components(instance, state, types)
    if not state.closed and not priced:
        _at_once(instance, state, types)
    if not state.closed and not budget.clock.expired():
        search_intervals(instance, state, budget)
    return ""


def _certify(instance: EdgeInstance, state: SearchState) -> None:
    """Try to prove by prices what a search has proved, so that there is a certificate."""
    if state.infeasible or state.call.clock.expired():
        return
    seconds = max(PROOF_SECONDS, state.call.clock.elapsed())
    budget = state.call.budget.share(PROOF_SHARE, most=seconds)
    prices = price(instance, state, budget)
    if prices is None or state.certificate is not None or instance.is_batch:
        return
    targets = ObjectiveTargets(instance, state, ReducedCostFixing((prices,)))
    targets.report_price_bound()
    if state.certificate is None and not budget.clock.expired():
        targets.tighten(budget)


def _places(instance: EdgeInstance) -> int:
    """Return the number of pairs of a job and a server with workers for it."""
    view = compiled(instance)
    servers = (view.workers > 0).sum(axis=0)
    return sum(int(servers[task.worker_type]) for task in view.tasks)


def _at_once(instance: EdgeInstance, state: SearchState, types: Sequence[TypeBound]) -> None:
    """Close the gap of all jobs together, if there are prices."""
    budget = state.call.budget
    prices = price(instance, state, budget.share(PRICE_SHARE), types=types)
    if prices is None or state.closed:
        return
    targets = ObjectiveTargets(instance, state, ReducedCostFixing((prices,)))
    targets.tighten(budget)
    targets.close_gap(budget)


def _by_components(instance: EdgeInstance, state: SearchState, types: Sequence[TypeBound]) -> bool:
    """Close the gap by components, then of all jobs together; return False without prices."""
    budget, components = state.call.budget, WorkerTypeComponents(instance, state, types)
    if not components.prepare(budget.share(PREPARE_SHARE)):
        return False
    if state.closed:
        return True
    targets = ObjectiveTargets(instance, state, components.fixing())
    components.close_gaps(budget, targets)
    targets.fixing = replace(targets.fixing, components=components.fixing().components)
    if not (state.closed or budget.clock.expired()):
        targets.tighten(budget)  # the PSs bind, which only the relaxation of the whole contains
    targets.close_gap(budget)
    return True


def _batch(instance: EdgeInstance, state: SearchState) -> str:
    """Solve a batch by CP-SAT, bound it, and search again; return a note for the user."""
    budget = state.call.budget
    small = _places(instance) <= MAX_PLACES
    if small:
        search_intervals(instance, state, budget.share(0.5))
    if not state.closed:
        price(instance, state, budget.share(0.5))
    if small and not state.closed and not budget.clock.expired():
        search_intervals(instance, state, budget)
    return "" if small else "too large for an exact search"


def _lists_only(instance: EdgeInstance, state: SearchState, types: Sequence[TypeBound]) -> str:
    """Anneal lists, ordered by the relaxations of worker types, until time is up."""
    starts = {job: start for bound in types for job, start in bound.starts.items()}
    search_lists(instance, state, state.call.budget, starts, endless=True)
    return "too large for an exact search: lists to the end of the time"
