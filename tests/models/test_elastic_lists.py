"""List schedules of family `elastic`: by hand, against enumeration, and their improvement."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import lists, rules
from schedgap.models.elastic.columns import Run, fits_together, schedule_of
from schedgap.models.elastic.pooled import solve_coarse
from schedgap.models.elastic.run_lists import METHODS
from schedgap.models.method import Call, Outcome, check_instance
from schedgap.solvers.clock import Clock
from strategies.elastic import brute_force, elastic_instances, instance_of
from strategies.elastic_examples import BATCH, RING, TOY

BY_NAME = {method.name: method for method in METHODS}
ONE_GPU = [{"id": "s1", "capacity": {"gpu": 1, "cpu": 8, "bandwidth": 6}}]


class Record:
    """Progress that keeps the values of what it is shown."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def incumbent(self, schedule: Any, objective: float) -> None:
        self.values.append(objective)

    def bound(self, value: float) -> None: ...

    def phase(self, text: str) -> None: ...


def run(name: str, instance: ElasticInstance, clock: Clock | None = None, **given: Any) -> Outcome:
    method = BY_NAME[name]
    check_instance(instance, method)
    call = Call(method.parse(given), method.choose_engine(None), clock or Clock(), 0, Record())
    return method.run(instance, call)


def value(instance: ElasticInstance, outcome: Outcome) -> float:
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def slots(count: int, **fields: Any) -> dict[str, Any]:
    """Return a job that takes one worker so many slots."""
    times = {"train_time": {"w1": 1}, "update_time": {"p1": 0}}
    return {"batches_per_chunk": count, **times, **fields}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_worked_examples(name: str) -> None:
    """Optimal: 27 for the toy, c = 5 for the ring."""
    assert value(TOY, run(name, TOY)) == 27
    assert value(RING, run(name, RING)) == 5


def test_the_list_is_by_volume_over_weight() -> None:
    """One GPU: 4 slots of weight 8 (0.5 each) go before 1 slot of weight 1: 8 x 5 + 6 = 46."""
    instance = instance_of([slots(1), slots(4, weight=8)], servers=ONE_GPU)
    assert lists.wspt_order(instance) == [1, 0]
    assert value(instance, run("wspt-list", instance)) == 46


def test_of_equal_ends_the_least_volume_wins() -> None:
    """w1 asks for two GPUs, w2 for one; both take a slot."""
    kinds = [
        {"id": name, "demand": {"gpu": size, "bandwidth": size}}
        for name, size in (("w1", 2), ("w2", 1))
    ]
    job = {"train_time": {"w1": 1, "w2": 1}, "update_time": {"p1": 0}}
    instance = instance_of([job], worker_types=kinds)
    outcome = run("wspt-list", instance)
    assert outcome.schedule.placements["j1"].worker_type == "w2"


def test_a_list_goes_on_after_the_first_guess_of_its_slots() -> None:
    """Twelve equal jobs of 3 slots on one GPU end after 36 slots, not after 1 + 2 x 3."""
    instance = instance_of([slots(3)] * 12, servers=ONE_GPU)
    table = lists.Timetable(instance)
    assert table.slots == 7
    assert value(instance, run("wspt-list", instance)) == sum(3 * k + 1 for k in range(1, 13))


def test_taking_out_gives_back_what_was_held() -> None:
    table = lists.Timetable(TOY)
    free = table.market.free.copy()
    assert all(table.insert(j) for j in range(2))
    assert (table.market.free != free).any()
    before = table.remove(1)
    table.put(before)
    for j in range(2):
        table.remove(j)
    np.testing.assert_array_equal(table.market.free, free)


def improved(instance: ElasticInstance, runs: list[Run], met: list[float]) -> float:
    found = lists.improve(
        instance,
        lists.Guide(np.zeros((0, 3)), tuple(range(len(instance.jobs)))),
        runs,
        stop=lambda: False,
        on_better=lambda runs, objective: met.append(objective),
        factors=(0.0,),
    )
    return schedule_of(instance, found).value(instance)


def test_improvement_fills_gaps_and_says_so() -> None:
    """One GPU, both jobs 4 slots late. The heavy one (3 slots, weight 9) moves first, to the
    start: 9 x 4 + 9 = 45; then the light one (1 slot, was c = 9) behind it: 36 + 5 = 41."""
    instance = instance_of([slots(1), slots(3, weight=9)], servers=ONE_GPU)
    runs = lists.wspt_list(instance)
    assert runs is not None
    late = [run._replace(start=run.start + 4) for run in runs]
    met: list[float] = []
    assert improved(instance, late, met) == 41
    assert met == [45, 41]


def test_improvement_stops_where_no_single_job_can_gain() -> None:
    """The light job first: 2 + 9 x 5 = 47; the other order, 41, needs both to move at once."""
    instance = instance_of([slots(1), slots(3, weight=9)], servers=ONE_GPU)
    table = lists.Timetable(instance)
    assert table.insert(0) and table.insert(1)
    met: list[float] = []
    assert improved(instance, list(table.runs.values()), met) == 47 and met == []


@pytest.mark.parametrize("name", BY_NAME)
def test_a_job_that_fits_nowhere_proves_that_there_is_no_schedule(name: str) -> None:
    servers = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 3, "bandwidth": 6}}]
    assert run(name, instance_of([slots(1)], servers=servers)).infeasible
    with pytest.raises(UsageError, match="needs objective weighted_completion"):
        run(name, BATCH)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_closed_horizon_that_is_too_short_is_no_proof(name: str) -> None:
    instance = instance_of(
        [slots(2), slots(2)], servers=ONE_GPU, horizon=3, horizon_policy="closed"
    )
    outcome = run(name, instance)
    assert outcome.schedule is None and not outcome.infeasible and "closed" in outcome.note


def test_without_time_there_is_still_a_schedule() -> None:
    assert value(TOY, run("lp-guided", TOY, Clock(0.0))) == 27


@settings(max_examples=40, deadline=None)
@given(elastic_instances(max_jobs=3, objective="weighted_completion", placeable=True))
def test_lists_keep_the_rules_and_the_bound_is_below_the_optimum(instance: ElasticInstance) -> None:
    plain, guided = run("wspt-list", instance), run("lp-guided", instance)
    best = brute_force(instance)
    if guided.schedule is not None:
        assert best is not None
        found = value(instance, guided)
        assert guided.bound is not None
        assert guided.bound - 1e-6 <= best <= found + 1e-9
        if plain.schedule is not None:
            assert found <= value(instance, plain)


@settings(max_examples=20, deadline=None)
@given(
    elastic_instances(
        max_jobs=4, objective="weighted_completion", placeable=True, policy="open", integer=False
    )
)
def test_improvement_never_makes_worse_and_keeps_capacities(instance: ElasticInstance) -> None:
    first = lists.wspt_list(instance)
    assert first is not None
    schedule = schedule_of(instance, first)
    solved = solve_coarse(instance, block=2, clock=Clock())
    assert solved.prices is not None
    found = lists.improve(
        instance,
        lists.guide(instance, solved.prices),
        first,
        stop=lambda: False,
        on_better=lambda runs, objective: None,
    )
    assert fits_together(instance, found)
    assert schedule_of(instance, found).value(instance) <= schedule.value(instance)
