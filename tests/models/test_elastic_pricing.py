"""Cheapest schedules: against plain loops over everything, and against all placements."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.pricing import PricedRun, PricedServers, cheapest_schedule
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster, modes
from schedgap.models.elastic.placement import Rule, cheapest, tie_margin
from strategies.elastic import elastic_instances, instance_of, placements, usage
from strategies.elastic_capacity import capacity

T = 9


def loops(
    view: ElasticCluster,
    candidates: tuple[Mode, ...],
    price: Any,
    free: Any,
    first: int,
    end: int,
    rule: Rule,
    weight: float = 0.0,
) -> PricedRun | None:
    """Algorithms 4-7 as nested loops: one mode, one start after the other; strictly less wins."""
    best: PricedRun | None = None
    for mode in candidates:
        for start in range(first, end - mode.duration + 1):
            rows = slice(start - 1, start - 1 + mode.duration)
            paid = price[rows].sum(axis=0)
            zeta = np.zeros(len(paid))
            if mode.ps_type is not None:
                zeta = paid @ view.ps_demand[mode.ps_type]
            found = cheapest(
                view.demand(mode),
                paid @ view.worker_demand[mode.worker_type],
                zeta,
                np.vstack([free[rows], view.capacity[None]]).min(axis=0),
                central=mode.central,
                rule=rule,
            )
            if found is None:
                continue
            cost = found[0] + weight * (start + mode.duration)
            if best is None or cost < best.cost - tie_margin(best.cost):
                best = PricedRun(cost, mode, start, *found[1:])
    return best


def prices_of(rng: np.random.Generator, view: ElasticCluster, kind: str) -> tuple[Any, Any]:
    """Random prices and free amounts [t, h, r] in units; integers, because their sums are exact."""
    shape = (T, *view.capacity.shape)
    price = np.zeros(shape) if kind == "zero" else rng.integers(0, 4, shape).astype(float)
    if kind == "huge":
        price *= np.where(rng.random(shape) < 0.3, 2.0**40, 1.0)
    used = np.where(rng.random(shape) < 0.4, rng.random(shape), 0.0) * view.capacity
    return price, np.where(view.whole, np.floor(view.capacity - used), view.capacity - used)


@given(
    elastic_instances(max_jobs=1, max_servers=3, max_chunks=4),
    st.integers(0, 10**6),
    st.sampled_from(["zero", "small", "huge"]),
    st.sampled_from(["exact", "repaired"]),
    st.sampled_from([0.0, 2.0, 50.0]),
)
@settings(max_examples=35, deadline=None)
def test_the_choice_is_that_of_plain_loops(
    instance: ElasticInstance, seed: int, kind: str, rule: Rule, weight: float
) -> None:
    """Same cost, mode, start, and servers: the order of enumeration and all ties are kept."""
    view, candidates = cluster(instance), modes(instance, 0)
    price, free = prices_of(np.random.default_rng(seed), view, kind)
    first, end = 1 + seed % 3, T + 1 + seed % 4  # the last windows reach beyond the slots
    market = PricedServers(view, price, free, longest=end)
    long_price = np.concatenate([price, np.zeros((end, *view.capacity.shape))])
    long_free = np.concatenate([free, np.broadcast_to(view.capacity, (end, *view.capacity.shape))])
    expected = loops(view, candidates, long_price, long_free, first, end, rule, weight)
    found = market.cheapest(candidates, first, end, weight=weight, rule=rule)
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert found.cost == pytest.approx(expected.cost, rel=1e-12)
    assert found[1:] == expected[1:]


@given(elastic_instances(max_jobs=1, max_servers=2), st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_no_placement_of_any_kind_is_cheaper(instance: ElasticInstance, seed: int) -> None:
    """All types, all counts of workers and PSs on all servers, all starts."""
    view, rng = cluster(instance), np.random.default_rng(seed)
    price, free = prices_of(rng, view, "small")
    price, free = np.moveaxis(price, 0, 2), np.moveaxis(free / view.scale, 0, 2)
    best = np.inf
    for run in placements(instance, instance.jobs[0]):
        used = np.array(usage(instance, run)).reshape(view.capacity.shape)
        for start in range(1, T + 2 - run.duration):
            window = slice(start - 1, start - 1 + run.duration)
            if (used <= free[:, :, window].min(axis=2) + 1e-6).all():
                best = min(best, float((used * price[:, :, window].sum(axis=2)).sum()))
    found = cheapest_schedule(instance, 0, price, free, (1, T + 1))
    assert (np.inf if found is None else found[0]) == pytest.approx(best)


def test_a_small_price_beside_a_large_one_counts() -> None:
    """After a slot at 10^16 prices of 3 + 3 and 2 + 2 must differ; prefix sums would lose both."""
    instance = instance_of([{"train_time": {"w1": 2}, "update_time": {"p1": 0}}])
    price = np.zeros((2, 3, 5))
    price[:, 0] = [[1e16, 3, 3, 2, 2], [1e16, 3, 3, 3, 3]]
    found = cheapest_schedule(
        instance, 0, price, capacity(instance)[:, :, None] + 0 * price, (1, 6)
    )
    assert found is not None
    assert (found[0], found[1].start, found[1].workers) == (4.0, 4, {"s1": 1})


def test_changed_prices_are_those_of_a_new_market() -> None:
    rng = np.random.default_rng(3)
    instance = instance_of(
        [{"chunks": 4, "epochs": 2, "train_time": {"w1": 1}, "update_time": {"p1": 0.5}}]
    )
    view, candidates = cluster(instance), modes(instance, 0)
    market = PricedServers.empty(view, T)
    price = np.zeros((T, *view.capacity.shape))
    free = np.broadcast_to(view.capacity, price.shape).copy()
    for _ in range(12):
        first = int(rng.integers(1, T))
        last = int(rng.integers(first, T + 1))
        h = rng.integers(0, 2, 1)
        shape = (last - first + 1, 1, 3)
        new_price = rng.integers(0, 5, shape).astype(float)
        new_free = np.minimum(rng.integers(0, 7, shape), view.capacity[h])
        market.change(first, last, h, new_price, new_free)
        price[first - 1 : last, h], free[first - 1 : last, h] = new_price, new_free
        fresh = PricedServers(view, price, free, longest=T)
        assert market.cheapest(candidates, 1, T + 1) == fresh.cheapest(candidates, 1, T + 1)
        for mode in candidates:
            starts = np.arange(1, max(1, T + 2 - mode.duration))
            costs = fresh.costs(mode, starts).tolist()
            assert market.costs(mode, starts).tolist() == costs
            offers = [market.cheapest_at(mode, int(start)) for start in starts]
            assert [np.inf if each is None else each.cost for each in offers] == costs


def test_ties_by_volume_take_the_least_volume_then_the_earliest_end() -> None:
    instance = instance_of([{"chunks": 2, "train_time": {"w1": 1.0}, "update_time": {"p1": 0}}])
    view, candidates = cluster(instance), modes(instance, 0)
    market = PricedServers.empty(view, 6)
    assert [(mode.workers, mode.central) for mode in candidates] == [
        (2, True), (1, True), (2, False), (1, False),
    ]  # fmt: skip
    printed = market.cheapest(candidates, 1, 7)
    least = market.cheapest(candidates, 1, 7, volumes=[3.0, 2.0, 3.0, 2.0])
    assert printed is not None and printed.mode == candidates[0]
    assert least is not None and least.mode == candidates[1]
    equal = market.cheapest(candidates, 1, 7, volumes=[2.0, 2.0, 2.0, 2.0])
    assert equal is not None and equal.mode == candidates[0] and equal.end == 2


def test_tables_that_memory_cannot_hold_are_refused() -> None:
    view = cluster(instance_of([{"train_time": {"w1": 1}, "update_time": {"p1": 0}}]))
    with pytest.raises(ScaleError, match="1000000000 slots on 2 servers"):
        PricedServers.empty(view, 10**9)


def test_a_longer_run_of_less_price_wins() -> None:
    """Two workers in slot 1, ending at 2: 2 x 10 + 2 x 11; one in slots 1-2: 3 x 10 + 11.

    Slot 2 is free of charge, but has one GPU left.
    """
    server = {"id": "s1", "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 6}}
    job = {"chunks": 2, "batches_per_chunk": 1, "train_time": {"w1": 1}, "update_time": {"p1": 0}}
    instance = instance_of([job], servers=[server])
    view, gpu = cluster(instance), instance.resources.index("gpu")
    price, free = np.zeros((2, *view.capacity.shape)), np.repeat(view.capacity[None], 2, axis=0)
    price[0, 0, gpu], free[1, 0, gpu] = 11 / view.worker_demand[0, gpu], view.worker_units[0, gpu]
    market = PricedServers(view, price, free, longest=2)
    candidates = [mode for mode in modes(instance, 0) if mode.duration <= 2]
    assert [mode.workers for mode in candidates] == [2, 1]
    assert market.cheapest(candidates[:1], 1, 3, weight=10).cost == 42
    found = market.cheapest(candidates, 1, 3, weight=10)
    assert (found.mode.workers, found.start, found.cost) == (1, 1, 41)
