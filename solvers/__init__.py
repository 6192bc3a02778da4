"""Engines (HiGHS, Gurobi, SCIP, CP-SAT, cvxpy), programs as data, loops, and child processes."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.solvers, not solvers")

from typing import TYPE_CHECKING

from schedgap import lazy
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.availability import engine_status, require
from schedgap.solvers.engines.engine import Engine, Request, reject_option
from schedgap.solvers.engines.registry import ENGINES
from schedgap.solvers.engines.results import STATISTICS, EngineResult

if TYPE_CHECKING:  # they load NumPy, which reading and verifying a file can do without
    from schedgap.solvers.engines.contract import check_engine as check_engine
    from schedgap.solvers.engines.solve import solve as solve
    from schedgap.solvers.programs.arrays import LinearProgram as LinearProgram
else:
    __getattr__, __dir__ = lazy.attributes(__name__)

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
