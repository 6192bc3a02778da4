"""Records of run folders, with their instances, best known values and contradictions."""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.analysis.records import configurations
from schedgap.analysis.records.folder import (
    CLOCK_VERSION,
    FAULTS,
    UNKNOWN_GRID,
    Folder,
    TaskRecord,
    alike,
)
from schedgap.analysis.records.guarantees import Guarantees
from schedgap.analysis.records.index import Facts, Index, generated_by, without_cycles
from schedgap.analysis.records.outcomes import contradictions, wrong_answers
from schedgap.analysis.records.ratios import Bracket, brackets
from schedgap.analysis.records.sessions import DRIFT, Session, drift, read_sessions
from schedgap.analysis.records.sources import family_code, method_code
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
        self._files: dict[int, tuple[Path, str]] = {}
        with without_cycles():
            found = _sorted(self._without_copies(self._read()))
            self.older, self.includes_older = older_records(found), older
            left_out = set() if older else {id(record) for record in self.older}
            self.records = [record for record in found if id(record) not in left_out]

    def _read(self) -> list[TaskRecord]:
        """Return all records of all folders."""
        found: list[TaskRecord] = []
        for folder, index in zip(self.folders, self._indices, strict=True):
            folder.check()
            for name, record in index.records():
                self._files[id(record)] = folder.tasks, name
                found.append(record)
        return found

    def _without_copies(self, found: list[TaskRecord]) -> list[TaskRecord]:
        """Return the records, each once, in an order that depends on their content only."""
        if len({record.key for record in found}) == len(found):
            return found
        by_key: dict[str, list[TaskRecord]] = {}
        for record in found:
            by_key.setdefault(record.key, []).append(record)
        kept: list[TaskRecord] = []
        for group in by_key.values():
            if len(group) > 1:
                texts = {canonical_json(read_json(self.file(record))): record for record in group}
                group = [texts[text] for text in sorted(texts)]
            kept += group
        return kept

    def file(self, record: TaskRecord) -> Path:
        """Return the file of a record.

        Parameters
        ----------
        record : TaskRecord
            One of `records`.
        """
        return Path(*self._files[id(record)])

    @cached_property
    def configurations(self) -> dict[int, str]:
        """Name of each record's configuration, by `id(record)`; see `configurations.names`."""
        return configurations.names(self.records)

    @cached_property
    def sessions(self) -> dict[str, Session]:
        """The sessions in which the records were made, by id; older records have none."""
        found = [each for folder in self.folders for each in read_sessions(folder.sessions)]
        longest: dict[str, Session] = {}
        for each in found:  # of a copy made during the session and the finished one, the latter
            known = longest.get(each.id)
            if known is None or len(each.references) > len(known.references):
                longest[each.id] = each
        return longest

    def drift(self) -> float | None:
        """Return by how much the speed of a computer changed, as a fraction; None if not known.

        This is how much the slowest reference task exceeds the fastest one of the same host.
        """
        used = {record.session for record in groups(self)[1]}
        moved = drift(each for key, each in self.sessions.items() if key in used)
        return max(moved.values(), default=None)

    @property
    def warnings(self) -> list[str]:
        """Lines on what a reader of the tables should know: other source code, and drift."""
        lines = []
        left_out = 0 if self.includes_older else len(self.older)
        if left_out:
            which = "result is" if left_out == 1 else "results are"
            lines.append(f"{left_out} {which} of older code: left out; --older to include")
        numbers, some = groups(self)
        codes: Counter[tuple[str, str]] = Counter()
        for record, count in zip(some, np.bincount(numbers).tolist(), strict=True):
            codes[record.instance.family, record.code] += count
        other = sum(number for each, number in codes.items() if _is_other(*each))
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
        numbers, some = groups(self)
        old = [record.version < CLOCK_VERSION and not record.judged for record in some]
        count = int(np.array(old, bool)[numbers].sum())
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
        return len(self.records)

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
            known = [each[sha256] for each in found if sha256 in each]
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
        for which in {id(record.instance): record.instance for record in self.records}.values():
            names[which.sha256] = min(which.name, names.get(which.sha256, which.name))
        count = Counter(names.values())
        return {
            sha: name if count[name] == 1 else f"{name} #{sha[:6]}" for sha, name in names.items()
        }

    @cached_property
    def brackets(self) -> dict[tuple[str, str], Bracket]:
        """Best verified schedule and best bound of any method, by (instance hash, problem)."""
        refs = {record.instance.sha256: record.instance.grid for record in self.records}
        unknown = [sha256 for sha256, grid in refs.items() if grid == UNKNOWN_GRID]
        return brackets(self.records, {each: self._grid(each) for each in unknown})

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
        return contradictions(self.records, self.brackets)

    @cached_property
    def wrong_answers(self) -> list[str]:
        """Descriptions of the wrong answers of engines in a benchmark."""
        return wrong_answers(self.records, self.brackets)

    @property
    def failures(self) -> list[TaskRecord]:
        """Records of tasks that failed; one that used up its time did not."""
        return [record for record in self.records if record.outcome in FAULTS]

    @property
    def incomplete(self) -> list[TaskRecord]:
        """Records of methods that came to their end or limit without a schedule or a bound."""
        return [
            record
            for record in self.records
            if record.outcome in ("done", "timeout")
            and (record.solution is None or record.solution.status == "unknown")
        ]

    @property
    def skipped(self) -> list[TaskRecord]:
        """Records of methods that do not support their instance."""
        return [record for record in self.records if record.outcome == "skipped"]

    def __repr__(self) -> str:
        instances = len(self.names)
        plural = "" if instances == 1 else "s"
        wrong = f", {len(self.contradictions)} contradictions" if self.contradictions else ""
        return (
            f"<run of {len(self.records)} tasks on {instances} instance{plural}, "
            f"{len(self.failures)} failed, {len(self.skipped)} skipped{wrong}>"
        )


def groups(run: StoredRun) -> tuple[NDArray[np.intp], list[TaskRecord]]:
    """Return the place of each record's group, and a record of each group; see `folder.alike`."""
    if "groups" not in run.tables:
        numbers, some = alike(run.records)
        run.tables["groups"] = np.array(numbers, np.intp), some
    found: tuple[NDArray[np.intp], list[TaskRecord]] = run.tables["groups"]
    return found


def older_records(records: Sequence[TaskRecord]) -> list[TaskRecord]:
    """Return the records of older source code than others of their family.

    If records of a family are of the installed code, all others are older. If none is, as in a run
    of long ago, the code of its last record counts as present.

    `records`: records of any families, sorted.
    """
    codes: dict[str, set[str]] = {}
    for record in alike(records)[1]:
        codes.setdefault(record.instance.family, set()).add(record.code)
    groups: dict[str, list[TaskRecord]] = {}
    for record in records if any(len(each) > 1 for each in codes.values()) else ():
        groups.setdefault(record.instance.family, []).append(record)
    older: list[TaskRecord] = []
    for name, group in groups.items():
        if len({record.code for record in group}) == 1:
            continue
        present = _present(_installed(name), group, lambda code: code.partition("+")[0])
        of_method: dict[str, list[TaskRecord]] = {}
        for record in group:
            if record.code.partition("+")[0] != present:
                older.append(record)
            else:
                of_method.setdefault(record.method, []).append(record)
        for method, each in of_method.items():
            if len({record.code for record in each}) > 1:
                code = _present(_installed(name, method), each, lambda code: code)
                older += [record for record in each if record.code != code]
    chosen = {id(record) for record in older}
    return [record for record in records if id(record) in chosen]


def _is_other(name: str, code: str) -> bool:
    """Return whether code of a family is not that installed, if both are known."""
    installed = _installed(name) if code else ""
    return bool(installed) and code.partition("+")[0] != installed


def _present(installed: str, group: Sequence[TaskRecord], part: Callable[[str], str]) -> str:
    """Return the installed code if a record has it, otherwise that of the last record."""
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
        return family_code(name)
    found = [each for each in owner.methods if each.name == method]
    return method_code(owner, found[0]) if found else ""


def _sorted(records: Sequence[TaskRecord]) -> list[TaskRecord]:
    """Return records by instance, then kind, then the family's order of methods."""
    numbers, some = alike(records)
    facts = attrgetter("kind", "method", "label", "code", "time_limit", "memory_limit")
    methods = _ranks(((each.instance.family, *facts(each)) for each in some), _place)
    known = {id(record.instance): record.instance for record in records}
    first: dict[str, str] = {}
    for which in known.values():
        first[which.sha256] = min(which.name, first.get(which.sha256, which.name))
    places = _ranks((each.family, first[each.sha256], each.sha256) for each in known.values())
    instances = dict(zip(known, places, strict=True))
    first_key = [instances[id(record.instance)] for record in records]
    keys = np.array(first_key, np.int64), np.array(methods, np.int64)[np.array(numbers, np.intp)]
    order = np.lexsort(keys[::-1])
    changes = np.any([np.diff(each[order]) != 0 for each in keys], axis=0)
    starts = [0, *(np.flatnonzero(changes) + 1).tolist(), len(records)]
    found = [records[place] for place in order.tolist()]
    if len(starts) <= len(records):  # repetitions
        for start, end in pairwise(starts):
            found[start:end] = sorted(found[start:end], key=_repetition)
    return found


def _repetition(record: TaskRecord) -> tuple[int, str, str]:
    """Return a sort key of the records of one method and instance."""
    return -1 if record.seed is None else record.seed, record.started or "", record.key


def _ranks(
    keys: Iterable[tuple[Any, ...]], order: Callable[[tuple[Any, ...]], Any] | None = None
) -> list[int]:
    """Return the place of each key among all different ones, sorted."""
    every = list(keys)
    places = {key: place for place, key in enumerate(sorted(dict.fromkeys(every), key=order))}
    return [places[key] for key in every]


def _place(method: tuple[Any, ...]) -> tuple[object, ...]:
    """Return a sort key: kind, then the family's order of methods."""
    family, kind, name, label, code, *limits = method
    bounds = [math.inf if each is None else each for each in limits]
    return KIND_ORDER.index(kind), _rank(family, name), label, code, *bounds


@cache
def _rank(name: str, method: str) -> int:
    """Return the place of a method in its family's table."""
    if name not in FAMILIES:
        return 0
    methods = family(name).methods
    return next((k for k, each in enumerate(methods) if each.name == method), len(methods))
