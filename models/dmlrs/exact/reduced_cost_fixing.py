"""Reduced-cost fixing: the choices that a schedule above a given value can still make (ours).

A schedule that completes job i in slot f, or has n workers of it in slot t, is worth no more than
the dual bound of the item prices, minus the difference between the largest payoff of job i and its
largest payoff with that choice. If this is below the value, no schedule above the value makes the
choice. The payoffs come from labels before and after each slot.

References
----------
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008).
S. Irnich, G. Desaulniers, J. Desrosiers, A. Hadjar, "Path-reduced costs for eliminating arcs in
routing and scheduling", INFORMS Journal on Computing 22 (2010): labels from both ends.
"""

import math
from dataclasses import dataclass

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.machine_patterns import ItemPrices, PatternMaster
from schedgap.models.dmlrs.programs.aggregate import JobBundle
from schedgap.models.dmlrs.throughput import FULL, first_completions

GRID = 400  # steps of the work; progress is rounded up, so that no plan costs more than its cost
_MARGIN = 1e-7  # relative, added to the gap to cover rounding


@dataclass(frozen=True, slots=True, eq=False)
class RemainingChoices:
    """The choices that schedules above a value can make."""

    completions: frozenset[tuple[int, int]]  # (job, slot)
    admitted: frozenset[int]  # jobs that all such schedules complete
    items: frozenset[tuple[int, JobBundle]]  # slots and bundles


def remaining_choices(
    instance: DmlrsInstance, prices: ItemPrices, value: float
) -> RemainingChoices:
    """Return the choices that schedules worth more than a value can make.

    `prices`: item prices and their bound. `value`: in the unit of utility.

    Notes
    -----
    Time: O(T^2 F Q) for each job, with Q = `GRID`.
    """
    layout = PatternMaster(instance)
    slack = prices.bound - value + _MARGIN * max(1.0, abs(prices.bound))
    completions, items = set(), set()
    for i in layout.jobs:
        threshold = prices.payoff[i] - slack  # a plan that pays less is in no better schedule
        for (f, t, mode, n), payoff in _payoffs(layout, i, prices.price).items():
            if payoff >= threshold:
                completions.add((i, f))
                items.add((t, JobBundle(i, mode == INTERNAL, n)))
    admitted = frozenset(i for i in layout.jobs if prices.payoff[i] > slack)
    return RemainingChoices(frozenset(completions), admitted, frozenset(items))


def _payoffs(
    layout: PatternMaster, i: int, prices: Floats
) -> dict[tuple[int, int, int, int], float]:
    """Return upper bounds on the payoff of job i that completes in f, with n workers in slot t.

    By f, t, mode and n. The costs of the slots before and after t are combined at every step of the
    work.
    """
    view = arrays(layout.instance)
    arrival, needed = int(view.arrival[i]), view.needed[i]
    rows = [
        [
            (option.cost, mode, option.workers, _grid_weight(option.workers / needed[mode]))
            for option in row_options
            for mode in (INTERNAL if option.internal else EXTERNAL,)
        ]
        for row_options in layout.options(i, prices)
    ]
    empty = np.full(GRID + 1, np.inf)
    empty[0] = 0.0
    cost_before = [empty]
    for row in rows:
        cost_before.append(_extend(cost_before[-1], row))
    cost_before = [_suffix_min(cost) for cost in cost_before]
    best_payoff = {}
    for end in range(first_completions(layout.instance)[i] - arrival, len(rows)):
        utility, cost_after = float(view.utility[i, end]), empty
        for k in range(end, -1, -1):
            after_min = _suffix_min(cost_after)
            for cost, mode, n, weight in rows[k]:
                need = GRID - weight
                least_cost = cost + float((cost_before[k][: need + 1] + after_min[need::-1]).min())
                best_payoff[arrival + end, arrival + k, mode, n] = utility - least_cost
            cost_after = _extend(cost_after, rows[k])
    return best_payoff


def _grid_weight(part: float) -> int:
    """Return the steps of the work that a fraction of it counts, rounded up."""
    return min(GRID, math.ceil(GRID * part / FULL * (1 - 1e-12)))


def _extend(cost: Floats, row: list[tuple[float, int, int, int]]) -> Floats:
    """Return the least cost [steps] with one more slot; the last state is "or more"."""
    extended = cost.copy()
    for price, _, _, weight in row:
        moved = cost[: GRID - weight] + price
        np.minimum(extended[weight:GRID], moved, out=extended[weight:GRID])
        extended[GRID] = min(extended[GRID], float(cost[GRID - weight :].min()) + price)
    return extended


def _suffix_min(cost: Floats) -> Floats:
    """Return the least cost of reaching at least each number of steps."""
    minima: Floats = np.minimum.accumulate(cost[::-1])[::-1]
    return minima
