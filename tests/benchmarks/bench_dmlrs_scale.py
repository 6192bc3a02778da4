"""Bounds and schedules of family `dmlrs` at the paper's scale: value, seconds and memory.

The first argument is the time of `colgen-heuristic`, 120 s unless given.
"""

import sys

from rich.console import Console
from scale import Row, table

import schedgap as sg
from schedgap.models.dmlrs import rules

# jobs, slots, machines, seeds
SIZES = (
    (50, 20, 100, (1, 2, 3)),
    (50, 20, 10, (1,)),
    (50, 20, 30, (1,)),
    (50, 20, 50, (1,)),
    (100, 80, 30, (1,)),
    (100, 80, 50, (1,)),
)


def main(seconds: float) -> None:
    """Print one table for each instance."""
    rows: tuple[Row, ...] = (
        ("fluid-lp", {}, None),
        ("colgen", {}, seconds),
        ("fifo", {}, None),
        ("drf", {}, None),
        ("oasis", {}, None),
        ("pd-ors-greedy", {}, None),
        ("density", {}, None),
        ("colgen-heuristic", {"moves": 1_000_000}, seconds),
    )
    for jobs, horizon, machines, seeds in SIZES:
        for seed in seeds:
            settings: dict[str, object] = {"jobs": jobs, "horizon": horizon, "machines": machines}
            instance = sg.generate("dmlrs", preset="paper", seed=seed, settings=settings)
            Console(width=120).print(table(instance, rows, rules))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 120.0)
