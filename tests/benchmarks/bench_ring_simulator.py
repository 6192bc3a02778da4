"""Speed of the simulator and of the rules of family `ring` at the paper's scale.

Run: `python tests/benchmarks/bench_ring_simulator.py [SCHEDULES]`. The
schedules are runs of the baseline RAND, which spreads nearly every job, and of LS.
"""

import sys
import time
from collections.abc import Iterator

import pytest
from rich.console import Console
from rich.table import Table

from schedgap.instances.families import FAMILIES
from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance
from schedgap.models.ring import rules
from schedgap.models.ring.baselines.list_scheduling import list_scheduling
from schedgap.models.ring.baselines.random_placement import random_placement
from schedgap.models.ring.baselines.within_limit import search_with
from schedgap.models.ring.dispatch import Trial, trial_schedule
from schedgap.models.ring.rates import rate_table
from schedgap.models.ring.simulator import simulate

SEED = 1
GOAL = 60.0  # seconds for 10 000 schedules of 160 jobs
DIFFERENT = 20


def trials(instance: RingInstance) -> Iterator[tuple[str, list[Trial]]]:
    """Yield runs of the two baselines."""
    table = rate_table(instance)
    yield "random", [random_placement(table, seed) for seed in range(DIFFERENT)]
    found = {
        attempt.trial.ends: attempt.trial
        for attempt in search_with(table, list_scheduling).attempts
    }
    yield "list-scheduling", [trial for trial in found.values() if trial.feasible]


def measure(instance: RingInstance, number: int) -> Iterator[tuple[str, float, float]]:
    """Yield for each baseline the seconds of so many simulations, and of one call of the rules."""
    table = rate_table(instance)
    for name, runs in trials(instance):
        plans = []
        for trial in runs:
            data = trial_schedule(instance, trial).to_data(instance)
            where = {server.id: s for s, server in enumerate(instance.servers)}
            servers = [tuple(where[server] for server in row["placement"]) for row in data["jobs"]]
            plans.append((trial.starts, servers, trial.ends))
        begin = time.process_time()
        for k in range(number):
            starts, servers, ends = plans[k % len(plans)]
            assert tuple(simulate(table, starts, servers)) == ends
        simulated = time.process_time() - begin
        begin = time.process_time()
        assert list(rules.check(instance, data, {})) == []
        yield name, simulated, time.process_time() - begin


def main(number: int = 10_000) -> list[tuple[str, float, float]]:
    """Measure, and print a table."""
    FAMILIES.setdefault("ring", "schedgap.instances.ring:RingInstance")
    instance = generate("ring", preset="paper", seed=SEED)
    assert isinstance(instance, RingInstance)
    table = Table(title=f"{instance.name}: {number} schedules of {len(instance.jobs)} jobs")
    for column in ("runs of", "simulated in, CPU s", "one verified in, CPU s"):
        table.add_column(column)
    rows = list(measure(instance, number))
    for name, simulated, verified in rows:
        table.add_row(name, f"{simulated:.1f}", f"{verified:.3f}")
    Console().print(table)
    return rows


@pytest.mark.bench
def test_ten_thousand_schedules_are_simulated_in_a_minute() -> None:
    """The goal, with a tenth of the schedules."""
    for _, simulated, verified in main(1000):
        assert simulated <= GOAL / 10
        assert verified <= 1


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
