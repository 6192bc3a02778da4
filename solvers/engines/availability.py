"""Check which engines can be used, and say what to do about the others."""

import importlib.util
import sys
from collections.abc import Callable
from typing import Literal

from schedgap.errors import EngineUnavailableError, UsageError
from schedgap.solvers.engines.results import ENGINES

EngineAvailability = Literal["available", "not installed", "limited licence", "no licence"]

# HiGHS and CP-SAT contain two versions of one shared library: the one that is loaded second fails,
# or silently uses the other version. engine -> (its module, the module it conflicts with)
_CONFLICTS = {
    "highs": ("highspy._core", "ortools.sat"),
    "cp-sat": ("ortools.sat.python.cp_model_helper", "highspy._core"),
}


def is_installed(engine: str) -> bool:
    """Return whether an engine is installed, without importing it.

    Parameters
    ----------
    engine : str
        Name of the engine.
    """
    if engine not in ENGINES:
        raise UsageError(f"no engine '{engine}': choose one of {', '.join(ENGINES)}")
    return importlib.util.find_spec(ENGINES[engine][0]) is not None


def engine_status(engine: str) -> EngineAvailability:
    """Return whether an engine can be used, without importing it into this process.

    Gurobi's licence is tested in a child process: `limited licence` means at most 2000 rows and
    2000 columns, as with the bundled one.

    Parameters
    ----------
    engine : str
        Name of the engine.
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
    """Raise an error that says what to do if an engine is not installed.

    Parameters
    ----------
    engine : str
        Name of the engine.

    Raises
    ------
    EngineUnavailableError
        If it is not installed.
    """
    if not is_installed(engine):
        module, extra = ENGINES[engine]
        target = f"'schedgap[{extra}]'" if extra else module
        raise EngineUnavailableError(f"engine {engine} is not installed: pip install {target}")


def claim(engine: str) -> None:
    """Raise an error that says what to do if this process cannot load an engine.

    Parameters
    ----------
    engine : str
        Name of the engine.

    Raises
    ------
    EngineUnavailableError
        If it is not installed, or conflicts with an engine that is loaded.
    """
    require(engine)
    module, conflicting = _CONFLICTS.get(engine, ("", ""))
    if conflicting in sys.modules and module not in sys.modules:
        raise EngineUnavailableError(
            f"engine {engine} cannot be loaded into a process that has loaded "
            f"{conflicting.partition('.')[0]}: start a new one (schedgap.solve and run_child do)"
        )


def try_gurobi(send: Callable[[object], None]) -> EngineAvailability:
    """Test in a child process whether Gurobi solves more than its bundled licence admits.

    Parameters
    ----------
    send : callable
        Sends a message to the parent process; not used.
    """
    import gurobipy

    try:
        with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
            model.addVars(2001)
            model.optimize()
    except gurobipy.GurobiError as error:
        too_large = gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED
        return "limited licence" if error.errno == too_large else "no licence"
    return "available"
