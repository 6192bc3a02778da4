"""Stages of `exact`, each in a child process: CP-SAT, and other methods."""

import math
from collections.abc import Callable
from dataclasses import replace

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.programs import intervals
from schedgap.models.elastic.programs.whole_numbers import rounded_integers
from schedgap.models.elastic.time_windows import windows
from schedgap.models.method import Budget, MethodResult, Progress, RunContext
from schedgap.models.search_state import Relay, StageProgress, StageResult, solve_program


def value_of(instance: ElasticInstance, schedule: ElasticSchedule | None) -> float | None:
    """Return the value of a schedule, if there is one."""
    return None if schedule is None else schedule.value(instance)


def method_stage(
    progress: StageProgress,
    instance: ElasticInstance,
    run: Callable[[ElasticInstance, RunContext], MethodResult],
    *,
    budget: Budget,
) -> StageResult:
    """Run another method.

    `progress`: receives its schedules and bounds.
    """
    own: Progress = Relay(progress, lambda bound: -bound) if instance.is_batch else progress
    result = run(instance, RunContext({}, "highs", budget, own))
    trace = {"bound": result.bound} | dict(result.trace)
    return StageResult(infeasible=result.infeasible, trace=trace)


def interval_stage(
    progress: StageProgress,
    instance: ElasticInstance,
    schedule: ElasticSchedule | None,
    *,
    budget: Budget,
) -> StageResult:
    """Search with CP-SAT on intervals, between the bound of `progress` and the incumbent.

    Where numbers have to be rounded, the model is a relaxation: its bounds are valid, and those of
    its schedules that respect the capacities are schedules.

    `progress`: receives schedules and bounds. `schedule`: the incumbent.
    """
    value = value_of(instance, schedule)
    span = windows(instance, value)
    assert span is not None
    whole = rounded_integers(instance, span)
    least = most = None
    if whole.exact:
        if math.isfinite(progress.lower):
            least = math.ceil(progress.lower / whole.step - 1e-6)
        if value is not None:
            most = round((-value if instance.is_batch else value) / whole.step)
    model = intervals.build(instance, span=span, whole=whole, least=least, most=most)
    _, report = solve_program(
        progress,
        model,
        "cp-sat",
        budget=budget,
        grid=1,
        options={"interleave_search": True} if budget.threads == 1 else None,  # neighbourhoods, too
        start=None if schedule is None else intervals.start(model, instance, schedule),
        read=lambda values: intervals.read(model, instance, values),
        real=lambda bound: bound * whole.step,
    )
    return replace(report, trace=dict(report.trace) | ({} if whole.exact else {"rounded": True}))
