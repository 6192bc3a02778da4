"""What the clock of a task counts: the method itself, and neither imports nor repeated solves."""

import json
import shutil
from pathlib import Path

import pytest

import schedgap as sg
from schedgap.analysis.comparing.run import Run
from schedgap.solvers.children.processes import close_children


@pytest.fixture(scope="module")
def run() -> Run:
    toy = sg.generate("hare", preset="toy")
    methods = ["sched-allox", "big-m", "exact", "fluid-lp"]
    return sg.compare([toy], methods=methods, workers=1, time_limit=60)


def test_one_run_of_an_engine_divides_the_seconds(run: Run) -> None:
    times = run.table().set_index("method")
    program = times.loc["big-m"]
    assert 0 < program["engine_seconds"] < program["seconds"]
    assert program["build_seconds"] + program["engine_seconds"] == pytest.approx(
        program["seconds"], abs=1e-5
    )
    assert program["engine_cpu_seconds"] > 0 and program["verify_seconds"] > 0


def test_a_repeated_solve_is_in_no_other_time(run: Run) -> None:
    (record,) = [each for each in run.records if each.method == "big-m"]
    assert record.solution is not None and "asked_again" in record.solution.trace
    assert record.confirm_seconds is not None and record.confirm_seconds > 0


def test_several_runs_of_engines_leave_no_building(run: Run) -> None:
    times = run.table().set_index("method")
    assert times["build_seconds"].isna()["exact"]
    assert times["engine_seconds"].isna()["sched-allox"]


def test_a_module_that_an_own_rule_imports_is_not_on_its_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first task of a process is charged for its imports no more than the second."""
    instances = [sg.generate("hare", preset="small", seed=seed) for seed in (1, 2)]
    plans = {each.name: sg.solve(each, "sched-homo").schedule for each in instances}
    (tmp_path / "loaded_late.py").write_text(f"import time\ntime.sleep(1.5)\nPLANS = {plans}\n")
    (tmp_path / "late.py").write_text(
        "def rule(instance):\n    import loaded_late\n    return loaded_late.PLANS[instance.name]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    close_children()
    run = sg.compare(instances, methods=[f"{tmp_path}/late.py:rule"], workers=1, time_limit=0.2)
    assert [record.outcome for record in run.records] == ["done", "done"], run.records[0].message
    loads = sorted(record.load_seconds or 0.0 for record in run.records)
    assert loads[1] > 1.5 and all(record.solution.seconds < 0.2 for record in run.records)


def test_times_of_older_records_are_marked(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folders[0].path, tmp_path, dirs_exist_ok=True)
    for record in run.records:
        data = json.loads(run.file(record).read_text())
        times = [key for key in data if key.endswith("_seconds") and key != "cpu_seconds"]
        for key in times:
            del data[key]
        data |= {"version": 2, "start_seconds": 0.25}
        (tmp_path / "tasks" / f"{data['key']}.json").write_text(json.dumps(data))
    old = Run(tmp_path)
    assert old.table()["load_seconds"].tolist() == [0.25] * 4
    marked = (
        "4 results are of an older version: the seconds include imports and the confirmation of "
        "answers"
    )
    assert marked in old.time_warnings and marked not in run.time_warnings
