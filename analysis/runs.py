"""Run folders: one file per task, written whole or not at all, and read back as tables.

`tasks/<key>.json` holds one record, `instances/<sha256>.json` the instance it belongs to, so that
a folder can be copied, and folders merged by copying. A key is the hash of all that decides the
answer: instance, method, engine, options, seed, versions.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from filelock import FileLock, Timeout
from pydantic import Field

from schedgap.analysis.ratios import Bracket, brackets, contradictions
from schedgap.errors import InputError
from schedgap.instances.families import FAMILIES, from_data
from schedgap.instances.instance import Instance
from schedgap.instances.records import Many, Record, canonical_json, read_json, validate, write_json
from schedgap.instances.solution import Kind, Sense, SolutionFile
from schedgap.models.family import family

if TYPE_CHECKING:
    import pandas as pd

TaskOutcome = Literal["done", "skipped", "timeout", "memory", "crash", "invalid", "error"]
FAILURES = ("timeout", "memory", "crash", "invalid", "error")
KIND_ORDER: tuple[Kind, ...] = ("exact", "bound", "algorithm", "baseline")
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


class Run:
    """The records of one or more run folders, and the tables that are made of them.

    Parameters
    ----------
    *folders : path
        Run folders; a task that several hold counts once (one that did not fail, if there is one).
    """

    def __init__(self, *folders: str | os.PathLike[str]) -> None:
        self.folders = tuple(Folder(folder) for folder in folders)
        found: dict[str, TaskRecord] = {}
        for folder in self.folders:
            if not folder.tasks.is_dir():
                raise InputError("not a run folder: no 'tasks' in it", file=str(folder.path))
            for file in sorted(folder.tasks.glob("[!.]*.json")):
                record = read_record(file)
                kept = found.get(record.key)
                if kept is None or kept.outcome in FAILURES:
                    found[record.key] = record
        self.records = sorted(found.values(), key=_place)

    @classmethod
    def load(cls, *folders: str | os.PathLike[str]) -> "Run":
        """Return the run that lies in these folders."""
        return cls(*folders)

    def __len__(self) -> int:
        return len(self.records)

    def instance(self, sha256: str) -> Instance:
        """Return the instance of a record by its hash, built once."""
        if sha256 not in self._instances:
            self._instances[sha256] = from_data(self.instance_data(sha256))
        return self._instances[sha256]

    def instance_data(self, sha256: str) -> dict[str, Any]:
        """Return the instance file of a record by its hash, unchecked."""
        if sha256 not in self._instance_data:
            for folder in self.folders:
                file = folder.instances / f"{sha256}.json"
                if file.exists():
                    self._instance_data[sha256] = read_json(file)
                    break
            else:
                raise InputError("no such instance in the run", file=f"{sha256}.json")
        return self._instance_data[sha256]

    @cached_property
    def _instance_data(self) -> dict[str, dict[str, Any]]:
        return {}

    @cached_property
    def _instances(self) -> dict[str, Instance]:
        return {}

    @cached_property
    def names(self) -> dict[str, str]:
        """Instance name by hash, with a piece of the hash where another has the same name."""
        names = {record.instance.sha256: record.instance.name for record in self.records}
        count = Counter(names.values())
        return {
            sha: name if count[name] == 1 else f"{name} #{sha[:6]}" for sha, name in names.items()
        }

    @cached_property
    def brackets(self) -> dict[tuple[str, str], Bracket]:
        """By (instance hash, problem): best verified schedule and best bound of any method."""
        return brackets(self.records)

    @cached_property
    def contradictions(self) -> list[str]:
        """In words, every pair of results that cannot both be right: bugs, none is hidden."""
        return contradictions(self.records)

    @property
    def failures(self) -> list[TaskRecord]:
        """Records of tasks that failed."""
        return [record for record in self.records if record.outcome in FAILURES]

    @property
    def incomplete(self) -> list[TaskRecord]:
        """Records of methods that ended in their own way without a schedule or a bound."""
        return [
            record
            for record in self.records
            if record.outcome == "done"
            and record.solution is not None
            and record.solution.status == "unknown"
        ]

    @property
    def skipped(self) -> list[TaskRecord]:
        """Records of methods that are not for their instance."""
        return [record for record in self.records if record.outcome == "skipped"]

    def verify(self) -> list[str]:
        """Verify every stored solution again; return in words what is wrong (nothing, if all is).

        Nothing in the folder is believed: schedules, objectives, statuses and certified bounds are
        judged from the instances alone.
        """
        from schedgap.analysis.verifying import verify

        wrong = []
        for record in self.records:
            found, certificate = record.solution, record.certificate
            if found is None or (found.schedule is None and certificate is None):
                continue
            instance = self.instance(record.instance.sha256)
            try:
                verdict = verify(instance, dict(found), certificate)
            except InputError as error:
                wrong.append(f"{record.instance.name}: {record.label}: {error}")
            else:
                wrong += [
                    f"{record.instance.name}: {record.label}: {item.rule}: {item.message}"
                    for item in verdict.violations
                ]
        return wrong

    def table(self) -> "pd.DataFrame":
        """Return a row for each record: objective, bound, ratio interval, time."""
        from schedgap.analysis.tables import table

        return table(self)

    def ratios(self) -> "pd.DataFrame":
        """Return a row for each schedule: ratio interval, what brackets it, the guarantee."""
        from schedgap.analysis.tables import ratios

        return ratios(self)

    def summary(self, *, by_preset: bool = True) -> "pd.DataFrame":
        """Return a row for each family, preset (if wanted) and method: counts, ratios, time."""
        from schedgap.analysis.tables import summary

        return summary(self, by_preset=by_preset)

    def headline(self) -> list[str]:
        """Return in sentences how tight the run is and how the papers' algorithms stand."""
        from schedgap.analysis.report.headline import headline
        from schedgap.analysis.report.results import collect

        head, sentences = headline(collect(self))
        return [head, *sentences]

    def progress(self) -> "pd.DataFrame":
        """Return a row for each time at which a method had a better schedule or bound."""
        from schedgap.analysis.tables import progress

        return progress(self)

    def profile(self) -> "pd.DataFrame":
        """Return performance profiles: for each method the share of instances within a ratio."""
        from schedgap.analysis.tables import profile

        return profile(self)

    def report(self, file: str | os.PathLike[str] | None = None) -> Path:
        """Write the offline report, by default `report.html` in the (first) run folder."""
        from schedgap.analysis.report import write_report

        target = self.folders[0].path / "report.html" if file is None else Path(file)
        return write_report([folder.path for folder in self.folders], target)

    def __repr__(self) -> str:
        instances = len({record.instance.sha256 for record in self.records})
        plural = "" if instances == 1 else "s"
        wrong = f", {len(self.contradictions)} contradictions" if self.contradictions else ""
        return (
            f"<run of {len(self.records)} tasks on {instances} instance{plural}, "
            f"{len(self.failures)} failed, {len(self.skipped)} skipped{wrong}>"
        )

    def _repr_html_(self) -> str:
        from schedgap.analysis.tables import as_html

        return as_html(self)


def _place(record: TaskRecord) -> tuple[Any, ...]:
    """Order by instance, then by kind, then as the family lists its methods."""
    which = record.instance
    names: list[str] = []
    if which.family in FAMILIES:
        names = [method.name for method in family(which.family).methods]
    place = names.index(record.method) if record.method in names else len(names)
    kind = KIND_ORDER.index(record.kind)
    return which.family, which.name, which.sha256, kind, place, record.label, record.key
