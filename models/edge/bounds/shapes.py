"""Cuts for what one server runs in one slot: superadditive shapes of numbers of workers (ours).

In a slot the jobs' numbers of workers on a server sum up to W or less. With any f for which
f(m) + f(n) <= f(m + n), their f sum up to f(W) or less. The relaxation knows f(n) = n alone, and
puts four thirds of a job with three workers on a server with four; f = (0, 0, 1, 1) says one, and
f = (0, 1, 2, 2) that such a job leaves no room for one of two either. A linear program over these
functions finds one that a point breaks, or shows that none does: every facet is one of them.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from schedgap.models.edge.cost import Floats, Ints
from schedgap.solvers import Clock
from schedgap.solvers.highs import Relaxation
from schedgap.solvers.linear import LinearProgram

Bools = NDArray[np.bool_]
Shape = tuple[int, ...]  # f(1), ..., f(W), whole numbers; for servers with W workers or fewer

MOST_WORKERS = 64  # of a server; a larger one gets no cuts
LARGEST = 120  # of f(W); what has no smaller multiple in whole numbers is no cut
VIOLATED = 1e-4  # relative to f(W)
WHOLE = 1e-6


def is_superadditive(shape: Shape) -> bool:
    """Whether f(m) + f(n) <= f(m + n) wherever f is defined, and f >= 0."""
    f = (0, *shape)
    return min(f) >= 0 and all(
        f[m] + f[n] <= f[m + n] for m in range(1, len(f)) for n in range(m, len(f) - m)
    )


def worth(shape: Shape, workers: int) -> int:
    """Return f of a number of workers; 0 where f is not defined, as no server can hold so many."""
    return shape[workers - 1] if 1 <= workers <= len(shape) else 0


class ShapeFinder:
    """Finds shapes that points break; one linear program for each capacity, kept warm."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed
        self._programs: dict[int, Relaxation] = {}

    def find(self, point: Floats, clock: Clock) -> Shape | None:
        """Return a shape that a point [n - 1] breaks the most, or None.

        Parameters
        ----------
        point : array [W]
            How many jobs, or parts of jobs, have 1, ..., W workers on a server of W.
        """
        W = len(point)
        if W not in self._programs:
            self._programs[W] = self._program(W)
        program = self._programs[W]
        # Numbers that do not occur weigh a little: their f is to be as large as can be.
        program.change_costs(np.arange(W), -(point + 1e-6 * np.arange(1, W + 1)))
        result = program.solve(clock)
        if result.values is None:
            return None
        parts = [Fraction(float(value)).limit_denominator(LARGEST) for value in result.values]
        scale = lcm(*(part.denominator for part in parts))
        shape = tuple(int(part * scale) for part in parts)
        if scale > LARGEST or not is_superadditive(shape):
            return None
        return shape if np.dot(shape, point) > shape[-1] * (1 + VIOLATED) else None

    def _program(self, W: int) -> Relaxation:
        """Return the program over f(1), ..., f(W) = 1."""
        pairs = [(m, n) for m in range(1, W) for n in range(m, W - m + 1)]
        matrix = sparse.lil_array((len(pairs), W))
        for row, (m, n) in enumerate(pairs):
            matrix[row, m - 1] += 1
            matrix[row, n - 1] += 1
            matrix[row, m + n - 1] -= 1
        return Relaxation(
            LinearProgram(
                cost=np.zeros(W),
                lower=np.zeros(W),
                upper=np.ones(W),
                matrix=matrix.tocsr(),
                row_lower=np.full(len(pairs), -np.inf),
                row_upper=np.zeros(len(pairs)),
            ),
            seed=self._seed,
        )


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


def broken_shapes(
    held: Held, values: Floats, capacity: Ints, slots: int, finder: ShapeFinder, clock: Clock
) -> dict[Shape, Bools]:
    """Return for each shape that the values [column] break the cells [s, u, t] where they do."""
    shape = (*capacity.shape, slots)
    rooms = np.where((capacity >= 3) & (capacity <= MOST_WORKERS), capacity, 0)
    some = held.of((values[held.column] > WHOLE) & (rooms[held.server, held.worker_type] > 0))
    k, cell = some.cells(shape)
    cells, row = np.unique(cell, return_inverse=True)
    points = np.zeros((len(cells), int(rooms.max(initial=0))))
    np.add.at(points, (row, some.count[k] - 1), values[some.column[k]])
    room = rooms.ravel()[cells // slots]
    known: dict[tuple[int, bytes], Shape | None] = {}
    broken: dict[Shape, Bools] = {}
    split = np.abs(points - np.rint(points)).max(axis=1, initial=0.0) > WHOLE
    for i in np.flatnonzero(split).tolist():
        point = points[i, : room[i]]
        key = int(room[i]), point.round(7).tobytes()
        if key not in known:
            if clock.expired():
                break
            known[key] = finder.find(point, clock)
        if (cut := known[key]) is not None:
            broken.setdefault(cut, np.zeros(shape, dtype=bool)).ravel()[cells[i]] = True
    return broken
