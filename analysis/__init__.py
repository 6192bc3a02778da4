"""Verify, solve, compare, gaps with certificates, report."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.analysis, not analysis")

from schedgap.analysis.listing import methods
from schedgap.analysis.solution import Solution, load_solution
from schedgap.analysis.solving import solve
from schedgap.analysis.verifying import verify

__all__ = ["Solution", "load_solution", "methods", "solve", "verify"]
