"""Mark on a Gantt chart where a schedule breaks a rule."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from schedgap.errors import InputError
from schedgap.instances.instance import Instance
from schedgap.instances.verdict import Violation
from schedgap.models.family import Bar, Chart, family


def broken_chart(instance: Instance, schedule: Any, violations: Sequence[Violation]) -> Chart:
    """Return the chart of a schedule that breaks rules, with a mark for each violation.

    Raises
    ------
    InputError
        If the schedule is too broken to be drawn.
    """
    try:
        chart = _finite(family(instance.family).chart(instance, schedule))
    except Exception:  # noqa: BLE001 - charts trust what the rules have accepted
        first = f"{violations[0].rule}: {violations[0].message}"
        raise InputError(f"the schedule cannot be drawn: it breaks {first}") from None
    return replace(chart, marks=tuple(_joined(_marks(chart, violations))))


def _finite(chart: Chart) -> Chart:
    """Return the chart with times as doubles, without what has no finite time."""
    bars = (replace(bar, start=float(bar.start), end=float(bar.end)) for bar in chart.bars)
    links = (replace(link, start=float(link.start), end=float(link.end)) for link in chart.links)
    return replace(
        chart,
        bars=tuple(bar for bar in bars if math.isfinite(bar.end - bar.start)),
        links=tuple(link for link in links if math.isfinite(link.end - link.start)),
    )


def broken_title(name: str, violations: Sequence[Violation]) -> str:
    """Return the title of the chart: the rules, and how often they are broken."""
    rules = ", ".join(dict.fromkeys(violation.rule for violation in violations))
    times = f" ({len(violations)} violations)" if len(violations) > 1 else ""
    return f"{name} breaks {rules}{times}"


def _marks(chart: Chart, violations: Iterable[Violation]) -> Iterator[Bar]:
    for violation in violations:
        for bar in _places(chart, violation.where):
            yield replace(bar, group=violation.rule, text=violation.message)


def _places(chart: Chart, where: Sequence[str]) -> list[Bar]:
    """Return the bars that a violation names, cut to the time that it is about.

    It names jobs or tasks, or a machine. If two of them overlap on a lane, the overlap is meant. A
    number is a slot, and two are the first and the last slot; slot t lasts from t - 1 to t.
    """
    solid = [bar for bar in chart.bars if not bar.soft]
    named: list[list[Bar]] = []
    slots: list[int] = []
    for name in where:
        if found := [b for b in solid if b.group == name or b.text.startswith(f"{name} ")]:
            named.append(found)
        elif name.isdecimal():
            slots.append(int(name))
    if not named:
        on = [
            b for b in solid for name in where if b.lane == name or b.lane.startswith(f"{name} (")
        ]
        named.append(on)
    overlaps = [
        _cut(a, b.start, b.end)
        for one, other in combinations(named, 2)
        for a in one
        for b in other
        if a.lane == b.lane
    ]
    in_slots = [_cut(bar, min(slots) - 1, max(slots)) for bar in named[0]] if slots else []
    return (
        [bar for bar in overlaps if bar.start < bar.end]
        or [bar for bar in in_slots if bar.start < bar.end]
        or named[0]
    )


def _cut(bar: Bar, start: float, end: float) -> Bar:
    return replace(bar, start=max(bar.start, start), end=min(bar.end, end))


def _joined(marks: Iterable[Bar]) -> Iterator[Bar]:
    """Yield marks; marks of one rule that touch each other in a lane become one."""
    lanes: dict[tuple[object, ...], list[Bar]] = {}
    for mark in marks:
        lanes.setdefault((mark.group, mark.lane, mark.share, mark.offset), []).append(mark)
    for found in lanes.values():
        last, *rest = sorted(found, key=lambda mark: mark.start)
        for mark in rest:
            if mark.start <= last.end:
                last = replace(last, end=max(last.end, mark.end))
            else:
                yield last
                last = mark
        yield last
