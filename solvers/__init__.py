"""Engines (HiGHS, Gurobi, SCIP, CP-SAT, cvxpy), programs as data, loops, and child processes."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.solvers, not solvers")

from typing import TYPE_CHECKING, Any

from schedgap import lazy
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.availability import engine_status, require
from schedgap.solvers.engines.engine import Engine, Request, reject_option
from schedgap.solvers.engines.registry import ENGINES
from schedgap.solvers.engines.results import STATISTICS, EngineResult
from schedgap.solvers.engines.solve import solve

if TYPE_CHECKING:
    from schedgap.solvers.engines.contract import check_engine as check_engine
    from schedgap.solvers.programs.arrays import LinearProgram as LinearProgram

_LATER = {  # imported on first use, because they load numpy
    "LinearProgram": "schedgap.solvers.programs.arrays:LinearProgram",
    "check_engine": "schedgap.solvers.engines.contract:check_engine",
}

__all__ = [
    "ENGINES",
    "STATISTICS",
    "Clock",
    "Engine",
    "EngineResult",
    "LinearProgram",
    "Request",
    "check_engine",
    "engine_status",
    "reject_option",
    "require",
    "solve",
]

_imported, _names = lazy.attributes(__name__, _LATER)


def __getattr__(name: str) -> Any:
    return _imported(name)
