"""Compare the results of two run folders of `schedgap compare`, and print what differs.

Two records belong together if their instance, label, seed and options are equal. Outcome, status,
objective, bound and certificate are compared, numbers within 1e-9 relative and without times;
records that only one folder has are reported too.

    python tests/compare_runs.py runs/before runs/after --rename oldname=newname --ignore search

Exit codes: 0 no difference, 1 differences, 2 invalid arguments or folders.
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from schedgap.analysis.records.folder import Folder, TaskRecord, read_record
from schedgap.errors import InputError, UsageError
from schedgap.instances.families import FAMILIES

RELATIVE = 1e-9
MAX_WIDTH = 60  # characters of a value in the table
ABSENT = "absent"
LABEL = r"[^=:@]+(?:@[^=:@]+)?(?::[^=:@]+=[^=:@]*)*"  # NAME@ENGINE:KEY=VALUE
Key = tuple[str, str, int | None, str]  # hash of the instance, label, seed, options as JSON
Row = tuple[str, str, str, str, str]  # instance, task, field, first value, second value


@dataclass(frozen=True, slots=True)
class Choice:
    """The records to compare, and the renamed methods."""

    names: Mapping[
        str, str
    ]  # name in the first folder -> name in the second; methods or whole labels
    ignored: frozenset[str] = frozenset()
    family: str | None = None


def differences(first: Path, second: Path, choice: Choice) -> tuple[list[Row], int]:
    """Return a row for each difference, by instance, and the number of tasks.

    Parameters
    ----------
    first, second : Path
        Run folders.
    choice : Choice
        The records to compare.

    Raises
    ------
    InputError
        If a folder is not a run folder, has an invalid record, or has a task twice.
    """
    before = _read(first, choice, choice.names)
    after = _read(second, choice, {})
    keys = sorted(before.keys() | after.keys(), key=lambda key: _place(key, before, after))
    rows = [row for key in keys for row in _compare(key, before.get(key), after.get(key))]
    return rows, len(keys)


def _read(path: Path, choice: Choice, names: Mapping[str, str]) -> dict[Key, TaskRecord]:
    """Return the records of a folder that are to be compared."""
    tasks = Folder(path).tasks
    if not tasks.is_dir():
        raise InputError("not a run folder: it has no folder 'tasks'", file=str(path))
    found: dict[Key, TaskRecord] = {}
    for file in sorted(tasks.glob("[!.]*.json")):
        record = read_record(file)
        label = _renamed(record, names)
        if choice.family not in (None, record.instance.family):
            continue
        if choice.ignored & {record.method, record.label, label, _method(label)}:
            continue
        options = json.dumps(record.options, sort_keys=True)
        key = (record.instance.sha256, label, record.seed, options)
        if key in found:
            other = f"{found[key].key}.json"
            raise InputError(f"the same task as {other}: {label}", file=str(file))
        found[key] = record
    return found


def _renamed(record: TaskRecord, names: Mapping[str, str]) -> str:
    """Return the label of a record with the names of the second folder."""
    if record.label in names:
        return names[record.label]
    return names.get(record.method, record.method) + record.label.removeprefix(record.method)


def _method(label: str) -> str:
    """Return the method of a label `NAME@ENGINE:KEY=VALUE`."""
    return label.partition(":")[0].partition("@")[0]


def _place(
    key: Key, before: Mapping[Key, TaskRecord], after: Mapping[Key, TaskRecord]
) -> tuple[Any, ...]:
    which = (before.get(key) or after[key]).instance
    sha256, label, seed, options = key
    return which.family, which.name, sha256, label, -1 if seed is None else seed, options


def _compare(key: Key, first: TaskRecord | None, second: TaskRecord | None) -> Iterator[Row]:
    """Yield the differences between two records of one task."""
    one = first or second
    assert one is not None
    _, label, seed, options = key
    which = one.instance
    instance = f"{which.family} {which.name} #{which.sha256[:6]}"
    task = label if seed is None else f"{label}, seed {seed}"
    if first is None or second is None:
        words = f"{one.outcome}, with {options}"
        yield instance, task, "record", *(("-", words) if first is None else (words, "-"))
        return
    left, right = _facts(first), _facts(second)
    for name in left:
        for place, a, b in islice(_apart(left[name], right[name], name), 1):
            yield instance, task, place, *_words(a, b)


def _facts(record: TaskRecord) -> dict[str, Any]:
    """Return the data in which two records of one task must agree."""
    solution = record.solution
    return {
        "outcome": record.outcome,
        "status": None if solution is None else solution.status,
        "objective": None if solution is None else solution.objective,
        "bound": None if solution is None else solution.bound,
        "certificate": record.certificate,
    }


def _apart(a: Any, b: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the paths at which two JSON values differ, numbers by more than round-off."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in sorted(a.keys() | b.keys()):
            inside = f"{place}.{name}"
            if name.endswith("seconds"):
                continue
            if name in a and name in b:
                yield from _apart(a[name], b[name], inside)
            else:
                yield inside, a.get(name, ABSENT), b.get(name, ABSENT)
    elif isinstance(a, Sequence) and isinstance(b, Sequence) and not isinstance(a, str):
        for i, (left, right) in enumerate(zip_longest(a, b, fillvalue=ABSENT)):
            yield from _apart(left, right, f"{place}[{i}]")
    elif _numbers(a, b):
        if not math.isclose(a, b, rel_tol=RELATIVE):
            yield place, a, b
    elif a != b or isinstance(a, bool) != isinstance(b, bool):
        yield place, a, b


def _numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _words(*values: Any) -> tuple[str, str]:
    """Return two different values as text, long ones from shortly before the first difference."""
    texts = ["-" if value is None else str(value) for value in values]
    parted = next((i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), 0)
    start = max(0, parted - MAX_WIDTH // 2)
    left, right = (("..." if start else "") + text[start : start + MAX_WIDTH] for text in texts)
    return left, right


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the folders given on the command line, print the differences, return the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default, from the command line.
    """
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog="example: compare_runs.py runs/before runs/after --rename oldname=newname",
    )
    parser.add_argument("first", type=Path, metavar="FIRST", help="run folder")
    parser.add_argument("second", type=Path, metavar="SECOND", help="run folder")
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW",
                        help="method or label OLD of FIRST is NEW in SECOND")  # fmt: skip
    parser.add_argument("--ignore", action="append", default=[], metavar="METHOD",
                        help="leave a method or label out, by either name")  # fmt: skip
    parser.add_argument("--family", choices=list(FAMILIES), help="compare this family only")
    given = parser.parse_args(arguments)
    try:
        choice = Choice(_names(given.rename), frozenset(given.ignore), given.family)
        rows, tasks = differences(given.first, given.second, choice)
    except (InputError, UsageError) as error:
        print(f"compare_runs: {error}", file=sys.stderr)
        return 2
    _print(rows)
    count = f"{len(rows)} difference{'' if len(rows) == 1 else 's'}"
    print(f"{count} in {tasks} task{'' if tasks == 1 else 's'}")
    return 1 if rows else 0


def _names(words: Sequence[str]) -> dict[str, str]:
    """Return the new names of `--rename OLD=NEW` arguments by old name."""
    names: dict[str, str] = {}
    for word in words:
        found = re.fullmatch(f"({LABEL})=({LABEL})", word)
        if found is None or found[1] in names:
            raise UsageError(f"--rename {word}: need OLD=NEW, once for each OLD")
        names[found[1]] = found[2]
    return names


def _print(rows: Sequence[Row]) -> None:
    if not rows:
        return
    table = Table("instance", "task", "field", "first", "second", box=box.SIMPLE)
    for row in rows:
        table.add_row(*row)
    wide = Console(width=240, markup=False, highlight=False)
    wide.print(table)


if __name__ == "__main__":
    sys.exit(main())
