"""The simulator of family `ring`, against a simulation slot by slot."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.models.ring.rates import rate_table
from schedgap.models.ring.simulator import Simulator, feasible_ends, schedule_of, simulate
from strategies.ring import ring_instances, ring_plans, slot_by_slot
from strategies.ring_examples import W1, W3, instance_of, job

SLOTS = 150  # the oracle's horizon: beyond it a job is not followed


def ends_by_slot(ends):
    """Ends as an observer of the first SLOTS slots sees them."""
    return [None if end is None or end > SLOTS else end for end in ends]


def hold_against_the_oracle(data):
    instance = data.draw(ring_instances(max_jobs=5, placeable=True))
    starts, placements = data.draw(ring_plans(instance))
    table = rate_table(instance)
    expected, within = slot_by_slot(instance, starts, placements, SLOTS)
    ends = simulate(table, starts, [tuple(placed) for placed in placements])
    if within:  # else more rings may meet than any server could hold
        assert ends_by_slot(ends) == expected
    found = schedule_of(instance, starts, placements)
    complete = None not in expected and max(expected) <= instance.horizon
    assert (found is not None) == (complete and within)
    if found is not None:
        assert [found.runs[job.id].end for job in instance.jobs] == expected


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_ends_are_those_of_looking_at_every_slot(data):
    hold_against_the_oracle(data)


@pytest.mark.nightly
@given(st.data())
@settings(max_examples=6000, deadline=None)
def test_ends_are_those_of_looking_at_every_slot_in_thousands_of_plans(data):
    hold_against_the_oracle(data)


def test_w1_an_interior_start_ends_first():
    # a alone: 7, 7, 7, so 3 left after slot 3; slot 4 gives 3 to both; then b alone: 7, 7, 7
    table = rate_table(W1)
    assert simulate(table, [1, 4], [(0, 1), (1, 2)]) == [4, 7]
    assert simulate(table, [1, 1], [(0, 1), (1, 2)]) == [8, 8]  # 24 / 3 each
    assert simulate(table, [1, 5], [(0, 1), (1, 2)]) == [4, 8]


def test_a_job_on_one_server_neither_slows_nor_is_slowed():
    # c (2 GPUs, 30 iterations at 10) with the spread d (30 at 7, alone on both servers)
    alone = simulate(rate_table(W3), [40, 40, 1, 1, 40], [(0,), (0,), (0,), (0, 1), (0,)])
    assert alone[2:4] == [3, 5]


def test_ends_in_the_last_slot_count_for_the_whole_slot():
    # a's last slot is 4, b starts in it and gets 3 only, though a needs 3 of its 7 there
    run = Simulator(rate_table(W1))
    run.start(0, (0, 1))
    assert run.next_end() == 4
    assert run.advance(4) == [] and run.slot == 4
    run.start(1, (1, 2))
    assert run.next_end() == 4  # 21 done, 3 more
    assert run.advance(5) == [0] and run.ends == [4, None]
    assert run.next_end() == 7 and run.advance(100) == [1] and run.next_end() is None


def test_a_job_without_progress_never_ends():
    slow = instance_of([job("a", 4, 24, 4 / 3), job("b", 1, 10)], [3, 3], bandwidth_between=0.5)
    assert simulate(rate_table(slow), [1, 1], [(0, 1), (0,)]) == [None, 1]
    assert schedule_of(slow, [1, 1], [{0: 3, 1: 1}, {1: 1}]) is None


def test_more_workers_than_gpus_do_not_fit():
    table = rate_table(W1)
    both = [{0: 3, 1: 1}, {1: 3, 2: 1}]
    assert feasible_ends(table, [1, 4], both, 30) is None  # 1 + 3 on s2 in slot 4
    assert feasible_ends(table, [1, 5], both, 8) == [4, 8]
    assert feasible_ends(table, [1, 5], both, 7) is None
    assert schedule_of(W1, [1, 4], both) is None
    assert schedule_of(W1, [1, 5], both).makespan == 8


def test_a_schedule_numbers_its_gpus_and_keeps_its_facts():
    found = schedule_of(W1, [1, 4], [{0: 3, 1: 1}, {1: 2, 2: 2}], kappa=4)
    assert found.makespan == found.value(W1) == 7
    data = found.to_data(W1)
    assert data["kappa"] == 4
    assert data["jobs"][1] == {
        "job": "b",
        "start": 4,
        "end": 7,
        "placement": {"s2": 2, "s3": 2},
        "gpus": {"s2": [1, 2], "s3": [0, 1]},
    }
    assert type(found).from_data(W1, data) == found
