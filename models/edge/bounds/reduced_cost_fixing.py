"""Reduced-cost fixing: the groups that a schedule better than a known one can use.

With the Lagrangian value L of the prices: a schedule in which job j is in group
g costs at least L - (least cost of j) + (least cost of g). All sums are exact, so that nothing is
lost by a rounding. Least costs are those of the groups that are left: the fewer, the higher L.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.algorithms.cheapest_schedule import Floats
from schedgap.models.edge.bounds.column_generation import fitting
from schedgap.models.edge.decisions import Group, Problem, problem
from schedgap.models.edge.programs.dual import Pricer, Prices, to_data
from schedgap.models.edge.programs.superadditive_cuts import Bools, Shape

KIND = "fixing"


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The groups that are left for schedules with an objective below a value."""

    groups: tuple[Group, ...]
    bound: float  # of all such schedules
    slack: float  # the most that reduced costs may sum up to

    @property
    def hopeless(self) -> bool:
        """True when there is no such schedule."""
        return not self.groups


def keep(view: Problem, prices: Sequence[Prices], upper: int) -> Kept:
    """Return the groups that a schedule with an objective below `upper` can use.

    Parameters
    ----------
    prices : sequence of Prices
        One or more, each for all slots up to `last_slot`: groups that end later are hopeless. What
        any of them rules out is out for the others, whose bounds rise, until all agree.
    """
    costs = [_costs(view, some) for some in prices]
    left = np.ones(len(costs[0].cost), dtype=bool)
    bound, before = -math.inf, -1
    while before != left.sum():
        before = left.sum()
        for each in costs:
            value, least = each.bound(left)
            bound = max(bound, value)
            if upper - 1 - bound < 0:
                return Kept((), bound, upper - 1 - bound)
            left &= each.cost - least[each.task] <= upper - 1 - value
    groups = [
        Group(view.tasks[k].job, view.tasks[k].modes[m], view.first + start)
        for k, m, start in costs[0].names[left].tolist()
    ]
    return Kept(tuple(groups), bound, upper - 1 - bound)


def certificate(prices: Sequence[Prices], upper: int) -> dict[str, Any]:
    """Return prices that rule out schedules with an objective below `upper`, as JSON data."""
    return {"kind": KIND, "upper": upper, "prices": [to_data(each) for each in prices]}


def certified(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that a certificate proves; ValueError where its prices end too early."""
    view, upper = problem(instance), int(data["upper"])
    prices = [fitting(view, each) for each in data["prices"]]
    slots = prices[0].slots
    if any(each.slots != slots for each in prices):
        raise ValueError("prices: all need the same slots")
    if view.first + slots - 1 < last_slot(view, upper):
        raise ValueError("prices: a schedule below upper can end after the last slot")
    kept = keep(view, prices, upper)
    return float(upper if kept.hopeless else min(upper, math.ceil(kept.bound)))


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Some jobs of an instance as one of their own, and what is known of it."""

    instance: EdgeInstance
    jobs: tuple[int, ...]  # the index of each in the whole
    prices: tuple[Prices, ...]
    least: int  # of their sum c_j - a_j, in any schedule


@dataclass(frozen=True, slots=True, eq=False)
class Fixing:
    """All that rules groups out: prices, and sides that leave each other only so much."""

    prices: tuple[Prices, ...]
    sides: tuple[Side, ...] = ()  # of all jobs, where there are any

    @property
    def shapes(self) -> Mapping[Shape, Floats]:
        """Prices of shapes: the last ones, and those of the sides, each for its own worker type."""
        found: dict[Shape, Floats] = {}
        for prices in (self.prices[-1], *(side.prices[-1] for side in self.sides)):
            for shape, price in prices.shapes.items():
                known = found.get(shape, np.zeros((*price.shape[:2], 0)))
                found[shape] = np.zeros((*price.shape[:2], max(known.shape[2], prices.slots)))
                found[shape][:, :, : known.shape[2]] = known
                found[shape][:, :, : prices.slots] += price
        return found

    def keep(self, view: Problem, upper: int) -> Kept:
        """Return the groups that a schedule with an objective below `upper` can use."""
        kept = keep(view, self.prices, upper)
        if kept.hopeless or not self.sides:
            return kept
        total = sum(side.least for side in self.sides)
        allowed: set[Group] = set()
        for side in self.sides:
            own = keep(problem(side.instance), side.prices, upper - total + side.least)
            if own.hopeless:
                return Kept((), max(kept.bound, total), upper - 1.0 - total)
            allowed |= {group._replace(job=side.jobs[group.job]) for group in own.groups}
        groups = tuple(group for group in kept.groups if group in allowed)
        bound = max(kept.bound, total)
        if upper - 1 < bound or len({group.job for group in groups}) < len(view.tasks):
            groups = ()
        return Kept(groups, bound, upper - 1 - bound)


@lru_cache(maxsize=16)
def _costs(view: Problem, prices: Prices) -> "_Costs":
    """Return what every group costs, computed once: the same prices are asked for every target."""
    return _Costs(view, prices)


class _Costs:
    """What every group costs under some prices."""

    def __init__(self, view: Problem, prices: Prices) -> None:
        pricer = Pricer(view, prices.slots)
        costs = pricer.all_costs(prices)
        try:
            self.paid = pricer.paid(prices)
        except ValueError:  # sums could be rounded: such prices prove nothing
            self.paid = math.inf
        self.tasks = len(view.tasks)
        each = [(k, m, cost) for k, own in enumerate(costs) for m, cost in enumerate(own)]
        self.cost = np.concatenate([np.zeros(0), *(cost for _, _, cost in each)])  # [group]
        self.names = np.array(  # [group, 3] task, mode, start
            [(k, m, start) for k, m, cost in each for start in range(len(cost))], dtype=np.int64
        ).reshape(-1, 3)
        self.task = self.names[:, 0]

    def bound(self, left: Bools) -> tuple[float, Floats]:
        """Return the bound on schedules of the groups that are left, and the least costs [task]."""
        least = np.full(self.tasks, np.inf)
        np.minimum.at(least, self.task[left], self.cost[left])
        value = -math.inf if math.isinf(self.paid) else math.fsum(least.tolist()) - self.paid
        return value, least


def last_slot(view: Problem, upper: int) -> int:
    """Return the last slot in which a schedule with an objective below `upper` can end.

    A job that ends later than alone by x costs x more, all others at least what they do alone.
    """
    least = [view.least_flow(task) or 0 for task in view.tasks]
    slack = upper - 1 - sum(least)
    ends = [task.arrival + flow + slack for task, flow in zip(view.tasks, least, strict=True)]
    return max(view.first, min(view.last, max(ends, default=view.last)))
