"""Kernel of the negotiation: each job in turn plans at prices that rise where GPUs are short.

Time is cut into cells. A job takes the path of least weight x completion + price over its rounds,
as in the bound `lagrangian`, while the plans of the other jobs are known. GPU time may be used
beyond its capacity, at a price that rises from sweep to sweep. After each sweep the prices rise
where GPUs are short, and fall where they are idle. Times are rounded up to cells, so a plan within
the capacities is a schedule. In the end the rounds are placed in the order of their planned starts,
on the planned classes.

References
----------
L. McMurchie, C. Ebeling, "PathFinder: a negotiation-based performance-driven router for FPGAs",
International Symposium on Field-Programmable Gate Arrays (1995). The use for jobs is new.
"""

from typing import Any, NamedTuple

import numpy as np

from schedgap.models.hare.bounds.lagrangian import GpuPrices
from schedgap.models.hare.heuristics.kernel import (
    Floats,
    Problem,
    find,
    first_fit,
    merge,
    place,
    reserve,
    split,
)
from schedgap.models.hare.integer_time import Ints
from schedgap.solvers.search.compiled import Kernel

LARGE = 1000  # tasks from which on it is compiled
CELLS, LATER = 24_000, 1.2  # number of cells, and their end relative to the end of the prices
ROOM = 10_000_000  # largest number of cells x rounds of a job
FALL = 0.6  # how fast a price falls where GPUs are idle, relative to its rise where they are short


class Cells(NamedTuple):
    """Plans of the jobs on cells of time, and room to work in; each round is one batch p."""

    step: float  # length of a cell
    train: Ints  # [p, k] cells
    duration: Ints  # [p, k] cells
    price: Floats  # [k, q] of a GPU in a cell
    beyond: Floats  # [k] price of a GPU in a cell beyond the capacity, without the factor
    used: Ints  # [k, q] GPUs in the plans
    kind: Ints  # [p] planned class, or -1
    start: Ints  # [p] planned cell
    paid: Floats  # [k, q + 1] price of a GPU from the first cell of a job
    ready: Floats  # [r, x] least price of r rounds; the next one may start x cells after its first


def use(cells: Any, p: int, tasks: int) -> None:
    """Add the tasks of batch p to the GPUs in use, or remove them if the number is negative."""
    k = cells.kind[p]
    for q in range(cells.start[p], cells.start[p] + cells.train[p, k]):
        cells.used[k, q] += tasks


def price_of(problem: Any, cells: Any, k: int, q: int, tasks: int, factor: float) -> float:
    """Return the price of a GPU in a cell for a job of at most so many tasks at once."""
    used, capacity = cells.used[k, q], problem.capacity[k]
    shortage = min(1.0, max(0.0, (used + tasks - capacity) / tasks))
    price: float = cells.price[k, q] + factor * cells.beyond[k] * shortage
    return price


def plan_job(problem: Any, cells: Any, j: int, factor: float) -> bool:
    """Write the cheapest plan of a job; False if it does not fit into the cells."""
    first, last, kinds = problem.batches[j], problem.batches[j + 1], len(problem.capacity)
    origin = int(np.ceil(problem.arrival[j] / cells.step))
    paid, ready, size = cells.paid, cells.ready, cells.used.shape[1] - origin
    weight, tasks = problem.weight[j] * cells.step, 0
    for p in range(first, last):
        tasks = max(tasks, problem.tasks[p])
    if cells.kind[first] >= 0 and weight > 0:  # a plan that ends later costs more than the last
        ended = cells.start[last - 1] + cells.duration[last - 1, cells.kind[last - 1]]
        value = weight * (ended - origin)
        for p in range(first, last):
            k = cells.kind[p]
            for q in range(cells.start[p], cells.start[p] + cells.train[p, k]):
                value += problem.tasks[p] * price_of(problem, cells, k, q, tasks, factor)
        size = int(min(float(size), value / weight + 1))
    width = size + 1  # starts of each round that leave the least time to the other rounds
    for p in range(first, last):
        width -= cells.duration[p].min()
    if width < 1:
        return False
    for k in range(kinds):
        paid[k, 0] = 0.0
        for q in range(size):
            price = price_of(problem, cells, k, origin + q, tasks, factor)
            paid[k, q + 1] = paid[k, q] + price
    ready[0, :width], earliest = 0.0, 0
    for p in range(first, last):
        before, after, number = ready[p - first], ready[p - first + 1], float(problem.tasks[p])
        shortest = cells.duration[p].min()
        after[:width] = np.inf
        for k in range(kinds):
            later = cells.duration[p, k] - shortest
            end, starts = earliest + cells.train[p, k], max(0, width - later)
            begun, ended = paid[k, earliest : earliest + starts], paid[k, end : end + starts]
            reached = after[later : later + starts]
            for x in range(starts):  # slices and no branch: compiled to vector instructions
                value = before[x] + number * (ended[x] - begun[x])
                reached[x] = value if value < reached[x] else reached[x]
        earliest += shortest
        if p < last - 1:
            least = np.inf
            for x in range(width):
                least = after[x] if after[x] < least else least
                after[x] = least
    best, at = np.inf, 0
    for x in range(width):
        value = ready[last - first, x] + weight * x
        if value < best:
            best, at = value, x
    for p in range(last - 1, first - 1, -1):
        before, after, best, chosen = ready[p - first], ready[p - first + 1], np.inf, 0
        shortest = cells.duration[p].min()
        earliest -= shortest
        while p < last - 1 and at > 0 and after[at - 1] == after[at]:
            at -= 1
        for k in range(kinds):
            x = at + shortest - cells.duration[p, k]
            if x >= 0:
                q = earliest + x
                price = paid[k, q + cells.train[p, k]] - paid[k, q]
                value = before[x] + problem.tasks[p] * price
                if value < best:
                    best, chosen, cells.kind[p] = value, x, k
        at = chosen
        cells.start[p] = origin + earliest + at
    return True


def negotiate(
    problem: Any, state: Any, cells: Any, jobs: Any, factor: float, batches: Any, owner: Any
) -> bool:
    """Plan the jobs anew, one after another; then place the batches in order, as planned.

    False if a job does not fit into the cells.

    `factor`: of the price beyond the capacity. `owner` [p]: the job of a batch.
    """
    for j in jobs:
        for p in range(problem.batches[j], problem.batches[j + 1]):
            if cells.kind[p] >= 0:
                use(cells, p, -problem.tasks[p])
        if not plan_job(problem, cells, j, factor):
            return False
        for p in range(problem.batches[j], problem.batches[j + 1]):
            use(cells, p, problem.tasks[p])
    plan, price = state.plan, np.empty(len(problem.capacity))
    if len(batches) > 0:
        plan.end[:] = problem.arrival
    for p in batches:
        j = owner[p]
        price[:] = np.inf
        price[cells.kind[p]] = 0.0
        plan.end[j] = place(problem, state, j, p, plan.end[j], plan.end[j], price)
        plan.start[j], plan.cost[j] = (
            plan.slot_start[plan.first[j]],
            problem.weight[j] * plan.end[j],
        )
    return True


def move_prices(problem: Problem, cells: Cells, move: float) -> None:
    """Raise the prices where GPUs are short, and lower them slowly where GPUs are idle.

    `move`: largest rise, in the largest price.
    """
    shortage = (cells.used - problem.capacity[:, None]) / problem.tasks.max()
    rise = np.clip(shortage, 0.0, 1.0) + FALL * np.clip(shortage, -1.0, 0.0)
    np.maximum(cells.price + move * cells.beyond[:, None] * rise, 0.0, out=cells.price)


def cells_of(problem: Problem, prices: GpuPrices) -> Cells:
    """Return empty cells.

    `prices`: in the time unit of the problem.
    """
    rounds = int(np.diff(problem.batches).max())
    number, kinds = min(CELLS, ROOM // rounds), len(problem.capacity)
    step = LATER * float(prices.grid[-1]) / number
    middles, own = (np.arange(number) + 0.5) * step, (prices.grid[1:] + prices.grid[:-1]) / 2
    dear = step * np.array([np.interp(middles, own, row, right=0.0) for row in prices.price])
    speed = (problem.train.min(axis=1)[:, None] / problem.train).mean(axis=0)
    return Cells(
        step=step,
        train=_whole_cells(problem.train, step, number),
        duration=_whole_cells(problem.duration, step, number),
        price=dear,
        beyond=dear.max() * speed / speed.max(),
        used=np.zeros((kinds, number), dtype=np.int64),
        kind=np.full(len(problem.tasks), -1),
        start=np.zeros(len(problem.tasks), dtype=np.int64),
        paid=np.zeros((kinds, number + 1)),
        ready=np.zeros((rounds + 1, number + 1)),
    )


def _whole_cells(time: Floats, step: float, number: int) -> Ints:
    """Return times rounded up to cells; what is longer than all cells may be beyond integers."""
    cells: Ints = np.minimum(np.ceil(time / step), number + 1).astype(np.int64)
    return cells


def _sample() -> tuple[Any, ...]:
    """Return arguments of the entry, for the compiler."""
    from schedgap.instances.generate import generate
    from schedgap.instances.hare import HareInstance
    from schedgap.models.hare.heuristics.local_search import empty_state, problem_of

    toy = generate("hare", preset="toy")
    assert isinstance(toy, HareInstance)
    problem, _, _ = problem_of(toy)
    one = np.zeros(1, dtype=np.int64)
    prices = GpuPrices(np.array([0.0, 10.0, 20.0]), np.ones((len(problem.capacity), 2)))
    cells = cells_of(problem, prices)
    return problem, empty_state(problem), cells, one, 1.0, one[:0], one


NEGOTIATION = Kernel(
    "hare-negotiation",
    (find, split, merge, reserve, first_fit, place, use, price_of, plan_job, negotiate),
    _sample,
    lambda instance: instance.number_of_tasks >= LARGE,
)
