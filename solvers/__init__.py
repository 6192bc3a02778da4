"""Engines: HiGHS, Gurobi, CP-SAT, cvxpy. They know programs, statuses and limits; never a job."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.solvers, not solvers")

from schedgap.solvers.availability import engine_status, require
from schedgap.solvers.clock import Clock
from schedgap.solvers.engine import ENGINES, EngineResult
from schedgap.solvers.solve import solve

__all__ = ["ENGINES", "Clock", "EngineResult", "engine_status", "require", "solve"]
