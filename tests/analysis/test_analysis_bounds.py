"""What objective and bound say together."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedgap.analysis.results.bounds import MAX_STEPS, Scale, derive_status, tighter

FREE = Scale("min")


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
    assert FREE.meets(objective, bound) is met
    assert derive_status("exact", objective, bound, FREE) == ("optimal" if met else "feasible")


@pytest.mark.parametrize(
    ("objective", "bound", "grid", "met"),
    [
        (100_000_006.0, 100_000_001.0, 1.0, False),  # 5e-8 apart, and five steps
        (100_000_006.0, 100_000_005.6, 1.0, True),
        (1e6, 1e6 - 0.5, 1e-6, False),
        (1e6, 1e6 - 5e-4, 1e-6, False),  # 5e-10 relative, and 500 steps
        (1e6, 1e6 - 5e-10, 1e-6, True),  # round-off
        (3.0, 2.0, 7.0, False),  # a coarse grid makes nothing equal
    ],
)
def test_values_on_a_grid_meet_where_they_are_one_point_of_it(
    objective: float, bound: float, grid: float, met: bool
) -> None:
    scale = Scale("min", grid)
    assert scale.meets(objective, bound) is met
    assert (derive_status("exact", objective, bound, scale) == "optimal") is met
    if not met:
        assert Scale("max", grid).refutes(objective, bound) == (grid < 7.0)


MAGNITUDES = (1, 10**6, 10**9, 3 * 10**9, 10**15)  # in steps
GRIDS = (1.0, 0.5, 0.1, 0.001, 7.0, 0.25)


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("steps", MAGNITUDES)
def test_one_step_beside_the_truth_is_not_the_truth(steps: int, grid: float, sense: Any) -> None:
    """At every magnitude, each comparison tells neighbouring grid points apart."""
    scale, sign = Scale(sense, grid), 1 if sense == "min" else -1
    optimum = steps * grid
    worse, better = (steps + sign) * grid, (steps - sign) * grid
    assert scale.compare(optimum, optimum) == "met"
    assert scale.compare(worse, optimum) == "open"  # a schedule one step too bad is not optimal
    assert scale.compare(optimum, better) == "open"  # a bound one step too weak is not enough
    assert scale.compare(better, optimum) == "refuted"
    assert scale.exceeds(better, optimum) and not scale.exceeds(optimum, optimum)
    assert scale.implies(optimum, optimum) and scale.implies(optimum, better)
    assert not scale.implies(optimum, worse)  # a claim one step beyond what was evaluated
    assert scale.same(optimum, optimum) and not scale.same(optimum, worse)
    assert scale.width(optimum, optimum) == 0.0
    found = scale.next_better(optimum)
    assert found is not None and scale.same(found, better)
    assert scale.same(scale.on_grid(optimum), optimum)
    assert derive_status("exact", worse, optimum, scale) == "feasible"


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("value", [1.0, 1e6, 1e9, 3e9, 1e15])
def test_without_a_grid_a_claim_has_no_tolerance_but_round_off(value: float, sense: Any) -> None:
    scale, sign = Scale(sense), 1 if sense == "min" else -1
    beside = value * (1 + sign * 2e-9)  # stronger, as a bound
    assert not scale.implies(value, beside) and scale.implies(beside, value)
    assert scale.exceeds(value, beside) and not scale.exceeds(beside, value)
    assert not scale.same(value, beside) and scale.same(value, value * (1 + 1e-12))
    assert scale.compare(value, beside) == "met"  # 1e-6 between schedule and bound
    assert scale.compare(value, value * (1 - sign * 5e-7)) == "met"
    assert scale.width(value, value * (1 - sign * 5e-7)) == pytest.approx(5e-7)
    assert scale.width(value, beside) == 0.0  # nothing better is left open
    assert scale.compare(value, value * (1 - sign * 2e-6)) == "open"
    assert scale.compare(value, value * (1 + sign * 2e-6)) == "refuted"


def test_a_schedule_off_the_grid_is_not_optimal() -> None:
    """A job that waits for 0.4 steps; the optimum has whole steps."""
    scale = Scale("min", 1.0)
    assert scale.compare(1_000_000_002.4, 1_000_000_002.0) == "open"
    assert scale.compare(1_000_000_002.4, 1_000_000_002.4) == "open"  # the bound permits ...003
    assert scale.compare(10.4, 11.0) == "refuted" and scale.compare(10.6, 11.0) == "open"
    assert scale.next_better(10.4) == 10.0


def test_a_claim_gets_no_part_of_a_step() -> None:
    """What was evaluated may be rounded up by a slack; what a file claims may not."""
    scale = Scale("min", 1.0)
    assert not scale.implies(3_600_000_000.0, 3_600_000_000.9)
    assert scale.demanded(3_600_000_000.9) == 3_600_000_001.0
    assert scale.demanded(29.00000000000003) == 29.0
    assert scale.compare(1.0000009, 1.0) == "open"
    assert Scale("max", 1.0).demanded(22.6) == 22.0
    assert Scale("min").demanded(22.6) == 22.6
    assert not Scale("max").same(9e-16, 3e-17) and Scale("max").exceeds(3e-17, 0.0)


def test_beyond_2_to_the_53_steps_nothing_is_optimal() -> None:
    value = 2 * MAX_STEPS
    scale = Scale("min", 1.0)
    assert scale.compare(value, value) == "open"
    assert scale.compare(value, value * (1 + 1e-6)) == "refuted"
    assert scale.on_grid(value + 0.5) == value + 0.5 and scale.next_better(value) is None
    assert scale.implies(value, value) and not scale.implies(value, value * (1 + 1e-15))
    assert scale.same(value, value) and not scale.same(value, value * (1 + 1e-15))


def test_a_bound_past_the_schedule_contradicts_on_its_side_only() -> None:
    least, largest = Scale("min"), Scale("max")
    assert least.refutes(10.0, 10.1) and not least.refutes(10.0, 9.9)
    assert largest.refutes(10.0, 9.9) and not largest.refutes(10.0, 10.1)
    assert not least.refutes(10.0, 10.000009)  # within 1e-6 relative
    assert least.refutes(10.0, math.inf) and not least.refutes(10.0, -math.inf)


@pytest.mark.parametrize(
    ("bound", "grid", "sense", "expected"),
    [
        (7.2, 1.0, "min", 8.0),
        (7.0, 1.0, "min", 7.0),
        (7.0000000001, 1.0, "min", 7.0),  # round-off: not the next grid point
        (7.2, 0.5, "min", 7.5),
        (7.8, 1.0, "max", 7.0),
        (-7.2, 1.0, "min", -7.0),
        (7.2, None, "min", 7.2),
        (1234.5675, 0.001, "min", 1234.568),
        (0.25, 0.1, "min", 0.3),  # three tenths, not three times the double 0.1
        (0.69, 0.1, "min", 0.7),
    ],
)
def test_a_bound_is_moved_to_the_objectives_grid(
    bound: float, grid: float | None, sense: Any, expected: float
) -> None:
    assert Scale(sense, grid).on_grid(bound) == expected


@given(
    steps=st.one_of(
        st.integers(-(10**6), 10**6), st.integers(-(10**15), 10**15), st.integers(0, 4 * 10**9)
    ),
    grid=st.sampled_from(GRIDS),
    below=st.floats(0, 50),
)
def test_no_grid_point_is_cut_off(steps: int, grid: float, below: float) -> None:
    """Every value on the grid that a bound admits is still admitted after rounding."""
    optimum = steps * grid
    moved = Scale("min", grid).on_grid(optimum - below)
    assert optimum - below <= moved + 1e-9 * max(1, abs(moved))
    assert not Scale("min", grid).refutes(optimum, moved)
    assert not Scale("max", grid).refutes(-optimum, Scale("max", grid).on_grid(below - optimum))


def test_the_stronger_bound_is_kept() -> None:
    assert tighter(3.0, 5.0, "min") == 5.0 and tighter(3.0, 5.0, "max") == 3.0
    assert tighter(None, 5.0, "min") == 5.0 and tighter(3.0, None, "max") == 3.0
    assert tighter(None, None, "min") is None


def test_the_status_is_what_the_numbers_earn() -> None:
    assert derive_status("exact", None, 4.0, FREE) == "unknown"
    assert derive_status("bound", None, 4.0, FREE) == "bound"
    assert derive_status("bound", None, None, FREE) == "unknown"
    assert derive_status("algorithm", 4.0, None, FREE) == "feasible"
    assert derive_status("exact", None, None, FREE, infeasible=True) == "infeasible"
    assert derive_status("exact", 5.0, -math.inf, FREE) == "feasible"
