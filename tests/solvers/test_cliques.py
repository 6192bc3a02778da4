"""Heavy cliques: on a graph by hand, and against all subsets of small random ones."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedgap.solvers.programs import cliques
from schedgap.solvers.programs.cliques import heavy_cliques


def graph(vertices: int, edges: list[tuple[int, int]]) -> np.ndarray:
    adjacent = np.zeros((vertices, vertices), dtype=bool)
    for u, v in edges:
        adjacent[u, v] = adjacent[v, u] = True
    return adjacent


def test_a_triangle_is_heavier_than_a_heavy_edge() -> None:
    """0-1-2 weighs 0.4 + 0.4 + 0.4, 3-4 only 0.5 + 0.6."""
    adjacent = graph(5, [(0, 1), (1, 2), (0, 2), (3, 4)])
    weight = np.array([0.4, 0.4, 0.4, 0.5, 0.6])
    assert heavy_cliques(adjacent, weight, above=1.0) == [(0, 1, 2), (3, 4)]
    assert heavy_cliques(adjacent, weight, above=1.15) == [(0, 1, 2)]


@given(st.integers(1, 7), st.data())
def test_the_heaviest_clique_is_found_and_all_are_cliques(size: int, data: st.DataObject) -> None:
    pairs = list(combinations(range(size), 2))
    edges = [pair for pair in pairs if data.draw(st.booleans())]
    adjacent = graph(size, edges)
    weight = np.array([data.draw(st.integers(1, 9)) / 8 for _ in range(size)])
    subsets = (each for k in range(1, size + 1) for each in combinations(range(size), k))
    cliques = [each for each in subsets if all(adjacent[u, v] for u, v in combinations(each, 2))]
    heaviest = max(weight[list(each)].sum() for each in cliques)
    found = heavy_cliques(adjacent, weight, above=0.5)
    assert set(found) <= set(cliques)
    assert all(weight[list(each)].sum() > 0.5 for each in found)
    if heaviest > 0.5 + 1e-6:
        assert weight[list(found[0])].sum() == pytest.approx(heaviest)


def test_little_effort_still_gives_cliques() -> None:
    adjacent = ~np.eye(30, dtype=bool)
    adjacent[::3, 1::3] = adjacent[1::3, ::3] = False
    for clique in heavy_cliques(adjacent, np.full(30, 0.5), above=1.0, effort=3):
        assert all(adjacent[u, v] for u, v in combinations(clique, 2))


@pytest.mark.parametrize(("limit", "most"), [(10, 10), (10**6, 12)])
def test_the_steps_are_limited_and_hopeless_branches_are_left_out(
    limit: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a complete graph the first branch has all 12 vertices, and no other can be heavier."""
    steps, grow = list[int](), cliques._Search.grow

    def counted(search: cliques._Search, clique: list[int], *rest: Any) -> None:
        steps.append(clique[0])
        grow(search, clique, *rest)

    monkeypatch.setattr(cliques._Search, "grow", counted)
    found = heavy_cliques(~np.eye(12, dtype=bool), np.full(12, 0.5), above=1.0, effort=limit)
    assert found[0] == tuple(range(12)) if limit > 12 else len(found[0]) == limit
    assert [steps.count(first) for first in range(12)] == [most] * 12
