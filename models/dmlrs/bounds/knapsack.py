"""The most that one machine earns: a multiple-choice knapsack by branch and bound (ours).

No engine is in it: rooms and demands are whole numbers, and any prices of the room prove a bound,

    price room + sum_choices max(0, max_option [value - price demand]),

so that a search that is stopped, after a fixed number of nodes, still has one, and the same one
whenever it is asked again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from schedgap.instances.dmlrs.compiled import Floats

SUBGRADIENT_STEPS = 40  # towards good prices
MAX_NODES = 20_000  # of one knapsack
ROUND_UP = 1 + 1e-9  # for the rounding of some thousand sums and products
_OPTIMAL_GAP = (
    1e-11  # relative: a bound that is so little above the best value leaves nothing to find
)


Path = tuple[tuple[int, int], "Path"] | None  # names of the options taken, the last one first


class KnapsackOption(NamedTuple):
    """One option of a choice: what it is worth, what it takes, and a name."""

    value: float
    demand: tuple[int, ...]
    name: tuple[int, int]


@dataclass
class NodeBudget:
    """Nodes that are left to several knapsacks together."""

    nodes: int


def knapsack(
    choices: Sequence[Sequence[KnapsackOption]], capacity: Sequence[int], budget: NodeBudget
) -> tuple[float, list[tuple[int, int]]]:
    """Return at least the largest sum of values, and the names of options that fit together.

    Of each choice one option at most; the demands of all within the room. What is returned is worth
    the bound itself, but for `SAFE`, unless the nodes ran out.
    """
    fitting = [
        [o for o in sorted_choices if all(a <= b for a, b in zip(o.demand, capacity, strict=True))]
        for sorted_choices in choices
    ]
    fitting = [sorted_choices for sorted_choices in fitting if sorted_choices]
    if not fitting:
        return 0.0, []
    price = _dual_prices(fitting, capacity)

    def reduced_value(option: KnapsackOption) -> float:
        return option.value - sum(p * d for p, d in zip(price, option.demand, strict=True))

    sorted_choices = [sorted(options, key=lambda o: -reduced_value(o)) for options in fitting]
    # dear choices first: what is left of the room then leaves little to the others
    sorted_choices.sort(key=lambda options: -max(o.value for o in options))
    size = len(sorted_choices)
    priced, free = [0.0] * (size + 1), [0.0] * (size + 1)
    for c in range(size - 1, -1, -1):
        priced[c] = priced[c + 1] + max(0.0, reduced_value(sorted_choices[c][0]))
        free[c] = free[c + 1] + max(o.value for o in sorted_choices[c])

    def bound(c: int, value: float, remaining: tuple[int, ...]) -> float:
        return value + min(
            free[c], priced[c] + sum(p * r for p, r in zip(price, remaining, strict=True))
        )

    best_value, best_path = 0.0, None
    root = tuple(int(r) for r in capacity)
    stack: list[tuple[float, int, float, tuple[int, ...], Path]]
    stack = [(bound(0, 0.0, root), 0, 0.0, root, None)]
    nodes = min(MAX_NODES, budget.nodes)
    open_bound = 0.0
    while stack:
        limit, c, value, remaining, path = stack.pop()
        if value > best_value:
            best_value, best_path = value, path
        if c == size or limit <= best_value * (1 + _OPTIMAL_GAP):
            continue
        if nodes <= 0:
            open_bound = max(open_bound, limit)
            continue
        nodes -= 1
        budget.nodes -= 1
        children = [(bound(c + 1, value, remaining), c + 1, value, remaining, path)]
        for option in reversed(sorted_choices[c]):
            remaining_after = tuple(a - b for a, b in zip(remaining, option.demand, strict=True))
            if min(remaining_after) >= 0:
                value_after = value + option.value
                children.append(
                    (
                        bound(c + 1, value_after, remaining_after),
                        c + 1,
                        value_after,
                        remaining_after,
                        (option.name, path),
                    )
                )
        stack += children
    taken = []
    while best_path is not None:
        name, best_path = best_path
        taken.append(name)
    return max(best_value * (1 + _OPTIMAL_GAP), open_bound) * ROUND_UP, taken


def _dual_prices(
    choices: Sequence[Sequence[KnapsackOption]], capacity: Sequence[int]
) -> list[float]:
    """Return prices [r] >= 0 of the room, by steps along subgradients of the bound they prove."""
    room = np.array(capacity, dtype=float)
    positive = room > 0
    scale = np.where(positive, room, 1.0)
    owner = np.repeat(np.arange(len(choices)), [len(options) for options in choices])
    starts = np.concatenate([[0], np.cumsum([len(options) for options in choices])[:-1]])
    value = np.array([o.value for options in choices for o in options])
    share = np.array([o.demand for options in choices for o in options], dtype=float) / scale
    price: Floats = np.zeros(len(room))
    best_bound, best_price = np.inf, price
    # what the options by their worth for the room bring: a value to step towards
    greedy_value, greedy_load, chosen = 0.0, np.zeros(len(room)), set()
    for k in np.argsort(-value / np.maximum(share.max(axis=1), 1e-12), kind="stable").tolist():
        if owner[k] not in chosen and (greedy_load + share[k] <= 1).all():
            chosen.add(owner[k])
            greedy_load, greedy_value = greedy_load + share[k], greedy_value + float(value[k])
    for _ in range(SUBGRADIENT_STEPS):
        gain = value - share @ price
        largest = np.maximum.reduceat(gain, starts)
        bound = float(price[positive].sum() + np.maximum(largest, 0.0).sum())
        if bound < best_bound:
            best_bound, best_price = bound, price
        subgradient = positive.astype(float)
        maximisers = [
            int(starts[c] + np.argmax(gain[starts[c] : starts[c] + len(options)]))
            for c, options in enumerate(choices)
            if largest[c] > 0
        ]
        subgradient -= share[maximisers].sum(axis=0)
        norm = float(subgradient @ subgradient)
        if norm == 0 or bound <= greedy_value * (1 + 1e-9):
            break
        price = np.maximum(0.0, price - (bound - greedy_value) / norm * subgradient)
    return [float(p) for p in np.where(positive, best_price / scale, 0.0)]
