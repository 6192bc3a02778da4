"""Functions that the tests of `schedgap.solvers.children.processes` run in child processes."""

import ctypes
import os
import pickle
import sys
import time
from typing import Any

from schedgap.errors import ContradictionError, InputError
from schedgap.solvers.children import processes
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.children.processes import run_child


def echo(send: Any, *args: Any, **kwargs: Any) -> Any:
    return os.getpid(), args, kwargs


def count(send: Any, number: int) -> str:
    for k in range(number):
        send(k)
    return "counted"


def pour(send: Any) -> None:
    number = 0
    while True:
        send((number, "x" * 10_000))
        number += 1


def count_then_hang(send: Any, number: int) -> None:
    count(send, number)
    hang(send)


def hang(send: Any) -> None:
    """Hang in native code that holds the interpreter's lock, deaf to everything but SIGKILL."""
    ctypes.PyDLL(None).sleep(60)


def crash(send: Any) -> None:
    send("still well")
    sys.stderr.write("my last words\n")
    sys.stderr.flush()
    ctypes.string_at(0)


def leave(send: Any, code: int) -> None:
    os._exit(code)


KEPT: list[bytearray] = []


def hog(send: Any, step_mb: int, pause: float) -> None:
    hoard = []
    while True:
        hoard.append(bytearray(os.urandom(1)) * (step_mb << 20))
        time.sleep(pause)


def keep(send: Any, mb: int, seconds: float) -> int:
    """Hold memory beyond the end of the task; return the process."""
    KEPT.append(bytearray(os.urandom(1)) * (mb << 20))
    time.sleep(seconds)
    return os.getpid()


def talk(send: Any) -> str:
    """Write to the standard output from Python and from C."""
    print("from Python")
    ctypes.CDLL(None).puts(b"from C")
    ctypes.CDLL(None).fflush(None)
    os.write(1, b"from the system\n")
    return "talked"


def fail(send: Any, kind: str) -> None:
    if kind == "input":
        raise InputError("too long", path="jobs[0]", file="a.json")
    if kind == "contradiction":
        raise ContradictionError("below a bound")
    raise ZeroDivisionError("by nothing")


def loaded(send: Any, *names: str) -> list[str]:
    return [name for name in names if name in sys.modules]


def environment(send: Any, name: str) -> str | None:
    return os.environ.get(name)


def nest(send: Any, function: str, inner_limit: float | None = None) -> Any:
    """Be a driver: run a child of one's own, and pass on what it says."""
    send(("driver", os.getpid()))
    reply = run_child(
        function, limit=inner_limit, on_message=lambda content: send(("inner", content))
    )
    return reply.outcome, reply.value


def nothing_to_pickle(send: Any) -> Any:
    return lambda: None


def tell_and_hang(send: Any) -> None:
    send(os.getpid())
    hang(send)


def tell_pid(send: Any) -> int:
    send(os.getpid())
    return os.getpid()


def load_slowly(send: Any, folder: str) -> tuple[float, bool]:
    """Import a module in the folder; return what a clock of 0.3 s says of the time before it."""
    clock = Clock(0.3)
    sys.path.insert(0, folder)
    import slow_to_load  # type: ignore[import-not-found]  # noqa: F401

    return clock.elapsed(), pickle.loads(pickle.dumps(clock)).expired()


def use_helper(send: Any) -> tuple[int, int, bool]:
    """Return the process ids of the idle child and of the one that is used, and what it loaded."""
    (idle,) = processes._idle[os.getpid(), "highs"]
    used = processes.run_child("child_tasks:has_loaded", "json.tool", engine="highs")
    return idle.process.pid, *used.value


def has_loaded(send: Any, module: str) -> tuple[int, bool]:
    """Return the process id, and whether a module is loaded."""
    return os.getpid(), module in sys.modules
