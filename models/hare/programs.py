"""The programs that `schedgap export` writes, by the name of the method that solves them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare import relaxation, run_bounds
from schedgap.models.hare.bounds import fluid, relaxation_linear
from schedgap.models.hare.decode import to_steps, value_of
from schedgap.models.hare.heuristics.starting import starting_schedule


def _upper(instance: HareInstance) -> int:
    """Value of a schedule in grid steps: it narrows the windows."""
    start = starting_schedule(instance)
    return value_of(instance, to_steps(instance, start), start.gpu)


def big_m(instance: HareInstance) -> Any:
    """Return (4)-(8) with big-M rows."""
    from schedgap.models.hare import program

    return program.build(instance, upper=_upper(instance))


def time_indexed(instance: HareInstance) -> Any:
    """Return the program over starts in steps."""
    from schedgap.models.hare import program_time_indexed

    return program_time_indexed.build(instance, upper=_upper(instance))


def relaxed_miqcp(instance: HareInstance) -> Any:
    """Return Hare_Sched_RL with its quadratic rows; LP files only."""
    return relaxation.build(instance)


def relaxed_conic(instance: HareInstance) -> Any:
    """Return Hare_Sched_RL with continuous y; LP files only."""
    return _continuous(relaxation.build(instance, horizon_cap=True))


def relaxed_prefix(instance: HareInstance) -> Any:
    """Return the rows that the loop of cuts starts from: (9) for every single task."""
    limit = relaxation.limit(instance, horizon_cap=True)
    relaxed = relaxation_linear.build(instance, limit=limit, integer=True)
    view = arrays(instance)
    items = range(view.tasks)
    cuts = [
        relaxation_linear.Cut(m, np.array([i]), float(view.train[i, k]))
        for m, k in enumerate(view.gpu_class.tolist())
        for i in items
    ]
    return relaxation_linear.with_cuts(relaxed, cuts)


def time_indexed_lp(instance: HareInstance) -> Any:
    """Return the linear relaxation of `time_indexed`."""
    return _continuous(time_indexed(instance))


def fluid_lp(instance: HareInstance) -> Any:
    """Return the fluid program on its default grid."""
    return fluid.build(instance, run_bounds.default_grid(instance, 100)).program


def _continuous(model: Any) -> Any:
    import pyomo.environ as pyo

    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    return model


PROGRAMS: Mapping[str, Callable[[HareInstance], Any]] = {
    "big-m": big_m,
    "time-indexed": time_indexed,
    "time-indexed-lp": time_indexed_lp,
    "relaxed-miqcp": relaxed_miqcp,
    "relaxed-prefix": relaxed_prefix,
    "relaxed-conic": relaxed_conic,
    "fluid-lp": fluid_lp,
}
