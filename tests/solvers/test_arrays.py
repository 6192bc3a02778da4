"""Tests of `schedgap.solvers.programs.arrays`."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from schedgap.solvers.programs.arrays import LinearProgram, safe_bound

INF = math.inf


def test_the_bound_of_optimal_prices_is_the_optimum() -> None:
    # min x + 2 y, x + y >= 2, x + 3 y >= 3: prices 1/2 and 1/2 give 2/2 + 3/2 = 2.5 = (3/2, 1/2).
    program = LinearProgram([1, 2], [0, 0], [INF, INF], [[1, 1], [1, 3]], [2, 3], [INF, INF])
    assert safe_bound(program, [0.5, 0.5]) == pytest.approx(2.5, abs=1e-12)
    assert safe_bound(program, [0.5, 0.5]) <= 2.5


def test_a_price_without_a_side_counts_as_zero() -> None:
    # x >= 1 as a row, price -3 would speak for the side x <= infinity.
    program = LinearProgram([2], [0], [5], [[1]], [1], [INF], offset=7)
    assert safe_bound(program, [-3]) == pytest.approx(7)  # all prices 0: x = 0 costs 0
    assert safe_bound(program, [math.nan]) == pytest.approx(7)
    assert safe_bound(program, [2]) == pytest.approx(9)


def test_an_open_column_of_the_wrong_sign_bounds_nothing() -> None:
    program = LinearProgram([1], [0], [INF], [[1]], [1], [INF])
    assert safe_bound(program, [1]) == pytest.approx(1)
    assert safe_bound(program, [1.0000000001]) == -INF
    free = LinearProgram([1], [-INF], [INF], [[1]], [1], [INF])
    assert safe_bound(free, [0.5]) == -INF
    assert safe_bound(free, [1]) == pytest.approx(1)


def test_the_sign_of_a_reduced_cost_is_exact() -> None:
    # 0.3 - 3 * 0.1 is below zero in exact binary numbers, and above it in floating point or not:
    # only the exact sign may decide, as the column is unbounded above.
    program = LinearProgram([0.3], [0], [INF], [[3.0]], [1], [INF])
    exact = Fraction(0.3) - 3 * Fraction(0.1)
    assert exact < 0
    assert safe_bound(program, [0.1]) == -INF


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="upper has length 1, the matrix needs 2"):
        LinearProgram([1, 2], [0, 0], [1], [[1, 1]], [0], [1])
    with pytest.raises(ValueError, match="NaN"):
        LinearProgram([1, math.nan], [0, 0], [1, 1], [[1, 1]], [0], [1])


def test_repeated_entries_are_summed_once() -> None:
    from scipy import sparse

    matrix = sparse.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), (1, 1))
    program = LinearProgram([1], [0], [INF], matrix, [3], [INF])
    assert program.matrix.toarray().tolist() == [[3.0]]
    assert safe_bound(program, [1 / 3]) == pytest.approx(1)


@st.composite
def _boxed(draw: st.DrawFn) -> tuple[LinearProgram, list[float]]:
    """A feasible program with finite bounds, awkward numbers, and any prices."""
    number = st.floats(-100, 100, allow_subnormal=False).map(lambda v: round(v, 7))
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    inside = draw(st.lists(st.integers(0, 3), min_size=columns, max_size=columns))
    matrix = np.array(
        [draw(st.lists(number, min_size=columns, max_size=columns)) for _ in range(rows)]
    )
    middle = matrix @ np.array(inside, dtype=float)
    low = [m - draw(st.floats(0, 5)) if draw(st.booleans()) else -INF for m in middle]
    high = [m + draw(st.floats(0, 5)) if draw(st.booleans()) else INF for m in middle]
    cost = draw(st.lists(number, min_size=columns, max_size=columns))
    program = LinearProgram(cost, [0] * columns, [3] * columns, matrix, low, high)
    return program, draw(st.lists(st.floats(-50, 50), min_size=rows, max_size=rows))


@given(_boxed())
@settings(max_examples=35, deadline=None)
def test_no_prices_lift_the_bound_above_the_optimum(
    case: tuple[LinearProgram, list[float]],
) -> None:
    program, prices = case
    low, high = program.row_lower, program.row_upper
    matrix = program.matrix.toarray()
    result = linprog(
        program.cost,
        A_ub=np.vstack([matrix[high < INF], -matrix[low > -INF]]),
        b_ub=np.concatenate([high[high < INF], -low[low > -INF]]),
        bounds=[(0, 3)] * len(program.cost),
    )
    assert result.status == 0
    assert safe_bound(program, prices) <= result.fun + 1e-6 * max(1, abs(result.fun))


def test_a_product_below_all_doubles_is_not_rounded_to_nothing() -> None:
    """-0.5 times the least double is less than 0, which is what it rounds to."""
    program = LinearProgram([0.0], [0.0], [3.0], np.zeros((1, 1)), [-INF], [5e-324])
    assert safe_bound(program, [-0.5]) < 0
    program = LinearProgram([0.0], [0.0], [3.0], np.zeros((1, 1)), [-INF], [1.0])
    assert safe_bound(program, [-1e-200]) == 0


@given(_boxed())
@settings(max_examples=70, deadline=None)
def test_the_bound_is_below_its_exact_value_and_close_to_it(
    case: tuple[LinearProgram, list[float]],
) -> None:
    program, prices = case
    matrix = program.matrix.toarray()
    exact, size = Fraction(program.offset), Fraction(1)
    kept = []
    for price, low, high in zip(prices, program.row_lower, program.row_upper, strict=True):
        side = low if price > 0 else high
        nothing = math.isinf(side) or abs(price) < 1e-150
        kept.append(Fraction(0) if nothing else Fraction(price))
        if kept[-1]:
            exact += kept[-1] * Fraction(side)
            size += abs(kept[-1] * Fraction(side))
    for j, cost in enumerate(program.cost):
        parts = [y * Fraction(a) for y, a in zip(kept, matrix[:, j], strict=True)]
        reduced = Fraction(cost) - sum(parts)
        exact += min(reduced * Fraction(program.lower[j]), reduced * Fraction(program.upper[j]))
        size += 3 * (abs(Fraction(cost)) + sum(map(abs, parts)))
    bound = safe_bound(program, prices)
    assert bound <= exact
    assert exact - Fraction(bound) <= size * Fraction(1, 10**13)
