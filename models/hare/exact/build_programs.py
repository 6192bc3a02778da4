"""The programs of the family in the time windows of a schedule, for engines, files and readers."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Ge

from schedgap.instances.hare import HareInstance, arrays
from schedgap.instances.hare.schedule import HareSchedule
from schedgap.models.hare.bounds import fluid
from schedgap.models.hare.bounds.certificates import certified
from schedgap.models.hare.bounds.solve_fluid import default_grid
from schedgap.models.hare.decode import round_up, to_steps, upper_of
from schedgap.models.hare.heuristics.initial import initial_state, starting_schedule
from schedgap.models.hare.integer_time import steps
from schedgap.models.hare.programs import relaxation, relaxation_arrays
from schedgap.models.hare.programs import time_indexed as by_start
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.program import BuiltProgram, Known, NotBuiltError, check_size
from schedgap.models.search_state import SearchState
from schedgap.solvers.programs.arrays import LinearProgram

MAX_ENTRIES = 30_000_000  # nonzeros of the time-indexed program
CELLS = 100  # in the grid of the fluid program

Built = BuiltProgram[HareSchedule]
MaxColumns = Annotated[int | None, "build no program with more columns", Ge(1)]


def initial(instance: HareInstance, call: RunContext) -> SearchState:
    """Return the search state before any search, of the variant that the options name.

    Raises
    ------
    ScaleError
        If the times are not multiples of a common step.
    """
    steps(instance)
    return initial_state(instance, call, call.options.get("synchronization", "relaxed"))


def time_indexed(
    instance: HareInstance,
    known: Known[HareSchedule] | None = None,
    *,
    max_columns: MaxColumns = 300_000,
) -> Built:
    """Build the time-indexed program."""
    upper = upper_of(instance, known)
    layout = by_start.layout(instance, upper)
    check_size(layout.columns, max_columns)
    if max_columns is not None and layout.entries > MAX_ENTRIES:
        raise NotBuiltError(
            f"too large: about {layout.entries} entries, at most {MAX_ENTRIES} are built"
        )
    return BuiltProgram(
        by_start.build(instance, upper=upper),
        lambda values: by_start.read(values, instance, upper=upper),
        real=round_up,
        grid=1,
        start=lambda found: by_start.start(
            instance,
            to_steps(instance, found),
            arrays(instance).gpu_class[found.gpu],
            upper=upper,
        ),
    )


def relaxed_time_indexed(
    instance: HareInstance,
    known: Known[HareSchedule] | None = None,
    *,
    max_columns: MaxColumns = None,
) -> LinearProgram:
    """Build the linear relaxation of the time-indexed program."""
    program: LinearProgram = time_indexed(instance, known, max_columns=max_columns).model
    return replace(program, integer=None)


def time_indexed_lp(
    instance: HareInstance, call: RunContext, *, max_columns: MaxColumns = 300_000
) -> MethodResult:
    """Return the bound that duals of the linear time-indexed relaxation prove."""
    from schedgap.solvers.engines.solve import solve

    known = Known(starting_schedule(instance))
    upper = upper_of(instance, known)
    assert upper is not None
    call.progress.phase("building the program")
    try:
        relaxed = relaxed_time_indexed(instance, known, max_columns=max_columns)
    except NotBuiltError as error:
        return MethodResult(note=str(error))
    call.progress.phase("solving the relaxation")
    result = solve(relaxed, "highs", clock=call.clock, threads=call.threads, seed=call.seed)
    size = {"columns": len(relaxed.cost), "rows": len(relaxed.row_lower)}
    trace = size | {"step": str(steps(instance).step)}
    if result.duals is None:
        return MethodResult(note=f"the relaxation was not solved ({result.status})", trace=trace)
    bound, certificate = certified(
        "time-indexed-lp",
        relaxed,
        result.duals,
        lambda value: by_start.bound_in_units(instance, upper, value),
        upper=upper,
    )
    return MethodResult(bound=bound, trace=trace, certificate=certificate)


def relaxed_prefix(instance: HareInstance) -> LinearProgram:
    """Build the program that the cutting-plane loop starts from: (9) for single tasks only."""
    limit = relaxation.start_limit(instance, horizon_cap=True)
    relaxed = relaxation_arrays.build(instance, limit=limit, integer=True)
    view = arrays(instance)
    cuts = [
        relaxation_arrays.LoadCut(m, np.array([i]), float(view.train[i, k]))
        for m, k in enumerate(view.gpu_class.tolist())
        for i in range(view.tasks)
    ]
    names = [f"eq_9[{m},{i}]" for m in range(view.gpus) for i in range(view.tasks)]
    program = relaxation_arrays.with_cuts(relaxed, cuts)
    return replace(program, row_names=[*(relaxed.program.row_names or ()), *names])


def fluid_lp(instance: HareInstance) -> LinearProgram:
    """Build the fluid program on its default grid."""
    return fluid.build(instance, default_grid(instance, CELLS)).program
