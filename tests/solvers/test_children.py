"""Tests of `schedgap.solvers.children.processes`, with real processes only."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from schedgap.errors import ContradictionError, InputError
from schedgap.solvers.children import processes
from schedgap.solvers.children.processes import cores, run_child

HERE = str(Path(__file__).parent)
posix = pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _gone(pid: int, seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while _alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not _alive(pid)


def test_a_value_comes_back_from_another_process() -> None:
    reply = run_child("child_tasks:echo", 1, "two", three=[3])
    assert reply.outcome == "done" and reply.error is None
    pid, args, kwargs = reply.value
    assert pid != os.getpid() and args == (1, "two") and kwargs == {"three": [3]}
    assert reply.peak_mb > 5 and reply.seconds < 5


def test_messages_arrive_in_order_and_before_the_value() -> None:
    heard: list[int] = []
    reply = run_child("child_tasks:count", 2000, on_message=heard.append)
    assert reply.value == "counted" and heard == list(range(2000))


def test_a_hang_in_native_code_is_killed_in_time_and_its_messages_are_kept() -> None:
    heard: list[int] = []
    begin = time.monotonic()
    reply = run_child("child_tasks:count_then_hang", 50, limit=0.3, on_message=heard.append)
    assert time.monotonic() - begin < 2.3  # limit + max(2 s, 10 %)
    assert reply.outcome == "timeout" and reply.value is None
    assert heard == list(range(50))


@posix
def test_a_child_that_sends_faster_than_it_is_heard_waits_and_ends_at_its_limit() -> None:
    heard: list[int] = []

    def slow(message: tuple[int, str]) -> None:
        time.sleep(0.01)
        heard.append(message[0])

    reply = run_child("child_tasks:pour", limit=0.5, on_message=slow)
    assert reply.outcome == "timeout" and heard == [*range(len(heard))]
    assert 0 < len(heard) < 2000  # without waiting it sends more than ten thousand


def test_a_crash_says_its_signal_and_last_words() -> None:
    heard: list[str] = []
    reply = run_child("child_tasks:crash", on_message=heard.append)
    assert reply.outcome == "crash" and heard == ["still well"]
    assert "SIGSEGV" in str(reply.error) and "my last words" in str(reply.error)


def test_a_process_that_just_leaves_is_a_crash() -> None:
    reply = run_child("child_tasks:leave", 7)
    assert reply.outcome == "crash" and "exit code 7" in str(reply.error)


@pytest.mark.parametrize(("step_mb", "pause"), [(20, 0.05), (8000, 0.0)])
def test_a_memory_hog_is_stopped(step_mb: int, pause: float) -> None:
    # Slowly: seen by the parent. In one gulp: refused by the limit on the address space.
    reply = run_child("child_tasks:hog", step_mb, pause, memory_mb=150, limit=20)
    assert reply.outcome == "memory" and reply.seconds < 10


def test_what_a_reused_process_holds_does_not_count_against_the_limit() -> None:
    first = run_child("child_tasks:keep", 300, 0.0, engine="own-keeper")
    second = run_child("child_tasks:keep", 1, 0.5, engine="own-keeper", memory_mb=200)
    assert (second.outcome, second.value) == ("done", first.value)
    third = run_child("child_tasks:keep", 300, 0.5, engine="own-keeper", memory_mb=200)
    assert third.outcome == "memory"


def test_what_a_child_prints_does_not_reach_our_output() -> None:
    code = f"""
        import sys
        sys.path.insert(0, {HERE!r})
        from schedgap.solvers.children.processes import run_child
        print(run_child("child_tasks:talk").value)
    """
    # A script without main guard, at that.
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert run.stdout == "talked\n" and run.stderr == ""


def test_our_own_errors_travel_and_others_come_as_text() -> None:
    reply = run_child("child_tasks:fail", "input")
    assert reply.outcome == "error" and isinstance(reply.error, InputError)
    assert str(reply.error) == "a.json: jobs[0]: too long"
    with pytest.raises(ContradictionError, match="below a bound"):
        run_child("child_tasks:fail", "contradiction").result()
    reply = run_child("child_tasks:fail", "other")
    assert reply.outcome == "error" and "ZeroDivisionError: by nothing" in str(reply.error)
    with pytest.raises(RuntimeError, match="ended with error"):
        reply.result()


def test_an_unknown_function_is_an_error() -> None:
    assert "nowhere" in str(run_child("nowhere:function").error)
    assert "AttributeError" in str(run_child("child_tasks:no_such").error)


def test_a_value_that_cannot_be_sent_is_an_error() -> None:
    reply = run_child("child_tasks:nothing_to_pickle")
    assert reply.outcome == "error" and "pickle" in str(reply.error)


def test_an_idle_process_is_used_again_unless_it_was_killed() -> None:
    first = run_child("child_tasks:echo").value[0]
    second = run_child("child_tasks:echo")
    assert second.value[0] == first and second.start_seconds < 0.2
    run_child("child_tasks:hang", limit=0.0)
    third = run_child("child_tasks:echo").value[0]
    assert third != first and _gone(first)
    psutil.Process(third).kill()
    assert _gone(third)
    assert run_child("child_tasks:echo").outcome == "done"


def test_an_idle_process_learns_where_modules_have_come_to_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_child("child_tasks:echo").value[0]
    (tmp_path / "fresh_tasks.py").write_text("import os\ndef pid(send):\n    return os.getpid()\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert run_child("fresh_tasks:pid").result() == first


def test_engines_have_processes_of_their_own_and_are_loaded_at_the_start() -> None:
    names = ("highspy", "ortools")
    assert run_child("child_tasks:loaded", *names).value == []
    assert run_child("child_tasks:loaded", *names, engine="highs").value == ["highspy"]
    assert run_child("child_tasks:loaded", *names, engine="highs+cp-sat").value == []


def test_a_child_has_one_thread_and_one_hash_seed() -> None:
    assert run_child("child_tasks:environment", "OMP_NUM_THREADS").value == "1"
    assert run_child("child_tasks:environment", "PYTHONHASHSEED").value == "0"


def test_several_threads_may_call_at_once() -> None:
    begin = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda k: run_child("child_tasks:echo", k), range(8)))
    assert [reply.value[1] for reply in replies] == [(k,) for k in range(8)]
    assert time.monotonic() - begin < 20


def test_as_many_idle_processes_are_kept_as_there_are_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("schedgap.solvers.children.processes.cores", lambda: 2)
    together = threading.Barrier(3)

    def call(_: int) -> int:
        def meet(content: object) -> None:
            together.wait(timeout=20)

        reply = run_child("child_tasks:tell_pid", on_message=meet, engine="of-three")
        return int(reply.result())

    with ThreadPoolExecutor(3) as pool:
        first, second = ({*pool.map(call, range(3))} for _ in range(2))
    assert len(first) == len(second) == 3
    assert len(first & second) == 2


def test_the_cores_of_a_container_are_those_of_its_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedgap.solvers.children.processes.os.cpu_count", lambda: 8)
    monkeypatch.setattr(psutil.Process, "cpu_affinity", lambda self: [*range(6)], raising=False)
    for text, count in (("max 100000", 6), ("250000 100000", 3), ("1000 100000", 1), ("?", 6)):
        (tmp_path / "cpu.max").write_text(text)
        monkeypatch.setattr("schedgap.solvers.children.processes._QUOTA_FILE", tmp_path / "cpu.max")
        assert cores() == count


def test_a_process_outlives_the_thread_that_started_it() -> None:
    pids: list[int] = []
    thread = threading.Thread(
        target=lambda: pids.append(run_child("child_tasks:echo", engine="other").value[0])
    )
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert run_child("child_tasks:echo", engine="other").value[0] == pids[0]


def test_an_exception_of_the_listener_kills_the_child_and_goes_on() -> None:
    pids: list[int] = []

    def listen(pid: int) -> None:
        pids.append(pid)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_child("child_tasks:tell_and_hang", on_message=listen)
    assert _gone(pids[0])


def test_an_interrupt_reaches_a_call_in_a_thread() -> None:
    pids: list[int] = []
    interrupt = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        calls = [
            pool.submit(
                run_child, "child_tasks:tell_and_hang", on_message=pids.append, interrupt=interrupt
            )
            for _ in range(2)
        ]
        while len(pids) < 2:
            time.sleep(0.02)
        begin = time.monotonic()
        interrupt.set()
        assert [type(call.exception()) for call in calls] == [KeyboardInterrupt] * 2
        assert time.monotonic() - begin < 5
    assert all(_gone(pid) for pid in pids)


def test_a_driver_lives_on_when_its_child_hangs() -> None:
    heard: list[object] = []
    reply = run_child(
        "child_tasks:nest", "child_tasks:hang", inner_limit=0.2, limit=10, on_message=heard.append
    )
    assert reply.outcome == "done" and reply.value == ("timeout", None)
    assert reply.seconds < 2.5


def test_a_child_of_a_child_is_given_up_before_its_driver() -> None:
    # Both have the same limit; the driver must have the time to report what became of its child.
    reply = run_child("child_tasks:nest", "child_tasks:hang", inner_limit=0.5, limit=0.5)
    assert reply.outcome == "done" and reply.value == ("timeout", None)


def test_what_a_child_of_a_child_says_comes_through() -> None:
    heard: list[tuple[str, int]] = []
    reply = run_child(
        "child_tasks:nest", "child_tasks:tell_and_hang", limit=1.0, on_message=heard.append
    )
    assert reply.outcome == "timeout"
    assert [kind for kind, _ in heard] == ["driver", "inner"]
    assert all(_gone(pid) for _, pid in heard)


def test_descendants_of_all_depths_are_found() -> None:
    sleep = "import time; print('ready', flush=True); time.sleep(60)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {sleep!r}])"
    top = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    (above,) = [each for each in psutil.Process().children() if each.pid == top.pid]
    try:
        assert top.stdout is not None
        assert top.stdout.readline()
        (below,) = processes.descendants(above)
        assert [below] == above.children()
        assert {above, below} <= {*processes.descendants(psutil.Process())}
    finally:
        for each in above.children():
            each.kill()
        top.communicate()


@posix
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_children_of_all_depths_die_with_the_top(how: str) -> None:
    code = f"""
        import sys
        sys.path.insert(0, {HERE!r})
        from schedgap.solvers.children.processes import run_child
        run_child("child_tasks:nest", "child_tasks:tell_and_hang",
                  on_message=lambda content: print(content[1], flush=True))
    """
    top = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert top.stdout is not None
    pids = [int(top.stdout.readline()) for _ in range(2)]
    assert all(_alive(pid) for pid in pids)
    top.send_signal(getattr(signal, how))
    top.wait(timeout=5)
    assert all(_gone(pid) for pid in pids)
    top.stdout.close()


def test_the_clock_of_a_task_stands_still_while_a_module_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "slow_to_load.py").write_text("import time; time.sleep(2.5)")
    first = run_child("child_tasks:load_slowly", str(tmp_path), limit=0.3)
    assert first.outcome == "done", first.error  # it would be killed 1.2 s after its limit
    elapsed, expired = first.value
    assert elapsed < 0.3 and not expired and not first.limited
    assert first.start_seconds > 2.5 > first.seconds


def test_helpers_are_started_before_the_clock() -> None:
    reply = run_child("child_tasks:use_helper", helpers=(("highs",), "json.tool"))
    pid, again, loaded = reply.value
    assert pid == again and loaded
