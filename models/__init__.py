"""The papers, one folder each: programs, algorithms, baselines, bounds and rules."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.models, not models")

from schedgap.models.family import Bar, Chart, Family, families, family
from schedgap.models.method import Budget, Method, MethodResult, Option, RunContext

__all__ = [
    "Bar",
    "Budget",
    "Chart",
    "Family",
    "Method",
    "MethodResult",
    "Option",
    "RunContext",
    "families",
    "family",
]
