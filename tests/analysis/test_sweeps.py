"""Sweeps over settings, and means over a setting."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import toy_family

import schedgap as sg
from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.statistics.sweeps import grid, points
from schedgap.errors import UsageError

# --- grids -----------------------------------------------------------------------------------


def test_a_grid_has_each_combination_once() -> None:
    instances = grid("ring", preset="small", jobs=[3, 4], seed=range(2))
    assert [(len(each.jobs), each.meta["seed"]) for each in instances] == [
        (3, 0), (3, 1), (4, 0), (4, 1)
    ]  # fmt: skip
    single = sg.generate("ring", preset="small", seed=1, settings={"jobs": 4})
    assert instances[3].to_data() == single.to_data()
    assert len({each.name for each in instances}) == 4


@pytest.mark.parametrize(
    "jobs", [range(2, 4), np.array([2, 3]), pd.Series([2, 3]), [np.int64(2), 3]]
)
def test_what_is_swept(jobs: Any) -> None:
    assert [len(each.jobs) for each in grid("hare", preset="small", jobs=jobs)] == [2, 3]


def test_a_tuple_is_one_value() -> None:
    assert len(grid("ring", preset="paper", jobs=2, horizon=[50, 60])) == 2
    options = sg.generate("ring", preset="paper", settings={"jobs": 2}).meta["settings"]
    assert options == {"jobs": 2}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"jobs": []}, "jobs: need at least one value"),
        ({"seed": []}, "seed: need at least one value"),
        ({"jobs": range(1, 200), "seed": range(100)}, "19900 combinations of settings"),
        ({"jobs": range(1, 10**15)}, "combinations of settings: need at most 10000"),
        ({"seed": range(10**15)}, "combinations of settings: need at most 10000"),
        ({"seed": itertools.count()}, "combinations of settings: need at most 10000"),
        ({"seed": None}, "seed None: need an integer or several"),
        ({"jbos": [1]}, "preset small has no setting 'jbos'"),
        ({"jobs": ["x"]}, "option jobs=x: need"),
    ],
)
def test_wrong_grids(settings: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        grid("ring", preset="small", **settings)


# --- means over a setting --------------------------------------------------------------------


def drawn(values: list[float], jobs: int, seed: int, **more: Any) -> Any:
    data = toy_family.toy(*values, name=f"t{jobs}-{seed}").to_data()
    meta = {"preset": "drawn", "seed": seed, "settings": {"jobs": jobs, **more}}
    return toy_family.ToyInstance.from_data(data | {"meta": meta})


@pytest.fixture
def run(tmp_path: Path) -> Run:
    instances = [
        drawn([6, 3], 10, 1),
        drawn([8, 1], 10, 2, kind="odd"),
        drawn([3, 3], 20, 1),
        toy_family.toy(4, 2, name="by hand"),
    ]
    return compare(instances, run=tmp_path / "r", methods=["scan", "first", "weak"], workers=1)


def test_settings_are_columns_of_the_table(run: Run) -> None:
    table = run.table().drop_duplicates("instance").set_index("instance")
    assert table["jobs"].astype(float).to_dict() == pytest.approx(
        {"t10-1": 10, "t10-2": 10, "t20-1": 20, "by hand": float("nan")}, nan_ok=True
    )
    assert table["instance_seed"].dropna().tolist() == [1, 2, 1]
    assert table["kind_setting"].dropna().tolist() == ["odd"]  # `kind` is the method's
    assert set(table["kind"]) == {"exact"}


def test_settings_that_were_not_given_have_the_default(tmp_path: Path) -> None:
    instances = [
        sg.generate("hare", preset="small", seed=1),
        sg.generate("hare", preset="small", seed=2, settings={"jobs": 2}),
    ]
    found = compare(instances, run=tmp_path / "r", methods=["srtf"], workers=1).table()
    usual = len(instances[0].jobs)  # type: ignore[attr-defined]
    assert sorted(found["jobs"]) == sorted([usual, 2]) and usual != 2


@pytest.mark.parametrize("meta", [{"preset": 3}, {"preset": "small", "settings": [1]}, {"preset":
                         "no such", "settings": {"jobs": [1, {}], "x": 2}}])  # fmt: skip
def test_foreign_meta_does_no_harm(tmp_path: Path, meta: Any) -> None:
    data = toy_family.toy(2, 1).to_data() | {"meta": meta}
    instance = toy_family.ToyInstance.from_data(data)
    table = compare(instance, run=tmp_path / "r", methods=["scan"], workers=1).table()
    assert table["status"].tolist() == ["optimal"] and "jobs" not in table


def test_means_are_those_of_single_instances(run: Run) -> None:
    table = points(run, "jobs").set_index(["method", "jobs"])
    assert table.loc[("first", 10), "high"] == pytest.approx((2 * 8) ** 0.5)
    assert table.loc[("first", 10), ["least", "most", "n", "of"]].tolist() == [2, 8, 2, 2]
    assert table.loc[("first", 20), "high"] == 1.0 and table.loc[("scan", 10), "low"] == 1.0
    assert ("weak", 10) not in table.index  # a bound has no schedule
    means = points(run, "jobs", "objective").set_index(["method", "jobs"])["high"]
    assert means["first", 10] == 7.0 and means["scan", 10] == 2.0
    single = points(run, "jobs", color="instance_seed", methods=["first"])
    rows = single[["instance_seed", "jobs", "high"]].to_numpy(float)
    assert rows == pytest.approx(np.array([[1, 10, 2.0], [2, 10, 8.0], [1, 20, 1.0]]))


def test_means_are_over_common_instances(tmp_path: Path) -> None:
    instances = [drawn([6, 3], 10, 1), drawn([8, 1], 10, 2), drawn([5, 1], 10, 3)]
    folder = tmp_path / "r"
    compare(instances, run=folder, methods=["first"], workers=1)
    found = compare(instances[:2], run=folder, methods=["scan"], workers=1)
    table = points(found, "jobs").set_index("method")
    assert table["n"].to_dict() == {"scan": 2, "first": 2} and set(table["of"]) == {3}
    assert table.loc["first", "most"] == 8.0


def test_a_ratio_without_a_bound_is_open(tmp_path: Path) -> None:
    found = compare(drawn([6, 3], 10, 1), run=tmp_path / "r", methods=["first"], workers=1)
    (row,) = points(found, "jobs").to_dict("records")
    assert row["low"] == 1.0 and np.isinf(row["high"])
    (trace,) = found.plot("jobs").data
    assert list(trace.y) == [1.0] and list(trace.marker.symbol) == ["triangle-up-open"]
    assert trace.customdata[0][0] == ">= 1"


def test_the_figure_shows_the_means_and_their_range(run: Run, tmp_path: Path) -> None:
    figure = run.plot("jobs", methods=["first"])
    (trace,) = figure.data
    assert trace.name == "first" and list(trace.x) == [10, 20]
    assert list(trace.y) == pytest.approx([4, 1]) and list(trace.error_y.array) == [4, 0]
    assert list(trace.error_y.arrayminus) == pytest.approx([2, 0])
    assert figure.layout.xaxis.title.text == "jobs"
    assert run.plot("jobs", "seconds").layout.yaxis.type == "log"
    assert figure.save(tmp_path / "jobs.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"x": "jbos"}, "no column 'jbos'.*did you mean 'jobs'"),
        ({"x": "jobs", "y": "rato"}, "y 'rato': choose one of ratio, objective, seconds"),
        ({"x": "jobs", "color": "colour"}, "no column 'colour'"),
        ({"x": "load"}, "column 'load' has no values"),
    ],
)
def test_wrong_plots(run: Run, arguments: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run.plot(**arguments)


def test_a_column_with_several_values_is_refused(tmp_path: Path) -> None:
    instance = drawn([6, 3], 10, 1)
    for seed in (1, 2):
        found = compare(instance, run=tmp_path / "r", methods=["luck"], workers=1, seed=seed)
    with pytest.raises(UsageError, match="column 'session' has several values for one instance"):
        found.plot("session")
