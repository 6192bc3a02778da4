"""Separation of cliques for the prover: columns of which at most one can be 1."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from schedgap.solvers.programs.arrays import Floats
from schedgap.solvers.programs.cliques import heavy_cliques
from schedgap.solvers.proofs.checker import Box
from schedgap.solvers.proofs.cuts import CliqueCut

MAX_SUPPORT, MAX_CLIQUES, MAX_MEMBERS = 300, 60, 2000
VIOLATION = 0.02


class CliqueSeparator:
    """Separates violated cliques, which further columns extend.

    `cliques`: of the program.
    """

    def __init__(self, cliques: CliqueCut) -> None:
        self.near = cliques.near

    def __call__(self, point: Floats, box: Box) -> Sequence[Mapping[str, Any]]:
        """Return violated cliques.

        `point` [j]: a fractional solution. `box`: bounds of the columns; not used.
        """
        support = np.argsort(-point, kind="stable")[:MAX_SUPPORT]
        support = support[(point[support] > 1e-6) & (point[support] < 1 - 1e-6)]
        if not len(support):
            return []
        near = [self.near(j) for j in support.tolist()]
        adjacent = np.array([[own >> j & 1 for j in support.tolist()] for own in near], dtype=bool)
        cliques = heavy_cliques(adjacent, point[support], above=1 + VIOLATION)
        return [
            {"why": "clique", "columns": self._extended([int(support[v]) for v in clique])}
            for clique in cliques[:MAX_CLIQUES]
        ]

    def _extended(self, clique: list[int]) -> list[int]:
        """Return a clique with further columns, the cheapest first."""
        left = -1
        for j in clique:
            left &= self.near(j)
        found = list(clique)
        while left and len(found) < MAX_MEMBERS:
            j = (left & -left).bit_length() - 1
            found.append(j)
            left &= self.near(j)
        return sorted(found)
