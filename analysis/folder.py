"""Run folders: one file per task, written atomically.

`tasks/<key>.json` is the record of one task, `instances/<sha256>.json` the instance it refers to.
Run folders can be copied, and merged by copying. The key is a hash of everything that determines
the result: instance, method, engine, options, seed, versions.
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
from schedgap.models.proofs import proof_file, write_proof

TaskOutcome = Literal["done", "skipped", "timeout", "memory", "crash", "invalid", "error"]
FAILURES = ("timeout", "memory", "crash", "invalid", "error")
Triple = Annotated[tuple[float, float | None, float | None], Field(strict=False)]


class InstanceRef(Record):
    """The instance that a record refers to."""

    name: str
    family: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class TaskRecord(Record):
    """Result of one method on one instance.

    `outcome` is `done`, `skipped` (the method does not support the instance), or the kind of
    failure. A method that was killed may still have a solution. `label` is the method with its
    non-default engine and options; `progress` has points (seconds, objective, bound); `relaxed`
    are the rules that the schedule does not have to obey. Limits are in seconds and MB.
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


def task_key(identity: Mapping[str, object]) -> str:
    """Return the key of a task: a hash of everything that determines its result.

    Parameters
    ----------
    identity : mapping
        JSON data that determine the result.
    """
    return hashlib.sha256(canonical_json(identity).encode()).hexdigest()[:32]


class Folder:
    """A run folder.

    Parameters
    ----------
    path : path
        The folder; see `create`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.tasks, self.instances = self.path / "tasks", self.path / "instances"

    def create(self) -> None:
        """Create the folder, unless it exists."""
        try:
            for directory in (self.tasks, self.instances):
                directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot be written: {reason}", file=str(self.path)) from None

    def task_file(self, key: str) -> Path:
        """Return the path of the record of a task.

        Parameters
        ----------
        key : str
            Key of the task.
        """
        return self.tasks / f"{key}.json"

    def store_instance(self, instance: Instance) -> None:
        """Store an instance, unless it is stored already."""
        file = self.instances / f"{instance.sha256}.json"
        if not file.exists():
            write_json(file, instance.to_data())

    def store(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Write a record atomically, and before it the proof file that it names; return its data.

        Parameters
        ----------
        record : mapping
            JSON data of a `TaskRecord`, and in `proof` those of a proof file, if there is one.
        """
        data, file = dict(record), self.task_file(record["key"])
        proof = data.pop("proof", None)
        if proof is not None:
            named = proof_file(file)
            claim = data["solution"]["proof"] | {
                "file": named.name,
                "sha256": write_proof(named, proof),
            }
            data["solution"] = data["solution"] | {"proof": claim}
        write_json(file, data, indent=None)
        return data

    def outcome(self, key: str) -> str | None:
        """Return the outcome of a stored task, or None if there is no record.

        Parameters
        ----------
        key : str
            Key of the task.
        """
        file = self.task_file(key)
        return read_record(file).outcome if file.exists() else None

    @contextmanager
    def claim(self, key: str, *, wait: bool) -> Iterator[bool]:
        """Claim a task exclusively, among all threads and processes.

        Yields False if the task is claimed already and `wait` is false. The operating system
        releases the claim when the process ends, even after kill -9.

        Parameters
        ----------
        key : str
            Key of the task.
        wait : bool
            Whether to wait until the task can be claimed.
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

    Parameters
    ----------
    file : Path
        The file.

    Raises
    ------
    InputError
        If the file is not a record.
    """
    try:
        return validate(TaskRecord, read_json(file))
    except InputError as error:
        raise error.inside(str(file)) from None
