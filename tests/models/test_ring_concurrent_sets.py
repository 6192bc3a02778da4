"""Concurrent sets of rings by hand; `must_share_server` claims no more than is true."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from schedgap.models.ring.programs.concurrent_sets import concurrent_sets, must_share_server
from schedgap.models.ring.rates import RateTable, rate_table
from strategies.ring_examples import instance_of, job


def table_of(sizes: list[int], rooms: list[int]) -> RateTable:
    return rate_table(instance_of([job(f"j{n}", g, 24, 1.0) for n, g in enumerate(sizes)], rooms))


def test_only_rings_that_fit_together_run_at_once() -> None:
    """4 + 5 <= 9 GPUs, 4 + 6 > 9; job 2 is not among the rings."""
    table = table_of([4, 5, 1, 6], [3, 3, 3])
    assert concurrent_sets(table, [0, 1, 3], 4) == [(0,), (1,), (3,), (0, 1)]
    assert concurrent_sets(table, [0, 1, 3], 3) is None


def test_two_rings_of_four_meet_on_three_servers_of_three_and_not_on_four() -> None:
    assert must_share_server(table_of([4, 4], [3, 3, 3]), 0, [1])
    assert not must_share_server(table_of([4, 4], [3, 3, 3, 3]), 0, [1])
    assert must_share_server(table_of([4, 4, 4], [3, 3, 3, 3]), 0, [1, 2])
    assert not must_share_server(table_of([9], [3, 3, 3]), 0, [])


def test_many_servers_of_unlike_sizes_take_no_time() -> None:
    """1,000 servers, half a million GPUs: sums of 2^1000 sets of servers."""
    table = table_of([100_000, 300_000, 50_000], list(range(1, 1001)))
    assert not must_share_server(table, 0, [1, 2])
    assert must_share_server(table, 0, [0, 1, 2])  # 550,000 of 500,500


@given(
    st.lists(st.integers(1, 3), min_size=2, max_size=4),
    st.lists(st.integers(2, 5), min_size=2, max_size=3),
)
def test_a_ring_that_must_meet_meets_however_they_are_placed(
    rooms: list[int], sizes: list[int]
) -> None:
    table = table_of(sizes, rooms)
    if not must_share_server(table, 0, range(1, len(sizes))):
        return
    servers = range(len(rooms))
    ways = [
        [way for way in product(*(range(room + 1) for room in rooms))
         if sum(way) == size and sum(map(bool, way)) >= 2]
        for size in sizes
    ]  # fmt: skip
    for plan in product(*ways):
        if all(sum(way[s] for way in plan) <= rooms[s] for s in servers):
            assert any(plan[0][s] and way[s] for s in servers for way in plan[1:])
