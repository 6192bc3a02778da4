"""Plotly figures drawn with Matplotlib: lines, points, bars and heat maps, on one or more panes.

This module makes some decisions as Plotly makes them in the browser. They are the colours and modes
of traces, the order of categories, the places of bars, and the ranges of shared axes.
"""

import base64
import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from plotly.colors import DEFAULT_PLOTLY_COLORS, get_colorscale

from schedgap.errors import UsageError

if TYPE_CHECKING:
    from matplotlib import figure as matplotlib_figure

DASHES = {"dash": "--", "dot": ":", "dashdot": "-.", "longdash": "--"}
MARKS = {
    "circle": "o", "square": "s", "diamond": "D", "cross": "P", "x": "X", "star": "*",
    "triangle-up": "^", "triangle-down": "v", "triangle-left": "<", "triangle-right": ">",
}  # fmt: skip
INCH = 100  # pixels
FEW = 20  # points: Plotly marks them if no mode is given
MOST_NAMES = 24  # most characters of all category names below an axis
LEGEND = 110  # characters in a row of the legend, of which each line takes 8
SMALL = {"fontsize": 7}


def on_paper(figure: go.Figure) -> "matplotlib_figure.Figure":
    """Return a figure of lines, points, bars and heat maps as one of Matplotlib.

    `figure`: with scatter, bar and heatmap traces, on one or more pairs of axes.

    Raises
    ------
    UsageError
        If it has traces of other types.
    """
    others = sorted({trace.type for trace in figure.data} - {"scatter", "bar", "heatmap"})
    if others:
        raise UsageError(f"no picture: {others[0]} traces are drawn in a browser only: save .html")
    from matplotlib import figure as matplotlib_figure

    height = (figure.layout.height or 340) / INCH
    made = matplotlib_figure.Figure(figsize=(6.5, max(2.0, height)), layout="constrained")
    panes = _panes(made, figure)
    for pane in panes.values():
        pane.draw()
    _share(figure.layout, panes.values())
    _heat_scale(made, figure.layout, [*panes.values()])
    for shape in figure.layout.shapes:
        _draw_shape(panes, shape)
    for note in figure.layout.annotations:
        _draw_note(panes, note)
    if title := figure.layout.title.text:
        made.suptitle(_text(title), x=0.01, ha="left", fontsize=9)
    _legend(made, figure, panes.values())
    return made


def _panes(made: Any, figure: go.Figure) -> "dict[tuple[str, str], _Pane]":
    """Return a pane for each pair of axes, in a grid that follows from their domains."""
    layout, pairs = figure.layout, dict.fromkeys(map(_axes_of, figure.data)) or {("x", "y"): None}
    widths = {pair: _domain(layout, pair[0]) for pair in pairs}
    heights = {pair: _domain(layout, pair[1]) for pair in pairs}
    across, columns = _cells(widths.values())
    down, rows = _cells((1 - high, 1 - low) for low, high in heights.values())
    grid = made.add_gridspec(len(down), len(across), height_ratios=down, width_ratios=across)
    ways = _colorway(layout)
    panes: dict[tuple[str, str], _Pane] = {}
    for pair in pairs:
        low, high = heights[pair]
        row, column = rows[round(1 - high, 4)], columns[round(widths[pair][0], 4)]
        end = max(at for start, at in rows.items() if start < 1 - low - 1e-3)
        last = max(at for start, at in columns.items() if start < widths[pair][1] - 1e-3)
        base = panes.get((pair[0], str(_axis(layout, pair[1]).overlaying)))
        cell = grid[row : end + 1, column : last + 1]
        drawn = made.add_subplot(cell) if base is None else base.drawn.twinx()
        traces = [
            (trace, ways[place % len(ways)])
            for place, trace in enumerate(figure.data)
            if _axes_of(trace) == pair and trace.visible in (None, True)
        ]
        panes[pair] = _Pane(figure, pair, drawn, traces, base is not None)
    return panes


def _cells(domains: Iterable[Sequence[float]]) -> tuple[list[float], dict[float, int]]:
    """Return the sizes of the cells that begin where domains do, and the cell of each start."""
    sizes: dict[float, float] = {}
    for low, high in domains:  # one that spans several cells is not the least of those from there
        sizes[round(low, 4)] = max(1e-3, min(high - low, sizes.get(round(low, 4), 1.0)))
    starts = sorted(sizes)
    return [sizes[start] for start in starts], {start: place for place, start in enumerate(starts)}


def _categories(figure: go.Figure, name: str) -> list[str] | None:
    """Return the names on an axis, and those that match it, in order; None if it has numbers."""
    layout, which = figure.layout, name[0]
    group = _axis(layout, name).matches or name
    axes = [(trace, _axes_of(trace)[which == "y"]) for trace in figure.data]
    traces = [trace for trace, at in axes if group in (at, _axis(layout, at).matches)]
    kinds = {_axis(layout, axis).type for axis in (name, group)} - {None}
    values = [value for trace in traces for value in _values(trace, which)]
    texts = [value for value in values if isinstance(value, str)]
    if "category" not in kinds and (kinds or all(map(_is_number, texts))):
        return None
    return list(dict.fromkeys(str(value) for value in values if value is not None))


class _Pane:
    """Traces on one pair of axes, and the axes of Matplotlib on which they are drawn."""

    def __init__(
        self, figure: go.Figure, pair: tuple[str, str], drawn: Any, traces: list[Any], twin: bool
    ) -> None:
        self.layout, self.pair, self.drawn, self.traces = figure.layout, pair, drawn, traces
        self.axes = {which: _axis(self.layout, pair[which == "y"]) for which in "xy"}
        self.names = {which: _categories(figure, pair[which == "y"]) for which in "xy"}
        self.mesh: list[tuple[Any, Any]] = []
        self.twin = twin

    def places(self, values: Iterable[Any], which: str) -> list[Any]:
        """Return where values are on an axis: numbers, times as they are, or places of names."""
        names = self.names[which]
        if names is not None:
            return [
                names.index(str(value)) if str(value) in names else math.nan for value in values
            ]
        return [value if hasattr(value, "year") else _number(value) for value in values]

    def draw(self) -> None:
        """Draw all traces and the axes."""
        self.drawn.spines[["top", "right"]].set_visible(False)
        if self.twin:
            self.drawn.spines["right"].set_visible(True)
        previous: Any = None
        for trace, color in self.traces:
            if trace.type == "heatmap":
                self._heat(trace)
            elif trace.type == "scatter":
                previous = self._curve(trace, color, previous)
        self._bars([drawn for drawn in self.traces if drawn[0].type == "bar"])
        for which in "xy":
            self._set_axis(which)

    def _curve(self, trace: Any, color: str, previous: Any) -> Any:
        """Draw a curve and return its coordinates; a filled one is a band down to `previous`."""
        xs = self.places(_values(trace, "x"), "x")
        ys = self.places(_values(trace, "y"), "y")
        name, mode = _name(trace), trace.mode or ("lines+markers" if len(ys) < FEW else "lines")
        color = trace.line.color or (trace.marker.color if _is_color(trace.marker.color) else color)
        if "lines" in mode:
            style = "steps-post" if trace.line.shape == "hv" else "default"
            self.drawn.plot(
                xs, ys, DASHES.get(trace.line.dash or "", "-"), drawstyle=style, label=name,
                linewidth=0.6 * (trace.line.width or 2), color=_color(color), alpha=trace.opacity,
            )  # fmt: skip
            name = None
        if "markers" in mode:
            self._marks(trace, xs, ys, color, name)
        if "text" in mode and trace.text is not None:
            texts = [trace.text] * len(xs) if isinstance(trace.text, str) else trace.text
            for x, y, text in zip(xs, ys, texts, strict=False):
                self.drawn.annotate(_text(text), (x, y), fontsize=7, ha="center", va="bottom")
        self._errors(trace, xs, ys, color)
        if trace.fill in ("tonexty", "tozeroy"):
            below = previous[1] if trace.fill == "tonexty" and previous is not None else 0.0
            band = _color(trace.fillcolor) if trace.fillcolor else (*_color(color)[:3], 0.2)
            self.drawn.fill_between(xs, ys, below, color=band, linewidth=0)
        return xs, ys

    def _marks(self, trace: Any, xs: Any, ys: Any, color: Any, name: str | None) -> None:
        symbols = _each(trace.marker.symbol, len(xs), "circle")
        colors = [_color(value) for value in _each(_colors_of(trace.marker, color), len(xs))]
        size = trace.marker.size
        area = 12.0 if size is None or np.ndim(size) else max(4.0, 0.35 * size**2)
        for symbol in dict.fromkeys(symbols):
            chosen = [place for place, mark in enumerate(symbols) if mark == symbol]
            shades = [colors[place] for place in chosen]
            hollow = str(symbol).endswith("-open")
            self.drawn.scatter(
                [xs[place] for place in chosen], [ys[place] for place in chosen], s=area,
                marker=MARKS.get(str(symbol).removesuffix("-open"), "o"), alpha=trace.opacity,
                facecolors="none" if hollow else shades, edgecolors=shades if hollow else "none",
                linewidths=0.8 if hollow else 0, label=name, zorder=3,
            )  # fmt: skip
            name = None

    def _errors(self, trace: Any, xs: Any, ys: Any, color: Any) -> None:
        for which in "xy":
            error = trace[f"error_{which}"]
            if error.array is None or error.visible is False:
                continue
            up = [_number(value) for value in _array(error.array)]
            down = (
                up
                if error.arrayminus is None
                else [_number(value) for value in _array(error.arrayminus)]
            )
            shade = _color(error.color or color)
            sizes = {f"{which}err": np.nan_to_num([down, up])}
            self.drawn.errorbar(
                xs, ys, **sizes, fmt="none", ecolor=shade, elinewidth=0.8, capsize=1.5
            )

    def _bars(self, bars: list[tuple[Any, str]]) -> None:
        mode, ends = self.layout.barmode or "group", dict[tuple[Any, bool], float]()
        gap = 0.2 if self.layout.bargap is None else self.layout.bargap
        count = len(bars) if mode == "group" else 1
        for place, (trace, color) in enumerate(bars):
            across = trace.orientation == "h"
            along, value = ("y", "x") if across else ("x", "y")
            at = self.places(_values(trace, along), along)
            lengths = self.places(_values(trace, value), value)
            slot = (1 - gap) * _spacing(at)
            width: Any = slot / count if trace.width is None else trace.width
            shift = (place - (count - 1) / 2) * slot / count if mode == "group" else 0.0
            middles = np.asarray(at, dtype=float) + shift
            if trace.offset is not None:
                middles = np.asarray(at) + np.asarray(trace.offset) + np.asarray(width) / 2
            starts = [_number(value) for value in _each(trace.base, len(at), 0.0)]
            if mode in ("stack", "relative") and trace.base is None:
                for n, (where, length) in enumerate(zip(at, lengths, strict=True)):
                    key = (where, length < 0)
                    starts[n] = ends.get(key, 0.0)
                    ends[key] = starts[n] + (0.0 if math.isnan(length) else length)
            shades = [_color(value) for value in _each(_colors_of(trace.marker, color), len(at))]
            draw = self.drawn.barh if across else self.drawn.bar
            draw(
                middles,
                lengths,
                width,
                starts,
                color=shades,
                alpha=trace.opacity,
                label=_name(trace),
            )
            tips = [start + length for start, length in zip(starts, lengths, strict=True)]
            xs, ys = (tips, middles) if across else (middles, tips)
            self._errors(trace, xs, ys, "#444444")

    def _heat(self, trace: Any) -> None:
        z = np.array([[_number(value) for value in row] for row in _array(trace.z)], dtype=float)
        xs, ys = (
            self.places(_values(trace, which) or range(size), which)
            for which, size in (("x", z.shape[1]), ("y", z.shape[0]))
        )
        gap = max(trace.xgap or 0, trace.ygap or 0)
        shared = _axis(self.layout, trace.coloraxis) if trace.coloraxis else trace
        limits = (shared.cmin, shared.cmax) if trace.coloraxis else (trace.zmin, trace.zmax)
        mesh = self.drawn.pcolormesh(
            _edges(xs), _edges(ys), np.ma.masked_invalid(z), cmap=_shades(shared, self.layout),
            vmin=limits[0], vmax=limits[1], edgecolors="white" if gap else "none",
            linewidth=0.6 * gap,
        )  # fmt: skip
        self.mesh.append((trace, mesh))
        for y, row, texts in zip(ys, z, _cell_texts(trace, z), strict=True):
            for x, value, text in zip(xs, row, texts, strict=True):
                if text and math.isfinite(value):
                    red, green, blue, _ = mesh.to_rgba(value)
                    dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
                    self.drawn.text(
                        x, y, text, ha="center", va="center", fontsize=7,
                        color="white" if dark else "#444444",
                    )  # fmt: skip

    def _set_axis(self, which: str) -> None:
        axis, pane, names = self.axes[which], self.drawn, self.names[which]
        log = axis.type == "log"
        if log:
            getattr(pane, f"set_{which}scale")("log")
        if names is not None and axis.tickvals is None:
            step = -(-len(names) // MOST_NAMES)
            shown = [_text(name) for name in names[::step]]
            getattr(pane, f"set_{which}ticks")(range(0, len(names), step), shown, **SMALL)
        elif axis.tickvals is not None:
            texts = axis.tickvals if axis.ticktext is None else axis.ticktext
            at, ends = self.places(axis.tickvals, which), getattr(pane, f"get_{which}lim")()
            getattr(pane, f"set_{which}ticks")(at, [_text(text) for text in texts], **SMALL)
            getattr(pane, f"set_{which}lim")(ends)  # ticks outside are not shown
            getattr(pane, f"{which}axis").minorticks_off()
        elif not log and all(isinstance(value, int) for value in self._all(which)):
            getattr(pane, f"{which}axis").get_major_locator().set_params(integer=True)
        self._set_limits(which, axis, log)
        pane.tick_params(axis=which, which="both", labelsize=7)
        if axis.showticklabels is False:
            pane.tick_params(axis=which, labelleft=False, labelbottom=False)
        getattr(pane, f"set_{which}label")(_text(axis.title.text or ""), fontsize=8)

    def _all(self, which: str) -> list[Any]:
        return [value for trace, _ in self.traces for value in _values(trace, which)]

    def _set_limits(self, which: str, axis: Any, log: bool) -> None:
        pane, set_limits = self.drawn, getattr(self.drawn, f"set_{which}lim")
        if axis.range is not None and all(map(_is_number, axis.range)):
            set_limits(*(10.0 ** float(end) if log else float(end) for end in axis.range))
        elif axis.rangemode in ("tozero", "nonnegative") and not log:
            low, high = getattr(pane, f"get_{which}lim")()
            set_limits(min(0.0, low) if axis.rangemode == "tozero" else max(0.0, low), high)
        if str(axis.autorange).endswith("reversed"):
            getattr(pane, f"{which}axis").set_inverted(True)


def _share(layout: Any, panes: Iterable[_Pane]) -> None:
    """Give the axes that match each other the same limits."""
    for which in "xy":
        groups: dict[str, list[_Pane]] = {}
        for pane in panes:
            name = pane.pair[which == "y"]
            groups.setdefault(_axis(layout, name).matches or name, []).append(pane)
        for group in groups.values():
            ends = [getattr(pane.drawn, f"get_{which}lim")() for pane in group]
            low, high = min(map(min, ends)), max(map(max, ends))
            for pane, (first, last) in zip(group, ends, strict=True):
                limits = (low, high) if first <= last else (high, low)
                getattr(pane.drawn, f"set_{which}lim")(*limits)


def _heat_scale(made: Any, layout: Any, panes: Sequence[_Pane]) -> None:
    """Give heat maps with one colour axis one scale, and draw the scales."""
    groups: dict[Any, list[tuple[Any, Any, Any]]] = {}
    for pane in panes:
        for trace, mesh in pane.mesh:
            groups.setdefault(trace.coloraxis or id(trace), []).append((pane, trace, mesh))
    for key, group in groups.items():
        shared = _axis(layout, key) if isinstance(key, str) else group[0][1]
        low, high = zip(*(mesh.get_clim() for *_, mesh in group), strict=True)
        for *_, mesh in group:
            mesh.set_clim(min(low), max(high))
        if shared.showscale is not False:
            axes = [pane.drawn for pane, *_ in group]
            bar = made.colorbar(group[0][2], ax=axes, shrink=0.9, pad=0.02, aspect=30)
            bar.set_label(_text(shared.colorbar.title.text or ""), fontsize=8)
            bar.ax.tick_params(labelsize=7)
            bar.outline.set_visible(False)


def _legend(made: Any, figure: go.Figure, panes: Iterable[_Pane]) -> None:
    known: dict[str, Any] = {}
    for pane in panes:
        for handle, name in zip(*pane.drawn.get_legend_handles_labels(), strict=True):
            known.setdefault(name, handle)
    wanted = figure.layout.showlegend
    if wanted is None:
        named = [trace for trace in figure.data if trace.showlegend is not False]
        wanted = len(named) > 1 or any(trace.showlegend for trace in figure.data)
    if known and wanted:
        made.legend(
            [*known.values()], [*known], loc="outside lower left", fontsize=7, frameon=False,
            ncols=max(1, min(4, LEGEND // (8 + max(map(len, known))))),
        )  # fmt: skip


# --- lines, boxes and notes of a layout ------------------------------------------------------


def _draw_shape(panes: Mapping[tuple[str, str], _Pane], shape: Any) -> None:
    """Draw a line or a box; one that refers to the whole figure is left out."""
    pane = _pane_of(panes, shape)
    if pane is None or shape.type not in ("line", "rect"):
        return
    from matplotlib.patches import Rectangle

    (x0, x1), (y0, y1) = (
        pane.places((shape.x0, shape.x1), "x"),
        pane.places((shape.y0, shape.y1), "y"),
    )
    if _is_apart(shape.xref):
        x0, x1 = float(shape.x0), float(shape.x1)
    if _is_apart(shape.yref):
        y0, y1 = float(shape.y0), float(shape.y1)
    limits, place = (pane.drawn.get_xlim(), pane.drawn.get_ylim()), _transform(pane, shape)
    color = _color(shape.line.color or "#444444")
    below = 0.5 if shape.layer == "below" else 2.5
    if shape.type == "line":
        (line,) = pane.drawn.plot(
            (x0, x1), (y0, y1), DASHES.get(shape.line.dash or "", "-"), color=color,
            linewidth=0.6 * (shape.line.width or 2), zorder=below, transform=place,
        )  # fmt: skip
        line.set_label(None)
    else:
        face = _color(shape.fillcolor) if shape.fillcolor else "none"
        box = Rectangle((x0, y0), x1 - x0, y1 - y0, transform=place, zorder=below)
        box.set(facecolor=face, linewidth=0.6 * (shape.line.width or 0), alpha=shape.opacity)
        pane.drawn.add_patch(box)
    _keep(pane, limits, shape, (x0, x1), (y0, y1))


def _keep(pane: _Pane, limits: Any, shape: Any, xs: Any, ys: Any) -> None:
    """Keep the limits of the axes, but for a line in the units of an axis that lies outside."""
    for which, (first, last), ref, ends in zip(
        "xy", limits, (shape.xref, shape.yref), (xs, ys), strict=True
    ):
        low, high = min(first, last), max(first, last)
        if not _is_apart(ref) and pane.axes[which].range is None:
            margin = 0.03 * (high - low)
            low, high = min(low, min(ends) - margin), max(high, max(ends) + margin)
        getattr(pane.drawn, f"set_{which}lim")(*((low, high) if first <= last else (high, low)))


def _draw_note(panes: Mapping[tuple[str, str], _Pane], note: Any) -> None:
    """Draw a note: as the title of the pane above which it stands, or where it points."""
    if not note.text or note.visible is False:
        return
    if note.xref == note.yref == "paper":
        for pane in panes.values():
            (left, right), (_, top) = (_domain(pane.layout, name) for name in pane.pair)
            if left - 1e-6 <= note.x <= right + 1e-6 and abs(note.y - top) < 0.02:
                pane.drawn.set_title(_text(note.text), fontsize=8)
                return
    pane_of = _pane_of(panes, note) or next(iter(panes.values()))
    ends = ((note.x, note.xref, "x"), (note.y, note.yref, "y"))
    x, y = (
        float(value) if _is_apart(ref) else pane_of.places([value], which)[0]
        for value, ref, which in ends
    )
    sides = {"left": "left", "right": "right", "top": "top", "bottom": "bottom"}
    pane_of.drawn.text(
        x, y, _text(note.text), fontsize=7, transform=_transform(pane_of, note),
        ha=sides.get(note.xanchor or "", "center"), va=sides.get(note.yanchor or "", "center"),
    )  # fmt: skip


def _pane_of(panes: Mapping[tuple[str, str], _Pane], placed: Any) -> _Pane | None:
    """Return the pane to whose axes a shape or a note refers, or None."""
    x, y = (str(ref or which).removesuffix(" domain")
            for ref, which in ((placed.xref, "x"), (placed.yref, "y")))  # fmt: skip
    fits = [pane for pair, pane in panes.items() if x in (pair[0], "paper") and y in pair[1:]]
    fits += [pane for pair, pane in panes.items() if x == pair[0] and y == "paper"]
    return fits[0] if fits else None


def _transform(pane: _Pane, placed: Any) -> Any:
    from matplotlib.transforms import blended_transform_factory

    drawn = pane.drawn
    return blended_transform_factory(
        *(drawn.transAxes if _is_apart(ref) else drawn.transData
          for ref in (placed.xref, placed.yref))
    )  # fmt: skip


def _is_apart(ref: Any) -> bool:
    """Return whether a coordinate is a share of the pane, not a value on its axis."""
    return str(ref).endswith(("domain", "paper"))


# --- values and colours ----------------------------------------------------------------------


def _axis(layout: Any, name: str) -> Any:
    """Return an axis of a layout by its short name, such as x2."""
    kind = name[0] if name[0] in "xy" else ""
    return layout[f"{kind}axis{name[1:]}"] if kind and name != "coloraxis" else layout[name]


def _axes_of(trace: Any) -> tuple[str, str]:
    return trace.xaxis or "x", trace.yaxis or "y"


def _domain(layout: Any, name: str) -> tuple[float, float]:
    axis = _axis(layout, name)
    if axis.overlaying:
        axis = _axis(layout, axis.overlaying)
    low, high = axis.domain or (0.0, 1.0)
    return low, high


def _values(trace: Any, which: str) -> list[Any]:
    """Return the coordinates of a trace; their numbers where it has none."""
    values = _array(trace[which])
    if values is not None:
        return [value.item() if isinstance(value, np.generic) else value for value in values]
    other = trace["y" if which == "x" else "x"]
    return [] if trace.type == "heatmap" or other is None else [*range(len(other))]


def _array(values: Any) -> Any:
    """Return the numbers of an array that Plotly has encoded in JSON; others as they are."""
    if not isinstance(values, Mapping):
        return values
    found = np.frombuffer(base64.b64decode(values["bdata"]), np.dtype(values["dtype"]))
    shape = [int(size) for size in str(values.get("shape", -1)).split(",")]
    return found.reshape(shape)


def _each(value: Any, count: int, default: Any = None) -> list[Any]:
    """Return a value for each of several points."""
    value = default if value is None else _array(value)
    if isinstance(value, str) or np.ndim(value) == 0:
        return [value] * count
    return list(value)[:count]


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _spacing(places: Sequence[Any]) -> float:
    """Return the least distance between neighbours; 1 if there are none."""
    apart = np.diff(np.unique(np.asarray(places, dtype=float)))
    return float(apart.min()) if len(apart) else 1.0


def _edges(middles: Sequence[Any]) -> Any:
    """Return the edges between cells; numbers of which there is one more are edges already."""
    at = np.asarray(middles, dtype=float)
    between = (at[1:] + at[:-1]) / 2
    first, last = (at[1] - at[0], at[-1] - at[-2]) if len(at) > 1 else (1.0, 1.0)
    return np.concatenate([[at[0] - first / 2], between, [at[-1] + last / 2]])


def _cell_texts(trace: Any, z: Any) -> list[list[str]]:
    template = trace.texttemplate or ""
    if "%{text}" in template and trace.text is not None:
        return [[_text(template.replace("%{text}", str(value))) for value in row]
                for row in _array(trace.text)]  # fmt: skip
    if "%{z" in template:
        return [[f"{value:.3g}" for value in row] for row in z]
    return [[""] * z.shape[1]] * z.shape[0]


def _name(trace: Any) -> str | None:
    shown = trace.showlegend is not False and trace.name
    return _text(trace.name) if shown else None


def _colorway(layout: Any) -> Sequence[str]:
    chosen: Sequence[str] | None = layout.colorway or layout.template.layout.colorway
    return chosen or DEFAULT_PLOTLY_COLORS


def _is_color(value: Any) -> bool:
    return isinstance(value, str)


def _colors_of(marker: Any, color: Any) -> Any:
    """Return the colours of marks or bars; numbers on a scale are drawn in one colour."""
    given = marker.color
    if given is None or (not isinstance(given, str) and any(map(_is_number, given))):
        return color
    return given


def _color(value: Any) -> tuple[float, float, float, float]:
    """Return a colour of Plotly for Matplotlib; the text colour for one that it does not know."""
    from matplotlib.colors import to_rgba

    found = re.fullmatch(r"\s*rgba?\(([^()]*)\)\s*", str(value))
    try:
        if found is None:
            return to_rgba(value)
        red, green, blue, *rest = map(float, found[1].split(","))
        return red / 255, green / 255, blue / 255, rest[0] if rest else 1.0
    except ValueError:
        return to_rgba("#444444")


def _shades(shared: Any, layout: Any) -> Any:
    """Return the colour map of a heat map."""
    from matplotlib.colors import LinearSegmentedColormap

    scale = shared.colorscale or layout.template.layout.colorscale.sequential or "Viridis"
    steps = get_colorscale(scale) if isinstance(scale, str) else scale
    pairs = [(float(at), _color(color)) for at, color in steps]
    made = LinearSegmentedColormap.from_list("heat", pairs)
    return made.reversed() if shared.reversescale else made


def _text(text: object) -> str:
    """Return text for Matplotlib: no HTML, and dollar signs are no mathematics."""
    plain = re.sub(r"<br\s*/?>", "\n", str(text))
    plain = re.sub(r"</?[a-z]+[^<>]*>", "", plain)
    return html.unescape(plain).replace("$", r"\$").lstrip("_")
