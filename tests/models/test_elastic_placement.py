"""Placements: against enumeration of all workers and PSs on all servers, and by hand."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from schedgap.models.elastic.heuristics.kernel import place_ps
from schedgap.models.elastic.modes import Mode, cluster
from schedgap.models.elastic.placement import (
    GreedyFill,
    ModeDemand,
    cheapest,
    counts,
    fits,
    ps_needed,
    ps_split,
    ring_split,
)
from strategies.elastic_examples import THEOREM_1_PRICES, theorem_1


def enumerate_all(
    demand: ModeDemand, omega: Any, zeta: Any, free: Any, central: bool
) -> tuple[float, bool]:
    """Return the least cost over all counts on all servers, and whether there is any."""
    hosts, best = range(len(omega)), np.inf
    ps = np.zeros_like(demand.worker) if demand.ps is None else demand.ps
    most_ps = 0 if demand.ps is None else 2 * demand.most_ps()
    for y in product(range(demand.workers + 1), repeat=len(omega)):
        if sum(y) != demand.workers:
            continue
        for s in product(range(most_ps + 1), repeat=len(omega)):
            used = {h for h in hosts if y[h] or s[h]}
            fair = all(
                not s[h]
                or demand.bandwidth * (demand.workers - y[h]) <= demand.ps_bandwidth * s[h] + 1e-6
                for h in hosts
            )
            room = all((y[h] * demand.worker + s[h] * ps <= free[h]).all() for h in hosts)
            if (demand.ps is None or any(s)) and (len(used) == 1) == central and fair and room:
                best = min(best, sum(y[h] * omega[h] + s[h] * zeta[h] for h in hosts))
    return best, bool(np.isfinite(best))


def random_case(
    rng: np.random.Generator, ring: bool, windows: int
) -> tuple[ModeDemand, Any, Any, Any]:
    H, N = int(rng.integers(2, 4)), int(rng.integers(2 if ring else 1, 4))
    worker = np.array([1, rng.integers(0, 3), rng.integers(1, 3)], dtype=float)
    ps = None if ring else np.array([0, rng.integers(0, 3), rng.integers(1, 3)], dtype=float)
    b, B = worker[2], float(rng.integers(1, 4))
    free = rng.integers(0, 6, (windows, H, 3)).astype(float)
    omega, zeta = (rng.integers(0, 6, (windows, H)).astype(float) for _ in range(2))
    return ModeDemand(N, worker, ps, float(b), B), omega, zeta, free


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("central", [False, True])
def test_the_cheapest_placement_is_that_of_enumeration(ring: bool, central: bool) -> None:
    rng, found_some, found_none = np.random.default_rng(7), 0, 0
    for _ in range(30):
        demand, omega, zeta, free = random_case(rng, ring, 1)
        best, exists = enumerate_all(demand, omega[0], zeta[0], free[0], central)
        found = cheapest(demand, omega[0], zeta[0], free[0], central=central)
        found_some, found_none = found_some + exists, found_none + (not exists)
        one_server = central
        if ring and not central and found is None and exists:
            # The fill was on one server: a central placement costs no more.
            one_server = True
            best, _ = enumerate_all(demand, omega[0], zeta[0], free[0], True)
            found = cheapest(demand, omega[0], zeta[0], free[0], central=True)
        assert (found is not None) == exists
        if found is None:
            continue
        cost, workers, ps = found
        assert cost == pytest.approx(best)
        # The counts are such a placement, and cost what they are said to cost.
        assert sum(workers.values()) == demand.workers
        assert (len({*workers, *ps}) == 1) == one_server
        paid = sum(omega[0][h] * y for h, y in workers.items())
        assert cost == pytest.approx(paid + sum(zeta[0][h] * s for h, s in ps.items()))
        for h in {*workers, *ps}:
            used = workers.get(h, 0) * demand.worker
            if demand.ps is not None:
                used = used + ps.get(h, 0) * demand.ps
            assert (used <= free[0, h]).all()
        for h, s in ps.items():
            away = demand.workers - workers.get(h, 0)
            assert demand.bandwidth * away <= demand.ps_bandwidth * s
    assert found_some > 5 and found_none > 5


@pytest.mark.parametrize("rule", ["exact", "repaired"])
def test_many_windows_at_once_are_each_alone(rule: Any) -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        demand, omega, zeta, free = random_case(rng, False, 9)
        fill = GreedyFill(omega, fits(free, demand.worker), demand.workers)
        together = ps_split(fill, demand, zeta, free, rule=rule)
        for t in range(9):
            alone = cheapest(demand, omega[t], zeta[t], free[t], rule=rule)
            if alone is None:
                assert np.isinf(together.cost[t])
            else:
                assert (together.cost[t], *counts(fill, demand, together, t)) == alone


def test_a_bound_on_the_cost_only_leaves_out_what_is_not_below() -> None:
    rng = np.random.default_rng(9)
    for _ in range(20):
        demand, omega, zeta, free = random_case(rng, False, 9)
        fill = GreedyFill(omega, fits(free, demand.worker), demand.workers)
        whole = ps_split(fill, demand, zeta, free).cost
        cut = ps_split(fill, demand, zeta, free, below=8.0).cost
        assert (np.where(whole < 8, whole, np.inf) == np.where(cut < 8, cut, np.inf)).all()


def _of_theorem_1(rule: Any, **server: float) -> Any:
    instance = theorem_1(**server)
    demand = cluster(instance).demand(Mode(0, 0, 2, False, 1))
    prices = (np.array([THEOREM_1_PRICES[role][h] for h in "AB"]) for role in ("worker", "ps"))
    return cheapest(demand, *prices, cluster(instance).capacity, rule=rule)


def test_theorem_1_is_false_even_when_algorithm_4_is_mended() -> None:
    """Cheap servers first: 2 workers on A, 2 PSs on B: 2 + 20; better 1 + 2 + 10 = 13."""
    assert _of_theorem_1("repaired") == (22.0, {0: 2}, {1: 2})
    assert _of_theorem_1("exact") == (13.0, {0: 1, 1: 1}, {1: 1})


def test_algorithm_4_can_miss_that_there_is_a_placement() -> None:
    assert _of_theorem_1("repaired", gpu=1, cpu=1, bandwidth=2) is None
    assert _of_theorem_1("exact", gpu=1, cpu=1, bandwidth=2) == (13.0, {0: 1, 1: 1}, {1: 1})


def test_more_containers_than_an_integer_holds_fit() -> None:
    """10^12 units of 10^-9 each: more than 2^63 of them."""
    assert fits(np.array([[1e12, 3.0]]), np.array([1e-9, 0.0])).tolist() == [10**15]


def test_equal_prices_fill_servers_in_list_order() -> None:
    """Three workers on servers of two: two on the first, one on the second."""
    demand = ModeDemand(3, np.array([1.0]))
    fill = GreedyFill(np.zeros((1, 3)), np.full((1, 3), 2), 3)
    assert counts(fill, demand, ring_split(fill, 3), 0) == ({0: 2, 1: 1}, {})


def test_a_ring_that_one_server_holds_is_not_split() -> None:
    fill = GreedyFill(np.array([[1.0, 2.0]]), np.array([[2, 2]]), 2)
    assert np.isinf(ring_split(fill, 2).cost[0])


def test_a_fill_with_replaced_windows_is_that_of_the_new_prices() -> None:
    rng = np.random.default_rng(2)
    omega, most = rng.integers(0, 9, (6, 3)).astype(float), rng.integers(0, 3, (6, 3))
    fill = GreedyFill(np.ones((6, 3)), np.full((6, 3), 2), 4)
    rows = np.array([0, 1, 3, 4, 5])
    fill.replace(rows, GreedyFill(omega[rows], most[rows], 4))
    omega[2], most[2] = 1, 2
    fresh = GreedyFill(omega, most, 4)
    assert fill.total.tolist() == most.sum(axis=1).tolist()
    for number in range(7):
        able = np.flatnonzero(fresh.total >= number)
        numbers = np.full(len(able), number)
        assert fill.cost(able, numbers).tolist() == fresh.cost(able, numbers).tolist()


def test_the_kernel_finds_the_same_split_in_a_window_of_several_slots() -> None:
    rng, slots = np.random.default_rng(5), 2
    found = dict.fromkeys(("none", "one PS", "the fewest PSs", "more PSs than the fewest"), 0)
    for _ in range(1000):
        H, N = int(rng.integers(2, 6)), int(rng.integers(2, 9))
        worker, ps = rng.integers(0, 3, (2, 3)).astype(float)
        worker[2], ps[2] = rng.integers(1, 3, 2)
        demand = ModeDemand(N, worker, ps, float(worker[2]), float(rng.integers(1, 5)))
        assert demand.ps is not None
        free = rng.integers(0, rng.choice([10, 20]), (H, 3, slots)).astype(float)
        omega, zeta = rng.integers(0, 9, (2, H)).astype(float)
        least = free.min(axis=2)
        fill = GreedyFill(omega[None], fits(least, demand.worker)[None], N)
        split = ps_split(fill, demand, zeta[None], least[None])
        problem = SimpleNamespace(
            worker_units=worker[None], worker_type=[0], workers=[N], duration=[slots],
            bandwidth=[demand.bandwidth], ps_bandwidth=[demand.ps_bandwidth],
            ps_units=ps[None], ps_cost=zeta[None],
        )  # fmt: skip
        rows = np.stack([fill.omega[0], fill.most[0], fill.before[0], fill.paid[0]])
        n, s, g = -1, 0, 0
        if fill.total[0] >= N:  # the kernel asks for no other window
            state = SimpleNamespace(free=free)
            n, s, g = place_ps(problem, state, 0, 0, 0, rows, fill.order[0], fill.upto[0])
        assert (n >= 0) == bool(np.isfinite(split.cost[0]))
        if n < 0:
            found["none"] += 1
            continue
        assert (n, s, g) == (split.server[0], split.ps[0], split.workers_on_n[0])
        most_beside = min(int(fits(least[n], demand.worker)), N - 1)
        fewest = ps_needed(demand.bandwidth, demand.ps_bandwidth, N - most_beside)
        kind = "more PSs than the fewest" if s > fewest else "the fewest PSs" if s > 1 else "one PS"
        found[kind] += 1
    assert min(found.values()) >= 20, found
