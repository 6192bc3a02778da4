"""Better prices for what is left: the relaxation over some groups, cut by bundles (ours)."""

import numpy as np
from scipy import sparse

from schedgap.instances.edge import EdgeInstance
from schedgap.models.bracket import Finder, Report
from schedgap.models.edge import mode_arrays
from schedgap.models.edge.bundles import BundleRows, bundle_rows, sizes, violated
from schedgap.models.edge.fixing import Kept
from schedgap.models.edge.prices import Prices, rounded
from schedgap.models.edge.problem import problem
from schedgap.solvers import Clock
from schedgap.solvers.highs import Relaxation

ROUNDS = 8


def tighten(
    found: Finder,
    instance: EdgeInstance,
    kept: Kept,
    slots: int,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> Report:
    """Solve the relaxation over the groups that are left, and cut it; returns its prices, or None.

    Prices are for so many slots; they prove nothing here, but wherever they are evaluated.
    """
    view = problem(instance)
    program = mode_arrays.build(view, kept.groups, orders=False)
    relaxation = Relaxation(program.program, threads=threads, seed=seed)
    result = relaxation.solve(clock)
    own = np.flatnonzero(program.kind == 0)
    every = np.ones((*view.workers.shape, slots), dtype=bool)
    tables = {
        k: bundle_rows(view, kept.groups, program.group[own], program.server[own], k, every)
        for k in sizes(view, kept.groups)
    }
    first = None if result.objective is None else float(result.objective)
    added: list[tuple[int, np.ndarray]] = []  # size and cells [row, 3], in the order of the rows
    for _ in range(ROUNDS):
        if result.values is None or clock.expired():
            break
        fresh = 0
        for k, table in tables.items():
            broken = violated(table, result.values[own])
            if broken.any():
                _add(relaxation, table, broken, own, len(program.kind))
                added.append((k, table.cells[broken]))
                fresh += int(broken.sum())
        if not fresh:
            break
        better = relaxation.solve(clock)
        if better.duals is None:
            return Report(trace={"relaxation": first}, value=None)
        result = better
    if result.duals is None:
        return Report(value=None)
    workers = np.zeros((*view.workers.shape, slots))
    ps = np.zeros((*view.ps.shape, slots))
    for target, (row, cells) in zip((workers, ps), program.capacity_rows, strict=True):
        inside = cells[:, 2] < slots
        target[tuple(cells[inside].T)] = -result.duals[row : row + len(cells)][inside]
    bundles: dict[int, np.ndarray] = {}
    row = len(program.program.row_lower)
    for k, cells in added:
        price = bundles.setdefault(k, np.zeros((*view.workers.shape, slots)))
        price[tuple(cells.T)] -= result.duals[row : row + len(cells)]
        row += len(cells)
    prices = Prices(
        rounded(workers),
        rounded(ps),
        {k: rounded(price) for k, price in bundles.items() if (price > 0).any()},
    )
    trace = {
        "relaxation": first,
        "cut": result.objective,
        "cuts": row - len(program.program.row_lower),
    }
    return Report(trace=trace, value=prices)


def _add(
    relaxation: Relaxation, table: BundleRows, broken: np.ndarray, own: np.ndarray, columns: int
) -> None:
    """Add the broken rows of a table."""
    number = np.cumsum(broken) - 1
    mine = broken[table.row]
    matrix = sparse.csr_array(
        (table.entry[mine].astype(float), (number[table.row[mine]], own[table.column[mine]])),
        shape=(int(broken.sum()), columns),
    )
    relaxation.add_rows(np.full(matrix.shape[0], -np.inf), table.room[broken], matrix)
