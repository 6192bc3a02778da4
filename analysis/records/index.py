"""An index of the records of a large run folder, so that they need not all be read.

The file `index.jsonl` in the run folder has a line for each record, without its schedule,
certificate, long trace and long progress, which are read when they are asked for, and a line for
each instance: how it was generated. Lines are valid for one size and time of change of the file;
the files themselves remain the truth, and the index may be deleted at any time. Values that many
records have in common are on lines of their own. Each line begins with a check sum: an index that
was damaged or edited is made again.
"""

import gc
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from schedgap.analysis.records.folder import TIMES, InstanceRef, TaskRecord, read_record
from schedgap.analysis.records.switches import variant
from schedgap.errors import InputError
from schedgap.instances import families
from schedgap.instances.records import read_json, write_text
from schedgap.instances.solution import ProofClaim, SolutionFile

NAME = "index.jsonl"
FORMAT = {"index": "schedgap", "version": 9}
LEAST = 500  # records from which on an index is written
SHORT = 300  # characters of a trace that is kept in the index
FEW = 20  # points of progress that are kept in the index
BATCH = 1000  # lines that are parsed together
COMMON = (
    *("method", "label", "kind", "engine", "options", "problem", "sense", "relaxed"),
    *("time_limit", "memory_limit", "versions", "version", "code", "session", "own"),
    *("formulation", "threads", "workers"),
)
OWN = (  # the places of key and task count in `_record`
    *("key", "outcome", "message", "seed", "task", "started", "cpu_seconds", "start_seconds"),
    *TIMES,
    "verify_seconds",
    *("peak_memory_mb", "limited", "reused"),
    *("permutation", "pinned", "log", "statistics"),
)
SOLUTION_COMMON = (
    *("family", "version", "method", "engine", "kind", "options", "seed", "versions"),
)
# the places of proof, instance, hash and sense count in `_record`
SOLUTION_OWN = (
    "status",
    "objective",
    "bound",
    "seconds",
    "proof",
    "instance",
    "instance_sha256",
    "sense",
)
META = ("preset", "settings", "seed", "trace", "load")  # how an instance was generated
Stamp = tuple[int, int]  # time of change in nanoseconds, size in bytes
Facts = dict[str, Any]  # `family`, `meta` and `switches` of an instance file, unchecked
Row = list[Any]  # name, time, size, mark, instance, own values, solution, note, certified
Common = tuple[dict[str, Any], dict[str, Any]]  # values of records, and of their solutions


class IndexedSolution(SolutionFile):
    """A solution whose schedule and trace are read from the record when they are asked for."""

    __slots__ = ("_record",)

    def __getattr__(self, name: str) -> Any:
        if name in SOLUTION_COMMON:
            return self._record.shared[1][name]
        if name == "trace":
            return self._record.rest("trace", lambda record: record.solution.trace)
        if name == "schedule":
            return self._record.read().solution.schedule
        return _missing(name)

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        return iter(self._record.read().solution)


class IndexedRecord(TaskRecord):
    """A record whose progress and certificate are read from its file when they are asked for."""

    __slots__ = ("_line", "shared")  # folder, name of the file, note, certified, rest; `Common`

    def read(self) -> TaskRecord:
        """Return the whole record from its file."""
        file = Path(*self._line[:2])
        with suppress(OSError):
            facts = file.stat()
            return _whole(file, (facts.st_mtime_ns, facts.st_size))
        return read_record(file)

    def rest(self, name: str, read: Callable[[TaskRecord], Any]) -> Any:
        """Return the trace or the progress, from the index or from the record.

        `read`: returns it of the whole record.
        """
        known = json.loads(self._line[4] or b"{}")
        return known[name] if name in known else read(self.read())

    @property
    def note(self) -> str:
        """Why the task failed or was skipped, or a remark of the method; mostly empty."""
        return str(self._line[2])

    @property
    def certified(self) -> bool:
        """Whether the bound has a certificate."""
        return bool(self._line[3])

    def __getattr__(self, name: str) -> Any:
        if name in COMMON:
            return self.shared[0][name]
        if name == "progress":
            return tuple(map(tuple, self.rest(name, lambda record: record.progress)))
        if name == "certificate":
            return self.read().certificate if self.certified else None
        return _missing(name)

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        return iter(self.read())


def _missing(name: str) -> Any:
    """Return what pydantic keeps beside the values of a record."""
    if name == "__pydantic_fields_set__":
        return set()
    if name in ("__pydantic_extra__", "__pydantic_private__"):
        return None
    raise AttributeError(name)


@lru_cache(maxsize=16)
def _whole(file: Path, stamp: Stamp) -> TaskRecord:
    return read_record(file)


@contextmanager
def without_cycles() -> Iterator[None]:
    """Do not look for cycles of references meanwhile: there are none, and it takes most time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def read_records(tasks: Path) -> list[TaskRecord]:
    """Return the records of a folder, by the names of their files; use and update its index.

    `tasks`: the folder `tasks` of a run folder.

    Raises
    ------
    InputError
        If a JSON file in it is not a record.
    """
    return [record for _, record in Index(tasks.parent).records()]


class Index:
    """The index of a run folder."""

    def __init__(self, folder: Path) -> None:
        self._tasks, self._instances = folder / "tasks", folder / "instances"
        self._file = folder / NAME
        self._lines = 0  # of the file; 0 if it is not an index
        self._rows: dict[str, tuple[Row, bytes]] = {}
        self._common: dict[str, Common] = {}
        self._facts: dict[str, Facts] = {}

    def records(self) -> list[tuple[str, TaskRecord]]:
        """Return the records of the folder with the names of their files, sorted by name.

        Raises
        ------
        InputError
            If a JSON file in it is not a record.
        """
        with without_cycles():
            return self._records()

    def _records(self) -> list[tuple[str, TaskRecord]]:
        files = _files(self._tasks)
        if len(files) < LEAST:
            read = ((name, _present(self._tasks / name)) for name in files)
            return [(name, record) for name, record in read if record is not None]
        self._read()
        added: list[str] = []
        found: list[tuple[str, TaskRecord]] = []
        known = Known(self._common, {}, {})
        for name, stamp in files.items():
            row, rest = self._rows.pop(name, _NONE)
            if row is not None and (row[1], row[2]) == stamp:
                try:
                    record = _record(self._tasks, row, rest, known)
                except (ValueError, TypeError, LookupError):  # a damaged line
                    pass
                else:
                    found.append((name, record))
                    continue
            whole = _present(self._tasks / name)
            if whole is not None:
                found.append((name, whole))
                added += self._new_lines(name, stamp, whole)
        self._rows.clear()
        self._write(added, limit=2 * (len(files) + len(self._facts)) + 1000)
        return found

    def _new_lines(self, name: str, stamp: Stamp, record: TaskRecord) -> list[str]:
        """Return the lines of a record that are not in the index."""
        text = json.dumps({"common": _common(record)})
        mark = _mark(text.encode())
        new = [] if mark in self._common else [_line(text)]
        self._common.setdefault(mark, ({}, {}))
        row = json.dumps([name, *stamp, mark, *_own(name, record)])
        return [*new, _line(f"{row}\t{json.dumps(rest)}" if (rest := _rest(record)) else row)]

    def facts(self, hashes: Collection[str]) -> dict[str, Facts]:
        """Return how instances were generated, of those whose files are in the folder.

        `hashes`: hashes of the instances.

        Returns
        -------
        dict
            `family`, a part of `meta` (`META`) and `switches` of each file, as they are in it; the
            file may not be an instance with this hash.

        Raises
        ------
        InputError
            If a file is not a JSON object.
        """
        files = _files(self._instances)
        found: dict[str, Facts] = {}
        added: list[str] = []
        for sha256 in hashes:
            stamp = files.get(f"{sha256}.json", (0, 0))
            known = self._facts.get(sha256)
            if known is not None and known["stamp"] == [*stamp]:
                found[sha256] = known["facts"]
            elif stamp != (0, 0):
                file = self._instances / f"{sha256}.json"
                data = read_json(file)
                if not isinstance(data, dict):
                    raise InputError("need one JSON object", file=str(file))
                found[sha256] = generated_by(data)
                line = {"instance": sha256, "stamp": stamp, "facts": found[sha256]}
                added.append(_line(json.dumps(line)))
        if self._lines:
            self._write(added)
        return found

    def _read(self) -> None:
        """Read the last line of each file, and the common values."""
        try:
            with self._file.open("rb") as stream:
                if json.loads(stream.readline()) != FORMAT:
                    return
                count = 1
                while lines := list(islice(stream, BATCH)):
                    self._read_lines(lines)
                    count += len(lines)
            self._lines = count
        except (OSError, ValueError, TypeError, LookupError):  # none, or not of this program
            for each in (self._rows, self._common, self._facts):
                each.clear()

    def _read_lines(self, lines: list[bytes]) -> None:
        texts = [_text(line).partition(b"\t") for line in lines]
        values = json.loads(b"[" + b",".join([text for text, _, _ in texts]) + b"]")
        for value, (text, _, rest) in zip(values, texts, strict=True):
            if type(value) is list:
                self._rows[value[0]] = value, rest
            elif "common" in value:
                self._common[_mark(text)] = _values(value["common"])
            else:
                self._facts[value["instance"]] = value

    def _write(self, added: list[str], *, limit: int | None = None) -> None:
        """Append lines, or write a new index; do nothing if that cannot be done."""
        if not added:
            return
        with suppress(OSError, InputError):
            if limit is not None and self._lines > limit:  # too many lines are of no use
                self._file.unlink()
                self._lines = 0
            elif self._lines:
                with self._file.open("a", encoding="utf-8") as stream:
                    stream.write("\n".join(added) + "\n")
                self._lines += len(added)
            else:
                write_text(self._file, "\n".join([json.dumps(FORMAT), *added]) + "\n")
                self._lines = len(added) + 1


_NONE: tuple[None, bytes] = (None, b"")


def generated_by(data: Mapping[str, Any]) -> Facts:
    """Return how an instance was generated: `family`, a part of `meta`, and switches, unchecked.

    The switches (see `schedgap.analysis.records.switches`) are those of families of this package.

    `data`: JSON data of an instance.
    """
    meta = data.get("meta")
    known = meta if isinstance(meta, dict) else {}
    part = {name: known[name] for name in META if name in known}
    name = data.get("family")
    facts = {"family": name, "meta": part}
    return facts | ({"switches": dict(variant(name, data))} if name in families.OWN else {})


def _files(folder: Path) -> dict[str, Stamp]:
    """Return time of change and size of each JSON file in a folder, by name."""
    found: dict[str, Stamp] = {}
    if not folder.is_dir():
        return found
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name[-5:] == ".json" and name[0] != ".":
                found[name] = _stamp(entry)
    return {name: found[name] for name in sorted(found)}


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


def _mark(text: bytes) -> str:
    """Return how lines refer to common values: several processes may append to an index."""
    return hashlib.sha256(text).hexdigest()[:16]


def _line(text: str) -> str:
    """Return a line of the index: a check sum and JSON texts."""
    return f"{zlib.crc32(text.encode()):08x} {text}"


def _text(line: bytes) -> bytes:
    """Return what follows the check sum of a line; a line that was changed is a `ValueError`."""
    text = line[9:].rstrip(b"\r\n")
    if line[:9] != b"%08x " % zlib.crc32(text):
        raise ValueError("a damaged line")
    return text


def _common(record: TaskRecord) -> dict[str, Any]:
    data = {name: getattr(record, name) for name in COMMON}
    if record.solution is not None:
        data["solution"] = {name: getattr(record.solution, name) for name in SOLUTION_COMMON}
    return data


def _values(data: dict[str, Any]) -> Common:
    """Return the common values of records and of their solutions."""
    parts = data.pop("solution", {})
    return data | {"relaxed": tuple(data["relaxed"])}, parts


def _own(name: str, record: TaskRecord) -> Row:
    """Return the values of a record that are not common; None for some that follow from others."""
    own = {each: getattr(record, each) for each in OWN}
    if own["task"] == record.key.partition("-")[0]:
        own["task"] = None
    if f"{record.key}.json" == name:
        own["key"] = None
    which, solution = record.instance, None
    if record.solution is not None:
        claim, found = record.solution.proof, record.solution
        facts = {each: getattr(found, each) for each in SOLUTION_OWN} | {
            "proof": None if claim is None else claim.model_dump(),
            "instance": None if found.instance == which.name else found.instance,
            "instance_sha256": None
            if found.instance_sha256 == which.sha256
            else found.instance_sha256,
            "sense": None if found.sense == record.sense else found.sense,
        }
        solution = list(facts.values())
    instance = [which.name, which.family, which.sha256, which.grid]
    return [instance, list(own.values()), solution, record.note, record.certificate is not None]


def _rest(record: TaskRecord) -> dict[str, Any]:
    """Return the trace and the progress of a record, if they are short."""
    rest: dict[str, Any] = {}
    if len(record.progress) <= FEW:
        rest["progress"] = record.progress
    if record.solution is not None and len(json.dumps(record.solution.trace)) <= SHORT:
        rest["trace"] = record.solution.trace
    return rest


class Known(NamedTuple):
    """What records have in common: by their mark, by instance, and by mark and family."""

    common: dict[str, Common]
    references: dict[tuple[Any, ...], InstanceRef]
    groups: dict[tuple[str, str], Common]


def _record(
    tasks: Path,
    row: Row,
    rest: bytes,
    known: "Known",
) -> IndexedRecord:
    """Return a record from its line, without validation."""
    name, _, _, mark, instance, own, solution, note, certified = row
    which = known.references.get(place := tuple(instance))
    if which is None:
        which = InstanceRef(
            name=instance[0], family=instance[1], sha256=instance[2], grid=instance[3]
        )
        known.references[place] = which
    shared = known.groups.get(group := (mark, instance[1]))
    if shared is None:
        values, parts = known.common[mark]
        shared = known.groups[group] = values, parts
    if own[0] is None:  # the key
        own[0] = name[:-5]
    if own[4] is None:  # the task
        own[4] = own[0].partition("-")[0]
    values = dict(zip(OWN, own, strict=True))
    values["pinned"] = tuple(values["pinned"])
    values["instance"], values["solution"] = which, None
    record = _new(IndexedRecord)
    _set(record, "__dict__", values)
    _set(record, "_line", (tasks, name, note, certified, rest))
    _set(record, "shared", shared)
    if solution is not None:
        if solution[4] is not None:
            solution[4] = ProofClaim(**solution[4])
        if solution[5] is None:
            solution[5] = which.name
        if solution[6] is None:
            solution[6] = which.sha256
        if solution[7] is None:
            solution[7] = shared[0]["sense"]
        values["solution"] = found = _new(IndexedSolution)
        _set(found, "__dict__", dict(zip(SOLUTION_OWN, solution, strict=True)))
        _set(found, "_record", record)
    return record


_new, _set = (
    object.__new__,
    object.__setattr__,
)  # the values were validated before they were written
