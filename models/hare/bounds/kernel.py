"""Kernel of the bound `lagrangian`: the cheapest plans of jobs, as `lagrangian.job_plan` has them.

It prices the jobs whose rounds consist of identical tasks. Both do the same operations in the same
order, so their numbers are equal to the last bit. Certificates are evaluated by `job_plan` alone.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.models.hare.integer_time import Ints
from schedgap.solvers.search.compiled import Kernel

LARGE = 1000  # tasks from which on jobs are priced by compiled code
Floats = NDArray[np.float64]


class Jobs(NamedTuple):
    """Jobs whose rounds consist of identical tasks, each with its time steps."""

    weight: Floats  # [n]
    arrival: Floats  # [n]
    delta: Floats  # [n] distance of the times t_j
    step: Floats  # [n] an upper bound on the distance of consecutive times
    size: Ints  # [n] number of starts t_j
    rounds: Ints  # [n + 1] first round
    block: Ints  # [q] of the tasks of a round
    tasks: Floats  # [q]
    train: Floats  # [b, k]
    duration: Floats  # [b, k]


class Plans(NamedTuple):
    """The cheapest plan of each job, as in `lagrangian.JobPlan`, and room to work in."""

    value: Floats  # [n]
    completion: Floats  # [n]
    use: Floats  # [n, k, q]
    ready: Floats  # [r, j] minimum price of r rounds if the next one starts at step j or later
    cost: Floats  # [k, j] minimum price of a task that starts in [t_j, t_{j+1}]


def paid_until(grid: Any, price: Any, paid: Any, q: int, time: float) -> Any:
    """Return the price of a GPU from 0 to a time in cell q, or after the grid."""
    return paid[q] + price[q] * (min(time, grid[-1]) - grid[q])


def fill_cost(
    cost: Any, train: float, grid: Any, price: Any, paid: Any, begin: float, delta: float,
    slope: float,
) -> None:  # fmt: skip
    """Write the minimum of price + slope x start over each step; see `lagrangian`."""
    size, cells = len(cost), len(price)
    q, e, before = 0, 0, np.inf
    for j in range(size + 1):
        start = begin + delta * j
        end = start + train
        while q < cells - 1 and grid[q + 1] <= start:
            q += 1
        while e < cells - 1 and grid[e + 1] <= end:
            e += 1
        value = paid_until(grid, price, paid, e, end) - paid_until(grid, price, paid, q, start)
        value += slope * start
        if j > 0:
            cost[j - 1] = min(before, value)
        before = value
    last = begin + delta * size
    for kink in grid:
        for start in (kink, kink - train):
            if begin <= start < last:
                j = int((start - begin) / delta)
                while begin + delta * j > start:
                    j -= 1
                while begin + delta * (j + 1) <= start:
                    j += 1
                end = start + train
                q = np.searchsorted(grid[1:-1], start, side="right")
                e = np.searchsorted(grid[1:-1], end, side="right")
                value = paid_until(grid, price, paid, e, end)
                value -= paid_until(grid, price, paid, q, start)
                value += slope * start
                cost[j] = min(cost[j], value)


def fill_round(
    jobs: Any, cost: Any, steps: Any, n: int, q: int, filled: int, grid: Any, price: Any, paid: Any
) -> int:
    """Write costs and steps of the tasks of round q, unless they are of the block `filled`."""
    b = jobs.block[q]
    if b != filled:
        for k in range(len(steps)):
            steps[k] = int(np.floor(jobs.duration[b, k] / jobs.step[n]))
            begin, train = jobs.arrival[n], jobs.train[b, k]
            fill_cost(cost[k], train, grid, price[k], paid[k], begin, jobs.delta[n], 0.0)
    return int(b)


def add_round(before: Any, after: Any, cost: Any, tasks: float, steps: Any) -> None:
    """Write the minimum price with one more round, if the next starts at step j or later."""
    size = len(after)
    after[:] = np.inf
    for k in range(len(steps)):
        reached = max(0, size - steps[k])
        ready, price, target = before[:reached], cost[k, :reached], after[size - reached :]
        for j in range(reached):
            value = ready[j] + tasks * price[j]
            target[j] = value if value < target[j] else target[j]
    least = np.inf
    for j in range(size):
        least = after[j] if after[j] < least else least
        after[j] = least


def add_use(use: Any, grid: Any, tasks: float, begin: float, end: float) -> None:
    """Add the GPU time of tasks in each cell."""
    for q in range(np.searchsorted(grid[1:], begin, side="right"), len(use)):
        if grid[q] >= end:
            break
        use[q] += tasks * (min(grid[q + 1], end) - min(max(grid[q], begin), end))


def price_job(jobs: Any, plans: Any, n: int, grid: Any, price: Any, paid: Any) -> None:
    """Write the cheapest plan of a job."""
    kinds, size, first, last = len(price), jobs.size[n], jobs.rounds[n], jobs.rounds[n + 1] - 1
    begin, delta, weight = jobs.arrival[n], jobs.delta[n], jobs.weight[n]
    cost, use = plans.cost[:, :size], plans.use[n]
    filled, steps = -1, np.zeros(kinds, np.int64)
    plans.ready[0, :size], use[:] = 0.0, 0.0
    for q in range(first, last):
        filled = fill_round(jobs, cost, steps, n, q, filled, grid, price, paid)
        ready = plans.ready[q - first, :size]
        add_round(ready, plans.ready[q + 1 - first, :size], cost, jobs.tasks[q], steps)
    # The last round: price and completion are traded off for every start.
    b, tasks, best, at, kind = jobs.block[last], jobs.tasks[last], np.inf, 0, 0
    final, ready = plans.cost[kinds, :size], plans.ready[last - first, :size]
    for k in range(kinds):
        fill_cost(final, jobs.train[b, k], grid, price[k], paid[k], begin, delta, weight / tasks)
        for j in range(size):
            value = ready[j] + tasks * final[j] + weight * jobs.duration[b, k]
            if value < best:
                best, at, kind = value, j, k
    plans.value[n] = best
    start = begin + delta * at
    plans.completion[n] = start + jobs.duration[b, kind]
    add_use(use[kind], grid, tasks, start, start + jobs.train[b, kind])
    for q in range(last - 1, first - 1, -1):
        filled = fill_round(jobs, cost, steps, n, q, filled, grid, price, paid)
        b, tasks = jobs.block[q], jobs.tasks[q]
        after, ready = plans.ready[q + 1 - first, :size], plans.ready[q - first, :size]
        while at > 0 and after[at - 1] == after[at]:
            at -= 1
        best, origin = np.inf, at
        for k in range(kinds):
            if steps[k] <= at:
                value = ready[at - steps[k]] + tasks * cost[k, at - steps[k]]
                if value < best:
                    best, origin, kind = value, at - steps[k], k
        at = origin
        start = begin + delta * at
        add_use(use[kind], grid, tasks, start, start + jobs.train[b, kind])


def run(jobs: Any, plans: Any, grid: Any, price: Any, paid: Any) -> None:
    """Write the cheapest plan of each job at prices of GPU time.

    `price` [k, q], `paid` [k, q]: as in `lagrangian.GpuPrices`.
    """
    for n in range(len(jobs.weight)):
        price_job(jobs, plans, n, grid, price, paid)


def _sample() -> tuple[Any, ...]:
    """Return the arguments of the compiled entry, for the compiler."""
    one, ints = np.ones(1), np.ones(1, np.int64)
    jobs = Jobs(one, one, one, one, ints, np.arange(2), 0 * ints, one, one[None], one[None])
    plans = Plans(one.copy(), one.copy(), np.zeros((1, 1, 1)), np.zeros((1, 1)), np.zeros((2, 1)))
    return jobs, plans, np.arange(2.0), one[None], np.arange(2.0)[None]


PLANS = Kernel(
    "hare-plans",
    (paid_until, fill_cost, fill_round, add_round, add_use, price_job, run),
    _sample,
    lambda instance: instance.number_of_tasks >= LARGE,
)
