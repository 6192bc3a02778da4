"""The record book as users see it: instances, best solutions, a table, update and verification."""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

from schedgap.analysis.book.checking import stored
from schedgap.analysis.book.updating import Update, update
from schedgap.analysis.intervals import interval_text
from schedgap.analysis.records.ratios import RatioInterval, ratio_interval
from schedgap.analysis.results.bounds import Scale
from schedgap.analysis.results.solution import Solution
from schedgap.errors import InputError, SchedgapError, UsageError, choices
from schedgap.instances.arguments import a_path, a_text, checked
from schedgap.instances.book import TIERS, Book, Entry, SideName
from schedgap.instances.families import OWN
from schedgap.instances.instance import Instance, html_table
from schedgap.solvers.proofs.limits import MEMORY_MB, SECONDS, limited

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "instance", "family", "tier", "about", "problem", "status", "schedule", "bound", "low", "high",
    "schedule_by", "schedule_date", "bound_by", "bound_date", "evidence",
)  # fmt: skip


class RecordBook:
    """The instances of a record book and what is known of them.

    Parameters
    ----------
    names : sequence of str
        Names of the instances.
    book : Book
        The book on file.
    """

    def __init__(self, names: list[str], book: Book) -> None:
        self.names, self._book = tuple(names), book

    @cached_property
    def instances(self) -> list[Instance]:
        """The instances, in the order of the book."""
        return [self._book.instance(name) for name in self.names]

    def best(self, name: str, problem: str = "") -> Solution | None:
        """Return the best solution known of an instance; None if there is none.

        Parameters
        ----------
        name : str
            Name of the instance, such as 'hare-a1'.
        problem : str
            Problem variant, such as 'fixed'; by default the instance as it stands.
        """
        return self._stored(name, problem, "schedule")

    def best_bound(self, name: str, problem: str = "") -> Solution | None:
        """Return the solution with the best bound known, and its evidence; None if there is none.

        Parameters
        ----------
        name : str
            Name of the instance, such as 'hare-a1'.
        problem : str
            Problem variant, such as 'fixed'; by default the instance as it stands.
        """
        return self._stored(name, problem, "bound")

    def _stored(self, name: str, problem: str, which: SideName) -> Solution | None:
        if name not in self.names:
            raise UsageError(f"no instance '{name}': {choices(name, self.names)}")
        records = self._book.records(name.partition("-")[0])
        entry = records.records.get(name, {}).get(problem)
        side = None if entry is None else getattr(entry, which)
        return None if side is None else stored(self._book, side, self._book.instance(name))

    def entries(self, family: str) -> Mapping[str, Mapping[str, Entry]]:
        """Return what is known of a family's instances: an entry by name and problem variant.

        Parameters
        ----------
        family : str
            Name of the family.
        """
        known = self._book.records(family).records
        return {name: known[name] for name in self.names if name in known}

    def instance(self, name: str) -> Instance:
        """Return an instance by its name.

        Parameters
        ----------
        name : str
            Name of the instance, such as 'hare-a1'.
        """
        return self._book.instance(name)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each instance and problem variant, as `table` does, as JSON data.

        `high` is None if nothing bounds the ratio.
        """
        return [
            self._row(name, problem, entry)
            for family in OWN
            for records in [self._book.records(family)]
            for name in self.names
            if name.startswith(f"{family}-")
            for problem, entry in {
                "": Entry(status="open"),
                **records.records.get(name, {}),
            }.items()
        ]

    def _row(self, name: str, problem: str, entry: Entry) -> dict[str, Any]:
        family, _, rest = name.partition("-")
        schedule, bound = entry.schedule, entry.bound
        ratio = self._bracket(name, entry)
        high = None if ratio is None or math.isinf(ratio.high) else ratio.high
        values = (
            name, family, rest[0], self._book.recipes[name].about, problem, entry.status,
            schedule and schedule.value, bound and bound.value,
            ratio and ratio.low, high,
            schedule and schedule.by.method, schedule and schedule.by.date,
            bound and bound.by.method, bound and bound.by.date, bound and bound.evidence,
        )  # fmt: skip
        return dict(zip(COLUMNS, values, strict=True))

    def _bracket(self, name: str, entry: Entry) -> RatioInterval | None:
        """Return the ratio of the best schedule to the optimum; None without one of the sides."""
        if entry.schedule is None or entry.bound is None:
            return None
        value = entry.schedule.value
        scale = Scale.of(self._book.instance(name))
        return ratio_interval(value, value, entry.bound.value, scale)

    def table(self) -> "pd.DataFrame":
        """Return a row for each instance and problem variant: schedule, bound, ratio, who, when."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS))

    def update(
        self,
        *sources: str | os.PathLike[str],
        on_line: Callable[[str], None] | None = None,
        seconds: float = SECONDS,
        memory_mb: float = MEMORY_MB,
    ) -> Update:
        """Take over every verified improvement of run folders and solution files.

        Parameters
        ----------
        *sources : path
            Run folders and solution files.
        on_line : callable, optional
            Called with a line on each improvement, and on each file that is refused.
        seconds, memory_mb : float
            Limits of the check of one file.

        Raises
        ------
        InputError
            If the book itself is damaged or cannot be written.
        """
        return update(self._book, sources, seconds=seconds, memory_mb=memory_mb, on_line=on_line)

    def verify(
        self,
        *,
        since: str | os.PathLike[str] | None = None,
        seconds: float = SECONDS,
        memory_mb: float = MEMORY_MB,
    ) -> list[str]:
        """Check every instance, schedule and bound again, without an engine; return the faults.

        Parameters
        ----------
        since : path, optional
            Folder of an older book. It is a fault if an instance, a record or a line of the changes
            is missing, a recipe is changed, or a record is replaced by one that is no better.
        seconds, memory_mb : float
            Limits of the check of one instance.

        Raises
        ------
        InputError
            If the older book is damaged or has no records.
        """
        unknown = [
            f"{name}: no such instance"
            for family in OWN
            for name in self._book.records(family).records
            if name not in self._book.recipes
        ]
        missing = [] if since is None else self._missing(Book(since))
        with ThreadPoolExecutor(2) as pool:
            found = pool.map(
                lambda name: list(self._faults(name, since, seconds, memory_mb)), self.names
            )
            return unknown + missing + [fault for faults in found for fault in faults]

    def _missing(self, older: Book) -> list[str]:
        """Return which instances of an older book are missing, whatever the names."""
        if not any(older.records(family).records for family in OWN):
            raise InputError("a book without records", file=str(older.path))
        return [f"{name}: missing" for name in older.recipes if name not in self._book.recipes]

    def _faults(
        self, name: str, since: str | os.PathLike[str] | None, seconds: float, memory_mb: float
    ) -> Iterator[str]:
        try:
            faults = limited(
                "schedgap.analysis.book.checking:faults_of", str(self._book.path), name,
                None if since is None else str(since), seconds=seconds, memory_mb=memory_mb,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - what the book has may come from anybody
            faults = f"{type(error).__name__}: {error}"
            faults = str(error) if isinstance(error, SchedgapError) else faults
        for fault in [faults] if isinstance(faults, str) else faults:
            yield f"{name}: {fault}"

    def __len__(self) -> int:
        return len(self.names)

    def _facts(self) -> dict[str, str]:
        rows = [row for row in self.rows() if row["problem"] == ""]
        closed = sum(row["status"] == "closed" for row in rows)
        return {
            tier: f"{len(of)} instances, {sum(row['status'] == 'closed' for row in of)} closed"
            for tier in TIERS
            if (of := [row for row in rows if row["tier"] == tier])
        } | {"all": f"{len(rows)} instances, {closed} closed"}

    def __repr__(self) -> str:
        return f"<record book: {self._facts()['all']}>"

    def _repr_html_(self) -> str:
        return html_table(self._facts())


def ratio_of(row: Mapping[str, Any]) -> str:
    """Return the ratio of a record's schedule to the optimum as text; a dash without one."""
    return interval_text(row["low"], row["high"])


@checked(name=a_text, book=a_path)
def records(name: str | None = None, *, book: str | os.PathLike[str] | None = None) -> RecordBook:
    """Return the record book: benchmark instances with the best schedule and bound known of each.

    Parameters
    ----------
    name : str, optional
        A family, such as 'hare', a tier, such as 'hare-p', or an instance, such as 'hare-p3'; by
        default everything.
    book : path, optional
        Folder of another book; by default the one of this package.

    Raises
    ------
    UsageError
        If there is no such family or instance.
    """
    found = Book(book)
    text = (
        "records" if name in (None, "records") else f"records/{str(name).removeprefix('records/')}"
    )
    names = found.named(text)
    if not names:
        family = str(name).partition("-")[0]
        known = found.named(f"records/{family}") if family in OWN else OWN
        raise UsageError(f"no instance of the book '{name}': {choices(str(name), known)}")
    return RecordBook(names, found)
