"""Linear and mixed-integer programs as arrays, and bounds certified by dual values.

References
----------
A. Neumaier, O. Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99 (2004).
C. Jansson, "Rigorous lower and upper bounds in linear programming", SIAM Journal on Optimization 14
(2004).
N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, SIAM (2002), chapter
3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedgap.solvers.programs.sparse import sparse

Floats = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
_NORMAL, _LEAST = float(np.finfo(np.float64).tiny), 5e-324  # smallest normal and subnormal doubles
_SMALL = 1e-150  # products of smaller numbers could be subnormal


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """Minimize `cost @ x + offset`, `row_lower <= matrix @ x <= row_upper`, `lower <= x <= upper`.

    The index i stands for rows, j for columns. Absent sides are +-inf. Lists are converted to
    arrays and matrices to CSR; ValueError is raised if shapes do not fit or a number is NaN.
    """

    cost: Floats  # [j]
    lower: Floats  # [j]
    upper: Floats  # [j]
    matrix: Any  # scipy.sparse.csr_array [i, j]
    row_lower: Floats  # [i]
    row_upper: Floats  # [i]
    integer: NDArray[np.bool_] | None = None  # [j]; None for a linear program
    offset: float = 0.0
    column_names: Sequence[str] | None = None
    row_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for name in ("cost", "lower", "upper", "row_lower", "row_upper"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        matrix = sparse.csr_array(self.matrix, dtype=np.float64)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        object.__setattr__(self, "matrix", matrix)
        if self.integer is not None:
            object.__setattr__(self, "integer", np.asarray(self.integer, dtype=bool))
        rows, columns = matrix.shape
        shapes = {
            "cost": columns,
            "lower": columns,
            "upper": columns,
            "integer": columns,
            "column_names": columns,
            "row_lower": rows,
            "row_upper": rows,
            "row_names": rows,
        }
        for name, length in shapes.items():
            value = getattr(self, name)
            if value is not None and len(value) != length:
                raise ValueError(f"{name} has length {len(value)}, the matrix needs {length}")
        numbers = (self.cost, self.lower, self.upper, self.row_lower, self.row_upper, matrix.data)
        if any(np.isnan(array).any() for array in numbers) or not math.isfinite(self.offset):
            raise ValueError("a linear program with NaN, or with an infinite offset")

    @classmethod
    def nonnegative(
        cls,
        cost: Floats,
        matrix: "sparse.csr_array | ArrayLike",
        *,
        row_lower: Floats,
        row_upper: Floats,
    ) -> "LinearProgram":
        """Return a program over nonnegative columns without upper bounds, such as a master problem.

        Parameters
        ----------
        cost : array [j]
            Costs.
        matrix : sparse or dense array [i, j]
            Entries.
        row_lower, row_upper : array [i]
            Sides of the rows.
        """
        lower, upper = np.zeros(len(cost)), np.full(len(cost), np.inf)
        return cls(cost, lower, upper, matrix, row_lower, row_upper)

    @property
    def is_mixed(self) -> bool:
        """Whether some column must be integer."""
        return self.integer is not None and bool(self.integer.any())

    def rounded(self, values: ArrayLike) -> Floats:
        """Return values, with integer columns rounded.

        Parameters
        ----------
        values : array [j]
            Values of the columns.
        """
        rounded = np.array(values, dtype=np.float64)
        if self.integer is not None:
            rounded[self.integer] = np.round(rounded[self.integer]) + 0.0  # no -0.0
        return rounded

    def whole_bounds(self) -> tuple[Floats, Floats]:
        """Return lower [j] and upper [j], with integer columns rounded inward.

        The program remains the same; but HiGHS 1.15.1 can return a wrong optimum if an integer
        column has a fractional bound.
        """
        if self.integer is None:
            return self.lower, self.upper
        lower = np.where(self.integer, np.ceil(self.lower - 1e-9), self.lower)
        upper = np.where(self.integer, np.floor(self.upper + 1e-9), self.upper)
        return lower + 0.0, upper + 0.0

    def objective(self, values: Floats) -> float:
        """Return the objective of a point.

        Parameters
        ----------
        values : array [j]
            Values of the columns.
        """
        terms = self.cost * values
        return math.fsum(terms[terms != 0].tolist()) + self.offset


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """A linear program without its matrix."""

    cost: Floats
    lower: Floats
    upper: Floats
    row_lower: Floats
    row_upper: Floats
    offset: float


def dual_objective(
    program: LinearProgram | Sides, duals: Floats, reduced: Floats, *, tolerance: float = 1e-6
) -> float | None:
    """Return the dual objective within an engine's tolerances, or None if it is infinite.

    The value is not certified; `safe_bound` computes a certified one from the same dual values.

    `duals` [i]: dual values of the rows, as returned by the engine. `reduced` [j]: reduced costs of
    the columns, as returned by the engine. `tolerance`: dual values up to this count as 0 where the
    side of a row or column is infinite.
    """
    total = [program.offset]
    for price, low, high in (
        (duals, program.row_lower, program.row_upper),
        (reduced, program.lower, program.upper),
    ):
        side = np.where(price > 0, low, high)
        if (np.isinf(side) & (np.abs(price) > tolerance)).any():
            return None
        total += (price * np.where(np.isinf(side), 0.0, side)).tolist()
    return math.fsum(total)


def _underflows(left: Floats, right: Floats) -> int:
    """Return how many products are subnormal; their rounding error is not relative."""
    both = (left != 0) & (right != 0)
    return int((np.abs(left[both] * right[both]) < _NORMAL).sum())


def safe_bound(program: LinearProgram, duals: ArrayLike) -> float:
    """Return a lower bound on the optimum of the linear relaxation, valid for any dual values.

    `program`: the program; `integer` is ignored, as a bound on the relaxation is one on the
    program. `duals` [i]: dual values of the rows, as returned by an engine: positive where
    `row_lower` binds and negative where `row_upper` binds. Values that are not finite, or whose
    side is infinite, count as 0. Any array gives a valid bound.

    The bound is sum_i (y_i > 0 ? row_lower_i : row_upper_i) y_i + sum_j min(rc_j lower_j, rc_j
    upper_j) + offset with rc = cost - y A, minus a bound on all rounding errors. It is -inf if a
    column with an infinite bound has a reduced cost of the wrong sign, even if only by round-off.
    Give columns finite bounds if a certificate is needed.

    Notes
    -----
    The bound follows from weak duality. Dual values below 1e-150 count as 0. The rounding error of
    a sum of n products is at most about n eps times the sum of the absolute products (Higham 2002).
    We subtract twice this amount. If a column has an infinite bound, the sign of its reduced cost
    decides and is computed exactly.
    """
    price = np.array(duals, dtype=np.float64)
    price[~np.isfinite(price) | (np.abs(price) < _SMALL)] = 0.0
    price[(price > 0) & np.isneginf(program.row_lower)] = 0.0
    price[(price < 0) & np.isposinf(program.row_upper)] = 0.0
    side = np.where(price > 0, program.row_lower, program.row_upper)
    if np.isinf(side[price != 0]).any():  # an unsatisfiable row, such as >= inf
        return -math.inf
    # sum_i y_i b_i, where b_i is the side on which y_i is nonzero
    row_terms = price * np.where(price == 0, 0.0, side)

    # rc = c - y A, and a bound `error` on the rounding error of each entry
    transposed = program.matrix.T
    reduced = program.cost - transposed @ price
    magnitude = np.abs(program.cost) + abs(transposed) @ np.abs(price)
    nonzeros = np.bincount(program.matrix.indices, minlength=len(reduced))
    error = 2 * _EPS * (nonzeros + 2) * magnitude  # largest error of each reduced cost
    if (np.abs(program.matrix.data) < _SMALL).any():
        error += nonzeros * _LEAST
    # A reduced cost within its error and next to an infinite bound: compute it exactly.
    open_side = np.isneginf(program.lower) | np.isposinf(program.upper)
    columns = program.matrix.tocsc()
    for j in np.flatnonzero(open_side & (np.abs(reduced) <= error)):
        rows = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        entries = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        exact = Fraction(program.cost[j]) - sum(
            Fraction(entry) * Fraction(price[i]) for i, entry in zip(rows, entries, strict=True)
        )
        reduced[j] = float(exact)
        error[j] = _EPS * abs(reduced[j])
        if exact and not reduced[j]:  # underflow: keep the sign, which decides
            reduced[j] = math.copysign(5e-324, exact)

    # sum_j min(rc_j lower_j, rc_j upper_j), minus the effect of the errors
    bound_at = np.where(reduced > 0, program.lower, program.upper)
    bound_at[reduced == 0] = 0.0
    if np.isinf(bound_at).any():
        return -math.inf
    finite_lower = np.where(np.isinf(program.lower), 0.0, program.lower)
    finite_upper = np.where(np.isinf(program.upper), 0.0, program.upper)
    reach = np.maximum(np.abs(finite_lower), np.abs(finite_upper))
    column_terms = reduced * bound_at
    terms = np.concatenate([row_terms, column_terms, [program.offset]])
    allowance = math.fsum((error * reach).tolist()) + 2 * _EPS * math.fsum(np.abs(terms).tolist())
    allowance += _LEAST * (_underflows(price, side) + _underflows(reduced, bound_at))
    value = math.fsum(terms.tolist()) - allowance
    return value if math.isfinite(value) else -math.inf
