"""Best-first branch and bound whose bound is valid at any moment, and pseudocosts for its branches.

The nodes of branch and price, or of branch and cut, differ from family to family; the loop does
not. There are two ways to settle a node. Either the incumbent meets its bound, or its children
together contain every schedule of the node. A node whose work is interrupted is not settled. It
stays open with the best bound that it has reached.

References
----------
C. Barnhart, E. L. Johnson, G. L. Nemhauser, M. W. P. Savelsbergh, P. H. Vance, "Branch-and-price:
column generation for solving huge integer programs", Operations Research 46 (1998).
M. Bénichou, J. M. Gauthier, P. Girodet, G. Hentges, G. Ribière, O. Vincent, "Experiments in
mixed-integer linear programming", Mathematical Programming 1 (1971): pseudocosts.
"""

import heapq
import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.programs.arrays import Floats

OUT_OF_TIME = "time is up"


class UnsettledError(Exception):
    """A node is not settled: time is up, or its relaxation has no answer. The text says which."""


class Node(Protocol):
    """A subproblem. `bound` holds for all its schedules, and may rise while it is worked on."""

    bound: float


N = TypeVar("N", bound=Node)


@dataclass(frozen=True, slots=True)
class SearchEnd:
    """Where the search stopped.

    `bound`: bound on everything that is still open; inf if nothing is. `stopped`: reason why nodes
    are still open; empty if none is. `open`: the nodes that are still open.
    """

    bound: float
    stopped: str
    open: tuple[Any, ...] = ()


def best_first(
    root: N,
    branch: Callable[[N], Iterable[N]],
    *,
    is_closed: Callable[[float], bool],
    clock: Clock,
    on_bound: Callable[[float], None] = lambda bound: None,
) -> SearchEnd:
    """Branch on the node of the least bound until all are settled or the clock is up (minimise).

    `branch`: work on a node: return its children, none when it is settled, or raise UnsettledError
    with the best bound reached in `node.bound`. `is_closed`: whether the incumbent is as good as
    anything of a given bound; asked anew each time. `on_bound`: told the bound on all open nodes
    each time one is chosen; it need not have risen. Since the incumbent is worse, it bounds the
    whole problem.

    Examples
    --------
    The least integer with a square of 30 or more, by halving 0..31.

    >>> from types import SimpleNamespace as Part
    >>> best = []
    >>> def halves(node):
    ...     if node.bound == node.last:
    ...         best.append(node.bound)
    ...         return []
    ...     middle = (node.bound + node.last) // 2
    ...     parts = [Part(bound=node.bound, last=middle), Part(bound=middle + 1, last=node.last)]
    ...     return [part for part in parts if part.last**2 >= 30]
    >>> end = best_first(Part(bound=0, last=31), halves, clock=Clock(None),
    ...                  is_closed=lambda bound: bool(best) and bound >= min(best))
    >>> best, end.stopped
    ([6], '')
    """
    heap = [(root.bound, 0, root)]
    number = 1
    while heap:
        node = heapq.heappop(heap)[-1]
        if is_closed(node.bound):
            return SearchEnd(math.inf, "")  # no other bound is lower
        on_bound(node.bound)
        try:
            if clock.expired():
                raise UnsettledError(OUT_OF_TIME)
            children = list(branch(node))
        except UnsettledError as reason:
            left = (node, *(other for _, _, other in heap))
            return SearchEnd(min(node.bound for node in left), str(reason), left)
        for child in children:
            heapq.heappush(heap, (child.bound, number, child))
            number += 1
    return SearchEnd(math.inf, "")


class Pseudocosts:
    """How much branches have raised the bound so far, per unit of distance: what others will.

    Each branch has two sides, 0 and 1, and a distance on each: by how much the fractional value
    has to move there.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[Hashable, int], tuple[float, int]] = {}

    def learn(self, branch: Hashable, side: int, *, gain: float, distance: float) -> None:
        """Record one side of a branch.

        `branch`: what was branched on. `gain`: by how much the bound rose, >= 0. `distance`: less
        than 0.01 counts as 0.01.
        """
        total, count = self._sums.get((branch, side), (0.0, 0))
        self._sums[branch, side] = total + gain / max(distance, 0.01), count + 1

    def score(self, branch: Hashable, distance: tuple[float, float], *, prior: float) -> float:
        """Return the product of the expected gains of both sides.

        `distance`: of each side. `prior`: a gain per unit of distance that counts as one
        observation.
        """
        score = 1.0
        for side in (0, 1):
            total, count = self._sums.get((branch, side), (0.0, 0))
            score *= (total + prior) / (count + 1) * distance[side] + 1e-6
        return score


def splits(share: Floats, values: ArrayLike) -> Iterator[tuple[int, tuple[float, float]]]:
    """Yield the ways to split integer values that have shares: up to `at`, or later.

    `share` [c]: shares of the columns in use, which sum to 1. `values` [c]: of what is branched on
    in each column: the completion of a job, say.

    A way is a value `at` and a pair of distances: by how much the mean value has to move where all
    are at most `at`, and where all are later.
    """
    value = np.asarray(values, dtype=np.int64)
    for at in np.unique(value)[:-1].tolist():
        late = float(share @ np.maximum(value - at, 0))
        early = float(share @ np.maximum(at + 1 - value, 0))
        yield at, (late, early)
