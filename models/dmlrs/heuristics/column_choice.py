"""A choice of jobs among columns by an integer program, and its place on machines (ours)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.column_generation import Column
from schedgap.models.dmlrs.heuristics.density import fill
from schedgap.models.dmlrs.heuristics.partial_schedule import EVEN, Board
from schedgap.models.dmlrs.heuristics.placing import place
from schedgap.models.dmlrs.throughput import FULL, bundles, external_width, progress, widths
from schedgap.solvers import Clock, solve
from schedgap.solvers.programs.arrays import LinearProgram


def completed(instance: DmlrsInstance, column: Column) -> Column | None:
    """Return a column with workers enough for all the work, or None where slots hold no more.

    Pricing rounds progress up, so that columns may miss some of it.
    """
    i, own = column.job, bundles(instance, column.job).workers
    most = int(widths(instance).internal[i].max()), external_width(instance, i)
    offers, total = dict(column.offers), [0, 0]
    for offer in offers.values():
        total[INTERNAL if offer.internal else EXTERNAL] += offer.workers
    for slot, offer in offers.items():
        mode = INTERNAL if offer.internal else EXTERNAL
        missing = (FULL - progress(instance, i, *total)) * arrays(instance).needed[i, mode]
        if missing <= 0:
            break
        wider = own[(own >= offer.workers + missing) & (own <= most[mode])]
        n = int(wider[0]) if len(wider) else int(own[own <= most[mode]][-1])
        total[mode] += n - offer.workers
        offers[slot] = offer._replace(workers=n)
    if progress(instance, i, *total) < FULL:
        return None
    return Column(i, column.completion, offers)


def program(instance: DmlrsInstance, columns: Sequence[Column], share: float) -> LinearProgram:
    """Return (8), (9) over some columns: all machines as one, with a share of their capacity."""
    view, T, R = arrays(instance), instance.horizon, len(instance.resources)
    rooms = share * np.tile(view.capacity.sum(axis=0), T)
    size = T * R + len(instance.jobs)
    rows: list[int] = []
    entries: list[float] = []
    starts = [0]
    for column in columns:
        own = bundles(instance, column.job)
        for slot, offer in column.offers.items():
            demand = own.demand_milli[np.searchsorted(own.workers, offer.workers)] / 1000
            rows += range((slot - 1) * R, slot * R)
            entries += demand.tolist()
        rows.append(T * R + column.job)
        entries.append(1.0)
        starts.append(len(rows))
    matrix: Any = sparse.csc_array((entries, rows, starts), shape=(size, len(columns)))
    worth = [view.utility[c.job, c.completion - view.arrival[c.job]] for c in columns]
    return LinearProgram(
        -np.array(worth),
        np.zeros(len(columns)),
        np.ones(len(columns)),
        matrix,
        np.full(size, -np.inf),
        np.concatenate([rooms, np.ones(len(instance.jobs))]),
        integer=np.ones(len(columns), dtype=bool),
    )


def choose(
    instance: DmlrsInstance,
    columns: Sequence[Column],
    prices: Floats,
    share: float,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> Board:
    """Return a board with the best choice of columns that was found, and what else fits it.

    The columns of most utility are put on machines first; a job whose column does not fit is
    offered to what the others leave, as those that were not chosen are.
    """
    made = program(instance, columns, share)
    result = solve(made, "highs", clock=clock, seed=seed, threads=threads)
    board = Board(instance)
    if result.values is not None:
        chosen = np.flatnonzero(result.values > 0.5)
        for k in chosen[np.argsort(made.cost[chosen], kind="stable")].tolist():
            _put(board, columns[k], prices)
    fill(board, prices, clock=clock)
    return board


def _put(board: Board, column: Column, prices: Floats) -> None:
    plan = {}
    for slot, offer in column.offers.items():
        room, value = board.room[slot - 1], prices[slot - 1] + EVEN
        mode = INTERNAL if offer.internal else EXTERNAL
        counts = place(board.instance, column.job, room, offer.workers, mode, value)
        if counts is None:
            return
        plan[slot] = counts
    board.put(column.job, plan)
