"""What an engine of another package returns is checked, and its time is measured."""

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from schedgap.errors import ContradictionError
from schedgap.solvers import Clock, Engine, EngineResult, LinearProgram
from schedgap.solvers.engines.solve import solve_arrays

PROGRAM = LinearProgram([1, 1], [0, 0], [3, 3], [[1, 1]], [2], [9], [True, True])
RIGHT = EngineResult("feasible", 2.0, None, values=[1.0, 1.0])


def answer(result: Any, wait: float = 0.0) -> EngineResult:
    def solve(program: LinearProgram, request: Any) -> Any:
        time.sleep(wait)
        return result

    takes = ("mixed-integer",)
    engine = Engine("odd", "Odd", package="odd", module="json", takes=takes, solve=solve)
    return solve_arrays(PROGRAM, engine, clock=Clock(60))


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedgap.solvers.engines.solve.require_loadable", lambda name: None)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("optimal", "returned str"),
        (replace(RIGHT, status="OPTIMAL!"), "the status 'OPTIMAL!'"),  # type: ignore[arg-type]
        (replace(RIGHT, objective=math.nan), "the objective nan"),
        (replace(RIGHT, bound=-math.inf), "the bound -inf"),
        (replace(RIGHT, bound=10**400), "the bound 1000"),
        (replace(RIGHT, values=[1.0]), "1 values for 2 columns"),
        (replace(RIGHT, values=[1.0, math.nan]), "no numbers"),
    ],
)
def test_what_is_no_answer_is_named(result: Any, said: str) -> None:
    with pytest.raises(ContradictionError, match=said):
        answer(result)


def test_an_engine_cannot_state_its_own_time() -> None:
    for told in (0.0, -5.0, math.nan, 1e9):
        found = answer(replace(RIGHT, seconds=told, engine_cpu_seconds=told), wait=0.05)
        assert 0.05 <= found.seconds < 60 and found.build_seconds == 0
        assert math.isfinite(found.engine_cpu_seconds)


def test_numbers_of_other_kinds_become_floats() -> None:
    told = replace(RIGHT, objective=np.float32(2), bound=Fraction(1, 2))  # type: ignore[arg-type]
    found = answer(replace(told, statistics={"nodes": np.int64(3)}))
    numbers = found.objective, found.bound, found.statistics["nodes"]
    assert numbers == (2.0, 0.5, 3.0) and {type(each) for each in numbers} == {float}


def test_statistics_are_numbers_and_words_are_text() -> None:
    odd = {"nodes": object(), "iterations": math.inf, "cuts": 3, "unknown": 1}
    found = answer(replace(RIGHT, statistics=odd, log="\ud800"))  # type: ignore[arg-type]
    assert found.statistics["cuts"] == 3 and found.statistics["nodes"] is None
    assert found.statistics["iterations"] is None and "unknown" not in found.statistics
    assert found.log == "?"
