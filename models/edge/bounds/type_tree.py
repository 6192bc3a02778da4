"""Trees of boxes for the jobs of one worker type, and the bound that their leaves prove.

A box has an interval for the start, the end, the number of workers and xi of each job. A branch
splits one interval in two. A schedule in modes lies in the boxes of exactly one leaf. So the least
bound of the leaves bounds all schedules, whatever the branches and prices are.

References
----------
A. H. Land, A. G. Doig, "An automatic method of solving discrete programming problems", Econometrica
28 (1960).
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from schedgap.instances.edge.compiled import Floats, Ints
from schedgap.models.edge.bounds.type_pricing import TypeRelaxation

MAX_NODES = 5_000  # a certificate of this size is evaluated in about a minute


class Branch(NamedTuple):
    """The first child has at most this value in an attribute of a task, the second has more."""

    task: int
    attribute: int
    most: int


@dataclass(slots=True, eq=False)
class Node:
    """A box [task, attribute, side] with prices [row, block], and the bound that they prove.

    `branch`: of the children, which may not exist yet. `solution`: columns of the relaxation, if it
    is solved and needs no branch. `data`: the prices as JSON data, once they have been asked for.
    """

    box: Ints
    prices: Floats
    bound: float
    branch: Branch | None = None
    solution: Ints | None = None
    children: "tuple[Node, ...]" = ()
    data: dict[str, Any] | None = None

    def preorder(self) -> "Iterator[Node]":
        """Yield the node and all nodes below it; first children come first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += node.children[::-1]


def halves(box: Ints, branch: Branch) -> tuple[Ints, Ints]:
    """Return the boxes of the two children of a box."""
    (task, attribute, most), first, second = branch, box.copy(), box.copy()
    least, greatest = box[task, attribute].tolist()
    first[task, attribute, 1] = min(most, greatest)
    second[task, attribute, 0] = max(most + 1, least)
    return first, second


def least_bound(types: TypeRelaxation, tree: Iterable[Branch | Floats]) -> float:
    """Return the least bound of the leaves of a tree.

    `tree`: branches and the prices [row, block] of leaves, in preorder.

    Raises
    ------
    ValueError
        If this is not a tree.
    """
    least, boxes = math.inf, [types.everything]
    for node in tree:
        if not boxes:
            raise ValueError("tree: has more nodes than its branches have children")
        box = boxes.pop()
        if isinstance(node, Branch):
            boxes += halves(box, node)[::-1]
        else:
            least = min(least, types.bound(node, box)[0])
    if boxes:
        raise ValueError("tree: a child of a branch is missing")
    return least
