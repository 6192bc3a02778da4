"""Which engines can be used here, and what to do about one that cannot."""

import importlib.util
import sys
from typing import Any, Literal

from schedgap.errors import EngineUnavailableError, UsageError
from schedgap.solvers.engines.results import ENGINES

EngineAvailability = Literal["available", "not installed", "limited licence", "no licence"]

# HiGHS and CP-SAT carry two versions of one shared library: whichever comes second fails to load,
# or is silently replaced by another solver. cvxpy loads HiGHS. engine -> (its library, the rival's)
_RIVALS = {
    "highs": ("highspy._core", "ortools.sat"),
    "cp-sat": ("ortools.sat.python.cp_model_helper", "highspy._core"),
}


def is_installed(engine: str) -> bool:
    """Return whether an engine's library is there, without importing it."""
    if engine not in ENGINES:
        raise UsageError(f"no engine '{engine}': choose one of {', '.join(ENGINES)}")
    return importlib.util.find_spec(ENGINES[engine][0]) is not None


def engine_status(engine: str) -> EngineAvailability:
    """Return what an engine can be used for, without importing it into this process.

    Gurobi is asked in a child process: with its bundled licence it takes 2000 rows and 2000
    columns (`limited licence`); `no licence` when it takes nothing.
    """
    if not is_installed(engine):
        return "not installed"
    if engine != "gurobi":
        return "available"
    from schedgap.solvers.children.processes import run_child

    reply = run_child("schedgap.solvers.engines.availability:try_gurobi", limit=10, engine="gurobi")
    status: EngineAvailability = reply.value if reply.outcome == "done" else "no licence"
    return status


def require(engine: str) -> None:
    """Raise EngineUnavailableError, which says what to do, when an engine is not installed."""
    if not is_installed(engine):
        module, extra = ENGINES[engine]
        target = f"'schedgap[{extra}]'" if extra else module
        raise EngineUnavailableError(f"engine {engine} is not installed: pip install {target}")


def claim(engine: str) -> None:
    """Make sure that this process can load an engine; EngineUnavailableError says what to do."""
    require(engine)
    own, rival = _RIVALS.get(engine, ("", ""))
    if rival in sys.modules and own not in sys.modules:
        raise EngineUnavailableError(
            f"engine {engine} cannot be loaded into a process that has loaded "
            f"{rival.partition('.')[0]}: start a new one (schedgap.solve and run_child do)"
        )


def try_gurobi(send: Any) -> EngineAvailability:
    """Ask Gurobi, in a child process, for more than its bundled licence admits."""
    import gurobipy

    try:
        with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
            model.addVars(2001)
            model.optimize()
    except gurobipy.GurobiError as error:
        too_large = gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED
        return "limited licence" if error.errno == too_large else "no licence"
    return "available"
