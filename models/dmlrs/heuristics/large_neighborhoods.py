"""Large-neighbourhood search (ours): remove some jobs, then reinsert all that pay.

The removed jobs are random, or those closest to a random slot. Unscheduled jobs are inserted in
order of perturbed density, each where it pays best at a share of the prices: at share 0 it
completes as early as it can, at share 1 it leaves expensive slots to others. Worse schedules are
accepted as in simulated annealing, so different seeds give different searches.

References
----------
P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems",
Principles and Practice of Constraint Programming, Lecture Notes in Computer Science 1520 (1998):
remove related jobs, reinsert them.
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983): the acceptance rule.
"""

import math
from collections.abc import Callable

import numpy as np

from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.heuristics.density import densities
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule
from schedgap.models.method import Budget

MAX_REMOVED = 8
PRICE_SHARES = 0.0, 0.3, 0.6, 1.0  # shares of the prices at which jobs are inserted
NOISE = 0.7  # standard deviation of the logarithm of the density
DISTANCE_NOISE = 3.0  # slots by which distances to the random slot are perturbed
INITIAL_TEMPERATURE = 0.002  # relative to the best value


def improve(
    partial: PartialSchedule,
    prices: Floats,
    *,
    moves: int,
    budget: Budget,
    on_better: Callable[[PartialSchedule], None],
    target: float = math.inf,
) -> PartialSchedule:
    """Return the best partial schedule found.

    `partial`: start of the search; not changed. `prices` [t, r]: prices of the resources, as a
    relaxation gives them. `moves`: largest number of moves. `on_better`: receives every partial
    schedule that is better than all before. `target`: bound on the value; the search ends when it
    is attained.
    """
    random = np.random.default_rng(budget.seed)
    density = densities(partial.instance)
    candidates = np.flatnonzero(density > 0).tolist()
    best, best_value = partial, partial.value()
    value = best_value
    for move in range(moves if candidates else 0):
        if budget.clock.expired() or best_value >= target - 1e-9 * max(1.0, target):
            break
        neighbour = partial.copy()
        for i in _jobs_to_remove(neighbour, random):
            neighbour.remove(i)
        noisy = density * np.exp(random.normal(0, NOISE, len(density)))
        insertion_prices = prices * random.choice(PRICE_SHARES)
        unscheduled = [i for i in candidates if i not in neighbour.plans]
        for i in sorted(unscheduled, key=lambda i: -noisy[i]):
            neighbour.insert(i, insertion_prices)
        neighbour_value = neighbour.value()
        left = 1 - max(move / moves, budget.clock.spent())
        temperature = INITIAL_TEMPERATURE * best_value * left
        if neighbour_value >= value + temperature * math.log(max(1e-12, random.random())):
            partial, value = neighbour, neighbour_value
        if neighbour_value > best_value + 1e-9 * max(1.0, best_value):
            best, best_value = neighbour, neighbour_value
            on_better(best)
    return best


def _jobs_to_remove(partial: PartialSchedule, random: np.random.Generator) -> list[int]:
    """Return up to `MAX_REMOVED` scheduled jobs: random ones, or those closest to a random slot."""
    scheduled = list(partial.plans)
    if not scheduled:
        return scheduled
    count = int(random.integers(1, min(MAX_REMOVED, len(scheduled)) + 1))
    if random.random() < 0.5:
        chosen: list[int] = random.choice(scheduled, count, replace=False).tolist()
        return chosen
    slot = int(random.integers(1, partial.instance.horizon + 1))
    distance = {
        i: min(abs(t - slot) for t in partial.plans[i]) + DISTANCE_NOISE * random.random()
        for i in scheduled
    }
    return sorted(scheduled, key=distance.__getitem__)[:count]
