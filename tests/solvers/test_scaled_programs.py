"""Programs as arrays for CP-SAT: numbers scaled exactly to integers, or refused in one line."""

import math
from typing import Any

import numpy as np
import pytest

from schedgap.errors import UsageError
from schedgap.solvers import EngineResult, LinearProgram
from schedgap.solvers.children.processes import run_child

INF = math.inf


def _solved(*parts: Any, offset: float = 0.0) -> EngineResult:
    program = LinearProgram(*parts, offset=offset)
    reply = run_child("engine_tasks:solve_program", program, engine="cp-sat")
    result: EngineResult = reply.result()
    return result


def test_decimals_are_the_numbers_as_written() -> None:
    # 0.1 x + 0.2 y >= 0.3 holds exactly at (1, 1), although 0.1 + 0.2 > 0.3 in doubles.
    whole = [True, True]
    result = _solved([0.25, 0.1], [0, 0], [3, 3], [[0.1, 0.2]], [0.3], [0.3], whole, offset=0.5)
    assert result.status == "optimal" and result.values.tolist() == [1, 1]
    assert result.objective == pytest.approx(0.85) == result.bound
    above = _solved([1, 1], [0, 0], [3, 3], [[0.1, 0.2]], [0.3], [INF], whole)
    assert above.objective == 2


def test_sides_are_rounded_inward_except_for_round_off() -> None:
    # 2 x <= 5.9999999999 is 2 x <= 6 up to round-off; 2 x <= 5.99 is 2 x <= 5.
    near = _solved([-1], [0], [9], [[2]], [-INF], [6 - 1e-10], [True])
    assert near.objective == -3
    assert _solved([-1], [0], [9], [[2]], [-INF], [5.99], [True]).objective == -2
    assert _solved([1], [-9], [9], [[2]], [-5.99], [INF], [True]).objective == -2
    huge = _solved([1], [2], [9], [[2]], [-1e19], [1e19], [True])
    assert huge.objective == 2


@pytest.mark.parametrize(
    ("cost", "entry", "upper", "integer", "said"),
    [
        (1, 1 / 3, 9, True, "row 0 cannot be scaled"),
        (math.pi, 1, 9, True, "the objective cannot be scaled"),
        (1, 2.0**50, 9, True, "row 0 cannot be scaled"),
        (1, 1, INF, True, r"column 1 \(b\) is unbounded"),
        (1, 1, 9, False, r"column 1 \(b\) is continuous"),
    ],
)
def test_what_cannot_be_scaled_is_refused_in_one_line(
    cost: float, entry: float, upper: float, integer: bool, said: str
) -> None:
    program = LinearProgram(
        np.array([0.0, cost]),
        np.zeros(2),
        np.array([1.0, upper]),
        [[0, entry]],
        np.array([-INF]),
        np.array([4.0]),
        np.array([True, integer]),
        column_names=["a", "b"],
    )
    reply = run_child("engine_tasks:solve_program", program, engine="cp-sat")
    assert isinstance(reply.error, UsageError) and "\n" not in str(reply.error)
    with pytest.raises(UsageError, match=said):
        raise reply.error
