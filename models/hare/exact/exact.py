"""The method `exact` (ours): a good incumbent, then branch and price, which proves it.

The bounds of branch and price are exact sums that trust no engine, and its tree is the proof. Where
its tables are large, CP-SAT and the Lagrangian relaxation come first. The latter gives the only
bound beyond `MAX_TASKS` tasks, and where times have no common step. Values are in grid steps if
there is a grid.
"""

from dataclasses import replace

from schedgap.errors import ScaleError
from schedgap.instances.hare import HareInstance
from schedgap.models.hare.exact.branch_and_price import pricing_table_size
from schedgap.models.hare.exact.stages import (
    MOVES,
    branch_and_price,
    first_search,
    improve,
    lagrangian,
    lagrangian_stage,
    negotiate,
    run_cp_sat,
)
from schedgap.models.hare.heuristics.initial import initial_state
from schedgap.models.hare.integer_time import Synchronization, steps
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock

CP_SAT_SHARE, CP_SAT_SECONDS = 0.3, 4.0  # including the start of its process
LAGRANGIAN_SHARE, LAGRANGIAN_SECONDS = 0.3, 60.0
LATE_MOVES = 1500  # moves per task of the local search after branch and price gave up
LARGE_TABLES = 2_000_000  # size of pricing tables beyond which the root bound takes long
MAX_TASKS = 5000  # for CP-SAT, and for branch and price
BRACKET_SHARE = 0.5  # share of the time for the only bound
NEGOTIATION_SHARE = 0.9  # share of the time left; local search has the rest and gains less
MIN_SEARCH = 30.0  # seconds of local search after it, if there is no time limit


def exact(
    instance: HareInstance, call: RunContext, *, synchronization: Synchronization = "relaxed"
) -> MethodResult:
    """Run the method `exact` within the time limit of a call."""
    note = ""
    if instance.number_of_tasks > MAX_TASKS:
        note = f"too large for an exact search: over {MAX_TASKS} tasks"
    try:
        steps(instance)
    except ScaleError as error:
        note = str(error)
    state = initial_state(instance, call, synchronization)
    state.checkable_only = True
    if not state.closed:
        if note:
            _bracket(instance, state, synchronization)
        elif synchronization == "fixed":
            _solve_fixed(instance, state)
        else:
            _solve(instance, state)
    return state.outcome(note)


def _solve(instance: HareInstance, state: SearchState) -> None:
    """Close the gap by local search and branch and price; by CP-SAT where that is slow."""
    search, whole = first_search(instance, state), state.call.budget
    if state.closed:
        return
    if pricing_table_size(instance, int(state.upper or 0)) > LARGE_TABLES:
        budget = whole.share(CP_SAT_SHARE, most=CP_SAT_SECONDS)
        if run_cp_sat(instance, state, budget, "relaxed"):
            return
        lagrangian(instance, state, whole.share(LAGRANGIAN_SHARE, most=LAGRANGIAN_SECONDS))
    if branch_and_price(instance, state, whole):
        improve(state, search, whole.share(0.5), LATE_MOVES * instance.number_of_tasks)
        run_cp_sat(instance, state, whole, "relaxed")


def _solve_fixed(instance: HareInstance, state: SearchState) -> None:
    """Solve the scale-fixed variant by CP-SAT; the bound of the relaxed variant holds for it."""
    budget = state.call.budget
    if not run_cp_sat(instance, state, budget.share(0.3, most=10.0), "fixed"):
        lagrangian(instance, state, budget.share(0.3, most=20.0))
        run_cp_sat(instance, state, budget, "fixed")


def _bracket(instance: HareInstance, state: SearchState, synchronization: Synchronization) -> None:
    """Bound by the Lagrangian relaxation, which holds for both variants; negotiate and search."""
    budget = state.call.budget
    if synchronization == "fixed":
        lagrangian(instance, state, budget)
        return
    search = first_search(instance, state)
    # In this process, which needs no other engine: a new one starts slowly.
    if not state.closed and not budget.clock.expired():
        state.phase("pricing GPU time")
        report = lagrangian_stage(state, instance, budget=budget.share(BRACKET_SHARE))
        state.take("lagrangian", report)
        negotiate(state, search, budget.share(NEGOTIATION_SHARE))
    if not state.closed:
        if budget.clock.limit is None:
            budget = replace(budget, clock=Clock(max(budget.clock.elapsed(), MIN_SEARCH)))
        improve(state, search, budget, MOVES * instance.number_of_tasks)
