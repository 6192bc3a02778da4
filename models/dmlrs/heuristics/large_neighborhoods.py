"""A search over large neighborhoods (ours): some jobs leave the board, and all may come back.

The jobs that leave are any ones, or those nearest to some slot. Those that are off are put on again
by density, perturbed, each where it pays best at a part of the prices: at none it completes as
early as it can, at all of them it leaves dear slots to others.
"""

import math
from collections.abc import Callable

import numpy as np

from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.heuristics.density import densities
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule
from schedgap.solvers.children.clock import Clock

MAX_REMOVED = 8
PRICE_SHARES = 0.0, 0.3, 0.6, 1.0  # of the prices
NOISE = 0.7  # of the logarithm of the density
DISTANCE_NOISE = 3.0  # slots by which the distance of jobs is perturbed
INITIAL_TEMPERATURE = 0.002  # of the best value: such a loss is accepted now and then, at first


def improve(
    partial: PartialSchedule,
    prices: Floats,
    *,
    moves: int,
    clock: Clock,
    seed: int,
    on_better: Callable[[PartialSchedule], None],
    target: float = math.inf,
) -> PartialSchedule:
    """Return the best board found; by simulated annealing, so that seeds differ.

    Parameters
    ----------
    prices : array [t, r]
        Of the resources, as a relaxation has them.
    moves : int
        At most so many, and as long as there is time.
    on_better : callable
        Hears of every board that is worth more than those before.
    enough : float
        A value that no board exceeds: the search ends there.
    """
    random = np.random.default_rng(seed)
    density = densities(partial.instance)
    candidates = np.flatnonzero(density > 0).tolist()
    best, best_value = partial, partial.value()
    value = best_value
    for move in range(moves if candidates else 0):
        if clock.expired() or best_value >= target - 1e-9 * max(1.0, target):
            break
        neighbour = partial.copy()
        for i in _jobs_to_remove(neighbour, random):
            neighbour.remove(i)
        noisy = density * np.exp(random.normal(0, NOISE, len(density)))
        share_of_prices = prices * random.choice(PRICE_SHARES)
        for i in sorted(
            (i for i in candidates if i not in neighbour.plans), key=lambda i: -noisy[i]
        ):
            neighbour.insert(i, share_of_prices)
        neighbour_value = neighbour.value()
        temperature = 1 - max(move / moves, clock.spent())
        if neighbour_value >= value + INITIAL_TEMPERATURE * best_value * temperature * math.log(
            max(1e-12, random.random())
        ):
            partial, value = neighbour, neighbour_value
        if neighbour_value > best_value + 1e-9 * max(1.0, best_value):
            best, best_value = neighbour, neighbour_value
            on_better(best)
    return best


def _jobs_to_remove(partial: PartialSchedule, random: np.random.Generator) -> list[int]:
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
