"""An index of the records of a large run folder, so that they need not all be read.

The file `index.jsonl` in the run folder has a line for each record, without its schedule,
certificate, long trace and long progress, which are read when they are asked for. Lines are valid
for one size and time of change of the record's file; the records themselves remain the truth, and
the index may be deleted at any time. Values that many records have in common are on lines of their
own. Each line begins with a check sum: an index that was damaged or edited is made again.
"""

import gc
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from schedgap.analysis.records.folder import InstanceRef, TaskRecord, read_record
from schedgap.errors import InputError
from schedgap.instances.records import write_text
from schedgap.instances.solution import ProofClaim, SolutionFile

NAME = "index.jsonl"
FORMAT = {"index": "schedgap", "version": 3}
LEAST = 500  # records from which on an index is written
SHORT = 300  # characters of a trace that is kept in the index
FEW = 20  # points of progress that are kept in the index
COMMON = (
    *("instance", "method", "label", "kind", "engine", "options", "problem", "sense", "relaxed"),
    *("time_limit", "memory_limit", "versions", "version", "code", "session", "own"),
)
OWN = (
    *("key", "outcome", "message", "seed", "task", "started", "cpu_seconds", "start_seconds"),
    *("peak_memory_mb", "limited", "reused"),
)
SOLUTION_COMMON = (
    *("family", "version", "instance", "instance_sha256", "method", "engine", "kind", "options"),
    *("seed", "sense", "versions"),
)
SOLUTION_OWN = ("status", "objective", "bound", "seconds", "proof")
Stamp = tuple[int, int]  # time of change in nanoseconds, size in bytes
Row = list[Any]  # name, time, size, mark of the common values, own values, solution, rest
Cache = dict[str, tuple[dict[str, Any], dict[str, Any]]]  # common values of record and solution


class IndexedSolution(SolutionFile):
    """A solution whose schedule and trace are read from the record when they are asked for."""

    __slots__ = ("_record",)

    def __getattr__(self, name: str) -> Any:
        if name in ("schedule", "trace"):
            return getattr(self._record.read().solution, name)
        raise AttributeError(name)

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        return iter(self._record.read().solution)


class IndexedRecord(TaskRecord):
    """A record whose progress and certificate are read from its file when they are asked for."""

    __slots__ = ("_certified", "_file", "_note")

    def read(self) -> TaskRecord:
        """Return the whole record from its file."""
        file: Path = self._file
        with suppress(OSError):
            facts = file.stat()
            return _whole(file, (facts.st_mtime_ns, facts.st_size))
        return read_record(file)

    @property
    def note(self) -> str:
        """Why the task failed or was skipped, or a remark of the method; mostly empty."""
        return str(self._note)

    @property
    def certified(self) -> bool:
        """Whether the bound has a certificate."""
        return bool(self._certified)

    def __getattr__(self, name: str) -> Any:
        if name in ("progress", "certificate"):
            return getattr(self.read(), name)
        raise AttributeError(name)

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        return iter(self.read())


@lru_cache(maxsize=16)
def _whole(file: Path, stamp: Stamp) -> TaskRecord:
    return read_record(file)


def read_records(tasks: Path) -> list[tuple[Path, TaskRecord]]:
    """Return the records of a folder with their files, by name; use and update its index.

    Parameters
    ----------
    tasks : Path
        The folder `tasks` of a run folder.

    Raises
    ------
    InputError
        If a JSON file in it is not a record.
    """
    collecting = gc.isenabled()
    gc.disable()  # looking for cycles takes most of the time, and there are none
    try:
        return _read_records(tasks)
    finally:
        if collecting:
            gc.enable()


def _read_records(tasks: Path) -> list[tuple[Path, TaskRecord]]:
    files = _files(tasks)
    if len(files) < LEAST:
        read = ((tasks / name, _present(tasks / name)) for name in files)
        return [(file, record) for file, record in read if record is not None]
    index = tasks.parent / NAME
    known, common, lines = _read(index)
    added: list[str] = []
    found: list[tuple[Path, TaskRecord]] = []
    cache: Cache = {}
    for name, stamp in files.items():
        file, row = tasks / name, known.get(name)
        if row is not None and (row[1], row[2]) == stamp:
            try:
                found.append((file, _record(file, row, common, cache)))
            except (ValueError, TypeError, LookupError):  # a damaged line
                pass
            else:
                continue
        record = _present(file)
        if record is None:
            continue
        found.append((file, record))
        text = json.dumps(_common(record), sort_keys=True)
        mark = _mark(text)
        if mark not in common:
            common[mark] = text
            added.append(_line(text))
        added.append(_line(json.dumps([name, *stamp, mark, *_own(record)])))
    if added:
        _write(index, lines, added, fresh=not lines or lines > 2 * len(files) + 1000)
    return found


def _files(tasks: Path) -> dict[str, Stamp]:
    """Return time of change and size of each file that should be a record, by name."""
    found: dict[str, Stamp] = {}
    if not tasks.is_dir():
        return found
    with os.scandir(tasks) as entries:
        for entry in entries:
            if entry.name.endswith(".json") and not entry.name.startswith("."):
                found[entry.name] = _stamp(entry)
    return dict(sorted(found.items()))


def _present(file: Path) -> TaskRecord | None:
    """Return the record in a file, or None if another process has removed it meanwhile."""
    try:
        return read_record(file)
    except InputError:
        if os.path.lexists(file):
            raise
        return None


def _stamp(entry: "os.DirEntry[str]") -> Stamp:
    """Return time of change and size of a file; those of a broken link are zero."""
    try:
        facts = entry.stat()
    except OSError:
        return 0, 0
    return facts.st_mtime_ns, facts.st_size


def _mark(text: str) -> str:
    """Return how lines refer to common values: several processes may append to an index."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _line(text: str) -> str:
    """Return a line of the index: a check sum and a JSON text."""
    return f"{zlib.crc32(text.encode()):08x} {text}"


def _text(line: str) -> str:
    """Return the JSON text of a line; a line that was changed is a `ValueError`."""
    text = line[9:].rstrip("\n")
    if line[:9] != f"{zlib.crc32(text.encode()):08x} ":
        raise ValueError("a damaged line")
    return text


def _read(index: Path) -> tuple[dict[str, Row], dict[str, str], int]:
    """Return the last line of each file, the common values, and the number of lines."""
    rows: dict[str, Row] = {}
    common: dict[str, str] = {}
    try:
        with index.open(encoding="utf-8") as stream:
            if json.loads(stream.readline() or "null") != FORMAT:
                return {}, {}, 0
            lines = 1
            for line in stream:
                lines, text = lines + 1, _text(line)
                if text.startswith("{"):
                    common[_mark(text)] = text
                else:
                    row = json.loads(text)
                    if row[3] in common:
                        rows[row[0]] = row
    except (OSError, ValueError, TypeError, LookupError):  # none, or not of this program
        return {}, {}, 0
    return rows, common, lines


def _write(index: Path, lines: int, added: list[str], *, fresh: bool) -> None:
    """Append lines to an index, or write a new one; do nothing if that cannot be done."""
    with suppress(OSError, InputError):
        if fresh and lines:  # too many lines are of no use
            index.unlink()
        elif fresh:
            write_text(index, "\n".join([json.dumps(FORMAT), *added]) + "\n")
        else:
            with index.open("a", encoding="utf-8") as stream:
                stream.write("\n".join(added) + "\n")


def _common(record: TaskRecord) -> dict[str, Any]:
    data = {name: getattr(record, name) for name in COMMON}
    data["instance"] = record.instance.model_dump()
    if record.solution is not None:
        data["solution"] = {name: getattr(record.solution, name) for name in SOLUTION_COMMON}
    return data


def _own(record: TaskRecord) -> Row:
    own = [getattr(record, name) for name in OWN]
    solution = None
    if record.solution is not None:
        solution = [getattr(record.solution, name) for name in SOLUTION_OWN[:-1]]
        claim = record.solution.proof
        solution.append(None if claim is None else claim.model_dump())
        text = json.dumps(record.solution.trace)
        solution.append(record.solution.trace if len(text) <= SHORT else None)
    progress = record.progress if len(record.progress) <= FEW else None
    return [own, solution, [record.note, record.certificate is not None, progress]]


def _record(file: Path, row: Row, common: Mapping[str, str], cache: Cache) -> IndexedRecord:
    """Return a record from its line, without validation."""
    _, _, _, mark, own, solution, (note, certified, progress) = row
    shared = cache.get(mark)
    if shared is None:
        data = json.loads(common[mark])
        parts = data.pop("solution", {})
        data["instance"] = InstanceRef(**data["instance"])
        data["relaxed"] = tuple(data["relaxed"])
        shared = cache[mark] = (data, parts)
    values = {**shared[0], **dict(zip(OWN, own, strict=True)), "solution": None}
    if not certified:
        values["certificate"] = None
    if progress is not None:
        values["progress"] = tuple(map(tuple, progress))
    record: IndexedRecord = _new(IndexedRecord, values)
    object.__setattr__(record, "_file", file)
    object.__setattr__(record, "_note", note)
    object.__setattr__(record, "_certified", certified)
    if solution is not None:
        facts = {**shared[1], **dict(zip(SOLUTION_OWN, solution, strict=False))}
        if facts["proof"] is not None:
            facts["proof"] = ProofClaim(**facts["proof"])
        if solution[-1] is not None:
            facts["trace"] = solution[-1]
        values["solution"] = _new(IndexedSolution, facts)
        object.__setattr__(values["solution"], "_record", record)
    return record


def _new(cls: type[Any], values: Mapping[str, Any]) -> Any:
    """Return a record with these values, which were validated before they were written."""
    made: Any = object.__new__(cls)
    object.__setattr__(made, "__dict__", values)
    object.__setattr__(made, "__pydantic_fields_set__", set())
    object.__setattr__(made, "__pydantic_extra__", None)
    object.__setattr__(made, "__pydantic_private__", None)
    return made
