"""The method `exact` (ours): local search, then two complete searches of different kinds.

CP-SAT settles small instances. Branch and price settles larger ones; its bounds are exact sums that
trust no engine. Joins the heuristics and the other modules of `exact/` in one recipe. All values
are in grid steps, but for instances without integer times.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

from schedgap.errors import ScaleError
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.instances.hare.scale import grid
from schedgap.models.hare.bounds.certificates import critical_certificate
from schedgap.models.hare.bounds.solve_lagrangian import lagrangian_bound
from schedgap.models.hare.decode import left_shifted_schedule, to_steps, value_of
from schedgap.models.hare.exact.branch_and_price import (
    BranchAndPrice,
    pricing_table_size,
    refusal,
)
from schedgap.models.hare.exact.rounded_instance import RoundedInstance, rounded_down
from schedgap.models.hare.heuristics.initial import initial_state, starting_schedules
from schedgap.models.hare.heuristics.local_search import local_search
from schedgap.models.hare.integer_time import Synchronization, steps
from schedgap.models.hare.programs import intervals
from schedgap.models.mechanisms.branch_and_price import OUT_OF_TIME
from schedgap.models.method import Budget, MethodResult, NullProgress, RunContext
from schedgap.models.search_state import (
    Relay,
    SearchState,
    StageProgress,
    StageResult,
    solve_program,
)
from schedgap.solvers import Clock

MOVES = 150  # of the local search, per task
SEARCH_SHARE, SEARCH_SECONDS = 0.08, 4.0
CP_SAT_SHARE, CP_SAT_SECONDS = 0.3, 4.0  # including the start of its process
LAGRANGIAN_SHARE, LAGRANGIAN_SECONDS = 0.3, 60.0
LAGRANGIAN_LARGE = 0.6  # of the time, for instances that are too large for complete searches
MIN_SEARCH = 30.0  # seconds of local search without a time limit
ROUNDED_SHARE = 0.7  # of the time, for the instance rounded down to integer times
CLOSE = 5e-7  # relative; closer values count as equal if there is no grid
LARGE_TABLES = 2_000_000  # size of pricing tables beyond which the root bound takes long
MAX_TASKS = 5000  # for complete searches


def exact(
    instance: HareInstance, call: RunContext, *, synchronization: Synchronization = "relaxed"
) -> MethodResult:
    """Run the method `exact` within the time limit of a call."""
    try:
        steps(instance)
    except ScaleError as error:
        return _without_grid(instance, call, synchronization, str(error))
    state = initial_state(instance, call, synchronization)
    state.checkable_only = True
    if state.closed:
        return state.outcome()
    if arrays(instance).tasks > MAX_TASKS:
        return _large(instance, state, synchronization)
    if synchronization == "fixed":
        return _fixed(instance, state)
    _search(instance, state, call.budget.share(SEARCH_SHARE, most=SEARCH_SECONDS), MOVES)
    if state.closed:
        return state.outcome()
    budget = call.budget.share(CP_SAT_SHARE, most=CP_SAT_SECONDS)
    if _cp_sat(instance, state, budget, synchronization):
        # A second proof, of another kind, while it is cheap.
        _branch_and_price(
            instance, state, call.budget.share(0.5, most=2.0 + budget.clock.elapsed())
        )
        return state.outcome()
    if pricing_table_size(instance, int(state.upper or 0)) > LARGE_TABLES:
        _lagrangian(instance, state, call.budget.share(LAGRANGIAN_SHARE, most=LAGRANGIAN_SECONDS))
    if _branch_and_price(instance, state, call.budget):
        _search(instance, state, call.budget.share(0.5), 10 * MOVES)
        _cp_sat(instance, state, call.budget, synchronization)
    return state.outcome()


def _large(
    instance: HareInstance, state: SearchState, synchronization: Synchronization
) -> MethodResult:
    """Bound by the Lagrangian relaxation, then search for the remaining time.

    Without a time limit, the search takes as long as the bound, and at least `MIN_SEARCH`.
    """
    budget = state.call.budget
    share = LAGRANGIAN_LARGE if synchronization == "relaxed" else 1.0
    _lagrangian(instance, state, budget.share(share))
    if synchronization == "relaxed" and not state.closed:
        if budget.clock.limit is None:
            budget = replace(budget, clock=Clock(max(budget.clock.elapsed(), MIN_SEARCH)))
        _search(instance, state, budget, MOVES)
    return state.outcome(f"too large for an exact search: over {MAX_TASKS} tasks")


def _fixed(instance: HareInstance, state: SearchState) -> MethodResult:
    """Solve the scale-fixed variant by CP-SAT, and bound it by the relaxed variant."""
    call = state.call
    if _cp_sat(instance, state, call.budget.share(0.3, most=10.0), "fixed"):
        return state.outcome()
    relaxed = initial_state(instance, replace(call, progress=NullProgress()), "relaxed")
    _branch_and_price(instance, relaxed, call.budget.share(0.3, most=20.0))
    state.bound(relaxed.lower, relaxed.certificate)
    _cp_sat(instance, state, call.budget, "fixed")
    return state.outcome()


class _RoundedProgress(NullProgress):
    """Pass the results for an instance rounded down to the search state of the original one."""

    def __init__(self, state: SearchState, down: RoundedInstance) -> None:
        self._state, self._down = state, down

    def incumbent(self, schedule: HareSchedule, objective: float) -> None:
        """Offer a schedule; the search state recomputes its starts in the true times."""
        self._state.incumbent(schedule)

    def bound(
        self,
        value: float,
        certificate: Mapping[str, object] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Pass a bound on, without its certificate, which belongs to the rounded instance."""
        self._state.bound(self._down.bound(value), confirmed=confirmed)


def _without_grid(
    instance: HareInstance, call: RunContext, synchronization: Synchronization, reason: str
) -> MethodResult:
    """Solve an instance without integer times by way of the instance rounded down.

    Its bounds hold for the original instance; its schedules get the true times.
    """
    state = SearchState(
        call,
        lambda schedule: schedule.value(instance),
        normalise=lambda schedule: left_shifted_schedule(instance, schedule, synchronization),
        tolerance=CLOSE,
    )
    state.checkable_only = True
    state.bound(*critical_certificate(instance))
    for schedule in starting_schedules(instance, synchronization):
        state.incumbent(schedule)
    if not state.closed and synchronization == "relaxed":
        _search(instance, state, call.budget.share(SEARCH_SHARE, most=SEARCH_SECONDS), MOVES)
    down = rounded_down(instance)
    if down is None:
        note = f"{reason}; the finest possible steps are longer than a task"
    else:
        note = (
            f"{reason}; the bound holds for times rounded down to {float(down.step):g} and weights "
            f"rounded down to {float(down.weight_step):g}"
        )
    if not state.closed and down is not None:
        share = call.budget.share(ROUNDED_SHARE)
        progress = _RoundedProgress(state, down)
        inner = exact(down.instance, replace(call, progress=progress, budget=share))
        state.trace["rounded_down"] = dict(inner.trace)
        if inner.bound is not None:
            progress.bound(inner.bound)
        if "reported_bound" in inner.trace:
            progress.bound(inner.trace["reported_bound"], confirmed=False)
    if not state.closed:
        _lagrangian(instance, state, call.budget)
    return state.outcome(note)


# --- stages --------------------------------------------------------------------------------------


def _search(instance: HareInstance, state: SearchState, budget: Budget, moves: int) -> None:
    """Run the local search, with a number of moves per task."""
    state.call.progress.phase("local search")
    schedule = local_search(
        instance,
        budget=budget,
        moves=moves * arrays(instance).tasks,
        on_improvement=lambda schedule, value: state.incumbent(schedule),
    )
    state.incumbent(schedule)


def _cp_sat(
    instance: HareInstance, state: SearchState, budget: Budget, synchronization: Synchronization
) -> bool:
    """Run CP-SAT in a child process; return whether its search was complete."""
    state.call.progress.phase("CP-SAT")
    result = state.child(
        "cp-sat",
        cp_sat_stage,
        instance,
        state.schedule,
        state.lower,
        synchronization,
        budget=budget,
        engine="cp-sat",
    )
    return result is not None and result.complete


def cp_sat_stage(
    state: StageProgress,
    instance: HareInstance,
    schedule: HareSchedule,
    lower: int,
    synchronization: Synchronization,
    *,
    budget: Budget,
) -> StageResult:
    """Search with CP-SAT from a schedule and a bound.

    `state`: receives schedules and bounds. `lower`: lower bound, in grid steps. `synchronization`:
    variant of the problem.
    """
    begin = to_steps(instance, schedule, synchronization)
    upper = value_of(instance, begin, schedule.gpu)
    model = intervals.build(instance, synchronization=synchronization, upper=upper, lower=lower)
    _, result = solve_program(
        state,
        model,
        "cp-sat",
        budget=budget,
        grid=1,
        start=intervals.start(instance, schedule, synchronization=synchronization),
        read=lambda values: intervals.read(values, instance),
    )
    return result


def _branch_and_price(instance: HareInstance, state: SearchState, budget: Budget) -> bool:
    """Run branch and price in a child process; return whether it gave up before its time limit."""
    state.call.progress.phase("branch and price")
    result = state.child(
        "branch-and-price",
        branch_and_price_stage,
        instance,
        state.schedule,
        budget=budget,
        engine="highs",
    )
    return result is not None and result.value == "given up"


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


def _lagrangian(instance: HareInstance, state: SearchState, budget: Budget) -> None:
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
    if result.bound is not None:
        progress.bound(result.bound, result.certificate)
    return StageResult(trace={"bound": result.bound})
