"""Separation of superadditive cuts: a linear program over f finds one that a point breaks (ours).

Or it shows that none does: every facet is one of them.
"""

from fractions import Fraction
from math import lcm

import numpy as np
from scipy import sparse

from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints
from schedgap.models.edge.programs.superadditive_cuts import (
    LARGEST,
    MOST_WORKERS,
    Bools,
    Held,
    Shape,
    is_superadditive,
)
from schedgap.solvers import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import LinearProgram

VIOLATED = 1e-4  # relative to f(W)
WHOLE = 1e-6


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
