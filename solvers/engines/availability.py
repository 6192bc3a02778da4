"""Check which engines can be used, and say what to do about the others."""

import importlib.util
import sys
from collections.abc import Callable
from typing import Literal

from schedgap.errors import EngineUnavailableError
from schedgap.solvers.engines.registry import find_engine

EngineAvailability = Literal["available", "not installed", "limited licence", "no licence"]


def is_installed(engine: str) -> bool:
    """Return whether an engine is installed, without importing it."""
    return importlib.util.find_spec(find_engine(engine).module.partition(".")[0]) is not None


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
        todo = find_engine(engine).how_to_install()
        raise EngineUnavailableError(f"engine {engine} is not installed: {todo}")


def require_loadable(engine: str) -> None:
    """Raise an error that says what to do if this process cannot load an engine.

    Raises
    ------
    EngineUnavailableError
        If it is not installed, or conflicts with an engine that is loaded.
    """
    require(engine)
    conflicting, library = find_engine(engine).conflicts, find_engine(engine).library
    if conflicting in sys.modules and library not in sys.modules:
        raise EngineUnavailableError(
            f"engine {engine} cannot be loaded into a process that has loaded "
            f"{conflicting.partition('.')[0]}: start a new one (schedgap.solve and run_child do)"
        )


def try_gurobi(send: Callable[[object], None]) -> EngineAvailability:
    """Test in a child process whether Gurobi solves more than its bundled licence admits.

    `send`: sends a message to the parent process; not used.
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
