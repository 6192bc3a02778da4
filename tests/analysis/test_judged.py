"""Schedules from elsewhere, their ratios, and that nothing counts which is not verified."""

import json
import math
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import schedgap as sg
from schedgap.cli import run as command_line
from schedgap.errors import InputError, UsageError

TOY = sg.generate("hare", preset="small", seed=1, settings={"jobs": 2})


@pytest.fixture(scope="module")
def first() -> sg.Solution:
    return sg.solve(TOY, "srtf")


@pytest.fixture(scope="module")
def best() -> sg.Solution:
    return sg.solve(TOY, "exact")


@pytest.fixture(scope="module")
def late(first: sg.Solution) -> dict[str, Any]:
    tasks = [{**each, "start": each["start"] + 5} for each in first.schedule["assignments"]]
    return {"assignments": tasks}


def test_a_schedule_is_valued_and_compared(
    first: sg.Solution, best: sg.Solution, late: dict[str, Any], tmp_path: Path
) -> None:
    judged = sg.judge(TOY, late, first, best, name="late")
    assert judged and judged.feasible and judged.violations == ()
    assert judged.objective == sg.verify(TOY, late).objective
    assert judged.ratio is not None and judged.ratio.exact
    assert judged.ratio.low == pytest.approx(judged.objective / best.objective)
    assert str(sg.judge(TOY, late).ratio) == ">= 1.0000"
    assert str(sg.judge(TOY, late, first).ratio).startswith(">= 1.")
    judged.save(tmp_path / "late.json")
    assert sg.verify(TOY, sg.load_solution(tmp_path / "late.json", TOY))
    again = sg.judge(TOY, tmp_path / "late.json", best)
    assert again.ratio == judged.ratio == sg.judge(TOY, judged.solution, best).ratio
    assert len(judged.gantt(best).data) > len(judged.gantt().data) >= 1
    assert judged.to_data()["ratio"] == [judged.ratio.low, judged.ratio.high]
    assert "late" in repr(judged) and "verdict" in judged._repr_html_()


def test_a_schedule_that_breaks_a_rule_has_no_ratio(
    best: sg.Solution, late: dict[str, Any], tmp_path: Path
) -> None:
    broken = sg.judge(TOY, {"assignments": late["assignments"][1:]}, best)
    assert not broken and broken.ratio is None and broken.violations[0].rule == "V2"
    assert broken.gantt() is not None
    with pytest.raises(UsageError, match="no ratio: by-hand breaks V2"):
        sg.ratio(broken, best)
    with pytest.raises(InputError, match="by-hand is no solution: breaks V2"):
        broken.save(tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()
    with pytest.raises(InputError, match="need a schedule, not int"):
        sg.judge(TOY, 3)


def test_ratios_take_several_references(
    first: sg.Solution, best: sg.Solution, late: dict[str, Any]
) -> None:
    verdict = sg.verify(TOY, late)
    expected = sg.ratio(sg.judge(TOY, late), first, best)
    assert expected.exact and sg.ratio(verdict, best) == expected == sg.ratio(verdict, first, best)
    assert sg.ratio(first, sg.judge(TOY, late), verdict, best) == sg.ratio(first, best)
    run = sg.compare([TOY], methods=["exact", "srtf"])
    assert sg.ratio(verdict, run) == expected
    with pytest.raises(UsageError, match="need a reference"):
        sg.ratio(verdict)
    with pytest.raises(UsageError, match="different instances"):
        sg.ratio(sg.solve(sg.generate("hare", preset="small", seed=2), "srtf"), best)
    other = sg.generate("hare", preset="small", seed=2)
    with pytest.raises(UsageError, match="no result for this instance"):
        sg.ratio(sg.solve(other, "srtf"), run)


def test_the_bound_of_a_program_counts_unless_it_was_changed(first: sg.Solution) -> None:
    model = sg.model(TOY, "paper", relax=True)
    found = sg.ratio(first, sg.solve(TOY, model))
    assert found.low == 1 and found.high < 100
    model.upper = pyo.Constraint(expr=next(model.component_data_objects(pyo.Var)) <= 10**6)
    assert sg.ratio(first, sg.solve(TOY, model)).high == math.inf


def test_nothing_unverified_counts(
    first: sg.Solution, best: sg.Solution, late: dict[str, Any]
) -> None:
    claimed = sg.Solution.bind(TOY, {**first.to_data(), "objective": 1.0})
    with pytest.raises(UsageError, match="the file claims 1, the schedule gives"):
        sg.ratio(claimed, best)
    with pytest.raises(UsageError, match="the file claims 1"):
        sg.ratio(best, claimed)
    bounded = sg.Solution.bind(
        TOY, {**first.to_data(), "bound": first.objective, "status": "optimal"}
    )
    assert str(sg.ratio(bounded, sg.judge(TOY, late))) == ">= 1.0000"
    with pytest.raises(UsageError, match="not one of verify"):
        sg.ratio(sg.Verdict(True, 1.0), best)
    with pytest.raises(UsageError, match="not float"):
        sg.ratio(1.0, best)  # type: ignore[arg-type]
    changed = first.replace(objective=1.0)
    with pytest.raises(UsageError, match="the file claims 1"):
        sg.ratio(changed, best)


def test_a_schedule_that_was_changed_in_place_is_verified_again(best: sg.Solution) -> None:
    mine = sg.solve(TOY, "srtf")
    assert mine.verified and sg.ratio(mine, best).exact
    for row in mine.schedule["assignments"]:
        row["start"] += 5
    assert not mine.verified
    with pytest.raises(UsageError, match="the file claims"):
        sg.ratio(mine, best)
    mine.schedule["assignments"][0]["start"] = math.nan
    assert not mine.verified
    del mine.schedule["assignments"][0]
    with pytest.raises(UsageError, match="V2"):
        sg.ratio(best, mine)


def test_rules_that_a_schedule_leaves_out_are_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    toy = sg.generate("edge", preset="toy")
    sg.solve(toy, "preemptive").save(tmp_path / "plan.json")
    toy.save(tmp_path / "toy.json")
    judged = sg.judge(toy, tmp_path / "plan.json")
    assert "without 2c-2d, 2i" in repr(judged) and judged.to_data()["relaxed"] == ["2c-2d", "2i"]
    assert command_line(["judge", str(tmp_path / "toy.json"), str(tmp_path / "plan.json")]) == 0
    assert "without 2c-2d, 2i" in capfd.readouterr().out


def test_the_judge_command(
    late: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("toy.json").write_text(json.dumps(TOY.to_data()))
    Path("late.json").write_text(json.dumps(late))
    sg.compare([TOY], methods=["srtf"], run="r")
    judge = ["judge", "toy.json", "late.json"]
    assert command_line(judge) == 0
    assert "ratio to the optimum unknown" in capfd.readouterr().out
    sg.solve(TOY, "exact").save("exact.json")
    assert command_line(["judge", "toy.json", "exact.json"]) == 0
    assert capfd.readouterr().out.endswith("optimum 1.0000, from the bound in the file\n")
    assert command_line([*judge, "--run", "r", "--as", "mine", "--gantt", "g.html"]) == 0
    assert "ratio to the optimum >= 1." in capfd.readouterr().out
    assert Path("g.html").stat().st_size > 1000
    stored = sg.Run("r")
    assert {each.method: each.own for each in stored.records} == {"srtf": False, "mine": True}
    assert stored.verify() == [] and stored.contradictions == []
    assert command_line([*judge, "--against", "srtf", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["references"][0]["name"] == "srtf"
    for arguments, code, message in (
        (["--as", "x"], 2, "--as: need --run DIR"),
        (["--run", "r", "--as", "srtf"], 2, "'srtf' is a method of family hare"),
        (["--run", "r", "--as", "a b"], 2, "name 'a b': need letters"),
        (["--run", "absent"], 2, "not a run folder"),
        (["--gantt", "g.png"], 2, "must end in .html"),
    ):
        assert command_line([*judge, *arguments]) == code
        assert message in capfd.readouterr().err
    Path("late.json").write_text('{"assignments": []}')
    assert command_line([*judge, "--run", "r", "--as", "none"]) == 1
    assert "V2: " in capfd.readouterr().out and len(sg.Run("r").records) == 2


def test_names_in_a_run_are_not_taken_twice(
    first: sg.Solution, late: dict[str, Any], tmp_path: Path
) -> None:
    def rule(instance: sg.Instance, shown: dict[str, Any] = late) -> dict[str, Any]:
        return shown

    sg.compare([TOY], methods=[rule], run=tmp_path)
    with pytest.raises(UsageError, match="'rule' is a method of your own in"):
        sg.judge(TOY, first, name="rule").store(tmp_path)
    sg.judge(TOY, first, name="plan").store(tmp_path)
    with pytest.raises(UsageError, match="'plan' is a schedule that judge has put into the run"):
        sg.compare([TOY], methods=[sg.own(rule, name="plan")], run=tmp_path)
    found = {each.method: each.solution.objective for each in sg.Run(tmp_path).records}
    assert found == {"rule": sg.judge(TOY, late).objective, "plan": first.objective}


def test_a_name_may_stand_for_schedules_of_several_instances(
    first: sg.Solution, late: dict[str, Any], tmp_path: Path
) -> None:
    other = sg.generate("hare", preset="small", seed=2, settings={"jobs": 2})
    sg.judge(TOY, late, name="plan").store(tmp_path)
    sg.judge(other, sg.solve(other, "srtf"), name="plan").store(tmp_path)
    assert {each.instance.sha256 for each in sg.Run(tmp_path).records} == {TOY.sha256, other.sha256}
    sg.judge(TOY, first, name="plan").store(tmp_path)  # replaces the plan of the same instance
    stored = sg.Run(tmp_path)
    assert stored.older == [] and len(stored.records) == 2
    mine = [each for each in stored.records if each.instance.sha256 == TOY.sha256]
    assert [each.solution.objective for each in mine] == [first.objective]


@pytest.mark.parametrize(("name", "message"), [("", "name ''"), ("a" * 99, "at most 80")])
def test_a_name_is_checked_before_anything_is_stored(
    name: str, message: str, late: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "toy.json").write_text(json.dumps(TOY.to_data()))
    (tmp_path / "late.json").write_text(json.dumps(late))
    files = [str(tmp_path / "toy.json"), str(tmp_path / "late.json")]
    assert command_line(["judge", *files, "--run", str(tmp_path / "r"), "--as", name]) == 2
    shown = capfd.readouterr()
    assert message in shown.err and shown.out == "" and not (tmp_path / "r").exists()
