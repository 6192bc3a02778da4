"""Replays of the papers' algorithms in the report: their events, and the bars that each one places.

Records hold no events. The events come from another run of the algorithm, for small schedules only,
and are shown only if that run returns the stored schedule.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from schedgap.analysis.records.rows import TaskRow
from schedgap.instances.instance import Instance
from schedgap.models.family import Chart, family
from schedgap.models.method import Lazy

FUNCTIONS = {  # an algorithm, and the event that places a job
    ("dmlrs", "pd-ors"): ("dmlrs.algorithms.pd_ors:pd_ors", "admit"),
    ("edge", "a-online"): ("edge.algorithms.a_online:a_online", "accept"),
    ("elastic", "a-online"): ("elastic.algorithms.a_online:a_online", "start"),
    ("elastic", "a-maxweight"): ("elastic.algorithms.a_maxweight:a_maxweight", "accept"),
    ("ring", "sjf-bco"): ("ring.algorithms.sjf_bco:sjf_bco", "place"),
}
MAX_BARS = 300  # larger schedules have no replay
MAX_SECONDS = 1.0  # slower methods have no replay
MAX_STEPS = 400
LONG = 140  # characters of the text of a step


class Replay(NamedTuple):
    """The steps of an algorithm as text, and for each group of bars the step that places it."""

    steps: list[str]
    placed: dict[str, int]


def replay(instance: Instance, task: TaskRow, chart: Chart) -> Replay | None:
    """Return the replay of a task's algorithm, or None if there is none."""
    name = task.family
    known = FUNCTIONS.get((name, task.method))
    if known is None or task.seconds is None or task.label != task.method:
        return None
    if len(chart.bars) > MAX_BARS or task.seconds > MAX_SECONDS:
        return None
    function, placing = known
    run = Lazy(f"schedgap.models.{function}").load()(instance, events=True)
    if (
        run.schedule is None
        or family(name).chart(instance, run.schedule.to_data(instance)) != chart
    ):
        return None
    events = list(_of_the_answer(run.events) if name == "ring" else run.events)
    if len(events) > MAX_STEPS:
        events = [event for event in events if event["event"] == placing]
    placed = {
        str(event["job"]): step for step, event in enumerate(events) if event["event"] == placing
    }
    if len(events) > MAX_STEPS or not {bar.group for bar in chart.bars} <= set(placed):
        return None
    return Replay([_text(event) for event in events], placed)


def _of_the_answer(events: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the events of the run of SJF-BCO that is returned, and the last ones of the search."""
    best = [place for place, event in enumerate(events) if event["event"] == "improve"]
    if not best:
        return
    better = events[best[-1]]
    runs = [place for place, event in enumerate(events) if event["event"] == "run"]
    wanted = better["kappa"], better["makespan"]
    for begin, end in zip(runs, [*runs[1:], len(events)], strict=True):
        part = events[begin:end]
        ends = [place for place, event in enumerate(part) if event["event"] == "finish"]
        if ends and (part[ends[0]]["kappa"], part[ends[0]]["makespan"]) == wanted:
            yield from part[: ends[0] + 1]
            break
    yield better
    yield events[-1]


def _text(event: Mapping[str, Any]) -> str:
    """Return the line of the pseudocode, the event, and its keys as text."""
    keys = ", ".join(
        f"{name} {_plain(value)}" for name, value in event.items() if name not in ("line", "event")
    )
    text = f"{event['line']}: {event['event']}" + (f" ({keys})" if keys else "")
    return text if len(text) <= LONG else f"{text[: LONG - 2]}…)"


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return " ".join(f"{name}: {_plain(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_plain, value))
    return str(value)
