"""Rows that a relaxation lacks: so many bundles of k workers fit on a server (ours).

The workers of the jobs that are together with their PS on a server fill it up: sum n X1 <= W.
Divided by k and rounded down, sum floor(n / k) X1 <= floor(W / k): of jobs with three workers each,
four workers have room for one, where a relaxation puts four thirds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedgap.models.edge.cost import Floats, Ints
from schedgap.models.edge.problem import Group, Problem

Bools = NDArray[np.bool_]

MOST_SIZES = 16
VIOLATED = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class BundleRows:
    """Entries of the rows of one size k, and the cells (server, type, slot) they stand for."""

    cells: Ints  # [row, 3]
    row: Ints  # [entry]
    column: Ints  # [entry] among the given columns
    entry: Ints  # [entry] floor(n / k)
    room: Ints  # [row] floor(W / k)


def sizes(view: Problem, groups: Sequence[Group]) -> list[int]:
    """Return the sizes that can matter: numbers of workers of jobs together, the smallest ones."""
    found = {group.mode.workers for group in groups if group.mode.together} | {2, 3}
    return sorted(k for k in found if 2 <= k <= int(view.workers.max()))[:MOST_SIZES]


def bundle_rows(
    view: Problem, groups: Sequence[Group], group: Ints, server: Ints, k: int, wanted: Bools
) -> BundleRows:
    """Return the rows of the cells [s, u, t] that are wanted and have an entry.

    Parameters
    ----------
    group, server : array [column]
        What the columns X1 stand for: index of the group, and the server.
    """
    task_of = {task.job: task for task in view.tasks}
    n = np.array([groups[g].mode.workers for g in group], dtype=np.int64) // k
    u = np.array([task_of[groups[g].job].worker_type for g in group], dtype=np.int64)
    first = np.array([groups[g].start for g in group], dtype=np.int64) - view.first
    d = np.array([groups[g].mode.duration for g in group], dtype=np.int64) * (n > 0)
    column = np.repeat(np.arange(len(group)), d)
    slot = first[column] + np.arange(d.sum()) - np.repeat(np.cumsum(d) - d, d)
    T = wanted.shape[2]
    inside = slot < T
    column, slot = column[inside], slot[inside]
    s, kind = server[column], u[column]
    asked = wanted[s, kind, slot]
    column, s, kind, slot = column[asked], s[asked], kind[asked], slot[asked]
    shape = wanted.shape
    cells, row = np.unique(np.ravel_multi_index((s, kind, slot), shape), return_inverse=True)
    where = np.stack(np.unravel_index(cells, shape), axis=1).astype(np.int64)
    room = view.workers[where[:, 0], where[:, 1]] // k
    return BundleRows(where, row.astype(np.int64), column, n[column], room)


def violated(rows: BundleRows, values: Floats) -> Bools:
    """Return which rows [row] the values [column] of X1 break."""
    used = np.bincount(rows.row, rows.entry * values[rows.column], minlength=len(rows.room))
    broken: Bools = used > rows.room + VIOLATED
    return broken
