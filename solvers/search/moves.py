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


class Memory(NamedTuple):
    """By which order and genes the jobs were inserted."""

    order: NDArray[np.int64]  # jobs in the order of a list schedule
    gene: NDArray[np.int64]  # [j] row of the genes


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


def near(plan: Any, most: int, rng: Any, chosen: Any) -> int:
    """Choose 2 to `most` jobs close in time to a random one; return their number.

    Close by midpoint, by start at its end, or by overlap.
    """
    start, end = plan.start, plan.end
    jobs = len(start)
    number = min(jobs, 2 + int(rng.random() * (most - 1)))
    one, kind = int(rng.random() * jobs), int(rng.random() * 3)
    if kind == 0:
        distance = np.abs(start + end - start[one] - end[one]) / 2
    elif kind == 1:
        distance = np.abs(start - end[one])
    else:
        distance = np.maximum(start, start[one]) - np.minimum(end, end[one])
    blur = BLUR * (end.max() - start.min())
    for j in range(jobs):
        distance[j] += blur * rng.random()
    distance[one] = -np.inf
    chosen[:number] = np.argsort(distance, kind="mergesort")[:number]
    return number


def arrange(problem: Any, chosen: Any, rng: Any) -> None:
    """Sort the chosen jobs by a random one of the priorities, or at random."""
    kind = int(rng.random() * (len(problem.keys) + 1))
    key = np.empty(len(chosen))
    for i in range(len(chosen)):
        key[i] = rng.random() if kind == len(problem.keys) else problem.keys[kind, chosen[i]]
    chosen[:] = chosen[np.argsort(key, kind="mergesort")]


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
    order: Any,
    genes: Any,
    memory: Any,
    chances: Any,
    most: int,
    moves: int,
    cooling: Any,
    rng: Any,
) -> int:
    """Insert the jobs of a list in order, then make moves; return how many jobs are inserted.

    A move removes some jobs and inserts them again in another order. It is undone if the value
    rises by more than an exponential draw, whose mean is the temperature. A move that shifts a job
    is undone as soon as this holds for the jobs that are back, compared with their former costs.

    `old`, `best`: plans, overwritten; the second with the best one found. `values`: the value of
    the plan and of the best one, overwritten. `order`: jobs, inserted by the first of `genes`
    [g, i] until one does not fit. `memory`: a `Memory`, overwritten. `chances`: probabilities that
    a move shifts a job in the order, and that it draws another gene. `most`: most jobs of a move
    that shifts none. `cooling`: first and last temperature, relative to the mean cost of a job;
    elapsed share of the time; moves before these, and in all.
    """
    plan, jobs = state.plan, len(state.plan.cost)
    inserted = 0
    while inserted < len(order):
        if not insert(problem, state, order[inserted], genes[0], np.inf, rng):
            break
        inserted += 1
    chosen, former = np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    for move in range(moves):
        share = max(cooling[2], (cooling[3] + move) / cooling[4])
        temperature = cooling[0] * math.exp(share * math.log(cooling[1] / cooling[0])) / jobs
        allowed = values[0] * (1.0 - temperature * math.log(1.0 - rng.random()))
        gene = int(rng.random() * len(genes))
        mutates = chances[1] >= 1.0 or rng.random() < chances[1]
        shifted, first = -1, 0
        if chances[0] > 0.0 and rng.random() < chances[0]:
            shifted, first, number = shift(problem, plan, memory.order, rng, chosen)
        else:
            number = near(plan, most, rng, chosen)
            arrange(problem, chosen[:number], rng)
        spare = allowed - values[0]  # what the jobs may cost beyond the least costs
        for j in chosen[:number]:
            if shifted < 0:
                spare += plan.cost[j] - problem.alone[j]
            copy(plan, old, j)
            apply(problem, state, j, -1)
            former[j] = memory.gene[j]
            if mutates and (shifted < 0 or shifted == j):
                memory.gene[j] = gene
        done = 0
        while done < number and spare >= 0.0:
            j = chosen[done]
            if shifted >= 0:  # the jobs behind are expected to cost what they did
                spare += old.cost[j] - problem.alone[j]
            if not insert(problem, state, j, genes[memory.gene[j]], spare, rng):
                break
            spare -= plan.cost[j] - problem.alone[j]
            done += 1
        if done < number or spare < 0.0:
            for j in chosen[:done]:
                apply(problem, state, j, -1)
            for j in chosen[:number]:
                copy(old, plan, j)
                apply(problem, state, j, 1)
                memory.gene[j] = former[j]
            continue
        if shifted >= 0:
            memory.order[first:] = chosen[:number]
        values[0] = total(plan.cost)
        if values[0] < values[1] - TIE * abs(values[1]):
            values[1] = values[0]
            for j in range(jobs):
                copy(plan, best, j)
    return inserted
