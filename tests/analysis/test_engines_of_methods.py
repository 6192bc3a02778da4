"""Methods with engines other than their default, and programs that an engine refuses."""

from pathlib import Path

import schedgap as sg
from strategies.engines import needs


def test_a_licence_that_is_too_small_is_a_skipped_task(tmp_path: Path) -> None:
    needs("gurobi", licence="limited licence")
    medium = sg.generate("hare", preset="medium", seed=1)
    run = sg.compare([medium], methods=["big-m@gurobi"], time_limit=20, run=tmp_path / "run")
    (record,) = run.skipped
    assert record.message.startswith("refused: licence") and "rows" in record.message


def test_a_method_runs_with_scip_and_its_optimum_is_confirmed() -> None:
    needs("scip")
    toy = sg.generate("hare", preset="toy")
    solution = sg.solve(toy, "big-m", engine="scip", time_limit=20)
    assert (solution.status, solution.objective, solution.engine) == ("optimal", 8, "scip")
    assert "the same without presolve" in solution.trace["asked_again"]
