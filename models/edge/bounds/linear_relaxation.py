"""Certificates `lp-mode`: dual prices of the rows of the time-indexed program, evaluated again.

The method that produced them is now `cg-bound`, whose relaxation has the same optimum; stored
certificates remain checkable. Weak duality holds for any prices, so the bound needs no engine.

References
----------
A. Neumaier, O. Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99 (2004).
"""

import math
from collections.abc import Mapping
from typing import Any

from schedgap.instances.edge import EdgeInstance
from schedgap.models.certificates import dense
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.programs import time_indexed
from schedgap.solvers.programs.arrays import safe_bound

MAX_COLUMNS, MAX_ENTRIES = 1_000_000, 100_000_000  # of the program


def certified_bound(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that prices of the rows prove, by weak duality.

    `data`: `rows`, the number of rows, and `duals`, pairs of row and price.

    Raises
    ------
    ValueError
        If the program is too large or has another number of rows.
    """
    if reason := _too_large(instance):
        raise ValueError(reason)
    program = time_indexed.build(instance, symmetry=False).program
    rows = len(program.row_lower)
    if data["rows"] != rows:
        raise ValueError(f"rows: the program has {rows}")
    return float(math.ceil(safe_bound(program, dense(data["duals"], rows)) - 1e-6))


def _too_large(instance: EdgeInstance) -> str | None:
    """Return why the program is too large to be built, or None."""
    columns = time_indexed.size(instance)
    if columns > MAX_COLUMNS:
        return f"too large: {columns} columns, at most {MAX_COLUMNS}"
    view = compiled(instance)
    entries = len(view.workers) * sum(
        len(view.starts(task, k)) * mode.duration
        for task in view.tasks
        for k, mode in enumerate(task.modes)
    )
    if entries > MAX_ENTRIES:
        return f"too large: {entries} entries, at most {MAX_ENTRIES}"
    return None
