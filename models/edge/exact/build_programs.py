"""The programs of the family, for engines, files and readers.

No schedule narrows their time windows. What is known only bounds the objective of intervals.
"""

from dataclasses import replace
from itertools import islice
from typing import Annotated

from annotated_types import Ge

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.decisions import sense
from schedgap.models.edge.placements import valid_schedule
from schedgap.models.edge.programs import columns, intervals, printed, time_indexed
from schedgap.models.program import BuiltProgram, Known, NotBuiltError, check_size

MaxColumns = Annotated[int | None, "largest number of columns that is built", Ge(1)]

Built = BuiltProgram[EdgeSchedule]


def milp_literal(
    instance: EdgeInstance,
    known: Known[EdgeSchedule] | None = None,
    *,
    max_columns: MaxColumns = 100_000,
) -> Built:
    """Build (2), or (3) for a batch, as printed."""
    if max_columns is not None:
        check_size(printed.size(instance), max_columns)
    model, sign = printed.build(instance), sense(instance)
    return BuiltProgram(
        model, lambda values: printed.read(model, instance), lambda bound: sign * bound, grid=1
    )


def milp_mode(
    instance: EdgeInstance,
    known: Known[EdgeSchedule] | None = None,
    *,
    max_columns: MaxColumns = 100_000,
) -> Built:
    """Build (2), or (3) for a batch, over modes and starts, with names of columns and rows."""
    if max_columns is not None:
        check_size(time_indexed.size(instance), max_columns)
    built = time_indexed.build(instance)
    return BuiltProgram(
        replace(built.program, column_names=built.column_names()),
        lambda values: time_indexed.read(built, instance, values),
        grid=1,
    )


def set_packing(
    instance: EdgeInstance,
    known: Known[EdgeSchedule] | None = None,
    *,
    max_columns: Annotated[int, "largest number of runs that is enumerated", Ge(1)] = 200_000,
) -> Built:
    """Build (4), with objective (2) unless the instance is a batch."""
    if next(islice(columns.all_runs(instance), max_columns, None), None) is not None:
        raise NotBuiltError(f"too large: runs of the jobs > max_columns={max_columns}")
    model, sign = columns.build(instance), sense(instance)
    return BuiltProgram(
        model, lambda values: columns.read(model, instance), lambda bound: sign * bound, grid=1
    )


def cp_sat(
    instance: EdgeInstance,
    known: Known[EdgeSchedule],
    *,
    max_intervals: Annotated[
        int | None, "largest number of intervals of workers and PSs", Ge(1)
    ] = 50_000,
) -> Built:
    """Build the interval model, with the known bound as a row."""
    check_size(2 * len(instance.jobs) * len(instance.servers), max_intervals, "intervals")
    sign = sense(instance)
    bound = int(sign * known.lower)
    model = intervals.build(
        instance, lower=None if sign < 0 else bound, upper=bound if sign < 0 else None
    )
    return BuiltProgram(
        model,
        lambda values: valid_schedule(instance, intervals.read(model, instance, values)),
        lambda bound: sign * bound,
        grid=1,
        start=lambda schedule: intervals.start(model, instance, schedule),
    )
