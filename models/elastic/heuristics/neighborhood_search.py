"""Local search: list schedules in perturbed orders, then large neighbourhood search with annealing.

First all jobs are scheduled again in other orders; then moves remove a few jobs and reinsert them
in another order. A job is inserted at the least weight x completion plus a part of a relaxation's
prices: without prices it would take all that is free, and leave nothing for the next one.

References
----------
P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems",
Principles and Practice of Constraint Programming, Lecture Notes in Computer Science 1520 (1998):
large neighbourhoods.
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
A. S. Schulz, M. Skutella, "The power of alpha-points in preemptive single machine scheduling",
Journal of Scheduling 5 (2002): orders by points between start and end.
"""

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.configuration_lp import run_cost
from schedgap.models.elastic.heuristics.list_schedules import (
    LpGuide,
    Stop,
    list_schedule,
    wspt_order,
)
from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.programs.columns import ElasticRun
from schedgap.models.elastic.time_windows import earliest

FACTORS = 0.2, 0.2, 0.5, 0.8, 1.0  # of the prices; one is drawn for each move
FITS = 0.0, 0.5  # weights of the room beside a run; one is drawn for each move
LIST_FACTORS = 1.0, 0.6, 0.8, 0.3, 1.2  # of the prices; one is drawn for each list
LIST_FITS = 1.0, 0.0
POINTS = 0.0, 0.25, 0.5, 1.0  # points from start to end of a job by which lists are ordered
DEVIATIONS = 0.0, 3.0, 10.0, 30.0  # standard deviations of the perturbation of points, in slots
SAME = 0.6  # probability that a list is based on the best one so far, not on the relaxation
MAX_REMOVED = 10  # jobs that a move removes
HOT, COLD = 0.2, 2e-3  # first and last temperature, relative to the mean value of a job
TIE = 1e-12  # relative: values that differ by less are equal
NOISE = 10.0  # slots: perturbation of the distance between jobs


def relist(
    instance: ElasticInstance,
    given: LpGuide,
    runs: Sequence[ElasticRun],
    *,
    rounds: int,
    patience: int,
    enough: float = -math.inf,
    seed: int = 0,
    stop: Stop = lambda: False,
    on_better: Callable[[list[ElasticRun], float], None] = lambda runs, value: None,
) -> list[ElasticRun]:
    """Return the best of `runs` and of list schedules in perturbed orders.

    A list is ordered by a point between start and end of each job in the relaxation, and has a
    factor of the prices: first all pairs of these, then random ones, with perturbed points, taken
    from the relaxation or from the best list so far.

    `given`: prices, and times of the jobs in the relaxation. `runs`: a feasible schedule, of all
    jobs if it is no batch. `rounds`: largest number of lists. `patience`: number of lists without
    improvement after which it ends. `enough`: a value at which it ends, for example a bound.
    `stop`: returns True when time is up. `on_better`: receives each better schedule with its value.
    """
    random = np.random.default_rng(seed)
    best, best_runs, last_improvement = value_of(instance, runs), list(runs), 0
    source, grid = given, list(product(LIST_FITS, LIST_FACTORS, POINTS))
    for number in range(rounds):
        if number - last_improvement > patience or best <= enough + 1e-9 * abs(enough) or stop():
            break
        based, deviation = given, 0.0
        if number < len(grid):
            fit, factor, point = grid[number]
        else:
            fit, factor, point, deviation = (
                float(random.choice(each)) for each in (LIST_FITS, LIST_FACTORS, POINTS, DEVIATIONS)
            )
            based = source if random.random() < SAME else given
        time = (1 - point) * based.start + point * based.end
        time = time + deviation * random.standard_normal(len(time))
        order = [j for j in np.argsort(time, kind="stable").tolist() if modes(instance, j)]
        candidate = list_schedule(instance, order, given.upto, factor, fit, stop)
        if candidate is not None and (value := value_of(instance, candidate)) < best - TIE * abs(
            best
        ):
            best, best_runs, last_improvement = value, candidate, number
            start, end = given.start.copy(), given.end.copy()
            for run in candidate:
                start[run.job], end[run.job] = run.start, run.end
            source = LpGuide(given.upto, start, end)
            on_better(best_runs, best)
    return best_runs


def value_of(instance: ElasticInstance, runs: Sequence[ElasticRun]) -> float:
    """Return the weighted completion time of runs; in a batch minus their weight."""
    return math.fsum(run_cost(instance, run.job, run.end) for run in runs)


def search(
    instance: ElasticInstance,
    given: LpGuide,
    runs: Sequence[ElasticRun],
    *,
    moves: int,
    patience: int | None = None,
    enough: float = -math.inf,
    seed: int = 0,
    stop: Stop = lambda: False,
    spent: Callable[[], float] = lambda: 0.0,
    on_better: Callable[[list[ElasticRun], float], None] = lambda runs, value: None,
) -> list[ElasticRun]:
    """Return the best schedule found by large neighbourhood search, never worse than `runs`.

    `given`: prices, and an order of the jobs. `runs`: all jobs, in a feasible schedule. `moves`:
    number of moves. The same seed and number of moves give the same schedule, unless it is stopped.
    `patience`: number of moves without improvement after which it ends. `enough`: a value at which
    it ends, for example a bound. `stop`: returns True when time is up. `spent`: returns the elapsed
    share of the time, in [0, 1]: with a time limit, cooling follows the time. `on_better`: receives
    each better schedule with its value.
    """
    random = np.random.default_rng(seed)
    jobs = len(instance.jobs)
    weight = np.array([job.weight for job in instance.jobs])
    first = earliest(instance)
    assert first is not None
    alone = np.array(first)  # start + duration of each job by itself
    by_weight = np.lexsort((np.arange(jobs), -weight)).tolist()
    orders = (by_weight, wspt_order(instance), given.order())
    ranks = [{j: position for position, j in enumerate(order)} for order in orders]
    partial = PartialSchedule(instance, _slots(instance, runs), given.upto, runs)
    value = best = partial.value()
    best_runs, last_improvement = list(runs), 0
    for move in range(moves):
        impatient = patience is not None and move - last_improvement > patience
        if impatient or best <= enough * (1 + 1e-9) or stop():
            break
        # Annealing: accept a value up to v + temperature (v / jobs) Exp(1), drawn before the move,
        # so that an insertion that exceeds the limit can be abandoned early.
        temperature = HOT * (COLD / HOT) ** max(move / moves, spent())
        limit = value - temperature * value / jobs * math.log(1.0 - random.random())
        removed = _near(partial, random)
        old_runs = [partial.remove(j) for j in removed]
        kind = int(random.integers(len(ranks) + 1))
        if kind < len(ranks):
            rank = ranks[kind]
            reinserted = sorted(removed, key=lambda j: rank[j])
        else:
            reinserted = random.permutation(removed).tolist()
        factor, fit = float(random.choice(FACTORS)), float(random.choice(FITS))
        # What the removed jobs may cost in total beyond each one's earliest completion.
        spare = limit - partial.value() - float(weight[removed] @ alone[removed])
        for j in reinserted:
            latest = int(min(alone[j] + spare / weight[j] + 1e-9, partial.slots + 1))
            if spare < 0 or not partial.insert(j, factor, latest, fit):
                for k in reinserted:
                    if k in partial.runs:
                        partial.remove(k)
                for run in old_runs:
                    partial.put(run)
                break
            spare -= weight[j] * (partial.runs[j].end - alone[j])
        else:
            value = partial.value()
            if value < best * (1 - TIE):
                best, best_runs, last_improvement = value, list(partial.runs.values()), move
                on_better(best_runs, best)
    return best_runs


def _slots(instance: ElasticInstance, runs: Sequence[ElasticRun]) -> int:
    """Return the last slot that the search may use."""
    if instance.last_end is not None:
        return instance.last_end - 1
    return max(run.end for run in runs) - 1


def _near(partial: PartialSchedule, random: np.random.Generator) -> list[int]:
    """Return jobs close in time to a random one: by midpoint, by start at its end, or overlap."""
    jobs = len(partial.runs)
    count = min(jobs, int(random.integers(2, MAX_REMOVED + 1)))
    one = int(random.integers(jobs))
    start = np.array([partial.runs[j].start for j in range(jobs)])
    end = np.array([partial.runs[j].end for j in range(jobs)])
    kind = int(random.integers(3))
    if kind == 0:
        distance = np.abs(start + end - start[one] - end[one]) / 2
    elif kind == 1:
        distance = np.abs(start - end[one]).astype(float)
    else:
        distance = np.maximum(start, start[one]) - np.minimum(end, end[one]).astype(float)
    distance = distance + NOISE * random.random(jobs)
    distance[one] = -np.inf
    chosen: list[int] = np.argsort(distance, kind="stable")[:count].tolist()
    return chosen
