"""Run functions in child processes with time and memory limits, which hold for native code too.

Each engine has its own process, because HiGHS and CP-SAT cannot share one. A process that hangs,
crashes or needs too much memory is killed; what it has sent before is kept. The code of the child
is in `worker`. Plain pipes are used instead of `multiprocessing`, so scripts need no main guard.
"""

import atexit
import contextlib
import json
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import psutil

from schedgap.solvers.children import meter
from schedgap.solvers.children.clock import was_limited
from schedgap.solvers.children.watchdog import MARK, marks, start_watchdog
from schedgap.solvers.children.worker import DEPTH, PRELOAD, read_frame, write_frame

ChildOutcome = Literal["done", "timeout", "memory", "crash", "error"]

_START_SECONDS = 30.0  # most time to start a process, and for all imports, off the clock
_CHECK_SECONDS = 0.1  # interval between two checks of the memory, in seconds
_MAX_OWN = 8  # methods of the users' own with idle workers
_MAX_IDLE_MB = 750  # larger idle workers are closed; one with compiled code and two engines has 570
_QUOTA_FILE = Path(
    "/sys/fs/cgroup/cpu.max"
)  # CPU limit of a Linux container: "quota period" or "max ..."
_MOST_WAITING = 64  # messages that are read ahead; a child that sends more waits in `send`
_READ_BYTES = 1 << 16  # bytes of the standard error that are read at once
_ENVIRONMENT = {
    **dict.fromkeys(
        (
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "MKL_NUM_THREADS",
            "NUMEXPR_NUM_THREADS",
            "VECLIB_MAXIMUM_THREADS",
            "RAYON_NUM_THREADS",
        ),
        "1",
    ),
    "PYTHONHASHSEED": "0",  # the same seed gives the same result
}
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from schedgap.solvers.children.worker import main; main(int(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class ChildResult:
    """Result of a function in a child process.

    `error` is the exception itself if it is a SchedgapError or a ContradictionError. Other errors
    are a text: the traceback or, after a crash, the signal and the end of the standard error.
    """

    outcome: ChildOutcome
    value: Any = None
    error: Exception | str | None = None
    start_seconds: float = 0.0  # process start, arguments, and all imports
    seconds: float = 0.0  # time of the function, without imports
    peak_mb: float = 0.0  # peak of the resident memory: a new child and what the task added
    cpu_seconds: float = 0.0  # CPU time of the function, in the child and its children
    limited: bool = True  # whether a time limit may have had an influence
    spent: meter.Spent | None = None  # times of engines; None if the function did not end by itself

    def result(self) -> Any:
        """Return the value, or raise the error.

        Raises
        ------
        SchedgapError, ContradictionError
            As raised by the function.
        RuntimeError
            If the child failed in another way.
        """
        if self.outcome == "done":
            return self.value
        if isinstance(self.error, Exception):
            raise self.error
        raise RuntimeError(f"the child process ended with {self.outcome}: {self.error}")


def run_child(
    function: str,
    /,
    *args: Any,
    limit: float | None = None,
    memory_mb: float | None = None,
    on_message: Callable[[Any], None] | None = None,
    engine: str | None = None,
    helpers: tuple[tuple[str, ...], str] | None = None,
    interrupt: threading.Event | None = None,
    **kwargs: Any,
) -> ChildResult:
    """Run `function(send, *args, **kwargs)` in a child process and wait for it.

    `function`: "package.module:function", importable with this process's `sys.path`. Objects that
    it sends with `send(object)` are passed to `on_message` in order, even if it is killed later.
    `*args`, `**kwargs`: further arguments of the function. `limit`: limit in seconds, without
    imports. The function should stop by itself. If it does not, it is killed with all its children
    at most max(1.2 s, 6 %) later. For a child of a child, imports and the start of the process
    count, too. Such a child is killed at most max(0.9 s, 4.8 %) after the limit of this call.
    `memory_mb`: limit of the resident memory of the child and its children in MB; beyond it they
    are killed. What a reused process still holds from earlier tasks does not count. `on_message`:
    called in this thread. If it raises, the child is killed and the exception propagates. `engine`:
    the engine that the function loads, or None. It is imported before the function starts, and an
    idle process of an earlier call with the same engine is used if there is one. `helpers`: engines
    for which the child process starts child processes before the function starts, and a module that
    these load. `interrupt`: for calls from a thread, which does not receive Ctrl-C: when set, the
    child is killed and KeyboardInterrupt is raised.

    Errors of the function are not raised here, but by `ChildResult.result()`.

    Notes
    -----
    May be called from several threads and from child processes. A child dies with its parent, and
    on Linux what a method of the user's own has started does too (`watchdog`).
    """
    begin = time.monotonic()
    arguments = pickle.dumps((args, kwargs), protocol=pickle.HIGHEST_PROTOCOL)
    task = {
        "function": function,
        "arguments": arguments,
        "memory_mb": memory_mb,
        "preload": PRELOAD.get(engine or "", ""),
        "helpers": helpers,
        "path": [*map(str, sys.path)],  # a reused worker may have an older one
    }
    worker = _take(engine)
    reusable = False
    try:
        worker.give(task)
        try:
            reply = _attend(worker, begin, limit, memory_mb, on_message, interrupt)
        except _IdleWorkerDiedError:
            worker = _spawn()
            worker.give(task)
            reply = _attend(worker, begin, limit, memory_mb, on_message, interrupt)
        healthy = reply.outcome in ("done", "error") and worker.process.poll() is None
        reusable = healthy and worker.last.mb < _MAX_IDLE_MB
    finally:
        if reusable:
            _keep(engine, worker)
        else:
            worker.kill()
    if _depth():
        if reply.limited:
            was_limited()
        if reply.spent is not None:
            meter.add(reply.spent)
    return reply


class _Usage(NamedTuple):
    """Memory in MB and CPU seconds of a tree of processes, and of its root alone."""

    mb: float = 0.0
    cpu: float = 0.0  # includes ended processes
    root_mb: float = 0.0
    root_cpu: float = 0.0


class _IdleWorkerDiedError(Exception):
    """An idle worker died before it received the task, so nothing was run."""


class _Worker:
    """A child process with its pipes; threads read its frames and its standard error."""

    def __init__(self) -> None:
        own = {DEPTH: str(_depth() + 1), MARK: marks()}
        environment = {**os.environ, **_ENVIRONMENT, **own}
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-c",
                _START,
                json.dumps([*map(str, sys.path)]),
                str(os.getpid()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self.tasks = 0
        self.bare_mb: float | None = None  # memory at the start of its first task
        self.peak_mb = 0.0  # peak memory of the task
        self.helpers_mb = 0.0  # memory of child processes that were started before the task
        self.before = self.last = _Usage()  # usage at the start of the task, and as last observed
        self.frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.room = threading.Semaphore(_MOST_WAITING)
        self.killed = False
        self.stderr_lines: deque[str] = deque(maxlen=40)
        self.watched = psutil.Process(self.process.pid)
        for loop in (self._read_frames, self._read_stderr):
            threading.Thread(target=loop, daemon=True).start()

    def _read_frames(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream, contextlib.suppress(OSError):
            while (frame := read_frame(stream)) is not None:
                if not self.killed:
                    self.room.acquire()
                self.frames.put(frame)
        self.frames.put(None)

    def next_frame(self, wait: float) -> bytes | None:
        """Return the next frame, None at the end; queue.Empty if there is none within a time."""
        frame = self.frames.get(timeout=wait)
        self.room.release()
        return frame

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream, contextlib.suppress(OSError):
            while line := stream.readline(_READ_BYTES):
                self.stderr_lines.append(line.decode(errors="replace").rstrip()[:1000])

    def give(self, task: Mapping[str, object]) -> None:
        """Send a task; if the process has died, reading its frames will show it."""
        assert self.process.stdin is not None
        self.tasks += 1
        self.before, self.peak_mb = self.last, 0.0
        self.stderr_lines.clear()
        with contextlib.suppress(OSError):
            write_frame(self.process.stdin, task)

    def observe(self) -> None:
        """Note memory and CPU time of the process and its descendants."""
        total = root = _Usage()
        for process in self._tree():
            with contextlib.suppress(psutil.Error), process.oneshot():
                mb, times = process.memory_info().rss / 2**20, process.cpu_times()
                own = times.user + times.system
                ended = getattr(times, "children_user", 0) + getattr(times, "children_system", 0)
                if process is self.watched:
                    root = _Usage(mb, own)
                total = _Usage(total.mb + mb, total.cpu + own + ended)
        self.peak_mb = max(self.peak_mb, total.mb)
        if total.cpu >= self.last.cpu:  # CPU time falls only while processes end
            self.last = _Usage(total.mb, total.cpu, root.mb, root.cpu)

    def begin(self, cpu: float, mb: float, helpers: bool) -> None:
        """Receive the child's own CPU time and memory at the start of the function."""
        if not mb or helpers:  # `mb` is 0 if the child does not know its memory
            self.observe()
            self.before, mb = self.last, mb or self.last.root_mb
        self.helpers_mb = self.before.mb - self.before.root_mb if helpers else 0.0
        if self.bare_mb is None:
            self.bare_mb = mb
        before = self.before
        self.before = _Usage(before.mb - before.root_mb + mb, before.cpu - before.root_cpu + cpu)

    def loaded(self, cpu: float) -> None:
        """Receive the CPU time of imports, which is none of the task's."""
        before = self.before
        self.before = before._replace(cpu=before.cpu + cpu, root_cpu=before.root_cpu + cpu)

    def end(self, cpu: float, mb: float) -> None:
        """Receive the child's own CPU time and peak of the memory at the end of the function."""
        self.observe()
        self.peak_mb = max(self.peak_mb, mb)
        self.last = self.last._replace(cpu=self.last.cpu - self.last.root_cpu + cpu, root_cpu=cpu)

    def spent(self) -> tuple[float, float]:
        """Return the task's CPU seconds, and its peak of the memory in MB.

        The peak is the memory of a new process plus what the task added. Memory that a reused
        process still holds from earlier tasks does not count.
        """
        peak = self.peak_mb
        if self.bare_mb is not None:
            peak = self.bare_mb + self.helpers_mb + max(0.0, peak - self.before.mb)
        return max(0.0, self.last.cpu - self.before.cpu), peak

    def _tree(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            return [self.watched, *descendants(self.watched)]
        return [self.watched]

    def kill(self) -> None:
        """Kill the process and its descendants, and wait for its end."""
        self.killed = True
        self.room.release()  # frees the thread that reads what the child had sent
        if self.process.poll() is None:
            for process in self._tree():
                with contextlib.suppress(psutil.Error):
                    process.kill()
        if os.name == "posix":  # what it has started may outlive it
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def close(self) -> None:
        """End an idle process."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=0.5)
            return
        self.kill()

    def _death(self) -> str:
        """Return the signal or exit code, and the end of the standard error."""
        code = self.process.returncode
        end = f"exit code {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                end = signal.Signals(-code).name
        time.sleep(0.05)  # the reading thread may be slightly behind
        return "\n".join([end, *self.stderr_lines])


def descendants(process: psutil.Process) -> list[psutil.Process]:
    """Return all descendants; without a look at all processes of the computer, where Linux can."""
    found: list[psutil.Process] = []
    above = [process.pid]
    while above:
        try:
            threads = [*Path(f"/proc/{above[-1]}/task").iterdir()]
            lists = [(thread / "children").read_text().split() for thread in threads]
        except OSError:  # another system, or the process has just ended
            return process.children(recursive=True)
        above.pop()
        for pid in (int(text) for pids in lists for text in pids):
            above.append(pid)
            with contextlib.suppress(psutil.Error):
                found.append(psutil.Process(pid))
    return found


def _attend(
    worker: _Worker,
    begin: float,
    limit: float | None,
    memory_mb: float | None,
    on_message: Callable[[Any], None] | None,
    interrupt: threading.Event | None,
) -> ChildResult:
    """Wait for the end of a task, pass on its messages, and enforce its limits."""
    started: float | None = None
    next_check = time.monotonic() + _CHECK_SECONDS
    killed: ChildOutcome | None = None
    limited, spent = True, None
    loading: float | None = None
    allowed = _START_SECONDS  # time for imports, which are not on the clock

    def reply(outcome: ChildOutcome, value: Any = None, error: Any = None) -> ChildResult:
        now = time.monotonic()
        start = now if started is None else started
        if started is not None and loading is not None:  # killed while it loads a module
            start += min(now - loading, allowed)
        start = min(start, now)  # the child has measured its imports
        cpu, peak = worker.spent()
        if outcome == "memory" and memory_mb is not None:
            peak = max(peak, memory_mb)
        return ChildResult(
            outcome,
            value,
            error,
            start_seconds=start - begin,
            seconds=now - start,
            peak_mb=round(peak, 1),
            cpu_seconds=round(cpu, 3),
            limited=outcome != "done" or limited,
            spent=spent,
        )

    while True:
        if interrupt is not None and interrupt.is_set():
            raise KeyboardInterrupt
        now = time.monotonic()
        deadline = _deadline(begin, started, limit)
        if started is not None and loading is not None:  # the clock of the task stands still
            deadline += min(now - loading, allowed)
        if killed is None and now >= deadline:
            killed = "timeout"
            worker.observe()
            worker.kill()
        if killed is None and now >= next_check:
            worker.observe()
            # With thousands of processes a check is slow: spend at most a twentieth of the time on
            # it.
            next_check = max(now + _CHECK_SECONDS, now + 20 * (time.monotonic() - now))
            if memory_mb is not None and worker.spent()[1] > memory_mb:
                killed = "memory"
                worker.kill()
        try:
            wait = 5.0 if killed else max(0.0, min(next_check, deadline) - time.monotonic())
            frame = worker.next_frame(wait)
        except queue.Empty:
            if killed:
                return reply(killed)
            continue
        if frame is None:
            worker.kill()
            if killed:
                return reply(killed, error=_reason(killed, limit, memory_mb))
            if started is None and worker.tasks > 1:
                raise _IdleWorkerDiedError
            text = worker._death()
            starved = memory_mb is not None and ("bad_alloc" in text or "MemoryError" in text)
            return reply("memory" if starved else "crash", error=text)
        try:
            kind, content = pickle.loads(frame)
        except Exception as error:  # noqa: BLE001 - a class may fail to unpickle in any way
            worker.kill()
            return reply("error", error=f"cannot read the result of the child: {error!r}")
        match kind:
            case "started":
                started = time.monotonic()
                worker.begin(*content)
            case "loading" if content is None:
                loading = time.monotonic()
            case "loading":
                seconds, cpu = content
                loading = None
                if started is not None:
                    started += min(seconds, allowed)
                    allowed -= min(seconds, allowed)
                    worker.loaded(cpu)
            case "ended":
                cpu, mb, limited, spent = content
                worker.end(cpu, mb)
            case "message":
                if on_message is not None:
                    on_message(content)
            case _:
                if kind != "done":
                    worker.observe()
                value = content if kind == "done" else None
                return reply(kind, value, None if kind == "done" else content)


def _deadline(begin: float, started: float | None, limit: float | None) -> float:
    """Return the time at which to kill the child: shortly after the limit.

    A child's own children have half the grace period, and the child can still report afterwards.
    Their start and their imports are on the clock of the child, which has loaded them before.
    """
    if limit is None:
        return float("inf")
    share = 0.5 ** _depth()
    latest = begin + limit + share * max(1.8, 0.095 * limit) + (0 if _depth() else _START_SECONDS)
    if started is None:
        return latest
    grace = share * max(1.2, 0.06 * limit)
    return started + limit + grace if not _depth() else min(latest, started + limit + grace)


def _reason(outcome: ChildOutcome, limit: float | None, memory_mb: float | None) -> str:
    if outcome == "timeout":
        return f"killed: still running after its limit of {limit:g} s"
    return f"killed: more than {memory_mb:g} MB"


def _depth() -> int:
    return int(os.environ.get(DEPTH, "0"))


@lru_cache
def _spawner(process: int) -> ThreadPoolExecutor:
    """Return the thread that starts all children: on Linux a child dies with that *thread*."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"schedgap-spawner-{process}")


def _spawn() -> _Worker:
    return _spawner(os.getpid()).submit(_Worker).result()


def warm(engines: Iterable[str], module: str) -> None:
    """Start an idle child process for each engine, unless there is one, and load a module in it."""
    with ThreadPoolExecutor() as pool:
        for engine in engines:
            pool.submit(run_child, f"{_load.__module__}:_load", module, engine=engine)


def _load(send: Callable[[object], None], module: str) -> None:
    """Load a module in this child process."""
    import_module(module)


def cores() -> int:
    """Return how many cores this process may use, by its affinity and its container's quota."""
    count = os.cpu_count() or 1
    with contextlib.suppress(AttributeError, psutil.Error):  # macOS has no affinity
        count = min(count, len(psutil.Process().cpu_affinity()))
    with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
        quota, period = _QUOTA_FILE.read_text().split()
        count = min(count, math.ceil(int(quota) / int(period)))
    return max(1, count)


_idle: dict[tuple[int, str | None], list[_Worker]] = {}
_idle_lock = threading.Lock()


def _take(engine: str | None) -> _Worker:
    """Return an idle worker of an engine, or a new one."""
    if engine is not None and engine.startswith("own-"):
        start_watchdog()
    with _idle_lock:
        spare = _idle.get((os.getpid(), engine))
        worker = spare.pop() if spare else None
    return worker or _spawn()


def _keep(engine: str | None, worker: _Worker) -> None:
    """Keep a worker for a later call, at most one per core and engine.

    A key that is not an engine belongs to a user's own method. The last few of these are kept.
    """
    closed: list[_Worker] = []
    with _idle_lock:
        key = os.getpid(), engine
        spare = _idle.pop(key, [])
        _idle[key] = spare  # the last one
        (spare if len(spare) < cores() else closed).append(worker)
        others = [
            worker for worker in _idle if worker[1] is not None and worker[1].startswith("own-")
        ]
        for older in others[:-_MAX_OWN]:
            closed += _idle.pop(older)
    for worker in closed:
        worker.close()


@atexit.register
def close_children() -> None:
    """End all idle child processes."""
    with _idle_lock:
        keys = [key for key in _idle if key[0] == os.getpid()]
        workers = [worker for key in keys for worker in _idle.pop(key)]
    with _without_interrupts():
        for worker in workers:
            worker.close()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C for a short time; other threads than the main one do not receive it anyway."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        if usual is not None:  # None: not set by Python
            signal.signal(signal.SIGINT, usual)
