"""Figures of the papers: every series, the best schedule known, and the bound, as numbers."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.evaluations import drawing, experiments
from schedgap.analysis.evaluations.judging import Row
from schedgap.analysis.plots import charts
from schedgap.analysis.report.pictures import paper_figures
from schedgap.analysis.report.results import collect
from schedgap.errors import UsageError
from schedgap.models.figure import Experiment
from schedgap.models.ring import figures

TINY = figures.experiments(quick=True, seeds=(0, 1), servers=(3, 4), jobs=8, settings=({},))
SERIES = {
    "4": {"policy"},
    "5": {"SJF-BCO"},
    "6": {"SJF-BCO", "FF", "LS", "FF, smallest first (ours)", "LS, smallest first (ours)"},
    "6-large": {"SJF-BCO"},
    "7": {"SJF-BCO"},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return compare(TINY, run=tmp_path_factory.mktemp("figures"), workers=1, time_limit=20)


def numbers(run: Run, experiment: Experiment) -> list[dict[str, str]]:
    file = run.folders[0].path / experiments.FOLDER / experiments.file_name(experiment)
    with open(file, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("experiment", TINY, ids=lambda each: f"figure {each.figure}")
def test_a_figure_has_a_number_for_each_point_and_a_bound_below_it(
    run: Run, experiment: Experiment
) -> None:
    found = numbers(run, experiment)
    values = {
        (row["x"], row["seed"], row["series"]): float(row["value"])
        for row in found
        if row["measure"] == experiment.objective
    }
    assert {series for _, _, series in values} == {
        *SERIES[experiment.figure], experiments.BEST, experiments.BOUND
    }  # fmt: skip
    for point in experiment.points:
        x, seed = str(point.x), str(point.seed)
        bound, best = (values[x, seed, each] for each in (experiments.BOUND, experiments.BEST))
        assert 0 < bound <= best <= values[x, seed, point.series]
    beside = {row["measure"] for row in found} - {experiment.objective}
    assert beside == {*experiment.metrics, *experiment.measures}


def test_the_values_are_those_of_the_methods(run: Run) -> None:
    (fourth,) = (each for each in TINY if each.figure == "4")
    rows = experiments.rows(run, fourth)
    found = {(row.measure, row.x, row.seed, row.series): row.value for row in rows}
    point = next(each for each in fourth.points if each.method == "first-fit")
    (record,) = (
        each
        for each in run.records
        if each.label == "first-fit" and each.instance.sha256 == point.instance.sha256
    )
    assert record.solution is not None
    jobs = record.solution.schedule["jobs"]
    ends = [job["end"] for job in jobs]
    assert found["makespan (slots)", "FF", 0, "policy"] == max(ends)
    shortest = min(
        each.solution.objective
        for each in run.records
        if each.instance.sha256 == point.instance.sha256
        and each.solution is not None
        and each.solution.objective is not None
    )
    assert found["makespan (slots)", "FF", 0, experiments.BEST] == shortest
    assert found["mean completion", "FF", 0, "policy"] == pytest.approx(
        sum(ends) / len(ends), abs=1e-5
    )


def test_a_figure_may_have_measures_of_its_own(run: Run) -> None:
    """They get the instance, the schedule and the trace."""
    (fourth,) = (each for each in TINY if each.figure == "4")
    measures = {
        "left out": lambda instance, schedule, trace: len(instance.jobs) - len(schedule["jobs"]),
        "traced": lambda instance, schedule, trace: len(trace),
        "unknown": lambda instance, schedule, trace: None,
    }
    rows = experiments.rows(run, replace(fourth, measures=measures))
    found = {(row.measure, row.x, row.seed): row.value for row in rows if row.series == "policy"}
    places = [(point.x, point.seed) for point in fourth.points]
    assert [found["left out", x, seed] for x, seed in places] == [0] * len(places)
    assert all(found["traced", x, seed] > 0 for x, seed in places)
    assert {found["unknown", x, seed] for x, seed in places} == {None}


def test_the_report_draws_what_the_run_was_made_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = {experiments.file_name(each): each for each in TINY}
    monkeypatch.setattr(experiments, "suite", lambda text, quick: {} if quick else tiny)
    assert {file: each for file, (each, _) in experiments.written(run).items()} == tiny
    drawn = paper_figures(collect(run), "ring")
    assert [title.split(":")[0] for _, title, _, _ in drawn] == [
        f"Fig. {each.figure}" for each in TINY for _ in (0, *each.metrics, *each.measures)
    ]
    sixth = next(picture for _, title, _, picture in drawn if title.startswith("Fig. 6:"))
    names = [trace["name"] for trace in sixth["traces"]]
    assert set(names) == SERIES["6"] | {"best known", "bound"}
    assert names[:3] == ["SJF-BCO", "FF", "LS"] and names[-2:] == ["best known", "bound"]
    assert sixth["traces"][0]["x"] == [3, 4]
    assert paper_figures(collect(run), "edge") == []


def test_a_curve_is_the_mean_over_the_draws() -> None:
    rows = [
        experiments.Row("makespan", 1, "A", seed, "i", value)
        for seed, value in ((0, 2.0), (1, 5.0))
    ]
    (trace,) = drawing.chart(TINY[1], "makespan", rows).data
    assert list(trace.x) == [1] and list(trace.y) == [3.5]


def test_suites_are_told_by_their_names(tmp_path: Path) -> None:
    (usual, *others) = experiments.suite("ring-figure-5")
    assert usual == "ring-figure-5.csv"
    assert others and all(file.startswith("ring-figure-5@") for file in others)
    assert len(experiments.suite("ring-figures")) == len(figures.experiments())
    assert experiments.suite("quick") == experiments.suite("rings-figure-5") == {}
    with pytest.raises(UsageError, match="no ring-figure-9: choose one of ring-figure-4"):
        compare("ring-figure-9", run=tmp_path)
    with pytest.raises(UsageError, match="choose one of none"):
        experiments.suite("toy-figures")
    with pytest.raises(UsageError) as caught:
        experiments.suite("ring-figure-99")
    assert "choose one of ring-figure-4, ring-figure-5, " in str(caught.value)
    assert "@" not in str(caught.value)  # a figure, not each of its settings


def test_a_figure_of_ratios_shows_those_to_the_best_known_schedule_and_to_the_bound() -> None:
    """12 to 10 and 8, so the ratio is between 1.2 and 1.5; where it is proved, both are one."""
    one, two = ("cost", 1, "ours", 0, "i"), ("cost", 2, "ours", 0, "j")
    values = [Row(*one, 12.0), Row(*two, 12.0)]
    for series, at_1, at_2 in ((experiments.BEST, 10.0, 8.0), (experiments.BOUND, 8.0, 8.0)):
        values += [Row("cost", x, series, 0, "i", value) for x, value in ((1, at_1), (2, at_2))]
    figure = replace(TINY[1], ratio=True, objective="cost", series=("ours",))
    shown = drawing.shown_rows(figure, "cost", values)
    assert [(row.series, row.x, row.value) for row in shown] == [
        ("ours", 1, 1.2), ("ours", 2, 1.5),
        (f"ours{drawing.UPPER}", 1, 1.5), (f"ours{drawing.UPPER}", 2, 1.5),
    ]  # fmt: skip
    chart = drawing.chart(figure, "cost", values)
    assert chart.layout.yaxis.title.text == drawing.RATIO
    assert len({trace.line.color for trace in chart.data}) == 1
    assert drawing.picture(figure, "cost", values).axes[0].get_ylim()[0] > 1


def test_a_series_has_the_colour_of_its_method(run: Run) -> None:
    blue = charts.method_colors("ring", [])["sjf-bco"]
    for experiment in TINY:
        values = experiments.rows(run, experiment)
        for trace in drawing.chart(experiment, experiment.objective, values).data:
            if trace.name == "SJF-BCO":
                assert trace.line.color == blue
            elif trace.type == "bar":
                assert dict(zip(trace.x, trace.marker.color, strict=True))["SJF-BCO"] == blue
