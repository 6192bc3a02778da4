"""Brackets of family `ring` at the paper's scale, and the seconds of what makes them.

Run by `make bench`, or alone: `python tests/benchmarks/bench_ring_scale.py [SEED ...]`.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance
from schedgap.models.method import Budget
from schedgap.models.ring.algorithms.packing import lpt_pack
from schedgap.models.ring.algorithms.sjf_bco import sjf_bco
from schedgap.models.ring.bounds.elementary import width_dff
from schedgap.models.ring.bounds.pattern_lp import pattern_bound
from schedgap.models.ring.heuristics.local_search import local_search
from schedgap.models.ring.rates import rate_table
from schedgap.solvers.children.clock import Clock

PRESETS = ("paper", "paper-10", "contended")
SEEDS = (0, 1, 2)
GOAL_SJF = 1.0  # CPU seconds
GOAL_BRACKET = 1.02  # makespan / bound


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and its CPU seconds."""
    begin = time.process_time()
    result = function()
    return result, time.process_time() - begin


def measure(preset: str, seed: int) -> dict[str, float]:
    """Return bounds, makespans and CPU seconds of one instance."""
    instance = generate("ring", preset=preset, seed=seed)
    assert isinstance(instance, RingInstance)
    table = rate_table(instance)
    lower = max(int(table.longest), width_dff(table)[0])
    packed, _ = timed(lambda: int(lpt_pack(table).makespan))
    paper, paper_seconds = timed(lambda: sjf_bco(instance).schedule)
    bound, bound_seconds = timed(lambda: pattern_bound(table, lower, packed, Clock(120)))
    found, seconds = timed(lambda: local_search(table, bound, packed, budget=Budget(Clock(60))))
    return {
        "free bounds": lower,
        "pattern-lp": bound,
        "its s": bound_seconds,
        "local-search": packed if found is None else found.makespan,
        "own s": seconds,
        "lpt-pack": packed,
        "sjf-bco": paper.makespan,
        "the s of it": paper_seconds,
    }


def main(seeds: Sequence[int] = SEEDS) -> list[dict[str, float]]:
    """Measure, and print a table."""
    rows = [(f"{preset} {seed}", measure(preset, seed)) for preset in PRESETS for seed in seeds]
    table = Table("instance", *rows[0][1], "local-search / bound")
    for name, row in rows:
        shown = [f"{value:.2f}" if key.endswith((" s", "it")) else f"{value:.0f}"
                 for key, value in row.items()]  # fmt: skip
        table.add_row(name, *shown, f"{row['local-search'] / row['pattern-lp']:.3f}")
    Console(width=120).print(table)
    return [row for _, row in rows]


@pytest.mark.bench
def test_brackets_at_the_size_of_the_paper() -> None:
    """SJF-BCO within a second; the optimum within 2 %."""
    for row in main((1,)):
        assert row["the s of it"] <= GOAL_SJF
        assert row["local-search"] <= GOAL_BRACKET * row["pattern-lp"]


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or SEEDS)
