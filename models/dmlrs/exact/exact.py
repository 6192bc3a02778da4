"""The method `exact` (ours): search, dual bound by machine patterns, then refuted values.

1. Heuristics give a schedule. On small instances, trees then refute all better values at once.
2. The fluid program, columns of jobs and machine patterns give bounds. The item prices of the
   patterns have a bound that is often within 2 % of the schedule.
3. Targets between schedule and bound are searched for, or refuted (`targets`).
4. If the gap stays open, trees prove a bound between that of the prices and the schedule's.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999):
bounds from target values that are refuted.
"""

from dataclasses import replace

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.bounds.certificate_data import item_price_certificate
from schedgap.models.dmlrs.bounds.machine_patterns import generate_patterns, is_too_large
from schedgap.models.dmlrs.bounds.solve_relaxations import MaxColumns
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.prove import prove_goal
from schedgap.models.dmlrs.exact.targets import prove_by_targets
from schedgap.models.dmlrs.heuristics.initial import initial_state, report_bound
from schedgap.models.dmlrs.heuristics.search_stages import (
    column_stage,
    fluid_stage,
    neighborhood_stage,
)
from schedgap.models.dmlrs.programs import aggregate
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.refute import refute_stage
from schedgap.models.search_state import SearchState

MOVES = 80  # of the first search, per job
SEARCH_TIME, PATTERN_TIME = 0.1, 0.4  # of the time left
MAX_SEARCHES = 20  # if the optimum is not proved in time
GRID = 3000  # steps of the work, for columns with all machines merged
TARGET_TIME, PROOF_TIME = 0.7, 0.95  # of the time left: for targets, then for trees
PROOF_STEP = 0.25  # of the gap that is left for the trees, from one bound to the next
REFUTE_SECONDS = 3.0  # for a proof that the first schedules are optimal


def exact(
    instance: DmlrsInstance, call: RunContext, *, max_columns: MaxColumns = 100_000
) -> MethodResult:
    """Run `exact`."""
    state = initial_state(instance, call)
    state.checkable_only = True
    if state.closed:
        return state.outcome()
    moves = MOVES * len(instance.jobs)
    started = fluid_stage(state, instance, moves=moves, time_share=SEARCH_TIME)
    if started is None or state.closed:
        return state.outcome()
    prices, partial = started
    if _refute(state, instance, call.budget.share(SEARCH_TIME, most=REFUTE_SECONDS)):
        return state.outcome()
    prices, partial = column_stage(
        state, instance, prices, partial, grid=GRID, moves=moves // 2, time_share=SEARCH_TIME
    )
    large = aggregate.size(instance) > max_columns or is_too_large(instance)
    decided: bool = state.closed
    if not large and not decided:
        call.progress.phase("generating patterns")
        item_prices = generate_patterns(
            instance,
            prices,
            budget=call.budget.share(PATTERN_TIME),
            on_bound=lambda bound, at_prices: report_bound(
                state, instance, bound, item_price_certificate(at_prices)
            ),
        )
        if item_prices is not None and not state.closed:
            state.call = replace(call, budget=call.budget.share(TARGET_TIME))
            decided = prove_by_targets(state, instance, item_prices)
            state.call = call
        decided |= state.closed
        if not decided:
            decided = _refute(state, instance, call.budget.share(PROOF_TIME), step=PROOF_STEP)
    for seed_offset in range(MAX_SEARCHES if not decided else 0):
        if state.closed or call.clock.expired():
            break
        partial = neighborhood_stage(
            state, partial, prices, moves=10 * moves, time_share=1.0, seed_offset=seed_offset
        )
    return state.outcome("too large to decide: bounded and searched only" if large else "")


def _refute(
    state: SearchState, instance: DmlrsInstance, budget: Budget, *, step: float = 1.0
) -> bool:
    """Refute better utilities over the program of the proof; return whether none is left.

    `step`: as for `refute_stage`.
    """
    state.call.progress.phase("refuting better utilities")
    state.child(
        "refute",
        refute_stage,
        instance,
        prove_goal,
        state.certified,
        state.upper,
        sense=-1,
        grid=0.0,
        step=step,
        budget=budget,
        engine="highs",
    )
    if "refute" not in state.proofs:
        return False
    state.bound(-attained(instance, -state.lower))
    return True
