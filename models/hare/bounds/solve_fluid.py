"""Solve the fluid program; the bound `fluid-lp` is the value of its duals.

Joins `fluid` to HiGHS and to the certificates.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.algorithms.algorithm_1 import algorithm_1
from schedgap.models.hare.algorithms.list_wspt import list_wspt
from schedgap.models.hare.bounds import fluid
from schedgap.models.hare.bounds.certificates import certified
from schedgap.models.hare.bounds.lagrangian import GpuPrices
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import EngineResult
from schedgap.solvers.programs.arrays import Floats

Cells = Annotated[int, "number of time cells up to the makespan of a list schedule", Ge(1)]


@dataclass(frozen=True, slots=True)
class FluidSolution:
    """Solution of a fluid program; `duals` [i] by row are all 0 if HiGHS has none."""

    model: fluid.FluidProgram
    result: EngineResult
    duals: Floats

    @property
    def prices(self) -> GpuPrices:
        """Prices of GPU time in the duals."""
        return GpuPrices(self.model.grid, fluid.capacity_prices(self.model, self.duals))

    @property
    def note(self) -> str:
        """Say that the prices are 0 because HiGHS gave none; else an empty string."""
        if self.result.duals is not None:
            return ""
        return f"the fluid program was not solved ({self.result.status}): prices are 0"


# Duals of an interior point suffice, since any duals prove a bound; a crossover takes longer.
INTERIOR_POINT = {"solver": "ipm", "run_crossover": "off"}


def solve_fluid(instance: HareInstance, call: RunContext, cells: int) -> FluidSolution:
    """Solve the fluid program on a grid of `cells`."""
    from schedgap.solvers.engines.solve import solve

    call.progress.phase("building the fluid program")
    grid = default_grid(instance, cells)
    model = fluid.build(instance, grid)
    call.progress.phase("solving the fluid program")
    # Scaled by the largest weight: the tolerances of the engine then fit weights of any size.
    cost_scale = float(model.program.cost.max()) or 1.0
    scaled = replace(model.program, cost=model.program.cost / cost_scale)
    settings: dict[str, Any] = {"clock": call.clock, "threads": call.threads, "seed": call.seed}
    result = solve(scaled, "highs", options=INTERIOR_POINT, **settings)
    if result.duals is None and not call.clock.expired():
        result = solve(scaled, "highs", options={"solver": "simplex"}, **settings)
    if result.objective is not None:
        result = replace(result, objective=result.objective * cost_scale)
    rows = len(model.program.row_lower)
    duals = np.zeros(rows) if result.duals is None else np.asarray(result.duals) * cost_scale
    return FluidSolution(model, result, duals)


def default_grid(instance: HareInstance, cells: int) -> Floats:
    """Return the grid up to the smaller makespan of two list schedules.

    `cells`: number of cells, >= 1.
    """
    by_head = algorithm_1(instance, arrays(instance).head, gpu_rule="finish").schedule
    end = min(
        float(schedule.completion(instance).max()) for schedule in (by_head, list_wspt(instance))
    )
    return fluid.power_grid(end, cells)


def fluid_lp(instance: HareInstance, call: RunContext, *, cells: Cells = 100) -> MethodResult:
    """Return the bound that the duals of the fluid program prove."""
    solution = solve_fluid(instance, call, cells)
    model, result = solution.model, solution.result
    bound, certificate = certified(
        "fluid-lp", model.program, solution.duals, grid=model.grid.tolist()
    )
    trace = {
        "rows": len(model.program.row_lower),
        "columns": len(model.program.cost),
        "grid_end": float(model.grid[-1]),
        "engine_value": result.objective,
    }
    return MethodResult(bound=bound, trace=trace, certificate=certificate, note=solution.note)
