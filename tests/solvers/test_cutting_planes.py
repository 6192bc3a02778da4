"""Cutting planes on the unit disc, whose tangents are too many to write down."""

import math
from dataclasses import replace

import numpy as np
import pytest

from schedgap.solvers import Clock
from schedgap.solvers.engines.results import EngineResult
from schedgap.solvers.engines.solve import solve
from schedgap.solvers.loops.cutting_planes import Rows, cutting_planes
from schedgap.solvers.programs.arrays import LinearProgram, safe_bound


def _disc(radius: float, integer: bool) -> LinearProgram:
    """Minimise -x - 2 y on a square; the disc comes by its tangents."""
    side = [radius, radius]
    whole = np.array([integer, integer])
    return LinearProgram([-1, -2], [-side[0], -side[1]], side, np.zeros((0, 2)), [], [], whole)


def _tangent(radius: float):  # type: ignore[no-untyped-def]
    def separate(point):  # type: ignore[no-untyped-def]
        length = math.hypot(*point)
        if length <= radius + 1e-6:
            return None
        return Rows([-math.inf], [radius], [point / length])

    return separate


def test_the_loop_closes_on_the_disc_and_its_duals_certify_it() -> None:
    # min -x - 2 y on the unit disc is -|(1, 2)| = -sqrt 5.
    bounds: list[float] = []
    result = cutting_planes(_disc(1, False), _tangent(1), clock=Clock(20), on_bound=bounds.append)
    assert result.end == "closed" and result.last is not None
    assert result.bound == pytest.approx(-math.sqrt(5), abs=1e-6)
    assert bounds == sorted(bounds) and len(bounds) > 3
    assert safe_bound(result.program, result.last.duals) == pytest.approx(-math.sqrt(5), abs=1e-6)


def test_integers_are_kept_in_every_round() -> None:
    # Radius 2.5: x^2 + y^2 <= 6.25. (1, 2) gives -5; (0, 2) -4; (2, 1) -4. No point gives -6.
    result = cutting_planes(_disc(2.5, True), _tangent(2.5), clock=Clock(20))
    assert result.end == "closed" and result.last is not None
    assert result.last.values.tolist() == [1, 2] and result.bound == -5


def test_a_loop_that_is_stopped_has_a_valid_bound() -> None:
    result = cutting_planes(_disc(1, False), _tangent(1), clock=Clock(20), rounds=2)
    assert result.end == "stopped" and result.rounds == 2
    assert result.bound is not None and -3 <= result.bound <= -math.sqrt(5)
    assert cutting_planes(_disc(1, False), _tangent(1), clock=Clock(0)).bound is None


def test_a_point_that_is_not_proved_optimal_closes_nothing() -> None:
    """A solver that ends early may hand on a point that breaks no row; its bound is all it says."""

    def early(program: LinearProgram) -> EngineResult:
        return replace(solve(program, "highs", clock=Clock(20)), status="feasible", bound=-8.0)

    result = cutting_planes(_disc(2.5, True), _tangent(2.5), clock=Clock(20), solve=early)
    assert result.end == "stopped" and result.bound == -8 and result.rounds > 1


def test_rows_that_leave_nothing_prove_it() -> None:
    result = cutting_planes(
        _disc(1, False), lambda point: Rows([5], [math.inf], [[1, 1]]), clock=Clock(20)
    )
    assert result.end == "infeasible"
