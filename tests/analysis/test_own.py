"""Methods of the user's own in `solve`, `compare` and on the command line."""

import functools
import gc
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge

import schedgap as sg
from schedgap.analysis.own.fingerprint import _digest, command_hash, file_hash, function_hash
from schedgap.analysis.solving.choices import Choice
from schedgap.cli import run as command_line
from schedgap.errors import SchedgapError, UsageError

TOY = sg.generate("hare", preset="small", seed=1, settings={"jobs": 2})
RULE = """
from helper import GOOD

def my_rule(instance, *, beta: float = 2, seed=0):
    assert beta > 0, beta
    return GOOD
"""


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    found: dict[str, Any] = sg.solve(TOY, "srtf").schedule
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: dict[str, Any]) -> Path:
    """Return a folder with an instance, a rule and its helper; it is the working directory."""
    monkeypatch.chdir(tmp_path)
    TOY.save("toy.json") if hasattr(TOY, "save") else Path("toy.json").write_text(
        json.dumps(TOY.to_data())
    )
    Path("mine.py").write_text(RULE)
    Path("helper.py").write_text(f"GOOD = {good!r}\n")
    return tmp_path


def test_an_annotation_limits_an_option(good: dict[str, Any]) -> None:
    """As in the methods of a family."""

    def rule(
        instance: Any,
        *,
        order: Annotated[Literal["list", "size"], "of the jobs"] = "list",
        count: "Annotated[int, 'jobs at most', Ge(1)]" = 3,
    ) -> Any:
        assert (order, count) == ("size", 4)
        return good

    assert sg.solve(TOY, rule, order="size", count="4", time_limit=50).schedule is not None
    with pytest.raises(UsageError, match="option order=weight: need one of list, size"):
        sg.solve(TOY, rule, order="weight")
    with pytest.raises(UsageError, match="option count=0: need an integer >= 1"):
        sg.solve(TOY, rule, count=0)
    assert sg.own(rule).options[0].help == "of the jobs"


def test_options_seed_and_clock_are_given_by_name(good: dict[str, Any]) -> None:
    def rule(
        instance: Any,
        *,
        beta: float = 2,
        deep: bool = False,
        word: str = "a",
        seed: int,
        clock: Any,
    ) -> Any:
        assert (beta, deep, word, seed) == (3.5, True, "b", 7)
        assert 0 < clock.remaining() <= 50
        return good

    solution = sg.solve(TOY, rule, beta="3.5", deep=True, word="b", seed=7, time_limit=50)
    assert solution.status == "feasible" and solution.method == "rule"
    assert solution.kind == "algorithm" and solution.seed == 7
    assert solution.options == {"beta": 3.5, "deep": True, "word": "b", "time_limit": 50}
    assert sg.verify(TOY, solution) and solution.gantt() is not None
    with pytest.raises(UsageError, match=r"has no option 'gamma': choose one of beta, deep, word"):
        sg.solve(TOY, rule, gamma=1)
    with pytest.raises(UsageError, match="option deep=maybe: need true or false"):
        sg.solve(TOY, rule, deep="maybe")


def test_a_schedule_may_be_an_object_data_or_a_solution(good: dict[str, Any]) -> None:
    def as_schedule(instance: Any) -> Any:
        from schedgap.models.hare.baselines.srtf import srtf

        return srtf(instance)

    def as_solution(instance: Any) -> Any:
        import schedgap

        return schedgap.solve(instance, "srtf")

    values = {sg.solve(TOY, each).objective for each in (as_schedule, as_solution, lambda _: good)}
    assert values == {sg.solve(TOY, "srtf").objective}


def test_a_comparison_shows_own_methods_beside_the_others(good: dict[str, Any]) -> None:
    def my_rule(instance: Any, *, beta: int = 2) -> Any:
        return good

    other = sg.own(functools.partial(my_rule, beta=5), name="other")
    run = sg.compare([TOY], methods=["lp", my_rule, other, "srtf"])
    rows = {row["label"]: row for row in run.table().to_dict("records")}
    assert set(rows) == {"time-indexed-lp", "my_rule", "other", "srtf"}
    assert rows["my_rule"]["ratio_low"] == rows["srtf"]["ratio_low"] >= 1
    assert rows["my_rule"]["result"] == "feasible" and run.contradictions == []
    assert "Your own my_rule is" in " ".join(run.headline())
    assert "paper’s algorithm my_rule" not in " ".join(run.headline())
    assert run.verify() == []


def test_a_run_without_a_folder_lasts_as_long_as_its_object(good: dict[str, Any]) -> None:
    run = sg.compare([TOY], methods=[lambda instance: good])
    folder = run.folders[0].path
    assert folder.is_dir() and len(run) == 1
    del run
    gc.collect()
    assert not folder.exists()


def test_a_changed_function_is_another_method(good: dict[str, Any], tmp_path: Path) -> None:
    def rule(schedule: dict[str, Any]) -> Any:
        def inner(instance: Any) -> Any:
            return schedule

        return inner

    first = sg.compare([TOY], run=tmp_path / "r", methods=[rule(good)])
    again = sg.compare([TOY], run=tmp_path / "r", methods=[rule(dict(good))])
    assert [each.key for each in again.records] == [each.key for each in first.records]
    moved = [{**each, "start": each["start"] + 100} for each in good["assignments"]]
    changed = sg.compare([TOY], run=tmp_path / "r", methods=[rule({"assignments": moved})])
    assert len(changed.records) == 1 and len(changed.older) == 1
    objectives = [each.records[0].solution.objective for each in (first, changed)]
    assert objectives[1] > objectives[0]
    with pytest.raises(UsageError, match="two different methods are named 'inner'"):
        sg.compare([TOY], methods=[rule(good), rule({"assignments": moved})])


def test_names_of_the_family_are_refused() -> None:
    def srtf(instance: Any) -> Any:
        return None

    with pytest.raises(UsageError, match=r"'srtf' is a method of family hare.*name='my-srtf'"):
        sg.solve(TOY, srtf)
    with pytest.raises(UsageError, match="name 'a b': need letters"):
        sg.own(srtf, name="a b")


# --- hashes ----------------------------------------------------------------------------------


def _made(text: str, **known: Any) -> Any:
    exec(text, known)
    return known["f"]


def test_the_hash_of_a_function_covers_what_it_refers_to() -> None:
    text = "def f(x, k=1):\n    return helper(x) + table[0] + k"
    helper = _made("def f(x): return x + 1")
    base = function_hash(_made(text, helper=helper, table=[1, {"a": 2}]))[0]
    assert base == function_hash(_made("# moved\n\n" + text, helper=helper, table=[1, {"a": 2}]))[0]
    for other in (
        _made(text.replace("+ k", "- k"), helper=helper, table=[1, {"a": 2}]),
        _made(text.replace("k=1", "k=2"), helper=helper, table=[1, {"a": 2}]),
        _made(text, helper=_made("def f(x): return x + 2"), table=[1, {"a": 2}]),
        _made(text, helper=helper, table=[1, {"a": 3}]),
        _made(text, helper=len, table=[1, {"a": 2}]),
    ):
        assert function_hash(other)[0] != base
    loop: list[Any] = []
    loop.append(loop)
    assert function_hash(_made("def f(x): return f(loop)", loop=loop))[0]


def test_the_hash_of_a_function_covers_classes_arrays_and_partials() -> None:
    import numpy as np

    def code(value: Any) -> str:
        return function_hash(lambda instance: value)[0]

    class Rule:
        factor = 2

        def __call__(self, instance: Any) -> Any:
            return self.factor

    first = function_hash(Rule())[0]
    Rule.factor = 3
    assert function_hash(Rule())[0] != first
    assert code(np.arange(3)) == code(np.arange(3)) != code(np.arange(4))
    assert code({"a", "b"}) == code({"b", "a"}) != code({"a"})
    assert code(functools.partial(max, 1)) != code(functools.partial(max, 2))
    assert code(TOY) == code(TOY.replace(name="renamed")) != code(Rule)


def test_the_hash_of_a_function_covers_what_is_easily_forgotten() -> None:
    def code(text: str, **known: Any) -> str:
        return function_hash(_made(text, **known))[0]

    assert code("def f(x, *, k=1): return k") != code("def f(x, *, k=2): return k")
    nested = "def f(x): return [helper(y) for y in x]"
    plus, minus = (_made(f"def f(x): return x {sign} 1") for sign in "+-")
    assert code(nested, helper=plus) != code(nested, helper=minus)
    one, two = type("Base", (), {"factor": 1}), type("Base", (), {"factor": 2})
    rules = [
        type("Rule", (base,), {"__call__": lambda self, x: self.factor}) for base in (one, two)
    ]
    assert code("def f(x): return rule()(x)", rule=rules[0]) != code(
        "def f(x): return rule()(x)", rule=rules[1]
    )
    up, down = (functools.partial(sorted, reverse=reverse) for reverse in (False, True))
    assert function_hash(up)[0] != function_hash(down)[0]
    assert _digest([b"ab", b"c"]) != _digest([b"a", b"bc"])


def test_the_hash_of_a_file_covers_the_modules_of_a_package_beside_it(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    file, part = tmp_path / "mine.py", tmp_path / "parts/rule.py"
    file.write_text("from parts import rule\n")
    part.write_text("WEIGHT = 1\n")
    before = file_hash(file)
    part.write_text("WEIGHT = 2\n")
    assert file_hash(file) != before


def test_the_hash_of_a_file_covers_what_it_imports_beside_it(here: Path) -> None:
    before = file_hash(here / "mine.py")
    (here / "other.py").write_text("x = 1\n")
    assert file_hash(here / "mine.py") == before
    (here / "helper.py").write_text("import pack.inner\n")
    one = file_hash(here / "mine.py")
    (here / "pack").mkdir()
    (here / "pack" / "__init__.py").write_text("")
    (here / "pack" / "inner.py").write_text("from mine import my_rule\n")
    two = file_hash(here / "mine.py")
    assert len({before, one, two}) == 3


def test_the_hash_of_a_command_covers_its_files(here: Path) -> None:
    first = command_hash(["python", "mine.py", "--fast"])
    assert first != command_hash(["python", "mine.py"])
    Path("mine.py").write_text("changed")
    assert command_hash(["python", "mine.py", "--fast"]) != first


# --- files and commands ----------------------------------------------------------------------


def test_methods_are_read_from_texts(here: Path) -> None:
    choice = Choice.read("fast=./mine.py:my_rule:beta=3")
    assert choice.own is not None and choice.method == "fast"
    assert choice.settings == (("beta", "3"),)
    assert [option.name for option in choice.own.options] == ["beta"]
    assert choice.own.offered == ("seed",)
    assert Choice.read("cmd:python -c 1").method == "python"
    for text, message in {
        "mine.py:nothing": "mine.py: has no function 'nothing'",
        "none.py:rule": "none.py: no such file",
        "mine.py:my_rule:beta": "need FILE.py:FUNCTION",
        "cmd:": "cmd: need a program",
        "cmd:'": "no closing quotation",
        "mine.py": "mine.py: need FILE.py:FUNCTION",
    }.items():
        with pytest.raises(SchedgapError, match=message):
            sg.solve(TOY, text)


def test_the_command_line_takes_files_and_commands(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = 'cmd:python -B -c "import json,helper,sys; print(json.dumps(helper.GOOD))"'
    methods = f"srtf,./mine.py:my_rule,b=./mine.py:my_rule:beta=3,{command}"
    assert command_line(["compare", "toy.json", "--methods", methods, "--run", "r"]) == 0
    run = sg.Run("r")
    assert {each.label for each in run.records} == {"srtf", "my_rule", "b:beta=3.0", "python"}
    assert {each.outcome for each in run.records} == {"done"}
    assert not list(here.glob("**/__pycache__"))
    capfd.readouterr()
    assert command_line(["compare", "toy.json", "--methods", "./mine.py:my_rule"]) == 0
    assert "not stored: --run DIR keeps the results" in capfd.readouterr().out
    solved = ["solve", "toy.json", "--method", "./mine.py:my_rule"]
    assert command_line([*solved, "--set", "beta=-1"]) == 2
    assert "method my_rule: AssertionError: -1.0 (mine.py, line 5)" in capfd.readouterr().err
    assert command_line([*solved, "--set", "beta=1", "--out", "a.json"]) == 0
    assert command_line(["verify", "toy.json", "a.json"]) == 0
    Path("mine.py").write_text("def my_rule(instance):\n    return {'assignments': []}\n")
    assert command_line(solved) == 1
    assert "breaks V2" in capfd.readouterr().err
    assert command_line([*solved[:2], "--method", "cmd:./absent"]) == 2
    assert "no program './absent'" in capfd.readouterr().err


def test_a_generator_fills_the_curve(good: dict[str, Any]) -> None:
    late = {"assignments": [{**each, "start": each["start"] + 9} for each in good["assignments"]]}

    def stream(instance: Any) -> Iterator[Any]:
        yield late
        yield good
        yield late

    heard: list[Any] = []
    solution = sg.solve(TOY, stream, on_message=heard.append)
    assert solution.objective == sg.solve(TOY, "srtf").objective
    assert [point[1] for point in solution.progress][-2:] == [solution.objective] * 2
    assert [each[0] for each in heard] == ["incumbent"] * 3 and heard[0][2] > heard[1][2]


def test_own_code_runs_in_processes_of_its_own(good: dict[str, Any]) -> None:
    def spoils(instance: Any) -> Any:
        from schedgap.models.hare import rules

        rules.check.__code__ = (lambda instance, schedule, options: iter(())).__code__
        return {"assignments": [], "pid": os.getpid()}

    for _ in range(2):
        with pytest.raises(SchedgapError, match="breaks V"):
            sg.solve(TOY, spoils)
    run = sg.compare([TOY], methods=[spoils, "srtf"])
    assert {each.method: each.outcome for each in run.records} == {
        "spoils": "invalid", "srtf": "done",
    }  # fmt: skip
