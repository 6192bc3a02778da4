"""The cost of a job at given prices is bounded from below, tightly where the slots fill exactly."""

import math
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.models.dmlrs.bounds.pricing import REQUIRED_WORK, _hull_steps, least_costs

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
