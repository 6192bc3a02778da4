"""Methods of the user's own that fail in every way: each is an outcome of its task."""

import json
import os
import random
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

import schedgap as sg
from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.performing import execute_task, new_task
from schedgap.analysis.records.folder import TaskRecord
from schedgap.analysis.runners.request import Limits
from schedgap.analysis.solving.choices import Choice
from schedgap.errors import InvalidScheduleError, OwnMethodError, UsageError
from schedgap.instances.records import validate

TOY = sg.generate("hare", preset="small", seed=1, settings={"jobs": 2})
GOOD: dict[str, Any] = {}
Rule = Callable[[Any], Any]
posix = pytest.mark.skipif(os.name == "nt", reason="processes are those of POSIX")


@pytest.fixture(scope="module", autouse=True)
def _good() -> None:
    GOOD.update(sg.solve(TOY, "srtf").schedule)


def outcome(
    rule: Any, *, seconds: float = 20.0, memory: float | None = None, **options: object
) -> TaskRecord:
    """Return the record of one task."""
    choice = replace(Choice.of(rule), settings=tuple(options.items()))
    task = new_task(TOY, choice, Limits(seconds, memory), None)
    data = execute_task(TOY, task, "session")
    data.pop("proof", None)
    return validate(TaskRecord, data)


def changed(good: Any, **changes: Any) -> dict[str, Any]:
    """Return a schedule whose first task is changed."""
    first, *others = good["assignments"]
    return {"assignments": [{**first, **changes}, *others]}


def endless(instance: Any) -> Any:
    while True:
        time.sleep(0.01)


def spinning(instance: Any) -> Any:
    while True:
        pass


def vanishes(instance: Any) -> Any:
    os._exit(3)


def exits(instance: Any) -> Any:
    sys.exit(3)


def interrupts(instance: Any) -> Any:
    raise KeyboardInterrupt


class Rude(BaseException):
    def __str__(self) -> str:
        raise RuntimeError


def raises_rudely(instance: Any) -> Any:
    raise Rude


def divides(instance: Any) -> Any:
    return 1 / 0


def allocates(instance: Any) -> Any:
    import numpy as np

    return np.ones(100 * 2**30, dtype=np.uint8)


def hoards(instance: Any) -> Any:
    held = []
    while True:
        held.append(bytearray(os.urandom(1)) * (20 << 20))
        time.sleep(0.01)


def cycle(instance: Any) -> Any:
    data: dict[str, Any] = {}
    data["assignments"] = data
    return data


def deep(instance: Any) -> Any:
    data: Any = []
    for _ in range(100_000):
        data = [data]
    return {"assignments": data}


def fairly_deep(instance: Any) -> Any:
    data: Any = []
    for _ in range(200):
        data = [data]
    return {"assignments": data}


FAILURES: dict[str, tuple[Rule, str, str]] = {  # what a function does, its outcome, the message
    "endless": (endless, "timeout", "still running after its limit of 0.2 s"),
    "spinning": (spinning, "timeout", "still running"),
    "vanishes": (vanishes, "crash", "exit code 3"),
    "exits": (exits, "error", "SystemExit: 3 (test_own_failures.py, line "),
    "interrupts": (interrupts, "error", "KeyboardInterrupt"),
    "raises_rudely": (raises_rudely, "error", "Rude"),
    "divides": (divides, "error", "ZeroDivisionError: division by zero"),
    "allocates": (allocates, "memory", ""),
    "cycle": (cycle, "error", "nested too deeply"),
    "deep": (deep, "error", "nested too deeply"),
    "fairly deep": (fairly_deep, "invalid", "nested too deeply"),
    "none": (lambda good: None, "error", "returned None"),
    "text": (lambda good: "schedule", "error", "a value of type str"),
    "list": (lambda good: [1, 2], "error", "a value of type list"),
    "set": (lambda good: {"assignments": {1, 2}}, "error", "no JSON data"),
    "object": (lambda good: {"assignments": [object()]}, "error", "no JSON data"),
    "long": (lambda good: {"assignments": "x" * (65 << 20)}, "error", "more than 32 MB"),
    "empty": (lambda good: {}, "invalid", "assignments"),
    "no tasks": (lambda good: {"assignments": []}, "invalid", "breaks"),
    "null": (lambda good: {"assignments": None}, "invalid", "assignments"),
    "nulls": (lambda good: {"assignments": [None]}, "invalid", "assignments"),
    "job": (lambda good: changed(good, job="J99"), "invalid", "J99"),
    "gpu": (lambda good: changed(good, gpu=True), "invalid", "gpu"),
    "nan": (lambda good: changed(good, start=float("nan")), "invalid", "not a finite number"),
    "inf": (lambda good: changed(good, start=float("inf")), "invalid", "not a finite number"),
    "bool": (lambda good: changed(good, start=True), "invalid", "start"),
    "word": (lambda good: changed(good, start="1"), "invalid", "start"),
    "huge": (lambda good: changed(good, start=10**400), "invalid", "too large"),
    "early": (lambda good: changed(good, start=-1), "invalid", "start"),
    "key": (lambda good: changed(good, unknown=1), "invalid", "unknown"),
    "surrogate": (lambda good: changed(good, job="\ud800"), "invalid", "Unicode"),
}


@pytest.mark.parametrize("what", FAILURES)
def test_every_failure_is_an_outcome_with_a_reason(what: str) -> None:
    actions = {name: action for name, (action, _, _) in FAILURES.items()}
    good = dict(GOOD)

    def fails(instance: Any, *, what: str = "") -> Any:
        return actions[what](good)

    _, expected, message = FAILURES[what]
    record = outcome(fails, seconds=0.2 if expected == "timeout" else 30, what=what)
    assert record.outcome == expected, record.message
    assert message in record.message
    assert record.solution is None or record.solution.objective is None
    assert record.own


def test_slow_growth_is_stopped_at_the_memory_limit() -> None:
    record = outcome(hoards, memory=200)
    assert record.outcome == "memory" and "more than 200 MB" in record.message


def test_a_run_continues_after_failures_and_is_no_contradiction(tmp_path: Path) -> None:
    def wrong(instance: Any) -> Any:
        return {"assignments": []}

    run = compare([TOY], run=tmp_path / "r", methods=["srtf", wrong, divides])
    assert {each.method: each.outcome for each in run.records} == {
        "srtf": "done", "wrong": "invalid", "divides": "error",
    }  # fmt: skip
    assert run.contradictions == [] and run.verify() == []
    assert set(run.ratios()["method"]) == {"srtf"}
    results = {each["label"]: each["result"] for each in run.table().to_dict("records")}
    assert results["wrong"] == "wrong" and results["divides"] == "failed"


def test_solve_raises_errors_that_say_where() -> None:
    with pytest.raises(OwnMethodError, match=r"ZeroDivisionError.*line \d+") as caught:
        sg.solve(TOY, divides)
    assert caught.value.exit_code == 2 and "Traceback" in caught.value.__notes__[0]
    with pytest.raises(InvalidScheduleError, match="returned a schedule that breaks") as invalid:
        sg.solve(TOY, lambda instance: {"assignments": []})
    assert invalid.value.exit_code == 1


def test_a_schedule_of_another_instance_is_invalid() -> None:
    other = sg.generate("hare", preset="small", seed=2)
    found = sg.solve(other, "srtf")

    def elsewhere(instance: Any) -> Any:
        return found

    assert "another instance" in outcome(elsewhere).message
    record = outcome(lambda instance: found.schedule)
    assert record.outcome == "invalid" and record.solution is None


def test_what_cannot_be_sent_to_a_process_is_refused() -> None:
    lock = threading.Lock()
    with pytest.raises(UsageError, match="cannot be sent to another process: TypeError"):
        sg.solve(TOY, lambda instance: lock)
    with pytest.raises(UsageError, match="parameter 'other' needs a default"):
        sg.solve(TOY, lambda instance, other: None)
    with pytest.raises(UsageError, match="parameter 'time_limit' has a name that solve uses"):
        sg.solve(TOY, lambda instance, time_limit=3: None)
    with pytest.raises(UsageError, match="must be a name or a function, not int"):
        sg.solve(TOY, 3)  # type: ignore[arg-type]


def test_a_function_may_close_and_print_what_it_likes(capfd: pytest.CaptureFixture[str]) -> None:
    good = dict(GOOD)

    def noisy(instance: Any) -> Any:
        print("garbage" * 1000)
        os.write(1, b"\0\xff" * 10)
        sys.stderr.write("x" * 100_000)
        return good

    def closing(instance: Any) -> Any:
        sys.stdin.close()
        sys.stdout.close()
        os.close(1)
        return good

    for rule in (noisy, closing, closing):
        assert outcome(rule).outcome == "done"
    assert capfd.readouterr().out == ""


@posix
def test_closing_every_descriptor_is_a_crash() -> None:
    def rude(instance: Any) -> Any:
        os.closerange(0, 100)
        return {}

    assert outcome(rude).outcome == "crash"
    assert outcome(divides).outcome == "error"


def test_global_state_does_not_reach_later_tasks(tmp_path: Path) -> None:
    good = dict(GOOD)
    seen: list[int] = []
    place = str(tmp_path)

    def forgetful(instance: Any) -> Any:
        import random

        seen.append(1)
        os.chdir(place)
        first = random.random()
        random.seed(5)
        return {**good, "seen": [len(seen), first, os.getcwd()]}

    messages = {outcome(forgetful).message for _ in range(3)}
    assert len(messages) == 1 and "seen" in messages.pop()

    def tells(instance: Any) -> Any:
        first = random.random()
        random.seed(9)
        seen.append(1)
        raise ValueError(f"{len(seen)} {first} {os.getcwd()}")

    said = {outcome(tells).message for _ in range(3)}
    assert len(said) == 1 and f"ValueError: 1 {random.Random(0).random()} " in said.pop()


def _runs(pid: int) -> bool:
    """Whether there is a process, and not only a zombie that nobody waits for."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@posix
def test_a_child_of_a_function_does_not_outlive_it(tmp_path: Path) -> None:
    good, place = dict(GOOD), str(tmp_path)

    def forks(instance: Any) -> Any:
        import subprocess

        ended = subprocess.Popen(["sleep", "60"], start_new_session=True)
        with open(f"{place}/pid", "w") as stream:
            stream.write(str(ended.pid))
        return good

    def forks_and_vanishes(instance: Any) -> Any:
        import subprocess

        with open(f"{place}/pid", "w") as stream:
            stream.write(str(subprocess.Popen(["sleep", "60"]).pid))
        os._exit(0)

    for rule, expected in ((forks, "done"), (forks_and_vanishes, "crash")):
        assert outcome(rule).outcome == expected
        pid = int((tmp_path / "pid").read_text())
        end = time.monotonic() + 3
        while _runs(pid) and time.monotonic() < end:
            time.sleep(0.02)
        assert not _runs(pid)


@posix
def test_a_program_dies_with_the_process_that_waits_for_it(tmp_path: Path) -> None:
    command = script(
        tmp_path / "mine",
        f"open({str(tmp_path / 'pid')!r}, 'w').write(f'{{os.getppid()}} {{os.getpid()}}')\n"
        "time.sleep(60)",
    )
    thread = threading.Thread(target=outcome, args=(command,))
    thread.start()
    numbers: list[int] = []
    end = time.monotonic() + 20
    while len(numbers) < 2 and time.monotonic() < end:
        time.sleep(0.05)
        if (tmp_path / "pid").exists():
            numbers = [int(word) for word in (tmp_path / "pid").read_text().split()]
    worker, program = map(psutil.Process, numbers)
    worker.kill()
    gone, alive = psutil.wait_procs([program], timeout=5)
    thread.join()
    assert gone and not alive


@posix
def test_a_copy_of_the_process_has_no_say() -> None:
    good = dict(GOOD)

    def twins(instance: Any) -> Any:
        os.fork()
        return good

    assert [outcome(twins).outcome for _ in range(3)] == ["done"] * 3


def test_a_generator_keeps_its_best_valid_schedule() -> None:
    good = dict(GOOD)

    def stream(instance: Any) -> Iterator[Any]:
        yield {"assignments": []}
        yield good
        yield None

    solution = sg.solve(TOY, stream)
    assert solution.objective == sg.solve(TOY, "srtf").objective
    assert len(solution.progress) == 2 and "breaks" in solution.trace["note"]

    def late(instance: Any) -> Iterator[Any]:
        yield good
        while True:
            time.sleep(0.01)

    record = outcome(late, seconds=0.5)
    assert record.outcome == "timeout" and record.solution is not None
    assert record.solution.objective == solution.objective and len(record.progress) == 2

    def breaks(instance: Any) -> Iterator[Any]:
        yield good
        raise ValueError("no more")

    record = outcome(breaks)
    assert (record.outcome, "no more" in record.message) == ("error", True), record.message
    assert record.solution is not None and record.solution.objective == solution.objective

    def never(instance: Any) -> Iterator[Any]:
        yield {"assignments": []}

    assert outcome(never).outcome == "invalid"


def script(path: Path, text: str) -> str:
    """Write a program and return the command that runs it."""
    path.write_text(f"#!{sys.executable}\nimport json, sys, time, os\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return f"cmd:{path}"


@posix
@pytest.mark.parametrize(
    ("text", "expected", "message"),
    [
        ("json.load(sys.stdin); print(json.dumps(GOOD))", "done", ""),
        ("print('hello')", "invalid", "not JSON"),
        ("print('{\"assignments\": NaN}')", "invalid", "not a finite number"),
        ("pass", "error", "printed nothing"),
        ("sys.stderr.write('too hard\\n'); sys.exit(3)", "error", "exit code 3: too hard"),
        (
            "for part in ('too ', 'hard\\n', '\\n'):\n"
            "    os.write(2, part.encode()); time.sleep(0.05)\nsys.exit(3)",
            "error", "exit code 3: too hard",
        ),
        ("os.kill(os.getpid(), 9)", "error", "killed by SIGKILL"),
        ("time.sleep(60)", "timeout", "still running"),
        ("[sys.stdout.write('x' * 2**20) for _ in range(1024)]", "error", "more than 32 MB"),
    ],
)  # fmt: skip
def test_commands(tmp_path: Path, text: str, expected: str, message: str) -> None:
    command = script(tmp_path / "mine", text.replace("GOOD", repr(json.dumps(GOOD)).join(
        ("json.loads(", ")"))))  # fmt: skip
    record = outcome(command, seconds=1.0 if expected == "timeout" else 20)
    assert record.outcome == expected and message in record.message
    assert record.method == "mine"


@posix
def test_a_command_may_use_files(tmp_path: Path) -> None:
    text = (
        "assert json.load(open(sys.argv[1]))['family'] == 'hare'\n"
        f"open(sys.argv[2], 'w').write({json.dumps(GOOD)!r})\nprint('done')"
    )
    command = script(tmp_path / "mine", text)
    assert outcome(f"{command} {{instance}} {{schedule}}").outcome == "done"
    other = script(tmp_path / "other", "pass")
    assert "wrote no file" in outcome(f"{other} {{schedule}}").message
    with pytest.raises(UsageError, match=r"no program '\./nothing'"):
        sg.solve(TOY, "cmd:./nothing {instance}")


@posix
def test_an_unknown_placeholder_is_refused(tmp_path: Path) -> None:
    command = script(tmp_path / "mine", "print(json.dumps(sys.argv[1:]))")
    with pytest.raises(UsageError, match=r"no placeholder '\{instanc\}'.*did you mean '\{instance"):
        sg.solve(TOY, f"{command} {{instanc}}")
    text = "assert sys.argv[1:] == ['{print}', '${HOME}', '{1}', '{}'], sys.argv\n"
    command = script(tmp_path / "other", text + f"print({json.dumps(json.dumps(GOOD))})")
    record = outcome(f"{command} {{{{print}}}} '${{HOME}}' {{1}} {{}}")
    assert record.outcome == "done", record.message


STARTER = """
import subprocess, sys, time
import schedgap as sg

def starts(instance):
    for apart in (False, True):
        program = "import os, time; print(os.getpid(), flush=True); time.sleep(300)"
        subprocess.Popen([sys.executable, "-c", program], stdout=open(PIDS, "a"),
                         start_new_session=apart)
    time.sleep(300)

if __name__ == "__main__":
    PIDS = sys.argv[1]
    sg.solve(sg.generate("hare", preset="small", seed=1, settings={"jobs": 2}), starts)
"""


def running(pid: int) -> bool:
    """Return whether a process runs; one that has ended may wait for its parent to notice."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="the marks of processes are read in /proc")
def test_what_a_method_has_started_dies_with_a_killed_parent(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(STARTER)
    pids = tmp_path / "pids"
    parent = subprocess.Popen([sys.executable, tmp_path / "script.py", pids])
    try:
        until = time.monotonic() + 60
        while not pids.exists() or len(pids.read_text().splitlines()) < 2:
            assert time.monotonic() < until and parent.poll() is None
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    started = [int(line) for line in pids.read_text().split()]
    until = time.monotonic() + 10
    while any(map(running, started)) and time.monotonic() < until:
        time.sleep(0.05)
    alive = [pid for pid in started if running(pid)]
    for pid in alive:
        psutil.Process(pid).kill()
    assert not alive
