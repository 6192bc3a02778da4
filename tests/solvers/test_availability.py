"""Tests of `schedgap.solvers.engines.availability`."""

import subprocess
import sys
from dataclasses import replace

import pytest

from schedgap.errors import EngineUnavailableError, UsageError
from schedgap.solvers import ENGINES, engine_status, require
from schedgap.solvers.engines.availability import is_installed


def test_no_engine_is_imported_to_ask_for_it() -> None:
    code = (
        "import sys; from schedgap.solvers import ENGINES, engine_status;"
        "print([engine_status(name) for name in ENGINES]);"
        "print([m for m in ('highspy', 'gurobipy', 'ortools', 'cvxpy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[1] == "[]" and "'available'" in run.stdout


def test_highs_is_always_there_and_unknown_engines_are_refused() -> None:
    assert engine_status("highs") == "available"
    require("highs")
    with pytest.raises(UsageError, match="no engine 'cplex': choose one of highs"):
        require("cplex")


def test_a_missing_engine_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = replace(ENGINES["cp-sat"], module="no_such_module")
    monkeypatch.setitem(ENGINES._known, "cp-sat", absent)
    assert engine_status("cp-sat") == "not installed" and not is_installed("cp-sat")
    with pytest.raises(EngineUnavailableError, match=r"pip install 'schedgap\[cp-sat\]'") as caught:
        require("cp-sat")
    assert caught.value.exit_code == 5
