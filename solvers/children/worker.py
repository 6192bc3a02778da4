"""What runs inside a child process: it takes tasks from a pipe and answers on another.

It dies with its parent. The other end is `schedgap.solvers.children.processes`. It imports little.
"""

import contextlib
import io
import os
import pickle
import sys
import threading
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import IO, Any

from schedgap.errors import ContradictionError, SchedgapError

# What an engine's functions import: loaded before the task's clock starts. Not for a key such as
# "highs+cp-sat", whose function drives children and loads no engine itself.
PRELOAD = {
    "highs": "highspy",
    "gurobi": "gurobipy",
    "cp-sat": "ortools.sat.python.cp_model",
    "clarabel": "cvxpy",
}
_HEADER = 8  # bytes of the length in front of each frame


def write_frame(stream: IO[bytes], frame: object) -> None:
    """Write one pickled object with its length in front."""
    data = pickle.dumps(frame, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(_HEADER, "little") + data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Read one pickled object's bytes; None at the end, also when it comes in mid-frame."""
    header = stream.read(_HEADER)
    if len(header) < _HEADER:
        return None
    size = int.from_bytes(header, "little")
    data = stream.read(size)
    return data if len(data) == size else None


def main(parent: int) -> None:
    """Serve tasks until the parent closes the pipe or dies."""
    _die_with(parent)
    tasks = io.BufferedReader(io.FileIO(os.dup(0), "rb"))
    answers = io.BufferedWriter(io.FileIO(os.dup(1), "wb"))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what native code prints must not fall among the answers
    inbox: list[bytes] = []
    ready = threading.Semaphore(0)
    threading.Thread(target=_receive, args=(tasks, inbox, ready), daemon=True).start()
    lock = threading.Lock()

    def answer(kind: str, content: object = None) -> None:
        with lock:
            write_frame(answers, (kind, content))

    while True:
        ready.acquire()
        _serve(pickle.loads(inbox.pop()), answer)


def _receive(tasks: IO[bytes], inbox: list[bytes], ready: threading.Semaphore) -> None:
    """Read tasks; leave at once when the parent is gone, also in the middle of one."""
    while (task := read_frame(tasks)) is not None:
        inbox.append(task)
        ready.release()
    os._exit(0)


def _serve(task: dict[str, Any], answer: Callable[..., None]) -> None:
    """Run one task and answer with its outcome."""
    try:
        sys.path[:] = task["path"]
        _limit_memory(task["memory_mb"])
        with contextlib.suppress(ImportError):  # the function says what is missing
            if task["engine"] in PRELOAD:
                import_module(PRELOAD[task["engine"]])
        module, _, name = task["function"].partition(":")
        function = getattr(import_module(module), name)
        args, kwargs = pickle.loads(task["arguments"])
        answer("started")
        value = function(lambda content: answer("message", content), *args, **kwargs)
        answer("done", value)
    except MemoryError as error:
        answer("memory", str(error) or "out of memory")
    except (SchedgapError, ContradictionError) as error:
        answer("error", error)
    except BaseException:  # noqa: BLE001 - whatever a task does, the parent is told
        answer("error", traceback.format_exc())


def _die_with(parent: int) -> None:
    """Ask Linux to kill this process when its parent dies; elsewhere the closed pipe tells."""
    if sys.platform == "linux":
        import ctypes
        import signal

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before it could be watched
            os._exit(0)


def _limit_memory(memory_mb: float | None) -> None:
    """Limit the address space to 3 GB above the memory: a last resort between two looks."""
    try:
        import resource
    except ImportError:  # Windows: the parent's look at the memory is all there is
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = hard if memory_mb is None else int((memory_mb + 3072) * 2**20)
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS refuses some values
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
