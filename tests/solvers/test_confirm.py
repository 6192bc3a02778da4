"""A last word of a floating-point search counts once another search has said the same.

The two programs are ordinary ones on which the presolve of HiGHS 1.15.1 loses the optimum, each at
another tolerance. CP-SAT and enumeration find the optima.
"""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.models.search_state import SearchState, solve_program
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.children import meter
from schedgap.solvers.engines import highs_native
from schedgap.solvers.engines.confirm import confirm
from schedgap.solvers.programs.arrays import LinearProgram
from strategies.clocks import StopAt

WRONG = {"wrong_at_1e-6": (1e-6, -8.0), "wrong_at_1e-9": (1e-9, -159.13673232828762)}


def stored(name: str) -> LinearProgram:
    data = json.loads((Path(__file__).parent / "data" / f"{name}.json").read_text())
    rows, columns, values = zip(*data["entries"], strict=True)
    shape = len(data["row_lower"]), len(data["cost"])

    def side(key: str, missing: float) -> list[float]:
        return [missing if value is None else value for value in data[key]]

    return LinearProgram(
        data["cost"],
        side("lower", -math.inf),
        side("upper", math.inf),
        sparse.csr_array((values, (rows, columns)), shape=shape),
        side("row_lower", -math.inf),
        side("row_upper", math.inf),
        np.array(data["integer"], dtype=bool),
    )


def knapsack(sizes: list[int], room: int) -> LinearProgram:
    """Most of some sizes that fits: the optimum is -room where a subset sums up to it."""
    return LinearProgram(
        -np.array(sizes, dtype=float),
        np.zeros(len(sizes)),
        np.ones(len(sizes)),
        sparse.csr_array([sizes]),
        [-math.inf],
        [room],
        np.ones(len(sizes), dtype=bool),
    )


def nothing() -> LinearProgram:
    """No solution, which only a search finds out: 2x + 4y + 6z = 7 in integers."""
    return LinearProgram(
        np.ones(3), np.zeros(3), np.full(3, 9.0), sparse.csr_array([[2.0, 4.0, 6.0]]),
        [7.0], [7.0], np.ones(3, dtype=bool),
    )  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_highs_is_wrong_and_is_found_out(name: str) -> None:
    program, (tolerance, optimum) = stored(name), WRONG[name]
    options = {"mip_feasibility_tolerance": tolerance}
    first = solve(program, "highs", clock=Clock(60), options=options)
    assert first.status == "optimal" and first.objective is not None
    if first.objective < optimum + 0.5:  # on some processors HiGHS is right
        assert first.objective == pytest.approx(optimum)
        first = replace(first, objective=optimum + 1, bound=optimum + 1, values=None)
    result, said = confirm(program, "highs", first, clock=Clock(60), options=options)
    assert result.status == "optimal" and result.objective == pytest.approx(optimum)
    assert result.bound == pytest.approx(optimum) and "differently" in said


@pytest.mark.parametrize("name", WRONG)
def test_a_complete_search_is_believed_when_two_agree(name: str) -> None:
    optimum = WRONG[name][1]
    call = RunContext({}, "highs", Budget(Clock(60)), NullProgress())
    found = SearchState(call, lambda schedule: schedule)
    program = stored(name)
    found.solve(program, lambda values: program.objective(values))
    assert found.upper == pytest.approx(optimum) and found.closed
    assert "the same" in found.trace["asked_again"]


def test_an_infeasible_program_is_asked_about_twice() -> None:
    first = solve(nothing(), "highs", clock=Clock(20))
    assert first.status == "infeasible"
    assert confirm(nothing(), "highs", first, clock=Clock(20))[0].status == "infeasible"
    untold = EngineResult("infeasible", None, None)  # one run only
    result, said = confirm(nothing(), "highs", untold, clock=Clock(20))
    assert (result.status, said) == ("infeasible", "the same without presolve")


@pytest.mark.parametrize(
    ("program", "runs", "status"),
    [(knapsack([3, 5, 7], 9), 1, "optimal"), (nothing(), 2, "infeasible")],
)
def test_only_an_infeasible_program_is_searched_twice_by_highs(
    program: LinearProgram, runs: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[int]()

    def counted() -> Any:
        made.append(1)
        return meter.engine()

    monkeypatch.setattr(highs_native, "meter", SimpleNamespace(engine=counted))
    assert solve(program, "highs", clock=Clock(20)).status == status
    assert len(made) == runs


def test_a_false_infeasible_is_not_believed() -> None:
    program = knapsack([3, 5, 7, 11], 15)
    result, said = confirm(
        program, "highs", EngineResult("infeasible", None, None), clock=Clock(20)
    )
    assert result.status == "optimal" and result.objective == -15
    assert "differently" in said and "before: infeasible" in said
    ends = set()
    for k in range(1, 40):  # if two answers differ, the solution is kept
        result, _ = confirm(
            program, "highs", EngineResult("infeasible", None, None), clock=StopAt(k)
        )
        assert result.objective == (None if result.status == "unknown" else -15)
        ends.add(result.status)
    assert ends == {"unknown", "feasible", "optimal"}


def test_a_false_optimum_that_nothing_confirms_has_no_bound() -> None:
    """Two answers that differ, and no time for a third."""
    program = knapsack([3, 5, 7, 11], 15)
    wrong = EngineResult("optimal", -14.0, -14.0, values=np.array([1.0, 0, 0, 1.0]))
    for k in range(1, 40):
        result, said = confirm(program, "highs", wrong, clock=StopAt(k))
        if result.status == "optimal":
            assert result.objective == -15 and "differently" in said
            break
        assert result.status == "feasible" and result.bound is None
    else:
        pytest.fail("no stop was late enough")


class Heard:
    """What a bracket hears, and nothing that would support an engine's word."""

    def __init__(self, lower: float = -math.inf) -> None:
        self.lower, self.bounds, self.schedules = lower, list[tuple[float, bool]](), list[Any]()

    def incumbent(self, schedule: Any, objective: float | None = None) -> None:
        self.schedules.append(schedule)

    def bound(self, value: float, certificate: object = None, *, confirmed: bool = True) -> None:
        self.bounds.append((value, confirmed))


def test_no_stop_makes_a_word_of_one_engine_a_proof() -> None:
    """Whatever is said before the second answer is said as unconfirmed."""
    program, optimum = stored("wrong_at_1e-6"), WRONG["wrong_at_1e-6"][1]
    ends = set()
    for k in [*range(1, 20), *range(20, 60, 4), 10**6]:
        heard = Heard()
        _, report = solve_program(
            heard, program, "highs", budget=Budget(StopAt(k)), read=program.objective,
            options={"mip_feasibility_tolerance": 1e-6},
        )  # fmt: skip
        assert all(value <= optimum + 1e-6 for value, confirmed in heard.bounds if confirmed)
        assert all(value >= optimum - 1e-6 for value in heard.schedules)
        ends.add(report.complete)
    assert ends == {False, True}


def test_a_bound_that_is_proved_needs_no_second_answer() -> None:
    program = knapsack([3, 5, 7, 11], 15)
    heard = Heard(lower=-15.0)
    _, report = solve_program(
        heard, program, "highs", budget=Budget(Clock(20)), read=program.objective
    )
    assert report.complete and "asked_again" not in report.trace


def test_an_unconfirmed_bound_closes_nothing() -> None:
    call = RunContext({}, "highs", Budget(Clock(60)), NullProgress())
    found = SearchState(call, lambda schedule: schedule)
    found.bound(3.0, {"kind": "proved"})
    found.bound(5.0, confirmed=False)
    assert (found.lower, found.reported) == (3, 5)
    assert found.outcome().bound == 5 and found.outcome().certificate is None
    found.incumbent(5.0)
    assert not found.closed
    outcome = found.outcome()
    assert (outcome.bound, outcome.certificate) == (3, {"kind": "proved"})
    assert "engine's bound of 5" in outcome.trace["unconfirmed"]
    found.bound(5.0, confirmed=False)  # it would close, so it is not even kept
    found.bound(4.0, confirmed=False)
    assert found.reported == 5
    found.bound(5.0)
    assert found.closed and found.outcome().certificate is None


def test_the_first_certificate_of_a_bound_is_kept() -> None:
    call = RunContext({}, "highs", Budget(Clock(60)), NullProgress())
    found = SearchState(call, lambda schedule: schedule)
    found.bound(3.0)
    found.bound(3.0, {"kind": "late"})
    found.bound(3.0, {"kind": "later"})
    found.bound(2.0, {"kind": "weak"})
    assert found.outcome().certificate == {"kind": "late"}
    found.bound(4.0)
    assert found.outcome().certificate is None
