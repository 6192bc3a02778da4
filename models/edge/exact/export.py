"""The programs that `schedgap export` writes, by the name of the method that solves them."""

from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.decisions import problem
from schedgap.models.edge.placements import count_runs
from schedgap.models.edge.programs import columns, printed, time_indexed

MOST_RUNS = 50_000  # columns of (4) that a file may have


def milp_literal(instance: EdgeInstance) -> Any:
    """Return (2) row by row, or (3) for a batch."""
    return printed.build(instance)


def milp_mode(instance: EdgeInstance) -> Any:
    """Return (2), or (3) for a batch, over starts and modes."""
    return time_indexed.build(instance)


def set_packing(instance: EdgeInstance) -> Any:
    """Return (4), with the objective of (2) unless the instance is a batch."""
    count = count_runs(problem(instance), MOST_RUNS)
    if count > MOST_RUNS:
        raise UsageError(f"set-packing: {count} runs or more, at most {MOST_RUNS}")
    return columns.build(instance)
