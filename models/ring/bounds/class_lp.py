"""A linear relaxation over classes of equal servers, with exact dual bounds (ours).

Servers with the same number c of GPUs form a class of m_c servers. x(j, c, mode) is the fraction of
the workers of job j that are on servers of class c, with the whole job inside one server (mode
`inside`) or as a part of a spread job (mode `spread`); d_j(mode) is the shortest execution time.

    min H  subject to
        sum over columns of j:  x = 1                            for each job j
        sum over columns of c:  w_j d_j(mode) x <= m_c c H       for each class c, w_j = G_j
        sum over columns of j:  d_j(mode) x <= H                 for each job j

The class rows also hold with w_j = f_k(G_j) for a dual-feasible function f_k of capacity c, if the
columns of spread jobs are left out, because parts of a spread job may be smaller than k.

References
----------
S. P. Fekete, J. Schepers, "New classes of fast lower bounds for bin packing problems", Mathematical
Programming (2001): the functions f_k.
A. Neumaier, O. Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99 (2004): bounds from approximate dual values that hold regardless of
round-off.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from schedgap.models.mechanisms.dual_feasible_functions import threshold, thresholds
from schedgap.models.ring.bounds.elementary import inside_slots, spread_slots
from schedgap.models.ring.rates import NEVER, RateTable
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.builder import ProgramBuilder

_MOST_DFF_ENTRIES = 10**6  # rows with k > 0, times jobs
_PRICE_UNITS = 2**1074  # every double is a multiple of 2**-1074


@dataclass(frozen=True, slots=True)
class ClassRow:
    """Row that limits the work on the servers of one class, with sizes f_k(G_j)."""

    server_gpus: int  # c
    k: int  # 0: plain sizes

    @property
    def name(self) -> str:
        """Name of the row in a certificate."""
        return f"{self.server_gpus}" if self.k == 0 else f"{self.server_gpus}:{self.k}"


@dataclass(frozen=True, slots=True)
class ClassColumn:
    """Column x(j, c, mode): share of a job on a class of servers, inside one or spread."""

    job: int
    server_gpus: int  # c
    slots: int  # d_j(mode)
    spread: bool


@dataclass(frozen=True, slots=True, eq=False)
class ClassProgram:
    """The program: columns x >= 0, then H, which is minimised."""

    table: RateTable
    rows: tuple[ClassRow, ...]
    columns: tuple[ClassColumn, ...]

    def weight(self, row: ClassRow, column: ClassColumn) -> int:
        """Return the size w_j of the column's job in a class row, 0 if the column is not in it.

        `row`: row of the program. `column`: column of the program.
        """
        if row.server_gpus != column.server_gpus or (row.k and column.spread):
            return 0
        size = self.table.size[column.job]  # may exceed c for a spread job
        return threshold([size], row.server_gpus, row.k)[0] if row.k else size

    def capacity(self, row: ClassRow) -> int:
        """Return m_c c, the number of GPUs of the row's class.

        `row`: row of the program.
        """
        return self.table.server_gpus.count(row.server_gpus) * row.server_gpus


def class_program(table: RateTable) -> ClassProgram:
    """Return the rows and columns of the program.

    `table`: of an instance that `no_schedule` does not refute.

    Notes
    -----
    There are rows for the k of `thresholds` only: none if all sizes of servers and jobs are
    powers of two, and none if they would be too many.
    """
    inside, spread = inside_slots(table), spread_slots(table)
    classes = sorted(set(table.server_gpus))
    rows = [ClassRow(c, 0) for c in classes]
    dff_rows = [ClassRow(c, k) for c in classes for k in thresholds(table.size, c)]
    if len(dff_rows) * len(table.size) <= _MOST_DFF_ENTRIES:
        rows += dff_rows
    columns = []
    for j, size in enumerate(table.size):
        for c in classes:
            if c >= size and inside[j] != NEVER:
                columns.append(ClassColumn(j, c, int(inside[j]), False))
            if spread[j] != NEVER:
                columns.append(ClassColumn(j, c, int(spread[j]), True))
    return ClassProgram(table, tuple(rows), tuple(columns))


def build(program: ClassProgram) -> LinearProgram:
    """Return the program as arrays; rows in the order of the module's text.

    `program`: rows and columns.
    """
    J, R = len(program.table.size), len(program.rows)
    rows_of: dict[int, list[int]] = {}  # class -> rows
    for r, row in enumerate(program.rows):
        rows_of.setdefault(row.server_gpus, []).append(r)
    work = [  # (row, column, w_j d_j)
        (r, x, float(weight * column.slots))
        for x, column in enumerate(program.columns)
        for r in rows_of[column.server_gpus]
        if (weight := program.weight(program.rows[r], column))
    ]
    job = [column.job for column in program.columns]
    slots = [float(column.slots) for column in program.columns]
    gpus = [float(program.capacity(row)) for row in program.rows]
    builder = ProgramBuilder()
    x = builder.columns("x", len(program.columns)).positions
    H = builder.columns("H", 1, cost=1.0).positions
    builder.rows("workers", J, (job, x, 1.0), lower=1.0, upper=1.0)
    row_of, column_of, values = zip(*work, strict=True)
    builder.rows(
        "classes", R, (row_of, column_of, values), (range(R), H, np.negative(gpus)), upper=0.0
    )
    builder.rows("slots", J, (job, x, slots), (range(J), H, -1.0), upper=0.0)
    return builder.program()


@dataclass(frozen=True, slots=True)
class ClassDuals:
    """Dual values >= 0 of the class rows and of the rows d x <= H; any of them prove a bound."""

    rows: Mapping[str, float]  # mu, by the name of the class row
    jobs: tuple[float, ...]  # nu [j]


def class_duals(program: ClassProgram, duals: Floats) -> ClassDuals:
    """Return mu and nu from an engine's dual values, in which rows `<=` have the other sign.

    `program`: rows and columns. `duals`: dual value of each row of `build`.
    """
    J, R = len(program.table.size), len(program.rows)
    mu = np.maximum(-duals[J : J + R], 0.0).tolist()
    nu = np.maximum(-duals[J + R :], 0.0).tolist()
    return ClassDuals({row.name: m for row, m in zip(program.rows, mu, strict=True)}, tuple(nu))


def dual_bound(program: ClassProgram, duals: ClassDuals) -> int:
    """Return the bound on the makespan that dual values prove, in exact arithmetic.

    `program`: rows and columns. `duals`: any values; negative ones count as 0.

    Notes
    -----
    Let sigma_j be the minimum of (sum_r w_jr mu_r + nu_j) d_j(mode) over the columns of job j.
    Multiplying the class rows by mu and the rows d x <= H by nu gives
    sum_j sigma_j <= (sum_r m_c c mu_r + sum_j nu_j) H. All prices are integer multiples of
    2**-1074.
    """
    mu = {row: _in_units(duals.rows.get(row.name, 0.0)) for row in program.rows}
    nu = [_in_units(price) for price in duals.jobs]
    total = sum(program.capacity(row) * price for row, price in mu.items()) + sum(nu)
    if total == 0:
        return 0
    priced_rows: dict[int, list[ClassRow]] = {}  # class -> rows with mu > 0
    for row in program.rows:
        if mu[row]:
            priced_rows.setdefault(row.server_gpus, []).append(row)
    sigma: dict[int, int] = {}
    for column in program.columns:
        rows = priced_rows.get(column.server_gpus, ())
        price = nu[column.job] + sum(program.weight(row, column) * mu[row] for row in rows)
        cost = price * column.slots
        sigma[column.job] = min(cost, sigma.get(column.job, cost))
    return -(-sum(sigma.values()) // total)


def _in_units(price: float) -> int:
    """Return a price as an integer in units of 2**-1074, which is exact; 0 for a negative one."""
    return int(Fraction(max(0.0, price)) * _PRICE_UNITS)
