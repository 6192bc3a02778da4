"""Superadditive cuts: valid inequalities on the numbers of workers on one server in one slot.

The numbers of workers n_1, n_2, ... that jobs have on a server of capacity W in a slot satisfy
n_1 + n_2 + ... <= W. For any superadditive f, that is f(m) + f(n) <= f(m + n), they satisfy
f(n_1) + f(n_2) + ... <= f(W) as well. The relaxation contains only f(n) = n; so it admits 4/3 of a
job with three workers on a server of four. With f = (0, 0, 1, 1) there is room for one such job,
and f = (0, 1, 2, 2) says that next to it there is no room for a job with two workers.

References
----------
See `models.mechanisms.dual_feasible_functions`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedgap.models.edge.algorithms.cheapest_schedule import Ints
from schedgap.models.mechanisms.dual_feasible_functions import SuperadditiveFunction

Bools = NDArray[np.bool_]

MAX_WORKERS = 64  # capacity of a server; larger ones get no cuts


@dataclass(frozen=True, slots=True, eq=False)
class WorkerEntries:
    """Columns of a program that use workers: how many, on which server, of which type and when."""

    column: Ints  # [k]
    count: Ints  # [k] workers
    server: Ints  # [k]
    worker_type: Ints  # [k]
    first: Ints  # [k] slot, from 0
    duration: Ints  # [k]

    def subset(self, chosen: Bools) -> "WorkerEntries":
        """Return some of the entries.

        `chosen` [k]: which entries.
        """
        return WorkerEntries(*(getattr(self, name)[chosen] for name in self.__slots__))

    def cells(self, shape: tuple[int, ...]) -> tuple[Ints, Ints]:
        """Return the slots in which entries use workers.

        `shape`: numbers of servers, types and slots; later slots are left out.

        Returns
        -------
        k, cell : arrays [i] of int
            Entry, and flat index of (server, type, slot) in an array of this shape.
        """
        k, slot = interval_slots(self.first, self.duration)
        inside = slot < shape[2]
        k, slot = k[inside], slot[inside]
        return k, np.ravel_multi_index((self.server[k], self.worker_type[k], slot), shape)


def interval_slots(first: Ints, duration: Ints) -> tuple[Ints, Ints]:
    """Return all slots of some intervals.

    `first`, `duration` [k]: first slot and length of each interval.

    Returns
    -------
    k, slot : arrays [i] of int
        Interval and slot, interval by interval.
    """
    k = np.repeat(np.arange(len(first)), duration)
    slot = first[k] + np.arange(len(k)) - np.repeat(np.cumsum(duration) - duration, duration)
    return k, slot


@dataclass(frozen=True, slots=True, eq=False)
class CutRows:
    """Rows sum f(n) x <= f(W) of one function, each for one (server, type, slot)."""

    cells: Ints  # [row, 3] server, type, slot
    row: Ints  # [entry]
    column: Ints  # [entry]
    entry: Ints  # [entry] f(n)
    upper: Ints  # [row] f(W)


def cut_rows(
    entries: WorkerEntries, function: SuperadditiveFunction, capacity: Ints, wanted: Bools
) -> CutRows:
    """Return the rows of one function.

    `entries`: columns that use workers. `function`: f(1), f(2), ... `capacity` [s, u]: workers of
    each server and type. `wanted` [s, u, t]: cells that get a row; those without a nonzero entry
    get none.
    """
    f = np.array((0, *function))
    positive = entries.subset(f[np.minimum(entries.count, len(function))] > 0)
    k, cell = positive.cells(wanted.shape)
    asked = wanted.ravel()[cell]
    used, row = np.unique(cell[asked], return_inverse=True)
    cells = np.stack(np.unravel_index(used, wanted.shape), axis=1).astype(np.int64)
    return CutRows(
        cells,
        row.astype(np.int64),
        positive.column[k[asked]],
        f[positive.count[k[asked]]],
        f[capacity[cells[:, 0], cells[:, 1]]],
    )
