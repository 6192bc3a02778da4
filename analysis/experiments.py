"""Figures of the papers: the tasks to run, the resulting numbers, and the chart.

Each figure has two series in addition to those of the paper: the best known schedule and a proved
bound.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import plotly.graph_objects as go

from schedgap.analysis.charts import TEMPLATE, colors, comma_separated, plain
from schedgap.analysis.choices import Choice, label
from schedgap.analysis.folder import TaskRecord
from schedgap.analysis.stored import StoredRun
from schedgap.analysis.tasks import task_spec
from schedgap.errors import UsageError
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.instances.records import write_text
from schedgap.models.family import family
from schedgap.models.figure import Experiment

BEST, BOUND = "best known", "bound"
FOLDER = "figures"  # in the run folder


class Row(NamedTuple):
    """One value in a figure."""

    measure: str
    x: float | str
    series: str
    seed: int
    instance: str
    value: float


def file_name(experiment: Experiment) -> str:
    """Return the name of a figure's CSV file; without its suffix it is the name of the suite.

    Parameters
    ----------
    experiment : Experiment
        The figure.
    """
    return f"{experiment.family}-figure-{experiment.figure}.csv"


def suite(text: str) -> dict[str, Experiment]:
    """Return the figures of a suite by file name; empty if the text does not name a suite.

    Parameters
    ----------
    text : str
        `FAMILY-figures` or `FAMILY-figure-N`.

    Raises
    ------
    UsageError
        If the family has no such figure.
    """
    name, _, rest = text.partition("-figure")
    if name not in FAMILIES or (rest != "s" and not rest.startswith("-")):
        return {}
    figures = _figures(name)
    chosen = {file: each for file, each in figures.items() if rest == "s" or file == f"{text}.csv"}
    if not chosen:
        names = ", ".join(file.removesuffix(".csv") for file in figures) or "none"
        raise UsageError(f"family {name} has no {text}: choose one of {names}")
    return chosen


@cache
def _figures(name: str) -> dict[str, Experiment]:
    experiments = family(name).experiments
    return {file_name(each): each for each in (experiments() if experiments else [])}


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

    Parameters
    ----------
    run : StoredRun
        The run.
    experiment : Experiment
        The figure.
    """
    records: dict[tuple[str, str], TaskRecord] = {
        (record.instance.sha256, record.label): record
        for record in run.records
        if record.solution is not None and record.solution.schedule is not None
    }
    numbers: dict[tuple[str, float | str, str, int], Row] = {}

    def add(measure: str, series: str, value: float | None) -> None:
        if value is not None:
            row = Row(measure, point.x, series, point.seed, record.instance.name, value)
            numbers.setdefault(row[:4], row)

    for point in experiment.points:
        choice = Choice.read(point.method)
        spec = task_spec(
            point.instance, choice.method, engine=choice.engine, settings=dict(choice.settings)
        )
        entry = records.get((point.instance.sha256, label(spec)))
        if entry is None or entry.solution is None:
            continue
        record, solution = entry, entry.solution
        add(experiment.objective, point.series, solution.objective)
        metrics = family(record.instance.family).metrics(point.instance, solution.schedule)
        for measure in experiment.metrics:
            add(measure, point.series, metrics.get(measure))
        bracket = run.brackets[record.instance.sha256, record.problem]
        add(experiment.objective, BEST, bracket.best)
        add(experiment.objective, BOUND, bracket.bound)
    return list(numbers.values())


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


def written(run: StoredRun) -> dict[str, Experiment]:
    """Return the figures whose CSV files are in the folders of a run, by file name.

    Parameters
    ----------
    run : StoredRun
        The run.
    """
    files = {file.name for each in run.folders for file in each.path.glob(f"{FOLDER}/*.csv")}
    figures: dict[str, Experiment] = {}
    for name in sorted({file.partition("-figure")[0] for file in files}):
        figures |= suite(f"{name}-figures")
    return {file: experiment for file, experiment in figures.items() if file in files}


def chart(experiment: Experiment, measure: str, numbers: Sequence[Row]) -> go.Figure:
    """Return a chart of one measure of a figure: curves, or bars if the x axis has names.

    Values are averaged over the seeds; a series has a point only where all seeds are known.

    Parameters
    ----------
    experiment : Experiment
        The figure.
    measure : str
        One of the measures in `numbers`.
    numbers : sequence of Row
        As returned by `rows`.
    """
    values: dict[str, dict[float | str, list[float]]] = {}
    for row in numbers:
        if row.measure == measure:
            values.setdefault(row.series, {}).setdefault(row.x, []).append(row.value)
    draws: dict[float | str, int] = {}
    for points in values.values():
        for x, each in points.items():
            draws[x] = max(draws.get(x, 0), len(each))
    paper_series = [series for series in values if series not in (BEST, BOUND)]
    palette = colors(paper_series) | {BEST: "#777777", BOUND: "#777777"}
    figure = go.Figure()
    for series in [*paper_series, *(each for each in (BEST, BOUND) if each in values)]:
        means = {
            x: sum(each) / len(each) for x, each in values[series].items() if len(each) == draws[x]
        }
        dash = {BEST: "dash", BOUND: "dot"}.get(series, "solid")
        bars = series in paper_series and any(isinstance(x, str) for x in means)
        shape: dict[str, Any] = (
            {"type": "bar", "marker": {"color": palette[series]}, "width": 0.6, "opacity": 0.6}
            if bars
            else {
                "type": "scatter",
                "mode": "lines+markers" if series in paper_series else "lines",
                "line": {"color": palette[series], "width": 2, "dash": dash},
            }
        )
        figure.add_trace(
            shape
            | {"name": plain(series), "x": list(means), "y": list(means.values())}
            | {"hovertemplate": f"{plain(series)}: %{{y:.6~g}}<extra></extra>"}
        )
    figure.update_layout(
        template=TEMPLATE,
        height=340,
        showlegend=True,
        xaxis={"title": {"text": plain(experiment.x)}},
        yaxis={"title": {"text": plain(measure)}, "rangemode": "tozero"},
    )
    return figure
