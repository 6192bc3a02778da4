"""What the command line says after mistakes that newcomers make, and where there is nothing yet."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import schedgap as sg
from schedgap import show
from schedgap.analysis.pages.listing import beginners
from schedgap.errors import FolderWarning, InputError, UsageError
from schedgap.instances.families import OWN

Call = Callable[..., Any]


def test_methods_without_commas_are_named(
    schedgap: Call, toy_file: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    done = schedgap("compare", toy_file(3, 1), "--methods", "exact", "hare", "first")
    assert done.code == 2
    assert done.line.endswith("it is a method: separate methods by commas, as in exact,hare")


@pytest.mark.parametrize(
    ("target", "suite"), [("quik", "quick"), ("hare-figure", "hare-figures"), ("trace", "traces")]
)
def test_a_misspelt_suite(
    schedgap: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: str, suite: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = schedgap("compare", target, "--methods", "exact")
    assert done.code == 2 and done.line.startswith(f"{target}: cannot be read: no such file")
    assert f"did you mean '{suite}'?" in done.line


def test_a_folder_with_a_solution(schedgap: Call, toy_file: Call, tmp_path: Path) -> None:
    instance = toy_file(3, 1, name="one")
    place = instance.parent
    sg.solve(instance, "exact").save(place / "best.json")
    run = ("--methods", "first", "--run", tmp_path / "run")
    done = schedgap("compare", place, *run)
    assert done.code == 0 and re.search(r"left out, because no instances: best\.json", done.err)
    with pytest.warns(FolderWarning, match=r"best\.json"):
        sg.compare(place, methods=["first"], run=tmp_path / "run")
    (place / "wrong.json").write_text(json.dumps({"family": "toy", "version": 1}))
    done = schedgap("compare", place, *run)
    assert done.code == 2 and "wrong.json" in done.err  # a broken instance does not pass silently
    for each in (instance, place / "wrong.json"):
        each.unlink()
    done = schedgap("compare", place, *run)
    assert done.code == 2 and done.line == f"{place}: no instance files (*.json) in it"


@pytest.mark.parametrize("command", ["show", "report", "table"])
def test_what_is_no_run_folder(
    schedgap: Call, toy_file: Call, tmp_path: Path, command: str
) -> None:
    file = toy_file(3, 1)
    for place, reason in (
        (tmp_path / "absent", "not a run folder: there is no such folder"),
        (file, "not a run folder: it is a file"),
        (tmp_path, "not a run folder: it has no folder 'tasks'"),
    ):
        done = schedgap(command, place)
        assert (done.code, done.line) == (2, f"{place}: {reason}")
        assert not (tmp_path / "absent").exists()


def test_an_empty_run_is_one_line(schedgap: Call, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    done = schedgap("show", tmp_path)
    assert (done.code, done.out) == (0, f"{tmp_path}: nothing has been run yet\n")
    assert schedgap("show", tmp_path, "--json").json["summary"] == []


def test_an_alias_is_named_with_what_it_stands_for(schedgap: Call, tmp_path: Path) -> None:
    schedgap("generate", "hare", "--preset", "toy", "--out", tmp_path / "toy.json")
    export = ("export", tmp_path / "toy.json", "--out", tmp_path / "toy.lp", "--model")
    assert ": paper (= big-m) of <hare" in schedgap(*export, "paper").out
    assert ": big-m of <hare" in schedgap(*export, "big-m").out


@pytest.mark.parametrize("command", [(), ("verify",), ("compare",), ("figure",), ("table",)])
def test_flags_in_the_help_take_no_value(schedgap: Call, command: tuple[str, ...]) -> None:
    text = schedgap(*command, "--help").out
    assert "--help" in text and "bool" not in text


def test_settings_of_generate_by_name() -> None:
    one = sg.generate("hare", preset="small", jobs=3)
    assert one == sg.generate("hare", preset="small", settings={"jobs": 3})
    with pytest.raises(UsageError, match="setting jobs: given twice"):
        sg.generate("hare", preset="small", jobs=3, settings={"jobs": 3})
    with pytest.raises(UsageError, match="preset small has no setting 'jbos'"):
        sg.generate("hare", preset="small", jbos=3)


def test_solve_takes_a_file(toy_file: Call, tmp_path: Path) -> None:
    file = toy_file(3, 1)
    assert sg.solve(str(file), "first").objective == sg.solve(file, "first").objective == 3
    with pytest.raises(InputError, match="no such file"):
        sg.solve(tmp_path / "absent.json")
    with pytest.raises(UsageError, match=r"need an instance.*or its file"):
        sg.solve(3)  # type: ignore[arg-type]


def test_a_model_among_the_methods_of_compare() -> None:
    toy = sg.generate("hare", preset="toy")
    with pytest.raises(UsageError, match="belongs to one instance: give a function that builds"):
        sg.compare([toy], methods=["exact", sg.model(toy)])  # type: ignore[list-item]


def test_a_broken_plan_is_drawn_and_has_no_ratio() -> None:
    toy = sg.generate("hare", preset="toy")
    program = sg.model(toy)
    program.eq_8_first.deactivate()
    program.eq_8_second.deactivate()
    overlapping = sg.solve(toy, program)
    assert overlapping.schedule is None
    drawn = overlapping.gantt(compare_with=sg.solve(toy, "srtf"))
    assert drawn.layout.annotations[0].text.startswith("model:big-m breaks V5 (")
    assert [each.name for each in drawn.data if each.name.startswith("breaks")] == ["breaks V5"]
    with pytest.raises(UsageError, match=r"no ratio: .* no schedule of the instance: V5"):
        sg.ratio(overlapping, sg.solve(toy, "srtf"))

    def overlaps(instance: Any) -> Any:
        program = sg.model(instance)
        program.eq_8_first.deactivate()
        program.eq_8_second.deactivate()
        return program

    (record,) = sg.compare([toy], methods=[overlaps], workers=1).records
    assert "a solution without a schedule: its solution is no schedule of" in record.message


@pytest.mark.parametrize("name", OWN)
def test_methods_to_start_with_come_first(schedgap: Call, name: str) -> None:
    first = beginners(name)
    methods = {row["method"]: row for row in sg.methods(name)}
    assert len(first) == 4 and first[0] == "exact"
    kinds = [methods[each]["kind"] for each in first]  # a KeyError for a name that does not exist
    assert kinds[1] == "algorithm" and not methods[first[1]]["ours"]
    brief = schedgap("methods", name).out
    head, _, rest = schedgap("methods", name, "--all").out.partition("All others:")
    assert brief.startswith(head.rstrip()) and "All others:" not in brief
    more = sum(not row["alias_of"] for row in methods.values()) - len(first)
    assert f"schedgap methods {name} --all lists {more} more methods." in brief
    listed = [line.split()[1] for line in head.splitlines()[2:] if line.startswith(name)]
    assert listed == list(first)
    others, _, names = rest.partition("Further names: ")
    for each, row in methods.items():
        if row["alias_of"]:
            assert f"{each} = {row['alias_of']}" in " ".join(names.split())
        else:
            assert each in first or re.search(rf"^{name} +{each} ", others, re.MULTILINE)


def test_a_family_of_another_package_has_methods_to_start_with() -> None:
    assert beginners("toy") == ("scan", "first", "outside")  # exact, algorithm, baseline


def test_on_a_pipe_only_what_comes_before_the_clock_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with show.solving("exact on toy") as receive:
        receive(("phase", 0.0, "compiling code"))
        receive(("phase", 0.1, "searching"))
        receive(("incumbent", 0.0, 8.0))
    assert capsys.readouterr().err == "schedgap: exact on toy: compiling code\n"
