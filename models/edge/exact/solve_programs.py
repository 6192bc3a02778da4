"""Methods that solve one program of the whole problem with an engine, and `cg-bound`."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Annotated

from annotated_types import Ge

from schedgap.errors import UsageError
from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds import column_generation
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.bounds.reduced_cost_fixing import last_slot
from schedgap.models.edge.bounds.solve_relaxations import proved
from schedgap.models.edge.decisions import CompiledInstance, compiled, sense
from schedgap.models.edge.exact.stages import program_stage
from schedgap.models.edge.heuristics.initial import best_list_schedule, initial_state
from schedgap.models.edge.placements import count_runs, valid_schedule
from schedgap.models.edge.programs import columns, intervals, printed, time_indexed
from schedgap.models.edge.programs.dual import CapacityPrices, to_data
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

SPARE_SHARE, SPARE_SECONDS = 0.05, 1.0  # of a time limit, kept for stopping a child process
MaxColumns = Annotated[int, "largest number of columns that is built", Ge(1)]


def _solved(
    instance: EdgeInstance,
    call: RunContext,
    refusal: Callable[[], str],
    solve: Callable[[SearchState], object],
) -> MethodResult:
    """Solve a program from the initial state, unless that is closed or the program too large.

    `refusal` says why the program is too large, or returns an empty string.
    """
    state = initial_state(instance, call)
    if not state.closed:
        if note := refusal():
            return state.outcome(note)
        solve(state)
    return state.outcome()


def _solve_in_child(instance: EdgeInstance, state: SearchState, module: ModuleType) -> None:
    """Build and solve the program of a module in a child process, which can be stopped."""
    call = state.call
    engine = call.engine or "highs"
    call.progress.phase(f"solving with {engine}")
    spare = max(SPARE_SHARE, SPARE_SECONDS / (1 + call.clock.remaining()))
    state.child(
        "complete search",
        program_stage,
        instance,
        module.__name__,
        engine,
        budget=call.budget.share(1 - spare),
        engine=engine,
    )


def _mip(module: ModuleType, instance: EdgeInstance, call: RunContext, limit: int) -> MethodResult:
    """Solve the program of a module if it has no more columns than the limit."""

    def refusal() -> str:
        count = module.size(instance)
        return f"too large: {count} columns > max_columns={limit}" if count > limit else ""

    return _solved(instance, call, refusal, lambda state: _solve_in_child(instance, state, module))


def milp_literal(
    instance: EdgeInstance, call: RunContext, *, max_columns: MaxColumns = 100_000
) -> MethodResult:
    """Solve the paper's program."""
    return _mip(printed, instance, call, max_columns)


def milp_mode(
    instance: EdgeInstance, call: RunContext, *, max_columns: MaxColumns = 100_000
) -> MethodResult:
    """Solve the time-indexed program."""
    return _mip(time_indexed, instance, call, max_columns)


def set_packing(
    instance: EdgeInstance,
    call: RunContext,
    *,
    max_columns: Annotated[int, "largest number of runs that is enumerated", Ge(1)] = 200_000,
) -> MethodResult:
    """Solve program (4) with a column for every run of every job.

    Raises
    ------
    UsageError
        If there are more runs than `max_columns`.
    """
    count = count_runs(compiled(instance), max_columns)
    if count > max_columns:
        raise UsageError(f"{count} runs of the jobs or more: max_columns={max_columns}")
    return _solved(
        instance, call, lambda: "", lambda state: _solve_in_child(instance, state, columns)
    )


def cp_sat(
    instance: EdgeInstance,
    call: RunContext,
    *,
    max_intervals: Annotated[int, "largest number of intervals of workers and PSs", Ge(1)] = 50_000,
) -> MethodResult:
    """Solve the interval model."""

    def refusal() -> str:
        count = 2 * len(instance.jobs) * len(instance.servers)
        if count <= max_intervals:
            return ""
        return f"too large: {count} intervals > max_intervals={max_intervals}"

    def solve(state: SearchState) -> None:
        call.progress.phase("building the model")
        model = intervals.build(instance, lower=None if instance.is_batch else int(state.lower))
        state.solve(
            model,
            lambda values: valid_schedule(instance, intervals.read(model, instance, values)),
            real=lambda bound: sense(instance) * bound,
            grid=1,
            start=intervals.start(model, instance, state.schedule) if state.schedule else None,
        )

    return _solved(instance, call, refusal, solve)


def cg_bound(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Solve the linear relaxation of (4) by column generation."""
    view, sign = compiled(instance), sense(instance)
    alone = job_bound(view)
    call.progress.bound(float(sign * alone), {"kind": "job-bound"})
    slots = _priced_slots(instance, view)
    if reason := column_generation.too_large(view, slots):
        return MethodResult(note=reason)
    call.progress.phase("generating columns")
    kind, reported = "batch-dual" if instance.is_batch else "cg-bound", float(alone)

    def report(bound: float, prices: CapacityPrices) -> None:
        nonlocal reported
        if math.ceil(bound) > reported:
            reported = float(math.ceil(bound))
            call.progress.bound(sign * reported, {"kind": kind, **to_data(prices)})

    relaxation = column_generation.solve_bound(
        view,
        slots=slots,
        budget=call.budget,
        on_bound=report,
    )
    if relaxation.infeasible:
        return MethodResult(infeasible=True, note="the relaxation exceeds every schedule in time")
    if relaxation.prices is None:
        return MethodResult(note="stopped before the first bound")
    master, value = relaxation.result.objective, relaxation.bound
    return proved(
        instance,
        {"kind": kind, **to_data(relaxation.prices)},
        master=None if master is None else sign * master,
        relaxation=None if value is None else sign * value,
        rounds=relaxation.result.rounds,
        columns=len(relaxation.result.tags),
        slots=slots,
    )


def _priced_slots(instance: EdgeInstance, view: CompiledInstance) -> int:
    """Return the number of slots that an optimal schedule can use, from a list schedule if any."""
    if instance.is_batch:
        return view.slots
    start = best_list_schedule(instance)
    if start is None:
        return view.slots
    return last_slot(view, start.value(instance) + 1) - view.first + 1
