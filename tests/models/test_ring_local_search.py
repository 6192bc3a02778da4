"""Local search of family `ring`: it finds optima, and offers feasible schedules only."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import Budget, MethodResult, Progress, RunContext
from schedgap.models.ring import FAMILY, rules
from schedgap.models.ring.algorithms.packing import lpt_pack
from schedgap.models.ring.heuristics.local_search import local_search
from schedgap.models.ring.methods import METHODS
from schedgap.models.ring.rates import rate_table
from schedgap.solvers.children.clock import Clock
from strategies.ring import optimum, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job


class Record(Progress):
    """Progress that records makespans and checks the schedules."""

    def __init__(self, instance: RingInstance) -> None:
        self.instance = instance
        self.values: list[float] = []

    def incumbent(self, schedule: RingSchedule, objective: float) -> None:
        data = schedule.to_data(self.instance)
        assert list(rules.check(self.instance, data, {})) == []
        assert rules.objective(self.instance, data) == objective
        self.values.append(objective)

    def bound(self, value: float, certificate: object = None, **more: object) -> None: ...

    def phase(self, text: str) -> None: ...


def run(
    instance: RingInstance, seed: int = 0, clock: Clock | None = None, **given: Any
) -> tuple[MethodResult, list[float]]:
    (method,) = (method for method in METHODS if method.name == "local-search")
    told = Record(instance)
    return FAMILY.run(
        method,
        instance,
        RunContext(method.parse(given), None, Budget(clock or Clock(), seed), told),
    ), told.values


def test_it_finds_what_lists_miss() -> None:
    """W2: 3 + 3 | 2 + 2 + 2 is 6, longest first gives 7. W3: 8 is the optimum."""
    assert run(W2, moves=100)[0].schedule.makespan == 6
    assert run(W3, moves=100)[0].schedule.makespan == 8


def test_it_fills_servers_to_the_last_slot() -> None:
    """36 GPU-slots on 6 GPUs, and 6 slots are enough.

    s1 of 4: a ring of 4 for 2 slots, then 4 | 3 + 1 | 3 + 1 | 2 + 2; s2 of 2: 5 + 1 | 3 + 3.
    """
    jobs = [job("ring", 4, 28)]  # 14 per slot
    jobs += [job(f"j{n}", 1, 14 * k) for n, k in enumerate((5, 4, 3, 3, 3, 3, 2, 2, 1, 1, 1))]
    instance = instance_of(jobs, [4, 2])
    assert rate_table(instance).area == 6
    outcome, told = run(instance)
    assert outcome.schedule.makespan == 6 and told == sorted(told, reverse=True)


def test_jobs_that_no_server_holds_are_rings() -> None:
    """W1 has nothing else. Other jobs run next to them."""
    assert run(W1, moves=10)[0].schedule.makespan == 8
    jobs = [job("a", 4, 24, 4 / 3), job("c", 1, 14), job("d", 3, 14)]
    assert run(instance_of(jobs, [3, 3]), moves=10)[0].schedule.makespan == 5


def no_worse(instance: RingInstance) -> None:
    best = optimum(instance)
    outcome, told = run(instance, moves=30)
    if outcome.schedule is None:
        assert outcome.infeasible <= (best is None) and not told
        return
    assert best is not None and outcome.schedule.makespan == min(told) >= best
    trial = lpt_pack(rate_table(instance))
    assert outcome.schedule.makespan <= trial.makespan


@given(ring_instances(max_jobs=3, placeable=True))
@settings(max_examples=20, deadline=None)
def test_it_is_no_worse_than_where_it_began(instance: RingInstance) -> None:
    no_worse(instance)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=5), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_identical_machines_are_solved(slots: list[int], machines: int) -> None:
    """Jobs of one GPU: the best makespan of all assignments."""
    jobs = [job(f"j{n}", 1, 14 * count) for n, count in enumerate(slots)]
    instance = instance_of(jobs, [1] * machines, horizon=60)
    best = min(
        max(
            sum(slots[j] for j in range(len(slots)) if code // machines**j % machines == machine)
            for machine in range(machines)
        )
        for code in range(machines ** len(slots))
    )
    assert run(instance, moves=200)[0].schedule.makespan == best


def test_a_cluster_of_a_million_gpus_is_left_to_others() -> None:
    """Twenty-one jobs, with too many GPUs to search."""
    jobs = [job(f"j{n}", 1, 14) for n in range(21)]
    table = rate_table(instance_of(jobs, [100_000] * 10))
    assert local_search(table, 0, 2, budget=Budget()) is None


def test_a_seed_repeats_it() -> None:
    jobs = [job(f"j{n}", 1 + n % 3, 14 * (1 + n * n % 7)) for n in range(12)]
    instance = instance_of(jobs, [3, 4], horizon=90)
    data = [run(instance, seed, moves=50)[0].schedule.to_data(instance) for seed in (1, 1)]
    assert data[0] == data[1]


def test_it_stops_with_the_clock() -> None:
    """At once; what longest first found is kept."""
    outcome, told = run(W2, clock=Clock(0.0))
    assert outcome.schedule.makespan == 7 and told == [7]


def test_a_target_that_is_known_is_not_looked_for() -> None:
    assert local_search(rate_table(W2), 6, 6, budget=Budget()) is None
    found = local_search(rate_table(W2), 6, 61, budget=Budget())
    assert found is not None and found.makespan == 6


@pytest.mark.parametrize("servers", [[3], [2, 1]])
def test_what_cannot_be_scheduled_is_proved(servers: list[int]) -> None:
    assert run(instance_of([job("a", 4, 10)], servers))[0].infeasible
    jobs = [job(name, 2, 28) for name in "abc"]  # 2 slots each, one after the other on 3 GPUs
    assert run(instance_of(jobs, servers, horizon=5, overhead_per_server=0.0))[0].infeasible
