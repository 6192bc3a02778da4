"""Take improvements over into a record book; a lock keeps one update from losing another's."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from schedgap.analysis.book.checking import Offer, Offers, status_of
from schedgap.analysis.book.improvements import improves
from schedgap.analysis.results.bounds import Scale
from schedgap.errors import ContradictionError, InputError, SchedgapError
from schedgap.instances.book import LOCK, Book, Change, Entry, Records, Side
from schedgap.instances.records import write_bytes, write_json
from schedgap.solvers.proofs.limits import MEMORY_MB, SECONDS, limited


@dataclass(frozen=True, slots=True)
class Update:
    """What an update has taken over, left out and refused.

    `taken`: improvements, in the order in which they entered. `refused`: a line for each file with
    a fault. `left_out`: a line for each result that cannot be a record, such as a relaxed schedule.
    `checked`: files that were checked.
    """

    taken: tuple[Change, ...]
    refused: tuple[str, ...]
    left_out: tuple[str, ...]
    checked: int

    def __bool__(self) -> bool:
        return not self.refused


def update(
    book: Book,
    sources: Iterable[str | os.PathLike[str]],
    *,
    seconds: float = SECONDS,
    memory_mb: float = MEMORY_MB,
    on_line: Callable[[str], None] | None = None,
) -> Update:
    """Take over every improvement that is verified; a file with a fault is one line.

    `sources`: run folders and solution files. `seconds`, `memory_mb`: limits of the check of one
    file. `on_line`: called with a line on each improvement, and on each file that is refused.

    Raises
    ------
    InputError
        If the book itself is damaged or cannot be written.
    """
    _ = book.names, book.known  # a damaged book is not the fault of a file
    taken: list[Change] = []
    refused: list[str] = []
    left_out: list[str] = []
    checked = 0
    for file in _files(sources, refused):
        checked += 1
        try:
            offers = limited(
                "schedgap.analysis.book.checking:offers_of", str(book.path), str(file),
                seconds=seconds, memory_mb=memory_mb,
            )  # fmt: skip
            if not isinstance(offers, Offers):
                raise InputError(offers, file=str(file))
            if offers.left_out:
                left_out.append(f"{file}: {offers.left_out}")
            changes = enter(book, offers)
        except (SchedgapError, ContradictionError) as error:
            if isinstance(error, InputError) and Path(error.file).is_relative_to(book.path):
                raise
            prefix = "contradiction: " if isinstance(error, ContradictionError) else ""
            refused.append(f"{prefix}{error}")
            lines = [f"refused: {prefix}{error}"]
        else:
            taken += changes
            lines = [sentence(change) for change in changes]
        if on_line is not None:
            for line in lines:
                on_line(line)
    return Update(tuple(taken), tuple(refused), tuple(left_out), checked)


def sentence(change: Change) -> str:
    """Return an improvement in words."""
    name = change.instance + (f" ({change.problem})" if change.problem else "")
    before = "the first" if change.before is None else f"instead of {change.before:.10g}"
    return f"{name}: {change.side} {change.value:.10g} by {change.method}, {before}"


def _files(sources: Iterable[str | os.PathLike[str]], refused: list[str]) -> Iterator[Path]:
    """Yield the files to check: the tasks of run folders, and other files as they are."""
    for source in map(Path, sources):
        if not source.is_dir():
            yield source
        elif (source / "tasks").is_dir():
            yield from sorted((source / "tasks").glob("[!.]*.json"))
        else:
            refused.append(f"{source}: not a run folder: it has no folder 'tasks'")


def enter(book: Book, offers: Offers) -> list[Change]:
    """Take over what improves a record, and return the changes.

    First the files are written, then the index is replaced. An update that is killed leaves the old
    book, perhaps with files that the next one removes.

    Raises
    ------
    ContradictionError
        If a verified schedule and a verified bound exclude each other, which is a bug.
    """
    if not offers.offers:
        return []
    family = offers.instance.partition("-")[0]
    scale = Scale.of(book.instance(offers.instance))
    folder = book.folder(family)
    try:
        folder.mkdir(exist_ok=True)
        with FileLock(folder / LOCK):
            return _enter(book, offers, scale, folder)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be written: {reason}", file=str(folder)) from None


def _enter(book: Book, offers: Offers, scale: Scale, folder: Path) -> list[Change]:
    index = book.records(folder.name)
    known = index.records.get(offers.instance, {}).get(offers.problem, Entry())
    better = [
        offer
        for offer in offers.offers
        if (old := known.side(offer.side)) is None
        or improves(scale, offer.side, offer.value, old.value)
    ]
    if not better:
        return []
    changed = _with(index, offers, better, known, scale)
    for offer in better:
        file = folder / f"{offer.stored().file}.json.gz"
        if not file.exists():
            write_bytes(file, offer.content)
    write_json(folder / "records.json", changed.model_dump(mode="json"))
    _remove_unused(folder, changed)
    return list(changed.changes[: len(better)])


def _with(
    index: Records, offers: Offers, better: list[Offer], known: Entry, scale: Scale
) -> Records:
    """Return the records of a family with an entry replaced, and its changes in front."""
    sides: dict[str, Side | None] = {offer.side: offer.stored() for offer in better}
    schedule = sides.get("schedule", known.schedule)
    bound = sides.get("bound", known.bound)
    if schedule and bound and scale.refutes(schedule.value, bound.value):
        raise ContradictionError(
            f"{offers.instance}: a verified schedule of {schedule.value:.10g} by "
            f"{schedule.by.method} refutes the verified bound {bound.value:.10g} by "
            f"{bound.by.method}"
        )
    entry = Entry(status=status_of(scale, schedule, bound), schedule=schedule, bound=bound)
    changes = [
        Change(
            date=datetime.now(UTC).date().isoformat(),
            instance=offers.instance,
            problem=offers.problem,
            side=offer.side,
            before=None if (old := known.side(offer.side)) is None else old.value,
            value=offer.value,
            method=offer.by.method,
        )
        for offer in better
    ]
    of_instance = {**index.records.get(offers.instance, {}), offers.problem: entry}
    return Records(
        family=index.family,
        records=dict(sorted({**index.records, offers.instance: of_instance}.items())),
        changes=(*changes, *index.changes),
    )


def _remove_unused(folder: Path, index: Records) -> None:
    """Remove the files to which no record refers any more."""
    used = {
        side.file
        for entries in index.records.values()
        for entry in entries.values()
        for side in (entry.schedule, entry.bound)
        if side is not None
    }
    for file in folder.glob("*.json.gz"):
        name = file.name.removesuffix(".json.gz")
        if re.fullmatch("[0-9a-f]{64}", name) and name not in used:
            file.unlink(missing_ok=True)
