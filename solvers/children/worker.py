"""Main loop of a child process: it reads tasks from one pipe and writes results to another.

The process dies with its parent; the parent's code is in `schedgap.solvers.children.processes`. To
start quickly, this module imports little.
"""

import contextlib
import gc
import io
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import IO, Any

from schedgap.errors import ContradictionError, SchedgapError
from schedgap.solvers.children import clock, meter

# Engine -> module that a child imports before the clock of a task starts. The registry of engines
# fills it in the parent, so this module need not import the engines.
PRELOAD: dict[str, str] = {}
_SMALL_MB = 100  # tasks that added less have left little behind
_HEADER = 8  # bytes of the length in front of each frame
DEPTH = "SCHEDGAP_CHILD_DEPTH"  # environment variable: 1 in a child, 2 in a child's child


def write_frame(stream: IO[bytes], frame: object) -> None:
    """Write one pickled object, preceded by its length.

    `stream`: where to write. `frame`: what to write; must be picklable.
    """
    data = pickle.dumps(frame, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(_HEADER, "little") + data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Read the bytes of one pickled object; None at the end, even if it comes within a frame.

    `stream`: where to read.
    """
    header = stream.read(_HEADER)
    if len(header) < _HEADER:
        return None
    size = int.from_bytes(header, "little")
    data = stream.read(size)
    return data if len(data) == size else None


def main(parent: int) -> None:
    """Run tasks until the parent closes the pipe or dies.

    `parent`: process id of the parent.
    """
    _die_with(parent)
    with contextlib.suppress(ValueError):  # the parent ends a child with SIGKILL
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tasks = io.BufferedReader(io.FileIO(os.dup(0), "rb"))
    answers = io.BufferedWriter(io.FileIO(os.dup(1), "wb"))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # output of native code must not mix with the results
    inbox: list[bytes] = []
    ready = threading.Semaphore(0)
    threading.Thread(target=_receive, args=(tasks, inbox, ready), daemon=True).start()
    lock, own = threading.Lock(), os.getpid()

    def answer(kind: str, content: object = None) -> None:
        if os.getpid() != own:  # a function has forked: its copy has nothing to say
            os._exit(0)
        with lock:
            write_frame(answers, (kind, content))

    if os.environ.get(DEPTH) == "1":  # a child's child uses the clocks of its parent
        clock.stop_during_imports(lambda seconds: answer("loading", seconds))
    while not _retired:
        ready.acquire()
        before = _status_mb("VmRSS")
        _serve(pickle.loads(inbox.pop()), answer)
        _release_memory(before)
    os._exit(0)


_retired: list[bool] = []


def retire() -> None:
    """Let this process end after its present task, because the task has left something behind."""
    _retired.append(True)


def _receive(tasks: IO[bytes], inbox: list[bytes], ready: threading.Semaphore) -> None:
    """Read tasks; exit at once if the parent is gone, even during a task."""
    try:
        while (task := read_frame(tasks)) is not None:
            inbox.append(task)
            ready.release()
    finally:  # runs also if the function has closed the pipe
        _end_descendants()
        os._exit(0)


def _end_descendants() -> None:
    """Kill what a user's method has started; only its code loads psutil."""
    psutil = sys.modules.get("psutil")
    if psutil is not None:
        with contextlib.suppress(Exception):
            for process in psutil.Process().children(recursive=True):
                process.kill()


def _serve(task: dict[str, Any], answer: Callable[..., None]) -> None:
    """Run one task and send its result; `ended` precedes a regular one and says what it took."""
    try:
        clock.forget_limits()
        meter.reset()
        _reset_peak()
        sys.path[:] = task["path"]
        _limit_memory(task["memory_mb"])
        with contextlib.suppress(Exception, SystemExit):  # the function itself reports the fault
            if task["preload"]:  # imports are not on the clock of the task
                import_module(task["preload"])
        module, _, name = task["function"].partition(":")
        function = getattr(import_module(module), name)
        args, kwargs = pickle.loads(task["arguments"])
        if task["helpers"] is not None:
            _start_helpers(*task["helpers"])
        usage = time.process_time(), _status_mb("VmRSS"), task["helpers"] is not None
        answer("started", usage)
        value = function(lambda content: answer("message", content), *args, **kwargs)
        ended = time.process_time(), _status_mb("VmHWM"), clock.limited(), meter.total()
        answer("ended", ended)
        answer("done", value)
    except MemoryError as error:
        answer("memory", str(error) or "out of memory")
    except (SchedgapError, ContradictionError) as error:
        answer("error", error)
    except BaseException:  # noqa: BLE001 - every failure is reported to the parent
        answer("error", traceback.format_exc())


def _start_helpers(engines: tuple[str, ...], module: str) -> None:
    """Start the child processes that the task will need; few tasks need this import."""
    from schedgap.solvers.children.processes import warm

    warm(engines, module)


def _release_memory(before: float) -> None:
    """Return what a large task has left to the system; the next one then starts small.

    `before` is the memory before the task, in MB. What a process keeps of many small tasks, such as
    caches, is not searched for garbage each time.
    """
    if 0 < _status_mb("VmHWM") < before + _SMALL_MB:
        return
    gc.collect()
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(AttributeError, OSError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> None:
    """On Linux, forget the peak of the memory in earlier tasks."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as stream:
            stream.write("5")


def _status_mb(field: str) -> float:
    """Return a number of this process's status in MB, on Linux; 0 elsewhere."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError), open("/proc/self/status") as stream:
            for line in stream:
                if line.startswith(f"{field}:"):
                    return int(line.split()[1]) / 1024
    return 0.0


def _die_with(parent: int) -> None:
    """On Linux, have this process killed when its parent dies; elsewhere the closed pipe shows."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before this call
            os._exit(0)


def _limit_memory(memory_mb: float | None) -> None:
    """Limit the address space to the memory limit plus 3 GB, in case a check comes too late."""
    try:
        import resource
    except ImportError:  # Windows: only the parent checks the memory
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = hard if memory_mb is None else int((memory_mb + 3072) * 2**20)
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS refuses some values
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
