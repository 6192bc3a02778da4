"""The status of a stopped search follows from its incumbent and its bound."""

import math

import pytest

from schedgap.solvers.engines.results import TOLERANCE, derive_status

NEAR = 10 * TOLERANCE  # the tolerance at an objective of 10


@pytest.mark.parametrize(
    ("objective", "bound", "terms", "status", "proved"),
    [
        (None, None, {}, "unknown", None),
        (None, 3.0, {}, "unknown", 3.0),
        (math.nan, math.inf, {}, "unknown", None),
        (1e20, 3.0, {}, "unknown", 3.0),
        (10.0, None, {}, "feasible", None),
        (10.0, -1e20, {}, "feasible", None),
        (10.0, 9.0, {}, "feasible", 9.0),
        (10.0, 10.0, {}, "optimal", 10.0),
        (10.0, 10 - 0.9 * NEAR, {}, "optimal", 10 - 0.9 * NEAR),  # no stronger than reported
        (10.0, 10 - 1.1 * NEAR, {}, "feasible", 10 - 1.1 * NEAR),
        (10.0, 10 + 0.9 * NEAR, {}, "optimal", 10.0),  # never past the incumbent
        (0.0, -0.9 * TOLERANCE, {}, "optimal", -0.9 * TOLERANCE),
        (10.0, 11.0, {"sense": "max"}, "feasible", 11.0),
        (10.0, 10 + 0.9 * NEAR, {"sense": "max"}, "optimal", 10 + 0.9 * NEAR),
        (10.0, 10 - 0.9 * NEAR, {"sense": "max"}, "optimal", 10.0),
        (10.0, 8.1, {"grid": 2.0}, "optimal", 10.0),
        (10.0, 8.0005, {"grid": 2.0}, "feasible", 8.0),  # round-off
        (10.0, 11.9, {"grid": 2.0, "sense": "max"}, "optimal", 10.0),
    ],
)
def test_status_and_bound(objective, bound, terms, status, proved) -> None:
    found = derive_status(objective, bound, **terms)
    assert (found.status, found.bound, dict(found.info)) == (status, proved, {})
    assert found.objective == (objective if objective == 10.0 or objective == 0.0 else None)


@pytest.mark.parametrize(("sense", "sign"), [("min", 1), ("max", -1)])
def test_a_bound_past_the_incumbent_is_dropped_and_told(sense, sign) -> None:
    found = derive_status(10.0, 10 + sign * 1.1 * NEAR, sense=sense)
    assert (found.status, found.objective, found.bound) == ("feasible", 10.0, None)
    assert "is past the incumbent 10.0" in found.info["contradiction"]
