"""Tighter prices: the relaxation over the remaining modes and starts with superadditive cuts.

References
----------
See `programs.superadditive_cuts` for the cuts and `bounds.separation` for their separation. The
relaxation has only some modes and starts, but its dual prices of capacity rows and cuts give a
Lagrangian bound on all schedules (`programs.dual`), because any prices do.
"""

import numpy as np

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints
from schedgap.models.edge.bounds.reduced_cost_fixing import RemainingStarts
from schedgap.models.edge.bounds.separation import violated_cuts
from schedgap.models.edge.decisions import CompiledInstance, compiled
from schedgap.models.edge.programs import time_indexed
from schedgap.models.edge.programs.dual import CapacityPrices, rounded
from schedgap.models.edge.programs.superadditive_cuts import CutRows, cut_rows
from schedgap.models.mechanisms.dual_feasible_functions import (
    SuperadditiveFunction,
    SuperadditiveSeparator,
)
from schedgap.models.method import Budget
from schedgap.models.search_state import StageProgress, StageResult
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.sparse import sparse

ROUNDS = 12  # of separation

_AddedCuts = list[tuple[SuperadditiveFunction, Ints]]  # function and cells [row, 3], in row order


def tighten(
    found: StageProgress,
    instance: EdgeInstance,
    remaining: RemainingStarts,
    slots: int,
    *,
    budget: Budget,
) -> StageResult:
    """Solve the relaxation over the remaining modes and starts, and add violated cuts.

    `found`: not used: a bound over some modes and starts is none on all schedules. `remaining`:
    columns of the relaxation. `slots`: number of slots with prices.

    Returns
    -------
    StageResult
        `value`: the prices with prices of cuts, or None; they prove a bound where they are
        evaluated. `trace`: `relaxation`, and after cuts `cut` and the number `cuts`.
    """
    view = compiled(instance)
    model = time_indexed.build(instance, remaining.mode_starts, symmetry=False, cut_prices={})
    relaxation = Relaxation(model.program, threads=budget.threads, seed=budget.seed)
    entries, separator = model.worker_entries(view), SuperadditiveSeparator(seed=budget.seed)
    result = relaxation.solve(budget.clock)
    trace = {"relaxation": result.objective}
    duals, added, priced = result.duals, _AddedCuts(), 0  # `duals` cover the first `priced` cuts
    for _ in range(ROUNDS):
        if result.values is None:
            break
        violated = violated_cuts(
            entries, result.values, view.workers, slots, separator, budget.clock
        )
        if not violated:
            break
        for function, wanted in violated.items():
            rows = cut_rows(entries, function, view.workers, wanted)
            _add_rows(relaxation, rows, len(model.kind))
            added.append((function, rows.cells))
        result = relaxation.solve(budget.clock)
        if result.duals is None:
            break
        duals, priced = result.duals, len(added)
        trace |= {"cut": result.objective, "cuts": sum(len(cells) for _, cells in added)}
    if duals is None:
        return StageResult(trace=trace)
    return StageResult(trace=trace, value=_prices(view, model, duals, added[:priced], slots))


def _add_rows(relaxation: Relaxation, rows: CutRows, columns: int) -> None:
    """Add the rows of a cut to a relaxation; `columns` is its number of columns."""
    matrix = sparse.csr_array(
        (rows.entry.astype(float), (rows.row, rows.column)), shape=(len(rows.upper), columns)
    )
    relaxation.add_rows(np.full(len(rows.upper), -np.inf), rows.upper, matrix)


def _prices(
    view: CompiledInstance,
    model: time_indexed.TimeIndexedProgram,
    duals: Floats,
    added: _AddedCuts,
    slots: int,
) -> CapacityPrices:
    """Return the prices that the duals of capacity rows and added cuts stand for."""
    workers = np.zeros((*view.workers.shape, slots))
    ps = np.zeros((*view.ps.shape, slots))
    for target, (rows, cells) in zip((workers, ps), model.capacity_rows, strict=True):
        inside = cells[:, 2] < slots
        target[tuple(cells[inside].T)] = -rows.of(duals)[inside]
    cuts: dict[SuperadditiveFunction, Floats] = {}
    row = len(model.program.row_lower)
    for function, cells in added:
        price = cuts.setdefault(function, np.zeros((*view.workers.shape, slots)))
        price[tuple(cells.T)] -= duals[row : row + len(cells)]
        row += len(cells)
    positive = {f: rounded(price) for f, price in cuts.items() if (price > 0).any()}
    return CapacityPrices(rounded(workers), rounded(ps), positive)
