"""Ratio arithmetic, on numbers made by hand."""

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_family import toy

import schedgap as sg
from schedgap.analysis.records.outcomes import Tasks
from schedgap.analysis.records.ratios import (
    Bracket,
    as_array,
    divide,
    ratio_interval,
    ratios,
)
from schedgap.analysis.results.bounds import Scale
from schedgap.errors import UsageError


@pytest.mark.parametrize(
    ("value", "best", "bound", "sense", "low", "high"),
    [
        (12, 10, 10, "min", 1.2, 1.2),  # proved: exact
        (12, 10, 8, "min", 1.2, 1.5),  # optimum in [8, 10]
        (12, 10, None, "min", 1.2, math.inf),
        (10, 10, 8, "min", 1.0, 1.25),
        (5, 8, 10, "max", 1.6, 2.0),  # optimum in [8, 10]
        (5, 8, 8, "max", 1.6, 1.6),
        (0, 0, 0, "min", 1.0, 1.0),  # 0 / 0
        (0, 8, 10, "max", math.inf, math.inf),  # nothing of something
        (3, 3, 0, "min", 1.0, math.inf),  # a bound of 0 says nothing
        (12, 10, 11, "min", 1.2, math.inf),  # a bound past a schedule counts for nothing
        (1.2, 1.0, 1 - 5e-7, "min", 1.2, 1.2),  # bound and schedule meet within 1e-6
    ],
)
def test_the_ratio_is_an_interval_until_the_optimum_is_known(
    value: float, best: float, bound: float | None, sense: Any, low: float, high: float
) -> None:
    found = ratio_interval(value, best, bound, Scale(sense))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.exact == (low == high)


NUMBERS = st.one_of(
    st.sampled_from([0.0, 1.0, 1 + 5e-7, 1 - 5e-7, 2.0, -1.0, 1e-16, 3e9, 3e9 + 1, 1e15, 1e15 + 1]),
    st.floats(-3, 9),
)
SCALES = st.builds(
    Scale, st.sampled_from(["min", "max"]), st.sampled_from([None, 1.0, 0.5, 1e-3, 1e-8])
)
MAYBE = st.one_of(st.none(), NUMBERS)


@given(st.lists(st.tuples(MAYBE, MAYBE, MAYBE, MAYBE, SCALES)))
def test_ratios_of_many_records_are_those_of_each(rows: list[tuple[Any, ...]]) -> None:
    """`low` and `high` by `ratio_interval`; both ends of the bound by the definition, in floats."""
    solutions: Any = [
        None if k % 5 == 4 else SimpleNamespace(objective=row[0], bound=row[1], sense=row[4].sense)
        for k, row in enumerate(rows)
    ]
    value, own = (
        as_array(None if each is None else getattr(each, name) for each in solutions)
        for name in ("objective", "bound")
    )
    largest = np.array([row[4].sense == "max" for row in rows], bool)
    known = [Bracket(row[2], "", row[3], "", "reported", row[4]) for row in rows]
    found = ratios(value, own, largest, known)
    for k, (schedule, claim, best, bound, scale) in enumerate(rows):
        ends = found.low[k], found.high[k]
        if solutions[k] is None or schedule is None:
            assert all(map(math.isnan, ends))
        else:
            each = ratio_interval(schedule, schedule if best is None else best, bound, scale)
            assert ends == (each.low, each.high)
        ends = found.bound_low[k], found.bound_high[k]
        if solutions[k] is None or claim is None or bound is None:
            assert all(map(math.isnan, ends))
            continue
        low = divide(bound, claim, scale.sense)
        if best is None:
            assert ends == (low, math.inf)
        else:
            high = divide(best, claim, scale.sense)
            met = scale.meets(best, bound)
            assert ends == ((high, high) if met else (low, max(low, high)))


class Task(NamedTuple):
    """A task without a solution has an empty status, and neither objective nor bound."""

    outcome: str
    kind: str
    status: str
    relaxed: bool
    evidence: str
    objective: float | None
    bound: float | None
    best: float | None
    scale: Scale

    def refuted(self) -> bool:
        if self.best is None or self.relaxed:
            return False
        known = self.bound is not None and self.scale.refutes(self.best, self.bound)
        return self.status == "infeasible" or known

    def result(self) -> str:
        if self.outcome == "skipped":
            return "skipped"
        if self.outcome == "invalid" or self.refuted():
            return "wrong"
        if self.objective is not None and self.relaxed:
            return "relaxed"
        if self.status in ("optimal", "infeasible"):
            return self.evidence or "reported"
        if self.objective is not None:
            return "feasible"
        if self.kind == "bound" and self.bound is not None:
            return "bounded"
        return "failed" if self.outcome in ("memory", "crash", "error") else "incomplete"

    def completed(self) -> bool:
        if self.result() in ("wrong", "skipped"):
            return False
        if self.kind == "exact":
            return self.status in ("optimal", "infeasible")
        found = self.bound if self.kind == "bound" else self.objective
        return self.outcome == "done" and found is not None


OUTCOMES = ["done", "skipped", "timeout", "memory", "crash", "invalid", "error"]
TASKS = st.builds(
    Task,
    st.sampled_from(OUTCOMES),
    st.sampled_from(["exact", "bound", "algorithm", "baseline"]),
    st.sampled_from(["", "optimal", "feasible", "infeasible", "unknown"]),
    st.booleans(),
    st.sampled_from(["", "proved", "certified", "reported"]),
    MAYBE,
    MAYBE,
    MAYBE,
    SCALES,
)


@given(st.lists(TASKS, min_size=1, max_size=8))
def test_the_results_of_many_tasks_are_those_of_each(tasks: list[Task]) -> None:
    texts = {
        name: np.array([getattr(each, name) for each in tasks], str)
        for name in ("outcome", "kind", "status", "evidence")
    }
    numbers = {
        name: as_array(getattr(each, name) for each in tasks)
        for name in ("objective", "bound", "best")
    }
    flags = {"relaxed": np.array([each.relaxed for each in tasks], bool)}
    scales = {
        "largest": np.array([each.scale.sense == "max" for each in tasks], bool),
        "grid": as_array(each.scale.grid for each in tasks),
    }
    found = Tasks(**texts | numbers | flags | scales)
    assert found.results().tolist() == [each.result() for each in tasks]
    assert found.completed(found.results()).tolist() == [each.completed() for each in tasks]


def test_dividing_by_nothing() -> None:
    assert divide(0, 0, "min") == 1 and divide(5, 0, "min") == math.inf
    assert divide(0, 5, "max") == math.inf and divide(0, 0, "max") == 1


@given(
    optimum=st.floats(0.1, 100),
    worse=st.lists(st.floats(1, 4), min_size=2, max_size=2),
    below=st.floats(0.2, 1),
    sense=st.sampled_from(["min", "max"]),
)
def test_the_true_ratio_lies_in_the_interval(
    optimum: float, worse: list[float], below: float, sense: Any
) -> None:
    sign = 1 if sense == "min" else -1
    value, other = (optimum * factor**sign for factor in worse)
    best = min(value, other) if sense == "min" else max(value, other)
    found = ratio_interval(value, best, optimum * below**sign, Scale(sense))
    assert found.low - 1e-6 <= divide(value, optimum, sense) <= found.high + 1e-5


@pytest.mark.parametrize("sense", ["min", "max"])
def test_two_solutions_give_the_ratio(sense: str) -> None:
    instance = toy(6, 4, 2, sense=sense)  # first picks 6; the optimum is 2, or 6
    paper, best, bound = (sg.solve(instance, name) for name in ("first", "exact", "weak"))
    expected = 3.0 if sense == "min" else 1.0
    assert (sg.ratio(paper, best).low, sg.ratio(paper, best).exact) == (expected, True)
    assert sg.ratio(best, paper).low == 1
    if sense == "min":  # weak is 1.75: 6 / 6 and 6 / 1.75
        assert str(sg.ratio(paper, bound)) == "1.0000 to 3.4286"
        assert str(sg.ratio(paper, paper)) == ">= 1.0000"
    assert str(sg.ratio(paper, best)) == f"{expected:.4f}"


def test_a_relaxed_schedule_is_no_reference() -> None:
    instance = toy(6, 4, 2)
    paper, outside, best = (sg.solve(instance, name) for name in ("first", "outside", "exact"))
    assert str(sg.ratio(paper, outside)) == ">= 1.0000"
    assert sg.ratio(outside, best).low == 1


def test_what_cannot_be_compared_is_refused() -> None:
    one, other = sg.solve(toy(6, 4), "exact"), sg.solve(toy(6, 5), "exact")
    with pytest.raises(UsageError, match="belong to different instances"):
        sg.ratio(one, other)
    with pytest.raises(UsageError, match="different problems, 'the instance itself' and 'fixed'"):
        sg.ratio(one, sg.solve(toy(6, 4), "other"))
    with pytest.raises(UsageError, match="weak has no schedule"):
        sg.ratio(sg.solve(toy(6, 4), "weak"), one)
