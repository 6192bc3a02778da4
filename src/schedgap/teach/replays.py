"""What an algorithm did, event by event: a slider in a notebook, else a table and a picture."""

import html
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from schedgap.analysis.plots.charts import gantt
from schedgap.analysis.plots.figure import Figure
from schedgap.analysis.solving import live
from schedgap.errors import UsageError
from schedgap.instances.arguments import an_instance, checked
from schedgap.instances.instance import Instance
from schedgap.models.family import Bar, Chart

if TYPE_CHECKING:
    import pandas as pd

Event = Mapping[str, Any]
LONGEST = 110  # characters of the details in a table
TINY = 1e-9  # share of a lane's height that is not drawn


class Replay:
    """The events of an algorithm, and the schedule after each. Created by `replay`.

    A notebook shows a slider over the events if ipywidgets is installed, and otherwise a table of
    all events and the last schedule.

    Attributes
    ----------
    events : tuple of mapping
        What the algorithm did: `line` of the pseudocode, `event`, and what belongs to the event.
    """

    def __init__(self, instance: Instance, events: Iterable[Event]) -> None:
        self.events = tuple(events)
        if not self.events or any("event" not in event for event in self.events):
            raise UsageError("events must be what a step returns with events=True")
        self._drawn = list(_drawn(instance.family, self.events))
        found = {bar.lane: None for bars in self._drawn for bar in bars}
        self._lanes = tuple(sorted(found))
        self._unit = "s" if instance.family == "hare" else "slot"

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        return f"replay of {len(self)} events, {len(self._drawn[-1])} bars at the end"

    def table(self) -> "pd.DataFrame":
        """Return one row for each event: line of the pseudocode, event, details."""
        import pandas as pd

        rows = [(event.get("line", ""), event["event"], _details(event)) for event in self.events]
        steps = pd.RangeIndex(1, len(rows) + 1, name="step")
        return pd.DataFrame(rows, columns=["line", "event", "details"], index=steps)

    def figure(self, step: int | None = None) -> Figure:
        """Return the Gantt chart of the schedule after an event.

        Parameters
        ----------
        step : int, optional
            Number of the event, from 1; by default the last.
        """
        step = len(self) if step is None else step
        if not 1 <= step <= len(self):
            raise UsageError(f"step must be from 1 to {len(self)}, not {step}")
        figure = gantt(Chart(self._lanes, self._drawn[step - 1], self._unit))
        last = max((bar.end for bars in self._drawn for bar in bars), default=1.0)
        figure.update_xaxes(range=[0, 1.02 * last])
        return figure

    def _repr_html_(self) -> str:
        rows = self.table().reset_index()
        table = rows.to_html(index=False, border=0, justify="left")
        table = table.replace("<td>", '<td style="text-align: left">')  # Jupyter aligns right
        return f'<div style="max-height: 22em; overflow: auto">{table}</div>'

    def _ipython_display_(self) -> None:
        """Show the table and the last schedule; a slider, if there is one, takes their place.

        Pages that draw no widgets, as `jupyter nbconvert` writes them, keep table and picture.
        """
        from IPython.display import display

        still = f"still-{uuid.uuid4()}"
        picture = (self.figure()._repr_mimebundle_() or {}).get("text/html", "")
        page = f'<div class="{still}">{self._repr_html_()}{picture}</div>'
        display({"text/plain": repr(self), "text/html": page}, raw=True)
        slider = self._slider()
        if slider is not None:
            import ipywidgets

            hiding = ipywidgets.HTML(f"<style>.{still} {{ display: none; }}</style>")
            display(ipywidgets.VBox([*slider.children, hiding]))

    def _slider(self) -> Any:
        """Return a slider over the events, or None where there are no widgets."""
        if not live.in_notebook():
            return None
        try:
            import ipywidgets
        except ImportError:
            return None
        steps = ipywidgets.IntSlider(value=1, min=1, max=len(self), description="event")
        shown = ipywidgets.interactive_output(self._show, {"step": steps})
        return ipywidgets.VBox([steps, shown])

    def _show(self, step: int) -> None:
        """Display one event and the schedule after it."""
        from IPython.display import display

        event = self.events[step - 1]
        text = f"{event.get('line', '')}  {event['event']}: {_details(event)}"
        display({"text/plain": text, "text/html": f"<p>{html.escape(text)}</p>"}, raw=True)
        display(self.figure(step))


def _details(event: Event) -> str:
    """Return what belongs to an event as text, without line and name."""
    parts = [
        f"{key} {_text(value)}" for key, value in event.items() if key not in ("line", "event")
    ]
    text = ", ".join(parts)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value)


class _Piece(NamedTuple):
    """A job on a lane, with as many workers, GPUs or tasks."""

    lane: str
    start: float
    end: float
    job: str
    amount: float

    def meets(self, other: "_Piece") -> bool:
        return self.lane == other.lane and self.start < other.end and other.start < self.end


def _drawn(family: str, events: tuple[Event, ...]) -> Iterator[tuple[Bar, ...]]:
    """Yield the bars after each event; a lane is as high as the most that it ever holds."""
    if family not in BARS:
        raise UsageError(f"replay can draw {', '.join(BARS)}, not {family}")
    states = list(_states(BARS[family], events))
    most: dict[str, float] = {}
    for state in states:
        for piece in state:
            load = sum(bar.amount for bar in state if bar.meets(piece))
            most[piece.lane] = max(most.get(piece.lane, 0.0), load)
    for state in states:
        yield tuple(_stacked(state, most))


def _states(
    pieces: "Callable[[Event, Event], Iterator[_Piece]]", events: tuple[Event, ...]
) -> Iterator[list[_Piece]]:
    """Yield what is placed after each event.

    A `run` begins with an empty cluster, and an `answer` takes the schedule of one of the runs.
    """
    state: list[_Piece] = []
    finish: Event = {}
    runs: dict[tuple[object, object], list[_Piece]] = {}
    for k, event in enumerate(events):
        if event["event"] == "run":  # it ends with the next `finish`, which has all times
            finish = next((event for event in events[k:] if event["event"] == "finish"), {})
            state = []
        state = [*state, *pieces(event, finish)]
        if event["event"] == "finish":
            runs[event["theta"], event["kappa"]] = state
        if event["event"] == "answer":
            state = runs.get((event["theta"], event["kappa"]), state)
        yield state


def _stacked(state: Iterable[_Piece], most: Mapping[str, float]) -> Iterator[Bar]:
    """Yield the bars of a state, concurrent ones of a lane above each other."""
    placed: list[tuple[_Piece, Bar]] = []
    for piece in state:
        share = piece.amount / most[piece.lane]
        beside = [bar for other, bar in placed if other.meets(piece)]
        free = (
            low
            for low in (0.0, *sorted(bar.offset + bar.share for bar in beside))
            if not any(
                low < bar.offset + bar.share - TINY and bar.offset < low + share - TINY
                for bar in beside
            )
        )
        offset = min(next(free), 1.0 - share)
        text = f"{piece.job} on {piece.lane}: {piece.amount:g}"
        bar = Bar(piece.lane, piece.start, piece.end, piece.job, text, False, share, offset)
        placed.append((piece, bar))
        yield bar


def _hare(event: Event, finish: Event) -> Iterator[_Piece]:
    if event["event"] == "start":
        yield _Piece(event["gpu"], event["start"], event["gpu_busy_until"], event["job"], 1)


def _elastic(event: Event, finish: Event) -> Iterator[_Piece]:
    if event["event"] == "start":
        first = event["start"] - 1  # slot 1 is drawn from 0 to 1
        for server, count in event["workers"].items():
            yield _Piece(server, first, first + event["duration"], event["job"], count)


def _edge(event: Event, finish: Event) -> Iterator[_Piece]:
    if event["event"] == "accept":
        for server, count in event["workers"].items():
            yield _Piece(server, event["start"] - 1, event["completion"], event["job"], count)


def _ring(event: Event, finish: Event) -> Iterator[_Piece]:
    job = event.get("job")
    if event["event"] == "place" and job in finish.get("ends", {}):
        for server, gpus in event["gpus"].items():
            first = finish["starts"][job] - 1
            yield _Piece(server, first, finish["ends"][job], str(job), len(gpus))


def _dmlrs(event: Event, finish: Event) -> Iterator[_Piece]:
    if event["event"] == "admit":
        for row in event["allocations"]:
            if row["workers"]:
                first = row["slot"] - 1
                yield _Piece(row["machine"], first, row["slot"], event["job"], row["workers"])


BARS: dict[str, Callable[[Event, Event], Iterator[_Piece]]] = {
    "hare": _hare,
    "elastic": _elastic,
    "edge": _edge,
    "ring": _ring,
    "dmlrs": _dmlrs,
}


@checked(instance=an_instance)
def replay(instance: Instance, events: Iterable[Event]) -> Replay:
    """Show what an algorithm did, event by event, with the schedule after each.

    Parameters
    ----------
    instance : Instance
        The instance that the algorithm ran on.
    events : iterable of mapping
        The events of the run: `sjf_bco(instance, events=True).events` and the like, from
        `schedgap.steps`.

    Raises
    ------
    UsageError
        If a step did not return the events, or the family has no pictures of its events.

    Examples
    --------
    >>> import schedgap as sg
    >>> from schedgap import teach
    >>> from schedgap.steps.ring import sjf_bco
    >>> toy = sg.generate("ring", preset="toy")
    >>> teach.replay(toy, sjf_bco(toy, events=True).events)
    replay of 29 events, 4 bars at the end
    """
    return Replay(instance, events)
