"""End what a user's method has started when the process that runs it is killed, on Linux.

A child process dies with its parent, but processes that a method in it has started do not: nobody
is left to end them. So each process that runs users' methods has a watchdog, a small process that
waits for the end of a pipe. The watchdog then kills every process whose environment contains the
mark of the watchdog's owner; children inherit this mark. This file is also the watchdog's program,
which imports nothing else.
"""

import atexit
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from functools import lru_cache
from pathlib import Path

MARK = "SCHEDGAP_OWNERS"  # the marks of a process and of all above it
_ROUNDS, _PAUSE = 50, 0.02  # a process may be starting another one while it is killed

_lock = threading.Lock()
_watchdogs: dict[int, "subprocess.Popen[bytes]"] = {}


@lru_cache
def _mark(process: int) -> str:
    return secrets.token_hex(8)


def marks() -> str:
    """Return what the environment of a child process has as `MARK`."""
    return f"{os.environ.get(MARK, '')}:{_mark(os.getpid())}"


def start_watchdog() -> None:
    """Start the watchdog of this process, unless it has one."""
    if sys.platform != "linux":
        return
    with _lock:
        known = _watchdogs.get(os.getpid())
        if known is not None and known.poll() is None:
            return
        _watchdogs[os.getpid()] = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__)), _mark(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


@atexit.register
def _release() -> None:
    """End the watchdog of this process, after it has ended what is left."""
    found = _watchdogs.pop(os.getpid(), None)
    if found is not None and found.stdin is not None:
        with contextlib.suppress(OSError):
            found.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            found.wait(timeout=2.0)


def _marked(mark: bytes) -> list[int]:
    """Return the processes with a mark, except this one."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and int(entry) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as stream:
                if mark in stream.read():
                    found.append(int(entry))
    return found


def _main(mark: str) -> None:
    """Wait for the end of the standard input, then kill all processes with a mark."""
    while os.read(0, 1):
        pass
    for _ in range(_ROUNDS):
        found = _marked(mark.encode())
        if not found:
            return
        for process in found:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_PAUSE)


if __name__ == "__main__":
    _main(sys.argv[1])
