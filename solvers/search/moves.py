"""List schedules and the moves of the local search; a family supplies three functions.

`insert(problem, state, j, gene, spare, rng) -> bool`
    Insert job j where it is cheapest: write its row of the plan and take its resources. False if
    it would cost more than its least cost plus `spare`; the state is then as before.
`apply(problem, state, j, sign)`
    Take (1) or give back (-1) the resources of job j.
`copy(source, target, j)`
    Copy the row of job j from one plan to another.

A problem has `alone` [j], the least cost of each job, and `keys` [k, j], priorities by which jobs
are sorted, the least first. A state has a `plan`, and a plan `start`, `end` and `cost` [j]. A gene
is a row of numbers that say how `insert` chooses; a job keeps its gene until a move changes it.
A family whose moves insert no jobs has a separate `run`, with separate `Terms`.

The functions run compiled or not, with equal results: they draw uniform numbers only, add in a
written order, and sort by one stable sort.

References
----------
P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems",
Principles and Practice of Constraint Programming, Lecture Notes in Computer Science 1520 (1998):
remove jobs that are related, and insert them again.
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
R. Kolisch, S. Hartmann, "Heuristic algorithms for the resource-constrained project scheduling
problem: classification and computational analysis", Project Scheduling (1999): lists of jobs as
solutions, in which a move shifts one job.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FORWARD = 0.8  # probability that an order move places a job earlier, not later
BLUR = 0.05  # perturbation of the distances between jobs, relative to the span of the schedule
TIE = 1e-12  # relative: values that differ by less are equal


NONE = np.empty(0, dtype=np.int64)  # no jobs


class Terms(NamedTuple):
    """What a search inserts first, what its moves choose from, and what they remember."""

    order: NDArray[np.int64]  # jobs in the order of a list schedule; overwritten
    gene: NDArray[np.int64]  # [j] row of the genes by which the job was inserted; overwritten
    genes: NDArray[np.float64]  # [g, i]
    most: int  # most jobs of a move that shifts none
    shifts: float = 0.0  # probability that a move shifts a job in the order
    mutation: float = 1.0  # probability that a move draws another gene
    listed: NDArray[np.int64] = NONE  # jobs inserted by the first gene before the moves


def insert(problem: Any, state: Any, j: int, gene: Any, spare: float, rng: Any) -> bool:
    """Stand for the function of a family."""
    raise NotImplementedError


def apply(problem: Any, state: Any, j: int, sign: int) -> None:
    """Stand for the function of a family."""
    raise NotImplementedError


def copy(source: Any, target: Any, j: int) -> None:
    """Stand for the function of a family."""
    raise NotImplementedError


def total(cost: Any) -> float:
    """Return the sum of all costs."""
    value = 0.0
    for each in cost:
        value += each
    return value


def temperature(cooling: Any, move: int) -> float:
    """Return the temperature of a move: it falls by equal factors in equal shares of the search.

    `cooling`: first and last temperature; elapsed share of the time; moves before these, and in
    all.
    """
    share = max(cooling[2], (cooling[3] + move) / cooling[4])
    return float(cooling[0] * math.exp(share * math.log(cooling[1] / cooling[0])))


def put(keys: Any, items: Any, number: int, most: int, key: float, item: int) -> int:
    """Insert an item behind all items of its key; return how many of the first `most` there are.

    A sort by numpy takes a second to compile.
    """
    if number == most:
        if keys[most - 1] <= key:
            return most
        number -= 1
    i = number
    while i > 0 and keys[i - 1] > key:
        keys[i], items[i] = keys[i - 1], items[i - 1]
        i -= 1
    keys[i], items[i] = key, item
    return number + 1


def near(plan: Any, most: int, rng: Any, chosen: Any) -> int:
    """Choose 2 to `most` jobs close in time to a random one; return their number.

    Close by midpoint, by start at its end, or by overlap.
    """
    start, end = plan.start, plan.end
    jobs = len(start)
    number = min(jobs, 2 + int(rng.random() * (most - 1)))
    one, kind = int(rng.random() * jobs), int(rng.random() * 3)
    first, last = start[0], end[0]
    for j in range(jobs):
        first, last = min(first, start[j]), max(last, end[j])
    blur, distances, found = BLUR * (last - first), np.empty(number), 0
    for j in range(jobs):
        if kind == 0:
            distance = abs(start[j] + end[j] - start[one] - end[one]) / 2
        elif kind == 1:
            distance = abs(start[j] - end[one])
        else:
            distance = max(start[j], start[one]) - min(end[j], end[one])
        distance += blur * rng.random()
        if j == one:
            distance = -np.inf
        found = put(distances, chosen, found, number, distance, j)
    return number


def arrange(problem: Any, chosen: Any, rng: Any) -> None:
    """Sort the chosen jobs by a random one of the priorities, or at random."""
    kind = int(rng.random() * (len(problem.keys) + 1))
    keys = np.empty(len(chosen))
    for i in range(len(chosen)):
        key = rng.random() if kind == len(problem.keys) else problem.keys[kind, chosen[i]]
        put(keys, chosen, i, len(chosen), key, chosen[i])


def shift(problem: Any, plan: Any, order: Any, rng: Any, chosen: Any) -> tuple[int, int, int]:
    """Choose a job that moves in the order, with all jobs behind it, in the new order.

    Most often a delayed job moves forward, with a probability in proportion to its delay. Return
    the job, where the chosen jobs begin in the order, and their number.
    """
    jobs = len(order)
    one, forward = int(rng.random() * jobs), rng.random() < FORWARD
    if forward:
        left = rng.random() * (total(plan.cost) - total(problem.alone))
        one = 0
        while one < jobs - 1 and left >= plan.cost[one] - problem.alone[one]:
            left -= plan.cost[one] - problem.alone[one]
            one += 1
    here = 0
    while order[here] != one:
        here += 1
    distance = 1 + int(rng.random() ** 2 * (jobs - 1))
    there = max(0, here - distance) if forward else min(jobs - 1, here + distance)
    first, number = min(here, there), 0
    for place in range(first, jobs):
        if place == there and forward:
            chosen[number] = one
            number += 1
        if place != here:
            chosen[number] = order[place]
            number += 1
        if place == there and not forward:
            chosen[number] = one
            number += 1
    return one, first, number


def run(
    problem: Any,
    state: Any,
    old: Any,
    best: Any,
    values: Any,
    terms: Any,
    moves: int,
    cooling: Any,
    rng: Any,
) -> int:
    """Insert the listed jobs in order until one does not fit, then make moves; return their number.

    A move removes some jobs and inserts them again in another order. It is undone if the value
    rises by more than an exponential draw. The mean of the draw is the temperature, relative to the
    mean cost of a job. A move that shifts a job is undone as soon as this holds for the jobs that
    are back, compared with their former costs.

    `old`, `best`: plans, overwritten; the second with the best one found. `values`: the value of
    the plan and of the best one, overwritten. `cooling`: see `temperature`.
    """
    plan, jobs = state.plan, len(state.plan.cost)
    inserted = 0
    while inserted < len(terms.listed):
        if not insert(problem, state, terms.listed[inserted], terms.genes[0], np.inf, rng):
            break
        inserted += 1
    chosen, former = np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    for move in range(moves):
        mean = temperature(cooling, move) / jobs
        allowed = values[0] * (1.0 - mean * math.log(1.0 - rng.random()))
        gene = int(rng.random() * len(terms.genes))
        mutates = terms.mutation >= 1.0 or rng.random() < terms.mutation
        shifted, first = -1, 0
        if terms.shifts > 0.0 and rng.random() < terms.shifts:
            shifted, first, number = shift(problem, plan, terms.order, rng, chosen)
        else:
            number = near(plan, terms.most, rng, chosen)
            arrange(problem, chosen[:number], rng)
        spare = allowed - values[0]  # what the jobs may cost beyond the least costs
        for j in chosen[:number]:
            if shifted < 0:
                spare += plan.cost[j] - problem.alone[j]
            copy(plan, old, j)
            apply(problem, state, j, -1)
            former[j] = terms.gene[j]
            if mutates and (shifted < 0 or shifted == j):
                terms.gene[j] = gene
        done = 0
        while done < number and spare >= 0.0:
            j = chosen[done]
            if shifted >= 0:  # the jobs behind are expected to cost what they did
                spare += old.cost[j] - problem.alone[j]
            if not insert(problem, state, j, terms.genes[terms.gene[j]], spare, rng):
                break
            spare -= plan.cost[j] - problem.alone[j]
            done += 1
        if done < number or spare < 0.0:
            for j in chosen[:done]:
                apply(problem, state, j, -1)
            for j in chosen[:number]:
                copy(old, plan, j)
                apply(problem, state, j, 1)
                terms.gene[j] = former[j]
            continue
        if shifted >= 0:
            for i in range(number):
                terms.order[first + i] = chosen[i]
        values[0] = total(plan.cost)
        if values[0] < values[1] - TIE * abs(values[1]):
            values[1] = values[0]
            for j in range(jobs):
                copy(plan, best, j)
    return inserted


GENERIC = total, temperature, put, near, arrange, shift, run  # each after what it calls
