"""Stages of `exact` that use an engine, each run in a child process."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.algorithms.cheapest_schedule import Floats
from schedgap.models.edge.bounds.column_generation import solve_bound
from schedgap.models.edge.bounds.reduced_cost_fixing import RemainingStarts
from schedgap.models.edge.bounds.worker_types import (
    TypeBound,
    certificate,
    server_prices,
    solve_types,
    whole_bound,
)
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.placements import runs_from_schedule, valid_schedule
from schedgap.models.edge.programs import intervals, time_indexed
from schedgap.models.edge.programs.dual import CapacityPrices, to_data
from schedgap.models.mechanisms.dual_feasible_functions import SuperadditiveFunction
from schedgap.models.method import Budget
from schedgap.models.search_state import StageProgress, StageResult, solve_program


def price_stage(
    found: StageProgress,
    instance: EdgeInstance,
    schedule: EdgeSchedule | None,
    slots: int,
    types: Sequence[TypeBound] = (),
    *,
    budget: Budget,
) -> StageResult:
    """Solve the relaxation of (4) by column generation.

    `found`: receives bounds. `schedule`: its runs are the first columns. `slots`: number of slots
    with prices. `types`: their prices are the first ones.

    Returns
    -------
    StageResult
        `value`: prices and the mean start of each job by index, or None.
    """
    view, kind = compiled(instance), "batch-dual" if instance.is_batch else "cg-bound"
    reported = found.lower - 1  # the known bound may lack a certificate

    def report(bound: float, prices: CapacityPrices) -> None:
        nonlocal reported
        if math.ceil(bound) > reported:
            reported = math.ceil(bound)
            found.bound(reported, {"kind": kind, **to_data(prices)})

    relaxation = solve_bound(
        view,
        slots=slots,
        first_runs=() if schedule is None else runs_from_schedule(instance, schedule),
        first_prices=server_prices(view, types, slots) if types else None,
        budget=budget,
        on_bound=report,
    )
    starts: dict[int, float] = {}
    for run, share in relaxation.runs:
        starts[run.job] = starts.get(run.job, 0.0) + share * run.start
    trace: dict[str, Any] = {"slots": slots, "bound": relaxation.bound}
    trace |= {"master": relaxation.result.objective, "rounds": relaxation.result.rounds}
    value = None if relaxation.prices is None else (relaxation.prices, starts)
    return StageResult(infeasible=relaxation.infeasible, trace=trace, value=value)


def type_stage(found: StageProgress, instance: EdgeInstance, *, budget: Budget) -> StageResult:
    """Bound the jobs of each worker type; `value` is the list of these bounds.

    `found`: receives bounds on the whole problem.
    """
    view = compiled(instance)

    def report(bounds: Sequence[TypeBound]) -> None:
        if (bound := whole_bound(view, bounds)) > found.lower:
            found.bound(bound, certificate(instance, bounds))

    bounds = solve_types(view, budget=budget, on_better=report)
    trace = {"by_type": {instance.worker_types[each.worker_type]: each.bound for each in bounds}}
    return StageResult(trace=trace, value=bounds)


def target_stage(
    found: StageProgress,
    instance: EdgeInstance,
    remaining: RemainingStarts,
    target: int,
    cut_prices: Mapping[SuperadditiveFunction, Floats],
    schedule: EdgeSchedule | None,
    engine: str,
    *,
    budget: Budget,
) -> StageResult:
    """Decide whether a schedule with an objective up to a target exists, and find the best one.

    `found`: receives schedules and bounds. `remaining`: all modes and starts of such schedules. So
    a bound over these, cut off at target + 1, is a bound on all schedules, and the best schedule
    found with an objective up to the target is optimal. `target`: upper limit on the objective.
    `cut_prices`: prices of superadditive cuts, which become rows. `schedule`: starting point of
    CP-SAT. `engine`: `cp-sat` for the interval model, else for the time-indexed program.

    Returns
    -------
    StageResult
        `value`: whether the question is decided.
    """
    start, program = None, None
    if engine == "cp-sat":
        lower = math.ceil(remaining.bound - 1e-6)
        program = model = intervals.build(
            instance, mode_starts=remaining.mode_starts, lower=lower, upper=target
        )
        if schedule is not None:
            start = intervals.start(model, instance, schedule)

        def read(values: Any) -> EdgeSchedule | None:
            return valid_schedule(instance, intervals.read(model, instance, values))
    else:
        arrays = time_indexed.build(
            instance, remaining.mode_starts, upper=target, cut_prices=cut_prices
        )
        program = arrays.program

        def read(values: Any) -> EdgeSchedule | None:
            return time_indexed.read(arrays, instance, values)

    result, report = solve_program(
        found,
        program,
        engine,
        budget=budget,
        read=read,
        real=lambda bound: min(target + 1.0, bound),
        grid=1,
        start=start,
    )
    if result.status == "infeasible":
        found.bound(target + 1)
    return StageResult(result.status == "optimal", trace=report.trace, value=report.complete)
