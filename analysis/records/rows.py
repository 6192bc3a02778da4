"""What the tables need of a record: one flat row, without schedules and certificates."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from schedgap.analysis.records.folder import (
    FAULTS,
    JUDGED,
    TaskOutcome,
    TaskRecord,
    read_record,
)
from schedgap.analysis.runners.request import Limits
from schedgap.instances.solution import Evidence, Kind, Sense, SolutionFile, Status

FEW = 20  # points of progress that are kept in a row
MAX_SHARE = 0.5  # a result counts for larger limits if it used this share of its limit
Point = tuple[float, float | None, float | None]  # seconds, objective, bound


class TaskRow(NamedTuple):
    """A record as a flat row; the fields from `seed` on have the same values in many records.

    `file` is the record's. `instance`, `family`, `sha256` and `grid` describe its instance. `proof`
    is the kind of proof that is claimed, and `evidence` what the bound rests on. Without a
    solution, `status`, `objective`, `bound`, `seconds` and `proof` are None, and `evidence` is
    empty. `progress` is a JSON text, which few tables read; None if there are many points. The
    other fields: see `TaskRecord`.
    """

    file: str
    instance: str
    family: str
    sha256: str
    grid: float | None
    key: str
    task: str
    outcome: TaskOutcome
    message: str
    note: str
    started: str | None
    status: Status | None
    objective: float | None
    bound: float | None
    seconds: float | None
    proof: str | None
    evidence: Evidence | None
    progress: str | None
    load_seconds: float | None
    build_seconds: float | None
    engine_seconds: float | None
    engine_cpu_seconds: float | None
    confirm_seconds: float | None
    verify_seconds: float | None
    start_seconds: float
    cpu_seconds: float | None
    peak_memory_mb: float | None
    reused: str
    permutation: int | None
    log: str
    seed: int | None
    limited: bool | None
    pinned: list[int]
    statistics: Mapping[str, Any]
    method: str
    label: str
    kind: Kind
    engine: str | None
    options: Mapping[str, Any]
    problem: str
    sense: Sense
    relaxed: list[str]
    time_limit: float | None
    memory_limit: float | None
    versions: Mapping[str, str]
    version: int
    code: str
    session: str
    own: bool
    formulation: str
    threads: int | None
    workers: int | None

    @classmethod
    def of(cls, record: TaskRecord, file: str) -> "TaskRow":
        """Return the row of a record.

        `file`: its file.
        """
        which, found = record.instance, record.solution
        known = dict(record) | {
            "file": file,
            "instance": which.name,
            "family": which.family,
            "sha256": which.sha256,
            "grid": which.grid,
            "note": record.note,
            "progress": json.dumps(record.progress) if len(record.progress) <= FEW else None,
            "pinned": list(record.pinned),
            "relaxed": list(record.relaxed),
            "evidence": None if found is None else _evidence(record, found),
            "proof": None if found is None or found.proof is None else found.proof.kind,
            **{name: getattr(found, name, None) for name in _SOLUTION},
        }
        return cls._make(map(known.__getitem__, cls._fields))

    def points(self) -> Sequence[Point]:
        """Return the points of progress; many of them are read from the file."""
        if self.progress is None:
            return read_record(Path(self.file)).progress
        points: list[Point] = json.loads(self.progress)
        return points

    @property
    def failed(self) -> bool:
        """Whether the task failed; one that used up its time did not."""
        return self.outcome in FAULTS

    @property
    def incomplete(self) -> bool:
        """Whether the method came to its end or limit without a schedule or a bound."""
        return self.outcome in ("done", "timeout") and self.status in (None, "unknown")

    @property
    def judged(self) -> bool:
        """Whether it is a schedule that `judge` has put into the folder, not a method's result."""
        return self.own and self.code.endswith(JUDGED)

    @property
    def limits(self) -> Limits:
        """The limits of the task."""
        return Limits(self.time_limit, self.memory_limit)

    def answers(self, limits: Limits) -> bool:
        """Return whether the task would have the same result under these limits.

        `limits`: other limits. A proof counts for all larger time limits, and so does a method that
        ended by itself long before its limit. Memory limits count only for tasks that exceed them.
        """
        if self.limits == limits:
            return True
        if self.outcome not in ("done", "skipped", "timeout"):
            return False
        if self.outcome != "skipped" and not _at_least(limits.memory, self.memory_limit):
            peak = self.peak_memory_mb
            if peak is None or not _at_least(limits.memory, peak):
                return False
        if limits.time == self.time_limit:
            return True
        return _at_least(limits.time, self.time_limit) and self._ended_by_itself()

    def _ended_by_itself(self) -> bool:
        if self.outcome == "skipped":
            return True
        if self.outcome != "done" or self.seconds is None:
            return False
        if self.status in ("optimal", "infeasible"):
            return True
        assert self.time_limit is not None  # there is a larger one
        return self.limited is False and self.seconds <= MAX_SHARE * self.time_limit


_SOLUTION = ("status", "objective", "bound", "seconds")


def _at_least(limit: float | None, other: float | None) -> bool:
    return limit is None or (other is not None and limit >= other)


def _evidence(record: TaskRecord, solution: SolutionFile) -> Evidence:
    """Return what the bound of a record rests on; a claim without its data is only reported."""
    proof = solution.proof
    if proof is not None and (
        proof.kind == "search" or (proof.kind == "tree" and proof.file is not None)
    ):
        return proof.evidence
    certified = record.certificate is not None and solution.status != "infeasible"
    return "certified" if certified else "reported"
