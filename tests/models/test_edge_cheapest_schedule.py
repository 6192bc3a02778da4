"""The cheapest schedule of a job under prices, held against enumeration of all placements."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.models.edge.algorithms.cheapest_schedule import (
    Floats,
    Ints,
    PricedPlacement,
    PricingProblem,
    SlotWindows,
    earliest_first,
    fewest_first,
)
from schedgap.models.edge.modes import JobMode


class Case(NamedTuple):
    worker_price: Floats  # [s, t]
    ps_price: Floats
    free_workers: Ints
    free_ps: Ints
    ready: Ints  # [s]
    modes: list[JobMode]

    def problem(self) -> PricingProblem:
        return PricingProblem(
            SlotWindows(self.worker_price.copy(), self.free_workers.copy()),
            SlotWindows(self.ps_price.copy(), self.free_ps.copy()),
        )


def placements(case: Case, mode: JobMode, start: int) -> list[tuple[float, tuple[int, ...], int]]:
    """All ways to place a mode in a window: cost, workers by server, server of the PS."""
    servers, slots = case.worker_price.shape
    window = range(start, start + mode.duration)
    if window.stop > slots:
        return []
    found = []
    for ps in range(servers):
        if case.ready[ps] > start or any(case.free_ps[ps, t] < 1 for t in window):
            continue
        rent = sum(case.ps_price[ps, t] for t in window)
        for counts in product(range(mode.workers + 1), repeat=servers):
            if sum(counts) != mode.workers or (mode.colocated and counts[ps] != mode.workers):
                continue
            used = [s for s in range(servers) if counts[s]]
            if any(case.ready[s] > start for s in used):
                continue
            if any(case.free_workers[s, t] < counts[s] for s in used for t in window):
                continue
            wages = sum(case.worker_price[s, t] * counts[s] for s in used for t in window)
            found.append((float(rent + wages), counts, ps))
    return found


def enumerated(case: Case, mode: JobMode, start: int) -> float:
    return min((cost for cost, _, _ in placements(case, mode, start)), default=np.inf)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to 4 servers and 7 slots; many prices are 0 or equal."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (int(random.integers(1, 5)), int(random.integers(1, 8)))
    prices = [
        random.choice([0.0, 0.25, 1.0, 7.5, 1e7], shape) * random.integers(0, 2, (shape[0], 1))
        for _ in range(2)
    ]
    free = [random.integers(0, 4, shape) for _ in range(2)]
    if random.random() < 0.5:  # the same at all times, as in an empty system
        free = [np.broadcast_to(each[:, :1], shape) for each in free]
    modes = [
        JobMode(int(random.integers(1, 5)), int(random.integers(1, 7)), bool(random.integers(2)))
        for _ in range(3)
    ]
    return Case(*prices, *free, random.integers(0, 3, shape[0]), modes)


@given(cases())
@settings(max_examples=90, deadline=None)
def test_the_cost_of_every_start_is_that_of_enumeration(case: Case) -> None:
    problem = case.problem()
    for mode in case.modes:
        costs = problem.start_costs(mode, case.ready)
        assert len(costs) == max(0, case.worker_price.shape[1] - mode.duration + 1)
        for start, cost in enumerate(costs.tolist()):
            assert cost == pytest.approx(enumerated(case, mode, start), rel=1e-12)
    opening = problem.first_slot_costs(case.modes, case.ready)
    for mode, cost in zip(case.modes, opening.tolist(), strict=True):
        assert cost == pytest.approx(enumerated(case, mode, 0), rel=1e-12)


@given(cases())
@settings(max_examples=120, deadline=None)
def test_a_placement_costs_what_it_says_and_no_other_costs_less(case: Case) -> None:
    problem = case.problem()
    for mode in case.modes:
        for start in range(case.worker_price.shape[1]):
            all_of_them = placements(case, mode, start)
            found = problem.place(mode, start, case.ready)
            assert (found is None) == (not all_of_them)
            if found is not None:
                counts = tuple(found.workers.get(s, 0) for s in range(len(case.ready)))
                own = [cost for cost, y, ps in all_of_them if (y, ps) == (counts, found.ps)]
                assert own == [pytest.approx(found.cost, rel=1e-12)]
                assert found.cost == pytest.approx(min(all_of_them)[0], rel=1e-12)


@pytest.mark.parametrize("key", [fewest_first, earliest_first])
@given(case=cases(), opening=st.booleans())
@settings(max_examples=65, deadline=None)
def test_the_cheapest_schedule_is_the_first_by_its_key(key, case: Case, opening: bool) -> None:
    starts = range(1 if opening else case.worker_price.shape[1])
    ranked = [
        (key(round(cost, 9), mode, start), k, start)
        for k, mode in enumerate(case.modes)
        for start in starts
        for cost in [enumerated(case, mode, start)]
        if np.isfinite(cost)
    ]
    found = case.problem().cheapest(case.modes, case.ready, key=key, first_slot_only=opening)
    assert (found is None) == (not ranked)
    if found is not None:
        _, k, start = min(ranked)
        mode = case.modes[k]
        assert (found.start, found.duration) == (start, mode.duration)
        assert sum(found.workers.values()) == mode.workers


@given(cases(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_changed_market_is_like_a_new_one(case: Case, data: st.DataObject) -> None:
    """Tables that were asked for before the change must not outlive it."""
    servers, slots = case.worker_price.shape
    free = [np.array(case.free_workers), np.array(case.free_ps)]
    case = case._replace(free_workers=free[0], free_ps=free[1])
    problem = case.problem()
    for mode in case.modes:
        problem.start_costs(mode, case.ready)
    problem.first_slot_costs(case.modes, case.ready)
    server = data.draw(st.integers(0, servers - 1))
    window = slice(data.draw(st.integers(0, slots - 1)), slots)
    for windows, price, units in (
        (problem.workers, case.worker_price, free[0]),
        (problem.ps, case.ps_price, free[1]),
    ):
        price[server, window] += 2.5
        units[server, window] = np.maximum(units[server, window] - 1, 0)
        windows.change(server, window, price[server, window], units[server, window])
    fresh = case.problem()
    for mode in case.modes:
        assert (problem.start_costs(mode, case.ready) == fresh.start_costs(mode, case.ready)).all()
    again = problem.first_slot_costs(case.modes, case.ready)
    assert (again == fresh.first_slot_costs(case.modes, case.ready)).all()


def test_small_prices_are_not_lost_beside_large_ones() -> None:
    """1e16 in slot 0, 1 in the three after it: the window of those costs 3, and 3 for the PS."""
    price = np.array([[1e16, 1.0, 1.0, 1.0]])
    free = np.ones((1, 4), dtype=np.int64)
    problem = PricingProblem(SlotWindows(price, free), SlotWindows(price, free))
    assert problem.start_costs(JobMode(1, 3, True), np.array([0]))[1] == 6.0


def test_equal_costs_go_to_the_first_server_of_the_list() -> None:
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in floating point, not in 9 decimals."""
    price = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    assert price[0].sum() != price[1].sum()
    free = np.ones((2, 3), dtype=np.int64)
    for order in (slice(None), slice(None, None, -1)):
        problem = PricingProblem(
            SlotWindows(price[order], free), SlotWindows(np.zeros((2, 3)), free)
        )
        for colocated in (True, False):
            found = problem.place(JobMode(1, 3, colocated), 0, np.array([0, 0]))
            assert found is not None and (found.workers, found.ps) == ({0: 1}, 0)


def test_a_server_that_is_not_ready_takes_no_part() -> None:
    """The cheap server is ready from slot 2 on: before that the dear one is the only choice."""
    price = np.array([[1.0] * 4, [5.0] * 4])
    free = np.ones((2, 4), dtype=np.int64)
    problem = PricingProblem(SlotWindows(price, free), SlotWindows(0 * price, free))
    mode, ready = JobMode(1, 2, True), np.array([2, 0])
    assert problem.start_costs(mode, ready).tolist() == [10.0, 10.0, 2.0]
    found = problem.cheapest([mode], ready)
    assert found == PricedPlacement(2.0, 2, 2, True, {0: 1}, 0)
    assert problem.cheapest([mode], ready, first_slot_only=True) == PricedPlacement(
        10.0, 0, 2, True, {1: 1}, 1
    )
    assert problem.cheapest([mode], np.array([4, 4])) is None
