"""The method `exact` (ours): a good schedule, better ones by CP-SAT, then refuted values.

1. The fluid program and heuristics give a schedule. On small instances, trees then refute all
   better values at once.
2. CP-SAT looks for better schedules with all machines merged, until there are none. Trees prove it.
3. If CP-SAT does not end, columns of jobs and machine patterns give bounds and better schedules.
   Trees prove better bounds.

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
from schedgap.models.dmlrs.bounds.solve_relaxations import MaxColumns
from schedgap.models.dmlrs.exact.logic_based_benders import benders_stage, final_bound
from schedgap.models.dmlrs.exact.prove import prove_goal
from schedgap.models.dmlrs.heuristics.initial import initial_state, report_bound
from schedgap.models.dmlrs.heuristics.search_stages import (
    column_stage,
    fluid_stage,
    repeat_search,
)
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.refute import refute
from schedgap.models.search_state import SearchState
from schedgap.solvers.engines.availability import is_installed

MOVES = 80  # moves of the first search, per job
SEARCH_TIME, BENDERS_TIME, PATTERN_TIME, PROOF_TIME = 0.1, 0.7, 0.4, 0.95  # shares of the time left
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
    prices = fluid_stage(state, instance, moves=moves, time_share=SEARCH_TIME)
    if prices is None or state.closed:
        return state.outcome()
    large = proof.size(instance) > max_columns or is_too_large(instance)
    budget = call.budget.share(SEARCH_TIME, most=REFUTE_SECONDS)
    if not large and _refute(state, instance, budget):
        return state.outcome()
    if not large and _search(state, instance):
        _refute(state, instance, call.budget.share(PROOF_TIME))
        return state.outcome()
    prices = column_stage(
        state, instance, prices, grid=GRID, moves=moves // 2, time_share=SEARCH_TIME
    )
    if not large and not state.closed:
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
    repeat_search(state, instance, prices, moves=10 * moves)
    return state.outcome("too large to decide: bounded and searched only" if large else "")


def _search(state: SearchState, instance: DmlrsInstance) -> bool:
    """Look for better schedules by CP-SAT, or else by HiGHS; return whether there are none left."""
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
    return "benders" in state.proofs


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
