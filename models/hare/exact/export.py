"""Programs for `schedgap export`, each by the name of the method that solves it.

Joins the builders in `programs/` and `bounds/` to the heuristics whose schedules narrow their time
windows.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.bounds import fluid
from schedgap.models.hare.bounds.solve_fluid import default_grid
from schedgap.models.hare.heuristics.initial import list_value
from schedgap.models.hare.programs import printed, relaxation, relaxation_arrays
from schedgap.models.hare.programs import time_indexed as by_start
from schedgap.solvers.programs.arrays import LinearProgram

if TYPE_CHECKING:
    import pyomo.environ as pyo

CELLS = 100  # of the fluid program's grid


def big_m(instance: HareInstance) -> "pyo.ConcreteModel":
    """Return the paper's program (4)-(8) with big-M rows."""
    return printed.build(instance, upper=list_value(instance))


def time_indexed(instance: HareInstance) -> LinearProgram:
    """Return the time-indexed program."""
    return by_start.build(instance, upper=list_value(instance))


def time_indexed_lp(instance: HareInstance) -> LinearProgram:
    """Return the linear relaxation of the time-indexed program."""
    return replace(time_indexed(instance), integer=None)


def full_time_indexed_lp(instance: HareInstance) -> LinearProgram:
    """Return the linear relaxation of the time-indexed program, up to the full horizon."""
    return replace(by_start.build(instance), integer=None)


def read_time_indexed(model: "pyo.ConcreteModel", instance: HareInstance) -> HareSchedule:
    """Return the schedule of a solved time-indexed program, in full or in narrow time windows.

    `model`: from `as_model`, with values.

    Notes
    -----
    The narrow windows lie within the full ones, so that equally many columns are the same columns.
    """
    values = [column.value or 0.0 for column in model.columns]
    is_full = len(values) == by_start.layout(instance).columns
    return by_start.read(values, instance, upper=None if is_full else list_value(instance))


def relaxed_miqcp(instance: HareInstance) -> "pyo.ConcreteModel":
    """Return Hare_Sched_RL with its quadratic rows, for LP files only."""
    return relaxation.build(instance)


def relaxed_conic(instance: HareInstance) -> "pyo.ConcreteModel":
    """Return Hare_Sched_RL with continuous y, for LP files only."""
    import pyomo.environ as pyo

    model = relaxation.build(instance, horizon_cap=True)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    return model


def relaxed_prefix(instance: HareInstance) -> LinearProgram:
    """Return the program that the cutting-plane loop starts from: (9) for single tasks only."""
    limit = relaxation.start_limit(instance, horizon_cap=True)
    relaxed = relaxation_arrays.build(instance, limit=limit, integer=True)
    view = arrays(instance)
    cuts = [
        relaxation_arrays.LoadCut(m, np.array([i]), float(view.train[i, k]))
        for m, k in enumerate(view.gpu_class.tolist())
        for i in range(view.tasks)
    ]
    program = relaxation_arrays.with_cuts(relaxed, cuts)
    others = (program.row_names or ())[: -len(cuts)]
    names = [f"eq_9[{m},{i}]" for m in range(view.gpus) for i in range(view.tasks)]
    return replace(program, row_names=[*others, *names])


def fluid_lp(instance: HareInstance) -> LinearProgram:
    """Return the fluid program on its default grid."""
    return fluid.build(instance, default_grid(instance, CELLS)).program
