"""Solve the exact programs, and the relaxation of the time-indexed one, each by its engines.

Joins `programs/` to the initial search state and to the engines.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.bounds.certificates import certify
from schedgap.models.hare.decode import to_steps, value_of
from schedgap.models.hare.heuristics.initial import initial_state, starting_schedule
from schedgap.models.hare.integer_time import steps
from schedgap.models.hare.programs import intervals, printed
from schedgap.models.hare.programs import time_indexed as by_start
from schedgap.models.method import MethodResult, RunContext

MAX_ROWS = 2_000_000  # big-M rows or intervals; building more takes minutes
MAX_ENTRIES = 30_000_000  # nonzeros of the time-indexed program


def no_schedule(instance: HareInstance, synchronization: str) -> MethodResult | None:
    """Return a proof of infeasibility if a round must start together and has more tasks than GPUs.

    Parameters
    ----------
    synchronization : "relaxed" or "fixed"
        Variant of the problem; the relaxed one always has a schedule.
    """
    view = arrays(instance)
    widest = int(np.diff(view.round_tasks).max())
    if synchronization == "fixed" and widest > view.gpus:
        return MethodResult(
            infeasible=True,
            note=f"a round of {widest} tasks cannot start together on {view.gpus} GPUs",
        )
    return None


def _round_up(bound: float) -> int:
    """Return the smallest grid value that an engine's bound permits, within its tolerance."""
    return math.ceil(bound - 1e-6 * max(1.0, abs(bound)))


def big_m(instance: HareInstance, call: RunContext) -> MethodResult:
    """Solve the paper's program with big-M rows."""
    synchronization = call.options["synchronization"]
    if proof := no_schedule(instance, synchronization):
        return proof
    view, whole = arrays(instance), steps(instance)
    rows = view.tasks**2 * view.gpus
    if rows > MAX_ROWS:
        return MethodResult(note=f"too large: about {rows} rows, at most {MAX_ROWS} are built")
    state = initial_state(instance, call, synchronization)
    if state.closed:
        return state.outcome()
    call.progress.phase("building the program")
    model = printed.build(
        instance,
        pairwise=call.options["pairwise"],
        synchronization=synchronization,
        upper=int(state.upper or 0),
    )
    state.solve(
        model,
        lambda values: printed.read(model, instance, synchronization=synchronization),
        grid=float(whole.grid),
        real=lambda bound: _round_up(bound / float(whole.grid)),
    )
    return state.outcome()


def _cp_sat(by: intervals.By) -> Callable[[HareInstance, RunContext], MethodResult]:
    """Return the method that solves the interval model, by kind of GPU or by GPU."""

    def run(instance: HareInstance, call: RunContext) -> MethodResult:
        synchronization = call.options["synchronization"]
        if proof := no_schedule(instance, synchronization):
            return proof
        view, whole = arrays(instance), steps(instance)
        size = view.tasks * (len(view.class_gpus) if by == "kind" else view.gpus)
        if size > MAX_ROWS:
            return MethodResult(note=f"too large: {size} intervals, at most {MAX_ROWS} are built")
        state = initial_state(instance, call, synchronization)
        if state.closed:
            return state.outcome()
        call.progress.phase("building the model")
        model = intervals.build(
            instance,
            by=by,
            synchronization=synchronization,
            upper=int(state.upper or 0),
            lower=whole.critical_path_value,
        )
        state.solve(
            model,
            lambda values: intervals.read(values, instance, by=by),
            real=_round_up,
            grid=1,
            start=intervals.start(instance, state.schedule, by=by, synchronization=synchronization),
        )
        return state.outcome()

    return run


cp_sat, cp_sat_gpu = _cp_sat("kind"), _cp_sat("gpu")


def _too_large(instance: HareInstance, call: RunContext, upper: int) -> MethodResult | None:
    """Return a result that says why the time-indexed program is too large, or None."""
    place = by_start.layout(instance, upper)
    most = call.options["max_columns"]
    size = {"columns": place.columns, "entries": place.entries}
    if place.columns > most:
        return MethodResult(
            note=f"too large: {place.columns} columns > max_columns={most}", trace=size
        )
    if place.entries > MAX_ENTRIES:
        return MethodResult(
            note=f"too large: about {place.entries} entries, at most {MAX_ENTRIES} are built",
            trace=size,
        )
    return None


def time_indexed(instance: HareInstance, call: RunContext) -> MethodResult:
    """Solve the time-indexed program, within the windows of a known schedule."""
    state = initial_state(instance, call, "relaxed")
    upper = int(state.upper or 0)
    if refusal := _too_large(instance, call, upper):
        return refusal
    if state.closed:
        return state.outcome()
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


def time_indexed_lp(instance: HareInstance, call: RunContext) -> MethodResult:
    """Return the bound that duals of the linear time-indexed relaxation prove."""
    from schedgap.solvers.engines.highs import solve_arrays

    whole = steps(instance)
    start = starting_schedule(instance)
    upper = value_of(instance, to_steps(instance, start), start.gpu)
    if refusal := _too_large(instance, call, upper):
        return refusal
    call.progress.phase("building the program")
    relaxed = replace(by_start.build(instance, upper=upper), integer=None)
    call.progress.phase("solving the relaxation")
    result = solve_arrays(relaxed, clock=call.clock, threads=call.threads, seed=call.seed)
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
