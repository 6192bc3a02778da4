"""`class-lp`: a linear relaxation over classes of equal servers, with exact dual bounds.

A fraction of a job's workers sits on servers of a class, in whole jobs inside one server (mode 1)
or as pieces of spread jobs (mode 2). GPUs of a class do no more work than they have slots for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

from schedgap.models.ring.bounds.elementary import (
    dff_sizes,
    dff_thresholds,
    inside_slots,
    spread_slots,
)
from schedgap.models.ring.rates import NEVER, RateTable
from schedgap.solvers.programs.arrays import Floats, LinearProgram

_MOST_ROUNDED = 10**6  # rounded rows x jobs
_UNITS = 2**1074  # of a price: doubles are multiples of 2**-1074


@dataclass(frozen=True, slots=True)
class Row:
    """Work on the servers of one class: sizes, or sizes rounded by f_k without pieces."""

    room: int  # c, GPUs of each server
    k: int  # 0: plain sizes

    @property
    def name(self) -> str:
        """Return the row's name in a certificate."""
        return f"{self.room}" if self.k == 0 else f"{self.room}:{self.k}"


@dataclass(frozen=True, slots=True)
class Column:
    """A way for a job's workers: on a class, inside one server or as a piece."""

    job: int
    room: int
    slots: int
    spread: bool


@dataclass(frozen=True, slots=True, eq=False)
class ClassProgram:
    """The program: columns x >= 0, then H, which it minimises."""

    table: RateTable
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]

    def weight(self, row: Row, column: Column) -> int:
        """Return how many GPUs of the row's class the column's job counts for; 0: it does not.

        A piece of a spread job may be smaller than k, so the rounded rows leave pieces out.
        """
        if row.room != column.room or (row.k and column.spread):
            return 0
        size = self.table.size[column.job]  # of a spread job it may exceed the room
        return dff_sizes([size], row.room, row.k)[0] if row.k else size

    def capacity(self, row: Row) -> int:
        """Return m_c c, the GPUs of the row's class."""
        return self.table.server_gpus.count(row.room) * row.room


def class_program(table: RateTable) -> ClassProgram:
    """Return the program of an instance in which every job can make progress.

    Notes
    -----
    Rounded rows stand for the k of `roundings` alone: there are none where sizes of servers and
    jobs are powers of two, nor where they would be too many.
    """
    inside, spread = inside_slots(table), spread_slots(table)
    rooms = sorted(set(table.server_gpus))
    rows = [Row(room, 0) for room in rooms]
    rounded = [Row(room, k) for room in rooms for k in dff_thresholds(table.size, room)]
    if len(rounded) * len(table.size) <= _MOST_ROUNDED:
        rows += rounded
    columns = []
    for j, size in enumerate(table.size):
        for room in rooms:
            if room >= size and inside[j] != NEVER:
                columns.append(Column(j, room, int(inside[j]), False))
            if spread[j] != NEVER:
                columns.append(Column(j, room, int(spread[j]), True))
    return ClassProgram(table, tuple(rows), tuple(columns))


def build(program: ClassProgram) -> LinearProgram:
    """Return the arrays: rows for jobs (all workers), for classes, for jobs (all in time)."""
    J, width = len(program.table.size), len(program.columns) + 1
    entries: list[tuple[int, int, float]] = []
    by_room: dict[int, list[int]] = {}
    for r, row in enumerate(program.rows):
        by_room.setdefault(row.room, []).append(r)
    for x, column in enumerate(program.columns):
        entries.append((column.job, x, 1.0))
        for r in by_room[column.room]:
            if weight := program.weight(program.rows[r], column):
                entries.append((J + r, x, float(weight * column.slots)))
        entries.append((J + len(program.rows) + column.job, x, float(column.slots)))
    for r, row in enumerate(program.rows):
        entries.append((J + r, width - 1, -float(program.capacity(row))))
    for j in range(J):
        entries.append((J + len(program.rows) + j, width - 1, -1.0))
    i, at, values = zip(*entries, strict=True)
    height = 2 * J + len(program.rows)
    cost = np.zeros(width)
    cost[-1] = 1.0
    return LinearProgram.nonnegative(
        cost,
        sparse.csr_array((values, (i, at)), shape=(height, width)),
        row_lower=np.concatenate([np.ones(J), np.full(height - J, -np.inf)]),
        row_upper=np.concatenate([np.ones(J), np.zeros(height - J)]),
    )


@dataclass(frozen=True, slots=True)
class ClassDuals:
    """Dual prices, >= 0; any prove some bound."""

    rows: Mapping[str, float]  # mu, by the row's name
    jobs: tuple[float, ...]  # nu [j]


def prices(program: ClassProgram, duals: Floats) -> ClassDuals:
    """Return the prices in an engine's duals; those that bind from above are negative there."""
    J, R = len(program.table.size), len(program.rows)
    mu = np.maximum(-duals[J : J + R], 0.0).tolist()
    nu = np.maximum(-duals[J + R :], 0.0).tolist()
    return ClassDuals({row.name: m for row, m in zip(program.rows, mu, strict=True)}, tuple(nu))


def dual_bound(program: ClassProgram, given: ClassDuals) -> int:
    """Return the bound on the makespan that prices prove, evaluated in whole numbers.

    Scaled such that sum_c m_c c mu_c + sum_j nu_j = 1, it is the ceiling of sum_j sigma_j with
    sigma_j the least of (sum of a column's prices + nu_j) x slots over the job's columns.
    """
    mu = {row: _whole(given.rows.get(row.name, 0.0)) for row in program.rows}
    nu = [_whole(price) for price in given.jobs]
    total = sum(program.capacity(row) * price for row, price in mu.items()) + sum(nu)
    if total == 0:
        return 0
    by_room: dict[int, list[Row]] = {}
    for row in program.rows:
        if mu[row]:
            by_room.setdefault(row.room, []).append(row)
    least: dict[int, int] = {}
    for column in program.columns:
        rows = by_room.get(column.room, ())
        paid = nu[column.job] + sum(program.weight(row, column) * mu[row] for row in rows)
        paid *= column.slots
        least[column.job] = min(paid, least.get(column.job, paid))
    return -(-sum(least.values()) // total)


def _whole(price: float) -> int:
    """Return a price in units of which every double is a whole number; 0 for a negative one."""
    return int(Fraction(max(0.0, price)) * _UNITS)
