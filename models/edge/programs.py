"""The programs that `schedgap export` writes, by the name of the method that solves them."""

from collections.abc import Callable, Mapping
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.edge import EdgeInstance

MOST_RUNS = 50_000  # columns of (4) that a file may have


def milp_literal(instance: EdgeInstance) -> Any:
    """Return (2) row by row, or (3) for a batch."""
    from schedgap.models.edge import program_literal

    return program_literal.build(instance)


def milp_mode(instance: EdgeInstance) -> Any:
    """Return (2), or (3) for a batch, over starts and modes."""
    from schedgap.models.edge import program_mode

    return program_mode.build(instance)


def set_packing(instance: EdgeInstance) -> Any:
    """Return (4), with the objective of (2) unless the instance is a batch."""
    from schedgap.models.edge import program_packing
    from schedgap.models.edge.placements import count_runs
    from schedgap.models.edge.problem import problem

    count = count_runs(problem(instance), MOST_RUNS)
    if count > MOST_RUNS:
        raise UsageError(f"set-packing: {count} runs or more, at most {MOST_RUNS}")
    return program_packing.build(instance)


PROGRAMS: Mapping[str, Callable[[EdgeInstance], Any]] = {
    "milp-literal": milp_literal,
    "milp-mode": milp_mode,
    "set-packing": set_packing,
    "batch-milp": milp_mode,
    "batch-ilp4": set_packing,
}
