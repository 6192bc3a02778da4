"""Figures of the papers: the tasks to run, the resulting numbers, and the chart.

Each figure has two series in addition to those of the paper: the best known schedule and a proved
bound.
"""

import csv
import math
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedgap.analysis.evaluations.judging import EACH_PART, Row, judge
from schedgap.analysis.plots.charts import (
    PALETTE,
    TEMPLATE,
    comma_separated,
    literal,
    method_colors,
    plain,
)
from schedgap.analysis.plots.figure import Figure
from schedgap.analysis.records.folder import Folder, TaskRecord
from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.solving.choices import Choice, label
from schedgap.analysis.solving.tasks import task_spec
from schedgap.errors import InputError, UsageError, choices
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.instances.records import write_text
from schedgap.models.family import family
from schedgap.models.figure import Experiment

if TYPE_CHECKING:
    from matplotlib import figure as matplotlib_figure

BEST, BOUND = "best known", "bound"
DASHES = {BEST: "dash", BOUND: "dot"}
ERROR = "#888888"  # bars of errors, visible on white and on black
FOLDER = "figures"  # in the run folder
MOST_POINTS = 100  # that are drawn to learn the methods of the series
RATIO, UPPER = "ratio to the optimum", " (at most)"


def file_name(experiment: Experiment) -> str:
    """Return the name of a figure's CSV file; without its suffix it is the name of the suite.

    Parameters
    ----------
    experiment : Experiment
        The figure.
    """
    words = ["quick"] if experiment.quick else []
    words += [f"{key}={value}" for key, value in experiment.setting.items()]
    at = "@" + ",".join(words) if words else ""
    return f"{experiment.family}-figure-{experiment.figure}{at}.csv"


def suite(text: str, *, quick: bool = False) -> dict[str, Experiment]:
    """Return the figures of a suite by file name; empty if the text does not name a suite.

    Parameters
    ----------
    text : str
        `FAMILY-figures`, or `FAMILY-figure-N` for one figure at all its settings.
    quick : bool
        Whether to return the figures scaled down, with at least ten draws.

    Raises
    ------
    UsageError
        If the family has no such figure.
    """
    name, _, rest = text.partition("-figure")
    if name not in FAMILIES or (rest != "s" and not rest.startswith("-")):
        return {}
    figures = _figures(name, quick)
    chosen = {
        file: each
        for file, each in figures.items()
        if rest == "s" or text in (file.removesuffix(".csv"), f"{name}-figure-{each.figure}")
    }
    if not chosen:
        names = dict.fromkeys(f"{name}-figure-{each.figure}" for each in figures.values())
        raise UsageError(f"family {name} has no {text}: {choices(text, names)}")
    return chosen


@cache
def _figures(name: str, quick: bool) -> dict[str, Experiment]:
    experiments = family(name).experiments
    figures = [] if experiments is None else experiments(quick=quick)
    return {file_name(each): each for each in (replace(each, quick=quick) for each in figures)}


def pairs(experiment: Experiment) -> Iterator[tuple[Instance, list[str]]]:
    """Yield each instance of a figure with the methods to run on it.

    Parameters
    ----------
    experiment : Experiment
        The figure.
    """
    methods: dict[str, list[str]] = {}
    instances: dict[str, Instance] = {}
    for point in experiment.points:
        key = point.instance.sha256
        instances[key] = point.instance
        methods.setdefault(key, list(experiment.brackets)).append(point.method)
    for key, instance in instances.items():
        yield instance, list(dict.fromkeys(methods[key]))


def rows(run: StoredRun, experiment: Experiment) -> list[Row]:
    """Return the values of a figure that are known from a run, in the order of its points.

    Points that were not measured have no value. A method that was stopped before its end was not
    measured; its schedule still counts for the best known one. Of several records of a point, one
    that came to its end counts, and of these one with the default seed and the largest limit.

    Parameters
    ----------
    run : StoredRun
        The run.
    experiment : Experiment
        The figure.
    """
    records: dict[tuple[str, str], list[TaskRecord]] = {}
    for record in run.records:
        records.setdefault((record.instance.sha256, record.label), []).append(record)
    numbers: dict[tuple[str, float | str, str, int], Row] = {}

    def add(measure: str, series: str, value: float | None) -> None:
        row = Row(measure, point.x, series, point.seed, point.instance.name, value)
        numbers.setdefault(row[:4], row)

    for point in experiment.points:
        choice = Choice.read(point.method)
        spec = task_spec(
            point.instance, choice.method, engine=choice.engine, settings=dict(choice.settings)
        )
        known = records.get((point.instance.sha256, label(spec)), [])
        ended = [each.solution for each in _by_seed(known, spec.seed) if _ended(each)]
        solution = ended[-1] if ended else None
        schedule = None if solution is None else solution.schedule
        add(experiment.objective, point.series, None if solution is None else solution.objective)
        metrics = (
            {}
            if schedule is None
            else family(point.instance.family).metrics(point.instance, schedule)
        )
        for measure in experiment.metrics:
            add(measure, point.series, metrics.get(measure))
        for name, function in experiment.measures.items():
            number = None
            if solution is not None and schedule is not None:
                number = function(point.instance, schedule, solution.trace)
            add(name, point.series, number)
        problem = spec.family.problem(spec.recorded_options())
        bracket = run.brackets.get((point.instance.sha256, problem))
        add(experiment.objective, BEST, None if bracket is None else bracket.best)
        add(experiment.objective, BOUND, None if bracket is None else bracket.bound)
    return list(numbers.values())


def _by_seed(records: Sequence[TaskRecord], seed: int | None) -> list[TaskRecord]:
    """Return records in their order, those with a seed last."""
    return sorted(records, key=lambda record: record.seed == seed)


def _ended(record: TaskRecord) -> bool:
    """Return whether a method came to its end, rather than to its limit."""
    if record.solution is None:
        return False
    note = str(record.solution.trace.get("note", ""))
    return record.outcome == "done" and not note.startswith("stopped")


def write_heads(folder: Folder, experiments: Iterable[str]) -> None:
    """Write CSV files without values, for figures that have none: the report shows them.

    Parameters
    ----------
    folder : Folder
        The run folder.
    experiments : iterable of str
        Names of the files.
    """
    (folder.path / FOLDER).mkdir(exist_ok=True)
    for name in experiments:
        file = folder.path / FOLDER / name
        if not file.exists():
            write_text(file, comma_separated(Row._fields, []))


def write(run: StoredRun, experiments: dict[str, Experiment]) -> None:
    """Write the values of figures as CSV files into the run folder.

    Parameters
    ----------
    run : StoredRun
        The run.
    experiments : dict
        Figures by file name.
    """
    folder = run.folders[0].path / FOLDER
    folder.mkdir(exist_ok=True)
    for file, experiment in experiments.items():
        write_text(folder / file, comma_separated(Row._fields, rows(run, experiment)))


def read(file: Path) -> list[Row]:
    """Return the values of a figure from its CSV file.

    Parameters
    ----------
    file : Path
        As written by `write`.

    Raises
    ------
    InputError
        If the file is not one.
    """
    with open(file, encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream))
    if not lines or tuple(lines[0]) != Row._fields:
        raise InputError(
            f"not the values of a figure: need {','.join(Row._fields)}", file=str(file)
        )
    try:
        return [
            Row(measure, _position(x), series, int(seed), name, float(value) if value else None)
            for measure, x, series, seed, name, value in lines[1:]
        ]
    except ValueError as error:
        raise InputError(f"not the values of a figure: {error}", file=str(file)) from None


def _position(text: str) -> float | str:
    """Return a position on the axis: a number where it is one."""
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def written(run: StoredRun) -> dict[str, tuple[Experiment, list[Row]]]:
    """Return the figures whose CSV files are in the folders of a run, with their values, by file.

    The values of a run that was killed, or to which records were added, are computed from its
    records. So are those of several folders, and of a file without a measure of the figure.

    Parameters
    ----------
    run : StoredRun
        The run.
    """
    files = {
        file.name: file
        for each in run.folders
        for file in sorted(each.path.glob(f"{FOLDER}/*.csv"))
    }
    alone = len(run.folders) == 1
    found: dict[str, tuple[Experiment, list[Row]]] = {}
    for name, quick in sorted({(file.partition("-figure")[0], "@quick" in file) for file in files}):
        for file, experiment in suite(f"{name}-figures", quick=quick).items():
            if file in files:
                known = read(files[file]) if alone and _is_current(run, files[file]) else []
                wanted = {*experiment.metrics, *experiment.measures}
                whole = {row.measure for row in known} >= wanted
                found[file] = experiment, known if known and whole else rows(run, experiment)
    return found


def _is_current(run: StoredRun, file: Path) -> bool:
    """Return whether no record was added to a run, or removed, after a file was written.

    `cp -a` and `rsync -a` add records and then set the time of modification of the folder back, but
    not the time of its last change of any kind.
    """
    tasks = run.folders[0].tasks.stat()
    return max(tasks.st_mtime_ns, tasks.st_ctime_ns) <= file.stat().st_mtime_ns


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

    Parameters
    ----------
    measure : str
        One of the measures in `numbers`.
    numbers : sequence of Row
        As returned by `rows`.
    """
    values: dict[str, dict[float | str, list[float]]] = {}
    for row in numbers:
        if row.measure == measure and row.value is not None:
            values.setdefault(row.series, {}).setdefault(row.x, []).append(row.value)
    draws: dict[float | str, int] = {}
    for points in values.values():
        for x, each in points.items():
            draws[x] = max(draws.get(x, 0), len(each))
    found = []
    last = {BEST: 1, BOUND: 2}
    for series in sorted(values, key=lambda name: last.get(name, 0)):
        known = {x: each for x, each in values[series].items() if len(each) == draws[x]}
        means = [math.fsum(each) / len(each) for each in known.values()]
        least, most = [min(each) for each in known.values()], [max(each) for each in known.values()]
        found.append(Curve(series, list(known), means, least, most))
    return found


def chart(experiment: Experiment, measure: str, numbers: Sequence[Row]) -> Figure:
    """Return a chart of one measure of a figure: curves, or bars if the x axis has names.

    Values are averaged over the draws; bars of error show the least and the greatest.

    Parameters
    ----------
    experiment : Experiment
        The figure.
    measure : str
        One of the measures in `numbers`.
    numbers : sequence of Row
        As returned by `rows`.
    """
    label, found, palette = _drawn(experiment, measure, numbers)
    figure = Figure()
    for each in found:
        bars = each.printed and any(isinstance(x, str) for x in each.xs)
        color = palette[each.series]
        shape: dict[str, Any] = (
            {
                "type": "bar",
                "marker": {"color": [palette[str(x)] for x in each.xs]},
                "width": 0.6,
                "opacity": 0.75,
                "showlegend": False,
            }
            if bars
            else {
                "type": "scatter",
                "mode": "lines+markers" if each.printed else "lines",
                "line": {"color": color, "width": 2, "dash": _dash(each.series)},
            }
        )
        if each.spreads:
            shape["error_y"] = {
                "type": "data",
                "symmetric": False,
                "array": [high - mean for high, mean in zip(each.most, each.means, strict=True)],
                "arrayminus": [
                    mean - low for low, mean in zip(each.least, each.means, strict=True)
                ],
                "thickness": 1,
                "width": 3,
                "color": ERROR,
            }
        figure.add_trace(
            shape
            | {"name": plain(each.series), "x": each.xs, "y": each.means}
            | {"hovertemplate": f"{plain(each.series)}: %{{y:.6~g}}<extra></extra>"}
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

    Parameters
    ----------
    experiment : Experiment
        The figure.
    measure : str
        One of the measures in `numbers`.
    numbers : sequence of Row
        As returned by `rows`.
    """
    from matplotlib import figure as matplotlib_figure

    label, found, palette = _drawn(experiment, measure, numbers)
    said = [
        f"{item.verdict.upper()}: {item.claim.text} ({item.measured})"
        for item in judge(experiment, numbers)
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
    for each in found:
        color, style = (
            palette[each.series],
            {"solid": "-", "dash": "--", "dot": ":"}[_dash(each.series)],
        )
        if each.printed and any(isinstance(x, str) for x in each.xs):
            pane.bar(
                [str(x) for x in each.xs],
                each.means,
                0.6,
                alpha=0.75,
                color=[palette[str(x)] for x in each.xs],
            )
            style = "none"
        else:
            places = [x if isinstance(x, int | float) else str(x) for x in each.xs]
            marker = "o" if each.printed else ""
            pane.plot(
                places,
                each.means,
                style,
                color=color,
                marker=marker,
                ms=4,
                label=literal(each.series),
            )
        if each.spreads:
            reach = [
                [mean - low for low, mean in zip(each.least, each.means, strict=True)],
                [high - mean for high, mean in zip(each.most, each.means, strict=True)],
            ]
            xs = [x if isinstance(x, int | float) else str(x) for x in each.xs]
            pane.errorbar(
                xs, each.means, reach, fmt="none", ecolor=color, elinewidth=0.8, capsize=2
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
    """Return a colour for each series and each bar: that of its method, if no other one has it."""
    known = method_colors(experiment.family, ())
    named = {each.series: [x for x in each.xs if isinstance(x, str)] for each in found}
    names = [name for each in found if each.printed for name in named[each.series] or [each.series]]
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

    If the figure is one of ratios, these are the ratios of the objective to the best known schedule
    and, where it is not proved optimal, to the bound: the ratio to the optimum is between them.

    Parameters
    ----------
    experiment : Experiment
        The figure.
    measure : str
        One of the measures in `numbers`.
    numbers : sequence of Row
        As returned by `rows`.
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
