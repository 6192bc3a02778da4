"""Solve the exact programs, and the relaxation of the time-indexed one, each by its engines.

Joins `programs/` to the initial search state and to the engines.
"""

import math
from dataclasses import replace
from typing import Annotated, Literal

from annotated_types import Ge

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.bounds.certificates import certify
from schedgap.models.hare.decode import to_steps
from schedgap.models.hare.heuristics.initial import initial_state, list_value
from schedgap.models.hare.integer_time import Synchronization, steps
from schedgap.models.hare.programs import intervals, printed
from schedgap.models.hare.programs import time_indexed as by_start
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

MAX_ROWS = 2_000_000  # big-M rows or intervals; building more takes minutes
MAX_ENTRIES = 30_000_000  # nonzeros of the time-indexed program
MaxColumns = Annotated[int, "build no program with more columns", Ge(1)]


def _round_up(bound: float) -> int:
    """Return the smallest grid value that an engine's bound permits, within its tolerance."""
    return math.ceil(bound - 1e-6 * max(1.0, abs(bound)))


def _initial(
    instance: HareInstance, call: RunContext, synchronization: Synchronization, size: int, what: str
) -> SearchState | MethodResult:
    """Return the search state to start from, or the result if there is nothing to solve.

    There is nothing to solve if the program is too large, or the initial bounds meet.
    """
    steps(instance)  # ScaleError before any other refusal
    if size > MAX_ROWS:
        return MethodResult(note=f"too large: {what}, at most {MAX_ROWS} are built")
    state = initial_state(instance, call, synchronization)
    if state.closed:
        return state.outcome()
    call.progress.phase("building the program")
    return state


def big_m(
    instance: HareInstance,
    call: RunContext,
    *,
    pairwise: Annotated[bool, "write (7) for each pair of tasks, as printed"] = False,
    synchronization: Synchronization = "relaxed",
) -> MethodResult:
    """Solve the paper's program with big-M rows."""
    view = arrays(instance)
    rows = view.tasks**2 * view.gpus
    state = _initial(instance, call, synchronization, rows, f"about {rows} rows")
    if isinstance(state, MethodResult):
        return state
    model = printed.build(
        instance,
        pairwise=pairwise,
        synchronization=synchronization,
        upper=int(state.upper or 0),
    )
    unit = float(steps(instance).grid)
    state.solve(
        model,
        lambda values: printed.read(model, instance, synchronization=synchronization),
        grid=unit,
        real=lambda bound: _round_up(bound / unit),
    )
    return state.outcome()


def cp_sat(
    instance: HareInstance,
    call: RunContext,
    by: Literal["kind", "gpu"] = "kind",
    *,
    synchronization: Synchronization = "relaxed",
) -> MethodResult:
    """Solve the interval model.

    `by`: with one cumulative constraint per kind of GPU, or one no-overlap constraint per GPU.
    """
    view = arrays(instance)
    size = view.tasks * (len(view.class_gpus) if by == "kind" else view.gpus)
    state = _initial(instance, call, synchronization, size, f"{size} intervals")
    if isinstance(state, MethodResult):
        return state
    model = intervals.build(
        instance,
        by=by,
        synchronization=synchronization,
        upper=int(state.upper or 0),
        lower=steps(instance).critical_path_value,
    )
    assert state.schedule is not None  # list scheduling always finds one
    state.solve(
        model,
        lambda values: intervals.read(values, instance, by=by),
        real=_round_up,
        grid=1,
        start=intervals.start(instance, state.schedule, by=by, synchronization=synchronization),
    )
    return state.outcome()


def _too_large(instance: HareInstance, limit: int, upper: int) -> MethodResult | None:
    """Return a result that says why the time-indexed program is too large, or None."""
    layout = by_start.layout(instance, upper)
    if layout.columns > limit:
        reason = f"{layout.columns} columns > max_columns={limit}"
    elif layout.entries > MAX_ENTRIES:
        reason = f"about {layout.entries} entries, at most {MAX_ENTRIES} are built"
    else:
        return None
    size = {"columns": layout.columns, "entries": layout.entries}
    return MethodResult(note=f"too large: {reason}", trace=size)


def time_indexed(
    instance: HareInstance, call: RunContext, *, max_columns: MaxColumns = 300_000
) -> MethodResult:
    """Solve the time-indexed program, within the windows of a known schedule."""
    state = initial_state(instance, call, "relaxed")
    upper = int(state.upper or 0)
    if refusal := _too_large(instance, max_columns, upper):
        return refusal
    if state.closed:
        return state.outcome()
    assert state.schedule is not None  # list scheduling always finds one
    call.progress.phase("building the program")
    program = by_start.build(instance, upper=upper)
    state.trace |= {"columns": len(program.cost), "rows": len(program.row_lower)}
    values = by_start.start(
        instance,
        to_steps(instance, state.schedule),
        arrays(instance).gpu_class[state.schedule.gpu],
        upper=upper,
    )
    whole = call.engine == "cp-sat"
    state.solve(
        by_start.to_cp_sat(program) if whole else program,
        lambda values: by_start.read(values, instance, upper=upper),
        real=_round_up,
        grid=1,
        start=values.tolist() if whole else values,
    )
    return state.outcome()


def time_indexed_lp(
    instance: HareInstance, call: RunContext, *, max_columns: MaxColumns = 300_000
) -> MethodResult:
    """Return the bound that duals of the linear time-indexed relaxation prove."""
    from schedgap.solvers.engines.solve import solve

    whole = steps(instance)
    upper = list_value(instance)
    if refusal := _too_large(instance, max_columns, upper):
        return refusal
    call.progress.phase("building the program")
    relaxed = replace(by_start.build(instance, upper=upper), integer=None)
    call.progress.phase("solving the relaxation")
    result = solve(relaxed, "highs", clock=call.clock, threads=call.threads, seed=call.seed)
    size = {"columns": len(relaxed.cost), "rows": len(relaxed.row_lower), "step": str(whole.step)}
    if result.duals is None:
        return MethodResult(note=f"the relaxation was not solved ({result.status})", trace=size)
    proved, duals = certify(relaxed, result.duals)
    bound = by_start.bound_in_units(instance, upper, proved)
    return MethodResult(
        bound=bound,
        trace=size,
        certificate={"kind": "time-indexed-lp", "upper": upper, "duals": duals, "value": bound},
    )
