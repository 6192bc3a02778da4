"""The programs that `schedgap export` writes, by the name of the method that solves them."""

from typing import Any

import numpy as np

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.bounds import fluid
from schedgap.models.hare.bounds.solve_fluid import default_grid
from schedgap.models.hare.decode import to_steps, value_of
from schedgap.models.hare.heuristics.initial import starting_schedule
from schedgap.models.hare.programs import relaxation, relaxation_arrays


def _upper(instance: HareInstance) -> int:
    """Value of a schedule in grid steps: it narrows the windows."""
    start = starting_schedule(instance)
    return value_of(instance, to_steps(instance, start), start.gpu)


def big_m(instance: HareInstance) -> Any:
    """Return (4)-(8) with big-M rows."""
    from schedgap.models.hare.programs import printed

    return printed.build(instance, upper=_upper(instance))


def time_indexed(instance: HareInstance) -> Any:
    """Return the program over starts in steps."""
    from schedgap.models.hare.programs import time_indexed

    return time_indexed.build(instance, upper=_upper(instance))


def relaxed_miqcp(instance: HareInstance) -> Any:
    """Return Hare_Sched_RL with its quadratic rows; LP files only."""
    return relaxation.build(instance)


def relaxed_conic(instance: HareInstance) -> Any:
    """Return Hare_Sched_RL with continuous y; LP files only."""
    return _continuous(relaxation.build(instance, horizon_cap=True))


def relaxed_prefix(instance: HareInstance) -> Any:
    """Return the rows that the loop of cuts starts from: (9) for every single task."""
    limit = relaxation.limit(instance, horizon_cap=True)
    relaxed = relaxation_arrays.build(instance, limit=limit, integer=True)
    view = arrays(instance)
    items = range(view.tasks)
    cuts = [
        relaxation_arrays.Cut(m, np.array([i]), float(view.train[i, k]))
        for m, k in enumerate(view.gpu_class.tolist())
        for i in items
    ]
    return relaxation_arrays.with_cuts(relaxed, cuts)


def time_indexed_lp(instance: HareInstance) -> Any:
    """Return the linear relaxation of `time_indexed`."""
    return _continuous(time_indexed(instance))


def fluid_lp(instance: HareInstance) -> Any:
    """Return the fluid program on its default grid."""
    return fluid.build(instance, default_grid(instance, 100)).program


def _continuous(model: Any) -> Any:
    import pyomo.environ as pyo

    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    return model
