"""Arrange overlapping bars of a Gantt chart on lanes."""

from collections.abc import Iterable
from typing import NamedTuple

from schedgap.models.family import Bar


class Span(NamedTuple):
    """An interval of time in which a part of a machine is used."""

    start: float
    end: float
    group: str  # determines the colour
    text: str  # shown on hover


def stack(machine: str, spans: Iterable[Span]) -> tuple[list[str], list[Bar]]:
    """Return the lanes of a machine, at least one, and a bar for each span.

    A span is put on the first lane that is free at its start, so that the number of lanes is the
    largest number of simultaneous spans. The first lane has the name of the machine, the others
    also a number.

    Parameters
    ----------
    machine : str
        Name of the machine.
    spans : iterable of Span
        Its spans in any order.
    """
    free: list[float] = [0.0]  # end of the last span on each lane
    lanes = [machine]
    bars = []
    for start, end, group, text in sorted(spans, key=lambda span: span.start):
        row = next((k for k, until in enumerate(free) if until <= start), len(free))
        if row == len(free):
            free.append(0.0)
            lanes.append(f"{machine} ({row + 1})")
        free[row] = end
        bars.append(Bar(lanes[row], start, end, group, text))
    return lanes, bars
