"""What prices leave of the groups: those that a schedule better than a known one can use.

Reduced-cost fixing with the Lagrangian value L of the prices: a schedule in which job j is in group
g costs at least L - (least cost of j) + (least cost of g). All sums are exact, so that nothing is
lost by a rounding.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from schedgap.models.edge.cost import Floats
from schedgap.models.edge.prices import Pricer, Prices
from schedgap.models.edge.problem import Group, Problem


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The groups that are left, and their reduced costs: what they cost more than the least."""

    groups: tuple[Group, ...]
    reduced: tuple[float, ...]
    bound: float  # L, on sum c_j - a_j
    slack: float  # the most that reduced costs may sum up to

    @property
    def hopeless(self) -> bool:
        """True when some job has no group left: nothing better exists."""
        return not self.groups


def keep(view: Problem, prices: Sequence[Prices], upper: int) -> Kept:
    """Return the groups that a schedule with an objective below `upper` can use.

    Parameters
    ----------
    prices : sequence of Prices
        One or more, each for all slots up to `last_slot`: groups that end later are hopeless. What
        any of them rules out is out; bound and reduced costs are those of the best bound.
    """
    each = [_costs(view, some) for some in prices]
    bound, least, costs = max(each, key=lambda found: found[0])
    if upper - 1 - bound < 0:
        return Kept((), (), bound, upper - 1 - bound)
    groups: list[Group] = []
    reduced: list[float] = []
    for j, task in enumerate(view.tasks):
        before = len(groups)
        for k, mode in enumerate(task.modes):
            able = np.ones(len(costs[j][k]), dtype=bool)
            for other, lowest, cost in each:
                able &= cost[j][k] - lowest[j] <= upper - 1 - other
            for start in np.flatnonzero(able).tolist():
                groups.append(Group(task.job, mode, view.first + start))
                reduced.append(float(costs[j][k][start]) - least[j])
        if len(groups) == before:
            return Kept((), (), bound, upper - 1 - bound)
    return Kept(tuple(groups), tuple(reduced), bound, upper - 1 - bound)


def _costs(view: Problem, prices: Prices) -> tuple[float, list[float], list[list[Floats]]]:
    """Return the bound L, the least cost of each job, and all costs."""
    pricer = Pricer(view, prices.slots)
    costs = pricer.all_costs(prices)
    least = [min((float(c.min()) for c in own if c.size), default=math.inf) for own in costs]
    return math.fsum(least) - pricer.paid(prices), least, costs


def last_slot(view: Problem, upper: int) -> int:
    """Return the last slot in which a schedule with an objective below `upper` can end.

    A job that ends later than alone by x costs x more, all others at least what they do alone.
    """
    least = [view.least_flow(task) or 0 for task in view.tasks]
    slack = upper - 1 - sum(least)
    ends = [task.arrival + flow + slack for task, flow in zip(view.tasks, least, strict=True)]
    return max(view.first, min(view.last, max(ends, default=view.last)))
