"""Better prices for what is left: the relaxation over some groups, cut by shapes (ours)."""

import numpy as np
from scipy import sparse

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints
from schedgap.models.edge.bounds.reduced_cost_fixing import Kept
from schedgap.models.edge.bounds.separation import ShapeFinder, broken_shapes
from schedgap.models.edge.decisions import Problem, problem
from schedgap.models.edge.programs import time_indexed_arrays
from schedgap.models.edge.programs.dual import Prices, rounded
from schedgap.models.edge.programs.superadditive_cuts import Shape, ShapeRows, shape_rows
from schedgap.models.search_state import Finder, StageResult
from schedgap.solvers import Clock
from schedgap.solvers.engines.highs import Relaxation

ROUNDS = 12

Added = list[tuple[Shape, Ints]]  # shape and cells [row, 3], in the order of the rows


def tighten(
    found: Finder,
    instance: EdgeInstance,
    kept: Kept,
    slots: int,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Solve the relaxation over the groups that are left, and cut it; returns its prices, or None.

    Prices are for so many slots; they prove nothing here, but wherever they are evaluated.
    """
    view = problem(instance)
    program = time_indexed_arrays.build(view, kept.groups, orders=False, shapes={})
    relaxation = Relaxation(program.program, threads=threads, seed=seed)
    held, finder = program.held(view), ShapeFinder(seed=seed)
    result = relaxation.solve(clock)
    trace = {"relaxation": result.objective}
    duals, added, known = result.duals, Added(), 0
    for _ in range(ROUNDS):
        if result.values is None:
            break
        broken = broken_shapes(held, result.values, view.workers, slots, finder, clock)
        if not broken:
            break
        for shape, wanted in broken.items():
            rows = shape_rows(held, shape, view.workers, wanted)
            _add(relaxation, rows, len(program.kind))
            added.append((shape, rows.cells))
        result = relaxation.solve(clock)
        if result.duals is None:
            break
        duals, known = result.duals, len(added)
        trace |= {"cut": result.objective, "cuts": sum(len(cells) for _, cells in added)}
    if duals is None:
        return StageResult(trace=trace)
    return StageResult(trace=trace, value=_prices(view, program, duals, added[:known], slots))


def _add(relaxation: Relaxation, rows: ShapeRows, columns: int) -> None:
    matrix = sparse.csr_array(
        (rows.entry.astype(float), (rows.row, rows.column)), shape=(len(rows.room), columns)
    )
    relaxation.add_rows(np.full(len(rows.room), -np.inf), rows.room, matrix)


def _prices(
    view: Problem, program: time_indexed_arrays.ModeProgram, duals: Floats, added: Added, slots: int
) -> Prices:
    """Return the prices behind the duals of the program's rows and of those that were added."""
    workers = np.zeros((*view.workers.shape, slots))
    ps = np.zeros((*view.ps.shape, slots))
    for target, (row, cells) in zip((workers, ps), program.capacity_rows, strict=True):
        inside = cells[:, 2] < slots
        target[tuple(cells[inside].T)] = -duals[row : row + len(cells)][inside]
    shapes: dict[Shape, Floats] = {}
    row = len(program.program.row_lower)
    for shape, cells in added:
        price = shapes.setdefault(shape, np.zeros((*view.workers.shape, slots)))
        price[tuple(cells.T)] -= duals[row : row + len(cells)]
        row += len(cells)
    used = {shape: rounded(price) for shape, price in shapes.items() if (price > 0).any()}
    return Prices(rounded(workers), rounded(ps), used)
