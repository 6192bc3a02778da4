"""Every paper's figures: all that they name can be run, and each number has a bound."""

from collections.abc import Callable
from pathlib import Path

import pytest

from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.evaluations import experiments
from schedgap.analysis.solving.choices import Choice
from schedgap.models.dmlrs import figures as dmlrs
from schedgap.models.edge import figures as edge
from schedgap.models.elastic import figures as elastic
from schedgap.models.family import family
from schedgap.models.figure import Experiment
from schedgap.models.hare import figures as hare

TINY: dict[str, Callable[[], list[Experiment]]] = {
    "dmlrs": lambda: dmlrs.experiments(
        (1,), jobs=(2, 3), machines=(2, 3), long_machines=(2, 3), long_jobs=3
    ),
    "edge": lambda: edge.experiments(
        seeds=(1,), sizes=(2, 3), usual=2, small_jobs=(2, 3), quick=True
    ),
    "elastic": lambda: elastic.experiments(quick=True, seeds=(1,), jobs=(2, 3), servers=(4, 5)),
    "hare": lambda: hare.experiments(seeds=(1,), gpus=(3, 4), jobs=(4, 20), testbed_jobs=2),
}
RUN = {"dmlrs": ("8", "10"), "edge": ("12",), "elastic": ("4", "8"), "hare": ("12",)}


def test_every_family_has_its_figures_under_names_of_their_own() -> None:
    for each in map(family, [*TINY, "ring"]):
        found = experiments.suite(f"{each.name}-figures")
        assert found and all(figure.family == each.name for figure in found.values())
        assert each.experiments is not None and len(found) == len(each.experiments())


def _full_elastic() -> list[Experiment]:
    return elastic.experiments(seeds=(1,), jobs=(2, 3), servers=(4, 5))


@pytest.mark.parametrize("make", [*TINY.values(), _full_elastic])
def test_what_a_figure_names_is_there(make: Callable[[], list[Experiment]]) -> None:
    for experiment in make():
        assert {point.series for point in experiment.points} == set(experiment.series)
        for point in experiment.points:
            for text in (point.method, *experiment.brackets):
                named = Choice.read(text).runner(point.instance)
                assert named.method.unsupported_reason(point.instance) is None, (
                    experiment.figure,
                    text,
                )


def test_what_is_varied_varies() -> None:
    """Of each figure at least one number of its instances, or the method, follows the axis."""
    for name, make in TINY.items():
        for experiment in make():
            if experiment.series == (experiment.x,):
                continue  # bars: one instance, a method each
            axis = {point.x for point in experiment.points}
            for series in experiment.series:
                seen = {
                    (point.instance.sha256, point.method)
                    for point in experiment.points
                    if point.series == series
                }
                # one value for the whole axis: a line to compare with
                assert len(seen) in (1, len(axis)), (name, experiment.figure, series)
                assert len(seen) > 1 or len(experiment.series) > 1, (name, experiment.figure)


@pytest.mark.parametrize("name", TINY)
def test_a_bound_and_the_best_lie_beside_every_number(name: str, tmp_path: Path) -> None:
    chosen = [each for each in TINY[name]() if each.figure in RUN[name] and not each.setting]
    run = compare(chosen, run=tmp_path, workers=1, time_limit=2)
    outside = {record.label for record in run.records if record.relaxed}
    for experiment in chosen:
        rows = experiments.rows(run, experiment)
        assert {row.measure for row in rows} == {
            experiment.objective, *experiment.metrics, *experiment.measures
        }  # fmt: skip
        value = {
            (row.x, row.series): row.value for row in rows if row.measure == experiment.objective
        }
        for point in experiment.points:
            low, high = value[point.x, experiments.BOUND], value[point.x, experiments.BEST]
            if family(name).sense(point.instance) == "max":
                low, high = -low, -high
            own = value.get((point.x, point.series))
            assert low <= high + 1e-9
            if own is not None and point.method not in outside:
                own = -own if family(name).sense(point.instance) == "max" else own
                assert high <= own + 1e-9
