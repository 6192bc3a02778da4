"""Families of other packages that break the contract: an outcome, or one line that says where."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import broken_family
import pytest
import toy_family

import schedgap as sg
from schedgap import cli
from schedgap.errors import FamilyError
from schedgap.instances.families import FAMILIES
from schedgap.models.family import Family
from schedgap.models.method import MethodResult, RunContext


@pytest.fixture(autouse=True)
def broken(_toy: None) -> Iterator[None]:
    FAMILIES.remove("toy")
    sg.register(broken_family.FAMILY)
    yield
    FAMILIES.remove("toy")


def instance(name: str, *values: float) -> Any:
    return toy_family.toy(*(values or (3, 1, 2)), name=name)


FAULTS = {  # name of the instance -> what is said
    "method raises": "method exact: ZeroDivisionError: division by zero (broken_family.py, line",
    "method none": "method exact: returned null, need a MethodResult",
    "schedule text": 'method exact: returned "x", need a schedule with to_data(instance)',
    "to_data raises": "method exact: to_data of its schedule: KeyError: 'place' (broken_family.py",
    "to_data set": "method exact: to_data of its schedule: returned an object of type dict, need "
    "plain JSON data (Object of type set",
    "to_data none": "method exact: to_data of its schedule: returned null, need a JSON object",
    "pickle ": "method exact: TypeError: cannot be pickled",
    "bound text": 'method exact: returned "x", need a bound that is a number or None',
    "certificate set": "method exact: returned an object of type dict, need plain JSON data",
    "sense text": 'sense: returned "x", need min or max',
    "check raises": "check: ZeroDivisionError: division\\nby zero (broken_family.py, line",
    "check none": "check: returned null, need violations",
    "check list": "check: returned 1, need violations",
    "objective raises": "objective: ZeroDivisionError",
    "objective nan": "objective: returned NaN, need a finite number",
    "objective text": 'objective: returned "x", need a finite number',
    "grid nan": "grid: returned NaN, need a finite number",
    "refute list": "refute: returned an object of type list, need a text or None",
}


@pytest.mark.parametrize("name", FAULTS)
def test_solve_says_where_the_family_is_wrong(name: str) -> None:
    with pytest.raises(FamilyError) as caught:
        sg.solve(instance(name))
    assert str(caught.value).startswith(f"family toy: {FAULTS[name]}")
    assert "\n" not in str(caught.value) and caught.value.exit_code == 2


@pytest.mark.parametrize("how", ["raises", "none", "nan"])
def test_a_chart_that_fails_is_named(how: str) -> None:
    solution = sg.solve(instance(f"chart {how}"))
    assert solution.status == "optimal"
    with pytest.raises(FamilyError, match=r"^family toy: chart: "):
        solution.gantt()


def test_what_a_method_may_leave_out_is_no_fault() -> None:
    assert sg.solve(instance("bound nan")).bound is None
    assert sg.solve(instance("incumbent text")).objective == 3


def test_a_run_goes_on_and_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["fine", *(each for each in FAULTS if not each.startswith(("sense", "grid")))]
    names += ["chart raises", "chart nan", "chart odd", "unsupported raises"]
    for place, name in enumerate(names):
        data = instance(name, 3, 1, 10 + place).to_data()
        (tmp_path / f"{place:02}.json").write_text(json.dumps(data))
    run = str(tmp_path / "run")
    asked = ["compare", str(tmp_path), "--methods", "exact", "--run", run, "--workers", "1"]
    assert cli.run(asked) == 0
    outcomes = {each.instance.name: each.outcome for each in sg.Run(run).records}
    fine = {"fine", "chart raises", "chart nan", "chart odd"}
    assert outcomes == {name: "done" if name in fine else "error" for name in names}
    page = tmp_path / "page.html"
    assert cli.run(["report", run, "--out", str(page)]) == 0
    assert "family toy: chart: ZeroDivisionError" in page.read_text()
    assert "family toy: chart: returned NaN, need a finite number" in page.read_text()
    capsys.readouterr()
    data = instance("guarantee raises").to_data()
    (tmp_path / "run2.json").write_text(json.dumps(data))
    other = str(tmp_path / "run2")
    asked = ["compare", str(tmp_path / "run2.json"), "--methods", "exact", "--run", other]
    assert cli.run([*asked, "--workers", "1"]) == 2
    (line,) = [each for each in capsys.readouterr().err.splitlines() if "guarantee" in each][-1:]
    assert line.startswith("schedgap: family toy: guarantee G1: ZeroDivisionError")


def test_a_changed_object_is_no_other_instance() -> None:
    changed = instance("fine", 3, 1)
    changed.__dict__["values"] = (3.0, 1.0, 0.0)  # as a method may, which has the object
    verdict = sg.verify(changed, {"place": 2})
    assert [each.rule for each in verdict.violations] == ["V1"]
    assert sg.verify(changed, {"place": 1}).objective == 1


def test_a_run_with_claims_that_schedules_refute_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, run = tmp_path / "fine.json", str(tmp_path / "run")
    file.write_text(json.dumps(instance("fine", 3, 1, 2).to_data()))
    assert cli.run(["compare", str(file), "--run", run, "--workers", "1"]) == 70
    capsys.readouterr()
    assert cli.run(["verify", run]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "fine: exact claims the optimum 3, lowest has a schedule of 1",
        "2 tasks: 1 wrong",
    ]


def test_what_is_no_part_of_the_contract_is_blamed_on_the_family(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, said in (
        ("program raises", "family toy: program paper: ZeroDivisionError: division\\nby zero (bro"),
        ("program number", "family toy: program paper: returned int, need a Pyomo ConcreteModel"),
        ("unsupported raises", "family toy: method exact: unsupported_reason: ZeroDivisionError"),
    ):
        file = tmp_path / "it.json"
        file.write_text(json.dumps(instance(name).to_data()))
        asked = ["export", str(file), "--model", "paper", "--out", str(tmp_path / "it.lp")]
        asked = asked if "program" in name else ["solve", str(file), "--method", "exact"]
        assert cli.run(asked) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"schedgap: {said}") and err.count("\n") == 1, err
        assert not (tmp_path / "it.lp").exists()


def said_of(broken: Any) -> str:
    """Return the message of the error in Python, which has the error of the family as its cause."""
    with pytest.raises(FamilyError) as caught:
        broken()
    assert isinstance(caught.value.__cause__, ZeroDivisionError | TypeError)
    return str(caught.value)


def test_python_names_the_part_and_keeps_the_cause() -> None:
    owner = _family("toy")
    unsupported = said_of(lambda: sg.solve(instance("unsupported raises")))
    assert unsupported.startswith("family toy: method exact: unsupported_reason: ZeroDivisionError")
    program = said_of(lambda: sg.model(instance("program raises"), "paper"))
    assert program.startswith("family toy: program paper: ZeroDivisionError")
    claim = owner.paper.guarantees["G1"]
    promise = said_of(lambda: claim.evaluate(instance("guarantee raises")))
    assert promise.startswith("family toy: guarantee G1: ZeroDivisionError")
    preset = said_of(lambda: sg.generate("toy"))
    assert preset.startswith("family toy: preset zero: ZeroDivisionError")
    (figure,) = owner.experiments(quick=True) if owner.experiments else []
    assert said_of(lambda: figure.points).startswith(
        "family toy: figure 1: returned 3, need points"
    )
    draw: Any = None
    held = said_of(lambda: figure.claims[0].holds(draw))
    assert held.startswith("family toy: claim 'odd': TypeError")


@pytest.mark.parametrize("part", ["summary", "demands", "warnings"])
@pytest.mark.parametrize("how", ["raises", "none", "number"])
def test_what_instances_say_of_themselves_is_checked(part: str, how: str) -> None:
    broken = broken_family.Talking.from_data(instance(f"{part} {how}").to_data())
    said = said_of(getattr(broken, part))
    assert said.startswith(f"family toy: instances: {part}: ")
    if part == "summary":
        assert said_of(lambda: repr(broken)) == said_of(broken._repr_html_) == said
    fine = broken_family.Talking.from_data(instance("fine").to_data())
    assert repr(fine) == "<toy instance 'fine': of values 3>"


def test_a_validator_that_fails_is_named() -> None:
    data = instance("fine").to_data() | {"name": "validator"}
    said = said_of(lambda: broken_family.Talking.from_data(data))
    assert said.startswith(
        "family toy: instances: Talking: ZeroDivisionError: division by zero (br"
    )


def test_families_of_this_package_are_not_wrapped() -> None:
    from schedgap.instances.contract import Guard

    own, other = _family("hare"), _family("toy")
    assert not isinstance(own.check, Guard) and isinstance(other.check, Guard)
    again = replace(other)
    assert isinstance(again.check, Guard) and not isinstance(again.check.function, Guard)


def _family(name: str) -> Family:
    from schedgap.models import family

    return family(name)


def test_run_checks_the_result_of_a_method() -> None:
    owner = _family("toy")
    call: Any = RunContext({}, None, None, None)  # type: ignore[arg-type]
    good = owner.run(owner.methods[0], instance("fine"), call)
    assert isinstance(good, MethodResult) and good.bound == 3
    with pytest.raises(FamilyError, match="returned 3, need a MethodResult"):
        owner.run(owner.methods[0], instance("method number"), call)
