"""The papers, one folder each: programs, algorithms, baselines, bounds and rules."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.models, not models")

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

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


class _Models(ModuleType):
    """This package, which `schedgap.models(...)` calls to list the programs of the families."""

    if not TYPE_CHECKING:

        def __call__(self, of: Any = None) -> Any:
            """Call `schedgap.analysis.pages.listing.models`, which says more."""
            return import_module("schedgap.analysis.pages.listing").models(of)


sys.modules[__name__].__class__ = _Models
