"""The stages of `exact` that use an engine, each in a process of its own."""

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.algorithms.cheapest_schedule import Floats
from schedgap.models.edge.bounds.column_generation import solve_bound
from schedgap.models.edge.bounds.reduced_cost_fixing import Kept
from schedgap.models.edge.bounds.worker_types import (
    TypeBound,
    bound_of,
    certificate,
    server_prices,
    solve_types,
)
from schedgap.models.edge.decisions import problem, sense
from schedgap.models.edge.placements import runs_from, sound
from schedgap.models.edge.programs import intervals, time_indexed_arrays
from schedgap.models.edge.programs.dual import Prices, to_data
from schedgap.models.edge.programs.superadditive_cuts import Shape
from schedgap.models.search_state import Finder, StageResult, solve_program
from schedgap.solvers import Clock


def search_stage(
    found: Finder,
    instance: EdgeInstance,
    schedule: EdgeSchedule | None,
    lower: float,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Search with CP-SAT from a schedule and a bound."""
    sign = sense(instance)
    known = int(sign * lower)
    model = intervals.build(
        instance, least=None if sign < 0 else known, most=known if sign < 0 else None
    )
    return solve_program(
        found,
        model,
        "cp-sat",
        clock=clock,
        seed=seed,
        threads=threads,
        read=lambda values: sound(instance, intervals.read(model, instance, values)),
        real=lambda bound: sign * bound,
        grid=1,
        start=None if schedule is None else intervals.start(model, instance, schedule),
    )[1]


def program_stage(
    found: Finder,
    instance: EdgeInstance,
    module: str,
    engine: str,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Build a Pyomo program, and solve it; a stage, since nothing but an end stops the building."""
    formulation = import_module(module)
    model = formulation.build(instance)
    return solve_program(
        found,
        model,
        engine,
        clock=clock,
        seed=seed,
        threads=threads,
        read=lambda values: formulation.read(model, instance),
        real=lambda bound: sense(instance) * bound,
        grid=1,
    )[1]


def price_stage(
    found: Finder,
    instance: EdgeInstance,
    schedule: EdgeSchedule | None,
    slots: int,
    types: Sequence[TypeBound] = (),
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Solve the relaxation; returns its prices and each job's mean start.

    What the worker types have proved by themselves is where the prices begin.
    """
    view, kind = problem(instance), "batch-dual" if instance.is_batch else "cg-bound"
    told = found.lower - 1  # a bound that is known may have no certificate

    def better(bound: float, prices: Prices) -> None:
        nonlocal told
        if math.ceil(bound) > told:
            told = math.ceil(bound)
            found.bound(told, {"kind": kind, **to_data(prices)})

    result = solve_bound(
        view,
        slots=slots,
        clock=clock,
        known=() if schedule is None else runs_from(instance, schedule),
        guess=server_prices(view, types, slots) if types else None,
        seed=seed,
        threads=threads,
        on_bound=better,
    )
    starts: dict[int, float] = {}
    for run, share in result.runs:
        starts[run.group.job] = starts.get(run.group.job, 0.0) + share * run.group.start
    trace: dict[str, Any] = {"slots": slots, "bound": result.bound}
    if result.result is not None:
        trace |= {"master": result.result.objective, "rounds": result.result.rounds}
    value = None if result.prices is None else (result.prices, starts)
    return StageResult(infeasible=result.infeasible, trace=trace, value=value)


def type_stage(
    found: Finder, instance: EdgeInstance, *, clock: Clock, seed: int, threads: int
) -> StageResult:
    """Bound the worker types one by one; returns what is known of each of them."""
    view = problem(instance)

    def better(bounds: Sequence[TypeBound]) -> None:
        if (bound := bound_of(view, bounds)) > found.lower:
            found.bound(bound, certificate(instance, bounds))

    bounds = solve_types(view, clock=clock, seed=seed, threads=threads, on_better=better)
    trace = {"by_type": {instance.worker_types[each.worker_type]: each.bound for each in bounds}}
    return StageResult(trace=trace, value=bounds)


def target_stage(
    found: Finder,
    instance: EdgeInstance,
    kept: Kept,
    target: int,
    shapes: Mapping[Shape, Floats],
    schedule: EdgeSchedule | None,
    name: str,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Look for the best schedule with an objective up to a target.

    The report's `value` says whether that is decided. A known schedule, if there is one,
    is what CP-SAT looks near first. The groups hold every such schedule. So a bound on them is one
    on all schedules up to target + 1, and the best of them is optimal.
    """
    view, start = problem(instance), None
    program: Any
    if name == "cp-sat":
        least = math.ceil(kept.bound - 1e-6)
        program = intervals.build(instance, groups=kept.groups, least=least, most=target)
        if schedule is not None:
            start = intervals.start(program, instance, schedule)

        def read(values: Any) -> EdgeSchedule | None:
            return sound(instance, intervals.read(program, instance, values))
    else:
        arrays = time_indexed_arrays.build(view, kept.groups, most=target, shapes=shapes)
        program = arrays.program

        def read(values: Any) -> EdgeSchedule | None:
            return arrays.schedule(instance, values)

    result, report = solve_program(
        found,
        program,
        name,
        clock=clock,
        seed=seed,
        threads=threads,
        read=read,
        real=lambda bound: min(target + 1.0, bound),
        grid=1,
        start=start,
    )
    if result.status == "infeasible":
        found.bound(target + 1)
    return StageResult(result.status == "optimal", trace=report.trace, value=report.complete)
