"""Engines print nothing, neither through Python nor past it."""

import subprocess
import sys
from pathlib import Path

import pytest
from engine_tasks import OWN

from strategies.engines import needs

HERE = Path(__file__).parent
PAIRS = (
    *OWN,
    *((engine, "array") for engine in ("highs", "gurobi", "scip")),
    ("highs", "pyomo"),
)
SOLVE = """
import sys
sys.path[:0] = {path!r}
import engine_tasks
for case in ("mip", "lp"):
    if (case, {engine!r}) in (("mip", "clarabel"), ("lp", "cp-sat")):
        continue
    result, _ = engine_tasks.run(lambda message: None, {engine!r}, {kind!r}, case, 20)
    assert result.status == "optimal", result
print("mine")
"""


@pytest.mark.parametrize(("engine", "kind"), PAIRS)
def test_an_engine_in_this_process_prints_nothing(engine: str, kind: str) -> None:
    needs(engine)
    program = SOLVE.format(path=[str(HERE), str(HERE.parent)], engine=engine, kind=kind)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("mine\n", "")


def test_what_others_write_after_the_first_engine_is_not_lost() -> None:
    needs("highs")
    program = (
        "import os\n"
        "from schedgap.solvers.engines.highs_native import new_engine\n"
        "os.write(1, b'before\\n'); new_engine({}); new_engine({}); os.write(1, b'after\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "before\nafter\n"


def test_a_process_without_standard_output_can_use_highs() -> None:
    needs("highs")
    program = (
        "import os; os.close(1)\n"
        "from schedgap.solvers.engines.highs_native import new_engine\n"
        "new_engine({}); os.write(2, b'made')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == "made"
