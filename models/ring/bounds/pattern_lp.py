"""`pattern-lp`: no makespan of H slots, for the GPUs cannot be filled with whole jobs (ours).

A GPU serves jobs one after the other; those that it serves, its pattern, take at most H slots
together. There are as many patterns as GPUs, and each job needs as many as it asks for GPUs. Where
jobs are long beside H, a pattern holds few of them and leaves room that no job can use; `area` and
`class-lp` do not see that. The linear relaxation is solved by column generation, a knapsack for
each class of servers; its dual prices, rounded to whole numbers, refute H in exact arithmetic.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from schedgap.models.ring.bounds.elementary import inside_slots, spread_slots
from schedgap.models.ring.rates import RateTable
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.loops.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.programs.arrays import Floats, LinearProgram

Ints = NDArray[np.int64]

_FINE = 10**12  # whole prices add up to about this
_STEPS = 4096  # capacity of a knapsack, at most: beyond it slots are taken together
_ROUNDS = 400
_KEPT = 1500  # patterns that one makespan leaves to the next
_ARTIFICIAL = 10.0


@dataclass(frozen=True, slots=True)
class ServerClass:
    """Servers on whose GPUs a job takes the same time."""

    gpus: int  # of all of them
    slots: tuple[float, ...]  # [j] least execution time of a job with a worker here, or NEVER


def server_classes(table: RateTable) -> tuple[ServerClass, ...]:
    """Return the servers by the jobs that fit into one of them."""
    inside, spread = inside_slots(table), spread_slots(table)
    gpus: dict[tuple[float, ...], int] = {}
    for room in table.server_gpus:
        times = tuple(inside[j] if size <= room else spread[j] for j, size in enumerate(table.size))
        gpus[times] = gpus.get(times, 0) + room
    return tuple(ServerClass(number, times) for times, number in gpus.items())


@dataclass(frozen=True, slots=True)
class Refutation:
    """Whole prices of a GPU for each job [j] that show: every schedule takes more than `slots`."""

    slots: int
    prices: tuple[int, ...]


def refutes(table: RateTable, given: Refutation) -> bool:
    """Return whether the prices prove that no schedule ends by the end of slot `slots`.

    The jobs ask for sum G_j price_j; a GPU serves at most the value of the best knapsack of its
    class. In whole numbers throughout.
    """
    price = [max(0, int(each)) for each in given.prices]
    asked = sum(size * each for size, each in zip(table.size, price, strict=True))
    if asked > 2**62 or given.slots < 1:
        return False
    served = 0
    for kind in server_classes(table):
        lengths, capacity = _steps(kind, given.slots)
        served += kind.gpus * int(_values(lengths, np.array(price, dtype=np.int64), capacity)[-1])
    return served < asked


@dataclass(slots=True)
class WarmStart:
    """What one makespan leaves to the next."""

    prices: Floats | None = None  # [j + c] of the rows
    patterns: dict[tuple[int, tuple[int, ...]], None] = field(default_factory=dict)  # class, jobs


def refute(table: RateTable, slots: int, clock: Clock, memory: WarmStart) -> Refutation | None:
    """Look for prices that refute a makespan of so many slots; None where there are none.

    Parameters
    ----------
    memory : Memory
        Of other makespans, to begin with; prices of a refutation and patterns are added.

    Notes
    -----
    Master: theta = least share of all GPUs that, filled with patterns, serves all jobs. H is
    refuted where theta > 1.
    """
    kinds, J = server_classes(table), len(table.size)
    knapsacks = [_steps(kind, slots) for kind in kinds]
    size = np.array(table.size, dtype=np.float64)
    rows = J + len(kinds)
    known = [
        (c, jobs)
        for c, jobs in memory.patterns
        if sum(knapsacks[c][0][j] for j in jobs) <= knapsacks[c][1]
        and all(knapsacks[c][0][j] >= 0 for j in jobs)
    ]
    width = 1 + J + len(known)
    matrix = np.zeros((rows, width))
    matrix[:J, 1 : 1 + J] = np.eye(J)
    matrix[J:, 0] = [-kind.gpus for kind in kinds]
    for x, (c, jobs) in enumerate(known, 1 + J):
        matrix[[*jobs, J + c], x] = 1.0
    master = LinearProgram.nonnegative(
        np.concatenate([[1.0], np.full(J, _ARTIFICIAL), np.zeros(len(known))]),
        matrix,
        row_lower=np.concatenate([size, np.full(len(kinds), -np.inf)]),
        row_upper=np.concatenate([np.full(J, np.inf), np.zeros(len(kinds))]),
    )

    def price(duals: Floats) -> Priced:
        paid = np.maximum(duals[:J], 0.0)
        columns = np.zeros((rows, len(kinds)))
        tags = []
        served = 0.0
        for c, (kind, (lengths, capacity)) in enumerate(zip(kinds, knapsacks, strict=True)):
            value, chosen = best_pattern(lengths, paid, capacity)
            served += kind.gpus * value
            columns[chosen, c] = 1.0
            columns[J + c, c] = 1.0
            tags.append((c, tuple(chosen)))
        asked = float(size @ paid)
        bound = asked / served if served > 0 else 0.0
        if bound > 1 + 1e-6 or asked <= 1 + 1e-9:  # refuted, or at the master's prices never
            return Priced(None, bound)
        return Priced(Columns(np.zeros(len(kinds)), columns, tags), bound)

    found = generate_columns(master, price, clock=clock, rounds=_ROUNDS, prices=memory.prices)
    memory.patterns |= dict.fromkeys(found.tags)
    for oldest in list(memory.patterns)[: max(0, len(memory.patterns) - _KEPT)]:
        del memory.patterns[oldest]
    if found.bound is None or found.prices is None or found.bound <= 1:
        return None
    paid = np.maximum(found.prices[:J], 0.0)
    whole = np.floor(paid * (_FINE / float(size @ paid)) + 0.5).astype(np.int64)
    refutation = Refutation(slots, tuple(whole.tolist()))
    if not refutes(table, refutation):
        return None
    memory.prices = found.prices
    return refutation


def pattern_bound(
    table: RateTable,
    lower: int,
    upper: int,
    clock: Clock,
    *,
    on_refuted: Callable[[Refutation], None] = lambda refutation: None,
) -> int:
    """Return the largest bound found in lower..upper; every H below it is refuted.

    Parameters
    ----------
    lower : int
        A bound on the makespan, in slots; at least `job-alone`.
    upper : int
        More is of no use: the makespan of a schedule, or one slot more than the horizon.
    on_refuted : callable
        Called with each refutation that raises the bound.
    """
    step, memory = 1, WarmStart()
    ceiling = upper  # no refutation was found for it
    while lower < ceiling and not clock.expired():
        middle = (lower + ceiling) // 2 if ceiling < upper else min(lower + step - 1, upper - 1)
        refutation = refute(table, middle, clock, memory)
        if refutation is None:
            ceiling = middle
        else:
            lower, step = middle + 1, 2 * step
            on_refuted(refutation)
    return lower


def best_pattern(lengths: Sequence[int], price: Floats, capacity: int) -> tuple[float, list[int]]:
    """Return the value of the best pattern and its jobs; lengths [j], -1: too long."""
    value = np.zeros(capacity + 1)
    taken: list[tuple[int, NDArray[np.bool_]]] = []
    for j, (length, paid) in enumerate(zip(lengths, price.tolist(), strict=True)):
        if paid <= 0 or not 0 <= length <= capacity:
            continue
        with_it = value[: capacity + 1 - length] + paid
        better = with_it > value[length:]
        taken.append((j, better))
        np.copyto(value[length:], with_it, where=better)
    left, chosen = capacity, []
    for j, better in reversed(taken):
        if left >= lengths[j] and better[left - lengths[j]]:
            chosen.append(j)
            left -= lengths[j]
    return float(value[capacity]), chosen


def _values(lengths: Sequence[int], price: Ints, capacity: int) -> Ints:
    """Return the value of the best pattern of each capacity, in whole numbers."""
    value = np.zeros(capacity + 1, dtype=np.int64)
    for length, paid in zip(lengths, price.tolist(), strict=True):
        if paid > 0 and 0 <= length <= capacity:
            value[length:] = np.maximum(value[length:], value[: capacity + 1 - length] + paid)
    return value


def _steps(kind: ServerClass, slots: int) -> tuple[list[int], int]:
    """Return execution times and H in steps of several slots where H is large; -1: too long.

    Both are rounded down: what fits in slots fits in steps, and a job of no step fits anywhere.
    """
    step = -(-slots // _STEPS)
    lengths = [-1 if each > slots else int(each) // step for each in kind.slots]
    return lengths, slots // step
