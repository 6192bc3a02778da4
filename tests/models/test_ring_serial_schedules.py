"""Serial schedules of family `ring`, and the search over orders."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.ring import RingInstance
from schedgap.models.ring.heuristics.serial_schedules import (
    PlacedSchedule,
    ServerMode,
    ServerProfiles,
    order_search,
    serial_schedule,
    server_modes,
)
from schedgap.models.ring.rates import no_schedule, rate_table
from schedgap.models.ring.simulator import schedule_of
from schedgap.solvers.children.clock import Clock
from strategies.ring import optimum, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job


def test_modes_by_number_of_servers() -> None:
    """W1: 24 iterations at 7 per slot on two servers, at 6 on three: 4 slots each.

    W3, two servers: b has 10 per slot inside, 7 on both: 6 and 9 slots.
    """
    assert server_modes(rate_table(W1))[0] == (ServerMode(2, 4), ServerMode(3, 4))
    assert server_modes(rate_table(W3))[:2] == (
        (ServerMode(1, 5),),
        (ServerMode(1, 6), ServerMode(2, 9)),
    )


def test_rings_are_kept_apart() -> None:
    """W1: any two rings share a server of 3, so b waits for a: 8 slots."""
    found = serial_schedule(rate_table(W1), [0, 1], 30)
    assert found is not None
    assert (found.starts, found.ends) == ((1, 5), (4, 8))
    assert found.placements == ({0: 3, 1: 1}, {0: 3, 1: 1})


def test_a_later_job_may_start_earlier() -> None:
    """One server of 2: a for 2 slots on one GPU, b on both after it, c with a in slot 1."""
    jobs = [job("a", 1, 28), job("b", 2, 14), job("c", 1, 14)]
    found = serial_schedule(rate_table(instance_of(jobs, [2])), [0, 1, 2], 30)
    assert found is not None and found.starts == (1, 3, 1)


def test_a_ring_may_pass_beside_jobs_inside() -> None:
    """Servers of 2: a and b hold a GPU of each for 3 slots; c rings over the other two at once.

    c inside would end in slot 3 + 1, spread (tau = 0.08, 12 per slot) in slot 1.
    """
    jobs = [job("a", 1, 42), job("b", 1, 42), job("c", 2, 12)]
    plan = ServerProfiles(rate_table(instance_of(jobs, [2, 2])), 10)
    assert plan.place(0) == (1, 3, {0: 1})
    plan.free[1, :3] -= 1
    plan.free_for_rings[1, :3] -= 1
    assert plan.place(2) == (1, 1, {0: 1, 1: 1})
    assert plan.free_for_rings[:, :2].T.tolist() == [[0, 0], [1, 1]]


def test_inside_the_tightest_server_is_taken() -> None:
    found = serial_schedule(rate_table(instance_of([job("a", 2, 14)], [4, 2, 3])), [0], 10)
    assert found is not None and found.placements == ({1: 2},)


def test_no_place_within_the_slots() -> None:
    assert serial_schedule(rate_table(W1), [0, 1], 7) is None
    assert serial_schedule(rate_table(W1), [0, 1], 3) is None


def test_excess_counts_gpu_slots() -> None:
    """Ends 4 and 8 of rings of 4: beyond 6 only the second, by 2 slots."""
    found = serial_schedule(rate_table(W1), [0, 1], 30)
    assert found is not None and found.excess(6, rate_table(W1).size) == 8


@given(ring_instances(max_jobs=6, placeable=True), st.randoms(use_true_random=False))
@settings(max_examples=55, deadline=None)
def test_a_timetable_is_what_happens(instance: RingInstance, rng: Any) -> None:
    """No ring meets another, so simulated ends are the planned ones, or earlier.

    Earlier where fewer servers than planned were needed.
    """
    table = rate_table(instance)
    if no_schedule(instance) or not all(server_modes(table)):
        return
    order = list(range(len(instance.jobs)))
    rng.shuffle(order)
    found = serial_schedule(table, order, instance.horizon)
    if found is None:
        return
    schedule = schedule_of(instance, found.starts, found.placements)
    assert schedule is not None
    for each, end in zip(instance.jobs, found.ends, strict=True):
        assert schedule.runs[each.id].end <= end


@given(ring_instances(max_jobs=3, placeable=True))
@settings(max_examples=25, deadline=None)
def test_orders_are_searched_down_to_the_bound(instance: RingInstance) -> None:
    if no_schedule(instance):
        return
    table, told = rate_table(instance), list[PlacedSchedule]()
    lower, upper = int(max(table.longest, table.area)), instance.horizon + 1
    least = order_search(
        table, lower, upper, Random(0), tries=12, clock=Clock(), on_better=told.append
    )
    assert [found.makespan for found in told] == sorted(
        {found.makespan for found in told}, reverse=True
    )
    if told:
        best = optimum(instance)
        assert best is not None and least == told[-1].makespan >= best


def test_orders_of_w2_and_w3() -> None:
    """The optima, 6 and 8."""
    assert order_search(rate_table(W2), 6, 61, Random(0), tries=60, clock=Clock()) == 6
    assert order_search(rate_table(W3), 7, 41, Random(0), tries=60, clock=Clock()) == 8


def test_a_job_that_no_mode_serves_is_left_to_others() -> None:
    """Five workers on five servers of 1: a ring over five, which is within the limit of modes."""
    table = rate_table(instance_of([job("a", 5, 10)], [1] * 5))
    assert [mode.servers for mode in server_modes(table)[0]] == [5]
    slow = rate_table(W1.from_data(W1.to_data() | {"bandwidth_between": 0.5}))
    assert order_search(slow, 1, 30, Random(0), tries=5, clock=Clock()) == 30
