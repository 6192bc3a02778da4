"""Shapes: superadditive, valid for all that fits on a server, and facets where they are known."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from schedgap.models.edge.bounds.separation import ShapeFinder
from schedgap.models.edge.programs.superadditive_cuts import (
    Held,
    is_superadditive,
    shape_rows,
    worth,
)
from schedgap.solvers import Clock


def fitting(W: int) -> list[tuple[int, ...]]:
    """Return all multisets of numbers of workers that fit on a server with W workers."""
    some = [
        m for size in range(W + 1) for m in combinations_with_replacement(range(1, W + 1), size)
    ]
    return [multiset for multiset in some if sum(multiset) <= W]


def find(W: int, point: dict[int, float]) -> tuple[int, ...] | None:
    return ShapeFinder().find(np.array([point.get(n, 0.0) for n in range(1, W + 1)]), Clock(60))


@pytest.mark.parametrize(
    ("W", "point", "shape"),
    [
        # Four thirds of a job with three workers on a server of four: one at most.
        (4, {3: 4 / 3}, (0, 1, 2, 2)),
        # Half a job of three, and one and a quarter of two: f = 1 + 1.25 > 2.
        (4, {2: 1.25, 3: 0.5}, (0, 1, 2, 2)),
        # 8/5 of a job with five workers on a server of eight; one of four leaves no room for it.
        (8, {5: 0.6, 4: 1.25}, (0, 0, 0, 1, 2, 2, 2, 2)),
    ],
)
def test_known_points_are_cut(W: int, point: dict[int, float], shape: tuple[int, ...]) -> None:
    assert find(W, point) == shape


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 7), st.lists(st.floats(0, 2), min_size=7, max_size=7))
def test_a_shape_is_valid_and_there_is_one_whenever_needed(W: int, amounts: list[float]) -> None:
    """Nothing that fits breaks it; a point without one is, nearly, a mixture of what fits."""
    point = np.array(amounts[:W])
    shape = ShapeFinder().find(point, Clock(60))
    sets = np.array([[multiset.count(n) for n in range(1, W + 1)] for multiset in fitting(W)])
    if shape is not None:
        assert is_superadditive(shape) and len(shape) == W
        assert (sets @ np.array(shape)).max() == shape[-1] < np.dot(shape, point)
        return
    # Least factor on shares that add up to the point or more.
    result = linprog(np.ones(len(sets)), A_ub=-sets.T, b_ub=-point)
    assert result.fun <= 1 + 2e-4


def test_a_mixture_of_what_fits_is_not_cut() -> None:
    """Half of {2, 2} and half of {1, 3} on a server of four."""
    assert find(4, {1: 0.5, 2: 1.0, 3: 0.5}) is None


def test_what_is_not_superadditive_is_told() -> None:
    assert is_superadditive((0, 1, 2, 2))
    assert not is_superadditive((1, 1))  # f(1) + f(1) > f(2)
    assert worth((0, 1, 2, 2), 3) == 2 and worth((0, 1), 3) == 0


def test_rows_count_what_runs_in_a_slot() -> None:
    """Columns 5 and 7: three workers in slots 0-1, two in slots 1-2, on server 0 of four."""
    one, two = np.array([1, 1]), np.array([0, 0])
    held = Held(np.array([5, 7]), np.array([3, 2]), two, two, np.array([0, 1]), 2 * one)
    wanted = np.ones((1, 1, 3), dtype=bool)
    rows = shape_rows(held, (0, 1, 2, 2), np.array([[4]]), wanted)
    assert rows.cells[:, 2].tolist() == [0, 1, 2] and rows.room.tolist() == [2, 2, 2]
    entries = sorted(zip(rows.row.tolist(), rows.column.tolist(), rows.entry.tolist(), strict=True))
    assert entries == [(0, 5, 2), (1, 5, 2), (1, 7, 1), (2, 7, 1)]
