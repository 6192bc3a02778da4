"""Engines (HiGHS, Gurobi, CP-SAT, cvxpy), programs as data, loops, and child processes."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.solvers, not solvers")

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.availability import engine_status, require
from schedgap.solvers.engines.results import ENGINES, EngineResult
from schedgap.solvers.engines.solve import solve

__all__ = ["ENGINES", "Clock", "EngineResult", "engine_status", "require", "solve"]
