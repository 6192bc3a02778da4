"""Bin completion: units of several resources in bins of several types."""

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.solvers.proofs.bins import BinCompletion, OutOfTimeError

amounts = st.integers(0, 4)
units = st.lists(st.tuples(amounts, amounts).filter(any), min_size=1, max_size=3)


def never(nodes):
    """Never stop a search."""
    return False


@st.composite
def drawn(draw):
    """Draw units, how many of each, and bins of at most two types."""
    kinds = draw(units)
    numbers = tuple(draw(st.integers(0, 3)) for _ in kinds)
    rooms = draw(st.lists(st.tuples(st.integers(2, 7), st.integers(2, 7)), min_size=1, max_size=2))
    return kinds, numbers, [(room, draw(st.integers(1, 2))) for room in rooms]


def there_is_a_way(kinds, numbers, bins):
    """Put unit by unit into every bin, and keep all loads that come of it."""
    rooms = [room for room, count in bins for _ in range(count)]
    loads = {tuple((0, 0) for _ in rooms)}
    for unit, number in zip(kinds, numbers, strict=True):
        for _ in range(number):
            loads = {
                tuple(
                    (a + unit[0], b + unit[1]) if h == k else (a, b)
                    for h, (a, b) in enumerate(load)
                )
                for load, k in product(loads, range(len(rooms)))
                if load[k][0] + unit[0] <= rooms[k][0] and load[k][1] + unit[1] <= rooms[k][1]
            }
    return bool(loads)


def hold(found, kinds, numbers, bins):
    """The bins have all units, each bin no more than it holds, and there are so many bins."""
    held = tuple(map(sum, zip(*(own for _, own in found), strict=True)))
    assert held == (numbers if found else ())
    for q, own in found:
        pairs = list(zip(own, kinds, strict=True))
        assert all(sum(n * unit[r] for n, unit in pairs) <= bins[q][0][r] for r in (0, 1))
    for q, (_, count) in enumerate(bins):
        assert sum(p == q for p, _ in found) <= count


@settings(max_examples=150, deadline=None)
@given(drawn())
def test_a_way_is_found_just_where_there_is_one(problem):
    kinds, numbers, bins = problem
    found = BinCompletion(kinds, bins, never).run(numbers)
    assert (found is not None) == there_is_a_way(*problem)
    if found is not None:
        hold(found, *problem)


def test_a_way_that_needs_many_returns_is_found():
    """The bins have hardly more room than some contents; on a third the first choices fail."""
    rng = random.Random(1)
    for _ in range(150):
        kinds = [(rng.randint(1, 6), rng.randint(1, 6)) for _ in range(4)]
        numbers, bins = [0] * 4, []
        for _ in range(2):
            own = [rng.randint(0, 2) for _ in range(3)] + [1]
            sums = (sum(n * unit[r] for n, unit in zip(own, kinds, strict=True)) for r in (0, 1))
            count = rng.randint(1, 4)
            bins.append((tuple(a + rng.randint(0, 2) for a in sums), count))
            numbers = [a + count * n for a, n in zip(numbers, own, strict=True)]
        found = BinCompletion(kinds, bins, never).run(tuple(numbers))
        assert found is not None
        hold(found, kinds, tuple(numbers), bins)


def test_a_thousand_bins():
    """One unit for each: the search is as deep as there are bins."""
    found = BinCompletion([(3, 1)], [((4, 9), 1500)], never).run((1500,))
    assert found is not None and len(found) == 1500
    assert BinCompletion([(3, 1)], [((4, 9), 1500)], never).run((1501,)) is None


def test_a_stopped_search_says_so():
    with pytest.raises(OutOfTimeError):
        BinCompletion([(3, 1)], [((4, 9), 2)], lambda nodes: True).run((3,))
    search = BinCompletion([(2, 1), (1, 1)], [((4, 9), 9)], lambda nodes: nodes > 3)
    with pytest.raises(OutOfTimeError):
        search.run((9, 9))
    assert search.nodes == 4
