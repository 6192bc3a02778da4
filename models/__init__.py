"""The papers, one folder each: programs, algorithms, baselines, bounds, rules, and paper facts."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.models, not models")

from schedgap.models.family import Bar, Chart, Family, families, family
from schedgap.models.method import Call, Method, Option, Outcome

__all__ = [
    "Bar",
    "Call",
    "Chart",
    "Family",
    "Method",
    "Option",
    "Outcome",
    "families",
    "family",
]
