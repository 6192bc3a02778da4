"""A linear or mixed-integer program as arrays, and the bound that its dual prices certify."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Floats = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
_NORMAL, _LEAST = float(np.finfo(np.float64).tiny), 5e-324  # normal and subnormal doubles begin
_SMALL = 1e-150  # prices and entries of less could have products below normal doubles


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """Minimise `cost @ x + offset`, `row_lower <= matrix @ x <= row_upper`, `lower <= x <= upper`.

    Index letters: i row, j column. Infinite sides are +-inf. Lists are taken as arrays and any
    sparse or dense matrix as CSR; ValueError when shapes do not fit or a number is NaN.
    """

    cost: Floats  # [j]
    lower: Floats  # [j]
    upper: Floats  # [j]
    matrix: Any  # scipy.sparse.csr_array [i, j]
    row_lower: Floats  # [i]
    row_upper: Floats  # [i]
    integer: NDArray[np.bool_] | None = None  # [j]; None is a linear program
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
        cls, cost: Floats, matrix: Any, *, row_lower: Floats, row_upper: Floats
    ) -> "LinearProgram":
        """Return the program over columns without upper bounds, such as a master."""
        lower, upper = np.zeros(len(cost)), np.full(len(cost), np.inf)
        return cls(cost, lower, upper, matrix, row_lower, row_upper)

    @property
    def is_mixed(self) -> bool:
        """True when some column must be integer."""
        return self.integer is not None and bool(self.integer.any())

    def rounded(self, values: ArrayLike) -> Floats:
        """Return values [j] with the integer columns rounded."""
        rounded = np.array(values, dtype=np.float64)
        if self.integer is not None:
            rounded[self.integer] = np.round(rounded[self.integer]) + 0.0  # no -0.0
        return rounded

    def whole_bounds(self) -> tuple[Floats, Floats]:
        """Return lower and upper [j], those of integer columns rounded inward: the same program.

        HiGHS 1.15.1 can return a wrong optimum where an integer column has a fractional bound.
        """
        if self.integer is None:
            return self.lower, self.upper
        lower = np.where(self.integer, np.ceil(self.lower - 1e-9), self.lower)
        upper = np.where(self.integer, np.floor(self.upper + 1e-9), self.upper)
        return lower + 0.0, upper + 0.0

    def objective(self, values: Floats) -> float:
        """Return the objective of values [j]."""
        return math.fsum((self.cost * values).tolist()) + self.offset


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """A linear program but for its matrix."""

    cost: Floats
    lower: Floats
    upper: Floats
    row_lower: Floats
    row_upper: Floats
    offset: float


def dual_objective(
    program: LinearProgram | Sides, duals: Floats, reduced: Floats, *, tolerance: float = 1e-6
) -> float | None:
    """Return the dual's value as an engine sees it, its tolerances granted, or None.

    `duals` [i] and `reduced` [j] are the engine's prices of the rows and reduced costs. This is
    no certificate: `safe_bound` makes one of the same prices.
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
    """Return how many products are so small that rounding them is no relative error."""
    both = (left != 0) & (right != 0)
    return int((np.abs(left[both] * right[both]) < _NORMAL).sum())


def safe_bound(program: LinearProgram, duals: ArrayLike) -> float:
    """Return a lower bound on the linear relaxation's optimum, valid for any dual prices.

    Parameters
    ----------
    program : LinearProgram
        `integer` plays no part: a bound on the relaxation holds for the program too.
    duals : array [i]
        Prices of the rows, as an engine returns them: positive where `row_lower` binds, negative
        where `row_upper` does. A price whose side is infinite, and one that is not finite, counts
        as 0; so any array is safe, and only good ones give a good bound.

    Returns
    -------
    float
        sum_i (y_i > 0 ? row_lower_i : row_upper_i) y_i + sum_j min(rc_j lower_j, rc_j upper_j)
        + offset with rc = cost - y A, less an allowance for every rounding on the way. -inf when
        a column with an infinite bound has a reduced cost of the wrong sign, be it by a rounding:
        give columns finite bounds where a certificate is wanted.

    Notes
    -----
    Weak duality. Prices below 1e-150 count as 0. Round-off of a sum of n products is at most n eps
    times the sum of the absolute products (Higham, Accuracy and Stability of Numerical Algorithms,
    section 3.1); we allow twice that. Where an infinite bound lets the sign of a reduced cost
    decide, it is taken exactly.
    """
    price = np.array(duals, dtype=np.float64)
    price[~np.isfinite(price) | (np.abs(price) < _SMALL)] = 0.0
    price[(price > 0) & np.isneginf(program.row_lower)] = 0.0
    price[(price < 0) & np.isposinf(program.row_upper)] = 0.0
    side = np.where(price > 0, program.row_lower, program.row_upper)
    if np.isinf(side[price != 0]).any():  # a row that demands the impossible, such as >= inf
        return -math.inf
    row_terms = price * np.where(price == 0, 0.0, side)

    transposed = program.matrix.T
    reduced = program.cost - transposed @ price
    magnitude = np.abs(program.cost) + abs(transposed) @ np.abs(price)
    nonzeros = np.bincount(program.matrix.indices, minlength=len(reduced))
    error = 2 * _EPS * (nonzeros + 2) * magnitude  # of each reduced cost
    if (np.abs(program.matrix.data) < _SMALL).any():
        error += nonzeros * _LEAST
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
        if exact and not reduced[j]:  # underflow: keep the sign, it decides
            reduced[j] = math.copysign(5e-324, exact)

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
