"""Bounds and schedules of family `hare` at the paper's scale: value, seconds and memory.

Run by `make bench`, or alone: `python tests/benchmarks/bench_hare_scale.py [JOBS ...]`. A schedule
is divided by the best bound of the table: an upper limit of its ratio to the optimum.
"""

import sys
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from schedgap.analysis.attempts import Attempt, attempt, plan
from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance
from schedgap.models.hare import rules

SEED = 1
RUNS: tuple[tuple[str, dict[str, object], float | None], ...] = (  # method, options, seconds
    ("critical-path", {}, None),
    ("fluid-lp", {"cells": 60}, None),
    ("fluid-lp", {}, None),
    ("lagrangian", {"rounds": 0}, None),
    ("lagrangian", {}, None),
    ("hare-fluid", {}, None),
    ("hare-fluid", {"gpu_rule": "finish"}, None),
    ("list-wspt", {}, None),
    ("gavel-fifo", {}, None),
    ("srtf", {}, None),
    ("sched-homo", {}, None),
    ("sched-allox", {}, None),
    ("local-search", {}, 120),
)


def runs(instance: Instance) -> Iterator[tuple[str, Attempt]]:
    """Run each line of the table in a process of its own."""
    for method, options, seconds in RUNS:
        words = " ".join(f"{key}={value}" for key, value in options.items())
        limit = "" if seconds is None else f"{seconds:g} s"
        made = plan(instance, method, settings=options, time_limit=seconds)
        yield " ".join(part for part in (method, words, limit) if part), attempt(instance, made)


def bench(jobs: int) -> Table:
    """Return the table of one size."""
    instance = generate("hare", preset="paper", seed=SEED, settings={"jobs": jobs})
    table = Table("method", "bound", "value", "value / best bound", "seconds", "MB",
                  title=str(instance))  # fmt: skip
    done = list(runs(instance))
    bounds = [found.outcome.bound for _, found in done if found.outcome and found.outcome.bound]
    for name, found in done:
        outcome = found.outcome
        bound = value = ratio = "-"
        if outcome is not None and outcome.bound is not None:
            bound = f"{outcome.bound:,.0f}"
        if outcome is not None and outcome.schedule is not None:
            data = outcome.schedule.to_data(instance)
            broken = next(rules.check(instance, data, {}), None)
            objective = rules.objective(instance, data)
            value = f"{objective:,.0f}" if broken is None else f"breaks {broken.rule}"
            ratio = f"<= {objective / max(bounds):.3f}"
        table.add_row(name, bound, value, ratio, f"{found.seconds:.1f}",
                      f"{found.peak_memory_mb or 0:.0f}")  # fmt: skip
    return table


if __name__ == "__main__":
    for size in [int(word) for word in sys.argv[1:]] or [100, 200, 300]:
        Console(width=120).print(bench(size))
