"""Differences between two runs: tasks whose result has changed, and how their times compare."""

import math
from dataclasses import dataclass

import pandas as pd

from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.stored import StoredRun

Task = tuple[str, str, int | None]  # hash of the instance, label, seed
COMPARED = ("outcome", "status", "objective", "bound", "proof")
COLUMNS = [
    "family", "instance", "method", "seed", "what", "first", "second",
]  # fmt: skip
RELATIVE = 1e-9  # difference of numbers that counts as none


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between two runs.

    `rows` has a row for each outcome, status, objective, bound or kind of proof that differs.
    `common` counts the tasks of both runs, and `only` the tasks of the first or the second run
    alone. `time` is the geometric mean of the second run's seconds divided by the first's. It is
    over the `timed` common tasks of at least 0.1 s.
    """

    rows: pd.DataFrame
    common: int
    only: tuple[int, int]
    time: float | None
    timed: int


def differences(first: StoredRun, second: StoredRun) -> Differences:
    """Return what differs between two runs.

    Two records are of one task if instance, method with engine and options, and seed agree. If a
    run has several such records, the best one counts: a record that did not fail, with the smallest
    gap.
    """
    before, after = _by_task(first), _by_task(second)
    common = [task for task in before if task in after]
    rows = [
        (one.family, first.names[task[0]], task[1], task[2], what, old, new)
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


def _by_task(run: StoredRun) -> dict[Task, TaskRow]:
    found: dict[Task, TaskRow] = {}
    for row in run.rows:
        task = row.sha256, row.label, row.seed
        if task not in found or _rank(row) < _rank(found[task]):
            found[task] = row
    return found


def _rank(row: TaskRow) -> tuple[bool, float]:
    if row.objective is None or row.bound is None:
        return row.outcome != "done", math.inf
    return row.outcome != "done", abs(row.objective - row.bound)


def _seconds(row: TaskRow) -> float:
    return row.seconds or 0.0


def _changes(one: TaskRow, other: TaskRow) -> list[tuple[str, object, object]]:
    """Return what differs between two records of one task, with both values."""
    before, after = _facts(one), _facts(other)
    return [(what, old, after[what]) for what, old in before.items() if not _same(old, after[what])]


def _facts(row: TaskRow) -> dict[str, object]:
    return {name: getattr(row, name) for name in COMPARED}


def _same(old: object, new: object) -> bool:
    if isinstance(old, float | int) and isinstance(new, float | int):
        return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=0.0)
    return old == new
