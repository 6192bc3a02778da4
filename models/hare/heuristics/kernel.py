"""Kernel of the local search: inserts a job round by round into free GPU time.

Each class of equal GPUs has a profile, the number of its busy GPUs over time. Intervals of which at
most `capacity` overlap at any time always fit on `capacity` GPUs, so a task may use any gap of its
class, and GPUs are assigned at the end. Unlike in Algorithm 1, a round may fill gaps before rounds
that were placed earlier.

A gene holds the prices of a step on each class. A batch of equal tasks takes the slots of least
weight x delay of its round + price, so it waits for a cheaper class while that saves more than the
delay costs. Jobs are inserted whole; a gene may perturb the prices and starts of their batches, so
rounds of other jobs can come in between.

References
----------
R. Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited: theory
and computation", European Journal of Operational Research 90 (1996). The prices are new.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareInstance
from schedgap.models.hare.integer_time import Ints
from schedgap.solvers.search.annealing import listed, without_moves
from schedgap.solvers.search.compiled import Kernel
from schedgap.solvers.search.moves import GENERIC

LARGE = 41  # tasks from which on the search is compiled
Floats = NDArray[np.float64]


class Problem(NamedTuple):
    """The instance as arrays; times are in steps if the instance has a common step.

    Batches p of a job are those from batches[j] to batches[j + 1], round by round, within a round
    the longest first.
    """

    alone: Floats  # [j] least cost
    keys: Floats  # [2, j] priorities: work / weight, and the same with regard to the arrival
    weight: Floats  # [j]
    arrival: Floats  # [j]
    batches: Ints  # [j + 1]
    opens: NDArray[np.bool_]  # [p] first batch of its round
    rest: Floats  # [p] least length from the start of the round to the end of the job
    tasks: Ints  # [p]
    train: Floats  # [p, k]
    duration: Floats  # [p, k] synchronization included
    capacity: Ints  # [k] GPUs


class Plan(NamedTuple):
    """How each job runs: in its slots s, those from first[j] to first[j] + used[j]."""

    start: Floats  # [j]
    end: Floats  # [j]
    cost: Floats  # [j]
    first: Ints  # [j + 1] a job has room for as many slots as it has tasks
    used: Ints  # [j]
    slot_batch: Ints  # [s] p
    slot_class: Ints  # [s] k
    slot_start: Floats  # [s]
    slot_tasks: Ints  # [s]


class State(NamedTuple):
    """The plan, the profiles, and room to work in."""

    plan: Plan
    times: Floats  # [k, x] increasing, from 0
    busy: Ints  # [k, x] GPUs from times[x] to times[x + 1]; the last number is 0
    size: Ints  # [k] entries of the profile
    found: Floats  # [4, z] slots of a batch by price: price, end, start, tasks
    found_class: Ints  # [z]


def copy(source: Any, target: Any, j: int) -> None:
    """Copy the row of job j from one plan to another."""
    target.start[j], target.end[j], target.cost[j] = source.start[j], source.end[j], source.cost[j]
    target.used[j] = source.used[j]
    for s in range(source.first[j], source.first[j] + source.used[j]):
        target.slot_batch[s], target.slot_class[s] = source.slot_batch[s], source.slot_class[s]
        target.slot_start[s], target.slot_tasks[s] = source.slot_start[s], source.slot_tasks[s]


def apply(problem: Any, state: Any, j: int, sign: int) -> None:
    """Take (1) or give back (-1) the slots of job j."""
    plan = state.plan
    for s in range(plan.first[j], plan.first[j] + plan.used[j]):
        k = plan.slot_class[s]
        length = problem.train[plan.slot_batch[s], k]
        reserve(state, k, plan.slot_start[s], length, sign * plan.slot_tasks[s])


def find(times: Any, size: int, time: float) -> int:
    """Return the last entry of a profile at or before a time >= 0."""
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        if times[middle] <= time:
            low = middle
        else:
            high = middle
    return low


def split(state: Any, k: int, time: float) -> int:
    """Return the entry of profile k at a time; it is added if there is none."""
    times, busy, size = state.times[k], state.busy[k], state.size[k]
    x = find(times, size, time)
    if times[x] == time:
        return x
    assert size < len(times)
    x += 1
    later, number = times[x : size + 1], busy[x : size + 1]
    for y in range(size - x, 0, -1):  # compiled, six times as fast as an assignment of slices
        later[y], number[y] = later[y - 1], number[y - 1]
    times[x], busy[x] = time, busy[x - 1]
    state.size[k] += 1
    return x


def merge(state: Any, k: int, x: int) -> None:
    """Remove an entry of profile k if nothing changes there."""
    times, busy, size = state.times[k], state.busy[k], state.size[k]
    if x > 0 and busy[x] == busy[x - 1]:
        later, number = times[x:size], busy[x:size]
        for y in range(size - x - 1):
            later[y], number[y] = later[y + 1], number[y + 1]
        state.size[k] -= 1


def reserve(state: Any, k: int, start: float, length: float, gpus: int) -> None:
    """Reserve GPUs of a class for a time, or release them if the number is negative.

    An interval whose ends are equal as doubles lasts until the next double, so no other task is
    placed across it.
    """
    end = max(start + length, np.nextafter(start, np.inf))
    x = split(state, k, start)
    y = split(state, k, end)
    for z in range(x, y):
        state.busy[k, z] += gpus
    merge(state, k, y)
    merge(state, k, x)


def first_fit(
    times: Any, busy: Any, size: int, capacity: int, ready: float, length: float
) -> tuple[float, int]:
    """Return the first start at which GPUs stay free for a time, and how many of them."""
    x = find(times, size, ready)
    start, peak = ready, 0
    while True:
        if busy[x] >= capacity:
            while busy[x] >= capacity:
                x += 1
            start, peak = times[x], 0
        peak = max(peak, busy[x])
        x += 1
        if x == size or times[x] >= start + length:
            return start, capacity - peak


def place(problem: Any, state: Any, j: int, p: int, ready: float, end: float, price: Any) -> float:
    """Reserve the slots of least cost for a batch; return the end of its round.

    The cost is weight x delay of the round + price. Slots are found in the order of their ends, and
    those up to an end cost its delay and the prices of the cheapest of them. A later end is not
    tried if its delay costs more than the cheapest class can save.

    `ready`: when the round can start. `end`: its end so far.
    """
    plan, found, found_class = state.plan, state.found, state.found_class
    train, duration, capacity = problem.train[p], problem.duration[p], problem.capacity
    weight, tasks, cost = problem.weight[j], problem.tasks[p], price * train
    start, finish = np.full(len(cost), ready), ready + duration
    free, wanted = np.zeros(len(cost), np.int64), np.full(len(cost), tasks)
    for k in range(len(cost)):
        if cost[k] == np.inf:
            finish[k] = np.inf
    lowest = tasks * cost.min()
    number, total, best, last = 0, 0, np.inf, ready
    while True:
        k = finish.argmin()
        until = finish[k]
        if until == np.inf:
            break
        delay = weight * max(until - end, 0.0)
        if total >= tasks and delay + lowest >= best:
            break
        if free[k] == 0:
            start[k], free[k] = first_fit(
                state.times[k], state.busy[k], state.size[k], capacity[k], start[k], train[k]
            )
            finish[k] = start[k] + duration[k]
            continue
        taken = min(free[k], wanted[k])
        reserve(state, k, start[k], train[k], taken)
        z = number
        while z > 0 and found[0, z - 1] > cost[k]:
            for i in range(len(found)):
                found[i, z] = found[i, z - 1]
            found_class[z] = found_class[z - 1]
            z -= 1
        found[0, z], found[1, z], found[2, z], found[3, z] = cost[k], until, start[k], taken
        found_class[z] = k
        number += 1
        total += taken
        wanted[k] -= taken
        free[k] = 0
        if wanted[k] == 0:
            finish[k] = np.inf
        if total >= tasks:
            value, left, z = delay, tasks, 0
            while left > 0:
                used = min(left, int(found[3, z]))
                value += used * found[0, z]
                left -= used
                z += 1
            if value < best:
                best, last = value, until
    left = tasks
    for z in range(number):  # keep the cheapest slots up to the best end, and release the others
        k, taken = found_class[z], int(found[3, z])
        used = min(left, taken) if found[1, z] <= last else 0
        if used < taken:
            reserve(state, k, found[2, z], train[k], used - taken)
        if used > 0:
            s = plan.first[j] + plan.used[j]
            assert s < plan.first[j + 1]
            plan.slot_batch[s], plan.slot_class[s] = p, k
            plan.slot_start[s], plan.slot_tasks[s] = found[2, z], used
            plan.used[j] += 1
            left -= used
            end = max(end, found[1, z])
    return end


def insert(problem: Any, state: Any, j: int, gene: Any, spare: float, rng: Any) -> bool:
    """Insert a job; see `solvers.search.moves`.

    `gene` [k]: price of a step on a GPU of the class, >= 0; infinite if it must not be used. Its
    last number is the longest delay of a batch, relative to the rest of the job; if it is not 0,
    half of the batches are delayed at random, and the prices of each are drawn, with these means.
    """
    plan, weight, most = state.plan, problem.weight[j], problem.alone[j] + spare
    ready = end = problem.arrival[j]
    plan.used[j], delay, price = 0, gene[-1], gene[:-1].copy()
    for p in range(problem.batches[j], problem.batches[j + 1]):
        if problem.opens[p]:
            ready = end
            if weight * (ready + problem.rest[p]) > most:
                apply(problem, state, j, -1)
                return False
        begin = ready
        if delay > 0.0:
            for k in range(len(price)):
                price[k] = 2.0 * (1.0 - rng.random()) * gene[k]
            if rng.random() < 0.5:
                begin += np.floor(delay * rng.random() * problem.rest[p])
        end = place(problem, state, j, p, begin, end, price)
    if weight * end > most:
        apply(problem, state, j, -1)
        return False
    plan.start[j] = plan.slot_start[plan.first[j]]
    plan.end[j], plan.cost[j] = end, weight * end
    return True


def _sample() -> tuple[Any, ...]:
    """Return arguments of the entry, for the compiler."""
    from schedgap.instances.generate import generate
    from schedgap.models.hare.heuristics.local_search import empty_state, problem_of

    toy = generate("hare", preset="toy")
    assert isinstance(toy, HareInstance)
    problem, _, _ = problem_of(toy)
    terms = listed(len(problem.alone), [], np.zeros(len(problem.capacity) + 1))
    return without_moves(problem, empty_state(problem), terms)


KERNEL = Kernel(
    "hare",
    (copy, find, split, merge, reserve, apply, first_fit, place, insert, *GENERIC),
    _sample,
    lambda instance: instance.number_of_tasks >= LARGE,
)
