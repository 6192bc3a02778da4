"""`branch-simulate` of family `ring`, against plain enumeration."""

import pytest
from hypothesis import HealthCheck, given, settings

from schedgap.instances.ring import RingInstance
from schedgap.models.ring.methods import METHODS
from strategies.ring import optimum, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job
from strategies.ring_methods import Heard, run
from strategies.ring_stops import starting_with

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
METHOD = next(method for method in METHODS if method.name == "branch-simulate")


@pytest.mark.parametrize("start", ["none", "bad"])
@pytest.mark.parametrize(("instance", "best"), [(W1, 7), (W2, 6), (W3, 8)])
def test_the_search_finds_the_optima_of_the_examples(
    instance: RingInstance, best: int, start: str
) -> None:
    heard = Heard()
    with starting_with(start):
        found = run(METHOD, instance, heard=heard)
    assert found.bound == found.schedule.makespan == best
    assert heard.makespans == sorted(heard.makespans, reverse=True)
    assert found.trace["proof"]


def test_a_search_without_time_is_not_complete() -> None:
    """Eight rings of four or five, which cannot run two by two everywhere."""
    jobs = [job(f"j{n}", 4 + n % 2, 60, 4 / 3) for n in range(8)]
    with starting_with("bad"):
        found = run(METHOD, instance_of(jobs, [3] * 4, horizon=200), seconds=0.5)
    assert found.bound < found.schedule.makespan and "proof" not in found.trace


def test_a_state_of_many_placements_is_too_large() -> None:
    """Three rings of 60,000 workers on ten servers of 30,000 GPUs: no end to their placements."""
    jobs = [job(name, 60_000, 200, 0.5) for name in "abc"]
    with starting_with("bad"):
        found = run(METHOD, instance_of(jobs, [30_000] * 10, horizon=100))
    assert found.note.startswith("too large: ") and found.bound <= found.schedule.makespan


def test_a_long_horizon_costs_nothing() -> None:
    # jobs inside one server of 6,429 slots: the search leaps from completion to completion
    long = instance_of([job("a", 1, 90_000), job("b", 1, 90_000)], [1], horizon=100_000)
    with starting_with("none"):
        found = run(METHOD, long)
    assert found.bound == 2 * 6429 and found.trace["states"] < 20  # ceil(90000 / 14) each


def agree(instance: RingInstance) -> None:
    best = optimum(instance)
    with starting_with("none"):
        found = run(METHOD, instance)
    assert found.infeasible == (best is None)
    assert best is None or found.bound == found.schedule.makespan == best


@settings(max_examples=35, **QUIET)
@given(ring_instances(max_jobs=4, max_servers=3, max_slots=4))
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
