"""Kernel of branch and price: the cheapest schedule of one job, and what near-cheapest ones use.

The barriers of a job make it a path. Round r lies between the barriers s and e, and each of its
tasks takes its cheapest start and kind of GPU in between. A shortest path over the barriers links
the rounds. `job_pricing.py` explains the index letters.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.models.hare.integer_time import Ints
from schedgap.solvers.search.compiled import Kernel

LARGE = 41  # tasks from which on jobs are priced by compiled code
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Job(NamedTuple):
    """One job in whole steps."""

    arrival: int
    weight: int
    rounds: Ints  # [r + 1] first task j
    like: Ints  # [j] first task of its round with equal times
    train: Ints  # [j, k]
    duration: Ints  # [j, k]


class JobWindows(NamedTuple):
    """Barriers and starts that a node of the search leaves open to a job."""

    barrier: Bools  # [r, t]
    start: Bools  # [j, k, t]


class Plan(NamedTuple):
    """One schedule of a job."""

    barrier: Ints  # [r] t by which the round is synchronized
    kind: Ints  # [j]
    start: Ints  # [j]


def start_costs(job: Any, windows: Any, prefix: Any) -> Any:
    """Return [j, k, t] the price of a task by its start; inf if it is closed."""
    cost = np.full(windows.start.shape, np.inf)
    for j in range(len(job.like)):
        for k in range(len(prefix)):
            stop = cost.shape[2] - job.duration[j, k]
            if stop > 0:
                first, train = job.arrival, job.train[j, k]
                paid = prefix[k, first + train : first + train + stop]
                paid = paid - prefix[k, first : first + stop]
                cost[j, k, :stop] = np.where(windows.start[j, k, :stop], paid, np.inf)
    return cost


def groups(job: Any, windows: Any, r: int) -> Any:
    """Return [j] the first task of the round with equal times and windows, and [j] their number."""
    first, last = job.rounds[r], job.rounds[r + 1]
    leader, count = np.arange(first, last), np.zeros(last - first, np.int64)
    for j in range(first, last):
        for i in range(job.like[j], j):
            alike = job.like[i] == job.like[j] and leader[i - first] == i
            if alike and np.array_equal(windows.start[i], windows.start[j]):
                leader[j - first] = i
                break
        count[leader[j - first] - first] += 1
    return leader, count


def between(job: Any, cost: Any, j: int, before: Any, after: Any) -> Any:
    """Return [s, e] the least price of a task between two barriers.

    `before`, `after`: first and last barrier that is open before and after the round.
    """
    width = after[1] - after[0] + 1
    least, row = np.empty((before[1] - before[0] + 1, width)), np.full(width, np.inf)
    for t in range(max(before[1], after[1]), before[0] - 1, -1):
        for k in range(cost.shape[1]):
            price = cost[j, k, t]
            for e in range(max(0, t + job.duration[j, k] - after[0]), width):
                if row[e] <= price:  # later barriers have no higher price
                    break
                row[e] = price
        if t <= before[1]:
            least[t - before[0]] = row
    return least


def round_price(job: Any, windows: Any, cost: Any, r: int, before: Any, after: Any) -> Any:
    """Return [s, e] the least price of a round."""
    leader, count = groups(job, windows, r)
    total = np.zeros((before[1] - before[0] + 1, after[1] - after[0] + 1))
    for j in range(len(leader)):
        if count[j]:
            total += count[j] * between(job, cost, leader[j], before, after)
    return total


def ends_of(values: Any) -> Any:
    """Return the first and last place of what is true; (0, -1) if nothing is."""
    places = np.flatnonzero(values)
    return (places[0], places[-1]) if len(places) else (0, -1)


def forward(job: Any, windows: Any, cost: Any) -> Any:
    """Return [r, t] the least price of the rounds before r, if t is the barrier after them."""
    rounds = len(windows.barrier)
    reach = np.full((rounds + 1, windows.barrier.shape[1]), np.inf)
    reach[0, 0] = 0.0
    for r in range(rounds):
        before, after = ends_of(np.isfinite(reach[r])), ends_of(windows.barrier[r])
        if before[1] < 0 or after[1] < 0:
            break
        total = round_price(job, windows, cost, r, before, after)
        target = reach[r + 1, after[0] : after[1] + 1]
        for s in range(len(total)):
            target[:] = np.minimum(target, reach[r, before[0] + s] + total[s])
        target[:] = np.where(windows.barrier[r, after[0] : after[1] + 1], target, np.inf)
    return reach


def trace_back(job: Any, windows: Any, cost: Any, reach: Any, end: int, plan: Any) -> None:
    """Write the cheapest schedule whose last barrier is `end`."""
    for r in range(len(plan.barrier) - 1, -1, -1):
        plan.barrier[r] = end
        leader, count = groups(job, windows, r)
        least, cheapest, begin = np.full(len(leader), np.inf), np.inf, end
        for t in range(end, -1, -1):
            total = reach[r, t]
            for i in range(len(leader)):
                for k in range(cost.shape[1]):
                    if count[i] and t + job.duration[leader[i], k] <= end:
                        least[i] = min(least[i], cost[leader[i], k, t])
                if count[i]:
                    total += count[i] * least[i]
            if total <= cheapest:
                cheapest, begin = total, t
        for j in range(job.rounds[r], job.rounds[r + 1]):
            price = np.inf
            for k in range(cost.shape[1]):
                for t in range(begin, end - job.duration[j, k] + 1):
                    if cost[j, k, t] < price:
                        price, plan.kind[j], plan.start[j] = cost[j, k, t], k, t
        end = begin


def open_starts(
    job: Any, cost: Any, j: int, others: Any, before: Any, after: Any, limit: float, mask: Any
) -> None:
    """Write [k, t] the starts of a task through which a schedule costs at most `limit`.

    `others` [s, e]: the least cost of all but this task.
    """
    # The best over all barriers at or before a start, and at or after its end.
    for s in range(1, len(others)):
        others[s] = np.minimum(others[s], others[s - 1])
    for e in range(others.shape[1] - 2, -1, -1):
        others[:, e] = np.minimum(others[:, e], others[:, e + 1])
    for k in range(len(mask)):
        duration = job.duration[j, k]
        for t in range(before[0], after[1] - duration + 1):
            s = min(t, before[1]) - before[0]
            e = max(t + duration, after[0]) - after[0]
            mask[k, t] = others[s, e] + cost[j, k, t] <= limit


def reduce(job: Any, windows: Any, cost: Any, reach: Any, limit: float, within: Any) -> None:
    """Write the windows without what no schedule of cost up to `limit` uses.

    A backward pass: `rest` [e] is the least cost from barrier e to the completion. A start costs
    its own price plus a minimum over all barriers s and e around it.
    """
    rest = job.weight * (job.arrival + np.arange(reach.shape[1], dtype=np.float64))
    for r in range(len(windows.barrier) - 1, -1, -1):
        rest = np.where(np.isfinite(reach[r + 1]), rest, np.inf)
        within.barrier[r] = reach[r + 1] + rest <= limit
        before, after = ends_of(np.isfinite(reach[r])), ends_of(windows.barrier[r])
        total = round_price(job, windows, cost, r, before, after)
        leader, count = groups(job, windows, r)
        first, final = job.rounds[r], rest[after[0] : after[1] + 1]
        for i in range(len(leader)):
            if leader[i] != first + i:
                within.start[first + i] = within.start[leader[i]]
                continue
            others = np.empty(total.shape)  # another sum: infinite prices have no difference
            for s in range(len(total)):
                others[s] = reach[r, before[0] + s] + final
            for g in range(len(leader)):
                number = count[g] - (g == i)
                if number:
                    others += number * between(job, cost, leader[g], before, after)
            mask = within.start[leader[i]]
            open_starts(job, cost, leader[i], others, before, after, limit, mask)
        rest = np.full(reach.shape[1], np.inf)
        for s in range(len(total)):
            rest[before[0] + s] = np.min(total[s] + final)


def run(job: Any, windows: Any, prefix: Any, slack: float, plan: Any, within: Any) -> float:
    """Write the cheapest schedule of a job, and return its cost w_n C_n + price of its GPU time.

    `prefix` [k, t]: price of one GPU of kind k from time 0 to t, t in steps from time 0. `slack`:
    if it is not negative, `within` receives the windows without what no schedule uses that costs at
    most `slack` more; all of it is closed before. `plan` is not changed if there is no schedule.
    """
    cost = start_costs(job, windows, prefix)
    reach = forward(job, windows, cost)
    by_end = reach[-1] + job.weight * (job.arrival + np.arange(reach.shape[1]))
    end = int(np.argmin(by_end))
    least = by_end[end]
    if np.isfinite(least):
        trace_back(job, windows, cost, reach, end, plan)
        if slack >= 0:
            reduce(job, windows, cost, reach, least + slack, within)
    return float(least)


def _sample() -> tuple[Any, ...]:
    """Return the arguments of the compiled entry, for the compiler."""
    ints, table = np.zeros(1, np.int64), np.ones((1, 1), np.int64)
    job = Job(0, 1, np.arange(2), ints, table, table)
    windows = JobWindows(np.ones((1, 2), np.bool_), np.ones((1, 1, 2), np.bool_))
    plan = Plan(ints.copy(), ints.copy(), ints.copy())
    return job, windows, np.zeros((1, 3)), 0.0, plan, windows


SCHEDULES = Kernel(
    "hare-schedules",
    (
        start_costs, groups, between, round_price, ends_of, forward, trace_back, open_starts,
        reduce, run,
    ),
    _sample,
    lambda instance: instance.number_of_tasks >= LARGE,
)  # fmt: skip
