"""The method `exact` (ours): a good schedule, better ones by CP-SAT, then refuted values.

1. Lists of jobs at the prices of the fluid program, and annealing, give a schedule. On small
   instances, trees then refute all better values at once.
2. CP-SAT looks for better schedules with all machines merged, until there are none. Trees prove it.
   On larger instances, columns of jobs and annealing at their prices come before CP-SAT.
3. If CP-SAT does not end, columns of jobs and machine patterns give bounds, and trees prove better
   ones. Large instances have the columns only. Annealing takes the rest of the time.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999):
bounds from target values that are refuted.
"""

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import proof
from schedgap.models.dmlrs.bounds.certificate_data import item_price_certificate
from schedgap.models.dmlrs.bounds.machine_patterns import generate_patterns, is_too_large
from schedgap.models.dmlrs.bounds.solve_relaxations import (
    MaxColumns,
    initial_state,
    report_bound,
    solve_columns,
)
from schedgap.models.dmlrs.exact.logic_based_benders import benders_stage, final_bound
from schedgap.models.dmlrs.exact.prove import prove_goal
from schedgap.models.dmlrs.heuristics.search_stages import list_stage, search
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.refute import refute
from schedgap.models.search_state import SearchState
from schedgap.solvers.engines.availability import is_installed

FEW_COLUMNS = 1000  # size of the proof's program up to which CP-SAT comes before columns
MOVES = 80  # moves of the first search, per job
# Shares of the time left.
SEARCH_TIME, SEARCH_AGAIN, BENDERS_TIME = 0.1, 0.2, 0.7
COLUMN_TIME, PATTERN_TIME, PROOF_TIME = 0.3, 0.4, 0.95
GRID = 3000  # steps of the work, for columns with all machines merged
PROOF_STEP = 0.25  # share of the gap that is left for the trees, from one bound to the next
REFUTE_SECONDS = 1.0  # for a proof that the first schedules are optimal


def exact(
    instance: DmlrsInstance, call: RunContext, *, max_columns: MaxColumns = 100_000
) -> MethodResult:
    """Run `exact`."""
    state = initial_state(instance, call)
    state.checkable_only = True
    if state.closed:
        return state.outcome()
    moves = MOVES * len(instance.jobs)
    prices = list_stage(state, instance)
    if prices is None:
        return state.outcome()
    search(state, instance, prices, moves=moves, rounds=1, time_share=SEARCH_TIME)
    if state.closed:
        return state.outcome()
    size = proof.size(instance)
    large = size > max_columns or is_too_large(instance)
    few = not large and size <= FEW_COLUMNS
    if not large and _refute(state, instance, call.budget.share(SEARCH_TIME, most=REFUTE_SECONDS)):
        return state.outcome()
    if few and _decide(state, instance):
        return state.outcome()
    budget = call.budget.share(COLUMN_TIME)
    prices = solve_columns(state, instance, prices, grid=GRID, budget=budget)
    if not large:
        if not few:
            search(state, instance, prices, moves=10 * moves, time_share=SEARCH_AGAIN)
            if state.closed or _decide(state, instance):
                return state.outcome()
        call.progress.phase("generating patterns")
        generate_patterns(
            instance,
            prices,
            budget=call.budget.share(PATTERN_TIME),
            on_bound=lambda bound, at_prices: report_bound(
                state, instance, bound, item_price_certificate(at_prices)
            ),
        )
        budget = call.budget.share(PROOF_TIME)
        if state.closed or _refute(state, instance, budget, step=PROOF_STEP):
            return state.outcome()
    search(state, instance, prices, moves=10 * moves)
    return state.outcome("too large to decide: bounded and searched only" if large else "")


def _decide(state: SearchState, instance: DmlrsInstance) -> bool:
    """Look for better schedules by CP-SAT, or else by HiGHS; return whether there are none left.

    Trees then prove it.
    """
    state.call.progress.phase("slots packed in turn")
    engine = "cp-sat" if is_installed("cp-sat") else "highs"
    state.child(
        "benders",
        benders_stage,
        instance,
        state.upper,
        master=engine,
        share=BENDERS_TIME,
        budget=state.call.budget,
        engine=engine,
    )
    if "benders" not in state.proofs:
        return False
    _refute(state, instance, state.call.budget.share(PROOF_TIME))
    return True


def _refute(
    state: SearchState, instance: DmlrsInstance, budget: Budget, *, step: float = 1.0
) -> bool:
    """Refute better utilities over the program of the proof; return whether none is left.

    `step`: as for `refute_stage`.
    """
    if not refute(
        state, instance, prove_goal, budget, lower=state.certified, sense=-1, grid=0.0, step=step
    ):
        return False
    assert state.upper is not None
    state.bound(final_bound(instance, state.upper))
    return True
