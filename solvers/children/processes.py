"""Functions run in child processes with limits of time and memory, which also hold for native code.

One engine per process (HiGHS and CP-SAT cannot share one), and a process that hangs, crashes or
eats the memory can be killed without harm: what it sent before that is kept. The child's side is
`worker`. Plain pipes instead of `multiprocessing`: scripts need no main guard.
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import psutil

from schedgap.solvers.children.worker import read_frame, write_frame

ReplyOutcome = Literal["done", "timeout", "memory", "crash", "error"]

_LOOK = 0.1  # seconds between two looks at the memory
_MOST_IDLE_MB = 500  # a larger idle worker is closed
_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container on Linux: "quota period", or "max ..."
_DEPTH = "SCHEDGAP_CHILD_DEPTH"
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
    "PYTHONHASHSEED": "0",  # one seed, one answer
}
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from schedgap.solvers.children.worker import main; main(int(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """How a function in a child process ended.

    `error`: the exception itself when the function raised one of ours (SchedgapError,
    ContradictionError), else a text: the traceback, or the signal and the last words of a crash.
    """

    outcome: ReplyOutcome
    value: Any = None
    error: Exception | str | None = None
    start_seconds: float = 0.0  # process, imports, arguments: before the function began
    seconds: float = 0.0  # the function
    peak_mb: float = 0.0  # resident memory of the child and its own children, as far as seen

    def result(self) -> Any:
        """Return the value; raise the function's own error, RuntimeError for any other end."""
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
    interrupt: threading.Event | None = None,
    **kwargs: Any,
) -> Reply:
    """Run `function(send, *args, **kwargs)` in a child process and wait for it.

    Parameters
    ----------
    function : str
        "package.module:function", importable with this process's `sys.path`. What it sends with
        `send(object)` goes to `on_message`, in order, also when it is killed later.
    limit : float or None
        Seconds. The function is expected to stop by itself; it is killed with all its children at
        most max(1.2 s, 6 %) later, and never later than max(1.8 s, 9.5 %) after this call's limit.
    memory_mb : float or None
        Resident megabytes of the child and its children, beyond which they are killed.
    on_message : callable or None
        Called in this thread; if it raises, the child is killed and the exception goes on.
    engine : str or None
        The engine that the function will load, None for none: it is imported before the function
        starts, and the idle process of an earlier call with the same engine is used again.
    interrupt : threading.Event or None
        For a call from a thread, which Ctrl-C does not reach: once it is set, the child is killed
        and KeyboardInterrupt raised.

    Returns
    -------
    Reply
        Never an exception of the function: `Reply.result()` raises it.

    Notes
    -----
    May be called from several threads, and from a child. A child dies with its parent.
    """
    begin = time.monotonic()
    arguments = pickle.dumps((args, kwargs), protocol=pickle.HIGHEST_PROTOCOL)
    task = {
        "function": function,
        "arguments": arguments,
        "memory_mb": memory_mb,
        "engine": engine,
        "path": [*map(str, sys.path)],  # a worker that was kept may know an older one
    }
    worker = _take(engine)
    kept = False
    try:
        worker.give(task)
        try:
            reply = _attend(worker, begin, limit, memory_mb, on_message, interrupt)
        except _DiedIdleError:
            worker = _spawn()
            worker.give(task)
            reply = _attend(worker, begin, limit, memory_mb, on_message, interrupt)
        healthy = reply.outcome in ("done", "error") and worker.process.poll() is None
        kept = healthy and worker.megabytes() < _MOST_IDLE_MB
    finally:
        if kept:
            _keep(engine, worker)
        else:
            worker.kill()
    return reply


class _DiedIdleError(Exception):
    """A worker had gone before it took the task: nothing was run."""


class _Worker:
    """One child process: its pipes, and the frames and last words that came out of them."""

    def __init__(self) -> None:
        environment = {**os.environ, **_ENVIRONMENT, _DEPTH: str(_depth() + 1)}
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
        self.frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.words: deque[str] = deque(maxlen=40)
        self.watched = psutil.Process(self.process.pid)
        for loop in (self._read_frames, self._read_words):
            threading.Thread(target=loop, daemon=True).start()

    def _read_frames(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream, contextlib.suppress(OSError):
            while (frame := read_frame(stream)) is not None:
                self.frames.put(frame)
        self.frames.put(None)

    def _read_words(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream, contextlib.suppress(OSError):
            for line in stream:
                self.words.append(line.decode(errors="replace").rstrip()[:1000])

    def give(self, task: dict[str, Any]) -> None:
        """Hand a task over; that the process is gone shows when its frames end."""
        assert self.process.stdin is not None
        self.tasks += 1
        self.words.clear()
        with contextlib.suppress(OSError):
            write_frame(self.process.stdin, task)

    def megabytes(self) -> float:
        """Resident memory of the process and all below it."""
        total = 0
        for process in self._tree():
            with contextlib.suppress(psutil.Error):
                total += process.memory_info().rss
        return float(total) / 2**20

    def _tree(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            return [self.watched, *self.watched.children(recursive=True)]
        return [self.watched]

    def kill(self) -> None:
        """End the process and all below it, and wait for its last frames and words."""
        if self.process.poll() is None:
            for process in self._tree():
                with contextlib.suppress(psutil.Error):
                    process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def close(self) -> None:
        """Let an idle process go."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=0.5)
            return
        self.kill()

    def last_words(self) -> str:
        """How it died, and the end of what it wrote."""
        code = self.process.returncode
        end = f"exit code {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                end = signal.Signals(-code).name
        time.sleep(0.05)  # the reader of its words may be a moment behind
        return "\n".join([end, *self.words])


def _attend(
    worker: _Worker,
    begin: float,
    limit: float | None,
    memory_mb: float | None,
    on_message: Callable[[Any], None] | None,
    interrupt: threading.Event | None,
) -> Reply:
    """Wait for the end of a task, deliver its messages, and enforce its limits."""
    started: float | None = None
    peak, next_look = 0.0, time.monotonic() + _LOOK
    killed: ReplyOutcome | None = None

    def reply(outcome: ReplyOutcome, value: Any = None, error: Any = None) -> Reply:
        now = time.monotonic()
        start = now if started is None else started
        return Reply(outcome, value, error, start - begin, now - start, round(peak, 1))

    while True:
        if interrupt is not None and interrupt.is_set():
            raise KeyboardInterrupt
        now = time.monotonic()
        deadline = _deadline(begin, started, limit)
        if killed is None and now >= deadline:
            killed = "timeout"
            worker.kill()
        if killed is None and now >= next_look:
            peak = max(peak, worker.megabytes())
            # Among thousands of processes a look takes long: spend at most a twentieth on it.
            next_look = max(now + _LOOK, now + 20 * (time.monotonic() - now))
            if memory_mb is not None and peak > memory_mb:
                killed = "memory"
                worker.kill()
        try:
            wait = 5.0 if killed else max(0.0, min(next_look, deadline) - time.monotonic())
            frame = worker.frames.get(timeout=wait)
        except queue.Empty:
            if killed:
                return reply(killed)
            continue
        if frame is None:
            worker.kill()
            if killed:
                return reply(killed, error=_reason(killed, limit, memory_mb))
            if started is None and worker.tasks > 1:
                raise _DiedIdleError
            words = worker.last_words()
            starved = memory_mb is not None and ("bad_alloc" in words or "MemoryError" in words)
            return reply("memory" if starved else "crash", error=words)
        try:
            kind, content = pickle.loads(frame)
        except Exception as error:  # noqa: BLE001 - a class may fail to unpickle in any way
            worker.kill()
            return reply("error", error=f"cannot read what the child sent: {error!r}")
        match kind:
            case "started":
                started = time.monotonic()
            case "message":
                if on_message is not None:
                    on_message(content)
            case _:
                peak = max(peak, worker.megabytes())
                value = content if kind == "done" else None
                return reply(kind, value, None if kind == "done" else content)


def _deadline(begin: float, started: float | None, limit: float | None) -> float:
    """When to kill: a grace after the function's limit, and a little more after the call's.

    A child of a child has half the grace, so that its parent still has time to report.
    """
    if limit is None:
        return float("inf")
    share = 0.5 ** _depth()
    latest = begin + limit + share * max(1.8, 0.095 * limit)
    if started is None:
        return latest
    return min(latest, started + limit + share * max(1.2, 0.06 * limit))


def _reason(outcome: ReplyOutcome, limit: float | None, memory_mb: float | None) -> str:
    if outcome == "timeout":
        return f"killed: still running after its limit of {limit:g} s"
    return f"killed: more than {memory_mb:g} MB"


def _depth() -> int:
    return int(os.environ.get(_DEPTH, "0"))


@lru_cache
def _spawner(process: int) -> ThreadPoolExecutor:
    """One thread that starts all children: on Linux a child dies with the *thread* it came from."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"schedgap-spawner-{process}")


def _spawn() -> _Worker:
    return _spawner(os.getpid()).submit(_Worker).result()


def cores() -> int:
    """Return how many cores this process may use: its affinity, and the quota of its container."""
    count = os.cpu_count() or 1
    with contextlib.suppress(AttributeError, psutil.Error):  # macOS has no affinity
        count = min(count, len(psutil.Process().cpu_affinity()))
    with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
        quota, period = _QUOTA.read_text().split()
        count = min(count, math.ceil(int(quota) / int(period)))
    return max(1, count)


_idle: dict[tuple[int, str | None], list[_Worker]] = {}
_idle_lock = threading.Lock()


def _take(engine: str | None) -> _Worker:
    """Return an idle worker of an engine, or a new one."""
    with _idle_lock:
        spare = _idle.get((os.getpid(), engine))
        worker = spare.pop() if spare else None
    return worker or _spawn()


def _keep(engine: str | None, worker: _Worker) -> None:
    """Keep a worker for a later call; as many for each engine as there are cores."""
    with _idle_lock:
        spare = _idle.setdefault((os.getpid(), engine), [])
        kept = len(spare) < cores()
        if kept:
            spare.append(worker)
    if not kept:
        worker.close()


@atexit.register
def close_children() -> None:
    """Let all idle children go."""
    with _idle_lock:
        own = [key for key in _idle if key[0] == os.getpid()]
        workers = [worker for key in own for worker in _idle.pop(key)]
    for worker in workers:
        worker.close()
