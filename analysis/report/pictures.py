"""Figures of the report as JSON data: Plotly traces and layouts, with their values as CSV."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from schedgap.analysis.evaluations import drawing
from schedgap.analysis.evaluations.judging import EACH_PART, Judgement, Row, judge_claims
from schedgap.analysis.names import natural
from schedgap.analysis.plots.charts import (
    GAP,
    LEGEND_LIMIT,
    TEMPLATE,
    colors,
    frame_height,
    gantt_traces,
    lanes_axis,
    lanes_height,
    method_colors,
    plain,
    time_range,
)
from schedgap.analysis.plots.csv_text import comma_separated
from schedgap.analysis.plots.curves import (
    PROGRESS_LAYOUT,
    Interval,
    Point,
    gap_figure,
    performance_profile,
    progress_traces,
    ratio_distribution,
    time_profile,
)
from schedgap.analysis.records.folder import read_record
from schedgap.analysis.report.replay import Replay, replay
from schedgap.analysis.report.results import MAX_COMPARED, ReportData, Result
from schedgap.analysis.report.words import count, value_text
from schedgap.errors import FamilyError
from schedgap.instances.verdict import outside
from schedgap.models.family import Chart, family

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_INSTANCES = 40  # instances in the explorer
MAX_BARS = 30_000  # bars of all embedded schedules together: browsers draw them quickly
MAX_POINTS = 400  # points in one curve

Figure = dict[str, Any]


def plotly_data(figure: "go.Figure", table: str) -> Figure:
    """Return a Plotly figure and its values as JSON data."""
    data = json.loads(figure.to_json())
    return {"traces": data["data"], "layout": data["layout"], "csv": table}


def paper_figures(report: ReportData, name: str) -> list[tuple[str, str, str, Figure]]:
    """Return (id, title, caption, figure) of the paper's figures that the run computed.

    `report`: what the report shows.
    """
    figures: list[tuple[str, str, str, Figure]] = []
    for file, (experiment, numbers) in report.figures.items():
        if not file.startswith(f"{name}-"):
            continue
        verdicts = _verdicts(judge_claims(experiment, numbers))
        for measure in dict.fromkeys(row.measure for row in numbers):
            values = [row for row in numbers if row.measure == measure]
            figures.append(
                (
                    f"{file.removesuffix('.csv')}-{len(figures)}",
                    f"Fig. {experiment.figure}: {experiment.title}.",
                    f"{measure[:1].upper()}{measure[1:]}, means of "
                    f"{count(len({row.seed for row in values}), 'draw')}; the best known schedule "
                    f"and the bound, if shown, are ours." + verdicts,
                    plotly_data(
                        drawing.chart(experiment, measure, values),
                        comma_separated(Row._fields, values),
                    ),
                )
            )
            verdicts = Markup("")  # the first chart of the figure has them
    return figures


def _verdicts(judged: Iterable[Judgement]) -> Markup:
    """Return what the paper claims of a figure, and what became of each part, as a list."""
    items = Markup("").join(
        Markup("<li><strong>{}</strong>: {} ({})</li>").format(
            item.verdict.capitalize(), item.claim.text, item.measured
        )
        for item in judged
    )
    text = Markup('<p>{}</p><ul class="claims">{}</ul>')
    return text.format(EACH_PART, items) if items else items


def family_figures(report: ReportData, name: str) -> list[tuple[str, str, str, Figure]]:
    """Return (id, title, caption, figure) of the ratios and of the performance profile.

    `report`: what the report shows.
    """
    ratios: dict[str, list[Interval]] = {}
    for row in report.rows:
        ratios.update({row.method: []} if row.family == name else {})
    for each in report.of(name):
        if each.ratio[0] < math.inf and not each.task.relaxed:
            ratios[each.method].append((each.instance, *each.ratio))
    ratios = {method: intervals for method, intervals in ratios.items() if intervals}
    palette = method_colors(name, {row.method for row in report.rows if row.family == name})
    figures = []
    if ratios:
        rows = [
            (method, *interval) for method, intervals in ratios.items() for interval in intervals
        ]
        table = comma_separated(("method", "instance", "ratio_low", "ratio_high"), rows)
        figures.append(
            (
                f"ratios-{name}",
                "Ratios to the optimum.",
                "One dot for each instance, or an interval that contains the ratio where the "
                "optimum is not proved.",
                plotly_data(ratio_distribution(ratios, palette), table),
            )
        )
    chosen = report.heuristics(name)
    every = report.profiles.get(name, {})
    profiles = {method: every[method] for method in chosen if method in every}
    if len(profiles) < 2:  # the only algorithm; the others are exact methods
        profiles = {**profiles, **every} if len(every) <= MAX_COMPARED else profiles
    if len(profiles) > 1:
        steps = [(method, *step) for method, each in every.items() for step in each]
        table = comma_separated(("method", "factor", "share_of_instances"), steps)
        figures.append(
            (
                f"profile-{name}",
                "Performance profile.",
                "Share of instances on which a method is within a factor of the best known "
                "schedule. It compares each method with the best one only: it does not say which "
                "of two other methods is better, nor how far a method is from the optimum."
                + (" Its values have all methods." if len(every) > len(profiles) else ""),
                plotly_data(performance_profile(profiles, palette), table),
            )
        )
    return [*figures, *_over_time(report, name, palette)]


GAPS_OVER_TIME = (
    (
        "primal",
        "Schedules over time.",
        "Gap between the best schedule so far and the optimum, as the mean over {n}; 100 % as long "
        "as there is no schedule. Where the optimum is not proved, the gap is the band between two "
        "lines.",
    ),
    (
        "dual",
        "Bounds over time.",
        "Gap between the best proved bound so far and the optimum, as the mean over {n}; 100 % as "
        "long as there is no bound. Only bounds that the final result confirms count.",
    ),
)


def _over_time(
    report: ReportData, name: str, palette: Mapping[str, str]
) -> list[tuple[str, str, str, Figure]]:
    """Return the figures of gaps and of completed tasks over time, of exact methods and bounds."""
    figures: list[tuple[str, str, str, Figure]] = []
    every = [row for row in report.gaps if row["family"] == name and not row["problem"]]
    for what, title, caption in GAPS_OVER_TIME:
        low, high = f"{what}_low", f"{what}_high"
        rows = [row for row in every if not math.isnan(row[high])]
        gaps: dict[str, list[tuple[float, float, float]]] = {}
        for row in rows:
            gaps.setdefault(row["method"], []).append((row["seconds"], row[low], row[high]))
        gaps = dict(list(gaps.items())[:MAX_COMPARED])
        if not gaps:
            continue
        values = [(row["method"], row["seconds"], row[low], row[high]) for row in rows]
        table = comma_separated(("method", "seconds", "gap_low", "gap_high"), values)
        text = caption.format(n=count(int(rows[0]["n"]), "instance"))
        picture = plotly_data(gap_figure(gaps, palette), table)
        figures.append((f"{what}-gap-{name}", title, text, picture))
    solved: dict[str, list[tuple[float, float]]] = {}
    for row in report.completed:
        if row["family"] == name and not row["problem"] and row["kind"] == "exact":
            solved.setdefault(row["method"], []).append((row["seconds"], row["share"]))
    if len(solved) > 1:
        steps = [(method, *step) for method, each in solved.items() for step in each]
        shown = dict(list(solved.items())[:MAX_COMPARED])
        figures.append(
            (
                f"times-{name}",
                "Completed tasks over time.",
                "Share of instances for which an exact method has reported an optimum, or that "
                "there is no schedule, by the wall-clock time it took.",
                plotly_data(
                    time_profile(shown, palette),
                    comma_separated(("method", "seconds", "share_of_instances"), steps),
                ),
            )
        )
    return figures


def explorer(report: ReportData) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the progress and schedules of instances, and notes on what is left out.

    Up to `MAX_INSTANCES` instances are shown, those on which the algorithms are farthest from the
    optimum. There are at most `MAX_BARS` bars. Instances with small schedules come first and,
    within an instance, the best schedule and algorithms.

    `report`: what the report shows.
    """
    by_instance: dict[str, list[Result]] = {}
    for each in report.results:
        if each.task.outcome != "skipped":
            by_instance.setdefault(each.task.sha256, []).append(each)
    shown = _chosen(by_instance)
    entries: dict[str, dict[str, Any]] = {}
    remaining, left_out = MAX_BARS, 0
    faults: dict[str, None] = {}  # faults of families of other packages
    for key in sorted(shown, key=lambda key: _weight(by_instance[key])):
        traces = {each.task.key: _trace(each) for each in by_instance[key]}
        charts = {}
        for each in sorted(by_instance[key], key=_interest):
            schedule = traces[each.task.key].schedule
            if schedule is None:
                continue
            try:
                chart = _chart(each, schedule, report) if remaining > 0 else None
            except FamilyError as error:
                faults[f"{error}; such schedules are not drawn."] = None
                continue
            if chart is None or len(chart.bars) > remaining:
                left_out += 1
                continue
            charts[each.task.key] = chart
            remaining -= len(chart.bars)
        points = {name: each.points for name, each in traces.items()}
        replays = _replays(report, by_instance[key], charts)
        entries[key] = _entry(by_instance[key], charts, points, replays)
    notes = []
    if len(shown) < len(by_instance):
        notes.append(
            f"{len(shown)} of {len(by_instance)} instances are here, those on which the algorithms "
            "are farthest from the optimum. The other ones are in the tables."
        )
    if left_out:
        notes.append(
            f"{count(left_out, 'schedule')} not embedded: the page has at most {MAX_BARS:,} bars, "
            "small instances first. To draw such a schedule, load its solution in Python and call "
            "gantt()."
        )
    return [entries[key] for key in shown if entries[key]["useful"]], [*notes, *faults]


def _chosen(by_instance: Mapping[str, Sequence[Result]]) -> list[str]:
    """Return the instances that are shown, in their order: as many of each family, worst first."""
    families: dict[str, list[str]] = {}
    for key, results in by_instance.items():
        families.setdefault(results[0].family, []).append(key)
    worst = {key: _worst(results) for key, results in by_instance.items()}
    order = [
        (place, name, key)
        for name, keys in families.items()
        for place, key in enumerate(sorted(keys, key=lambda key: -worst[key]))
    ]
    chosen = {key for _, _, key in sorted(order)[:MAX_INSTANCES]}
    return [key for key in by_instance if key in chosen]


def _weight(results: Iterable[Result]) -> int:
    """Return an estimate of the size of an instance's schedules: the size of their files."""
    return max(Path(result.task.file).stat().st_size for result in results)


class _Trace(NamedTuple):
    """What the explorer reads of a record, which may be a large file."""

    points: list[Point]
    schedule: Any


def _trace(result: Result) -> _Trace:
    record = read_record(Path(result.task.file))
    schedule = None if record.solution is None else record.solution.schedule
    return _Trace(_points(result, record.progress), schedule)


def _chart(result: Result, schedule: Any, report: ReportData) -> Chart:
    instance = report.run.instance(result.task.sha256)
    return family(result.family).chart(instance, schedule)


def _replays(
    report: ReportData, results: Iterable[Result], charts: Mapping[str, Chart]
) -> dict[str, Replay]:
    """Return the replays of the papers' algorithms by record key."""
    found: dict[str, Replay] = {}
    for result in results:
        task = result.task
        if task.key in charts:
            instance = report.run.instance(task.sha256)
            steps = replay(instance, task, charts[task.key])
            found |= {} if steps is None else {task.key: steps}
    return found


def _entry(
    results: Sequence[Result],
    charts: Mapping[str, Chart],
    progress: Mapping[str, list[Point]],
    replays: Mapping[str, Replay],
) -> dict[str, Any]:
    """Return the data of one instance for the page; all mappings are by record key."""
    times = Counter(result.method for result in results)
    names = {
        each.task.key: each.method
        if times[each.method] == 1
        else f"{each.method} #{each.task.key[:6]}"
        for each in results
    }
    points = {names[key]: steps for key, steps in progress.items()}
    points = {name: steps for name, steps in points.items() if steps}
    rows = [(name, *step) for name, steps in points.items() for step in steps]
    table = comma_separated(("method", "seconds", "objective", "bound"), rows)
    groups = sorted({bar.group for chart in charts.values() for bar in chart.bars}, key=natural)
    palette = colors(groups)
    shades = method_colors(results[0].family, names.values())
    shown = [result for result in results if result.task.key in charts]
    return {
        "label": f"{results[0].instance} ({results[0].family})",
        "progress": {
            "traces": progress_traces(points, results[0].task.sense, shades),
            "csv": table,
            "methods": list(points),
            "provers": _provers(results, names),
        },
        "schedules": [
            _embedded(each, names[each.task.key], charts[each.task.key], palette)
            | _steps(replays.get(each.task.key))
            for each in shown
        ],
        "groups": groups,
        "frame": frame_height(len(groups)),
        "legend": 1 < len(groups) <= LEGEND_LIMIT,
        "pair": _first_pair(shown),
        "worst": _worst(shown),
        "useful": bool(points or shown),
    }


def _provers(results: Iterable[Result], names: Mapping[str, str]) -> list[str]:
    """Return the exact methods and bounds; none if no method is exact."""
    kinds = {names[result.task.key]: result.task.kind for result in results}
    provers = [name for name, kind in kinds.items() if kind in ("exact", "bound")]
    return provers if "exact" in kinds.values() else []


def _points(result: Result, progress: Iterable[Point]) -> list[Point]:
    """Return the progress of a result, final values included, with at most `MAX_POINTS` points."""
    points = list(progress)
    last = (result.seconds, result.objective, result.bound)
    if not math.isnan(result.seconds) and last[1:] != (None, None) and last not in points[-1:]:
        points.append(last)
    step = max(1, -(-len(points) // MAX_POINTS))
    return [*points[:-1:step], *points[-1:]]


def _interest(result: Result) -> int:
    """Return a sort key: best schedules first, then algorithms."""
    return 0 if result.ratio[0] <= 1 else 1 if result.task.kind == "algorithm" else 2


def _first_pair(results: Sequence[Result]) -> list[int]:
    """Return the indices of the two schedules shown first: the best, and an algorithm's worst."""
    order = sorted(range(len(results)), key=lambda place: _interest(results[place]))
    rest = sorted(order[1:], key=lambda place: -_worst([results[place]]))
    return [*order[:1], *rest[:1]] if rest else order * 2


def _worst(results: Iterable[Result]) -> float:
    """Return the largest lower end of the ratios of algorithms, or 0 if there is none."""
    algorithms = [result.ratio[0] for result in results if result.task.kind == "algorithm"]
    return max((ratio for ratio in algorithms if ratio < math.inf), default=0.0)


def _embedded(
    result: Result, name: str, chart: Chart, palette: Mapping[str, str]
) -> dict[str, object]:
    """Return the data with which the page draws a schedule: Plotly traces and lane axis."""
    title = f"{name}: {value_text(result.objective)}"
    title += ", optimal" if result.status == "optimal" else ""
    title += f" ({outside(result.task.relaxed)})" if result.task.relaxed else ""
    return {
        "label": title,
        "title": plain(title),
        "lanes": chart.lanes,
        "height": lanes_height(chart),
        "range": time_range([chart]),
        "time": plain(f"time ({chart.unit})"),
        "yaxis": lanes_axis(chart),
        "traces": gantt_traces(chart, palette),
    }


def _steps(steps: Replay | None) -> dict[str, object]:
    return {} if steps is None else {"steps": steps.steps, "placed": steps.placed}


def shared_layouts() -> dict[str, dict[str, object]]:
    """Return the Plotly layouts that the figures of all instances share."""
    template = TEMPLATE.to_plotly_json()
    return {
        "gantt": {"template": template, "barmode": "overlay", "gap": GAP},
        "progress": {"template": template, **PROGRESS_LAYOUT},
    }
