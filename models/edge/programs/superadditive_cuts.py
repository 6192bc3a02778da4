"""Cuts for what one server runs in one slot: superadditive functions of numbers of workers (ours).

In a slot the jobs' numbers of workers on a server sum up to W or less. With any f for which
f(m) + f(n) <= f(m + n), their f sum up to f(W) or less. The relaxation knows f(n) = n alone, and
puts four thirds of a job with three workers on a server with four; f = (0, 0, 1, 1) says one, and
f = (0, 1, 2, 2) that such a job leaves no room for one of two either. Such an f is called a shape.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedgap.models.edge.algorithms.cheapest_schedule import Ints

Bools = NDArray[np.bool_]
Shape = tuple[int, ...]  # f(1), ..., f(W), whole numbers; for servers with W workers or fewer

MOST_WORKERS = 64  # of a server; a larger one gets no cuts
LARGEST = 120  # of f(W); what has no smaller multiple in whole numbers is no cut


def is_superadditive(shape: Shape) -> bool:
    """Whether f(m) + f(n) <= f(m + n) wherever f is defined, and f >= 0."""
    f = (0, *shape)
    return min(f) >= 0 and all(
        f[m] + f[n] <= f[m + n] for m in range(1, len(f)) for n in range(m, len(f) - m)
    )


def worth(shape: Shape, workers: int) -> int:
    """Return f of a number of workers; 0 where f is not defined, as no server can hold so many."""
    return shape[workers - 1] if 1 <= workers <= len(shape) else 0


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Which columns of a program hold workers, how many, where and when."""

    column: Ints  # [k]
    count: Ints  # [k] workers
    server: Ints  # [k]
    worker_type: Ints  # [k]
    first: Ints  # [k] slot, from 0
    duration: Ints  # [k]

    def of(self, chosen: Bools) -> "Held":
        """Return some of them."""
        return Held(*(getattr(self, name)[chosen] for name in self.__slots__))

    def cells(self, shape: tuple[int, ...]) -> tuple[Ints, Ints]:
        """Return (k, flat index of server, type, slot) for every slot within an array's shape."""
        k, slot = during(self.first, self.duration)
        inside = slot < shape[2]
        k, slot = k[inside], slot[inside]
        return k, np.ravel_multi_index((self.server[k], self.worker_type[k], slot), shape)


def during(first: Ints, duration: Ints) -> tuple[Ints, Ints]:
    """Return (k, slot) for every slot of every stretch k."""
    k = np.repeat(np.arange(len(first)), duration)
    slot = first[k] + np.arange(len(k)) - np.repeat(np.cumsum(duration) - duration, duration)
    return k, slot


@dataclass(frozen=True, slots=True, eq=False)
class ShapeRows:
    """Entries of the rows of one shape, and the cells (server, type, slot) they stand for."""

    cells: Ints  # [row, 3]
    row: Ints  # [entry]
    column: Ints  # [entry]
    entry: Ints  # [entry] f(n)
    room: Ints  # [row] f(W)


def shape_rows(held: Held, shape: Shape, capacity: Ints, wanted: Bools) -> ShapeRows:
    """Return the rows of the cells [s, u, t] that are wanted and have an entry."""
    f = np.array((0, *shape))
    some = held.of(f[np.minimum(held.count, len(shape))] > 0)
    k, cell = some.cells(wanted.shape)
    asked = wanted.ravel()[cell]
    found, row = np.unique(cell[asked], return_inverse=True)
    where = np.stack(np.unravel_index(found, wanted.shape), axis=1).astype(np.int64)
    return ShapeRows(
        where,
        row.astype(np.int64),
        some.column[k[asked]],
        f[some.count[k[asked]]],
        f[capacity[where[:, 0], where[:, 1]]],
    )
