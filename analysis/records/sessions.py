"""Sessions: on what computer and when tasks were run, and how fast it was meanwhile.

A session is one call of `compare` on one computer. During it a fixed reference task is run again
and again. If it takes longer, the computer has become slower (other load, thermal throttling, power
saving), and the times of the session are not comparable.
"""

import os
import platform
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import psutil
from pydantic import Field

from schedgap.errors import InputError
from schedgap.instances.records import Many, Record, read_json, validate, write_json

DRIFT = 0.10  # relative movement of the reference task that is reported
SPAN = 60.0  # seconds between two reference tasks
REFERENCE = f"{__name__}:reference_seconds"  # the reference task, for `run_child`
REPEATS = 5  # runs of the reference task; their median counts
_VERTICES, _STEPS = 60, 60_000  # size of the reference task
Reference = Annotated[tuple[float, float], Field(strict=False)]  # (Unix time, seconds)


class Session(Record):
    """A computer, when a session on it began, and the times of its reference tasks.

    `memory_mb` is the computer's memory. `load` is the average number of running processes in the
    minute before the start. `references` are pairs of Unix time and seconds.
    """

    version: int = 1
    id: Annotated[str, Field(pattern="^[0-9a-f]{4,32}$")]
    started: str
    host: str
    cpu: str
    cores: int
    memory_mb: int
    os: str
    python: str
    load: float | None
    versions: dict[str, str] = Field(default_factory=dict)
    references: Many[Reference] = ()


def utc_now() -> str:
    """Return the time in ISO format, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_id() -> str:
    """Return an id for a session."""
    return secrets.token_hex(5)


def new_session(identity: str, versions: Mapping[str, str]) -> Session:
    """Return a session that begins on this computer at this moment.

    `versions`: versions of this package and of the engines, by package.
    """
    load = None
    with suppress(AttributeError, OSError):  # Windows
        load = round(os.getloadavg()[0], 2)
    return Session(
        id=identity,
        started=utc_now(),
        host=platform.node(),
        cpu=_cpu(),
        cores=os.cpu_count() or 1,
        memory_mb=round(psutil.virtual_memory().total / 2**20),
        os=platform.platform(),
        python=platform.python_version(),
        load=load,
        versions=dict(versions),
    )


@lru_cache
def _cpu() -> str:
    """Return the model of the processor."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def write_session(folder: Path, session: Session) -> None:
    """Write a session into a folder.

    `folder`: the folder `sessions` of a run folder.
    """
    data = session.model_dump()
    write_json(folder / f"{session.id}.json", data | {"references": [*session.references]})


def read_sessions(folder: Path) -> list[Session]:
    """Return the sessions of a run folder, by the time at which they started.

    `folder`: the folder `sessions` of a run folder; it need not exist.

    Raises
    ------
    InputError
        If a file is not a session.
    """
    found = []
    for file in folder.glob("[!.]*.json"):
        try:
            found.append(validate(Session, read_json(file)))
        except InputError as error:
            raise error if error.file else error.inside(str(file)) from None
    return sorted(found, key=lambda session: (session.started, session.id))


def drift(sessions: Iterable[Session]) -> dict[str, float]:
    """Return by host how much the slowest reference task exceeds the fastest, as a fraction.

    `sessions`: sessions on any hosts. Those with other versions of the engines are kept apart.
    """
    seconds: dict[tuple[str, str, str], list[float]] = {}
    for session in sessions:
        key = session.host, session.cpu, str(sorted(session.versions.items()))
        seconds.setdefault(key, []).extend(took for _, took in session.references)
    moved: dict[str, float] = {}
    for (host, *_), times in seconds.items():
        if len(times) > 1 and min(times) > 0:
            moved[host] = max(max(times) / min(times) - 1, moved.get(host, 0.0))
    return moved


def reference_seconds(send: Callable[[object], None]) -> float:
    """Return the median wall-clock seconds of the reference task, in this (child) process.

    The task is a loop of the interpreter and the linear program of a fixed graph in HiGHS.

    `send`: sends a message to the parent process; not used.
    """
    times = []
    _solve_reference()  # imports, and memory
    for _ in range(REPEATS):
        begin = time.perf_counter()
        _solve_reference()
        times.append(time.perf_counter() - begin)
    return sorted(times)[REPEATS // 2]


def _solve_reference() -> Any:
    """Count in the interpreter, and solve the edge relaxation of independent sets with HiGHS."""
    import highspy

    from schedgap.solvers.engines.highs_native import new_engine

    state = 1
    for _ in range(_STEPS):
        state = (1103515245 * state + 12345) % 2**31
    solver = new_engine({"threads": 1})
    for _ in range(_VERTICES):
        solver.addVar(0.0, 1.0)
    for vertex in range(_VERTICES):
        solver.changeColCost(vertex, -1.0 - vertex % 7)
        for step in (1, 5, 17, 23):
            other = (vertex + step) % _VERTICES
            solver.addRow(-highspy.kHighsInf, 1.0, 2, [vertex, other], [1.0, 1.0])
    solver.run()
    return state, solver.getObjectiveValue()
