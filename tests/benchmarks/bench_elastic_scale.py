"""Bounds and schedules of family `elastic` at the paper's scale: value, seconds and memory.

Run by `make bench`, or alone:
`python tests/benchmarks/bench_elastic_scale.py [ps|ring] [JOBS ...]`.
A schedule is divided by the best bound of the table: an upper limit of its ratio to the optimum.
"""

import sys
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from schedgap.analysis.attempts import Attempt, attempt, plan
from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance
from schedgap.models.elastic import rules

SEED = 1
ARCHITECTURES = {"ps": "parameter_server", "ring": "ring_allreduce"}
RUNS: tuple[tuple[str, dict[str, object], float | None], ...] = (  # method, options, seconds
    ("no-contention", {}, None),
    ("volume", {}, None),
    ("pooled-lp-coarse", {}, None),
    ("pooled-lp-coarse", {"pools": 12}, 300),
    ("wspt-list", {}, None),
    ("lp-guided", {"moves": 0}, None),
    ("lp-guided", {"moves": 1000}, 300),
)


def runs(instance: Instance) -> Iterator[tuple[str, Attempt]]:
    """Run each line of the table in a process of its own."""
    for method, options, seconds in RUNS:
        words = " ".join(f"{key}={value}" for key, value in options.items())
        limit = "" if seconds is None else f"{seconds:g} s"
        made = plan(instance, method, settings=options, time_limit=seconds)
        yield " ".join(part for part in (method, words, limit) if part), attempt(instance, made)


def bench(architecture: str, jobs: int) -> Table:
    """Return the table of one architecture and size."""
    given = {"jobs": jobs, "architecture": ARCHITECTURES[architecture]}
    instance = generate("elastic", preset="paper", seed=SEED, settings=given)
    table = Table("method", "bound", "value", "value / best bound", "seconds", "MB",
                  title=f"{architecture}, {jobs} jobs: {instance}")  # fmt: skip
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
    words = sys.argv[1:]
    kinds = [word for word in words if word in ARCHITECTURES] or list(ARCHITECTURES)
    sizes = [int(word) for word in words if word not in ARCHITECTURES] or [100, 250]
    for size in sizes:
        for kind in kinds:
            Console(width=120).print(bench(kind, size))
