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
from schedgap.models.dmlrs.heuristics.partial_schedule import Board
from schedgap.solvers.children.clock import Clock

MOST_LEAVING = 8
PARTS = 0.0, 0.3, 0.6, 1.0  # of the prices
NOISE = 0.7  # of the logarithm of the density
NEAR = 3.0  # slots by which the distance of jobs is perturbed
WORSE = 0.002  # of the best value: such a loss is accepted now and then, at first


def improve(
    board: Board,
    prices: Floats,
    *,
    moves: int,
    clock: Clock,
    seed: int,
    on_better: Callable[[Board], None],
    enough: float = math.inf,
) -> Board:
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
    density = densities(board.instance)
    able = np.flatnonzero(density > 0).tolist()
    best, most = board, board.value()
    value = most
    for move in range(moves if able else 0):
        if clock.expired() or most >= enough - 1e-9 * max(1.0, enough):
            break
        other = board.copy()
        for i in _leaving(other, random):
            other.drop(i)
        noisy = density * np.exp(random.normal(0, NOISE, len(density)))
        at = prices * random.choice(PARTS)
        for i in sorted((i for i in able if i not in other.plans), key=lambda i: -noisy[i]):
            other.insert(i, at)
        worth = other.value()
        left = 1 - max(move / moves, clock.spent())
        if worth >= value + WORSE * most * left * math.log(max(1e-12, random.random())):
            board, value = other, worth
        if worth > most + 1e-9 * max(1.0, most):
            best, most = other, worth
            on_better(best)
    return best


def _leaving(board: Board, random: np.random.Generator) -> list[int]:
    on = list(board.plans)
    if not on:
        return on
    number = int(random.integers(1, min(MOST_LEAVING, len(on)) + 1))
    if random.random() < 0.5:
        found: list[int] = random.choice(on, number, replace=False).tolist()
        return found
    slot = int(random.integers(1, board.instance.horizon + 1))
    away = {i: min(abs(t - slot) for t in board.plans[i]) + NEAR * random.random() for i in on}
    return sorted(on, key=away.__getitem__)[:number]
