"""The command `compare` as a process: signals, pipes, and the kinds of failures to run again."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from toy_family import toy

from schedgap.analysis.records.folder import FAILURES
from schedgap.cli import run
from schedgap.cli.entry import _with_retry
from schedgap.instances.records import write_json
from schedgap.show import RETRIES
from schedgap.show.runs import LINES

HERE = str(Path(__file__).parent)
COMMAND = """
import sys; sys.path.insert(0, {here!r})
import toy_family; toy_family.register()
from schedgap.cli import main
main()
"""


def words(folder: Path, *arguments: str) -> list[str]:
    file = folder / "down.json"
    write_json(file, toy(6, 4, 2, name="down").to_data())
    return ["compare", str(file), "--run", str(folder / "r"), "--workers", "2", *arguments]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_sigterm_ends_cleanly_and_keeps_what_is_finished(tmp_path: Path) -> None:
    """As a batch system sends it: also to the child processes, which must not look like crashes."""
    names = "first,first:pause=60,first:pause=61"
    line = [sys.executable, "-c", COMMAND.format(here=HERE)]
    line += words(tmp_path, "--methods", names, "--time-limit", "90")
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        tasks = tmp_path / "r/tasks"
        end = time.monotonic() + 60
        while not (tasks.is_dir() and any(tasks.glob("[!.]*.json"))) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        below = psutil.Process(process.pid).children(recursive=True)
        for each in (*below, process):
            each.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 143
    assert below and psutil.wait_procs(below, timeout=5)[1] == []
    assert said.splitlines()[-1] == "schedgap: terminated (SIGTERM); what was finished is kept"
    assert [json.loads(file.read_text())["label"] for file in tasks.glob("[!.]*.json")] == ["first"]
    assert list(tasks.glob(".*")) == []  # no claim


def test_on_a_pipe_each_finished_task_is_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words(tmp_path, "--methods", "exact,fails")) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "schedgap: 0 of 2 tasks are done"
    assert {line.partition(" down: ")[2].partition(" s")[0][:15] for line in lines[1:3]} == {
        "scan: optimal, ", "fails: error"
    }  # fmt: skip
    assert {line.split()[1] for line in lines[1:3]} == {"1/2", "2/2"}


def test_on_a_pipe_many_tasks_have_few_lines_and_each_failure_has_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"t{n}.json" for n in range(11)]
    for n, file in enumerate(files):
        write_json(file, toy(n + 1, name=file.stem).to_data())
    assert run(words(tmp_path, "--methods", "first,fails", *map(str, files[1:]))) == 0
    said = capsys.readouterr().err.splitlines()
    lines = [line.removeprefix("schedgap: ") for line in said]
    progress = [line for line in lines if line.endswith("of 22 tasks are done")]
    assert len(progress) == 1 + LINES and [progress[0], progress[-1]] == [
        "0 of 22 tasks are done", "22 of 22 tasks are done"
    ]  # fmt: skip
    assert sum(line.endswith(" fails: error") for line in lines) == 11
    assert not any(": scan: " in line or ": first: " in line for line in lines)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--retry", "a.json"], ["--retry", "all", "a.json"]),
        (["a.json", "--retry"], ["a.json", "--retry", "all"]),
        (["--retry", "--json"], ["--retry", "all", "--json"]),
        (["--retry", "timeout", "a.json"], ["--retry", "timeout", "a.json"]),
        (["--retry", "timeout,crash"], ["--retry", "timeout,crash"]),
        (["--retry=memory", "a.json"], ["--retry=memory", "a.json"]),
        (["--retry", "quick"], ["--retry", "all", "quick"]),
        (["--retry", "toy-figures"], ["--retry", "all", "toy-figures"]),
        (["--retry", "runs/instances"], ["--retry", "all", "runs/instances"]),
        (["--retry", "tests"], ["--retry", "all", "tests"]),
        (["--retry", "sometimes", "a.json"], ["--retry", "sometimes", "a.json"]),
        (["--retry", "timeout,never", "a.json"], ["--retry", "timeout,never", "a.json"]),
    ],
)
def test_retry_without_a_kind_means_all(
    given: list[str], meant: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()
    assert _with_retry(given) == meant
    assert {*FAILURES, "all"} == RETRIES


def test_an_unknown_kind_of_failure_is_refused_with_the_kinds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "down.json"
    write_json(file, toy(6, 4, 2, name="down").to_data())
    assert run(["compare", "--retry", "sometimes", str(file), "--run", str(tmp_path / "r")]) == 2
    kinds = "timeout, memory, crash, invalid, error, all"
    assert capsys.readouterr().err == f"schedgap: retry 'sometimes': choose from {kinds}\n"
    assert not (tmp_path / "r").exists()
