"""Knapsacks that price configurations: multiple choice with a proved bound, and 0-1 by capacity.

The multiple-choice knapsack needs no engine. Any prices of the capacity prove a bound,

    price capacity + sum over choices of max(0, max over options of [value - price demand]),

so a search that is stopped after a fixed number of nodes still has one, and the same one whenever
it is asked again.

References
----------
P. Sinha, A. A. Zoltners, "The multiple-choice knapsack problem", Operations Research 27 (1979).
H. Kellerer, U. Pferschy, D. Pisinger, "Knapsack Problems", Springer (2004).
M. Held, P. Wolfe, H. P. Crowder, "Validation of subgradient optimization", Mathematical Programming
6 (1974): the steps towards good prices.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedgap.solvers.programs.arrays import Floats

SUBGRADIENT_STEPS = 40
MAX_NODES = 20_000  # limit for one knapsack
SAFE = 1 + 1e-9  # covers the rounding of some thousand sums and products
_EQUAL = 1e-11  # relative: a bound so little above the best value leaves nothing to find

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Option(Generic[Name]):
    """One option of a choice: its value, its demand of each resource, and a name."""

    value: float
    demand: tuple[int, ...]
    name: Name


@dataclass
class NodeBudget:
    """Nodes that several knapsacks share; bounds are weaker once they are used up."""

    nodes: int


class _State(NamedTuple):
    """A node: options of the choices before `choice` are taken or left."""

    bound: float
    choice: int
    value: float
    free: tuple[int, ...]
    taken: tuple[object, ...] | None  # (name of the last option taken, those before)


def multiple_choice_knapsack(
    choices: Sequence[Sequence[Option[Name]]], capacity: Sequence[int], budget: NodeBudget
) -> tuple[float, list[Name]]:
    """Return an upper bound on the largest value, and options that fit together.

    `choices`: at most one option of each choice is taken. `capacity` [r]: of each resource; demands
    are integers, too, so sums are exact. `budget`: reduced by the nodes used.

    The bound is at least the optimum. It equals the value of the options but for `SAFE`, unless the
    nodes ran out. The options are returned by name.

    Examples
    --------
    >>> choices = [[Option(5.0, (3,), "a"), Option(3.0, (2,), "b")], [Option(4.0, (2,), "c")]]
    >>> bound, names = multiple_choice_knapsack(choices, [4], NodeBudget(100))
    >>> round(bound, 6), sorted(names)
    (7.0, ['b', 'c'])
    """
    fitting = [
        [o for o in own if all(a <= b for a, b in zip(o.demand, capacity, strict=True))]
        for own in choices
    ]
    fitting = [own for own in fitting if own]
    if not fitting:
        return 0.0, []
    price = _subgradient_prices(fitting, capacity)

    def reduced(option: Option[Name]) -> float:
        return option.value - sum(p * d for p, d in zip(price, option.demand, strict=True))

    own = [sorted(options, key=lambda o: -reduced(o)) for options in fitting]
    # Valuable choices first: what is left of the capacity then leaves little to the others.
    own.sort(key=lambda options: -max(o.value for o in options))
    size = len(own)
    # What choices c, c + 1, ... are worth at most: under the prices, and with all capacity.
    priced, alone = [0.0] * (size + 1), [0.0] * (size + 1)
    for c in range(size - 1, -1, -1):
        priced[c] = priced[c + 1] + max(0.0, reduced(own[c][0]))
        alone[c] = alone[c + 1] + max(o.value for o in own[c])

    def bound(c: int, value: float, free: tuple[int, ...]) -> float:
        paid = sum(p * r for p, r in zip(price, free, strict=True))
        return value + min(alone[c], priced[c] + paid)

    best, best_taken = 0.0, None
    start = tuple(int(r) for r in capacity)
    stack = [_State(bound(0, 0.0, start), 0, 0.0, start, None)]
    nodes = min(MAX_NODES, budget.nodes)
    open_bound = 0.0
    while stack:
        limit, c, value, free, taken = stack.pop()
        if value > best:
            best, best_taken = value, taken
        if c == size or limit <= best * (1 + _EQUAL):
            continue
        if nodes <= 0:
            open_bound = max(open_bound, limit)
            continue
        nodes -= 1
        budget.nodes -= 1
        children = [_State(bound(c + 1, value, free), c + 1, value, free, taken)]
        for option in reversed(own[c]):
            after = tuple(a - b for a, b in zip(free, option.demand, strict=True))
            if min(after) >= 0:
                total = value + option.value
                children.append(
                    _State(bound(c + 1, total, after), c + 1, total, after, (option.name, taken))
                )
        stack += children
    names: list[Name] = []
    while best_taken is not None:
        name, best_taken = best_taken  # type: ignore[assignment]  # a linked list
        names.append(name)  # type: ignore[arg-type]
    return max(best * (1 + _EQUAL), open_bound) * SAFE, names


def _subgradient_prices(
    choices: Sequence[Sequence[Option[Name]]], capacity: Sequence[int]
) -> list[float]:
    """Return prices [r] >= 0 of the capacity, by subgradient steps on the bound they prove."""
    space = np.array(capacity, dtype=float)
    used = space > 0
    scale = np.where(used, space, 1.0)
    owner = np.repeat(np.arange(len(choices)), [len(own) for own in choices])
    starts = np.concatenate([[0], np.cumsum([len(own) for own in choices])[:-1]])
    value = np.array([o.value for own in choices for o in own])
    share = np.array([o.demand for own in choices for o in own], dtype=float) / scale
    # The target of the steps: the value of options taken greedily by value over largest share.
    reached, taken, seen = 0.0, np.zeros(len(space)), set()
    for k in np.argsort(-value / np.maximum(share.max(axis=1), 1e-12), kind="stable").tolist():
        if owner[k] not in seen and (taken + share[k] <= 1).all():
            seen.add(owner[k])
            taken, reached = taken + share[k], reached + float(value[k])
    price: Floats = np.zeros(len(space))
    best, best_price = np.inf, price
    for _ in range(SUBGRADIENT_STEPS):
        reduced = value - share @ price
        largest = np.maximum.reduceat(reduced, starts)
        proved = float(price[used].sum() + np.maximum(largest, 0.0).sum())
        if proved < best:
            best, best_price = proved, price
        chosen = [
            int(starts[c] + np.argmax(reduced[starts[c] : starts[c] + len(own)]))
            for c, own in enumerate(choices)
            if largest[c] > 0
        ]
        slope = used.astype(float) - share[chosen].sum(axis=0)
        norm = float(slope @ slope)
        if norm == 0 or proved <= reached * (1 + 1e-9):
            break
        price = np.maximum(0.0, price - (proved - reached) / norm * slope)
    return [float(p) for p in np.where(used, best_price / scale, 0.0)]


def knapsack_values(
    lengths: Sequence[int], values: ArrayLike, capacity: int
) -> NDArray[np.int64] | Floats:
    """Return the value of the best set of items for each capacity 0, ..., `capacity`.

    `lengths`: of each item; negative: it does not fit at all. `values`: of each item; integers
    give exact sums. Items of value <= 0 stay out.
    """
    value = np.asarray(values)
    table = np.zeros(capacity + 1, dtype=value.dtype)
    for length, own in zip(lengths, value.tolist(), strict=True):
        if own > 0 and 0 <= length <= capacity:
            table[length:] = np.maximum(table[length:], table[: capacity + 1 - length] + own)
    return table


def best_subset(
    lengths: Sequence[int], values: ArrayLike, capacity: int
) -> tuple[float, list[int]]:
    """Return the value of the best set of items that fits, and its items, the last one first.

    Parameters
    ----------
    lengths, values, capacity
        As of `knapsack_values`.

    Examples
    --------
    >>> best_subset([3, 4, 5], [2.0, 3.0, 3.5], 8)
    (5.5, [2, 0])
    """
    value = np.asarray(values, dtype=np.float64)
    table = np.zeros(capacity + 1)
    taken: list[tuple[int, NDArray[np.bool_]]] = []
    for item, (length, own) in enumerate(zip(lengths, value.tolist(), strict=True)):
        if own <= 0 or not 0 <= length <= capacity:
            continue
        with_item = table[: capacity + 1 - length] + own
        better = with_item > table[length:]
        taken.append((item, better))
        np.copyto(table[length:], with_item, where=better)
    free, chosen = capacity, []
    for item, better in reversed(taken):
        if free >= lengths[item] and better[free - lengths[item]]:
            chosen.append(item)
            free -= lengths[item]
    return float(table[capacity]), chosen
