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
from schedgap.models.elastic.heuristics.kernel import entry
from schedgap.models.elastic.heuristics.list_schedules import (
    LpGuide,
    Stop,
    list_schedule,
    wspt_order,
)
from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.programs.columns import ElasticRun
from schedgap.solvers.search.annealing import anneal

# One is drawn for each move: factor of the prices, and weight of the room next to a run.
GENES = np.array(list(product((0.2, 0.2, 0.5, 0.8, 1.0), (0.0, 0.5))))
LIST_FACTORS = 1.0, 0.6, 0.8, 0.3, 1.2  # factors of the prices; one is drawn for each list
LIST_FITS = 1.0, 0.0
POINTS = 0.0, 0.25, 0.5, 1.0  # points from start to end of a job by which lists are ordered
DEVIATIONS = 0.0, 3.0, 10.0, 30.0  # standard deviations of the perturbation of points, in slots
SAME = 0.6  # probability that a list is based on the best one so far, not on the relaxation
MAX_REMOVED = 10  # jobs that a move removes
HOT, COLD = 0.03, 3e-4  # first and last temperature, relative to the mean value of a job
TIE = 1e-12  # relative: values that differ by less are equal


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
    jobs unless it is a batch. `rounds`: largest number of lists. `patience`: number of lists
    without improvement after which it ends. `enough`: a value at which it ends, for example a
    bound. `stop`: returns True when time is up. `on_better`: receives each better schedule with its
    value.
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
    enough: float = -math.inf,
    seed: int = 0,
    stop: Stop = lambda: False,
    spent: Callable[[], float] = lambda: 0.0,
    on_better: Callable[[list[ElasticRun], float], None] = lambda runs, value: None,
) -> tuple[list[ElasticRun], int]:
    """Return the best schedule found, never worse than `runs`, and the number of moves.

    `given`: prices, and an order of the jobs. `runs`: all jobs, in a feasible schedule.
    `solvers.search.annealing.anneal` explains the other arguments.
    """
    last = max(run.end for run in runs) - 1
    partial = PartialSchedule(instance, last, given.upto, runs)
    orders = wspt_order(instance), given.order()
    weight = partial.problem.weight
    keys = np.stack([-weight, *(np.argsort(order).astype(float) for order in orders)])
    best, made = anneal(
        entry(instance),
        partial.problem._replace(keys=keys),
        partial.state,
        genes=GENES,
        most=MAX_REMOVED,
        hot=HOT,
        cold=COLD,
        moves=moves,
        seed=seed,
        enough=enough,
        stop=stop,
        spent=spent,
        on_better=lambda plan, value: on_better(partial.runs(plan), value),
    )
    return partial.runs(best), made
