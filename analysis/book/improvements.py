"""Only improvements enter a book: what is better than a record, and what an older book had more."""

from collections.abc import Iterator

from schedgap.analysis.results.bounds import Scale
from schedgap.instances.book import Book, Entry, SideName
from schedgap.instances.instance import Instance

UNUSED = {"about", "source"}  # keys of a recipe that the data do not depend on


def improves(scale: Scale, side: SideName, value: float, old: float) -> bool:
    """Return whether a value of a side of a record is better than an older one."""
    if side == "bound":
        return not scale.implies(old, value)
    less = value < old if scale.sense == "min" else value > old
    return less and not scale.same(value, old)


def losses(book: Book, older: Book, instance: Instance, name: str) -> Iterator[str]:
    """Yield what of an instance and its records is missing or worse than in an older book.

    `instance`: the one of this name in both books.
    """
    if name not in older.recipes:
        return
    old, new = (each.recipes[name].model_dump(exclude=UNUSED) for each in (older, book))
    if changed := [key for key in old if old[key] != new[key]]:
        yield f"recipe: changed: {', '.join(changed)}"
        return
    before, now = (each.records(instance.family) for each in (older, book))
    entries, scale = now.records.get(name, {}), Scale.of(instance)
    for problem, entry in before.records.get(name, {}).items():
        for loss in _worse(scale, entry, entries.get(problem, Entry())):
            yield f"{problem}: {loss}" if problem else loss
    lines, kept = (
        [change for change in each.changes if change.instance == name] for each in (before, now)
    )
    if lines != kept[len(kept) - len(lines) :]:
        yield "changes: older lines are missing"


def _worse(scale: Scale, before: Entry, now: Entry) -> Iterator[str]:
    """Yield what is missing or worse in an entry, or was replaced by what is no better."""
    names: tuple[SideName, ...] = ("schedule", "bound")
    for name in names:
        old, new = before.side(name), now.side(name)
        if old is None or new == old:
            continue
        if new is None:
            yield f"{name}: missing, was {old.value:.10g}"
        elif improves(scale, name, old.value, new.value):
            yield f"{name}: {new.value:.10g} is worse than {old.value:.10g} before"
        elif not improves(scale, name, new.value, old.value):
            yield f"{name}: replaced without an improvement"
