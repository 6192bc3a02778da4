"""The cost of a job at given prices is bounded from below, tightly where the slots fill exactly.

By arrays, and by the kernel.
"""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.generate import generate
from schedgap.models.dmlrs.bounds.kernel import PRICING, price_jobs
from schedgap.models.dmlrs.bounds.pricing import (
    REQUIRED_WORK,
    _hull_steps,
    cheapest_demand,
    evaluate,
    least_costs,
)
from strategies.dmlrs import dmlrs_instances
from strategies.kernels import compiled_entry, compiled_types

BUNDLES = st.lists(st.integers(1, 12), min_size=1, max_size=3)


def bound(advance: np.ndarray, costs: np.ndarray) -> float:
    slots = np.array([len(costs)])
    return float(least_costs(advance, costs, _hull_steps(advance, costs), slots)[0])


def cheapest(advance: np.ndarray, costs: np.ndarray) -> float:
    """Least cost of at most one bundle in each slot that do the work, by enumeration."""
    best = math.inf
    for chosen in product(range(-1, len(advance)), repeat=len(costs)):
        taken = [(t, k) for t, k in enumerate(chosen) if k >= 0]
        if sum(advance[k] for _, k in taken) >= REQUIRED_WORK:
            best = min(best, sum(costs[t, k] for t, k in taken))
    return best


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_bound_is_below_the_cheapest_choice(data: st.DataObject) -> None:
    advance = np.array(data.draw(BUNDLES)) / 12
    row = st.lists(st.integers(0, 9), min_size=len(advance), max_size=len(advance))
    costs = np.array(data.draw(st.lists(row, min_size=1, max_size=4)), dtype=float)
    exact = cheapest(advance, costs)
    found = bound(advance, costs)
    assert found <= exact or math.isinf(exact)
    if math.isinf(exact):
        assert math.isinf(found) or len(costs) * advance.max() >= 1 - 1e-6


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5))
def test_the_bound_is_tight_where_whole_slots_hold_the_work(prices: list[int]) -> None:
    """One bundle that does half of the work: the two cheapest slots, whatever the others cost."""
    costs = np.array([[price] for price in prices], dtype=float)
    exact = sum(sorted(prices)[:2])
    assert 0 <= exact - bound(np.array([0.5]), costs) <= 1e-6 * exact


def compare(instance: DmlrsInstance, seed: int, run: object) -> None:
    """The kernel and the arrays have the same bounds, and plans of the same cost."""
    rng, T = np.random.default_rng(seed), instance.horizon
    prices = rng.choice([0.0, 0.01, 0.5, 1.0, 7.3], size=(T, len(instance.resources)))
    windows = {}
    for i in range(len(instance.jobs)):
        if rng.random() < 0.7:
            windows[i] = tuple(sorted(rng.integers(1, T + 2, size=2).tolist()))
    expected = evaluate(instance, prices, windows)
    found, demand = price_jobs(instance, prices, windows, run)
    assert found.bound == pytest.approx(expected.bound, rel=1e-12)
    for i, payoff in found.payoffs.items():
        assert payoff == pytest.approx(expected.payoffs[i], rel=1e-12, abs=1e-12)
        if (f := found.completions[i]) <= T:
            first, last = windows.get(i, (1, T + 1))
            assert first <= f <= last
            plan = demand(i, f)
            paid = (cheapest_demand(instance, i, prices, f) * prices).sum()
            assert (plan * prices).sum() == pytest.approx(paid, rel=1e-9, abs=1e-9)
            assert not plan[f:].any()


@settings(max_examples=100, deadline=None)
@given(dmlrs_instances(), st.integers(0, 1000))
def test_the_kernel_prices_jobs_like_arrays(instance: DmlrsInstance, seed: int) -> None:
    compare(instance, seed, PRICING.plain)


def test_the_compiled_kernel_prices_jobs_like_arrays_and_is_compiled_once() -> None:
    fast = compiled_entry(PRICING)
    for seed in range(3):
        compare(generate("dmlrs", preset="medium", seed=seed), seed, fast)
    assert compiled_types(fast) == 1
