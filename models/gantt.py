"""Bars that overlap in time, stacked on as many lanes as are needed."""

from collections.abc import Iterable
from typing import NamedTuple

from schedgap.models.family import Bar


class Span(NamedTuple):
    """What occupies a part of a machine for a while."""

    start: float
    end: float
    group: str  # decides the colour
    text: str  # shown on hover


def stack(machine: str, spans: Iterable[Span]) -> tuple[list[str], list[Bar]]:
    """Return the lanes of a machine, at least one, and a bar on them for each span.

    A span goes to the first lane that is free at its start, so there are as many lanes as spans at
    once. The first lane has the machine's name, the others a number behind it.
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
