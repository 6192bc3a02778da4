"""The mechanisms on random toys, each held to an enumeration; their examples run as written."""

import doctest
import importlib
import itertools
import math
import pkgutil
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from schedgap.models import mechanisms
from schedgap.models.mechanisms import dual_feasible_functions as dff
from schedgap.models.mechanisms.branch_and_price import (
    Pseudocosts,
    UnsettledError,
    best_first,
    splits,
)
from schedgap.models.mechanisms.configurations import maximal_configurations
from schedgap.models.mechanisms.knapsack import (
    NodeBudget,
    Option,
    best_subset,
    knapsack_values,
    multiple_choice_knapsack,
)
from schedgap.models.mechanisms.restricted_master import (
    Priced,
    RestrictedMaster,
    prices_at_most,
)
from schedgap.solvers import Clock
from tests.strategies.clocks import StopAt

PAGES = Path(__file__).parents[2] / "docs" / "mechanisms"
MODULES = [info.name for info in pkgutil.iter_modules(mechanisms.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_mechanism_run_as_written(name: str) -> None:
    module = importlib.import_module(f"schedgap.models.mechanisms.{name}")
    results = doctest.testmod(module)
    assert results.attempted > 0, "every mechanism has a toy call"
    assert results.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_mechanism_names_its_literature(name: str) -> None:
    module = importlib.import_module(f"schedgap.models.mechanisms.{name}")
    assert module.__doc__ is not None
    assert "References\n----------" in module.__doc__


@pytest.mark.parametrize("name", MODULES)
def test_the_code_on_the_page_of_a_mechanism_runs(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        assert "assert" in block
        exec(compile(block, f"{name}.md", "exec"), {})


def test_the_index_links_every_page() -> None:
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\((\w+)\.md\)", index)) == set(MODULES)
    assert {path.stem for path in PAGES.glob("*.md")} == {*MODULES, "README"}


# --- restricted master ---------------------------------------------------------------------------


def all_patterns(sizes: tuple[int, ...], width: int) -> list[tuple[int, ...]]:
    ranges = [range(width // size + 1) for size in sizes]
    return [
        numbers
        for numbers in itertools.product(*ranges)
        if 0 < sum(n * s for n, s in zip(numbers, sizes, strict=True)) <= width
    ]


def cutting_stock(
    sizes: tuple[int, ...], demand: tuple[int, ...], width: int, bounds: list[tuple[float, float]]
) -> RestrictedMaster[tuple[int, ...]]:
    master: RestrictedMaster[tuple[int, ...]] = RestrictedMaster()
    rows = master.rows("demand", len(sizes), lower=demand)
    master.begin(master.artificial(rows, 10.0))
    patterns = all_patterns(sizes, width)

    def pricing(duals: np.ndarray) -> Priced:
        value = np.maximum(rows.extract(duals), 0.0)
        best = max(patterns, key=lambda pattern: float(value @ pattern))
        bound = float(value @ demand) / max(1.0, float(value @ best))
        return Priced(master.columns([1.0], [[(rows.positions, best)]], [best]), bound)

    def heard(bound: float, duals: np.ndarray) -> None:
        bounds.append((bound, pricing(duals).bound))

    solution = master.solve(pricing, clock=Clock(None), on_bound=heard)
    assert solution.bound is not None
    covered = sum(x * np.array(pattern) for pattern, x in solution.support)
    assert (covered >= np.array(demand) - 1e-4).all(), "artificial columns are priced out"
    used = sum(x for _, x in solution.support)
    assert used == pytest.approx(solution.result.objective, abs=1e-4)
    whole = linprog(
        np.ones(len(patterns)), A_ub=-np.array(patterns).T, b_ub=-np.array(demand), method="highs"
    )
    assert solution.bound <= whole.fun + 1e-6
    assert solution.result.objective == pytest.approx(whole.fun, rel=1e-5)
    return master


@settings(max_examples=18)
@given(
    st.lists(st.integers(2, 9), min_size=1, max_size=4, unique=True).flatmap(
        lambda sizes: st.tuples(
            st.just(tuple(sizes)), st.tuples(*(st.integers(1, 9) for _ in sizes))
        )
    )
)
def test_column_generation_meets_the_program_over_all_patterns(
    case: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    bounds: list[tuple[float, float]] = []
    cutting_stock(*case, 11, bounds)
    assert bounds
    for said, proved in bounds:
        assert said == proved, "the duals that are handed over prove the bound"


def test_a_master_without_columns_and_with_two_blocks_reads_its_duals_by_name() -> None:
    master: RestrictedMaster[str] = RestrictedMaster()
    jobs = master.rows("job", 2, upper=1)
    room = master.rows("room", (2, 3), upper=[[4], [5]])
    assert master.height == 8
    assert room.at(1, [0, 2]).tolist() == [5, 7]
    duals = master.duals({room: [[-1, 0, 0], [0, 0, -2]]})
    assert prices_at_most(room, duals).tolist() == [[1, 0, 0], [0, 0, 2]]
    assert prices_at_most(jobs, duals).tolist() == [0, 0]

    def pricing(duals: np.ndarray) -> Priced:
        if not duals.any():
            columns = master.columns(
                [-3.0, -2.0],
                [{0: 1.0, int(room.at(0, 0)): 5.0}, [(jobs.at(1), 1.0), (room.at(1, [0, 1]), 1.0)]],
                ["half", "whole"],
            )
            return Priced(columns, -5.0)
        return Priced(None, -4.4)

    solution = master.solve(pricing, clock=Clock(None))
    assert dict(solution.support) == pytest.approx({"half": 0.8, "whole": 1.0})
    assert solution.bound == pytest.approx(-4.4)


def test_bounded_columns_and_the_bound_of_the_first_duals() -> None:
    master: RestrictedMaster[str] = RestrictedMaster()
    row = master.rows("share", 1, upper=2)
    master.begin(master.columns([], []))  # nothing yet
    master.begin(master.columns([-1.0], [{row.start: 1.0}], ["half"]), upper=0.5)
    heard: list[float] = []

    def pricing(duals: np.ndarray) -> Priced:
        price = float(prices_at_most(row, duals)[0])
        return Priced(None, -2 * price - 0.5 * max(0.0, 1 - price))

    solution = master.solve(
        pricing,
        clock=Clock(None),
        duals=master.duals({row: -3.0}),
        on_bound=lambda bound, duals: heard.append(bound),
    )
    assert solution.result.objective == pytest.approx(-0.5)
    assert solution.bound == pytest.approx(-0.5)
    assert heard == sorted(heard)
    assert (heard[0], heard[-1]) == pytest.approx((-6.0, -0.5))


# --- configurations ------------------------------------------------------------------------------

DEMANDS = st.integers(1, 4).flatmap(
    lambda kinds: st.lists(
        st.lists(st.integers(0, 5), min_size=2, max_size=2).filter(any),
        min_size=kinds,
        max_size=kinds,
    )
)


def fitting(demand: np.ndarray, capacity: np.ndarray) -> list[tuple[int, ...]]:
    reach = int(capacity.max()) + 1
    return [
        numbers
        for numbers in itertools.product(range(reach), repeat=len(demand))
        if (np.array(numbers) @ demand <= capacity).all()
    ]


@settings(max_examples=45, deadline=None)
@given(DEMANDS, st.tuples(st.integers(0, 6), st.integers(0, 6)), st.sampled_from([0.0, 1e-9]))
def test_all_that_fits_lies_below_a_maximal_configuration(
    rows: list[list[int]], room: tuple[int, int], rounding: float
) -> None:
    demand, capacity = np.array(rows, dtype=float), np.array(room, dtype=float)
    found = maximal_configurations(demand, capacity, rounding=rounding)
    assert found is not None
    every = fitting(demand, capacity)
    assert {tuple(row) for row in found.tolist()} <= set(every)
    assert all((found >= np.array(numbers)).all(axis=1).any() for numbers in every)
    if rounding == 0:  # none of them lies below another
        below = (found[:, None] <= found[None, :]).all(axis=2)
        assert below.sum() == len(found)


def test_configurations_end_where_there_are_too_many_or_no_end() -> None:
    demand = np.ones((6, 1))
    assert maximal_configurations(demand, np.array([30.0]), at_most=100) is None
    assert maximal_configurations(np.array([[1e-9]]), np.array([1e12])) is None  # more than 2^63
    with pytest.raises(ValueError, match="takes nothing"):
        maximal_configurations(np.zeros((1, 1)), np.array([3.0]))


def test_a_configuration_with_room_for_a_larger_item_is_left_out() -> None:
    found = maximal_configurations(np.eye(2), np.array([2.0, 1.0]))
    assert found is not None and found.tolist() == [[2, 1]]


def test_thirds_fit_three_times_where_rounding_is_allowed_for() -> None:
    third = np.array([[0.1 + 0.2]])
    assert maximal_configurations(third, np.array([0.9]), rounding=1e-9).tolist() == [[3]]  # type: ignore[union-attr]


# --- dual-feasible functions ---------------------------------------------------------------------


@given(st.integers(1, 12), st.lists(st.integers(1, 12), max_size=6), st.integers(0, 12))
def test_what_fits_still_fits_under_a_threshold(capacity: int, sizes: list[int], k: int) -> None:
    k = min(k, (capacity + 1) // 2)
    items: list[int] = []
    for size in sizes:
        if sum(items) + size <= capacity:
            items.append(size)
    assert sum(dff.threshold(items, capacity, k)) <= capacity


@given(st.integers(2, 14), st.lists(st.integers(1, 14), min_size=1, max_size=6))
def test_other_thresholds_say_no_more(capacity: int, sizes: list[int]) -> None:
    sizes = [min(size, capacity) for size in sizes]
    listed = [0, *dff.thresholds(sizes, capacity)]
    best = max(sum(dff.threshold(sizes, capacity, k)) for k in listed)
    for k in range((capacity + 1) // 2 + 1):
        assert sum(dff.threshold(sizes, capacity, k)) <= best


# --- knapsacks -----------------------------------------------------------------------------------

CHOICES = st.lists(
    st.lists(
        st.tuples(st.integers(0, 20), st.tuples(st.integers(0, 4), st.integers(0, 4))), max_size=3
    ),
    max_size=4,
)


@settings(max_examples=80, deadline=None)
@given(CHOICES, st.tuples(st.integers(0, 7), st.integers(0, 7)), st.integers(0, 12))
def test_a_knapsack_that_runs_out_of_nodes_still_has_a_bound(
    rows: list[list[tuple[int, tuple[int, int]]]], room: tuple[int, int], nodes: int
) -> None:
    choices = [
        [Option(value / 3, demand, (c, k)) for k, (value, demand) in enumerate(own)]
        for c, own in enumerate(rows)
    ]
    best = 0.0
    for taken in itertools.product(*([None, *own] for own in choices)):
        some = [option for option in taken if option is not None]
        if all(sum(o.demand[r] for o in some) <= room[r] for r in (0, 1)):
            best = max(best, sum(o.value for o in some))
    for budget in (nodes, 10_000):
        bound, names = multiple_choice_knapsack(choices, room, NodeBudget(budget))
        some = [choices[c][k] for c, k in names]
        assert len({c for c, _ in names}) == len(names)
        assert all(sum(o.demand[r] for o in some) <= room[r] for r in (0, 1))
        assert bound >= best
    assert sum(o.value for o in some) == pytest.approx(best)
    assert bound == pytest.approx(best)


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 9)), max_size=7), st.integers(0, 15))
def test_subsets_meet_the_enumeration(items: list[tuple[int, int]], capacity: int) -> None:
    lengths, values = [a for a, _ in items], np.array([b for _, b in items], dtype=np.int64)
    usable = [i for i, a in enumerate(lengths) if a >= 0]
    best = max(
        int(values[list(some)].sum())
        for size in range(len(usable) + 1)
        for some in itertools.combinations(usable, size)
        if sum(lengths[i] for i in some) <= capacity
    )
    value, chosen = best_subset(lengths, values, capacity)
    assert value == best == int(knapsack_values(lengths, values, capacity)[capacity])
    assert sum(lengths[i] for i in chosen) <= capacity
    assert sum(int(values[i]) for i in chosen) == best


# --- branch and bound ----------------------------------------------------------------------------


@dataclass
class Part:
    """A toy node: the first items are decided; the others may be taken in parts."""

    bound: float
    taken: tuple[int, ...]


def knapsack_tree(values: list[int], clock: Clock) -> tuple[float, float, str, list[float]]:
    """Minimise minus the value of at most half of the items' total size, size = value + 1."""
    sizes = [value + 1 for value in values]
    capacity = sum(sizes) // 2
    best, heard = [0.0], []

    def relaxed(taken: tuple[int, ...]) -> float:
        free = capacity - sum(s for s, t in zip(sizes, taken, strict=False) if t)
        if free < 0:
            return math.inf
        value = float(sum(v for v, t in zip(values, taken, strict=False) if t))
        rest = sorted(zip(values, sizes, strict=True), key=lambda item: -item[0] / item[1])
        later = list(zip(values, sizes, strict=True))[len(taken) :]
        for item in rest:
            if item in later:
                later.remove(item)
                part = min(1.0, free / item[1])
                value, free = value + part * item[0], free - part * item[1]
        return -value

    def branch(node: Part) -> list[Part]:
        if clock.expired():
            raise UnsettledError("stopped in the node")
        if len(node.taken) == len(values):
            best[0] = min(best[0], node.bound)
            return []
        children = [Part(relaxed((*node.taken, t)), (*node.taken, t)) for t in (1, 0)]
        return [child for child in children if child.bound < math.inf]

    end = best_first(
        Part(relaxed(()), ()),
        branch,
        is_closed=lambda bound: bound >= best[0] - 1e-9,
        clock=clock,
        on_bound=heard.append,
    )
    return best[0], min(best[0], end.bound), end.stopped, heard


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=7))
def test_a_search_that_stops_anywhere_has_a_valid_bound(values: list[int]) -> None:
    sizes, capacity = [v + 1 for v in values], (sum(values) + len(values)) // 2
    optimum = -max(
        sum(values[i] for i in some)
        for size in range(len(values) + 1)
        for some in itertools.combinations(range(len(values)), size)
        if sum(sizes[i] for i in some) <= capacity
    )
    for stop in itertools.count(1):
        best, bound, stopped, heard = knapsack_tree(values, StopAt(stop))
        assert bound <= optimum + 1e-9 <= best + 2e-9
        assert all(said <= optimum + 1e-9 for said in heard)
        if not stopped:
            assert best == bound == pytest.approx(optimum)
            break
        assert stop < 2000


def test_pseudocosts_prefer_what_has_raised_the_bound() -> None:
    costs = Pseudocosts()
    costs.learn("a", 0, gain=10.0, distance=0.5)
    costs.learn("a", 1, gain=4.0, distance=1.0)
    costs.learn("b", 0, gain=0.0, distance=0.5)
    distance = (0.5, 0.5)
    assert costs.score("a", distance, prior=1.0) > costs.score("c", distance, prior=1.0)
    assert costs.score("b", distance, prior=1.0) < costs.score("c", distance, prior=1.0)


def test_splits_say_how_far_the_mean_has_to_move() -> None:
    share = np.array([0.25, 0.75])
    assert list(splits(share, [3, 5])) == [(3, (1.5, 0.25))]
    assert list(splits(share, [4, 4])) == []
