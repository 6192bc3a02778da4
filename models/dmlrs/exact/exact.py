"""The method `exact` (ours): a good schedule, better ones by CP-SAT, then refuted values.

1. Lists of jobs at the prices of the fluid program, and annealing, give a schedule. On small
   instances, trees then refute all better values at once.
2. CP-SAT looks for better schedules with all machines merged, until there are none. Trees prove it.
   On larger instances, columns of jobs and annealing at their prices come before CP-SAT.
3. If CP-SAT does not end, columns of jobs and machine patterns give bounds, and trees prove better
   ones. Annealing takes the rest of the time.

Large instances have neither CP-SAT nor patterns. Branches on the completions of jobs give their
bound. Jobs that negotiate for capacity give starts for annealing, which takes the rest of the time.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999):
bounds from target values that are refuted.
"""

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import proof
from schedgap.models.dmlrs.bounds.machine_patterns import is_too_large
from schedgap.models.dmlrs.bounds.solve_relaxations import (
    MaxColumns,
    branch_on_completions,
    initial_state,
    solve_columns,
)
from schedgap.models.dmlrs.exact.stages import (
    PROOF_SHARE,
    bound_by_patterns,
    decide_by_packing,
    refute_utilities,
)
from schedgap.models.dmlrs.heuristics.search_stages import (
    HOT,
    WARM,
    list_stage,
    search,
    search_negotiated,
)
from schedgap.models.method import MethodResult, RunContext

FEW_COLUMNS = 1000  # size of the proof's program up to which CP-SAT comes before columns
MOVES, START_MOVES = 80, 160  # moves of the first search and of negotiated starts, per job
# Fractions of the time left.
SEARCH_SHARE, SECOND_SEARCH_SHARE = 0.1, 0.2
COLUMN_SHARE, PATTERN_SHARE, NEGOTIATED_SHARE = 0.3, 0.4, 0.3
GRID = 3000  # steps of the work, for columns with all machines merged
PROOF_STEP = 0.25  # share of the gap that is left for the trees, from one bound to the next
REFUTE_SECONDS = 1.0  # most time for a proof that the first schedules are optimal


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
    search(state, instance, prices, moves=moves, rounds=1, time_share=SEARCH_SHARE)
    if state.closed:
        return state.outcome()
    size = proof.size(instance)
    large = size > max_columns or is_too_large(instance)
    few = not large and size <= FEW_COLUMNS
    budget = call.budget.share(SEARCH_SHARE, most=REFUTE_SECONDS)
    if not large and refute_utilities(instance, state, budget):
        return state.outcome()
    if few and decide_by_packing(instance, state):
        return state.outcome()
    budget = call.budget.share(COLUMN_SHARE)
    if large:
        prices = branch_on_completions(state, instance, prices, budget=budget)
        starts = START_MOVES * len(instance.jobs)
        search_negotiated(state, instance, prices, moves=starts, time_share=NEGOTIATED_SHARE)
    else:
        prices = solve_columns(state, instance, prices, grid=GRID, budget=budget)
        if not few:
            search(state, instance, prices, moves=10 * moves, time_share=SECOND_SEARCH_SHARE)
            if state.closed or decide_by_packing(instance, state):
                return state.outcome()
        bound_by_patterns(instance, state, prices, call.budget.share(PATTERN_SHARE))
        budget = call.budget.share(PROOF_SHARE)
        if state.closed or refute_utilities(instance, state, budget, step=PROOF_STEP):
            return state.outcome()
    search(state, instance, prices, moves=10 * moves, hot=WARM if large else HOT)
    return state.outcome("too large to decide: bounded and searched only" if large else "")
