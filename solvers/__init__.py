"""Engines (HiGHS, Gurobi, CP-SAT, cvxpy), programs as data, loops, and child processes."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.solvers, not solvers")

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.availability import engine_status, require
from schedgap.solvers.engines.engine import Engine, Request
from schedgap.solvers.engines.registry import ENGINES
from schedgap.solvers.engines.results import STATISTICS, EngineResult
from schedgap.solvers.engines.solve import solve

__all__ = [
    "ENGINES",
    "STATISTICS",
    "Clock",
    "Engine",
    "EngineResult",
    "Request",
    "engine_status",
    "require",
    "solve",
]
