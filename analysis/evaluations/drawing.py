"""Charts of the papers' figures, with Plotly and with Matplotlib."""

import math
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from schedgap.analysis.evaluations.experiments import BEST, BOUND
from schedgap.analysis.evaluations.judging import EACH_PART, Row, judge_claims
from schedgap.analysis.plots.charts import PALETTE, TEMPLATE, literal, method_colors, plain
from schedgap.analysis.plots.figure import Figure
from schedgap.analysis.solving.choices import Choice
from schedgap.models.figure import Experiment

if TYPE_CHECKING:
    from matplotlib import figure as matplotlib_figure

DASHES = {BEST: "dash", BOUND: "dot"}
ERROR = "#888888"  # colour of error bars, visible on white and on black
MOST_POINTS = 100  # points that are drawn to learn the methods of the series
RATIO, UPPER = "ratio to the optimum", " (at most)"


@dataclass(frozen=True, slots=True)
class Curve:
    """A series of a figure: means over the draws with the least and the greatest value."""

    series: str
    xs: list[float | str]
    means: list[float]
    least: list[float]
    most: list[float]

    @property
    def printed(self) -> bool:
        """Whether it is a series of the figure, not the best known schedule or the bound."""
        return self.series not in (BEST, BOUND)

    @property
    def spreads(self) -> bool:
        """Whether a value differs between draws."""
        return self.printed and self.least != self.most


def curves(measure: str, numbers: Sequence[Row]) -> list[Curve]:
    """Return the series of one measure of a figure, the best known schedule and the bound last.

    A series has a point only where all draws are known.

    `measure`: one of the measures in `numbers`. `numbers`: as returned by `experiments.rows`.
    """
    values: dict[str, dict[float | str, list[float]]] = {}
    for row in numbers:
        if row.measure == measure and row.value is not None:
            values.setdefault(row.series, {}).setdefault(row.x, []).append(row.value)
    draws: dict[float | str, int] = {}
    for points in values.values():
        for x, replications in points.items():
            draws[x] = max(draws.get(x, 0), len(replications))
    found = []
    last = {BEST: 1, BOUND: 2}
    for series in sorted(values, key=lambda name: last.get(name, 0)):
        known = {x: numbers for x, numbers in values[series].items() if len(numbers) == draws[x]}
        means = [math.fsum(values) / len(values) for values in known.values()]
        least, most = (
            [min(values) for values in known.values()],
            [max(values) for values in known.values()],
        )
        found.append(Curve(series, list(known), means, least, most))
    return found


def chart(experiment: Experiment, measure: str, numbers: Sequence[Row]) -> Figure:
    """Return a chart of one measure of a figure: curves, or bars if the x axis has names.

    Values are averaged over the draws; bars of error show the least and the greatest.

    `measure`: one of the measures in `numbers`. `numbers`: as returned by `experiments.rows`.
    """
    label, found, palette = _drawn(experiment, measure, numbers)
    figure = Figure()
    for curve in found:
        bars = curve.printed and any(isinstance(x, str) for x in curve.xs)
        color = palette[curve.series]
        shape: dict[str, Any] = (
            {
                "type": "bar",
                "marker": {"color": [palette[str(x)] for x in curve.xs]},
                "width": 0.6,
                "opacity": 0.75,
                "showlegend": False,
            }
            if bars
            else {
                "type": "scatter",
                "mode": "lines+markers" if curve.printed else "lines",
                "line": {"color": color, "width": 2, "dash": _dash(curve.series)},
            }
        )
        if curve.spreads:
            shape["error_y"] = {
                "type": "data",
                "symmetric": False,
                "array": [high - mean for high, mean in zip(curve.most, curve.means, strict=True)],
                "arrayminus": [
                    mean - low for low, mean in zip(curve.least, curve.means, strict=True)
                ],
                "thickness": 1,
                "width": 3,
                "color": ERROR,
            }
        figure.add_trace(
            shape
            | {"name": plain(curve.series), "x": curve.xs, "y": curve.means}
            | {"hovertemplate": f"{plain(curve.series)}: %{{y:.6~g}}<extra></extra>"}
        )
    figure.update_layout(
        template=TEMPLATE,
        height=340,
        showlegend=True,
        xaxis={"title": {"text": plain(experiment.x)}},
        yaxis={
            "title": {"text": plain(label)},
            "rangemode": "normal" if label == RATIO else "tozero",
        },
    )
    return figure.drawn_by(lambda: picture(experiment, measure, numbers))


def _drawn(
    experiment: Experiment, measure: str, numbers: Sequence[Row]
) -> tuple[str, list[Curve], dict[str, str]]:
    """Return what a chart shows: the name of its measure, its curves, and their colours."""
    shown = shown_rows(experiment, measure, numbers)
    label = shown[0].measure if shown else measure
    found = curves(label, shown)
    return label, found, _palette(experiment, found)


def _dash(series: str) -> str:
    return DASHES.get(series, "dot" if series.endswith(UPPER) else "solid")


def picture(
    experiment: Experiment, measure: str, numbers: Sequence[Row]
) -> "matplotlib_figure.Figure":
    """Return the same chart as a Matplotlib figure, to be saved as PDF, SVG or PNG.

    The verdicts on the paper's claims stand below it.

    `measure`: one of the measures in `numbers`. `numbers`: as returned by `experiments.rows`.
    """
    from matplotlib import figure as matplotlib_figure

    label, found, palette = _drawn(experiment, measure, numbers)
    said = [
        f"{item.verdict.upper()}: {item.claim.text} ({item.measured})"
        for item in judge_claims(experiment, numbers)
    ]
    verdicts = "\n".join(
        line
        for text in ([EACH_PART, *said] if said else [])
        for line in textwrap.wrap(text, 88, subsequent_indent="   ")
    )
    figure = matplotlib_figure.Figure(
        figsize=(6.5, 3.6 + 0.16 * verdicts.count("\n")), layout="constrained"
    )
    pane = figure.subplots()
    for curve in found:
        color, style = (
            palette[curve.series],
            {"solid": "-", "dash": "--", "dot": ":"}[_dash(curve.series)],
        )
        if curve.printed and any(isinstance(x, str) for x in curve.xs):
            pane.bar(
                [str(x) for x in curve.xs],
                curve.means,
                0.6,
                alpha=0.75,
                color=[palette[str(x)] for x in curve.xs],
            )
            style = "none"
        else:
            places = [x if isinstance(x, int | float) else str(x) for x in curve.xs]
            marker = "o" if curve.printed else ""
            pane.plot(
                places,
                curve.means,
                style,
                color=color,
                marker=marker,
                ms=4,
                label=literal(curve.series),
            )
        if curve.spreads:
            reach = [
                [mean - low for low, mean in zip(curve.least, curve.means, strict=True)],
                [high - mean for high, mean in zip(curve.most, curve.means, strict=True)],
            ]
            xs = [x if isinstance(x, int | float) else str(x) for x in curve.xs]
            pane.errorbar(
                xs, curve.means, reach, fmt="none", ecolor=color, elinewidth=0.8, capsize=2
            )
    pane.set_xlabel(literal(experiment.x))
    pane.set_ylabel(literal(label))
    if label != RATIO:
        pane.set_ylim(bottom=min(0.0, pane.get_ylim()[0]))
    pane.spines[["top", "right"]].set_visible(False)
    if pane.get_legend_handles_labels()[0]:
        pane.legend(frameon=False, fontsize=8)
    figure.supxlabel(literal(verdicts), fontsize=7, x=0.01, ha="left")
    return figure


def _palette(experiment: Experiment, found: Sequence[Curve]) -> dict[str, str]:
    """Return a colour for each series and bar: its method's colour, unless another one has it."""
    known = method_colors(experiment.family, ())
    named = {curve.series: [x for x in curve.xs if isinstance(x, str)] for curve in found}
    names = [
        name for curve in found if curve.printed for name in named[curve.series] or [curve.series]
    ]
    uppers = [name for name in names if name.endswith(UPPER)]
    names = [name for name in names if name not in uppers]
    methods = _methods(experiment, names)
    palette: dict[str, str] = {}
    for name in dict.fromkeys(names):
        color = known.get(methods.get(name, ""))
        if color is not None and color not in palette.values():
            palette[name] = color
    free = [color for color in known.values() if color not in palette.values()] or list(PALETTE)
    for place, name in enumerate(name for name in dict.fromkeys(names) if name not in palette):
        palette[name] = free[place % len(free)]
    palette |= {name: palette[name.removesuffix(UPPER)] for name in uppers}
    grey = [BEST, BOUND, *(series for series, bars in named.items() if bars)]
    return palette | dict.fromkeys(grey, "#777777")


def _methods(experiment: Experiment, names: Collection[str]) -> dict[str, str]:
    """Return the method of each series or bar, from the first points of a figure."""
    found: dict[str, str] = {}
    missing = set(names)
    for point in islice(experiment.draw(), MOST_POINTS):
        method = Choice.read(point.method).method
        for name in {point.series, str(point.x)} & missing:
            found[name] = method
            missing.discard(name)
        if not missing:
            break
    return found


def shown_rows(experiment: Experiment, measure: str, numbers: Sequence[Row]) -> list[Row]:
    """Return the values that the chart of one measure shows.

    In a figure of ratios, a value is the ratio of the objective to the best known schedule. If that
    schedule is not proved optimal, a second value is the ratio to the bound. The ratio to the
    optimum is between the two.

    `measure`: one of the measures in `numbers`. `numbers`: as returned by `experiments.rows`.
    """
    own = [row for row in numbers if row.measure == measure]
    if not experiment.ratio or measure != experiment.objective:
        return own
    ends = {(row.x, row.seed, row.series): row.value for row in own if row.series in (BEST, BOUND)}
    found: list[Row] = []
    for reference, words in ((BEST, ""), (BOUND, UPPER)):
        for row in own:
            value = ends.get((row.x, row.seed, reference))
            if row.series in (BEST, BOUND) or not row.value or not value:
                continue
            ratio = max(row.value / value, value / row.value)
            found.append(row._replace(measure=RATIO, series=f"{row.series}{words}", value=ratio))
    lower = {(row.x, row.seed, row.series): row.value for row in found}
    differ = {
        row.series
        for row in found
        if row.series.endswith(UPPER)
        and row.value != lower.get((row.x, row.seed, row.series.removesuffix(UPPER)))
    }
    return [row for row in found if not row.series.endswith(UPPER) or row.series in differ]
