"""Kernel of the negotiation: each job in turn plans at prices that rise where GPUs are short.

Time is cut into cells. A job takes the path of least weight x completion + price over its rounds,
as in the bound `lagrangian`, while the plans of the other jobs are known. GPU time is dearer where
it is used more, so rounds fall into the synchronization of other jobs. It may be used beyond its
capacity, at a price that rises from sweep to sweep. The price of a cell also rises for good with
each sweep that leaves it beyond its capacity. In the end the rounds are placed in the order
of their planned starts, on the planned classes.

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
CONGESTION = 0.5  # part of a price that rises with the fourth power of the share of GPUs in use


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
    ready: Floats  # [r, q + 1] least price of r rounds if the next one may start in the cell


def use(cells: Any, p: int, tasks: int) -> None:
    """Add the tasks of batch p to the GPUs in use, or remove them if the number is negative."""
    k = cells.kind[p]
    for q in range(cells.start[p], cells.start[p] + cells.train[p, k]):
        cells.used[k, q] += tasks


def plan_job(problem: Any, cells: Any, j: int, factor: float) -> bool:
    """Write the cheapest plan of a job; False if it does not fit into the cells."""
    first, last, kinds = problem.batches[j], problem.batches[j + 1], len(problem.capacity)
    origin = int(np.ceil(problem.arrival[j] / cells.step))
    paid, ready, size = cells.paid, cells.ready, cells.used.shape[1] - origin
    if size < 1:
        return False
    tasks = 0
    for p in range(first, last):
        tasks = max(tasks, problem.tasks[p])
    for k in range(kinds):
        capacity, total = problem.capacity[k], 0.0
        for q in range(size):
            paid[k, q] = total
            used = cells.used[k, origin + q]
            congestion = (used / capacity) ** 4
            shortage = min(1.0, max(0.0, (used + tasks - capacity) / tasks))
            total += cells.price[k, origin + q] * (1.0 - CONGESTION + CONGESTION * congestion)
            total += factor * cells.beyond[k] * shortage
        paid[k, size] = total
    ready[0, : size + 1] = 0.0
    for p in range(first, last):
        before, after, width = ready[p - first], ready[p - first + 1], float(problem.tasks[p])
        after[: size + 1] = np.inf
        for k in range(kinds):
            train, duration = cells.train[p, k], cells.duration[p, k]
            number = max(0, size + 1 - duration)
            begun, ended = paid[k, :number], paid[k, train : train + number]
            reached = after[duration : duration + number]
            for q in range(number):  # slices and no branch: compiled to vector instructions
                value = before[q] + width * (ended[q] - begun[q])
                reached[q] = value if value < reached[q] else reached[q]
        if p < last - 1:
            least = np.inf
            for q in range(size + 1):
                least = after[q] if after[q] < least else least
                after[q] = least
    best, at, weight = np.inf, 0, problem.weight[j] * cells.step
    for q in range(size + 1):
        value = ready[last - first, q] + weight * q
        if value < best:
            best, at = value, q
    if best == np.inf:
        return False
    for p in range(last - 1, first - 1, -1):
        before, after, best, origin_of = ready[p - first], ready[p - first + 1], np.inf, 0
        while p < last - 1 and at > 0 and after[at - 1] == after[at]:
            at -= 1
        for k in range(kinds):
            q = at - cells.duration[p, k]
            if q >= 0:
                price = paid[k, q + cells.train[p, k]] - paid[k, q]
                value = before[q] + problem.tasks[p] * price
                if value < best:
                    best, origin_of, cells.kind[p] = value, q, k
        at = origin_of
        cells.start[p] = origin + at
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


def raise_prices(problem: Problem, cells: Cells, rise: float) -> None:
    """Raise the prices where GPUs are short, by at most `rise` times the largest price."""
    shortage = (cells.used - problem.capacity[:, None]) / problem.tasks.max()
    cells.price[:] += rise * cells.beyond[:, None] * np.clip(shortage, 0.0, 1.0)


def cells_of(problem: Problem, prices: GpuPrices) -> Cells:
    """Return empty cells.

    `prices`: in the time unit of the problem.
    """
    rounds = int(np.diff(problem.batches).max())
    number, kinds = min(CELLS, ROOM // rounds), len(problem.capacity)
    step = LATER * float(prices.grid[-1]) / number
    train = np.maximum(1, np.rint(problem.train / step)).astype(np.int64)
    middles, own = (np.arange(number) + 0.5) * step, (prices.grid[1:] + prices.grid[:-1]) / 2
    dear = step * np.array([np.interp(middles, own, row, right=0.0) for row in prices.price])
    speed = (problem.train.min(axis=1)[:, None] / problem.train).mean(axis=0)
    return Cells(
        step=step,
        train=train,
        duration=np.maximum(train, np.rint(problem.duration / step)).astype(np.int64),
        price=dear,
        beyond=dear.max() * speed / speed.max(),
        used=np.zeros((kinds, number), dtype=np.int64),
        kind=np.full(len(train), -1),
        start=np.zeros(len(train), dtype=np.int64),
        paid=np.zeros((kinds, number + 1)),
        ready=np.zeros((rounds + 1, number + 1)),
    )


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
    (find, split, merge, reserve, first_fit, place, use, plan_job, negotiate),
    _sample,
    lambda instance: instance.number_of_tasks >= LARGE,
)
