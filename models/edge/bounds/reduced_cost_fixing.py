"""Reduced-cost fixing: the modes and starts that a schedule better than a value can use.

With the Lagrangian bound L of some prices, a schedule in which job j has mode and start g costs at
least L - (least cost of j) + (cost of g); g is removed where this reaches the value. Costs are
exact sums, so no rounding removes too much. Prices must cover all slots that such a schedule can
use: see `last_slot`.

References
----------
See `models.mechanisms.reduced_cost_fixing`. Combining prices of the whole with prices and bounds of
components is new here: a schedule with an objective below U, of which the other components cost at
least their bounds, costs less than U minus these on each component.
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
from schedgap.models.mechanisms.dual_feasible_functions import SuperadditiveFunction
from schedgap.models.mechanisms.reduced_cost_fixing import PricedOptions, fix

KIND = "fixing"


@dataclass(frozen=True, slots=True, eq=False)
class RemainingStarts:
    """The modes and starts that remain for schedules with an objective below a value."""

    mode_starts: tuple[ModeStart, ...]
    bound: float  # on the objective of all such schedules
    slack: float  # limit on the sum of reduced costs

    @property
    def is_empty(self) -> bool:
        """Whether there is no such schedule."""
        return not self.mode_starts


def remaining_starts(
    view: CompiledInstance, prices: Sequence[CapacityPrices], upper: int
) -> RemainingStarts:
    """Return the modes and starts that a schedule with an objective below `upper` can use.

    `prices`: one or more, each for all slots up to `last_slot`. What one of them removes raises the
    bounds of the others; this is repeated until nothing changes. `upper`: objectives are integers,
    so the schedules of interest cost at most upper - 1.
    """
    options = [_priced_starts(view, each) for each in prices]
    fixed = fix([each for each, _ in options], upper - 1)
    names = options[0][1]
    starts = [
        ModeStart(view.tasks[k].job, view.tasks[k].modes[m], view.first + start)
        for k, m, start in names[fixed.remaining].tolist()
    ]
    return RemainingStarts(tuple(starts), fixed.bound, upper - 1 - fixed.bound)


@lru_cache(maxsize=16)
def _priced_starts(
    view: CompiledInstance, prices: CapacityPrices
) -> tuple[PricedOptions, NDArray[np.int64]]:
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
    return PricedOptions(cost, names[:, 0], len(view.tasks), charge), names


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

    @property
    def cut_prices(self) -> Mapping[SuperadditiveFunction, Floats]:
        """Prices of cuts: the last ones of the whole plus the last ones of each component."""
        total: dict[SuperadditiveFunction, Floats] = {}
        for prices in (self.prices[-1], *(part.prices[-1] for part in self.components)):
            for function, price in prices.cut_prices.items():
                before = total.get(function, np.zeros((*price.shape[:2], 0)))
                slots = max(before.shape[2], prices.slots)
                total[function] = np.zeros((*price.shape[:2], slots))
                total[function][:, :, : before.shape[2]] = before
                total[function][:, :, : prices.slots] += price
        return total

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
                return RemainingStarts((), bound, upper - 1.0 - total)
            allowed |= {start._replace(job=part.jobs[start.job]) for start in own.mode_starts}
        starts = tuple(start for start in remaining.mode_starts if start in allowed)
        if upper - 1 < bound or len({start.job for start in starts}) < len(view.tasks):
            starts = ()
        return RemainingStarts(starts, bound, upper - 1 - bound)


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
