"""Gantt charts of one schedule, or of two on one time axis.

Charts are drawn with Plotly for notebooks and the report, and with Matplotlib for papers. Colours
are Paul Tol's "bright" scheme, which colour-blind readers can distinguish, on white and on black;
backgrounds are transparent.
"""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from schedgap.analysis.names import natural
from schedgap.analysis.plots.figure import Figure
from schedgap.instances.families import FAMILIES
from schedgap.models.family import Bar, Chart, Link, family

if TYPE_CHECKING:
    from matplotlib import figure as matplotlib_figure

PALETTE = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377")
LEGEND_LIMIT = 12  # groups; with more, colours are ambiguous and only hover texts name them
MARK = "#CC0000"  # frames what breaks a rule
GAP = 62  # pixels between two charts, for ticks and a title
OUTLINE_LIMIT = 2_000  # bars; with more, white outlines would hide thin bars
THIN = 0.12  # least share of a lane's height that is drawn
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

TEMPLATE = go.layout.Template(
    layout={
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "colorway": PALETTE,
        "font": {"family": FONT, "size": 13, "color": "#777777"},
        "title": {"x": 0, "xanchor": "left", "font": {"size": 14}},
        "xaxis": {
            "gridcolor": "rgba(128,128,128,0.2)",
            "zeroline": False,
            "ticks": "outside",
            "tickcolor": "rgba(128,128,128,0.5)",
            "automargin": True,
            "exponentformat": "none",
            "title": {"font": {"size": 13}, "standoff": 8},
        },
        "yaxis": {
            "exponentformat": "none",
            "separatethousands": True,
            "gridcolor": "rgba(128,128,128,0.2)",
            "zeroline": False,
            "automargin": True,
            "title": {"font": {"size": 13}, "standoff": 8},
        },
        "legend": {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        "hoverlabel": {"align": "left", "font": {"family": FONT}},
        "margin": {"l": 8, "r": 12, "t": 28, "b": 52},
        "hovermode": "closest",
    }
)


def plain(text: str) -> str:
    """Escape text for Plotly, which interprets HTML tags in labels.

    `text`: any text.
    """
    return html.escape(text, quote=False)


def colors(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name: six hues, then their tints and shades.

    The same set of names always gets the same colours.

    `names`: names of groups or methods.
    """
    return in_order(sorted(set(names), key=natural))


def in_order(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name, in their order; the first one always has the first colour.

    `names`: names, each once.
    """
    return {
        name: _tint(PALETTE[place % len(PALETTE)], (0.0, 0.4, -0.35)[place // len(PALETTE) % 3])
        for place, name in enumerate(names)
    }


def method_colors(name: str, methods: Iterable[str]) -> dict[str, str]:
    """Return a colour for each method of a family, by its place in the family's table.

    The first algorithm of the paper always has the first colour of `PALETTE`. Algorithms come
    first, then baselines, exact methods and bounds, so the methods of one chart have different
    hues. Configurations of a method, such as `srtf:preempt=false`, have further colours, after
    all methods.

    `methods`: names of methods or configurations.
    """
    known = _registry_colors(name)
    others = (method for method in methods if method not in known)
    ordered = sorted(set(others), key=natural)
    extra = {method: _shade(len(known) + place) for place, method in enumerate(ordered)}
    return {**known, **extra}


def _registry_colors(name: str) -> dict[str, str]:
    if name not in FAMILIES:
        return {}
    kinds = ("algorithm", "baseline", "exact", "bound")
    ranked = sorted(
        family(name).methods, key=lambda method: (kinds.index(method.kind), method.ours)
    )
    return {method.name: _shade(place) for place, method in enumerate(ranked)}


def _shade(place: int) -> str:
    """Return a colour by its place; only place 0 has the first hue of the palette unmixed."""
    if place == 0:
        return PALETTE[0]
    hues = len(PALETTE) - 1
    hue, turn = (place - 1) % hues + 1, (place - 1) // hues
    return _tint(PALETTE[hue], (0.0, 0.4, -0.3, 0.6, -0.45)[turn % 5])


def _tint(color: str, amount: float) -> str:
    """Return a colour mixed with white (amount > 0) or black (amount < 0)."""
    target = 255 if amount > 0 else 0
    channels = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(c + (target - c) * abs(amount)):02X}" for c in channels)


def gantt(
    chart: Chart, compare_with: Chart | None = None, titles: Sequence[str] = ("", "")
) -> Figure:
    """Return the Gantt chart of a schedule, or of two on one time axis, one below the other.

    `chart`, `compare_with`: charts of two schedules of one instance; a group has the same colour in
    both.
    """
    charts = [chart] if compare_with is None else [chart, compare_with]
    palette = colors(bar.group for chart in charts for bar in chart.bars)
    heights = [lanes_height(chart) for chart in charts]
    figure = Figure()
    top = 1.0
    gap = GAP / (sum(heights) + GAP * (len(charts) - 1))
    share = (1.0 - gap * (len(charts) - 1)) / sum(heights)
    for place, (own, height) in enumerate(zip(charts, heights, strict=True), start=1):
        axis = "" if place == 1 else str(place)
        for trace in gantt_traces(own, palette):
            figure.add_trace(
                {**trace, "xaxis": f"x{axis}", "yaxis": f"y{axis}"}
                | ({"showlegend": False} if place > 1 else {})
            )
        for trace in _mark_traces(own):
            figure.add_trace({**trace, "xaxis": f"x{axis}", "yaxis": f"y{axis}"})
        bottom = max(0.0, top - share * height)
        figure.layout[f"yaxis{axis}"] = {**lanes_axis(own), "domain": [bottom, top]}
        figure.layout[f"xaxis{axis}"] = {
            "anchor": f"y{axis}",
            "title": {"text": plain(f"time ({own.unit})") if place == len(charts) else None},
            "range": list(time_range(charts)),
            **({"matches": "x"} if place > 1 else {}),
        }
        figure.add_annotation(
            text=plain(titles[place - 1]), showarrow=False, font={"size": 14},
            x=0, xref="paper", xanchor="left", y=top, yref="paper", yanchor="bottom", yshift=4,
        )  # fmt: skip
        top = bottom - gap
    figure.update_layout(
        template=TEMPLATE,
        barmode="overlay",
        height=sum(heights) + GAP * (len(charts) - 1) + frame_height(len(palette)),
        showlegend=1 < len(palette) <= LEGEND_LIMIT or any(chart.marks for chart in charts),
    )
    return figure.drawn_by(lambda: gantt_matplotlib(chart, compare_with, titles))


def gantt_traces(chart: Chart, palette: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the bars and links of a chart as Plotly traces.

    There is one trace for the normal bars, one for the soft bars and one for the links of each
    group. The coordinate of a bar is the index of its lane; `base` is its start and `x` its length.

    `palette`: colour of each group.
    """
    lanes = {lane: place for place, lane in enumerate(chart.lanes)}
    soft_below = any(bar.soft for bar in chart.bars)
    line = 0.5 if len(chart.bars) <= OUTLINE_LIMIT else 0
    unit = plain(chart.unit)
    traces = []
    for (group, soft), bars in _by_group(chart.bars).items():
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": plain(group),
                "legendgroup": group,
                "showlegend": not soft,
                "base": [bar.start for bar in bars],
                "x": [round(bar.end - bar.start, 9) for bar in bars],
                "y": [lanes[bar.lane] for bar in bars],
                "hovertext": [
                    f"{plain(bar.text)}<br>{bar.start:.6g} to {bar.end:.6g} {unit}" for bar in bars
                ],
                "hoverinfo": "text",
                "textposition": "none",
                **_heights(bars, *_band(soft, soft_below)),
                "marker": {
                    "color": palette[group],
                    "opacity": 0.45 if soft else 1,
                    "line": {"width": 0 if soft else line, "color": "rgba(255,255,255,0.8)"},
                },
            }
        )
    links: dict[str, list[Link]] = {}
    for link in chart.links:
        links.setdefault(link.group, []).append(link)
    for group, group_links in links.items():
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": plain(group),
                "legendgroup": group,
                "showlegend": False,
                "hoverinfo": "skip",
                "x": [time for link in group_links for time in (link.start, link.end, None)],
                "y": [
                    y for link in group_links for y in (lanes[link.lane], lanes[link.to_lane], None)
                ],
                "line": {"color": palette[group], "width": 2, "dash": "dot"},
            }
        )
    return traces


def _mark_traces(chart: Chart) -> Iterator[dict[str, object]]:
    """Yield a Plotly trace of hatched frames for each rule that is broken."""
    lanes = {lane: place for place, lane in enumerate(chart.lanes)}
    soft_below = any(bar.soft for bar in chart.bars)
    for (rule, _), marks in _by_group(chart.marks).items():
        yield {
            "type": "bar",
            "orientation": "h",
            "name": plain(f"breaks {rule}"),
            "showlegend": True,
            "base": [mark.start for mark in marks],
            "x": [round(mark.end - mark.start, 9) for mark in marks],
            "y": [lanes[mark.lane] for mark in marks],
            "hovertext": [plain(mark.text) for mark in marks],
            "hoverinfo": "text",
            "textposition": "none",
            **_heights(marks, *_band(False, soft_below)),
            "marker": {
                "color": "rgba(0,0,0,0)",
                "pattern": {"shape": "/", "fgcolor": MARK, "bgcolor": "rgba(0,0,0,0)", "size": 6},
                "line": {"width": 2, "color": MARK},
            },
        }


def _band(soft: bool, soft_below: bool) -> tuple[float, float]:
    """Return upper edge and height of the bars of a lane, relative to its middle."""
    return (0.24, 0.18) if soft else (-0.42, 0.64 if soft_below else 0.84)


def _heights(bars: Sequence[Bar], top: float, height: float) -> dict[str, Any]:
    """Return heights and upper edges of bars for Plotly: numbers where all bars fill their lane."""
    edges = [_edges(bar, top, height) for bar in bars]
    if all(edge == (top, top + height) for edge in edges):
        return {"width": height, "offset": top}
    return {
        "width": [round(low - high, 4) for high, low in edges],
        "offset": [round(high, 4) for high, _ in edges],
    }


def _edges(bar: Bar, top: float, height: float) -> tuple[float, float]:
    """Return upper and lower edge of a bar; a small share is drawn high enough to be seen."""
    share = max(bar.share, THIN)
    high = top + height * min(bar.offset, 1 - share)
    return high, (top + height if bar.share == 1 else high + height * share)


def _by_group(bars: Iterable[Bar]) -> dict[tuple[str, bool], list[Bar]]:
    """Return the bars by (group, soft) in natural order, soft bars last."""
    groups: dict[tuple[str, bool], list[Bar]] = {}
    for bar in bars:
        groups.setdefault((bar.group, bar.soft), []).append(bar)
    return dict(sorted(groups.items(), key=lambda item: (item[0][1], natural(item[0][0]))))


def frame_height(groups: int) -> int:
    """Return the height in pixels of title, time axis and legend.

    `groups`: number of groups in the legend.
    """
    legend = 22 * -(-groups // 8) if 1 < groups <= LEGEND_LIMIT else 0
    return 92 + legend


def lanes_height(chart: Chart) -> int:
    """Return the height of the lanes in pixels: 24 for each of up to 16 lanes, later at least 5."""
    lanes = max(1, len(chart.lanes))
    return max(72, lanes * 24 if lanes <= 16 else round(lanes * max(5.0, 400 / lanes)))


def lanes_axis(chart: Chart) -> dict[str, Any]:
    """Return the Plotly axis of the lanes, first lane on top; only names that fit are shown."""
    lanes = chart.lanes
    height = lanes_height(chart) / max(1, len(lanes))
    step = max(1, -(-14 // max(1, int(height))))
    shown = range(0, len(lanes), step)
    return {
        "range": [len(lanes) - 0.5, -0.5],
        "tickvals": list(shown),
        "ticktext": [plain(shorten(lanes[place])) for place in shown],
        "showgrid": False,
        "fixedrange": True,
    }


def shorten(text: str, limit: int = 24) -> str:
    """Return text cut off to a number of characters, with an ellipsis.

    `text`: any text. `limit`: maximum length, >= 1.
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def time_range(charts: Iterable[Chart]) -> tuple[float, float]:
    """Return the time range that shows all bars; it starts at 0 or, if earlier, the first bar.

    `charts`: charts on one time axis.
    """
    bars = [bar for chart in charts for bar in chart.bars]
    first = min((bar.start for bar in bars), default=0.0)
    return min(0.0, first), max((bar.end for bar in bars), default=1.0)


def gantt_matplotlib(
    chart: Chart,
    compare_with: Chart | None = None,
    titles: Sequence[str] = ("", ""),
    *,
    width: float = 6.5,
) -> "matplotlib_figure.Figure":
    """Return the same chart as a Matplotlib figure, to be saved with `.savefig("schedules.pdf")`.

    `chart`, `compare_with`: charts of two schedules of one instance; a group has the same colour in
    both. `width`: width in inches.
    """
    from matplotlib import figure as matplotlib_figure
    from matplotlib.collections import PolyCollection

    charts = [chart] if compare_with is None else [chart, compare_with]
    palette = colors(bar.group for chart in charts for bar in chart.bars)
    heights = [0.011 * lanes_height(chart) for chart in charts]
    figure = matplotlib_figure.Figure(
        figsize=(width, sum(heights) + 0.45 * len(charts)), layout="constrained"
    )
    panes = figure.subplots(len(charts), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for pane, own, title in zip(panes, charts, titles, strict=False):
        lanes = {lane: place for place, lane in enumerate(own.lanes)}
        soft_below = any(bar.soft for bar in own.bars)
        for (group, soft), bars in _by_group(own.bars).items():
            corners = _corners(bars, lanes, _band(soft, soft_below))
            outlined = not soft and len(own.bars) <= OUTLINE_LIMIT
            pane.add_collection(
                PolyCollection(
                    corners,
                    facecolors=palette[group],
                    alpha=0.45 if soft else 1,
                    edgecolors="white" if outlined else "none",
                    linewidths=0.3 if outlined else 0,
                    label=None if soft else literal(group),
                )
            )
        for (rule, _), marks in _by_group(own.marks).items():
            pane.add_collection(
                PolyCollection(
                    _corners(marks, lanes, _band(False, soft_below)),
                    facecolors="none",
                    edgecolors=MARK,
                    hatch="////",
                    label=literal(f"breaks {rule}"),
                )
            )
        for link in own.links:
            pane.plot(
                (link.start, link.end), (lanes[link.lane], lanes[link.to_lane]),
                color=palette[link.group], linewidth=1, linestyle=":",
            )  # fmt: skip
        pane.set_ylim(len(own.lanes) - 0.5, -0.5)
        axis = lanes_axis(own)
        names = [literal(shorten(own.lanes[place])) for place in axis["tickvals"]]
        pane.set_yticks(axis["tickvals"], names, fontsize=7)
        pane.set_title(literal(title), loc="left", fontsize=9)
        pane.tick_params(length=2, labelsize=7)
        for side in ("top", "right"):
            pane.spines[side].set_visible(False)
    panes[-1].set_xlim(*time_range(charts))
    panes[-1].set_xlabel(literal(f"time ({chart.unit})"), fontsize=8)
    if 1 < len(palette) <= LEGEND_LIMIT or any(chart.marks for chart in charts):
        labelled: dict[str, Any] = {}
        for pane in panes:
            for handle, label in zip(*pane.get_legend_handles_labels(), strict=True):
                labelled.setdefault(label, handle)
        figure.legend(
            labelled.values(), labelled.keys(), loc="outside lower left", ncols=6, fontsize=7,
            frameon=False, handlelength=1, handleheight=0.8,
        )  # fmt: skip
    return figure


def _corners(bars: Iterable[Bar], lanes: Mapping[str, int], band: tuple[float, float]) -> list[Any]:
    """Return the corners of bars; `lanes`: place of each lane; `band`: as of `_band`."""
    return [
        ((b.start, y + low), (b.end, y + low), (b.end, y + high), (b.start, y + high))
        for b in bars
        for y in (lanes[b.lane],)
        for low, high in (_edges(b, *band),)
    ]


def literal(text: str) -> str:
    """Escape text for Matplotlib, in which dollar signs start mathematics.

    `text`: plain text.
    """
    return text.replace("$", r"\$").lstrip("_")
