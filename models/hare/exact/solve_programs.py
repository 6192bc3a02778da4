"""The programs as exact methods: each is joined to the engines that can solve it."""

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

MOST_ROWS = 2_000_000  # of big-m rows or intervals; Python would need minutes to build more
MOST_ENTRIES = 30_000_000  # nonzeros of the time-indexed program


def no_schedule(instance: HareInstance, synchronization: str) -> MethodResult | None:
    """Return the proof that a round has more tasks than there are GPUs, if one must not."""
    view = arrays(instance)
    widest = int(np.diff(view.round_tasks).max())
    if synchronization == "fixed" and widest > view.gpus:
        return MethodResult(
            infeasible=True,
            note=f"a round of {widest} tasks cannot start together on {view.gpus} GPUs",
        )
    return None


def round_up(bound: float) -> int:
    """Return the least grid value that is not below a bound, an engine's tolerance granted."""
    return math.ceil(bound - 1e-6 * max(1.0, abs(bound)))


def big_m(instance: HareInstance, call: RunContext) -> MethodResult:
    """Solve the paper's program as printed, its disjunctions by big-M rows."""
    synchronization = call.options["synchronization"]
    if proof := no_schedule(instance, synchronization):
        return proof
    view, whole = arrays(instance), steps(instance)
    rows = view.tasks**2 * view.gpus
    if rows > MOST_ROWS:
        return MethodResult(note=f"too large: about {rows} rows, at most {MOST_ROWS} are built")
    found = initial_state(instance, call, synchronization)
    if found.closed:
        return found.outcome()
    call.progress.phase("building the program")
    model = printed.build(
        instance,
        pairwise=call.options["pairwise"],
        synchronization=synchronization,
        upper=int(found.upper or 0),
    )
    found.solve(
        model,
        lambda values: printed.read(model, instance, synchronization=synchronization),
        grid=float(whole.grid),
        real=lambda bound: round_up(bound / float(whole.grid)),
    )
    return found.outcome()


def _cp_sat(by: intervals.By) -> Callable[[HareInstance, RunContext], MethodResult]:
    """Return the method that solves the interval model by kinds of GPUs or by GPU."""

    def run(instance: HareInstance, call: RunContext) -> MethodResult:
        synchronization = call.options["synchronization"]
        if proof := no_schedule(instance, synchronization):
            return proof
        view, whole = arrays(instance), steps(instance)
        size = view.tasks * (len(view.class_gpus) if by == "kind" else view.gpus)
        if size > MOST_ROWS:
            return MethodResult(note=f"too large: {size} intervals, at most {MOST_ROWS} are built")
        found = initial_state(instance, call, synchronization)
        if found.closed:
            return found.outcome()
        call.progress.phase("building the model")
        model = intervals.build(
            instance,
            by=by,
            synchronization=synchronization,
            upper=int(found.upper or 0),
            lower=whole.critical_path_value,
        )
        found.solve(
            model,
            lambda values: intervals.read(values, instance, by=by),
            real=round_up,
            grid=1,
            start=intervals.start(instance, found.schedule, by=by, synchronization=synchronization),
        )
        return found.outcome()

    return run


cp_sat, cp_sat_gpu = _cp_sat("kind"), _cp_sat("gpu")


def _too_large(instance: HareInstance, call: RunContext, upper: int) -> MethodResult | None:
    place = by_start.layout(instance, upper)
    most = call.options["max_columns"]
    size = {"columns": place.columns, "entries": place.entries}
    if place.columns > most:
        return MethodResult(
            note=f"too large: {place.columns} columns > max_columns={most}", trace=size
        )
    if place.entries > MOST_ENTRIES:
        return MethodResult(
            note=f"too large: about {place.entries} entries, at most {MOST_ENTRIES} are built",
            trace=size,
        )
    return None


def time_indexed(instance: HareInstance, call: RunContext) -> MethodResult:
    """Solve the program over starts in steps; a known schedule narrows it."""
    found = initial_state(instance, call, "relaxed")
    upper = int(found.upper or 0)
    if refusal := _too_large(instance, call, upper):
        return refusal
    if found.closed:
        return found.outcome()
    call.progress.phase("building the program")
    arrays_program = by_start.build(instance, upper=upper)
    found.trace |= {"columns": len(arrays_program.cost), "rows": len(arrays_program.row_lower)}
    values = by_start.start(
        instance,
        to_steps(instance, found.schedule),
        arrays(instance).gpu_class[found.schedule.gpu],
        upper=upper,
    )
    whole = call.engine == "cp-sat"
    found.solve(
        by_start.to_cp_sat(arrays_program) if whole else arrays_program,
        lambda values: by_start.read(values, instance, upper=upper),
        real=round_up,
        grid=1,
        start=values.tolist() if whole else values,
    )
    return found.outcome()


def time_indexed_lp(instance: HareInstance, call: RunContext) -> MethodResult:
    """Solve the linear relaxation over starts in steps, and return what its prices prove."""
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
