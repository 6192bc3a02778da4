"""Charts of incumbents, bounds and gaps over time, of ratios, and of profiles.

References
----------
E. D. Dolan, J. J. Moré, "Benchmarking optimization software with performance profiles",
Mathematical Programming 91 (2002).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from schedgap.analysis.intervals import IntervalStyle, interval_text, significant
from schedgap.analysis.plots.charts import PALETTE, TEMPLATE, colors, plain, shorten
from schedgap.analysis.plots.figure import Figure
from schedgap.instances.solution import Sense

Point = tuple[float, float | None, float | None]  # seconds, objective, bound


def running_best(points: Iterable[Sequence[float | None]], sense: Sense) -> Iterator[Point]:
    """Yield the best objective and bound so far at each point.

    `points`: points (seconds, objective or None, bound or None) in order of time. `sense`: sense of
    the objective.
    """
    better, tighter = (min, max) if sense == "min" else (max, min)
    objective: float | None = None
    bound: float | None = None
    for seconds, value, limit in points:
        assert seconds is not None
        if value is not None:
            objective = value if objective is None else better(objective, value)
        if limit is not None:
            bound = limit if bound is None else tighter(bound, limit)
        yield seconds, objective, bound


PROGRESS_LAYOUT: dict[str, Any] = {
    "height": 340,
    "showlegend": True,
    "xaxis": {"title": {"text": "wall-clock time (s)"}, "rangemode": "tozero"},
    "yaxis": {"title": {"text": "objective"}},
}


def progress_figure(
    progress: Mapping[str, Iterable[Sequence[float | None]]],
    sense: Sense = "min",
    palette: Mapping[str, str] | None = None,
) -> Figure:
    """Return a figure of incumbents (solid) and bounds (dotted) over wall-clock time.

    `progress`: for each name, such as a method, its points (seconds, objective or None, bound or
    None). `sense`: sense of the objective. `palette`: the colour of each name; by default, from
    `colors`.
    """
    traces = progress_traces(progress, sense, palette)
    return Figure(traces, {"template": TEMPLATE, **PROGRESS_LAYOUT})


def progress_traces(
    progress: Mapping[str, Iterable[Sequence[float | None]]],
    sense: Sense,
    palette: Mapping[str, str] | None = None,
) -> list[dict[str, object]]:
    """Return the curves of `progress_figure` as Plotly traces, up to two for each name.

    `progress`: for each name, such as a method, its points (seconds, objective or None, bound or
    None). `sense`: sense of the objective. `palette`: the colour of each name; by default, from
    `colors`.
    """
    palette = palette or colors(progress)
    traces: list[dict[str, Any]] = []
    for name, points in progress.items():
        steps = list(running_best(points, sense))
        named = False
        for what, column, dash in (("incumbent", 1, "solid"), ("bound", 2, "dot")):
            known = [(point[0], point[column]) for point in steps if point[column] is not None]
            if not known:
                continue
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": plain(name),
                    "legendgroup": name,
                    "showlegend": not named,
                    "x": [seconds for seconds, _ in known],
                    "y": [value for _, value in known],
                    "line": {"shape": "hv", "color": palette[name], "dash": dash, "width": 2},
                    "marker": {"size": 5, "symbol": "circle" if column == 1 else "circle-open"},
                    "hovertemplate": f"{what} %{{y:.10~g}}<br>after %{{x:.4~g}} s",
                }
            )
            named = True
    return traces


# --- ratios --------------------------------------------------------------------------------------

HOVER = IntervalStyle(partial(significant, digits=6), at_least="at least ")
Interval = tuple[str, float, float]  # instance, lower and upper end; infinite if unknown
TICKS = (1, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000, 10_000, 100_000)


def ratio_distribution(
    ratios: Mapping[str, Sequence[Interval]], palette: Mapping[str, str] | None = None
) -> Figure:
    """Return a figure with a row for each method: dots for exact ratios, lines for intervals.

    `ratios`: for each method, from top to bottom, its intervals (instance, lower end, upper end).
    An interval without an upper end is drawn as a triangle that points to the right. `palette`: the
    colour of each method; by default all have the first one.
    """
    palette = palette or dict.fromkeys(ratios, PALETTE[0])
    rows = {method: place for place, method in enumerate(ratios)}
    exact, lines, open_ended = _Points(), _Points(), _Points()
    for method, intervals in ratios.items():
        spread = 0.5 / max(1, len(intervals) - 1) if len(intervals) > 1 else 0.0
        for place, (instance, low, high) in enumerate(intervals):
            y = rows[method] + (place * spread - 0.25 if spread else 0.0)
            color = palette[method]
            text = (
                f"{plain(instance)}<br>{plain(method)}<br>ratio {interval_text(low, high, HOVER)}"
            )
            if high == low < float("inf"):
                exact.add(low, y, text, color)
            elif high < float("inf"):
                for x in (low, high):
                    lines.add(x, y, text, color)
                lines.add(None, None, "", color)
            elif low < float("inf"):
                open_ended.add(low, y, text, color)
    few = max(map(len, ratios.values()), default=0) <= 60
    figure = Figure(
        [
            {
                **lines.trace("between two bounds"),
                "mode": "lines+markers",
                "line": {"color": "#888888", "width": 3},
                "marker": {"color": lines.color, "size": 6},  # makes short lines visible
                "opacity": 0.6,
            },
            {
                **exact.trace("exact"),
                "mode": "markers",
                "marker": {"color": exact.color, "size": 7, "opacity": 0.8 if few else 0.35},
            },
            {
                **open_ended.trace("at least"),
                "mode": "markers",
                "marker": {"symbol": "triangle-right-open", "color": open_ended.color, "size": 9},
            },
        ]
    )
    figure.data = [trace for trace in figure.data if trace.x]
    top = max([1.0, *(x for points in (exact, lines, open_ended) for x in points.x if x)])
    figure.update_layout(
        template=TEMPLATE,
        height=140 + 30 * max(1, len(rows)),
        showlegend=len(figure.data) > 1,
        xaxis={"title": {"text": "ratio to the optimum (1 is optimal)"}, **_ratio_axis(top)},
        yaxis={
            "range": [len(rows) - 0.5, -0.5],
            "tickvals": list(rows.values()),
            "ticktext": [plain(shorten(method)) for method in rows],
            "fixedrange": True,
        },
    )
    return figure


class _Points:
    """Coordinates and hover texts of a scatter trace."""

    def __init__(self) -> None:
        self.x: list[float | None] = []
        self.y: list[float | None] = []
        self.text: list[str] = []
        self.color: list[str] = []

    def add(self, x: float | None, y: float | None, text: str, color: str) -> None:
        self.x.append(x)
        self.y.append(y)
        self.text.append(text)
        self.color.append(color)

    def trace(self, name: str) -> dict[str, object]:
        return {
            "type": "scatter", "name": name, "x": self.x, "y": self.y,
            "hovertext": self.text, "hoverinfo": "text",
        }  # fmt: skip


def _ratio_axis(top: float) -> dict[str, object]:
    """Return a logarithmic Plotly axis from 1 to `top`, with ratios as tick labels."""
    log = math.log10(max(top, 1.02))
    apart: list[float] = []
    for tick in TICKS:
        if tick <= 1.04 * max(top, 1.02):
            near = bool(apart) and math.log10(tick / apart[-1]) < 0.09 * log
            apart += [] if near else [tick]
    return {
        "type": "log",
        "range": [-0.03 * log, 1.04 * log],
        "tickvals": apart,
        "ticktext": [f"{tick:,}" for tick in apart],
        "tickangle": 0,
    }


def performance_profile(
    profiles: Mapping[str, Sequence[tuple[float, float]]],
    palette: Mapping[str, str] | None = None,
) -> Figure:
    """Return a figure of performance profiles as step lines.

    A profile shows the share of instances on which a method is within a factor of the best known
    schedule. It compares each method with the best one, not with the optimum.

    `profiles`: for each method, its steps (factor >= 1, share of instances in [0, 1]) by increasing
    factor. `palette`: the colour of each method; by default, from `colors`.
    """
    top = max((factor for steps in profiles.values() for factor, _ in steps), default=1.0)
    hover = "%{y:.3~g} % within %{x:.4~g} times the best"
    figure = _shares(profiles, 1.0, top * 1.02, hover, palette)
    figure.update_layout(xaxis={"title": {"text": "factor of the best method"}, **_ratio_axis(top)})
    return figure


def time_profile(
    profiles: Mapping[str, Sequence[tuple[float, float]]],
    palette: Mapping[str, str] | None = None,
) -> Figure:
    """Return a figure of time profiles as step lines, on a logarithmic time axis.

    `profiles`: for each method, its steps (seconds, share of instances in [0, 1]) by increasing
    time, as `Run.profile("seconds")` returns them.
    """
    moments = [seconds for steps in profiles.values() for seconds, _ in steps if seconds > 0]
    first, last = min(moments, default=0.1), max(moments, default=1.0)
    figure = _shares(profiles, first / 2, last * 1.2, "%{y:.3~g} % after %{x:.4~g} s", palette)
    ends = [math.log10(first / 2), math.log10(last * 1.2)]
    figure.update_layout(xaxis=_time_axis(*ends))
    return figure


def _shares(
    profiles: Mapping[str, Sequence[tuple[float, float]]],
    first: float,
    last: float,
    hover: str,
    palette: Mapping[str, str] | None = None,
) -> Figure:
    """Return a figure of step lines from 0 % before their first step to the right-hand edge."""
    figure = Figure()
    palette = palette or colors(profiles)
    for place, (name, steps) in enumerate(profiles.items()):
        ends = [(first, 0.0), *steps, (last, steps[-1][1])] if steps else []
        figure.add_trace(
            {
                "type": "scatter",
                "mode": "lines",
                "name": plain(name),
                "x": [x for x, _ in ends],
                "y": [100 * share for _, share in ends],
                "line": {
                    "shape": "hv",
                    "color": palette[name],
                    "width": 2,
                    "dash": ("solid", "dash", "dot")[place // 5 % 3],
                },
                "hovertemplate": hover,
            }
        )
    figure.update_layout(
        template=TEMPLATE,
        height=360,
        showlegend=True,
        yaxis={"title": {"text": "instances (%)"}, "range": [-3, 103]},
    )
    return figure


def _time_axis(first: float, last: float) -> dict[str, object]:
    """Return a logarithmic Plotly time axis between two powers of 10, with a tick at each power."""
    return {
        "title": {"text": "wall-clock time (s)"},
        "type": "log",
        "range": [first, last],
        "dtick": 1 if last - first > 1 else "D1",
    }


def gap_figure(
    gaps: Mapping[str, Sequence[tuple[float, float, float]]],
    palette: Mapping[str, str] | None = None,
) -> Figure:
    """Return a figure of mean gaps over time, on a logarithmic time axis.

    A gap that is known as an interval is drawn as a band between two lines.

    `gaps`: for each method, its points (seconds, lower and upper end of the mean gap in [0, 1]) by
    increasing time, as `Run.gaps()` returns them. `palette`: the colour of each method; by default,
    from `colors`.
    """
    figure = Figure()
    palette = palette or colors(gaps)
    moments = [seconds for points in gaps.values() for seconds, _, _ in points if seconds > 0]
    ends = [math.log10(extreme(moments, default=1.0)) for extreme in (min, max)]
    for name, points in gaps.items():
        if not points:
            continue
        seconds, low, high = zip(*points, strict=True)
        line = {"color": palette[name], "width": 2}
        common = {
            "type": "scatter", "mode": "lines", "x": [float(f"{second:.4g}") for second in seconds],
            "legendgroup": name,
        }  # fmt: skip
        hover = f"{plain(name)}: %{{y:.3~g}} % after %{{x:.4~g}} s<extra></extra>"
        shown = {"name": plain(name), "line": line, "hovertemplate": hover}
        figure.add_trace(common | shown | {"y": _percent(high)})
        if low != high:
            band = {"y": _percent(low), "fill": "tonexty", "showlegend": False}
            figure.add_trace(common | band | {"line": line | {"width": 1}, "hovertemplate": hover})
    figure.update_layout(
        template=TEMPLATE,
        height=360,
        showlegend=True,
        xaxis=_time_axis(*ends),
        yaxis={"title": {"text": "mean gap (%)"}, "range": [-3, 103]},
    )
    return figure


def _percent(shares: Iterable[float]) -> list[float]:
    return [round(100 * share, 4) for share in shares]
