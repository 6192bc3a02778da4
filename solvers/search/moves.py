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
is a row of numbers that say how `insert` chooses.

The functions run compiled or not, with equal results: they draw uniform numbers only, add in a
written order, and sort by one stable sort.

References
----------
P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems",
Principles and Practice of Constraint Programming, Lecture Notes in Computer Science 1520 (1998):
remove jobs that are related, and insert them again.
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

import math
from typing import Any

import numpy as np

BLUR = 0.05  # perturbation of the distances between jobs, relative to the span of the schedule
TIE = 1e-12  # relative: values that differ by less are equal


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


def run(
    problem: Any,
    state: Any,
    old: Any,
    best: Any,
    values: Any,
    order: Any,
    genes: Any,
    most: int,
    moves: int,
    cooling: Any,
    rng: Any,
) -> int:
    """Insert the jobs of a list in order, then make moves; return how many jobs are inserted.

    A move removes a few jobs and inserts them again in another order. It is undone if the value
    rises by more than an exponential draw, whose mean is the temperature.

    `old`, `best`: plans, overwritten; the second with the best one found. `values`: the value of
    the plan and of the best one, overwritten. `order`: jobs, inserted by the first of `genes`
    [g, i] until one does not fit. `most`: most jobs of a move. `cooling`: first and last
    temperature, relative to the mean cost of a job; elapsed share of the time; moves before these,
    and in all.
    """
    plan, jobs = state.plan, len(state.plan.cost)
    inserted = 0
    while inserted < len(order):
        if not insert(problem, state, order[inserted], genes[0], np.inf, rng):
            break
        inserted += 1
    chosen = np.empty(jobs, np.int64)
    for move in range(moves):
        share = max(cooling[2], (cooling[3] + move) / cooling[4])
        temperature = cooling[0] * math.exp(share * math.log(cooling[1] / cooling[0])) / jobs
        allowed = values[0] * (1.0 - temperature * math.log(1.0 - rng.random()))
        gene = genes[int(rng.random() * len(genes))]
        number = near(plan, most, rng, chosen)
        arrange(problem, chosen[:number], rng)
        spare = allowed - values[0]  # what the jobs may cost beyond the least costs
        for j in chosen[:number]:
            spare += plan.cost[j] - problem.alone[j]
            copy(plan, old, j)
            apply(problem, state, j, -1)
        done = 0
        while done < number and spare >= 0.0:
            j = chosen[done]
            if not insert(problem, state, j, gene, spare, rng):
                break
            spare -= plan.cost[j] - problem.alone[j]
            done += 1
        if done < number or spare < 0.0:
            for j in chosen[:done]:
                apply(problem, state, j, -1)
            for j in chosen[:number]:
                copy(old, plan, j)
                apply(problem, state, j, 1)
            continue
        values[0] = total(plan.cost)
        if values[0] < values[1] - TIE * abs(values[1]):
            values[1] = values[0]
            for j in range(jobs):
                copy(plan, best, j)
    return inserted
