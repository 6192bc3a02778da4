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

STEPS = 40  # towards good prices
MOST_NODES = 20_000  # of one knapsack
SAFE = 1 + 1e-9  # for the rounding of some thousand sums and products
_EQUAL = 1e-11  # relative: a bound that is so little above the best value leaves nothing to find


Path = tuple[tuple[int, int], "Path"] | None  # names of the options taken, the last one first


class Option(NamedTuple):
    """One option of a choice: what it is worth, what it takes, and a name."""

    value: float
    demand: tuple[int, ...]
    name: tuple[int, int]


@dataclass
class Budget:
    """Nodes that are left to several knapsacks together."""

    nodes: int


def knapsack(
    choices: Sequence[Sequence[Option]], room: Sequence[int], budget: Budget
) -> tuple[float, list[tuple[int, int]]]:
    """Return at least the largest sum of values, and the names of options that fit together.

    Of each choice one option at most; the demands of all within the room. What is returned is worth
    the bound itself, but for `SAFE`, unless the nodes ran out.
    """
    fitting = [
        [o for o in own if all(a <= b for a, b in zip(o.demand, room, strict=True))]
        for own in choices
    ]
    fitting = [own for own in fitting if own]
    if not fitting:
        return 0.0, []
    price = _prices(fitting, room)

    def left(option: Option) -> float:
        return option.value - sum(p * d for p, d in zip(price, option.demand, strict=True))

    own = [sorted(options, key=lambda o: -left(o)) for options in fitting]
    # dear choices first: what is left of the room then leaves little to the others
    own.sort(key=lambda options: -max(o.value for o in options))
    size = len(own)
    priced, free = [0.0] * (size + 1), [0.0] * (size + 1)
    for c in range(size - 1, -1, -1):
        priced[c] = priced[c + 1] + max(0.0, left(own[c][0]))
        free[c] = free[c + 1] + max(o.value for o in own[c])

    def bound(c: int, value: float, rest: tuple[int, ...]) -> float:
        return value + min(
            free[c], priced[c] + sum(p * r for p, r in zip(price, rest, strict=True))
        )

    most, best = 0.0, None
    start = tuple(int(r) for r in room)
    stack: list[tuple[float, int, float, tuple[int, ...], Path]]
    stack = [(bound(0, 0.0, start), 0, 0.0, start, None)]
    nodes = min(MOST_NODES, budget.nodes)
    left_open = 0.0
    while stack:
        limit, c, value, rest, path = stack.pop()
        if value > most:
            most, best = value, path
        if c == size or limit <= most * (1 + _EQUAL):
            continue
        if nodes <= 0:
            left_open = max(left_open, limit)
            continue
        nodes -= 1
        budget.nodes -= 1
        children = [(bound(c + 1, value, rest), c + 1, value, rest, path)]
        for option in reversed(own[c]):
            after = tuple(a - b for a, b in zip(rest, option.demand, strict=True))
            if min(after) >= 0:
                worth = value + option.value
                children.append(
                    (bound(c + 1, worth, after), c + 1, worth, after, (option.name, path))
                )
        stack += children
    names = []
    while best is not None:
        name, best = best
        names.append(name)
    return max(most * (1 + _EQUAL), left_open) * SAFE, names


def _prices(choices: Sequence[Sequence[Option]], room: Sequence[int]) -> list[float]:
    """Return prices [r] >= 0 of the room, by steps along subgradients of the bound they prove."""
    space = np.array(room, dtype=float)
    used = space > 0
    scale = np.where(used, space, 1.0)
    owner = np.repeat(np.arange(len(choices)), [len(own) for own in choices])
    starts = np.concatenate([[0], np.cumsum([len(own) for own in choices])[:-1]])
    value = np.array([o.value for own in choices for o in own])
    share = np.array([o.demand for own in choices for o in own], dtype=float) / scale
    price: Floats = np.zeros(len(space))
    best, kept = np.inf, price
    # what the options by their worth for the room bring: a value to step towards
    reached, taken, seen = 0.0, np.zeros(len(space)), set()
    for k in np.argsort(-value / np.maximum(share.max(axis=1), 1e-12), kind="stable").tolist():
        if owner[k] not in seen and (taken + share[k] <= 1).all():
            seen.add(owner[k])
            taken, reached = taken + share[k], reached + float(value[k])
    for _ in range(STEPS):
        gain = value - share @ price
        largest = np.maximum.reduceat(gain, starts)
        proved = float(price[used].sum() + np.maximum(largest, 0.0).sum())
        if proved < best:
            best, kept = proved, price
        slope = used.astype(float)
        at = [
            int(starts[c] + np.argmax(gain[starts[c] : starts[c] + len(own)]))
            for c, own in enumerate(choices)
            if largest[c] > 0
        ]
        slope -= share[at].sum(axis=0)
        norm = float(slope @ slope)
        if norm == 0 or proved <= reached * (1 + 1e-9):
            break
        price = np.maximum(0.0, price - (proved - reached) / norm * slope)
    return [float(p) for p in np.where(used, kept / scale, 0.0)]
