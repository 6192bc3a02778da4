"""Reduced-cost fixing: the modes and starts that a schedule better than a value can use.

With the Lagrangian bound L of some prices, a schedule in which job j has mode and start g costs at
least L - (least cost of j) + (cost of g); g is removed where this reaches the value. Costs are
exact sums, so no rounding removes too much. Prices must cover all slots that such a schedule can
use: see `last_slot`.

References
----------
H. Crowder, E. L. Johnson, M. Padberg, "Solving large-scale zero-one linear programming problems",
Operations Research 31 (1983).
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008): all
columns within the gap.
Combining prices of the whole with prices and bounds of components is new here: a schedule with an
objective below U, of which the other components cost at least their bounds, costs less than U minus
these on each component.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.algorithms.cheapest_schedule import Floats
from schedgap.models.edge.bounds.column_generation import prices_from_certificate
from schedgap.models.edge.decisions import CompiledInstance, ModeStart, compiled
from schedgap.models.edge.programs.dual import CapacityPrices, LagrangianDual, to_data

KIND = "fixing"


@dataclass(frozen=True, slots=True, eq=False)
class RemainingStarts:
    """The modes and starts that remain for schedules with an objective below a value."""

    mode_starts: tuple[ModeStart, ...]
    bound: float  # on the objective of all such schedules

    @property
    def is_empty(self) -> bool:
        """Whether there is no such schedule."""
        return not self.mode_starts


@dataclass(frozen=True, slots=True, eq=False)
class PricedStarts:
    """What modes and starts [g] cost under one price vector."""

    cost: Floats  # [g] prices included
    job: NDArray[np.int64]  # [g] 0, ..., jobs - 1
    jobs: int
    paid: float  # what the prices pay for all capacity; inf where they prove nothing

    def bound(self, remaining: NDArray[np.bool_]) -> tuple[float, Floats]:
        """Return L over the starts that remain, [g], and the least cost of each job."""
        least = np.full(self.jobs, np.inf)
        np.minimum.at(least, self.job[remaining], self.cost[remaining])
        return -math.inf if math.isinf(self.paid) else math.fsum(least) - self.paid, least


def fix(priced: Sequence[PricedStarts], at_most: float) -> tuple[NDArray[np.bool_], float]:
    """Return which starts [g] a schedule of a value up to `at_most` can use, and the best bound L.

    `priced`: the same starts under one or more price vectors. What one of them removes raises the
    bounds of the others; this is repeated until nothing changes.
    """
    remaining = np.ones(len(priced[0].cost), dtype=bool)
    bound, before = -math.inf, -1
    while before != (count := int(remaining.sum())):
        before = count
        for own in priced:
            value, least = own.bound(remaining)
            bound = max(bound, value)
            if bound > at_most:
                return np.zeros_like(remaining), bound
            remaining &= own.cost - least[own.job] <= at_most - value
    return remaining, bound


def remaining_starts(
    view: CompiledInstance, prices: Sequence[CapacityPrices], upper: int
) -> RemainingStarts:
    """Return the modes and starts that a schedule with an objective below `upper` can use.

    `prices`: one or more, each for all slots up to `last_slot`. `upper`: objectives are integers,
    so the schedules of interest cost at most upper - 1.
    """
    priced = [_priced_starts(view, each) for each in prices]
    names = priced[0][1]
    remaining, bound = fix([each for each, _ in priced], upper - 1)
    starts = [
        ModeStart(view.tasks[k].job, view.tasks[k].modes[m], view.first + start)
        for k, m, start in names[remaining].tolist()
    ]
    return RemainingStarts(tuple(starts), bound)


@lru_cache(maxsize=16)
def _priced_starts(
    view: CompiledInstance, prices: CapacityPrices
) -> tuple[PricedStarts, NDArray[np.int64]]:
    """Return the cost of every mode and start, and its (task, mode, start) [option, 3].

    Cached, because the same prices are used for every target value.
    """
    dual = LagrangianDual(view, prices.slots)
    costs = dual.all_start_costs(prices)
    try:
        charge = dual.capacity_charge(prices)
    except ValueError:  # sums could be rounded: such prices prove nothing
        charge = math.inf
    blocks = [(k, m, cost) for k, own in enumerate(costs) for m, cost in enumerate(own)]
    cost = np.concatenate([np.zeros(0), *(cost for _, _, cost in blocks)])
    names = np.array(
        [(k, m, start) for k, m, cost in blocks for start in range(len(cost))], dtype=np.int64
    ).reshape(-1, 3)
    return PricedStarts(cost, names[:, 0], len(view.tasks), charge), names


def certificate(prices: Sequence[CapacityPrices], upper: int) -> dict[str, object]:
    """Return prices that bound schedules with an objective below `upper` as plain JSON data.

    `prices`: as for `remaining_starts`. `upper`: as for `remaining_starts`.
    """
    return {"kind": KIND, "upper": upper, "prices": [to_data(each) for each in prices]}


def certified_bound(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that a certificate proves.

    `data`: as `certificate` returns it.

    Raises
    ------
    ValueError
        If the prices do not fit the instance or cover too few slots.
    """
    view, upper = compiled(instance), int(data["upper"])
    prices = [prices_from_certificate(view, each) for each in data["prices"]]
    slots = prices[0].slots
    if any(each.slots != slots for each in prices):
        raise ValueError("prices: all need the same slots")
    if view.first + slots - 1 < last_slot(view, upper):
        raise ValueError("prices: a schedule below upper can end after the last slot")
    remaining = remaining_starts(view, prices, upper)
    return float(upper if remaining.is_empty else min(upper, math.ceil(remaining.bound)))


@dataclass(frozen=True, slots=True, eq=False)
class ComponentPrices:
    """A component: some jobs as an instance of their own, with prices and a bound."""

    instance: EdgeInstance
    jobs: tuple[int, ...]  # index of each job in the whole instance
    prices: tuple[CapacityPrices, ...]
    lower: int  # bound on sum c_j - a_j of these jobs


@dataclass(frozen=True, slots=True, eq=False)
class ReducedCostFixing:
    """Prices of the whole, and components with prices of their own."""

    prices: tuple[CapacityPrices, ...]
    components: tuple[ComponentPrices, ...] = ()  # a partition of the jobs, or empty

    def remaining_starts(self, view: CompiledInstance, upper: int) -> RemainingStarts:
        """Return the modes and starts that a schedule with an objective below `upper` can use.

        `upper`: schedules of interest cost at most upper - 1.
        """
        remaining = remaining_starts(view, self.prices, upper)
        if remaining.is_empty or not self.components:
            return remaining
        # A component costs less than upper minus the bounds of all other components.
        total = sum(part.lower for part in self.components)
        bound = max(remaining.bound, total)
        allowed: set[ModeStart] = set()
        for part in self.components:
            own = remaining_starts(compiled(part.instance), part.prices, upper - total + part.lower)
            if own.is_empty:
                return RemainingStarts((), bound)
            allowed |= {start._replace(job=part.jobs[start.job]) for start in own.mode_starts}
        starts = tuple(start for start in remaining.mode_starts if start in allowed)
        if upper - 1 < bound or len({start.job for start in starts}) < len(view.tasks):
            starts = ()
        return RemainingStarts(starts, bound)


def last_slot(view: CompiledInstance, upper: int) -> int:
    """Return the last slot that a schedule with an objective below `upper` can use.

    A job that ends x slots later than alone adds x to the objective, and all others cost at least
    what they cost alone.

    `upper`: schedules of interest cost at most upper - 1.
    """
    alone = [view.minimum_flow(task) or 0 for task in view.tasks]
    slack = upper - 1 - sum(alone)
    ends = [task.arrival + flow + slack for task, flow in zip(view.tasks, alone, strict=True)]
    return max(view.first, min(view.last, max(ends, default=view.last)))
