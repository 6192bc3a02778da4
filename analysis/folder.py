"""A run folder on disk: one file per task, written whole or not at all.

`tasks/<key>.json` holds one record, `instances/<sha256>.json` the instance it belongs to, so that
a folder can be copied, and folders merged by copying. A key is the hash of all that decides the
answer: instance, method, engine, options, seed, versions.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from filelock import FileLock, Timeout
from pydantic import Field

from schedgap.errors import InputError
from schedgap.instances.instance import Instance
from schedgap.instances.records import Many, Record, canonical_json, read_json, validate, write_json
from schedgap.instances.solution import Kind, Sense, SolutionFile

TaskOutcome = Literal["done", "skipped", "timeout", "memory", "crash", "invalid", "error"]
FAILURES = ("timeout", "memory", "crash", "invalid", "error")
Triple = Annotated[tuple[float, float | None, float | None], Field(strict=False)]


class InstanceRef(Record):
    """Which instance a record belongs to."""

    name: str
    family: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class TaskRecord(Record):
    """What became of one method on one instance.

    `outcome`: `done`; `skipped`, the method is not for this instance; or how it failed. A killed
    method may still have left a solution. `label` is the method with what differs from its
    defaults. `progress`: (seconds, objective, bound). `relaxed`: rules that the schedule leaves
    out. Limits in seconds and MB.
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
    start_seconds: float = 0.0
    peak_memory_mb: float | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    versions: dict[str, str] = Field(default_factory=dict)


def task_key(identity: Mapping[str, Any]) -> str:
    """Return the name of a task: a hash of all that decides its answer."""
    return hashlib.sha256(canonical_json(identity).encode()).hexdigest()[:32]


class Folder:
    """A run's folder on disk."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.tasks, self.instances = self.path / "tasks", self.path / "instances"

    def create(self) -> None:
        """Make the folder, or take the one that is there."""
        try:
            for directory in (self.tasks, self.instances):
                directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot be written: {reason}", file=str(self.path)) from None

    def task_file(self, key: str) -> Path:
        """Return where the record of a task lies."""
        return self.tasks / f"{key}.json"

    def store_instance(self, instance: Instance) -> None:
        """Keep an instance, once."""
        file = self.instances / f"{instance.sha256}.json"
        if not file.exists():
            write_json(file, instance.to_data())

    def store(self, record: Mapping[str, Any]) -> None:
        """Write a record atomically."""
        write_json(self.task_file(record["key"]), record, indent=None)

    def outcome(self, key: str) -> str | None:
        """Return how a stored task ended, or None."""
        file = self.task_file(key)
        return read_record(file).outcome if file.exists() else None

    @contextmanager
    def claim(self, key: str, *, wait: bool) -> Iterator[bool]:
        """Hold a task against other claims, of this process too.

        Yields False when it is claimed already and `wait` is false. The system drops a claim with
        its process, also after kill -9.
        """
        file = self.tasks / f".{key}.lock"
        lock = FileLock(file, thread_local=False, fallback_to_soft=False)
        held = True
        try:
            lock.acquire(blocking=wait)
        except Timeout:
            held = False
        except OSError:  # a file system without locks: a task may be done twice
            pass
        try:
            yield held
        finally:
            if held:  # the file goes first: who waits for it sees that, and makes a new one
                with suppress(OSError):
                    file.unlink()
                with suppress(OSError):
                    lock.release()


def read_record(file: Path) -> TaskRecord:
    """Return one record; InputError names the file."""
    try:
        return validate(TaskRecord, read_json(file))
    except InputError as error:
        raise error if error.file else error.inside(str(file)) from None
