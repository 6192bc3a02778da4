"""The programs as exact methods: each is joined to the engines that can solve it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import numpy as np
from annotated_types import Ge

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.exact.weight_scaling import with_scaled_weights
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
from schedgap.models.elastic.time_windows import ElasticWindows, windows
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers.engines.registry import find_engine

if TYPE_CHECKING:
    import pyomo.environ as pyo

MAX_RATIO = 1e7  # of two amounts of a resource, for engines in floating point
MaxColumns = Annotated[int, "largest number of columns of a program that is built", Ge(1)]


class _PyomoProgram(Protocol):
    """A module that writes a program with Pyomo."""

    def size(self, instance: ElasticInstance, span: ElasticWindows) -> int: ...
    def build(self, instance: ElasticInstance, *, span: ElasticWindows) -> "pyo.ConcreteModel": ...
    def read(self, model: "pyo.ConcreteModel", instance: ElasticInstance) -> ElasticSchedule: ...


def _windows(instance: ElasticInstance, state: SearchState) -> ElasticWindows:
    """Return the time windows given by the incumbent; without one, by the closed horizon."""
    span = windows(instance, None if state.schedule is None else state.schedule.value(instance))
    assert span is not None
    return span


def _pyomo(
    program: _PyomoProgram, instance: ElasticInstance, call: RunContext, most: int
) -> MethodResult:
    """Solve a Pyomo program of at most so many columns."""
    state = initial_state(instance, call)
    span = _windows(instance, state)
    columns = program.size(instance, span)
    if columns > most:
        return state.outcome(f"too large: {columns} columns > max_columns={most}")
    if reason := _too_far_apart(instance):
        return state.outcome(reason)
    call.progress.phase("building the program")
    model = program.build(instance, span=span)
    state.solve(
        model,
        lambda values: program.read(model, instance),
        real=_minimised(instance),
        grid=value_step(instance),
        options=_tolerances(instance, call),
    )
    return state.outcome()


def _tolerances(instance: ElasticInstance, call: RunContext) -> dict[str, Any] | None:
    """Return the options of an engine: the smallest tolerances where amounts are not whole.

    Sums may then exceed a capacity by as little as the engine allows. Presolve is off: that of
    HiGHS 1.15.1 has lost optima at the smallest tolerances.
    """
    engine = find_engine(call.engine or "highs")
    if bool(cluster(instance).whole.all()) or not engine.least:
        return None
    return dict(engine.repeats[-1][1])  # without presolve at the least tolerance


def _too_far_apart(instance: ElasticInstance) -> str | None:
    """Return why capacity rows are numerically unsafe in floating point; None if they are safe."""
    capacity, worker, ps = whole_numbers.amounts(instance)
    for r, name in enumerate(instance.resources):
        amounts = np.concatenate([worker[:, r], ps[:, r], capacity[:, r]])
        if amounts.max() > MAX_RATIO * amounts[amounts > 0].min(initial=np.inf):
            return (
                f"amounts of {name} are too far apart for floating point: over {MAX_RATIO:g} to 1"
            )
    return None


def _minimised(instance: ElasticInstance) -> Callable[[float], float]:
    """Return the function from a bound on the objective to one on the minimised value."""
    return (lambda bound: -bound) if instance.is_batch else float


@with_scaled_weights
def paper_milp(
    instance: ElasticInstance, call: RunContext, *, max_columns: MaxColumns = 60_000
) -> MethodResult:
    """Solve the paper's program, linearised."""
    return _pyomo(linearised, instance, call, max_columns)


@with_scaled_weights
def paper_miqcp(
    instance: ElasticInstance, call: RunContext, *, max_columns: MaxColumns = 5000
) -> MethodResult:
    """Solve the paper's program with its products as printed."""
    return _pyomo(printed, instance, call, max_columns)


@with_scaled_weights
def time_indexed(
    instance: ElasticInstance, call: RunContext, *, max_columns: MaxColumns = 60_000
) -> MethodResult:
    """Solve the time-indexed program: with CP-SAT in whole numbers, otherwise with Pyomo."""
    if call.engine != "cp-sat":
        return _pyomo(by_start, instance, call, max_columns)
    whole_numbers.whole_weights(instance)  # ScaleError before any search
    state = initial_state(instance, call)
    span = _windows(instance, state)
    if (columns := by_start.size(instance, span)) > max_columns:
        return state.outcome(f"too large: {columns} columns > max_columns={max_columns}")
    step = whole_numbers.exact_integers(instance, span).step  # ScaleError
    call.progress.phase("building the model")
    model = time_indexed_intervals.build(instance, span=span)
    state.solve(
        model,
        lambda values: time_indexed_intervals.read(model, instance, values),
        real=lambda bound: bound * step,
        grid=1,
    )
    return state.outcome()


@with_scaled_weights
def compact_exponential(
    instance: ElasticInstance, call: RunContext, *, max_columns: MaxColumns = 60_000
) -> MethodResult:
    """Solve the compact-exponential program over all runs of all jobs."""
    state = initial_state(instance, call)
    span = _windows(instance, state)
    call.progress.phase("enumerating runs")
    runs = compact.enumerate_runs(instance, span, max_columns)
    if runs is None:
        return state.outcome(f"too large: more than max_columns={max_columns} runs")
    if call.engine == "cp-sat":
        step = whole_numbers.exact_integers(instance, span).step  # ScaleError
        model = compact.to_cp_sat(instance, runs)

        def chosen(values: Sequence[float]) -> ElasticSchedule:
            return schedule_of(
                instance, [run for run, value in zip(runs, values, strict=True) if value]
            )

        state.solve(model, chosen, real=lambda bound: bound * step, grid=1)
        return state.outcome()
    if reason := _too_far_apart(instance):
        return state.outcome(reason)
    model = compact.build(instance, runs=runs)
    state.solve(
        model,
        lambda values: compact.read(model, instance),
        real=_minimised(instance),
        grid=value_step(instance),
        options=_tolerances(instance, call),
    )
    return state.outcome()


@with_scaled_weights
def cp_sat(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Solve the interval model."""
    state = initial_state(instance, call)
    span = _windows(instance, state)
    whole = whole_numbers.exact_integers(instance, span)  # ScaleError
    call.progress.phase("building the model")
    most = None if state.upper is None else round(state.upper / whole.step)
    model = intervals.build(instance, span=span, whole=whole, most=most)
    schedule = state.schedule
    state.solve(
        model,
        lambda values: intervals.read(model, instance, values),
        real=lambda bound: bound * whole.step,
        grid=1,
        start=None if schedule is None else intervals.start(model, instance, schedule),
    )
    return state.outcome()
