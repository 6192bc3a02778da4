"""The method `exact`: good schedules, CP-SAT, then refutation of better values.

Refutation raises the bound from that of the worker types to the value of the incumbent and leaves
a proof (`models.refute`). Where it takes too long, CP-SAT decides whether there are schedules
slightly above the bound, over the few starts that prices leave (`targets`): first for the jobs of
each worker type alone (`components`), then for all jobs.

References
----------
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008):
price, then solve a program over all columns within the gap.
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999):
bounds from targets that are refuted.
"""

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.decomposition import jobs_by_type
from schedgap.models.edge.bounds.reduced_cost_fixing import ReducedCostFixing
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.exact.components import WorkerTypeComponents
from schedgap.models.edge.exact.stages import (
    FEW_JOBS,
    bound_types,
    price,
    refute,
    search_intervals,
    search_lists,
    type_stage,
)
from schedgap.models.edge.exact.targets import ObjectiveTargets
from schedgap.models.edge.heuristics.initial import initial_state
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

FEW_PLACES, EARLY_SECONDS = 40, 5.0  # jobs x servers up to which better values are refuted first
LIST_SHARE = 0.2  # of the time, for annealing over lists
FIRST_SHARE, FIRST_SECONDS = 0.2, 2.5  # of the time, for CP-SAT and for the first refutation
TYPE_SHARE, SCALE_SHARE = 0.5, 0.6  # of the time, for the bound by worker types, which ends earlier
REFUTE_SHARE, REFUTE_STEP = 0.25, 0.2  # of the time; of the gap, for each value that is refuted
PREPARE_SHARE, COMPONENT_SHARE = 0.4, 0.6  # of the time, for components: prices; targets
PRICE_SHARE = 0.4  # of the time, for prices of all jobs together
MAX_PLACES = 3_000  # jobs x servers with their workers, for one search of CP-SAT


def exact(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    state = initial_state(instance, call)
    state.checkable_only = True
    note = ""
    if not state.closed:
        note = _batch(instance, state) if instance.is_batch else _search(instance, state)
    return state.outcome(note)


def _search(instance: EdgeInstance, state: SearchState) -> str:
    """Search until the gap is closed or time is up; return a note for the user."""
    budget, places = state.call.budget, _places(instance)
    few, several_types = len(instance.jobs) <= FEW_JOBS, len(jobs_by_type(instance)) > 1
    if places > MAX_PLACES:
        # In this process, which loads no second engine: a child would take seconds to start.
        found = state.take(
            "type-bound", type_stage(state, instance, budget=budget.share(SCALE_SHARE))
        )
        starts = {job: start for bound in found.value for job, start in bound.starts.items()}
        search_lists(instance, state, budget, starts, endless=True)
        return "too large for an exact search: lists to the end of the time"
    if places <= FEW_PLACES:
        refute(instance, state, budget.share(FIRST_SHARE, most=EARLY_SECONDS))
    if not state.closed:
        search_lists(instance, state, budget.share(LIST_SHARE))
    if not state.closed and (few or not several_types):
        search_intervals(instance, state, budget.share(FIRST_SHARE, most=FIRST_SECONDS))
    if not state.closed:
        bound_types(instance, state, budget.share(TYPE_SHARE))
    fixing = None
    if not state.closed and several_types:
        fixing = _by_components(instance, state)
    if not state.closed:
        refute(instance, state, budget.share(REFUTE_SHARE), step=REFUTE_STEP)
    if not state.closed and fixing is None:
        prices = price(instance, state, budget.share(PRICE_SHARE))
        fixing = None if prices is None else ReducedCostFixing((prices,))
    if not state.closed and fixing is not None:
        ObjectiveTargets(instance, state, fixing).close_gap(budget)
    if not state.closed and not budget.clock.expired():
        search_intervals(instance, state, budget)
    return ""


def _by_components(instance: EdgeInstance, state: SearchState) -> ReducedCostFixing | None:
    """Close the gaps of the jobs of each worker type; return the prices, if all types have some."""
    budget, components = state.call.budget, WorkerTypeComponents(instance, state)
    if not components.prepare(budget.share(PREPARE_SHARE)):
        return None
    components.close_gaps(budget.share(COMPONENT_SHARE))
    return None if state.closed else components.fixing()


def _places(instance: EdgeInstance) -> int:
    """Return the number of pairs of a job and a server with workers for it."""
    view = compiled(instance)
    servers = (view.workers > 0).sum(axis=0)
    return sum(int(servers[task.worker_type]) for task in view.tasks)


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
