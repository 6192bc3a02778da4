"""Check which engines can be used, and say what to do about the others."""

import importlib.util
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Literal

from schedgap.errors import EngineUnavailableError
from schedgap.solvers.engines.registry import find_engine

EngineAvailability = Literal[
    "available", "not installed", "cannot be loaded", "limited licence", "no licence"
]


def is_installed(engine: str) -> bool:
    """Return whether an engine is installed, without importing it."""
    return importlib.util.find_spec(find_engine(engine).module.partition(".")[0]) is not None


def engine_status(engine: str) -> EngineAvailability:
    """Return whether an engine can be used, without importing it into this process.

    A child process imports the engine. Gurobi's licence is tested there: `limited licence` means at
    most 2000 rows and 2000 columns, as with the bundled one.

    Parameters
    ----------
    engine : str
        Name of the engine.
    """
    if not is_installed(engine):
        return "not installed"
    from schedgap.solvers.children.processes import run_child

    module = find_engine(engine).module
    reply = run_child(f"{__name__}:try_engine", engine, module, limit=10, engine=engine)
    if reply.outcome != "done":
        return "no licence" if engine == "gurobi" else "cannot be loaded"
    status: EngineAvailability = reply.value
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
        If it is not installed, its module cannot be imported, or it conflicts with an engine that
        is loaded.
    """
    require(engine)
    conflicting, library = find_engine(engine).conflicts, find_engine(engine).library
    if conflicting in sys.modules and library not in sys.modules:
        raise EngineUnavailableError(
            f"engine {engine} cannot be loaded into a process that has loaded "
            f"{conflicting.partition('.')[0]}: start a new one (schedgap.solve and run_child do)"
        )

    fault = _import_fault(find_engine(engine).module)
    if fault:
        raise EngineUnavailableError(f"engine {engine} cannot be loaded: {fault}")


def _import_fault(module: str) -> str:
    """Import a module; return in one line why that fails, or nothing."""
    try:
        import_module(module)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # noqa: BLE001 - code of another package
        lines = (line.strip() for line in str(error).splitlines())
        return next(filter(None, lines), type(error).__name__)
    return ""


def try_engine(send: Callable[[object], None], engine: str, module: str) -> EngineAvailability:
    """Import an engine in this (child) process, and test the licence of Gurobi.

    `send`: sends a message to the parent process; not used. `module`: what to import.
    """
    if _import_fault(module):
        return "cannot be loaded"
    return _gurobi_status() if engine == "gurobi" else "available"


def _gurobi_status() -> EngineAvailability:
    """Return whether Gurobi solves more than its bundled licence admits."""
    import gurobipy

    try:
        with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
            model.addVars(2001)
            model.optimize()
    except gurobipy.GurobiError as error:
        too_large = gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED
        return "limited licence" if error.errno == too_large else "no licence"
    return "available"
