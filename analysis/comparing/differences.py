"""Differences between two runs: tasks whose result has changed, and how their times compare."""

import math
from dataclasses import dataclass

import pandas as pd

from schedgap.analysis.records.folder import TaskRecord
from schedgap.analysis.records.stored import StoredRun

Task = tuple[str, str, int | None]  # hash of the instance, label, seed
COLUMNS = [
    "family", "instance", "method", "seed", "what", "first", "second",
]  # fmt: skip
RELATIVE = 1e-9  # difference of numbers that counts as none


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between two runs.

    `rows` has a row for each outcome, status, objective, bound or kind of proof that differs;
    `common` is the number of tasks that both have, `only` those that one has alone, and `time` the
    geometric mean of the second run's seconds divided by the first's, over the common tasks of at
    least 0.1 s (`timed` of them).
    """

    rows: pd.DataFrame
    common: int
    only: tuple[int, int]
    time: float | None
    timed: int


def differences(first: StoredRun, second: StoredRun) -> Differences:
    """Return what differs between two runs.

    Two records are of one task if instance, method with engine and options, and seed agree; of
    several such records in a run the best counts: one that did not fail, and of those the one with
    the smaller gap.
    """
    before, after = _by_task(first), _by_task(second)
    common = [task for task in before if task in after]
    rows = [
        (one.instance.family, first.names[task[0]], task[1], task[2], what, old, new)
        for task in common
        for one, other in ((before[task], after[task]),)
        for what, old, new in _changes(one, other)
    ]
    ratios = [
        math.log(new / old)
        for old, new in ((_seconds(before[task]), _seconds(after[task])) for task in common)
        if min(old, new) >= 0.1
    ]
    return Differences(
        rows=pd.DataFrame(rows, columns=COLUMNS),
        common=len(common),
        only=(len(before) - len(common), len(after) - len(common)),
        time=math.exp(math.fsum(ratios) / len(ratios)) if ratios else None,
        timed=len(ratios),
    )


def _by_task(run: StoredRun) -> dict[Task, TaskRecord]:
    found: dict[Task, TaskRecord] = {}
    for record in run.records:
        task = record.instance.sha256, record.label, record.seed
        if task not in found or _rank(record) < _rank(found[task]):
            found[task] = record
    return found


def _rank(record: TaskRecord) -> tuple[bool, float]:
    solution = record.solution
    if solution is None or solution.objective is None or solution.bound is None:
        return record.outcome != "done", math.inf
    return record.outcome != "done", abs(solution.objective - solution.bound)


def _seconds(record: TaskRecord) -> float:
    return 0.0 if record.solution is None else record.solution.seconds


def _changes(one: TaskRecord, other: TaskRecord) -> list[tuple[str, object, object]]:
    """Return what differs between two records of one task, with both values."""
    before, after = _facts(one), _facts(other)
    return [(what, old, after[what]) for what, old in before.items() if not _same(old, after[what])]


def _facts(record: TaskRecord) -> dict[str, object]:
    solution = record.solution
    return {
        "outcome": record.outcome,
        "status": None if solution is None else solution.status,
        "objective": None if solution is None else solution.objective,
        "bound": None if solution is None else solution.bound,
        "proof": None if solution is None or solution.proof is None else solution.proof.kind,
    }


def _same(old: object, new: object) -> bool:
    if isinstance(old, float | int) and isinstance(new, float | int):
        return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=0.0)
    return old == new
