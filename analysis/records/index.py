"""An index of the records of a large run folder, which saves reading all of them.

The database `index.sqlite` in the run folder has a row for each record, without long progress. It
has a row for each instance: how it was generated. A row is valid for one size and time of change of
the file that it describes. The files decide, and the index may be deleted at any time. Each row
ends with a check sum, and does not count if it was damaged or edited. A database that is damaged,
or of another version, is removed and made again. If it cannot be written or locked, or Python was
built without SQLite, all records are read.
"""

import json
import marshal
import os
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedgap.analysis.records.folder import read_record
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.switches import variant
from schedgap.errors import InputError
from schedgap.instances import families
from schedgap.instances.records import read_json

if TYPE_CHECKING:
    import sqlite3

NAME = "index.sqlite"
FORMER = "index.jsonl"  # the index that earlier versions wrote
LEAST = 500  # records from which on an index is written
WAIT = 1.0  # seconds after which an index that another process has locked is not used
COMMON = TaskRow._fields.index("seed")  # fields from here on are one JSON text in the index
TABLES = {"tasks": (*TaskRow._fields[1:COMMON], "common"), "instances": ("facts",)}
SCHEMA = "".join(
    f"CREATE TABLE IF NOT EXISTS {table} "
    f"(name PRIMARY KEY, time, size, {', '.join(columns)}, sum) WITHOUT ROWID;"
    for table, columns in TABLES.items()
)
VERSION = zlib.crc32(f"11 {SCHEMA}".encode()) >> 1  # SQLite keeps 31 bits
META = ("preset", "settings", "seed", "trace", "load")  # how an instance was generated
Stamp = tuple[int, int]  # time of change in nanoseconds, size in bytes
GONE: Stamp = (0, 0)  # a broken link has this stamp
Values = tuple[Any, ...]  # what the index has of a file, in the order of the columns
Facts = dict[str, Any]  # `family`, `meta` and `switches` of an instance file, unchecked


class Index:
    """The index of a run folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._indexed = False  # whether the folder is large, and its index can be used

    def rows(self) -> list[TaskRow]:
        """Return the rows of the records of the folder, sorted by the names of their files.

        Raises
        ------
        InputError
            If a JSON file in it is not a record.
        """
        folder = self._folder / "tasks"
        files = _files(folder)
        self._indexed = len(files) >= LEAST
        decoded = cache(json.loads)
        found = self._values("tasks", files, files, _of_record)
        return [
            TaskRow._make((f"{folder}{os.sep}{name}", *own, *decoded(common)))
            for name, (*own, common) in found
        ]

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
        files = _files(self._folder / "instances")
        names = [f"{sha256}.json" for sha256 in hashes]
        present = [name for name in names if files.get(name, GONE) != GONE]
        found = self._values("instances", files, present, _of_instance)
        return {name.removesuffix(".json"): json.loads(text) for name, (text,) in found}

    def _values(
        self,
        table: str,
        files: Mapping[str, Stamp],
        names: Collection[str],
        read: Callable[[Path], Values | None],
    ) -> list[tuple[str, Values]]:
        """Return the values of some of the files of a folder: from the index, or read anew.

        `read` returns None for a file that another process has removed.
        """
        select = f"SELECT * FROM {table}"
        rows = self._use(lambda database: database.execute(select).fetchall()) or []
        known = {row[0]: row for row in rows if row[-1] == _sum(row[:-1])}
        found: list[tuple[str, Values]] = []
        new: list[Values] = []
        for name in names:
            row = known.get(name)
            if row is not None and row[1:3] == files[name]:
                found.append((name, row[3:-1]))
                continue
            values = read(self._folder / table / name)
            if values is not None:
                found.append((name, values))
                row = name, *files[name], *values
                new.append((*row, _sum(row)))
        gone = [(row[0],) for row in rows if row[0] not in files]

        def write(database: "sqlite3.Connection") -> None:
            database.executemany(f"DELETE FROM {table} WHERE name = ?", gone)
            places = ", ".join("?" * (len(TABLES[table]) + 4))
            database.executemany(f"REPLACE INTO {table} VALUES ({places})", new)

        if new or gone:
            self._use(write)
        return found

    def _use(self, work: Callable[["sqlite3.Connection"], Any]) -> Any:
        """Return what `work` returns, in one transaction; None if that cannot be done."""
        if not self._indexed:
            return None
        try:
            import sqlite3
        except ImportError:  # Python can be built without it
            return None
        file = self._folder / NAME
        try:
            with closing(sqlite3.connect(file, timeout=WAIT)) as database, database:
                (version,) = database.execute("PRAGMA user_version").fetchone()
                if version == 0:  # a new file
                    database.executescript(
                        f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT"
                    )
                    (self._folder / FORMER).unlink(missing_ok=True)
                elif version != VERSION:
                    raise sqlite3.DatabaseError("of another version")
                return work(database)
        except (OSError, OverflowError, UnicodeError):  # SQLite does not take some values
            return None
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                self._indexed = False  # another process writes, or there are no locks
            else:
                with suppress(OSError):
                    file.unlink(missing_ok=True)
                    file.with_name(f"{NAME}-journal").unlink(missing_ok=True)
            return None


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


def _of_record(file: Path) -> Values | None:
    """Return the values of the record in a file; None if another process has removed it."""
    try:
        row = TaskRow.of(read_record(file), str(file))
    except InputError:
        if os.path.lexists(file):
            raise
        return None
    return *row[1:COMMON], json.dumps(row[COMMON:])


def _of_instance(file: Path) -> Values:
    """Return how the instance in a file was generated, as a JSON text."""
    data = read_json(file)
    if not isinstance(data, dict):
        raise InputError("need one JSON object", file=str(file))
    return (json.dumps(generated_by(data)),)


def _stamp(entry: "os.DirEntry[str]") -> Stamp:
    try:
        facts = entry.stat()
    except OSError:
        return GONE
    return facts.st_mtime_ns, facts.st_size


def _sum(values: Values) -> int:
    """Return the check sum of values; their form in memory is made faster than a text."""
    return zlib.crc32(marshal.dumps(values, 2))  # version 2 of the form depends on values only
