"""The linear relaxation over starts and modes as it is: the prices of its rows, and their bound."""

import math
from collections.abc import Mapping
from typing import Any

from schedgap.instances.edge import EdgeInstance
from schedgap.models.certificates import dense, sparse
from schedgap.models.edge.decisions import problem
from schedgap.models.edge.programs import time_indexed, time_indexed_arrays
from schedgap.solvers.programs.arrays import Floats, safe_bound

MOST_COLUMNS, MOST_ENTRIES = 1_000_000, 100_000_000  # of the program that `lp-mode` is about


def certificate(duals: Floats) -> dict[str, Any]:
    """Return the prices of the rows of `time_indexed_arrays`, by row, as plain JSON data."""
    return {
        "kind": "lp-mode",
        "rows": len(duals),
        "duals": sparse(duals),
    }


def certified(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return what prices of the rows of all groups' program prove, by weak duality."""
    if reason := too_large(instance):
        raise ValueError(reason)
    view = problem(instance)
    program = time_indexed_arrays.build(view, list(view.groups()), orders=False).program
    rows = len(program.row_lower)
    if data["rows"] != rows:
        raise ValueError(f"rows: the program has {rows}")
    return float(math.ceil(safe_bound(program, dense(data["duals"], rows)) - 1e-6))


def too_large(instance: EdgeInstance) -> str | None:
    """Return why the program over starts and modes cannot be had as arrays, or None."""
    columns = time_indexed.size(instance)
    if columns > MOST_COLUMNS:
        return f"too large: {columns} columns, at most {MOST_COLUMNS}"
    view = problem(instance)
    entries = len(view.workers) * sum(
        len(view.starts(task, k)) * mode.duration
        for task in view.tasks
        for k, mode in enumerate(task.modes)
    )
    if entries > MOST_ENTRIES:
        return f"too large: {entries} entries, at most {MOST_ENTRIES}"
    return None
