"""Heavy cliques of a graph with weights: what a fraction of each of many rivals adds up to."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schedgap.solvers.programs.arrays import Floats


def heavy_cliques(
    adjacent: NDArray[np.bool_], weight: Floats, *, above: float, effort: int = 400
) -> list[tuple[int, ...]]:
    """Return cliques of more than a given weight, the heaviest first.

    Parameters
    ----------
    adjacent : array [v, v] of bool
        Symmetric; the diagonal plays no part.
    weight : array [v]
        > 0.
    above : float
        Only cliques of more weight are returned.
    effort : int
        Steps of the search from each vertex.

    Notes
    -----
    For each vertex the heaviest clique that contains it, by branch and bound on the weight of what
    is left, cut off after `effort` steps: each result is a clique, not always the heaviest one.
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
    """The heaviest clique that extends a vertex."""

    def __init__(
        self, neighbours: Sequence[int], weight: Sequence[float], effort: int, above: float
    ) -> None:
        self.best: tuple[int, ...] | None = None
        self.value = above
        self._neighbours, self._weight, self._left = neighbours, weight, effort

    def grow(self, clique: list[int], candidates: list[int], value: float) -> None:
        """Try all cliques that join the candidates, in descending weight, to a clique."""
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
