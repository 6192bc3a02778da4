"""Every error is one line that names file, path and reason, and the right exit code."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
GOOD = {
    "family": "hare", "version": 1, "name": "n", "meta": {"time_unit": "s"},
    "gpu_kinds": [{"id": "k"}], "gpus": [{"id": "g", "kind": "k"}],
    "jobs": [
        {"id": "a", "arrival": 0, "weight": 1, "rounds": 1, "tasks_per_round": 1,
         "training_time": {"k": 1}},
        {"id": "b", "arrival": 0, "weight": 1, "rounds": 1, "tasks_per_round": 1,
         "training_time": {"k": 2}},
    ],
}  # fmt: skip
TEXT = json.dumps(GOOD)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXT[:50], "line 1 column 47: not JSON: unterminated string"),
        ("", "line 1 column 1: not JSON"),
        ("[]", "need one JSON object"),
        (TEXT + " x", "not JSON: extra data"),
        (TEXT.replace('"arrival": 0', '"arrival": NaN', 1), "jobs[0].arrival: not a finite number"),
        (TEXT.replace('"arrival": 0', '"arrival": 1e999', 1), "jobs[0].arrival: not a finite"),
        (TEXT.replace('"arrival": 0', '"arrival": -1', 1), "jobs[0].arrival: must be >= 0"),
        (TEXT.replace('"arrival": 0', '"arrival": true', 1), "jobs[0].arrival: need a number"),
        (TEXT.replace('"arrival": 0', '"arrival": "0"', 1), "jobs[0].arrival: need a number"),
        (TEXT.replace('"arrival": 0', '"arrival": 1e300', 1), "jobs[0].arrival: too large"),
        (TEXT.replace('"rounds": 1', '"rounds": 1' + "0" * 30, 1), "jobs[0].rounds: too large"),
        (
            TEXT.replace('"rounds": 1', '"rounds": 1' + "0" * 5000, 1),
            "jobs[0].rounds: number too large",
        ),
        (TEXT.replace('"id": "b"', '"id": "a"'), "jobs[1].id: duplicate id 'a'"),
        (TEXT.replace('"weight"', '"wieght"', 1), "jobs[0].wieght: unknown key: did you mean"),
        (TEXT.replace('"weight": 1', '"weight": 1, "weight": 2', 1), "jobs[0].weight: duplicate"),
        (TEXT.replace('"kind": "k"', '"kind": "A100"'), "gpus[0].kind: unknown kind 'A100'"),
        (TEXT.replace('{"k": 2}', '{"V100": 2}'), "jobs[1].training_time.V100: unknown GPU"),
        (TEXT.replace('"hare"', '"hair"'), "family: unknown family"),
        (TEXT.replace('"name": "n"', '"name": "\\ud800"'), "name: not valid Unicode"),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ],
)
@pytest.mark.parametrize("command", ["solve", "compare"])
def test_a_broken_instance_is_named_in_one_line(
    schedgap: Call, tmp_path: Path, command: str, content: str | bytes, message: str
) -> None:
    file = tmp_path / "broken.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    more = ("--run", tmp_path / "r") if command == "compare" else ()
    done = schedgap(command, file, *more)
    assert done.code == 2 and done.out == ""
    assert done.line.startswith(f"{file}: ") and message in done.line
    assert not (tmp_path / "r").exists()


def test_a_file_that_cannot_be_read(schedgap: Call, tmp_path: Path) -> None:
    missing = tmp_path / "no.json"
    done = schedgap("solve", missing)
    assert done.code == 2
    assert done.line == f"{missing}: cannot be read: no such file or directory"
    done = schedgap("solve", tmp_path)
    assert done.code == 2
    assert done.line == f"{tmp_path}: cannot be read: is a directory"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "secnd"), "family toy has no method 'secnd'"),
        (("--engine", "cplex"), "method scan uses no engine, not 'cplex'"),
        (("--set", "pause"), "--set pause: need KEY=VALUE"),
        (("--set", "=3"), "--set =3: need KEY=VALUE"),
        (("--method", "first", "--set", "pause=1", "--set", "pause=2"), "--set pause: given twice"),
        (("--method", "first", "--set", "pause=-1"), "option pause=-1: need a number >= 0"),
        (("--method", "first", "--set", "speed=1"), "method first has no option 'speed'"),
        (("--method", "picky"), "method picky: needs three values"),
        (("--method", "too-fine"), "values: too fine for the integer scale"),
        (("--time-limit", "0"), "time limit 0.0: need a number > 0"),
        (("--time-limit", "-3"), "time limit -3.0: need a number > 0"),
        (("--time-limit", "nan"), "time limit nan: need a number > 0"),
        (("--time-limit", "soon"), "Invalid value for '--time-limit'"),
        (("--memory-limit", "0"), "memory limit 0.0: need a number > 0"),
        (("--seed", "-1"), "seed -1: need an integer from 0"),
        (("--speed", "3"), "no option '--speed'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    schedgap: Call, toy_file: Call, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = schedgap("solve", toy_file(3, 1), "--out", tmp_path / "a.json", *arguments)
    assert done.code == 2 and done.out == "" and message in done.line
    assert not (tmp_path / "a.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("solve",), "Missing argument 'INSTANCE'"),
        (("nonsense",), "No such command 'nonsense'"),
        (("methods", "hair"), "no family 'hair': choose one of hare"),
        (("methods", "hair"), "(did you mean 'hare'?)"),
        (("generate", "hare", "--preset", "smal", "--out", "x"), "(did you mean 'small'?)"),
        (("generate", "hare", "--seeds", "3-1", "--out", "d"), "need at least one number"),
        (("generate", "hare", "--seeds", "1-2,2", "--out", "d"), "each only once"),
        (("generate", "hare", "--seeds", "x", "--out", "d"), "need numbers such as 1-20"),
        (("schema", "hair"), "no family 'hair'"),
        (("generate", "hair", "--out", "x.json"), "no family 'hair'"),
        (("generate", "hare", "--preset", "tiny", "--out", "x.json"), "has no preset 'tiny'"),
        (("generate", "hare", "--set", "jbos=3", "--out", "x.json"), "has no setting 'jbos'"),
        (("generate", "hare"), "Missing option '--out'"),
        (("compare", "slow", "--run", "r"), "slow: cannot be read: no such file"),
        (("compare", "quick", "--run", "r", "--workers", "0"), "workers 0: need an integer >= 1"),
        (("compare", "quick", "--run", "r", "--methods", "fastest"), "has no method 'fastest'"),
    ],
)
def test_wrong_command_lines(
    schedgap: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = schedgap(*arguments)
    assert done.code == 2 and done.out == "" and message in done.line
    assert os.listdir(tmp_path) == []


def test_an_engine_that_is_not_installed_is_exit_5(schedgap: Call, toy_file: Call) -> None:
    done = schedgap("solve", toy_file(3, 1), "--method", "absent")
    assert (done.code, done.line) == (
        5, "engine absent is not installed: pip install 'schedgap[absent]'",
    )  # fmt: skip


def test_a_contradiction_is_exit_70_and_writes_nothing(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    for method, message in (("broken", "breaks V1"), ("liar", "lies past")):
        out = tmp_path / "a.json"
        done = schedgap("solve", toy_file(3, 1), "--method", method, "--out", out, "--json")
        assert (done.code, done.out) == (70, "")
        assert done.line.startswith(f"contradiction: method {method}") and message in done.line
        assert not out.exists()


def test_a_bug_is_one_line_and_a_traceback_when_asked_for(
    schedgap: Call, toy_file: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = schedgap("solve", toy_file(3, 1), "--method", "fails")
    assert done.code == 2  # the fault of another package
    assert done.line.startswith("family toy: method fails: ValueError: a bug of ours (toy_family")
    monkeypatch.setattr("schedgap.analysis.runners.runner.OWN", ("toy",))
    done = schedgap("solve", toy_file(3, 1), "--method", "fails")
    assert done.code == 70
    assert done.line.startswith("internal error: RuntimeError: method fails failed: ValueError")
    monkeypatch.setenv("SCHEDGAP_DEBUG", "1")
    done = schedgap("solve", toy_file(3, 1), "--method", "fails")
    assert "Traceback" in done.err and "toy_family.py" in done.err


@pytest.mark.parametrize("place", ["no-such-directory/a.json", "directory"])
def test_a_file_that_cannot_be_written_is_refused_before_solving(
    schedgap: Call, toy_file: Call, tmp_path: Path, place: str
) -> None:
    (tmp_path / "directory").mkdir()
    log = tmp_path / "log"
    out = tmp_path / place
    line = ("solve", toy_file(3, 1), "--method", "first", "--set", f"log={log}", "--out", out)
    done = schedgap(*line)
    assert done.code == 2 and done.line.startswith(f"{out}: cannot be written: ")
    assert not log.exists()


def test_a_message_stays_on_one_line(schedgap: Call, tmp_path: Path) -> None:
    hostile = tmp_path / "a\nb\x1b[31m.json"
    hostile.write_text('{"family": "hare", "\\n\\u001b[2J": 1}')
    done = schedgap("solve", hostile)
    assert done.code == 2 and "\x1b" not in done.line


def test_solutions_that_are_none(schedgap: Call, toy_file: Call, tmp_path: Path) -> None:
    file, out = toy_file(3, 1), tmp_path / "a.json"
    schedgap("solve", file, "--out", out)
    data = json.loads(out.read_text())
    for changed, message in (
        ({"family": "hare"}, "family: a solution of family hare"),
        ({"instance_sha256": "1" * 64}, "instance_sha256: not a solution of this instance ('t')"),
        ({"status": "done"}, "status: must be 'optimal', 'feasible'"),
        ({"bounds": 3}, "bounds: unknown key: did you mean 'bound'?"),
        ({"seconds": -1}, "seconds: must be >= 0"),
        ({"schedule": 7}, "schedule.place: missing key"),
    ):
        out.write_text(json.dumps(data | changed))
        done = schedgap("verify", file, out)
        assert done.code == 2 and done.line.startswith(f"{out}: {message}")


def test_export_says_which_programs_there_are(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    done = schedgap("export", toy_file(3, 1), "--model", "milp", "--out", tmp_path / "a.lp")
    assert done.code == 2 and "family toy has no program 'milp': choose one of none" in done.line
