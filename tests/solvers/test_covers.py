"""Cover cuts: those found are valid and violated, and one is found where there is one."""

import itertools
import random

import numpy as np
import pytest

from schedgap.solvers.proofs.checker import CUTS, IntegerProgram, with_cuts
from schedgap.solvers.proofs.covers import FULL, LITTLE, CoverSeparator

Choice = list[tuple[int, int]]  # weight and column


def draw(rng: random.Random) -> tuple[IntegerProgram, list[Choice], np.ndarray]:
    """A knapsack row over choices, of which at most one column each is 1, and a point."""
    high = rng.randint(3, 10)
    choices: list[Choice] = []
    count = 0
    for _ in range(rng.randint(2, 4)):
        size = rng.randint(1, 3)
        choices.append([(rng.randint(1, min(6, high)), count + k) for k in range(size)])
        count += size
    weights = {j: a for choice in choices for a, j in choice}
    rows = [({j: 1 for _, j in choice}, None, 1) for choice in choices]
    program = IntegerProgram(
        [0] * count, [0] * count, [1] * count, [*rows, (weights, None, high)], 0
    )
    point = np.zeros(count)
    for choice in choices:
        share = rng.choice([0.5, 0.8, 1.0])
        parts = np.array([rng.choice([0, 1, 3]) for _ in choice], float)
        point[[j for _, j in choice]] = share * parts / max(parts.sum(), 1)
    return program, choices, point


def least_missing(choices: list[Choice], high: int, point: np.ndarray) -> float:
    """What the best cover leaves of 1: the least sum of 1 - share, by enumeration."""
    best = 1.0
    options = [
        [None, *sorted({a for a, _ in choice})] for choice in choices
    ]  # None: not in the cover
    for least in itertools.product(*options):
        used = [(a, choice) for a, choice in zip(least, choices, strict=True) if a is not None]
        shares = [sum(point[j] for w, j in choice if w >= a) for a, choice in used]
        if len(used) >= 2 and sum(a for a, _ in used) > high and min(shares) > LITTLE:
            best = min(best, sum(max(0.0, 1 - share) for share in shares))
    return best


def test_the_best_cover_is_found() -> None:
    rng, found, none = random.Random(4), 0, 0
    for _ in range(400):
        program, choices, point = draw(rng)
        weights, _, high = program.rows[-1]
        cuts = CoverSeparator(program)(point, ([], []))
        missing = least_missing(choices, high, point)
        if sum(a * point[j] for j, a in weights.items()) < FULL * high or missing > 0.97:
            assert cuts == []
            none += 1
            continue
        (cut,) = cuts
        entries, low, most = with_cuts(program, [cut], CUTS).rows[-1]
        assert low is None
        # Violated at the point, by as much as the best one.
        assert sum(a * point[j] for j, a in entries.items()) == pytest.approx(most + 1 - missing)
        for x in itertools.product((0, 1), repeat=len(point)):  # it is valid
            if all(sum(a * x[j] for j, a in row.items()) <= side for row, _, side in program.rows):
                assert sum(a * x[j] for j, a in entries.items()) <= most
        found += 1
    assert min(found, none) > 50
