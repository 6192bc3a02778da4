"""Records of run folders, with their instances, best known values and contradictions."""

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
    """The records of one or more run folders.

    Parameters
    ----------
    *folders : path
        Run folders. If several have a record of a task, the first that did not fail counts.
    """

    def __init__(self, *folders: str | os.PathLike[str]) -> None:
        self.folders = tuple(Folder(folder) for folder in folders)
        records: dict[str, TaskRecord] = {}
        for folder in self.folders:
            if not folder.tasks.is_dir():
                raise InputError(
                    "not a run folder: it has no folder 'tasks'", file=str(folder.path)
                )
            for file in sorted(folder.tasks.glob("[!.]*.json")):
                record = read_record(file)
                earlier = records.get(record.key)
                if earlier is None or earlier.outcome in FAILURES:
                    records[record.key] = record
        self.records = sorted(records.values(), key=_place)

    def __len__(self) -> int:
        return len(self.records)

    def instance(self, sha256: str) -> Instance:
        """Return an instance by its hash.

        Parameters
        ----------
        sha256 : str
            Hash of the instance, in a record.
        """
        if sha256 not in self._instances:
            self._instances[sha256] = from_data(self.instance_data(sha256))
        return self._instances[sha256]

    def instance_data(self, sha256: str) -> dict[str, Any]:
        """Return the unchecked JSON data of an instance by its hash.

        Parameters
        ----------
        sha256 : str
            Hash of the instance, in a record.
        """
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
        """Instance names by hash; equal names are distinguished by a part of the hash."""
        names = {record.instance.sha256: record.instance.name for record in self.records}
        count = Counter(names.values())
        return {
            sha: name if count[name] == 1 else f"{name} #{sha[:6]}" for sha, name in names.items()
        }

    @cached_property
    def brackets(self) -> dict[tuple[str, str], Bracket]:
        """Best verified schedule and best bound of any method, by (instance hash, problem)."""
        return brackets(self.records)

    @cached_property
    def contradictions(self) -> list[str]:
        """Descriptions of all pairs of contradictory results; each one is a bug."""
        return contradictions(self.records)

    @property
    def failures(self) -> list[TaskRecord]:
        """Records of tasks that failed."""
        return [record for record in self.records if record.outcome in FAILURES]

    @property
    def incomplete(self) -> list[TaskRecord]:
        """Records of methods that ended regularly, but without a schedule or a bound."""
        return [
            record
            for record in self.records
            if record.outcome == "done"
            and record.solution is not None
            and record.solution.status == "unknown"
        ]

    @property
    def skipped(self) -> list[TaskRecord]:
        """Records of methods that do not support their instance."""
        return [record for record in self.records if record.outcome == "skipped"]

    def __repr__(self) -> str:
        instances = len({record.instance.sha256 for record in self.records})
        plural = "" if instances == 1 else "s"
        wrong = f", {len(self.contradictions)} contradictions" if self.contradictions else ""
        return (
            f"<run of {len(self.records)} tasks on {instances} instance{plural}, "
            f"{len(self.failures)} failed, {len(self.skipped)} skipped{wrong}>"
        )


def _place(record: TaskRecord) -> tuple[object, ...]:
    """Return a sort key: instance, then kind, then the family's order of methods."""
    which = record.instance
    names: list[str] = []
    if which.family in FAMILIES:
        names = [method.name for method in family(which.family).methods]
    place = names.index(record.method) if record.method in names else len(names)
    kind = KIND_ORDER.index(record.kind)
    return which.family, which.name, which.sha256, kind, place, record.label, record.key
