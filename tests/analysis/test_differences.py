"""What differs between two runs: each changed fact, tasks of one run alone, and times."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from toy_family import toy

from schedgap import show
from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.differences import differences
from schedgap.analysis.comparing.run import Run


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two equal runs of two methods on one instance."""
    first, second = tmp_path / "first", tmp_path / "second"
    compare(toy(15, 10), run=first, methods=["scan", "first"], workers=1, time_limit=20)
    shutil.copytree(first, second)
    return first, second


def change(folder: Path, method: str, **facts: Any) -> None:
    for file in (folder / "tasks").glob("[!.]*.json"):
        record = json.loads(file.read_text())
        if record["method"] == method:
            record["solution"] |= facts
            file.write_text(json.dumps(record))


def test_equal_runs_do_not_differ(runs: tuple[Path, Path]) -> None:
    found = differences(Run(runs[0]), Run(runs[1]))
    assert (len(found.rows), found.common, found.only) == (0, 2, (0, 0))


def test_each_changed_fact_is_a_row(runs: tuple[Path, Path], capsys: Any) -> None:
    change(runs[1], "first", objective=16.0)
    change(runs[1], "scan", status="feasible", bound=9.0)
    found = differences(Run(runs[0]), Run(runs[1]))
    rows = {(row.method, row.what): (row.first, row.second) for row in found.rows.itertuples()}
    assert rows == {
        ("first", "objective"): (15.0, 16.0),
        ("scan", "status"): ("optimal", "feasible"),
        ("scan", "bound"): (10.0, 9.0),
    }
    show.differences(found, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["common"] == 2 and len(document["differences"]) == 3
    show.differences(found, as_json=False)
    assert "2 tasks in both runs, 3 differences" in capsys.readouterr().out


def test_tasks_of_one_run_and_times_are_told_apart(runs: tuple[Path, Path]) -> None:
    change(runs[0], "scan", seconds=2.0)
    change(runs[1], "scan", seconds=1.0)
    change(runs[0], "first", seconds=0.001)
    for file in (runs[1] / "tasks").glob("[!.]*.json"):
        if json.loads(file.read_text())["method"] == "first":
            file.unlink()
    found = differences(Run(runs[0]), Run(runs[1]))
    assert (found.common, found.only, found.timed) == (1, (1, 0), 1)
    assert found.time == pytest.approx(0.5)


def test_a_task_that_is_short_in_one_run_is_not_timed(runs: tuple[Path, Path]) -> None:
    for method, before, after in (("scan", 0.05, 5.0), ("first", 0.2, 0.4)):
        change(runs[0], method, seconds=before)
        change(runs[1], method, seconds=after)
    found = differences(Run(runs[0]), Run(runs[1]))
    assert (found.timed, found.time) == (1, pytest.approx(2.0))


def test_of_several_records_one_that_ended_counts(runs: tuple[Path, Path]) -> None:
    """The second run has another record of each task that was stopped, with a worse bound."""
    for number, file in enumerate(sorted((runs[1] / "tasks").glob("[!.]*.json"))):
        data = json.loads(file.read_text())
        key = f"{number:032x}-{data['key'][-12:]}"
        data["solution"] |= {"bound": 8.0, "status": "feasible"}
        data |= {"key": key, "task": "0" * 32, "outcome": "timeout"}
        (runs[1] / "tasks" / f"{key}.json").write_text(json.dumps(data))
    found = differences(Run(runs[0]), Run(runs[1]))
    assert (len(found.rows), found.common) == (0, 2)
