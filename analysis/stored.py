"""Run folders read back: their records, instances, brackets of optima, and contradictions."""

import os
from collections import Counter
from functools import cached_property
from typing import Any

from schedgap.analysis.folder import FAILURES, Folder, TaskRecord, read_record
from schedgap.analysis.ratios import Bracket, brackets, contradictions
from schedgap.errors import InputError
from schedgap.instances.families import FAMILIES, from_data
from schedgap.instances.instance import Instance
from schedgap.instances.records import read_json
from schedgap.instances.solution import Kind
from schedgap.models.family import family

KIND_ORDER: tuple[Kind, ...] = ("exact", "bound", "algorithm", "baseline")


class StoredRun:
    """The records of one or more run folders, and what follows from them.

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

    def __repr__(self) -> str:
        instances = len({record.instance.sha256 for record in self.records})
        plural = "" if instances == 1 else "s"
        wrong = f", {len(self.contradictions)} contradictions" if self.contradictions else ""
        return (
            f"<run of {len(self.records)} tasks on {instances} instance{plural}, "
            f"{len(self.failures)} failed, {len(self.skipped)} skipped{wrong}>"
        )


def _place(record: TaskRecord) -> tuple[Any, ...]:
    """Order by instance, then by kind, then as the family lists its methods."""
    which = record.instance
    names: list[str] = []
    if which.family in FAMILIES:
        names = [method.name for method in family(which.family).methods]
    place = names.index(record.method) if record.method in names else len(names)
    kind = KIND_ORDER.index(record.kind)
    return which.family, which.name, which.sha256, kind, place, record.label, record.key
