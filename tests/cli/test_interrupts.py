"""Ctrl-C keeps what was found, says what is kept and how to go on, and gives exit code 130."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import schedgap as sg

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGINT and a pseudo terminal")
PATIENCE = 120.0  # seconds after which a test gives up; none should come near
SLOW = """
import time

def rule(instance):
    place = 0
    yield {{"assignments": {plan!r}}}
    time.sleep(600)
"""


class Started:
    """A command that shows its progress, because its standard error is a terminal."""

    def __init__(self, *arguments: object, cwd: Path) -> None:
        self.terminal, inner = os.openpty()
        command = [sys.executable, "-m", "schedgap", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, cwd=cwd, stdout=subprocess.PIPE, stderr=inner, text=True
        )
        os.close(inner)
        self.said = ""

    def wait_for(self, happened: Callable[[str], bool]) -> None:
        """Read the standard error until something has happened."""
        os.set_blocking(self.terminal, False)
        until = time.monotonic() + PATIENCE
        while not happened(self.said):
            assert self.process.poll() is None and time.monotonic() < until, self.said
            try:
                self.said += os.read(self.terminal, 1 << 16).decode(errors="replace")
            except BlockingIOError:
                time.sleep(0.02)

    def interrupted(self, times: int = 1) -> tuple[int, str, str]:
        """Send SIGINT; return exit code, standard output and the last line of standard error."""
        for place in range(times):
            time.sleep(0.1 * bool(place))
            self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=PATIENCE)
        text = ""
        os.set_blocking(self.terminal, True)
        try:
            while part := os.read(self.terminal, 1 << 16):
                text += part.decode(errors="replace")
        except OSError:  # the other end of a pseudo terminal is closed
            pass
        os.close(self.terminal)
        assert "Traceback" not in text
        lines = [line for line in text.splitlines() if "schedgap: " in line]
        return self.process.returncode, out, lines[-1].partition("schedgap: ")[2] if lines else ""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    running: list[Started] = []

    def start(*arguments: object) -> Started:
        running.append(Started(*arguments, cwd=tmp_path))
        return running[-1]

    yield start
    for each in running:
        each.process.kill()
        each.process.wait()


def _instance(place: Path) -> sg.Instance:
    instance = sg.generate("hare", preset="small", seed=1)
    place.joinpath("small.json").write_text(json.dumps(instance.to_data()))
    plan = sg.solve(instance, "srtf").schedule["assignments"]
    place.joinpath("mine.py").write_text(SLOW.format(plan=plan))
    return instance


@pytest.mark.parametrize("times", [1, 3])
def test_solve_keeps_the_best_schedule(
    started: Callable[..., Started], tmp_path: Path, times: int
) -> None:
    instance = _instance(tmp_path)
    command = started("solve", "small.json", "--method", "./mine.py:rule", "--out", "a.json")
    command.wait_for(lambda said: "incumbent" in said)
    code, out, line = command.interrupted(times)
    assert code == 130 and "feasible" in out
    assert line == (
        "interrupted: the schedule found so far, kept in a.json; the same command starts anew"
    )
    kept = sg.load_solution(tmp_path / "a.json", instance)
    assert kept.status == "feasible" and kept.trace["stopped"] == "interrupted"
    assert sg.verify(instance, kept)


def test_solve_without_a_file_says_so(started: Callable[..., Started], tmp_path: Path) -> None:
    _instance(tmp_path)
    command = started("solve", "small.json", "--method", "./mine.py:rule")
    command.wait_for(lambda said: "incumbent" in said)
    code, _, line = command.interrupted()
    assert code == 130 and "not kept: give --out FILE" in line


@pytest.mark.parametrize(("kept", "times"), [(True, 1), (True, 3), (False, 1)])
def test_compare_says_that_the_same_command_continues(
    started: Callable[..., Started], tmp_path: Path, kept: bool, times: int
) -> None:
    _instance(tmp_path)
    run = ("--run", "r") if kept else ()
    command = started(
        "compare", "small.json", "--methods", "srtf,./mine.py:rule", "--time-limit", 900,
        "--workers", 1, *run,
    )  # fmt: skip
    command.wait_for(lambda said: "1/2" in said)
    code, _, line = command.interrupted(times)
    lost = "schedules and bounds of unfinished tasks are lost"
    end = f"kept in r; {lost}; the same command continues" if kept else "stored: give --run DIR"
    assert code == 130 and line.startswith("interrupted: ") and line.endswith(end)


@pytest.mark.parametrize("kept", [True, False])
def test_worst_case_keeps_what_it_found(
    started: Callable[..., Started], tmp_path: Path, kept: bool
) -> None:
    out = ("--out", "worst") if kept else ()
    command = started(
        "worst-case", "ring", "--method", "list-scheduling", "--jobs", 3, "--time-limit", 2000, *out
    )
    command.wait_for(lambda said: "worst ratio 1" in said)
    code, _, line = command.interrupted()
    assert code == 130 and re.match(r"interrupted: ratio [1-9]", line)
    if kept:
        assert line.endswith("is kept in worst/instance.json; the same command continues")
        assert sg.load(tmp_path / "worst" / "instance.json").family == "ring"
        assert json.loads((tmp_path / "worst" / "search.json").read_text())["chains"][0]["best"]
    else:
        assert line.endswith("not certified; not kept: give --out DIR")


def test_compare_without_a_result_does_not_say_that_one_is_kept(
    started: Callable[..., Started], tmp_path: Path
) -> None:
    _instance(tmp_path)
    command = started("compare", "small.json", "--methods", "./mine.py:rule", "--run", "r")
    command.wait_for(lambda said: "0/1" in said)
    code, _, line = command.interrupted()
    assert code == 130 and line == (
        "interrupted: no task is done; schedules and bounds of unfinished tasks are lost"
    )
