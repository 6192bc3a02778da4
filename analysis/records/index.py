"""An index of the records of a large run folder, which saves reading all of them.

The file `index.jsonl` in the run folder has a line for each record, with the values of its row but
no long progress. It has a line for each instance: how it was generated. A line is valid for one
size and time of change of the file that it describes. The files decide, and the index may be
deleted at any time. Values that many records have in common are on separate lines. Each line begins
with a check sum: an index that was damaged or edited is made again.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from schedgap.analysis.records.folder import read_record
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.switches import variant
from schedgap.errors import InputError
from schedgap.instances import families
from schedgap.instances.records import read_json, write_text

NAME = "index.jsonl"
FORMAT = {"index": "schedgap", "version": 10, "fields": [*TaskRow._fields]}
LEAST = 500  # records from which on an index is written
FEW = 20  # points of progress that are kept in the index
BATCH = 1000  # lines that are parsed together
OWN = TaskRow._fields.index("method")  # fields before it are on the line of the record
PROGRESS = TaskRow._fields.index("progress")
META = ("preset", "settings", "seed", "trace", "load")  # how an instance was generated
Stamp = tuple[int, int]  # time of change in nanoseconds, size in bytes
Facts = dict[str, Any]  # `family`, `meta` and `switches` of an instance file, unchecked
Line = list[Any]  # name, time, size, mark of the common values, own values


class Index:
    """The index of a run folder."""

    def __init__(self, folder: Path) -> None:
        self._tasks, self._instances = folder / "tasks", folder / "instances"
        self._file = folder / NAME
        self._lines = 0  # number of lines of the file; 0 if it is not an index
        self._known: dict[str, Line] = {}
        self._common: dict[str, list[Any]] = {}
        self._facts: dict[str, Facts] = {}

    def rows(self) -> list[TaskRow]:
        """Return the rows of the records of the folder, sorted by the names of their files.

        Raises
        ------
        InputError
            If a JSON file in it is not a record.
        """
        files = _files(self._tasks)
        indexed = len(files) >= LEAST
        if indexed:
            self._read()
        added: list[str] = []
        found: list[TaskRow] = []
        for name, stamp in files.items():
            file = f"{self._tasks}{os.sep}{name}"
            row = self._row(file, self._known.get(name), stamp)
            if row is None:
                row = _present(file)
                if row is not None and indexed:
                    added += self._new_lines(name, stamp, row)
            if row is not None:
                found.append(row)
        self._known.clear()
        self._write(added, limit=2 * (len(files) + len(self._facts)) + 1000)
        return found

    def _row(self, file: str, line: Line | None, stamp: Stamp) -> TaskRow | None:
        """Return the row on a line; None if there is none, or the file has changed."""
        if line is None or (line[1], line[2]) != stamp:
            return None
        try:
            return TaskRow._make([file, *line[4], *self._common[line[3]]])
        except (TypeError, LookupError):  # a damaged line
            return None

    def _new_lines(self, name: str, stamp: Stamp, row: TaskRow) -> list[str]:
        """Return the lines of a record that are not in the index."""
        text, own = json.dumps({"common": row[OWN:]}), [*row[:OWN]]
        mark = _mark(text.encode())
        new = [] if mark in self._common else [_line(text)]
        self._common.setdefault(mark, [*row[OWN:]])
        if len(row.progress or ()) > FEW:
            own[PROGRESS] = None
        return [*new, _line(json.dumps([name, *stamp, mark, own[1:]]))]

    def facts(self, hashes: Collection[str]) -> dict[str, Facts]:
        """Return how instances were generated, if their files are in the folder.

        `hashes`: hashes of the instances.

        The facts are `family`, a part of `meta` (`META`) and `switches` of each file, as they are
        in the file. Nothing checks that the file is an instance with this hash.

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
        except (OSError, ValueError, TypeError, LookupError):  # no index, or another program's file
            for cache in (self._known, self._common, self._facts):
                cache.clear()

    def _read_lines(self, lines: list[bytes]) -> None:
        texts = list(map(_text, lines))
        for text, value in zip(texts, json.loads(b"[" + b",".join(texts) + b"]"), strict=True):
            if type(value) is list:
                self._known[value[0]] = value
            elif "common" in value:
                self._common[_mark(text)] = value["common"]
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


def generated_by(data: Mapping[str, Any]) -> Facts:
    """Return how an instance was generated: `family`, a part of `meta`, and switches, unchecked.

    Only families of this package have switches (see `schedgap.analysis.records.switches`).

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


def _present(file: str) -> TaskRow | None:
    """Return the row of the record in a file; None if another process has removed it meanwhile."""
    try:
        return TaskRow.of(read_record(Path(file)), file)
    except InputError:
        if os.path.lexists(file):
            raise
        return None


def _stamp(entry: "os.DirEntry[str]") -> Stamp:
    """Return time of change and size of a file; both are zero for a broken link."""
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
