"""What the record book knows of instances, where it is better than what else is known."""

from collections.abc import Mapping
from dataclasses import replace

from schedgap.analysis.records.ratios import Bracket
from schedgap.analysis.results.bounds import Scale
from schedgap.instances.book import Book, Entry, Side
from schedgap.instances.solution import Evidence

NAME = "record"  # begins what a schedule or a bound of the book is called


def called(side: Side) -> str:
    """Return what a schedule or a bound of the book is called in tables."""
    return f"{NAME} of {side.by.date} by {side.by.method}"


def better_sides(
    entry: Entry, scale: Scale, best: float | None, bound: float | None
) -> tuple[Side | None, Side | None]:
    """Return the schedule and the bound of a record, each only if it is better than another.

    `best`, `bound`: objective and bound that are known without the book; None for none.
    """
    schedule, proved = entry.schedule, entry.bound
    if schedule is not None and best is not None:
        better = schedule.value < best if scale.sense == "min" else schedule.value > best
        schedule = schedule if better and not scale.same(schedule.value, best) else None
    if proved is not None and bound is not None and scale.implies(bound, proved.value):
        proved = None
    return schedule, proved


def with_records(found: Mapping[tuple[str, str], Bracket]) -> dict[tuple[str, str], Bracket]:
    """Return the brackets of a run with better schedules and bounds of the record book.

    An instance without any result has no scale and stays as it is.
    """
    book = Book()
    brackets = dict(found)
    for (sha256, problem), bracket in found.items():
        entry = book.entries(sha256).get(problem)
        if entry is None or (bracket.best is None and bracket.bound is None):
            continue
        schedule, bound = better_sides(entry, bracket.scale, bracket.best, bracket.bound)
        if schedule is not None:
            bracket = replace(bracket, best=schedule.value, best_by=called(schedule))
        if bound is not None:
            evidence: Evidence = "proved" if bound.evidence == "tree" else "certified"
            bracket = replace(bracket, bound=bound.value, bound_by=called(bound), evidence=evidence)
        brackets[sha256, problem] = bracket
    return brackets
