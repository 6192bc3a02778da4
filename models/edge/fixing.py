"""What prices leave of the groups: those that a schedule better than a known one can use.

Reduced-cost fixing with the Lagrangian value L of the prices: a schedule in which job j is in group
g costs at least L - (least cost of j) + (least cost of g). All sums are exact, so that nothing is
lost by a rounding.
"""

from dataclasses import dataclass

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


def keep(view: Problem, prices: Prices, upper: int) -> Kept:
    """Return the groups that a schedule with an objective below `upper` can use.

    Parameters
    ----------
    prices : Prices
        For all slots up to `last_slot`: groups that end later are taken to be hopeless.
    """
    pricer = Pricer(view, prices.slots)
    costs = pricer.all_costs(prices)
    least = [min((c.min() for c in own if c.size), default=float("inf")) for own in costs]
    bound = float(sum(least)) - pricer.paid(prices)
    slack = upper - 1 - bound
    if slack < 0:
        return Kept((), (), bound, slack)
    groups: list[Group] = []
    reduced: list[float] = []
    for task, own, lowest in zip(view.tasks, costs, least, strict=True):
        before = len(groups)
        for mode, cost in zip(task.modes, own, strict=True):
            for start in (cost - lowest <= slack).nonzero()[0].tolist():
                groups.append(Group(task.job, mode, view.first + start))
                reduced.append(float(cost[start]) - lowest)
        if len(groups) == before:
            return Kept((), (), bound, slack)
    return Kept(tuple(groups), tuple(reduced), bound, slack)


def last_slot(view: Problem, upper: int) -> int:
    """Return the last slot in which a schedule with an objective below `upper` can end.

    A job that ends later than alone by x costs x more, all others at least what they do alone.
    """
    least = [view.least_flow(task) or 0 for task in view.tasks]
    slack = upper - 1 - sum(least)
    ends = [task.arrival + flow + slack for task, flow in zip(view.tasks, least, strict=True)]
    return max(view.first, min(view.last, max(ends, default=view.last)))
