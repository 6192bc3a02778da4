"""The stages of `exact`: local search here, every stage that needs an engine in a child process."""

import math

import numpy as np

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.instances.hare.scale import grid
from schedgap.models.hare.bounds.lagrangian import GpuPrices
from schedgap.models.hare.bounds.solve_lagrangian import lagrangian_bound
from schedgap.models.hare.decode import to_steps, value_of
from schedgap.models.hare.exact.branch_and_price import BranchAndPrice, refusal
from schedgap.models.hare.heuristics.kernel import KERNEL
from schedgap.models.hare.heuristics.local_search import LocalSearch
from schedgap.models.hare.integer_time import Synchronization, steps
from schedgap.models.hare.programs import intervals
from schedgap.models.mechanisms.branch_and_price import OUT_OF_TIME
from schedgap.models.method import Budget, RunContext
from schedgap.models.program import Known, program_stage
from schedgap.models.search_state import Relay, SearchState, StageProgress, StageResult

MOVES, COMPILED_MOVES = 50, 2000  # moves per task of the first local search
SEARCH_SHARE, SEARCH_SECONDS = 0.08, 4.0


def first_search(instance: HareInstance, state: SearchState) -> LocalSearch:
    """Run the local search for a short time, and return it, to be continued."""
    search = LocalSearch(
        instance, state.call.seed, lambda schedule, value: state.incumbent(schedule)
    )
    moves = COMPILED_MOVES if KERNEL.large(instance) else MOVES
    budget = state.call.budget.share(SEARCH_SHARE, most=SEARCH_SECONDS)
    improve(state, search, budget, moves * instance.number_of_tasks)
    return search


def improve(state: SearchState, search: LocalSearch, budget: Budget, moves: int) -> None:
    """Continue the local search, whose schedules reach the search state."""
    state.call.progress.phase("local search")
    search.improve(budget.clock, moves)


def negotiate(state: SearchState, search: LocalSearch, budget: Budget) -> None:
    """Let the jobs negotiate from the prices of the best bound, if it has any."""
    certificate = state.certificate or {}
    if certificate.get("kind") == "lagrangian" and not state.closed:
        state.phase("negotiation")
        grid, price = (np.array(certificate[key]) for key in ("grid", "prices"))
        search.negotiate(GpuPrices(grid, price), budget.clock)


def run_cp_sat(
    instance: HareInstance, state: SearchState, budget: Budget, synchronization: Synchronization
) -> bool:
    """Run CP-SAT in a child process; return whether its search was complete."""
    state.call.progress.phase("CP-SAT")
    result = state.child(
        "cp-sat",
        program_stage,
        intervals.build,
        instance,
        Known(state.schedule, state.lower),
        {"synchronization": synchronization},
        "cp-sat",
        budget=budget,
        engine="cp-sat",
    )
    return result is not None and result.complete


def branch_and_price(instance: HareInstance, state: SearchState, budget: Budget) -> bool:
    """Run branch and price in a child process; return whether it ended early without an answer."""
    state.call.progress.phase("branch and price")
    result = state.child(
        "branch-and-price",
        branch_and_price_stage,
        instance,
        state.schedule,
        budget=budget,
        engine="highs",
    )
    if result is None:  # the child was killed: at the end of the time, or for its memory
        return not budget.clock.expired()
    return bool(result.value == "given up")


def branch_and_price_stage(
    state: StageProgress,
    instance: HareInstance,
    schedule: HareSchedule,
    *,
    budget: Budget,
) -> StageResult:
    """Run branch and price from a schedule.

    `state`: receives schedules and bounds.
    """
    upper = value_of(instance, to_steps(instance, schedule), schedule.gpu)
    if reason := refusal(instance, upper):
        return StageResult(value="given up", trace={"note": reason})
    search = BranchAndPrice(
        instance,
        schedule,
        budget=budget,
        on_incumbent=state.incumbent,
        on_bound=state.bound,
    )
    result = search.run()
    root = steps(instance).to_objective(result.root) if math.isfinite(result.root) else None
    trace: dict[str, object] = {
        "root_bound": root,
        "nodes": result.nodes,
        "columns": result.columns,
        "seconds": round(budget.clock.elapsed(), 3),  # since the method was called
    }
    if result.stopped:
        trace["stopped"] = result.stopped
    return StageResult(
        complete=result.lower >= result.upper,
        trace=trace,
        value="given up" if result.stopped not in ("", OUT_OF_TIME) else None,
        proof=result.proof,
        proved=result.proved,
    )


def lagrangian(instance: HareInstance, state: SearchState, budget: Budget) -> None:
    """Run the method `lagrangian` in a child process."""
    state.call.progress.phase("pricing GPU time")
    state.child("lagrangian", lagrangian_stage, instance, budget=budget, engine="highs")


def lagrangian_stage(
    state: StageProgress, instance: HareInstance, *, budget: Budget
) -> StageResult:
    """Compute the Lagrangian bound; better bounds are sent at once.

    `state`: receives the bounds.
    """
    scale = grid(instance)

    def to_grid(bound: float) -> float:
        """Round a bound up to the grid, with a margin for round-off."""
        return bound if scale is None else math.ceil(bound / scale * (1 - 1e-9) - 1e-6)

    progress = Relay(state, to_grid)
    result = lagrangian_bound(instance, RunContext({}, "highs", budget, progress))
    return StageResult(trace={"bound": result.bound})
