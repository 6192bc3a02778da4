"""Records of run folders, with their instances, best known values and contradictions."""

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from schedgap.analysis.records import configurations
from schedgap.analysis.records.booked import NAME, with_records
from schedgap.analysis.records.folder import (
    CLOCK_VERSION,
    UNKNOWN_GRID,
    Folder,
    TaskRecord,
    read_record,
)
from schedgap.analysis.records.guarantees import Guarantees
from schedgap.analysis.records.index import Facts, Index, generated_by
from schedgap.analysis.records.outcomes import contradictions, wrong_answers
from schedgap.analysis.records.ratios import Bracket, brackets
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.sessions import DRIFT, Session, drift, read_sessions
from schedgap.analysis.records.sources import family_hash, method_hash
from schedgap.analysis.results.bounds import Scale
from schedgap.errors import InputError
from schedgap.instances.arguments import a_flag, a_name, checked
from schedgap.instances.families import FAMILIES, from_data
from schedgap.instances.instance import Instance
from schedgap.instances.records import canonical_json, read_json
from schedgap.instances.solution import Kind
from schedgap.models.family import family

KIND_ORDER: tuple[Kind, ...] = ("exact", "bound", "algorithm", "baseline")


class StoredRun:
    """The records of one or more run folders.

    Every record of every folder counts, copies of one record once; the order of the folders does
    not matter. Results of older source code are left out, unless there are no others: see `older`.

    Parameters
    ----------
    *folders : path
        Run folders.
    older : bool
        Whether to include the results of older source code.
    """

    @checked(older=a_flag)
    def __init__(self, *folders: str | os.PathLike[str], older: bool = False) -> None:
        self.folders = tuple(Folder(folder) for folder in folders)
        self._indices = [Index(folder.path) for folder in self.folders]
        found = _sorted(self._without_copies())
        older_ones = older_rows(found)
        left_out = set() if older else {id(row) for row in older_ones}
        self.rows = [row for row in found if id(row) not in left_out]
        self._older, self.includes_older = older_ones, older

    def _without_copies(self) -> list[TaskRow]:
        """Return the rows of all folders, each once, in an order that depends on content only."""
        by_key: dict[str, list[TaskRow]] = {}
        for folder, index in zip(self.folders, self._indices, strict=True):
            folder.check()
            for row in index.rows():
                by_key.setdefault(row.key, []).append(row)
        kept: list[TaskRow] = []
        for group in by_key.values():
            if len(group) > 1:
                texts = {canonical_json(read_json(Path(row.file))): row for row in group}
                group = [texts[text] for text in sorted(texts)]
            kept += group
        return kept

    @cached_property
    def records(self) -> list[TaskRecord]:
        """The records with their schedules; all of their files are read."""
        return [record_of(self, row) for row in self.rows]

    @cached_property
    def older(self) -> list[TaskRecord]:
        """The records of older source code."""
        return [record_of(self, row) for row in self._older]

    def file(self, record: TaskRecord) -> Path:
        """Return the file of a record.

        Parameters
        ----------
        record : TaskRecord
            One of `records`.
        """
        return next(Path(file) for file, held in _known(self).items() if held is record)

    @cached_property
    def configurations(self) -> dict[int, str]:
        """Name of each record's configuration, by `id(record)`; see `configurations.names`."""
        return dict(zip(map(id, self.records), configurations_of(self), strict=True))

    @cached_property
    def sessions(self) -> dict[str, Session]:
        """The sessions in which the records were made, by id; older records have none."""
        found = [session for folder in self.folders for session in read_sessions(folder.sessions)]
        longest: dict[str, Session] = {}
        for session in found:  # the finished copy replaces one that was made during the session
            known = longest.get(session.id)
            if known is None or len(session.references) > len(known.references):
                longest[session.id] = session
        return longest

    def drift(self) -> float | None:
        """Return by how much the speed of a computer changed, as a fraction; None if not known.

        This is how much the slowest reference task exceeds the fastest one of the same host.
        """
        used = {row.session for row in self.rows}
        moved = drift(session for key, session in self.sessions.items() if key in used)
        return max(moved.values(), default=None)

    @property
    def warnings(self) -> list[str]:
        """Lines on what a reader of the tables should know: other source code, and drift."""
        lines = []
        left_out = 0 if self.includes_older else len(self._older)
        if left_out:
            which = "result is" if left_out == 1 else "results are"
            lines.append(f"{left_out} {which} of older code: left out; --older to include")
        codes = Counter((row.family, row.code) for row in self.rows)
        other = sum(number for code, number in codes.items() if _is_other(*code))
        other = 0 if self.includes_older else other
        if other:
            which = "result is" if other == 1 else "results are"
            lines.append(
                f"{other} {which} of other code than that installed: "
                "'compare' runs such tasks again"
            )
        return [*lines, *self.time_warnings]

    @property
    def time_warnings(self) -> list[str]:
        """Those of `warnings` that concern times only."""
        lines = []
        count = sum(row.version < CLOCK_VERSION and not row.judged for row in self.rows)
        if count:
            lines.append(
                f"{count} {'result is' if count == 1 else 'results are'} of an older version: the "
                "seconds include imports and the confirmation of answers"
            )
        moved = self.drift()
        if moved is not None and moved > DRIFT:
            lines.append(
                f"a reference task took up to {moved:.0%} longer than at its fastest: the computer "
                "changed its speed, and times are not comparable"
            )
        return lines

    def __len__(self) -> int:
        return len(self.rows)

    @checked(sha256=a_name)
    def instance(self, sha256: str) -> Instance:
        """Return an instance by its hash.

        Parameters
        ----------
        sha256 : str
            Hash of the instance, in a record.

        Raises
        ------
        InputError
            If its file is missing, or was changed after the methods ran on it.
        """
        if sha256 not in self._instances:
            instance = from_data(self.instance_data(sha256))
            if instance.sha256 != sha256:
                raise InputError(
                    "changed: not the instance on which the methods ran; 'compare' stores it again "
                    "if the file is removed",
                    file=str(self._instance_files(sha256)[0]),
                )
            self._instances[sha256] = instance
        return self._instances[sha256]

    def _instance_files(self, sha256: str) -> list[Path]:
        """Return the files of an instance, or where the first one should be."""
        files = [folder.instances / f"{sha256}.json" for folder in self.folders]
        return [file for file in files if file.exists()] or files[:1]

    @checked(sha256=a_name)
    def instance_data(self, sha256: str) -> dict[str, Any]:
        """Return the unchecked JSON data of an instance by its hash.

        Parameters
        ----------
        sha256 : str
            Hash of the instance, in a record.
        """
        if sha256 not in self._instance_data:
            files = self._instance_files(sha256)
            if not files[0].exists():
                raise InputError(
                    "missing: an instance of the run; 'compare' stores it again", file=str(files[0])
                )
            found = [read_json(file) for file in files]
            # names and meta may differ: the choice does not depend on the order of folders
            self._instance_data[sha256] = min(found, key=canonical_json)
        return self._instance_data[sha256]

    @cached_property
    def facts(self) -> dict[str, Facts]:
        """How each instance was generated, by hash: see `Index.facts`.

        An instance whose file is missing is an `InputError`.
        """
        found = [index.facts(self.names) for index in self._indices]
        facts: dict[str, Facts] = {}
        for sha256 in self.names:
            known = [grids[sha256] for grids in found if sha256 in grids]
            if len(known) == 1 or len(set(map(canonical_json, known))) == 1:
                facts[sha256] = known[0]
            else:  # missing, or with different names or settings
                facts[sha256] = generated_by(self.instance_data(sha256))
        return facts

    @cached_property
    def _instance_data(self) -> dict[str, dict[str, Any]]:
        return {}

    @cached_property
    def _instances(self) -> dict[str, Instance]:
        return {}

    @cached_property
    def names(self) -> dict[str, str]:
        """Instance names by hash; equal names are distinguished by a part of the hash."""
        names: dict[str, str] = {}
        for row in self.rows:
            names[row.sha256] = min(row.instance, names.get(row.sha256, row.instance))
        count = Counter(names.values())
        return {
            sha: name if count[name] == 1 else f"{name} #{sha[:6]}" for sha, name in names.items()
        }

    @cached_property
    def brackets(self) -> dict[tuple[str, str], Bracket]:
        """Best verified schedule and best bound of any method, by (instance hash, problem).

        A schedule or a bound of the record book takes the place of a worse one.
        """
        grids = {row.sha256: row.grid for row in self.rows}
        unknown = [sha256 for sha256, grid in grids.items() if grid == UNKNOWN_GRID]
        return with_records(
            brackets(self.rows, {instance: self._grid(instance) for instance in unknown})
        )

    @property
    def records_used(self) -> int:
        """On how many instances the record book has a better schedule or bound than the run."""
        return len(
            {
                sha256
                for (sha256, _), bracket in self.brackets.items()
                if bracket.best_by.startswith(NAME + " ") or bracket.bound_by.startswith(NAME + " ")
            }
        )

    def _grid(self, sha256: str) -> float | None:
        """Return the grid of a stored instance; None if the instance cannot be read."""
        try:
            return Scale.of(self.instance(sha256)).grid
        except InputError:
            return None

    @cached_property
    def tables(self) -> dict[str, Any]:
        """Tables of all records that were made so far, by the name of the function."""
        return {}

    @cached_property
    def guarantees(self) -> Guarantees:
        """Guarantees of the papers on the instances of the run."""
        return Guarantees(self.folders[0].path)

    @cached_property
    def contradictions(self) -> list[str]:
        """Descriptions of all pairs of contradictory results; each one is a bug."""
        return contradictions(self.rows, self.brackets)

    @cached_property
    def wrong_answers(self) -> list[str]:
        """Descriptions of the wrong answers of engines in a benchmark."""
        return wrong_answers(self.rows, self.brackets)

    @property
    def failures(self) -> list[TaskRecord]:
        """Records of tasks that failed; one that used up its time did not."""
        return [record_of(self, row) for row in self.rows if row.failed]

    @property
    def incomplete(self) -> list[TaskRecord]:
        """Records of methods that came to their end or limit without a schedule or a bound."""
        return [record_of(self, row) for row in self.rows if row.incomplete]

    @property
    def skipped(self) -> list[TaskRecord]:
        """Records of methods that do not support their instance."""
        return [record_of(self, row) for row in self.rows if row.outcome == "skipped"]

    def __repr__(self) -> str:
        instances = len(self.names)
        plural = "" if instances == 1 else "s"
        wrong = f", {len(self.contradictions)} contradictions" if self.contradictions else ""
        failed = sum(row.failed for row in self.rows)
        skipped = sum(row.outcome == "skipped" for row in self.rows)
        return (
            f"<run of {len(self)} tasks on {instances} instance{plural}, "
            f"{failed} failed, {skipped} skipped{wrong}>"
        )


def _known(run: StoredRun) -> dict[str, TaskRecord]:
    """Return the records that were read so far, by file."""
    known: dict[str, TaskRecord] = run.tables.setdefault("records read", {})
    return known


def record_of(run: StoredRun, row: TaskRow) -> TaskRecord:
    """Return the record of a row, which is read from its file once.

    `row`: one of `run.rows`, or of older code.
    """
    known = _known(run)
    if row.file not in known:
        known[row.file] = read_record(Path(row.file))
    return known[row.file]


def configurations_of(run: StoredRun) -> list[str]:
    """Return the name of each row's configuration; see `configurations.names`."""
    if "configurations" not in run.tables:
        run.tables["configurations"] = configurations.names(run.rows)
    found: list[str] = run.tables["configurations"]
    return found


def older_rows(rows: Sequence[TaskRow]) -> list[TaskRow]:
    """Return the rows of older source code than others of their family.

    If records of a family are of the installed code, all others are older. If none is, as in a run
    of long ago, the code of its last record counts as present.

    `rows`: rows of any families, sorted.
    """
    by_family: dict[str, list[TaskRow]] = {}
    for row in rows:
        by_family.setdefault(row.family, []).append(row)
    older: set[int] = set()
    for name, group in by_family.items():
        if len({row.code for row in group}) == 1:
            continue
        present = _present(_installed(name), group, lambda code: code.partition("+")[0])
        of_method: dict[str, list[TaskRow]] = {}
        for row in group:
            if row.code.partition("+")[0] != present:
                older.add(id(row))
            else:
                of_method.setdefault(row.method, []).append(row)
        for method, own in of_method.items():
            if len({row.code for row in own}) > 1:
                code = _present(_installed(name, method), own, lambda code: code)
                older |= {id(row) for row in own if row.code != code}
    return [row for row in rows if id(row) in older]


def _is_other(name: str, code: str) -> bool:
    """Return whether code of a family is not that installed, if both are known."""
    installed = _installed(name) if code else ""
    return bool(installed) and code.partition("+")[0] != installed


def _present(installed: str, group: Sequence[TaskRow], part: Callable[[str], str]) -> str:
    """Return the installed code if a record has it, otherwise the last record's code."""
    codes = {part(record.code) for record in group}
    if installed in codes:
        return installed
    last = max(group, key=lambda record: (record.started or "", record.code))
    return part(last.code)


def _installed(name: str, method: str | None = None) -> str:
    """Return the hash of the installed source of a family or a method; empty if there is none."""
    if name not in FAMILIES:
        return ""
    owner = family(name)
    if method is None:
        return family_hash(name)
    found = [entry for entry in owner.methods if entry.name == method]
    return method_hash(owner, found[0]) if found else ""


def _sorted(rows: Sequence[TaskRow]) -> list[TaskRow]:
    """Return rows by instance, then kind, the family's order of methods, and repetition."""
    first: dict[str, str] = {}
    for row in rows:
        first[row.sha256] = min(row.instance, first.get(row.sha256, row.instance))
    return sorted(rows, key=lambda row: (row.family, first[row.sha256], row.sha256, *_place(row)))


def _place(row: TaskRow) -> tuple[object, ...]:
    """Return a sort key of the rows of one instance."""
    limits = [math.inf if limit is None else limit for limit in (row.time_limit, row.memory_limit)]
    method = KIND_ORDER.index(row.kind), _rank(row.family, row.method), row.label, row.code
    return *method, *limits, -1 if row.seed is None else row.seed, row.started or "", row.key


@cache
def _rank(name: str, method: str) -> int:
    """Return the place of a method in its family's table."""
    if name not in FAMILIES:
        return 0
    methods = family(name).methods
    return next((k for k, entry in enumerate(methods) if entry.name == method), len(methods))
