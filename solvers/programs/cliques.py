"""Cliques of large weight in a graph, for separating clique inequalities.

If at most one column of a clique can be 1, the sum of the columns is at most 1. A clique whose
fractional values add up to more gives a violated inequality.

References
----------
R. Carraghan, P. M. Pardalos, "An exact algorithm for the maximum clique problem", Operations
Research Letters 9 (1990). The search here is theirs with weights, from each vertex, and truncated.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schedgap.solvers.programs.arrays import Floats


def heavy_cliques(
    adjacent: NDArray[np.bool_], weight: Floats, *, above: float, effort: int = 400
) -> list[tuple[int, ...]]:
    """Return cliques of more than a given weight, heaviest first.

    `adjacent` [v, v]: symmetric adjacency matrix; the diagonal is ignored. `weight` [v]: weights of
    the vertices, > 0. `above`: only cliques of more weight are returned. `effort`: limit on the
    search steps from each vertex.

    Notes
    -----
    For each vertex, branch and bound searches for the heaviest clique that contains it. A branch is
    pruned if the total weight of its remaining candidates is too small. After `effort` steps the
    search stops, so a returned clique need not be the heaviest one.
    """
    ranked = np.argsort(-weight, kind="stable")
    order = [int(v) for v in ranked]
    neighbours = [
        sum(1 << int(u) for u in np.flatnonzero(adjacent[v]) if u != v) for v in range(len(weight))
    ]
    worth = weight.tolist()
    found: dict[tuple[int, ...], float] = {}
    for first in order:
        search = _Search(neighbours, worth, effort, above)
        search.grow([first], [u for u in order if neighbours[first] >> u & 1], worth[first])
        if search.best is not None:
            found[search.best] = search.value
    return sorted(found, key=lambda clique: (-found[clique], clique))


class _Search:
    """Search for the heaviest clique that contains a given vertex."""

    def __init__(
        self, neighbours: Sequence[int], weight: Sequence[float], effort: int, above: float
    ) -> None:
        self.best: tuple[int, ...] | None = None
        self.value = above
        self._neighbours, self._weight, self._left = neighbours, weight, effort

    def grow(self, clique: list[int], candidates: list[int], value: float) -> None:
        """Search all extensions of a clique by candidates, which are in descending weight.

        `candidates`: vertices adjacent to all of the clique. `value`: weight of the clique.
        """
        self._left -= 1
        if value > self.value + 1e-9:
            self.best, self.value = tuple(sorted(clique)), value
        rest = sum(self._weight[u] for u in candidates)
        for at, u in enumerate(candidates):
            if value + rest <= self.value or self._left <= 0:
                return
            near = self._neighbours[u]
            later = [v for v in candidates[at + 1 :] if near >> v & 1]
            self.grow([*clique, u], later, value + self._weight[u])
            rest -= self._weight[u]
