"""Worst cases of methods of the user's own: functions, files, failures."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

import schedgap as sg
from schedgap.analysis.studies import scores
from schedgap.analysis.studies.scores import Evaluator
from schedgap.analysis.studies.targets import Target, target_of
from schedgap.errors import InputError, UsageError

FEW: dict[str, Any] = {"jobs": 3, "evaluations": 8, "time_limit": None, "shrink": False}


def fifo(instance: Any) -> Any:
    """Return the schedule of a baseline of the family."""
    from schedgap.models.family import family
    from schedgap.models.method import Budget, NullProgress, RunContext

    owner = family("ring")
    method = owner.method("list-scheduling")
    call = RunContext(method.parse({}), None, Budget(), NullProgress())
    return owner.run(method, instance, call).schedule


def sleeps(instance: Any) -> Any:
    time.sleep(30)


def vanishes(instance: Any) -> Any:
    os._exit(3)


def fails(instance: Any) -> Any:
    raise KeyError("J1")


def nothing(instance: Any) -> Any:
    return {"jobs": []}


def anytime(instance: Any) -> Any:
    yield fifo(instance)
    time.sleep(30)


def target(rule: Any) -> Target:
    return target_of("ring", rule, "exact", None, None, None, 3, (), 0, {})


def test_an_own_method_has_the_worst_case_of_what_it_does(tmp_path: Path) -> None:
    found = sg.worst_case("ring", fifo, out=tmp_path / "find", seed=3, **FEW)
    named = sg.worst_case("ring", "list-scheduling", seed=3, **FEW)
    assert found.score == named.score
    assert found.curve == named.curve
    assert found.solution.method == "fifo"
    assert sg.verify(found.instance, found.solution)
    data = json.loads((tmp_path / "find" / "find.json").read_text())
    assert data["target"]["code"] == sg.own(fifo).code
    assert (tmp_path / "find" / "fifo.json").exists()
    with pytest.raises(InputError, match="belongs to another search"):
        sg.worst_case("ring", sg.own(sleeps, name="fifo"), out=tmp_path / "find", seed=3, **FEW)


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (sleeps, "method sleeps needs more than 1 s"),
        (anytime, "method anytime needs more than 1 s"),
        (vanishes, "method vanishes: exit code 3"),
        (fails, "method fails: KeyError: 'J1' (test_worst_case_own.py, line "),
        (nothing, "returned a schedule that breaks"),
    ],
)
def test_a_failure_is_no_find(rule: Any, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "_METHOD_SECONDS", 1.0)
    evaluator = Evaluator(target(rule))
    instance = sg.generate("ring", preset="toy-pcmax")
    assert evaluator.score(instance) is None
    assert len(evaluator.faults) == 1
    assert fault in evaluator.faults[0]


def test_a_method_that_always_fails_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"no instance found on which fails .* KeyError: 'J1'"):
        sg.worst_case("ring", fails, **FEW)


def test_an_own_method_is_compared_with_others() -> None:
    found = sg.worst_case("ring", "list-scheduling", against=fifo, **FEW)
    assert found.ratio.exact and found.ratio.low == 1
    assert [each.method for each in found.references] == ["fifo"]
    table = sg.worst_grid("ring", ["lpt-pack", fifo], jobs=3, evaluations=8, time_limit=None)
    assert list(table.columns) == list(table.index) == ["lpt-pack", "fifo"]
    assert table.loc["fifo", "lpt-pack"] >= 1
    with pytest.raises(UsageError, match="two methods have the name 'fifo'"):
        sg.worst_case("ring", fifo, against=sg.own(nothing, name="fifo"))
    with pytest.raises(UsageError, match="guarantee theorem_5 is a claim on sjf-bco, not on fifo"):
        sg.worst_case("ring", fifo, guarantee="theorem_5")
    with pytest.raises(UsageError, match="no option 'beta'"):
        sg.worst_case("ring", fifo, beta=1)


@pytest.mark.parametrize(
    ("name", "other", "files"),
    [("search", "Instance", ["search-2", "Instance-2"]), ("x", "x", ["x", "x-2"])],
)
def test_no_method_takes_the_file_of_another(
    name: str, other: str, files: list[str], tmp_path: Path
) -> None:
    rule, against = sg.own(fifo, name=name), sg.own(fifo, name=other)
    for _ in range(2):  # the second time the search is continued
        found = sg.worst_case("ring", rule, against=against, out=tmp_path, **FEW)
        assert sg.load(tmp_path / "instance.json") == found.instance
        for file, method in zip(files, (name, other), strict=True):
            stored = sg.load_solution(tmp_path / f"{file}.json", found.instance)
            assert stored.method == method
    assert "instance" in found.facts() and "seed 0" in found.facts()["search"]


def test_a_file_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from schedgap.cli import app

    monkeypatch.chdir(tmp_path)
    source, head = Path(__file__).read_text(), "from typing import Any\n"
    function = source[source.index("def fifo") : source.index("def sleeps")]
    (tmp_path / "mine.py").write_text(head + function)
    words = "worst-case ring --jobs 3 --evaluations 4 --time-limit 60 --json".split()  # noqa: SIM905
    reply = CliRunner().invoke(app, [*words, "--method", "./mine.py:fifo"])
    assert reply.exit_code == 0, reply.output
    assert json.loads(reply.stdout)["target"]["method"] == "fifo"
    grid = CliRunner().invoke(app, [*words, "--method", "lpt-pack,mine.py:fifo", "--grid"])
    assert json.loads(grid.stdout)["fifo"]["lpt-pack"] >= 1
