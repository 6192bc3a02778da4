"""Reduced-cost fixing by the dual prices: what a schedule better than the incumbent can use (ours).

A schedule that completes job i in slot f, or has n workers of it in slot t, is worth no more than
the bound of the rents, less what that plan pays less than the best plan of i. Where this is below
the known value, no better schedule does so.
"""

import math
from dataclasses import dataclass

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.machine_patterns import Parts, Rents
from schedgap.models.dmlrs.programs.aggregate import Item
from schedgap.models.dmlrs.throughput import FULL, first_completions

GRID = 400  # parts of the work; progress is rounded up, so that no plan is dearer than it is
_SAFE = 1e-7  # relative, of what is taken for a rounding


@dataclass(frozen=True, slots=True, eq=False)
class Left:
    """What better schedules have left."""

    completions: frozenset[tuple[int, int]]  # (job, slot)
    admitted: frozenset[int]  # jobs that all of them complete
    items: frozenset[tuple[int, Item]]  # slot and what runs in it


def left(instance: DmlrsInstance, rents: Rents, value: float) -> Left:
    """Return what schedules worth more than `value` can do.

    Notes
    -----
    Time: O(T^2 F Q) for each job, with Q = `GRID`.
    """
    made = Parts(instance)
    allowed = rents.bound - value + _SAFE * max(1.0, abs(rents.bound))
    completions, items = set(), set()
    for i in made.jobs:
        worst = rents.payoff[i] - allowed  # a plan that pays less is in no better schedule
        for (f, t, mode, n), pays in _payoffs(made, i, rents.rent).items():
            if pays >= worst:
                completions.add((i, f))
                items.add((t, Item(i, mode == INTERNAL, n)))
    admitted = frozenset(i for i in made.jobs if rents.payoff[i] > allowed)
    return Left(frozenset(completions), admitted, frozenset(items))


def _payoffs(made: Parts, i: int, rent: Floats) -> dict[tuple[int, int, int, int], float]:
    """Return at least what the best plan pays that completes in f, with n workers in slot t.

    By f, t, mode and n. Costs of the slots before and after are joined at every part of the work.
    """
    view = arrays(made.instance)
    arrival, needed = int(view.arrival[i]), view.needed[i]
    rows = [
        [
            (offer.cost, mode, offer.workers, _weight(offer.workers / needed[mode]))
            for offer in own
            for mode in (INTERNAL if offer.internal else EXTERNAL,)
        ]
        for own in made.offers(i, rent)
    ]
    start = np.full(GRID + 1, np.inf)
    start[0] = 0.0
    before = [start]
    for row in rows:
        before.append(_extended(before[-1], row))
    before = [_at_least(cost) for cost in before]
    found = {}
    for last in range(first_completions(made.instance)[i] - arrival, len(rows)):
        worth, after = float(view.utility[i, last]), start
        for k in range(last, -1, -1):
            rest = _at_least(after)
            for cost, mode, n, weight in rows[k]:
                need = GRID - weight
                least = cost + float((before[k][: need + 1] + rest[need::-1]).min())
                found[arrival + last, arrival + k, mode, n] = worth - least
            after = _extended(after, rows[k])
    return found


def _weight(part: float) -> int:
    return min(GRID, math.ceil(GRID * part / FULL * (1 - 1e-12)))


def _extended(cost: Floats, row: list[tuple[float, int, int, int]]) -> Floats:
    """Return the least cost [parts] with one more slot; the last state is "or more"."""
    found = cost.copy()
    for price, _, _, weight in row:
        moved = cost[: GRID - weight] + price
        np.minimum(found[weight:GRID], moved, out=found[weight:GRID])
        found[GRID] = min(found[GRID], float(cost[GRID - weight :].min()) + price)
    return found


def _at_least(cost: Floats) -> Floats:
    found: Floats = np.minimum.accumulate(cost[::-1])[::-1]
    return found
