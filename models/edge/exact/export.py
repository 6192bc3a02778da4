"""Programs for `schedgap export`, by the name of the method that solves them."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.placements import count_runs
from schedgap.models.edge.programs import columns, time_indexed
from schedgap.solvers.programs.arrays import LinearProgram

if TYPE_CHECKING:
    import pyomo.environ as pyo

MAX_RUNS = 50_000  # columns of (4) in a file


def milp_mode(instance: EdgeInstance) -> LinearProgram:
    """Return (2), or (3) for a batch, over modes and starts, with names of columns and rows."""
    model = time_indexed.build(instance)
    return replace(model.program, column_names=model.column_names())


def read_milp_mode(model: "pyo.ConcreteModel", instance: EdgeInstance) -> EdgeSchedule | None:
    """Return the schedule of a solved `milp-mode`, or None if the values give no valid one.

    `model`: from `as_model`, with values.
    """
    values = np.array([column.value or 0.0 for column in model.columns])
    return time_indexed.read(time_indexed.build(instance), instance, values)


def set_packing(instance: EdgeInstance) -> "pyo.ConcreteModel":
    """Return (4), with objective (2) unless the instance is a batch.

    Raises
    ------
    UsageError
        If there are too many columns.
    """
    count = count_runs(compiled(instance), MAX_RUNS)
    if count > MAX_RUNS:
        raise UsageError(f"set-packing: {count} runs or more, at most {MAX_RUNS}")
    return columns.build(instance)
