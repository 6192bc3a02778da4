"""The programs as exact methods: each is joined to the engines that can solve it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.exact.common_size import with_scaled_weights
from schedgap.models.elastic.heuristics.initial import initial_state
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.programs import (
    compact,
    intervals,
    linearised,
    printed,
    time_indexed_intervals,
    whole_numbers,
)
from schedgap.models.elastic.programs import time_indexed as by_start
from schedgap.models.elastic.programs.columns import schedule_of
from schedgap.models.elastic.programs.weights import value_step
from schedgap.models.elastic.time_windows import JobWindows, no_schedule, windows
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers.engines.results import LEAST_TOLERANCES

FARTHEST = 1e7  # ratio of two amounts of a resource in rows for an engine in floating point


def _span(instance: ElasticInstance, found: SearchState) -> JobWindows:
    """Return the windows that the first schedule leaves; of a closed horizon without one, all."""
    value = None if found.schedule is None else found.schedule.value(instance)
    span = windows(instance, value)
    assert span is not None
    return span


def _pyomo(module: Any) -> Callable[[ElasticInstance, RunContext], MethodResult]:
    """Return the method that solves a program as Pyomo writes it."""

    def run(instance: ElasticInstance, call: RunContext) -> MethodResult:
        if reason := no_schedule(instance):
            return MethodResult(infeasible=True, note=reason)
        found = initial_state(instance, call)
        span = _span(instance, found)
        columns, most = module.size(instance, span), call.options["max_columns"]
        if columns > most:
            return found.outcome(f"too large: {columns} columns > max_columns={most}")
        if reason := _too_far_apart(instance):
            return found.outcome(reason)
        call.progress.phase("building the program")
        model = module.build(instance, span=span)
        found.solve(
            model,
            lambda values: module.read(model, instance),
            real=_minimised(instance),
            grid=value_step(instance),
            options=_tolerances(instance, call),
        )
        return found.outcome()

    return run


def _tolerances(instance: ElasticInstance, call: RunContext) -> dict[str, Any] | None:
    """Return the options of an engine: the least tolerances where amounts are not whole.

    Sums may then differ from a capacity by as little as the engine grants. Without presolve: that
    of HiGHS 1.15.1 has lost optima at the least tolerances.
    """
    if bool(cluster(instance).whole.all()) or call.engine not in LEAST_TOLERANCES:
        return None
    plain: dict[str, dict[str, Any]] = {"highs": {"presolve": "off"}, "gurobi": {"Presolve": 0}}
    return {**plain[call.engine], **LEAST_TOLERANCES[call.engine]}


def _too_far_apart(instance: ElasticInstance) -> str | None:
    """Return why an engine in floating point cannot be trusted with the rows of capacities."""
    room, worker, ps = whole_numbers.amounts(instance)
    for r, name in enumerate(instance.resources):
        amounts = np.concatenate([worker[:, r], ps[:, r], room[:, r]])
        if amounts.max() > FARTHEST * amounts[amounts > 0].min(initial=np.inf):
            return f"amounts of {name} are too far apart for floating point: over {FARTHEST:g} to 1"
    return None


def _minimised(instance: ElasticInstance) -> Callable[[float], float]:
    """Return what turns a bound on the objective into one on what a bracket minimises."""
    return (lambda bound: -bound) if instance.is_batch else float


paper_milp, paper_miqcp = (with_scaled_weights(_pyomo(module)) for module in (linearised, printed))
_time_indexed = _pyomo(by_start)


@with_scaled_weights
def time_indexed(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Solve the time-indexed program: with CP-SAT in whole numbers, else as Pyomo writes it."""
    if call.engine != "cp-sat":
        return _time_indexed(instance, call)
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    whole_numbers.whole_weights(instance)  # ScaleError before any search
    found = initial_state(instance, call)
    span, most = _span(instance, found), call.options["max_columns"]
    if (columns := by_start.size(instance, span)) > most:
        return found.outcome(f"too large: {columns} columns > max_columns={most}")
    whole_numbers.exact_integers(instance, span)  # ScaleError
    call.progress.phase("building the model")
    model, step = time_indexed_intervals.build(instance, span=span), value_step(instance)
    assert step is not None
    found.solve(
        model,
        lambda values: time_indexed_intervals.read(model, instance, values),
        real=lambda bound: bound * step,
        grid=1,
    )
    return found.outcome()


@with_scaled_weights
def compact_exponential(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Solve the packing over all runs of all jobs."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    found = initial_state(instance, call)
    most = call.options["max_columns"]
    call.progress.phase("enumerating runs")
    runs = compact.enumerate_runs(instance, _span(instance, found), most)
    if runs is None:
        return found.outcome(f"too large: more than max_columns={most} runs")
    step = value_step(instance)
    if call.engine == "cp-sat":
        whole_numbers.exact_integers(instance, _span(instance, found))  # ScaleError
        model = compact.to_cp_sat(instance, runs)
        assert step is not None

        def chosen(values: Any) -> ElasticSchedule:
            return schedule_of(
                instance, [run for run, value in zip(runs, values, strict=True) if value]
            )

        found.solve(model, chosen, real=lambda bound: bound * step, grid=1)
        return found.outcome()
    if reason := _too_far_apart(instance):
        return found.outcome(reason)
    model = compact.build(instance, runs=runs)
    found.solve(
        model,
        lambda values: compact.read(model, instance, runs),
        real=_minimised(instance),
        grid=step,
        options=_tolerances(instance, call),
    )
    return found.outcome()


@with_scaled_weights
def cp_sat(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Solve the interval model."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    found = initial_state(instance, call)
    span = _span(instance, found)
    whole = whole_numbers.exact_integers(instance, span)  # ScaleError
    call.progress.phase("building the model")
    step = whole.step
    most = None if found.upper is None else round(found.upper / step)
    model = intervals.build(instance, span=span, whole=whole, most=most)
    hints = None
    if found.schedule is not None:
        hints = intervals.start(model, instance, found.schedule)
    found.solve(
        model,
        lambda values: intervals.read(model, instance, values),
        real=lambda bound: bound * step,
        grid=1,
        start=hints,
    )
    return found.outcome()
