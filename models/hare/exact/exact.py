"""The method `exact` (ours): a good incumbent, CP-SAT, then branch and price, which proves it.

CP-SAT settles small instances. Branch and price settles larger ones; its bounds are exact sums that
trust no engine, and its tree is the proof. Where its tables are large, the Lagrangian relaxation
gives a bound first; beyond `MAX_TASKS` tasks it gives the only one. All values are in grid steps.
"""

from dataclasses import replace

from schedgap.errors import ScaleError
from schedgap.instances.hare import HareInstance
from schedgap.models.hare.exact.branch_and_price import pricing_table_size
from schedgap.models.hare.exact.rounded_instance import without_grid
from schedgap.models.hare.exact.stages import (
    MOVES,
    branch_and_price,
    first_search,
    improve,
    lagrangian,
    run_cp_sat,
)
from schedgap.models.hare.heuristics.initial import initial_state
from schedgap.models.hare.heuristics.local_search import PlanSearch
from schedgap.models.hare.integer_time import Synchronization
from schedgap.models.method import MethodResult, NullProgress, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock

CP_SAT_SHARE, CP_SAT_SECONDS = 0.3, 4.0  # including the start of its process
LAGRANGIAN_SHARE, LAGRANGIAN_SECONDS = 0.3, 60.0
LATE_MOVES = 1500  # of the local search after branch and price gave up, per task
LARGE_TABLES = 2_000_000  # size of pricing tables beyond which the root bound takes long
MAX_TASKS = 5000  # for CP-SAT, and for branch and price
LARGE_LAGRANGIAN = 0.5  # of the time, with more tasks
MIN_SEARCH = 30.0  # seconds of local search, with more tasks and no time limit


def exact(
    instance: HareInstance, call: RunContext, *, synchronization: Synchronization = "relaxed"
) -> MethodResult:
    """Run the method `exact` within the time limit of a call."""
    try:
        state = initial_state(instance, call, synchronization)
    except ScaleError as error:
        return without_grid(exact, instance, call, synchronization, str(error))
    state.checkable_only = True
    if state.closed:
        return state.outcome()
    if synchronization == "fixed":
        return _fixed(instance, state)
    search = first_search(instance, state)
    if state.closed:
        return state.outcome()
    if instance.number_of_tasks > MAX_TASKS:
        return _large(instance, state, search)
    budget = call.budget.share(CP_SAT_SHARE, most=CP_SAT_SECONDS)
    if run_cp_sat(instance, state, budget, synchronization):
        # A second proof, of another kind, while it is cheap.
        more = call.budget.share(0.5, most=2.0 + budget.clock.elapsed())
        branch_and_price(instance, state, more)
        return state.outcome()
    if pricing_table_size(instance, int(state.upper or 0)) > LARGE_TABLES:
        lagrangian(instance, state, call.budget.share(LAGRANGIAN_SHARE, most=LAGRANGIAN_SECONDS))
    if branch_and_price(instance, state, call.budget):
        improve(state, search, call.budget.share(0.5), LATE_MOVES * instance.number_of_tasks)
        run_cp_sat(instance, state, call.budget, synchronization)
    return state.outcome()


def _large(instance: HareInstance, state: SearchState, search: PlanSearch) -> MethodResult:
    """Bound by the Lagrangian relaxation, then continue the search."""
    budget = state.call.budget
    lagrangian(instance, state, budget.share(LARGE_LAGRANGIAN))
    if not state.closed:
        if budget.clock.limit is None:
            budget = replace(budget, clock=Clock(max(budget.clock.elapsed(), MIN_SEARCH)))
        improve(state, search, budget, MOVES * instance.number_of_tasks)
    return state.outcome(f"too large for an exact search: over {MAX_TASKS} tasks")


def _fixed(instance: HareInstance, state: SearchState) -> MethodResult:
    """Solve the scale-fixed variant by CP-SAT, and bound it by the relaxed variant."""
    call = state.call
    if instance.number_of_tasks > MAX_TASKS:
        lagrangian(instance, state, call.budget)
        return state.outcome(f"too large for an exact search: over {MAX_TASKS} tasks")
    if run_cp_sat(instance, state, call.budget.share(0.3, most=10.0), "fixed"):
        return state.outcome()
    relaxed = initial_state(instance, replace(call, progress=NullProgress()), "relaxed")
    branch_and_price(instance, relaxed, call.budget.share(0.3, most=20.0))
    state.bound(relaxed.lower, relaxed.certificate)
    run_cp_sat(instance, state, call.budget, "fixed")
    return state.outcome()
