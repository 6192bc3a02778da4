"""Record of a branch and price, written as a proof that no schedule is better (ours).

Each node is recorded with the prices that close it, or with those that reduced its windows and the
branch that divides it. The record stays valid when the incumbent improves later. Windows that were
reduced for a worse incumbent contain the windows of the proof. Prices that closed a node against it
close the node against a better one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from schedgap.models.hare.exact.kernel import Floats
from schedgap.solvers.proofs.tree import Proof

BITS = 10  # prices are multiples of 2^-BITS
MAX_PRICES = 5_000_000  # beyond them, nothing is recorded


class ProofLog:
    """The nodes of a search and the prices used at them.

    `kinds`, `horizon`: number of kinds of GPUs, and of steps.
    """

    def __init__(self, kinds: int, horizon: int) -> None:
        self._kinds = kinds
        self._vectors: list[dict[str, Any]] = []
        self._numbers: dict[bytes, int] = {}
        self._size = 0
        # Unless the root is solved, it is closed without prices, by the jobs alone.
        self._nodes: list[dict[str, Any]] = [{"v": self._vector(np.zeros(kinds * horizon))}]
        self._children: dict[int, int] = {}  # first child, by node

    def close(self, node: int, prices: Floats) -> None:
        """Record that prices close a node.

        `node`: its number; the root is 0. `prices` [k * horizon + t]: prices of GPU time, multiples
        of 2^-BITS.
        """
        self._nodes[node] = {"v": self._vector(prices)}

    def close_reduced(self, node: int, prices: Floats, closing: Floats | None) -> None:
        """Record that a node contains at most one schedule after its windows were reduced.

        `prices` [k * horizon + t]: those by which the windows were reduced. `closing` [k * horizon
        + t]: prices that close what is left; None if some job has no schedule left.
        """
        end = {"empty": True} if closing is None else {"v": self._vector(closing)}
        self._nodes[node] = {"fix": [self._vector(prices)], **end}

    def split(self, node: int, prices: Floats, branch: Sequence[Any]) -> int:
        """Record that a node is divided, after its windows were reduced; return its first child.

        The second child has the next number. Prices of the node close a child that is never solved.

        `prices` [k * horizon + t]: those by which the windows were reduced. `branch`: as in a proof
        file.
        """
        vector, first = self._vector(prices), len(self._nodes)
        self._nodes[node] = {"fix": [vector], "b": list(branch)}
        self._nodes += [{"v": vector}, {"v": vector}]
        self._children[node] = first
        return first

    def _vector(self, prices: Floats) -> int:
        """Return the number of a vector of prices."""
        whole = np.round(prices * 2.0**BITS).astype(np.int64).reshape(self._kinds, -1)
        key = whole.tobytes()
        if key not in self._numbers:
            cells = np.argwhere(whole)
            self._size += len(cells)
            self._numbers[key] = len(self._vectors)
            if self._size <= MAX_PRICES:
                self._vectors.append(_vector(whole, cells))
        return self._numbers[key]

    def written(self) -> Proof | None:
        """Return the proof, its nodes in preorder; None if it is too large for the checker."""
        if self._size > MAX_PRICES:
            return None
        tree: list[dict[str, Any]] = []
        stack = [0]
        while stack:
            node = stack.pop()
            tree.append(self._nodes[node])
            if (first := self._children.get(node)) is not None:
                stack += [first + 1, first]
        return Proof(self._vectors, [], tree)


def _vector(whole: "np.ndarray[Any, np.dtype[np.int64]]", cells: Any) -> dict[str, Any]:
    """Return prices [k, t], in units of 2^-BITS, by kind and step with the fewest bits."""
    even = int(np.bitwise_or.reduce(whole, axis=None)) | 1 << BITS
    shift = (even & -even).bit_length() - 1
    prices = [[int(k), int(t), int(whole[k, t]) >> shift] for k, t in cells]
    return {"q": BITS - shift, "p": prices}
