"""The enumeration that all of family `elastic` is held to, against optima worked out by hand."""

import math

import pytest
from hypothesis import given, settings

from strategies.elastic import brute_force, elastic_instances, instance_of, placements
from strategies.elastic_examples import (
    BATCH,
    J1,
    RING,
    RING_DURATIONS,
    THEOREM_1_PRICES,
    TOY,
    theorem_1,
)


def durations(instance):
    """Return the least duration of each (number of workers, central) of the first job."""
    found = {}
    for run in placements(instance, instance.jobs[0]):
        key = sum(run.workers.values()), run.is_central
        found[key] = min(found.get(key, math.inf), run.duration)
    return found


def test_the_examples_have_their_optima():
    assert brute_force(TOY) == 27
    assert brute_force(BATCH) == 5
    assert brute_force(RING) == 5


def test_the_toy_has_its_durations():
    # a split run of one worker takes 12 slots: its PS on the other server
    assert durations(TOY) == {
        (1, True): 6,
        (2, True): 3,
        (1, False): 12,
        (2, False): 6,
        (3, False): 4,
    }


def test_more_ring_workers_can_be_slower():
    assert durations(RING) == RING_DURATIONS


@pytest.mark.parametrize("room", [(1, 2, 3), (1, 1, 2)])
def test_theorem_1_has_a_cheaper_placement_than_cheap_servers_first(room):
    instance = theorem_1(*room)
    cost = {}
    for run in placements(instance, instance.jobs[0]):
        if sum(run.workers.values()) == 2 and not run.is_central:
            where = tuple(sorted(run.workers.items()))
            price = sum(
                count * THEOREM_1_PRICES[role][server]
                for role, counts in (("worker", run.workers), ("ps", run.ps))
                for server, count in counts.items()
            )
            cost[where] = min(price, cost.get(where, math.inf))
    expected = {(("A", 1), ("B", 1)): 13, (("A", 2),): 22}
    assert cost == (expected if room == (1, 2, 3) else {(("A", 1), ("B", 1)): 13})


def test_a_closed_horizon_and_a_missing_type_can_leave_no_schedule():
    assert brute_force(instance_of([J1], horizon=3, horizon_policy="closed")) == 3 * 4
    assert brute_force(instance_of([J1], horizon=2, horizon_policy="closed")) == math.inf
    # three workers on two servers: (12e6 + 6) / 3 = 4,000,002 slots, below 12e6 / 2 on one
    long = {**J1, "train_time": {"w1": 1e6}}
    assert brute_force(instance_of([long])) == 3 * (1 + 4_000_002)
    no_gpu = [{"id": "s1", "capacity": {"cpu": 8, "bandwidth": 6}}]
    assert brute_force(instance_of([J1], servers=no_gpu)) == math.inf


def test_two_jobs_that_cannot_run_together_take_the_heavy_one_first():
    # one server, each job 2 slots with both GPUs: 5 x 3 + 1 x 5 = 20 against 1 x 3 + 5 x 5 = 28
    job = {"chunks": 2, "batches_per_chunk": 4, "train_time": {"w1": 0.5}, "update_time": {"p1": 0}}
    server = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 6, "bandwidth": 5}}]
    # N = 2: 8 x 0.5 / 2 = 2 slots; N = 1: 4 slots side by side: 5 x 5 + 1 x 5 = 30 (2 PSs: 8 CPUs,
    # which do not fit anyway)
    assert brute_force(instance_of([job, {**job, "weight": 5}], servers=server)) == 20


@settings(max_examples=40, deadline=None)
@given(elastic_instances(placeable=True, objective="weighted_completion", policy="open"))
def test_a_placeable_open_instance_has_a_schedule(instance):
    assert brute_force(instance) < math.inf
