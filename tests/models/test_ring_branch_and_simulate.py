"""`branch-simulate` of family `ring`, against plain enumeration."""

import pytest
from hypothesis import HealthCheck, given, settings

from schedgap.instances.ring import RingInstance
from schedgap.models.ring import rules
from schedgap.models.ring.exact.branch_and_simulate import branch_and_simulate
from schedgap.models.ring.rates import no_schedule
from strategies.ring import optimum, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.parametrize(("instance", "best"), [(W1, 7), (W2, 6), (W3, 8)])
def test_the_search_finds_the_optima_of_the_examples(instance: RingInstance, best: int) -> None:
    found = branch_and_simulate(instance)
    assert found.complete and found.schedule is not None
    assert found.schedule.makespan == best
    assert list(rules.check(instance, found.schedule.to_data(instance), {})) == []


def test_nothing_is_better_than_the_optimum() -> None:
    assert branch_and_simulate(W1, cutoff=7).schedule is None
    assert branch_and_simulate(W1, cutoff=7).complete
    better = []
    found = branch_and_simulate(W1, cutoff=8, on_better=better.append)
    assert better == [found.schedule] and found.schedule.makespan == 7


def test_a_bound_that_is_met_ends_the_search() -> None:
    assert branch_and_simulate(W2, lower=6).states <= branch_and_simulate(W2).states
    better = []
    branch_and_simulate(W1, lower=7, on_better=lambda found: better.append(found.makespan))
    assert better == [8, 7]  # not before


def test_a_search_that_is_stopped_is_not_complete() -> None:
    assert not branch_and_simulate(W1, stop=lambda: True).complete


def test_a_search_is_stopped_within_a_state_of_many_placements() -> None:
    """Three rings of 60,000 workers on ten servers of 30,000 GPUs: no end to their placements."""
    jobs = [job(name, 60_000, 200, 0.5) for name in "abc"]
    instance = instance_of(jobs, [30_000] * 10, horizon=100)
    asked = iter([*[False] * 20, *[True] * 10])
    found = branch_and_simulate(instance, stop=asked.__next__)
    assert not found.complete


def test_a_tight_horizon_has_no_schedule() -> None:
    jobs = [job("a", 4, 24, 4 / 3), job("b", 4, 24, 4 / 3)]
    found = branch_and_simulate(instance_of(jobs, [3, 3, 3], horizon=6))
    assert found.complete and found.schedule is None


def test_a_long_horizon_costs_nothing() -> None:
    # a job inside one server of 9 000 slots: the search leaps from completion to completion
    long = instance_of([job("a", 1, 90_000), job("b", 1, 90_000)], [1], horizon=100_000)
    found = branch_and_simulate(long)
    assert found.schedule.makespan == 2 * 6429 and found.states < 10  # ceil(90000 / 14) each


def agree(instance: RingInstance) -> None:
    best = optimum(instance)
    if no_schedule(instance) is not None:
        assert best is None
        return
    found = branch_and_simulate(instance)
    assert found.complete
    assert (None if found.schedule is None else found.schedule.makespan) == best
    if found.schedule is not None:
        assert list(rules.check(instance, found.schedule.to_data(instance), {})) == []


@settings(max_examples=35, **QUIET)
@given(ring_instances(max_jobs=4, max_servers=3, max_slots=4, placeable=True))
def test_the_search_agrees_with_enumeration(instance: RingInstance) -> None:
    agree(instance)


@pytest.mark.nightly
@settings(max_examples=1000, **QUIET)
@given(ring_instances(max_jobs=4, max_servers=3, max_slots=5, placeable=True))
def test_the_search_agrees_with_enumeration_at_length(instance: RingInstance) -> None:
    agree(instance)


@pytest.mark.nightly
@settings(max_examples=400, **QUIET)
@given(ring_instances(max_jobs=5, max_servers=2, max_slots=3, placeable=True))
def test_the_search_agrees_with_enumeration_for_five_jobs(instance: RingInstance) -> None:
    agree(instance)
