"""The exact methods: each joins one program to the engines that can solve it."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare import program, program_cp_sat, program_time_indexed
from schedgap.models.hare.certificates import certify
from schedgap.models.hare.decode import to_steps, value_of
from schedgap.models.hare.hybrid import hybrid
from schedgap.models.hare.starting import starting_schedule
from schedgap.models.hare.windows import steps
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers import EngineResult, solve

SYNCHRONIZATION = Option(
    "synchronization",
    "choice",
    "relaxed",
    "relaxed: tasks of a round may start apart; fixed: they start together on different GPUs",
    choices=("relaxed", "fixed"),
)
MAX_COLUMNS = Option(
    "max_columns", "int", 300_000, "give up when the program has more columns", least=1
)
MOST_ROWS = 2_000_000  # of big-m rows or intervals; Python would need minutes to build more
MOST_ENTRIES = 30_000_000  # nonzeros of the time-indexed program


def no_schedule(instance: HareInstance, synchronization: str) -> Outcome | None:
    """Return the proof that a round has more tasks than there are GPUs, if one must not."""
    view = arrays(instance)
    widest = int(np.diff(view.round_tasks).max())
    if synchronization == "fixed" and widest > view.gpus:
        return Outcome(
            infeasible=True,
            note=f"a round of {widest} tasks cannot start together on {view.gpus} GPUs",
        )
    return None


def _stream(
    instance: HareInstance, call: Call, read: Callable[[Any], HareSchedule] | None
) -> dict[str, Any]:
    """Return callbacks that pass an engine's findings on, in the instance's units."""
    whole = steps(instance)

    def on_incumbent(objective: float, values: Any) -> None:
        if read is not None and values is not None:
            schedule = read(values)
            call.progress.incumbent(schedule, schedule.value(instance))

    def on_bound(bound: float) -> None:
        call.progress.bound(whole.real(round_up(bound)))

    return {"on_incumbent": on_incumbent, "on_bound": on_bound}


def round_up(bound: float) -> int:
    """Return the least grid value that is not below a bound, an engine's tolerance granted."""
    return math.ceil(bound - 1e-6 * max(1.0, abs(bound)))


def _outcome(
    instance: HareInstance, result: EngineResult, schedule: HareSchedule | None, **trace: Any
) -> Outcome:
    """Return what an engine found, its bound in the instance's units."""
    whole = steps(instance)
    bound = None if result.bound is None else whole.real(round_up(result.bound))
    facts = {"engine_says": result.log, "step": str(whole.step), **trace}
    if result.status == "optimal":
        facts["proof"] = "complete search"
    return Outcome(schedule=schedule, bound=bound, trace=facts)


def _at_critical_paths(
    instance: HareInstance, schedule: HareSchedule, upper: int
) -> Outcome | None:
    """Return a schedule that costs no more than every job alone on the fastest GPUs, if it does."""
    whole = steps(instance)
    if upper > whole.least:
        return None
    trace = {"step": str(whole.step), "proof": "critical paths"}
    return Outcome(schedule=schedule, bound=whole.real(whole.least), trace=trace)


def _better(
    instance: HareInstance, first: HareSchedule, second: HareSchedule | None
) -> HareSchedule:
    if second is None or first.value(instance) <= second.value(instance):
        return first
    return second


def big_m(instance: HareInstance, call: Call) -> Outcome:
    """Solve the paper's program as printed, its disjunctions by big-M rows."""
    synchronization = call.options["synchronization"]
    if found := no_schedule(instance, synchronization):
        return found
    view, whole = arrays(instance), steps(instance)
    rows = view.tasks**2 * view.gpus
    if rows > MOST_ROWS:
        return Outcome(note=f"too large: about {rows} rows, at most {MOST_ROWS} are built")
    start = starting_schedule(instance, synchronization)
    call.progress.incumbent(start, start.value(instance))
    upper = value_of(instance, to_steps(instance, start, synchronization), start.gpu)
    if closed := _at_critical_paths(instance, start, upper):
        return closed
    call.progress.phase("building the program")
    model = program.build(
        instance,
        pairwise=call.options["pairwise"],
        synchronization=synchronization,
        upper=upper,
    )
    call.progress.phase(f"solving with {call.engine}")
    result = solve(
        model,
        call.engine or "highs",
        clock=call.clock,
        threads=call.threads,
        seed=call.seed,
        grid=float(whole.grid),
        on_bound=lambda bound: call.progress.bound(bound),
    )
    bound = None
    if result.bound is not None:
        bound = whole.real(round_up(result.bound / float(whole.grid)))
    found_schedule = None
    if result.objective is not None:
        found_schedule = program.read(model, instance, synchronization=synchronization)
    trace = {"engine_says": result.log, "step": str(whole.step)}
    if result.status == "optimal":
        trace["proof"] = "complete search"
    return Outcome(_better(instance, start, found_schedule), bound, trace=trace)


def _cp_sat(by: program_cp_sat.By) -> Callable[[HareInstance, Call], Outcome]:
    def run(instance: HareInstance, call: Call) -> Outcome:
        synchronization = call.options["synchronization"]
        if found := no_schedule(instance, synchronization):
            return found
        view, whole = arrays(instance), steps(instance)
        intervals = view.tasks * (len(view.class_gpus) if by == "kind" else view.gpus)
        if intervals > MOST_ROWS:
            return Outcome(note=f"too large: {intervals} intervals, at most {MOST_ROWS} are built")
        start = starting_schedule(instance, synchronization)
        call.progress.incumbent(start, start.value(instance))
        upper = value_of(instance, to_steps(instance, start, synchronization), start.gpu)
        if closed := _at_critical_paths(instance, start, upper):
            return closed
        call.progress.phase("building the model")
        model = program_cp_sat.build(
            instance,
            by=by,
            synchronization=synchronization,
            upper=upper,
            lower=whole.least,
        )
        call.progress.phase("solving with cp-sat")
        result = solve(
            model,
            "cp-sat",
            clock=call.clock,
            threads=call.threads,
            seed=call.seed,
            grid=1,
            start=program_cp_sat.start_from(
                instance, start, by=by, synchronization=synchronization
            ),
            **_stream(instance, call, lambda values: program_cp_sat.read(values, instance, by=by)),
        )
        found_schedule = None
        if result.values is not None:
            found_schedule = program_cp_sat.read(result.values, instance, by=by)
        return _outcome(instance, result, _better(instance, start, found_schedule))

    return run


def _too_large(instance: HareInstance, call: Call, upper: int) -> Outcome | None:
    place = program_time_indexed.layout(instance, upper)
    most = call.options["max_columns"]
    size = {"columns": place.columns, "entries": place.entries}
    if place.columns > most:
        return Outcome(note=f"too large: {place.columns} columns > max_columns={most}", trace=size)
    if place.entries > MOST_ENTRIES:
        return Outcome(
            note=f"too large: about {place.entries} entries, at most {MOST_ENTRIES} are built",
            trace=size,
        )
    return None


def time_indexed(instance: HareInstance, call: Call) -> Outcome:
    """Solve the program over starts in steps; a known schedule narrows it."""
    view = arrays(instance)
    start = starting_schedule(instance)
    begin = to_steps(instance, start)
    upper = value_of(instance, begin, start.gpu)
    if refusal := _too_large(instance, call, upper):
        return refusal
    call.progress.incumbent(start, start.value(instance))
    if closed := _at_critical_paths(instance, start, upper):
        return closed
    call.progress.phase("building the program")
    arrays_program = program_time_indexed.program(instance, upper)
    values = program_time_indexed.start_from(
        instance, begin, view.gpu_class[start.gpu], upper=upper
    )
    cp_sat = call.engine == "cp-sat"
    model = program_time_indexed.to_cp_sat(arrays_program) if cp_sat else arrays_program
    call.progress.phase(f"solving with {call.engine}")

    def read(found: Any) -> HareSchedule:
        return program_time_indexed.read(found, instance, upper=upper)

    result = solve(
        model,
        call.engine or "highs",
        clock=call.clock,
        threads=call.threads,
        seed=call.seed,
        grid=1,
        start=values.tolist() if cp_sat else values,
        **_stream(instance, call, read),
    )
    found = None if result.values is None else read(result.values)
    size = {"columns": len(arrays_program.cost), "rows": len(arrays_program.row_lower)}
    return _outcome(instance, result, _better(instance, start, found), **size)


def time_indexed_lp(instance: HareInstance, call: Call) -> Outcome:
    """Solve the linear relaxation over starts in steps, and return what its prices prove."""
    from schedgap.solvers.highs import solve_arrays

    whole = steps(instance)
    start = starting_schedule(instance)
    upper = value_of(instance, to_steps(instance, start), start.gpu)
    if refusal := _too_large(instance, call, upper):
        return refusal
    call.progress.phase("building the program")
    relaxed = replace(program_time_indexed.program(instance, upper), integer=None)
    call.progress.phase("solving the relaxation")
    result = solve_arrays(relaxed, clock=call.clock, threads=call.threads, seed=call.seed)
    size = {"columns": len(relaxed.cost), "rows": len(relaxed.row_lower), "step": str(whole.step)}
    if result.duals is None:
        return Outcome(note=f"the relaxation was not solved ({result.status})", trace=size)
    proved, duals = certify(relaxed, result.duals)
    bound = program_time_indexed.real_bound(instance, upper, proved)
    return Outcome(
        bound=bound,
        trace=size,
        certificate={"kind": "time-indexed-lp", "upper": upper, "duals": duals, "value": bound},
    )


def run_hybrid(instance: HareInstance, call: Call) -> Outcome:
    """Run `exact`."""
    return no_schedule(instance, call.options["synchronization"]) or hybrid(instance, call)


METHODS: tuple[Method, ...] = (
    Method(
        "hybrid",
        "exact",
        run_hybrid,
        "local search, CP-SAT, and branch and price over schedules of single jobs",
        "ours",
        ours=True,
        engines=("cp-sat", "highs"),
        drives=True,
        options=(SYNCHRONIZATION,),
        seeded=True,
    ),
    Method(
        "big-m",
        "exact",
        big_m,
        "the paper's program with one big-M row for each order of two tasks on a GPU",
        "(4)-(8)",
        engines=("highs", "gurobi"),
        options=(
            Option("pairwise", "bool", False, "(7) for each pair of tasks, as printed"),
            SYNCHRONIZATION,
        ),
        seeded=True,
    ),
    Method(
        "cp-sat",
        "exact",
        _cp_sat("kind"),
        "intervals by task and kind of GPUs, one cumulative constraint for each kind",
        "(4)-(8)",
        ours=True,
        engines=("cp-sat",),
        options=(SYNCHRONIZATION,),
        seeded=True,
    ),
    Method(
        "cp-sat-gpu",
        "exact",
        _cp_sat("gpu"),
        "intervals by task and GPU, no overlap on any GPU",
        "(4)-(8)",
        engines=("cp-sat",),
        options=(SYNCHRONIZATION,),
        seeded=True,
    ),
    Method(
        "time-indexed",
        "exact",
        time_indexed,
        "tasks counted by kind of GPU and step in which they start",
        "ours",
        ours=True,
        engines=("highs", "cp-sat", "gurobi"),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "time-indexed-lp",
        "bound",
        time_indexed_lp,
        "the linear relaxation of time-indexed",
        "ours",
        ours=True,
        engines=("highs",),
        options=(MAX_COLUMNS,),
    ),
)
