"""The programs of the family in the time windows of a schedule, for engines, files and readers."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import Ge

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.heuristics.initial import known_windows
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.programs import (
    compact,
    intervals,
    linearised,
    printed,
    whole_numbers,
)
from schedgap.models.elastic.programs.columns import ElasticRun
from schedgap.models.elastic.programs.weights import value_step
from schedgap.models.elastic.time_windows import ElasticWindows, windows
from schedgap.models.program import BuiltProgram, Known, NotBuiltError, check_size
from schedgap.solvers.engines.registry import find_engine

if TYPE_CHECKING:
    import pyomo.core as pyo

MAX_RUNS = 50_000  # largest number of rows of the dual in a file
MAX_RATIO = 1e7  # largest ratio of two amounts of a resource in floating point

Built = BuiltProgram[ElasticSchedule]
MaxColumns = Annotated[int | None, "largest number of columns of a program that is built", Ge(1)]


def _span(instance: ElasticInstance, known: Known[ElasticSchedule] | None) -> ElasticWindows:
    """Return the time windows that a schedule leaves open, or the full ones.

    The full ones end with the deadline or the closed horizon. Where the horizon is open, all jobs
    end by slot `horizon`, or as late as the value of a first schedule allows.
    """
    if known is None:
        span = known_windows(instance)
        last = max(instance.horizon + 1 if instance.last_end is None else 0, *span.end)
        return ElasticWindows(span.first, (last,) * len(span.first))
    value = None if known.schedule is None else known.schedule.value(instance)
    return windows(instance, value) or known_windows(instance)


def _built(
    instance: ElasticInstance,
    model: "pyo.ConcreteModel",
    read: Callable[["pyo.ConcreteModel", ElasticInstance], ElasticSchedule],
) -> Built:
    """Return a Pyomo model with its reader and the unit of its bounds."""
    return BuiltProgram(
        model,
        lambda values: read(model, instance),
        (lambda bound: -bound) if instance.is_batch else float,
        grid=value_step(instance),
    )


def _pyomo(
    program: ModuleType,
    instance: ElasticInstance,
    known: Known[ElasticSchedule] | None,
    max_columns: int | None,
) -> Built:
    """Build the program of a module that has `size`, `build` and `read`."""
    span = _span(instance, known)
    check_size(program.size(instance, span), max_columns)
    return _built(instance, program.build(instance, span=span), program.read)


def paper_milp(
    instance: ElasticInstance,
    known: Known[ElasticSchedule] | None = None,
    *,
    max_columns: MaxColumns = 60_000,
) -> Built:
    """Build the paper's program, linearised."""
    return _pyomo(linearised, instance, known, max_columns)


def paper_miqcp(
    instance: ElasticInstance,
    known: Known[ElasticSchedule] | None = None,
    *,
    max_columns: MaxColumns = 5000,
) -> Built:
    """Build the paper's program with its products as printed."""
    return _pyomo(printed, instance, known, max_columns)


def _runs(
    instance: ElasticInstance, known: Known[ElasticSchedule] | None, most: int
) -> list[ElasticRun]:
    """Return every run of every job in its window; NotBuiltError if there are too many."""
    runs = compact.enumerate_runs(instance, _span(instance, known), most)
    if runs is None:
        raise NotBuiltError(f"too large: more than max_columns={most} runs")
    return runs


def compact_exponential(
    instance: ElasticInstance,
    known: Known[ElasticSchedule] | None = None,
    *,
    max_columns: Annotated[
        int, "largest number of columns of a program that is built", Ge(1)
    ] = 60_000,
) -> Built:
    """Build (8), (17): a column for every run of every job."""
    model = compact.build(instance, _runs(instance, known, max_columns))
    return _built(instance, model, compact.read)


def dual_lp(
    instance: ElasticInstance, known: Known[ElasticSchedule] | None = None
) -> "pyo.ConcreteModel":
    """Build (9), (18): a row for every run of every job."""
    return compact.build_dual(instance, _runs(instance, known, MAX_RUNS))


def cp_sat(instance: ElasticInstance, known: Known[ElasticSchedule]) -> Built:
    """Build the interval model.

    Raises
    ------
    ScaleError
        If weights or amounts are not multiples of a step that is not too small.
    """
    span = _span(instance, known)
    step = whole_numbers.exact_integers(instance, span).step
    sign = -1 if instance.is_batch else 1
    most = None if known.schedule is None else round(sign * known.schedule.value(instance) / step)
    least = math.ceil(known.lower / step - 1e-6) if math.isfinite(known.lower) else None
    model = intervals.build(instance, span=span, least=least, most=most)
    return BuiltProgram(
        model,
        lambda values: intervals.read(model, instance, values),
        lambda bound: bound * step,
        grid=1,
        start=lambda schedule: intervals.start(model, instance, schedule),
    )


def engine_options(instance: ElasticInstance, name: str) -> dict[str, Any] | None:
    """Return the options of an engine: the smallest tolerances where amounts are not whole.

    Sums may then exceed a capacity by as little as the engine allows. Presolve is off: HiGHS
    1.15.1 has lost optima with it at the smallest tolerances.

    Raises
    ------
    NotBuiltError
        If capacity rows are unsafe in floating point.
    ScaleError
        If CP-SAT is asked, and amounts or weights have no common step.
    """
    engine = find_engine(name)
    if name == "cp-sat":
        whole_numbers.check_whole(instance)
        return None
    _check_amounts(instance)
    if bool(cluster(instance).whole.all()) or not engine.least:
        return None
    return dict(engine.repeats[-1][1])  # without presolve at the least tolerance


def _check_amounts(instance: ElasticInstance) -> None:
    """Raise NotBuiltError if amounts of a resource are too far apart for floating point."""
    capacity, worker, ps = whole_numbers.amounts(instance)
    for r, name in enumerate(instance.resources):
        amounts = np.concatenate([worker[:, r], ps[:, r], capacity[:, r]])
        if amounts.max() > MAX_RATIO * amounts[amounts > 0].min(initial=np.inf):
            raise NotBuiltError(
                f"amounts of {name} are too far apart for floating point: over {MAX_RATIO:g} to 1"
            )
