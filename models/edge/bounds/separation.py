"""Separation of superadditive cuts from a fractional point.

For each server, worker type and slot, the point is the vector of how many (fractional) jobs have 1,
2, ..., W workers there. A linear program over superadditive functions finds the most violated cut.

References
----------
See `models.mechanisms.dual_feasible_functions`, whose separation this applies to each cell.
"""

import numpy as np

from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints
from schedgap.models.edge.programs.superadditive_cuts import (
    MAX_WORKERS,
    Bools,
    WorkerEntries,
)
from schedgap.models.mechanisms.dual_feasible_functions import (
    SuperadditiveFunction,
    SuperadditiveSeparator,
)
from schedgap.solvers import Clock

INTEGRAL = 1e-6  # distance from an integer up to which a value counts as one


def violated_cuts(
    entries: WorkerEntries,
    values: Floats,
    capacity: Ints,
    slots: int,
    separator: SuperadditiveSeparator,
    clock: Clock,
) -> dict[SuperadditiveFunction, Bools]:
    """Return superadditive functions, each with the cells [s, u, t] where its cut is violated.

    `entries`: columns that use workers. `values` [column]: solution of the relaxation. `capacity`
    [s, u]: workers of each server and type; only those from 3 to `MAX_WORKERS` have cuts. `slots`:
    number of slots considered. `separator`: its linear programs stay warm between calls. `clock`:
    ends the search for further cuts.
    """
    shape = (*capacity.shape, slots)
    limits = np.where((capacity >= 3) & (capacity <= MAX_WORKERS), capacity, 0)
    positive = entries.subset(
        (values[entries.column] > INTEGRAL) & (limits[entries.server, entries.worker_type] > 0)
    )
    k, cell = positive.cells(shape)
    cells, row = np.unique(cell, return_inverse=True)
    # points [i, n - 1]: how many jobs have n workers in cell i.
    points = np.zeros((len(cells), int(limits.max(initial=0))))
    np.add.at(points, (row, positive.count[k] - 1), values[positive.column[k]])
    limit = limits.ravel()[cells // slots]
    known: dict[
        tuple[int, bytes], SuperadditiveFunction | None
    ] = {}  # equal points have equal cuts
    violated: dict[SuperadditiveFunction, Bools] = {}
    fractional = np.abs(points - np.rint(points)).max(axis=1, initial=0.0) > INTEGRAL
    for i in np.flatnonzero(fractional).tolist():
        point = points[i, : limit[i]]
        key = int(limit[i]), point.round(7).tobytes()
        if key not in known:
            if clock.expired():
                break
            known[key] = separator.separate(point, clock)
        if (function := known[key]) is not None:
            violated.setdefault(function, np.zeros(shape, dtype=bool)).ravel()[cells[i]] = True
    return violated
