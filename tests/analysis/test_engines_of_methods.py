"""Methods with engines other than their default, and programs that an engine refuses."""

from pathlib import Path

import pytest

import schedgap as sg
from schedgap.analysis.runners import runner
from strategies.engines import needs


def test_a_licence_that_is_too_small_is_a_skipped_task(tmp_path: Path) -> None:
    needs("gurobi", licence="limited licence")
    large = sg.generate("hare", preset="small", seed=1, settings={"jobs": 10})  # 3478 rows
    run = sg.compare([large], methods=["big-m@gurobi"], time_limit=20, run=tmp_path / "run")
    (record,) = run.skipped
    assert record.message.startswith("refused: licence") and "rows" in record.message


def test_a_method_runs_with_scip_and_its_optimum_is_confirmed() -> None:
    needs("scip")
    toy = sg.generate("hare", preset="toy")
    solution = sg.solve(toy, "big-m", engine="scip", time_limit=20)
    assert (solution.status, solution.objective, solution.engine) == ("optimal", 8, "scip")
    assert "the same without presolve" in solution.trace["asked_again"]


def test_a_record_names_the_engines_of_child_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("cp-sat")
    toy = sg.generate("dmlrs", preset="toy")
    solution = sg.solve(toy, "exact", time_limit=20)
    assert solution.engine == "highs+cp-sat" and solution.versions["ortools"]
    run = sg.compare([toy], methods=["exact"], time_limit=20, run=tmp_path / "run")
    (record,) = run.records
    assert (record.engine, record.label) == ("highs+cp-sat", "exact")
    monkeypatch.setattr(runner, "is_installed", lambda engine: engine == "highs")
    assert sg.solve(toy, "exact", time_limit=20).engine == "highs"
