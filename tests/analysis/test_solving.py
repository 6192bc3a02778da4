"""`solve`: every way in which a method can end, on methods that end so."""

import math
import os

import pytest
import toy_family
from toy_family import toy

import schedgap as sg
from schedgap.analysis.runners.run import MethodRun
from schedgap.analysis.solving.choices import Choice
from schedgap.errors import (
    ContradictionError,
    EngineUnavailableError,
    FamilyError,
    ScaleError,
    UsageError,
)


def test_an_exact_method_proves_the_optimum() -> None:
    found = sg.solve(toy(3, 1, 2), "exact")
    assert (found.method, found.kind, found.engine) == ("scan", "exact", None)
    assert (found.status, found.objective, found.bound) == ("optimal", 1, 1)
    assert found.schedule == {"place": 1}
    assert found.progress[-1][1:] == (1, 1)
    assert (found.trace["alpha"], found.trace["loads"]) == (None, [1, 2])  # as JSON has it
    assert found.exit_code == 0


def test_the_sense_max_is_mirrored() -> None:
    found = sg.solve(toy(3, 1, 2, sense="max"), "exact")
    assert (found.sense, found.status, found.objective, found.bound) == ("max", "optimal", 3, 3)


def test_the_objective_is_the_rules_and_an_algorithm_has_no_bound() -> None:
    found = sg.solve(toy(3, 1, 2), "first")
    assert (found.status, found.objective, found.bound) == ("feasible", 3, None)


def test_a_bound_lies_on_the_grid_and_its_certificate_stays_with_it() -> None:
    found = sg.solve(toy(3, 1, 2, step=0.5), "weak")  # 0.75 is not a multiple of 0.5
    assert (found.status, found.objective, found.bound) == ("bound", None, 1.0)
    assert found.certificate == {"kind": "toy", "value": 0.75, "rows": [1, 2]}
    assert found.trace["certificate"] == {"kind": "toy", "value": 0.75, "rows": "2 entries"}


def test_no_schedule_has_its_reason_and_its_status() -> None:
    infeasible, silent, partial = (
        sg.solve(toy(3, 1), name) for name in ("none", "silent", "partial")
    )
    assert (infeasible.status, infeasible.exit_code) == ("infeasible", 3)
    assert infeasible.trace["note"] == "job 'j1' cannot end"
    assert (silent.status, silent.exit_code, silent.bound) == ("unknown", 4, None)
    assert (partial.status, partial.schedule) == ("unknown", None)
    assert partial.partial == {"place": 0}
    with pytest.raises(sg.analysis.results.solution.InputError, match="partial has no schedule"):
        partial.gantt()


def test_a_schedule_outside_the_program_has_no_bound() -> None:
    found = sg.solve(toy(3, 1), "outside")
    assert (found.status, found.objective, found.bound) == ("feasible", 1, None)
    assert sg.verify(toy(3, 1), found).relaxed == ("2c",)
    assert "status feasible (outside the program: without 2c)" in str(found)
    (title,) = found.gantt().layout.annotations
    assert title.text == "outside: 1 (outside the program: without 2c)"


@pytest.mark.parametrize(
    ("method", "stopped"),
    [
        ("hang", "killed: still running"),
        ("crash", "SIGSEGV" if os.name == "posix" else "exit code"),
    ],
)
def test_a_killed_method_leaves_what_it_had_said(method: str, stopped: str) -> None:
    found = sg.solve(toy(3, 1, 2), method, time_limit=0.5)
    assert (found.status, found.objective, found.bound) == ("feasible", 1, 0)
    assert stopped in found.trace["stopped"]
    assert [point[1:] for point in found.progress] == [(3, None), (1, None), (1, 0), (1, 0)]
    assert found.seconds < 0.5 + 2


@pytest.mark.parametrize("method", ["lbbd", "pd-ors", "fluid-lp"])
def test_where_nothing_can_be_done_that_is_the_schedule_of_who_is_stopped(method: str) -> None:
    """Nobody has to be admitted; a bound has no schedule whatever happens to it."""
    few = sg.generate("dmlrs", preset="small", seed=1)
    found = Choice(method).runner(few).solution(MethodRun("timeout", "killed", seconds=1.0))
    if method == "fluid-lp":
        assert (found.status, found.schedule, found.exit_code) == ("unknown", None, 4)
        return
    assert (found.status, found.objective, found.exit_code) == ("feasible", 0, 0)
    assert found.schedule == {"admitted": [], "allocations": []}
    assert found.trace["stopped"] == "killed"


def test_a_method_that_eats_the_memory_is_stopped() -> None:
    found = sg.solve(toy(3, 1, 2), "hog", memory_limit=200, time_limit=20)
    assert found.objective == 1 and "200 MB" in found.trace["stopped"]


def test_a_schedule_that_breaks_a_rule_is_never_a_solution() -> None:
    with pytest.raises(ContradictionError, match=r"broken .* breaks V1: no place 99"):
        sg.solve(toy(3, 1), "broken")


def test_a_bound_past_its_own_schedule_is_a_contradiction() -> None:
    with pytest.raises(ContradictionError, match="1000000000 lies past"):
        sg.solve(toy(3, 1), "liar")
    with pytest.raises(ContradictionError, match="lies past"):
        sg.solve(toy(3, 1, sense="max"), "liar")


def test_a_methods_own_refusal_comes_through() -> None:
    with pytest.raises(ScaleError, match="too fine"):
        sg.solve(toy(3, 1), "too-fine")
    with pytest.raises(UsageError, match="method picky: needs three values"):
        sg.solve(toy(3, 1), "picky")
    with pytest.raises(EngineUnavailableError, match="pip install 'schedgap\\[absent\\]'"):
        sg.solve(toy(3, 1), "absent")


def test_a_bug_in_a_method_carries_its_traceback() -> None:
    said = r"family toy: method fails: ValueError: a bug of ours \(toy_family.py, line"
    with pytest.raises(FamilyError, match=said) as caught:
        sg.solve(toy(3, 1), "fails")
    assert "toy_family.py" in "".join(caught.value.__notes__)


def test_a_bug_of_this_package_is_none_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedgap.analysis.runners.runner.OWN", ("toy",))
    with pytest.raises(RuntimeError, match="ValueError: a bug of ours") as caught:
        sg.solve(toy(3, 1), "fails")
    assert "toy_family.py" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_refused(limit: float) -> None:
    with pytest.raises(UsageError, match="time limit"):
        sg.solve(toy(3, 1), "exact", time_limit=limit)


def test_options_are_settled_by_name_and_recorded_whole() -> None:
    found = sg.solve(toy(3, 1), "first", pause="0.01", time_limit=5)
    assert found.options == {"log": "", "pause": 0.01, "time_limit": 5}
    with pytest.raises(UsageError, match=r"no option 'speed': choose one of log, pause"):
        sg.solve(toy(3, 1), "first", speed=3)
    with pytest.raises(UsageError, match="no method 'secnd': choose one of exact, scan, first"):
        sg.solve(toy(3, 1), "secnd")


def test_a_seed_is_recorded_where_it_can_matter() -> None:
    assert sg.solve(toy(3, 1, 2), "first").seed is None
    assert sg.solve(toy(3, 1, 2), "luck").seed == 0
    found = sg.solve(toy(3, 1, 2), "luck", seed=2)
    assert (found.seed, found.schedule) == (2, {"place": 2})


def test_versions_name_what_could_change_the_answer() -> None:
    found = sg.solve(toy(3, 1), "exact")
    assert found.versions["schedgap"] == sg.__version__
    assert found.versions["python"].startswith("3.")


def test_messages_are_heard_as_they_come() -> None:
    heard: list[str] = []
    sg.solve(toy(3, 1), "crash", on_message=lambda message: heard.append(message[0]))
    assert heard == ["incumbent", "incumbent", "bound", "phase"]


def test_the_gantt_chart_stands_beside_another() -> None:
    instance = toy(3, 1)
    paper, best = sg.solve(instance, "first"), sg.solve(instance, "exact")
    figure = paper.gantt(compare_with=best)
    assert len({trace.yaxis for trace in figure.data}) == 2
    assert toy_family.FAMILY.name == "toy"


def test_a_killed_method_makes_no_optimum_of_an_engines_word() -> None:
    """`words` streams the optimum and an engine's bound that meets it, unconfirmed, and hangs."""
    found = sg.solve(toy(3, 1, 2), "words", time_limit=0.5)
    assert (found.status, found.objective, found.bound) == ("feasible", 1, 0)
    shy = sg.solve(toy(3, 1, 2, name="shy"), "words", time_limit=0.5)
    assert (shy.status, shy.bound, shy.certificate) == ("feasible", 0.5, None)


def test_a_killed_method_leaves_the_certificate_of_its_bound() -> None:
    found = sg.solve(toy(3, 1, 2), "hang", time_limit=0.5)
    assert found.bound == 0 and found.certificate == {"kind": "toy", "value": 0}


def test_a_rounded_bound_leaves_its_own_value_in_the_trace() -> None:
    bound = sg.solve(toy(6, 4, 2), "weak").bound
    assert bound is not None and not bound.is_integer()
    rounded = sg.solve(toy(6, 4, 2, step=1.0), "weak")
    assert rounded.bound == math.ceil(bound)
    assert rounded.trace["bound_before_rounding"] == bound
    assert "bound_before_rounding" not in sg.solve(toy(6, 4, 2), "weak").trace
    assert "bound_before_rounding" not in sg.solve(toy(6, 4, 2, step=1.0), "exact").trace
