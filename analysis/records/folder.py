"""Run folders: one file per task, written atomically.

A run folder has these files:

- `tasks/<key>.json`: the record of one task;
- `instances/<sha256>.json`: the instance to which a record refers;
- `sessions/<id>.json`: the computer and the time of a call of `compare`;
- `logs/<key>.log.gz`: the log of the engine that a benchmark ran.

Run folders can be copied, and merged by copying. A key has two parts. The first is a hash of
everything that determines the result: instance, method, engine, options, seed, versions, code. It
is the same in every folder. The second is a hash of the limits and the session.
"""

import gzip
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from filelock import FileLock, Timeout
from pydantic import Field

from schedgap.analysis.records.sessions import utc_now
from schedgap.analysis.runners.request import NO_LIMITS, Limits
from schedgap.errors import InputError
from schedgap.instances.arguments import a_path, refuse
from schedgap.instances.instance import Instance
from schedgap.instances.records import (
    Many,
    Record,
    canonical_json,
    read_json,
    short,
    validate,
    write_bytes,
    write_json,
)
from schedgap.instances.solution import Kind, Sense, SolutionFile
from schedgap.models.family import family
from schedgap.models.proofs import proof_file, write_proof

TaskOutcome = Literal["done", "skipped", "timeout", "memory", "crash", "invalid", "error"]
FAULTS = ("memory", "crash", "invalid", "error")
FAILURES = ("timeout", *FAULTS)  # what can be run again
RECORD_VERSION = 3  # 1: without code, session, CPU seconds, and with the time limit in the key
CLOCK_VERSION = 3  # the first in which `seconds` has no imports and no confirmation of answers
TIMES = ("load_seconds", "build_seconds", "engine_seconds", "engine_cpu_seconds", "confirm_seconds")
JUDGED = "+judged"  # ends the code of a record that `judge` has made
Triple = Annotated[tuple[float, float | None, float | None], Field(strict=False)]


UNKNOWN_GRID = 0.0  # grid of records without this field


class InstanceRef(Record):
    """The instance that a record refers to."""

    name: str
    family: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    grid: float | None = UNKNOWN_GRID
    """Step of the grid on which the optimum lies; null without one. Older records lack it."""


class TaskRecord(Record):
    """Result of one method on one instance.

    `outcome` is `done`, `skipped` (the method does not support the instance), or the kind of
    failure. A method that was killed may still have a solution. `label` is the method with its
    non-default engine and options. `progress` has points (seconds, objective, bound). `relaxed` are
    the rules that the schedule does not have to obey. Limits are in seconds and MB.

    `task` is the part of `key` without limits and session. `started` is in ISO format. Wall-clock
    seconds are in the solution. `cpu_seconds` and `peak_memory_mb` count the method with all its
    processes; the memory of a new process is added to what the task needed.

    The clock of a task stands still while its process starts and loads modules: `load_seconds`.
    `seconds` of the solution is what follows, without `confirm_seconds`, in which an engine's
    answer is confirmed by other solves. For a method that is one run of an engine, it is the sum of
    `build_seconds` and `engine_seconds`. For other methods `engine_seconds` is the sum over all
    runs of engines. `verify_seconds`: rules, certificate and proof. `start_seconds`: of older
    records. `limited`: whether the time limit may have had an influence. `own`: whether the method
    is the user's own, whose invalid schedules contradict nothing. `reused`: key of the record,
    under smaller limits, whose result this is. Fields that older versions did not write are empty.

    Records of a benchmark of engines have further fields. `formulation` is the name of the program
    that an engine solved. `permutation` is 0 for rows and columns as built. `pinned` are the cores
    to which the process was bound, and `workers` is the number of tasks at a time. `log` is the
    file in `logs`. `statistics` are the engine's statistics of its search.
    """

    key: str
    outcome: TaskOutcome
    message: str
    instance: InstanceRef
    method: str
    label: str
    kind: Kind
    engine: str | None
    options: dict[str, Any]
    seed: int | None
    problem: str
    sense: Sense
    solution: SolutionFile | None
    relaxed: Many[str] = ()
    progress: Many[Triple] = ()
    certificate: dict[str, Any] | None = None
    load_seconds: float | None = None
    build_seconds: float | None = None
    engine_seconds: float | None = None
    engine_cpu_seconds: float | None = None
    confirm_seconds: float | None = None
    verify_seconds: float | None = None
    start_seconds: float = 0.0
    peak_memory_mb: float | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    version: int = 1
    task: str = ""
    code: str = ""
    session: str = ""
    started: str | None = None
    cpu_seconds: float | None = None
    limited: bool | None = None
    own: bool = False
    reused: str = ""
    formulation: str = ""
    threads: int | None = None
    workers: int | None = None
    permutation: int | None = None
    pinned: Many[int] = ()
    log: str = ""
    statistics: dict[str, Any] = Field(default_factory=dict)

    @property
    def note(self) -> str:
        """Why the task failed or was skipped, or a remark of the method; mostly empty."""
        trace = {} if self.solution is None else self.solution.trace
        return self.message or str(trace.get("note") or "")


def task_key(identity: Mapping[str, object]) -> str:
    """Return the key of a task: a hash of everything that determines its result.

    `identity`: JSON data that determine the result.
    """
    return hashlib.sha256(canonical_json(identity).encode()).hexdigest()[:32]


def record_key(task: str, limits: Limits, session: str) -> str:
    """Return the key of a record: its task's key, then a hash of its limits and its session.

    `task`: as returned by `task_key`. `session`: id of the session that ran it.
    """
    own = hashlib.sha256(canonical_json([asdict(limits), session]).encode()).hexdigest()
    return f"{task}-{own[:12]}"


def record_data(
    instance: Instance, task: str, limits: Limits = NO_LIMITS, session: str = "", **facts: object
) -> dict[str, object]:
    """Return the data of a new `TaskRecord`, which began at this moment.

    `task`: as returned by `task_key`. `session`: id of the session that ran it. `facts`: the fields
    that are neither determined by these nor empty.
    """
    owner = family(instance.family)
    return {
        "key": record_key(task, limits, session),
        "version": RECORD_VERSION,
        "task": task,
        "session": session,
        "started": utc_now(),
        "outcome": "done",
        "message": "",
        "instance": {
            "name": instance.name,
            "family": instance.family,
            "sha256": instance.sha256,
            "grid": owner.grid(instance),
        },
        "engine": None,
        "seed": None,
        "sense": owner.sense(instance),
        "solution": None,
        "relaxed": [],
        "progress": [],
        "certificate": None,
        "time_limit": limits.time,
        "memory_limit": limits.memory,
    } | facts


class Folder:
    """A run folder.

    `path`: the folder; see `create`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        refuse("run folder", path, a_path)
        self.path = Path(path)
        self.tasks, self.instances = self.path / "tasks", self.path / "instances"
        self.sessions, self.logs = self.path / "sessions", self.path / "logs"

    def check(self) -> None:
        """Raise `InputError` unless there is a run in the folder."""
        if self.tasks.is_dir():
            return
        if not self.path.exists():
            raise InputError("not a run folder: there is no such folder", file=str(self.path))
        if not self.path.is_dir():
            raise InputError("not a run folder: it is a file", file=str(self.path))
        raise InputError("not a run folder: it has no folder 'tasks'", file=str(self.path))

    def create(self) -> None:
        """Create the folder, unless it exists."""
        try:
            for directory in (self.tasks, self.instances, self.sessions):
                directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot be written: {reason}", file=str(self.path)) from None

    def task_file(self, key: str) -> Path:
        """Return the path of the record of a task.

        `key`: key of the task.
        """
        return self.tasks / f"{key}.json"

    def log_file(self, key: str) -> Path:
        """Return the path of the log of a task.

        `key`: key of the task.
        """
        return self.logs / f"{key}.log.gz"

    def store_instance(self, instance: Instance) -> None:
        """Store an instance, unless it is stored already."""
        file = self.instances / f"{instance.sha256}.json"
        if not file.exists():
            write_json(file, instance.to_data())

    def store(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Write a record atomically, and before it the files that it names; return its data.

        `record`: JSON data of a `TaskRecord`. `proof` has the JSON data of a proof file, if there
        is one, and `log` the text of an engine's log.
        """
        data, file = dict(record), self.task_file(record["key"])
        if data.get("log"):
            self.logs.mkdir(exist_ok=True)
            named = self.log_file(data["key"])
            write_bytes(named, gzip.compress(data["log"].encode(), mtime=0))
            data["log"] = named.name
        proof = data.pop("proof", None)
        if proof is not None:
            named = proof_file(file)
            evidence = data["solution"]["proof"] | {
                "file": named.name,
                "sha256": write_proof(named, proof),
            }
            data["solution"] = data["solution"] | {"proof": evidence}
        write_json(file, data, indent=None)
        return data

    def find(self, task: str, limits: Limits) -> list[TaskRecord]:
        """Return the records of a task under its limits, as they are in the folder at this moment.

        `task`: key of the task.
        """
        names = sorted(file.stem for file in self.sessions.glob("[!.]*.json"))
        files = [self.task_file(record_key(task, limits, session)) for session in names]
        return [read_record(file) for file in files if file.exists()]

    def remove(self, key: str) -> None:
        """Remove a record with its proof file and its log, if they exist.

        `key`: key of the record.
        """
        file = self.task_file(key)
        for path in (file, proof_file(file), self.log_file(key)):
            path.unlink(missing_ok=True)

    def reuse(self, file: Path, limits: Limits) -> dict[str, Any]:
        """Store the result of a record for other limits too, and return the data.

        `file`: a record of this folder that answers `limits`.
        """
        data = read_json(file)
        options = {key: value for key, value in data["options"].items() if key != "time_limit"}
        data |= {
            "key": record_key(data["task"], limits, data.get("session", "")),
            "reused": data.get("reused") or data["key"],
            "options": options | ({} if limits.time is None else {"time_limit": limits.time}),
            "time_limit": limits.time,
            "memory_limit": limits.memory,
        }
        write_json(self.task_file(data["key"]), data, indent=None)
        return cast(dict[str, Any], data)

    @contextmanager
    def lock(self, key: str, *, wait: bool) -> Iterator[bool]:
        """Lock a task among all threads and processes.

        Yields False if the task is locked already and `wait` is false. The operating system
        releases the lock when the process ends, even after kill -9.

        `key`: key of the task. `wait`: whether to wait until the task can be locked.
        """
        file = self.tasks / f".{key}.lock"
        lock = FileLock(file, thread_local=False, fallback_to_soft=False)
        held = True
        try:
            lock.acquire(blocking=wait)
        except Timeout:
            held = False
        except OSError:  # a file system without locks: a task may run twice
            pass
        try:
            yield held
        finally:
            if held:  # remove the file first: waiting processes notice and create a new one
                with suppress(OSError):
                    file.unlink()
                with suppress(OSError):
                    lock.release()


def read_record(file: Path) -> TaskRecord:
    """Return the record in a file.

    Raises
    ------
    InputError
        If the file is not a record.
    """
    data = read_json(file)
    try:
        if isinstance(data, dict) and data.get("key") is None:
            raise InputError("not a record of a task")
        if isinstance(data, dict) and data.get("version", 1) not in range(1, RECORD_VERSION + 1):
            raise InputError(f"a record of another version of schedgap: {short(data['version'])}")
        return validate(TaskRecord, data)
    except InputError as error:
        raise error.inside(str(file)) from None
