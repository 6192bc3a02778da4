"""What objective and bound say together."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedgap.analysis.results.bounds import contradict, derive_status, meet, on_grid, tighter


@pytest.mark.parametrize(
    ("objective", "bound", "met"),
    [
        (8.5, 8.5, True),
        (1e6, 1e6 - 1.0, True),  # 1e-6 of 1e6
        (1e6, 1e6 - 1.1, False),
        (0.0, 0.0, True),
        (1e-3, 1e-3 - 1e-8, False),  # 1e-5 relative, though small in absolute terms
        (-4.0, -4.000001, True),
    ],
)
def test_objective_and_bound_meet_within_1e_6_relative(
    objective: float, bound: float, met: bool
) -> None:
    assert meet(objective, bound) is met
    assert derive_status("exact", objective, bound) == ("optimal" if met else "feasible")


@pytest.mark.parametrize(
    ("objective", "bound", "grid", "met"),
    [
        (100_000_006.0, 100_000_001.0, 1.0, False),  # 5e-8 apart, and five steps
        (100_000_006.0, 100_000_005.6, 1.0, True),
        (1e6, 1e6 - 0.5, 1e-6, False),
        (1e6, 1e6 - 5e-4, 1e-6, True),  # round-off
        (3.0, 2.0, 7.0, False),  # a coarse grid makes nothing equal
    ],
)
def test_values_on_a_grid_meet_where_they_are_one_point_of_it(
    objective: float, bound: float, grid: float, met: bool
) -> None:
    assert meet(objective, bound, grid) is met
    assert (derive_status("exact", objective, bound, grid=grid) == "optimal") is met
    assert contradict(bound, objective, "min", grid) is not met
    assert contradict(objective, bound, "max", grid) is not met


def test_a_bound_past_the_schedule_contradicts_on_its_side_only() -> None:
    assert contradict(10.0, 10.1, "min") and not contradict(10.0, 9.9, "min")
    assert contradict(10.0, 9.9, "max") and not contradict(10.0, 10.1, "max")
    assert not contradict(10.0, 10.000009, "min")  # within 1e-6 relative


@pytest.mark.parametrize(
    ("bound", "grid", "sense", "expected"),
    [
        (7.2, 1.0, "min", 8.0),
        (7.0, 1.0, "min", 7.0),
        (7.0000000001, 1.0, "min", 7.0000000001),  # round-off: not the next grid point
        (7.2, 0.5, "min", 7.5),
        (7.8, 1.0, "max", 7.0),
        (-7.2, 1.0, "min", -7.0),
        (7.2, None, "min", 7.2),
    ],
)
def test_a_bound_is_moved_to_the_objectives_grid(
    bound: float, grid: float | None, sense: str, expected: float
) -> None:
    assert on_grid(bound, grid, sense) == expected


@given(
    steps=st.integers(-(10**6), 10**6),
    grid=st.sampled_from([1.0, 0.5, 0.1, 0.001, 7.0]),
    below=st.floats(0, 50),
)
def test_no_grid_point_is_cut_off(steps: int, grid: float, below: float) -> None:
    """Every value on the grid that a bound admits is still admitted after rounding."""
    optimum = steps * grid
    moved = on_grid(optimum - below, grid, "min")
    assert optimum - below <= moved + 1e-9 * max(1, abs(moved))
    assert not contradict(optimum, moved, "min")
    assert not contradict(-optimum, on_grid(-(optimum - below), grid, "max"), "max")


def test_the_stronger_bound_is_kept() -> None:
    assert tighter(3.0, 5.0, "min") == 5.0 and tighter(3.0, 5.0, "max") == 3.0
    assert tighter(None, 5.0, "min") == 5.0 and tighter(3.0, None, "max") == 3.0
    assert tighter(None, None, "min") is None


def test_the_status_is_what_the_numbers_earn() -> None:
    assert derive_status("exact", None, 4.0) == "unknown"
    assert derive_status("bound", None, 4.0) == "bound"
    assert derive_status("bound", None, None) == "unknown"
    assert derive_status("algorithm", 4.0, None) == "feasible"
    assert derive_status("exact", None, None, infeasible=True) == "infeasible"
    assert derive_status("exact", 5.0, -math.inf) == "feasible"
