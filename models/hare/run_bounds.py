"""The methods that return a bound only."""

import math
from dataclasses import dataclass

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare import fluid
from schedgap.models.hare.algorithm import algorithm_1, list_wspt
from schedgap.models.hare.certificates import certify
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers import EngineResult
from schedgap.solvers.linear import Floats

CELLS = Option(
    "cells", "int", 100, "cells of time up to the makespan of a list schedule", least=1
)  # fmt: skip


def critical_path(instance: HareInstance, call: Call) -> Outcome:
    """Return sum w_n (a_n + L_n): every job alone on the fastest GPUs, by (4), (6) and (7)."""
    view = arrays(instance)
    return Outcome(bound=math.fsum(view.weight * (view.arrival + view.critical)))


@dataclass(frozen=True, slots=True)
class FluidSolution:
    """A solved fluid program; `values` [j] of `model.program`, None when HiGHS was stopped."""

    model: fluid.Fluid
    result: EngineResult
    values: Floats | None


def solve_fluid(instance: HareInstance, call: Call) -> FluidSolution:
    """Solve the fluid program with the options `cells` and `sync_rows` of a call."""
    from schedgap.solvers.highs import solve_arrays

    call.progress.phase("building the fluid program")
    grid = fluid.power_grid(_end(instance), call.options["cells"])
    model = fluid.build(instance, grid, sync_rows=call.options.get("sync_rows", False))
    call.progress.phase("solving the fluid program")
    # The interior point is precise enough: prices prove what they prove, and a vertex costs more.
    result = solve_arrays(
        model.program,
        clock=call.clock,
        threads=call.threads,
        seed=call.seed,
        algorithm="ipm",
        crossover=False,
    )
    return FluidSolution(model, result, result.values)


def _end(instance: HareInstance) -> float:
    """Return the end of the grid: the makespan of the shorter of two list schedules."""
    by_head = algorithm_1(instance, arrays(instance).head, gpu_rule="finish")
    return min(
        float(schedule.completion(instance).max()) for schedule in (by_head, list_wspt(instance))
    )


def fluid_lp(instance: HareInstance, call: Call) -> Outcome:
    """Solve the fluid program and return what its prices prove."""
    solution = solve_fluid(instance, call)
    model, result = solution.model, solution.result
    trace = {
        "rows": len(model.program.row_lower),
        "columns": len(model.program.cost),
        "grid_end": float(model.grid[-1]),
    }
    if result.duals is None:
        return Outcome(note=f"the fluid program was not solved ({result.status})", trace=trace)
    bound, duals = certify(model.program, result.duals)
    if solution.values is not None:
        trace |= {
            "engine_value": result.objective,
            "midpoint_value_no_bound": fluid.midpoint_value(instance, model, solution.values),
        }
    return Outcome(
        bound=bound,
        trace=trace,
        certificate={
            "kind": "fluid-lp",
            "grid": model.grid.tolist(),
            "sync_rows": call.options["sync_rows"],
            "duals": duals,
            "value": bound,
        },
    )


METHODS: tuple[Method, ...] = (
    Method(
        "critical-path",
        "bound",
        critical_path,
        "every job alone on the fastest GPUs",
        "(4), (6), (7)",
        ours=True,
    ),
    Method(
        "fluid-lp",
        "bound",
        fluid_lp,
        "linear program over jobs, classes of GPUs and cells of time; for full scale",
        "ours",
        ours=True,
        engines=("highs",),
        options=(
            CELLS,
            Option("sync_rows", "bool", False, "add rows that pay for long synchronization"),
        ),
    ),
)
