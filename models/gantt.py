"""Arrange overlapping bars of a Gantt chart on lanes."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from schedgap.models.family import Bar

CLOSE = 1e-9


class Span(NamedTuple):
    """An interval of time in which a part of a machine is used."""

    start: float
    end: float
    group: str  # determines the colour
    text: str  # shown on hover
    share: float = 1.0  # share of the machine, in (0, 1]


def stack(
    machine: str, spans: Iterable[Span], *, together: bool = False
) -> tuple[list[str], list[Bar]]:
    """Return the lanes of a machine, at least one, and a bar for each span.

    A span is put on the first lane that is free at its start; the number of lanes is the
    largest number of simultaneous spans. The first lane has the name of the machine, the others
    also a number.

    `together`: whether simultaneous spans are put on one lane if their shares leave room for them,
    one below the other.
    """
    lanes: list[list[Bar]] = [[]]  # the last bars on each lane
    bars = []
    for span in sorted(spans, key=lambda span: span.start):
        share = min(1.0, span.share)
        lanes = [[bar for bar in lane if bar.end > span.start] for lane in lanes]
        rooms = [_room(lane, share if together else 1.0) for lane in lanes]
        row = next((row for row, room in enumerate(rooms) if room is not None), len(lanes))
        offset = 0.0
        if row == len(lanes):
            lanes.append([])
        else:
            offset = rooms[row] or 0.0
        name = machine if row == 0 else f"{machine} ({row + 1})"
        bar = Bar(name, span.start, span.end, span.group, span.text, share=share, offset=offset)
        lanes[row].append(bar)
        bars.append(bar)
    names = [machine, *(f"{machine} ({row + 1})" for row in range(1, len(lanes)))]
    return names, bars


def _room(bars: Iterable[Bar], share: float) -> float | None:
    """Return the first offset on a lane at which a share of it is free, or None."""
    offset = 0.0
    for bar in sorted(bars, key=lambda bar: bar.offset):
        if bar.offset - offset >= share - CLOSE:
            return offset
        offset = bar.offset + bar.share
    return offset if offset + share <= 1 + CLOSE else None


def dominant_share(used: Mapping[str, float], capacity: Mapping[str, float]) -> float:
    """Return the largest share of a machine's resource that is used, at least 0.01.

    `used`, `capacity`: amounts by resource, in one unit.
    """
    shares = [amount / capacity[name] for name, amount in used.items() if capacity.get(name)]
    return min(1.0, max([0.01, *shares]))
