"""The dual (5): prices of workers and PSs by server and slot, and the bound that any prices prove.

Lagrangian relaxation of (2g) and (2h) with multipliers lambda and mu, the prices: the bound is

    sum over j of the least cost (9) of job j  -  sum over s, t of price times capacity,

where the cost of a schedule is c_j - a_j (or -1 in a batch) plus the prices of what it uses. Prices
are rounded to multiples of a power of two. So all sums, and hence the bound, are exact.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedgap.models.edge.algorithms.cheapest_schedule import (
    Floats,
    PricedPlacement,
    PricingProblem,
    SlotWindows,
)
from schedgap.models.edge.decisions import CompiledInstance, CompiledJob, ModeStart
from schedgap.models.edge.modes import JobMode
from schedgap.models.edge.placements import PlacedRun

STEP = 2.0**-24  # prices are multiples of it
LARGEST = 2.0**27  # limit on sums of prices: below it, sums of multiples of STEP are exact
MAX_CELLS = 30_000_000  # entries of all arrays of prices

Problems = Mapping[int, PricingProblem]  # the problem of each job, by its index


@dataclass(frozen=True, slots=True, eq=False)
class CapacityPrices:
    """Prices >= 0 per unit and slot; slots count from the window's first, later ones cost 0."""

    workers: Floats  # lambda [s, u, t]
    ps: Floats  # mu [s, v, t]

    @property
    def slots(self) -> int:
        """Number of slots with prices."""
        return int(self.workers.shape[2])


def rounded(prices: Floats) -> Floats:
    """Return prices rounded to multiples of STEP; negative ones become 0.

    `prices`: of any shape.
    """
    steps: Floats = np.rint(np.maximum(prices, 0.0) / STEP) * STEP
    return steps + 0.0  # turns -0.0 into 0.0


class LagrangianDual:
    """The Lagrangian dual function: cheapest schedules of all jobs under given prices.

    The objective is minimised: c_j - a_j, or in a batch -1 for each job that runs.

    `slots`: number H of slots with prices, at most the window's. A schedule that ends later is
    taken to cost nothing but its c_j - a_j. That is at least first + H - a_j, and at least the
    value of the job alone. So the bound is valid for every H. `late_costs`: least cost of each task
    if it ends after slot H (or, in a batch, is left out); inf: never.
    """

    def __init__(self, view: CompiledInstance, slots: int) -> None:
        self.view, self.slots = view, slots
        self.late_costs = [self._late_cost(task) for task in view.tasks]

    def _late_cost(self, task: CompiledJob) -> float:
        """Return the cost of a schedule that ends after the last priced slot; inf if none can."""
        view = self.view
        if self.slots >= view.slots or task.alone is None:
            return 0.0 if view.is_batch else math.inf  # 0: the job is left out
        return -1.0 if view.is_batch else max(task.alone, view.first + self.slots - task.arrival)

    def pricing_problems(self, prices: CapacityPrices) -> dict[int, PricingProblem]:
        """Return the pricing problem of each job (index) on the empty network; they share tables.

        `prices`: for `slots` slots.
        """
        workers, ps = (
            [
                SlotWindows(own[:, k], np.broadcast_to(units[:, k, None], (len(units), self.slots)))
                for k in range(units.shape[1])
            ]
            for own, units in ((prices.workers, self.view.workers), (prices.ps, self.view.ps))
        )
        return {
            task.job: PricingProblem(workers[task.worker_type], ps[task.ps_type])
            for task in self.view.tasks
        }

    def start_costs(self, problems: Problems, task: CompiledJob, mode: JobMode) -> Floats:
        """Return the least cost of a mode for each start, objective included.

        `problems`: from `pricing_problems`. `mode`: one of its modes.

        Starts count from the window's first slot; the cost is inf where the mode does not fit.
        """
        cost = problems[task.job].start_costs(mode, task.ready - self.view.first)
        if self.view.is_batch:
            return cost - 1.0
        first_flow = self.view.first + mode.duration - 1 - task.arrival
        flow: Floats = cost + np.arange(first_flow, first_flow + len(cost))
        return flow

    def all_start_costs(self, problems: Problems) -> list[list[Floats]]:
        """Return the least costs [start] by task and mode.

        `problems`: from `pricing_problems`.
        """
        return [
            [self.start_costs(problems, task, mode) for mode in task.modes]
            for task in self.view.tasks
        ]

    def bound(self, prices: CapacityPrices, start_costs: list[list[Floats]] | None = None) -> float:
        """Return the lower bound that prices prove on sum c_j - a_j, or on minus the jobs that run.

        inf if some job cannot run at all.

        `prices`: for `slots` slots. `start_costs`: from `all_start_costs`, if they are known.

        Raises
        ------
        ValueError
            If the sum of price times capacity is so large that it could be rounded.
        """
        charge = float((prices.workers.sum(axis=2) * self.view.workers).sum())
        charge += float((prices.ps.sum(axis=2) * self.view.ps).sum())
        if not charge < LARGEST:
            raise ValueError("prices are too large to be summed exactly")
        if start_costs is None:
            start_costs = self.all_start_costs(self.pricing_problems(prices))
        least = (
            min([late, *(float(cost.min()) for cost in costs if cost.size)])
            for late, costs in zip(self.late_costs, start_costs, strict=True)
        )
        return math.fsum(least) - charge

    def cheapest_run(
        self, problems: Problems, task: CompiledJob, mode: JobMode, start: int
    ) -> PlacedRun:
        """Return the cheapest run of a mode and start that fits.

        `problems`: from `pricing_problems`. `mode`: one of its modes. `start`: counted from the
        window's first slot.
        """
        placed = problems[task.job].place(mode, start, task.ready - self.view.first)
        assert isinstance(placed, PricedPlacement)
        mode_start = ModeStart(task.job, mode, self.view.first + start)
        return PlacedRun(mode_start, tuple(sorted(placed.workers.items())), placed.ps)


def to_data(prices: CapacityPrices) -> dict[str, object]:
    """Return prices as plain JSON data without loss: [server, type, slot from 1, price].

    `prices`: multiples of STEP.
    """

    def cells(array: Floats) -> list[list[float]]:
        return [
            [int(s), int(k), int(t) + 1, float(array[s, k, t])] for s, k, t in np.argwhere(array)
        ]

    return {
        "slots": prices.slots,
        "worker_prices": cells(prices.workers),
        "ps_prices": cells(prices.ps),
    }


def from_data(view: CompiledInstance, data: Mapping[str, Any]) -> CapacityPrices:
    """Return the prices of a certificate.

    `data`: as `to_data` returns it.

    Raises
    ------
    ValueError
        If the prices do not fit the instance.
    """
    slots = data["slots"]
    if not isinstance(slots, int) or not 1 <= slots <= max(1, view.slots):
        raise ValueError("slots: need a number >= 1 of slots, no more than the window has")

    cells = slots * (view.workers.size + view.ps.size)
    if cells > MAX_CELLS:
        raise ValueError(f"too large: {cells} prices, at most {MAX_CELLS}")

    def array(given: Iterable[Any], key: str, shape: tuple[int, ...]) -> Floats:
        prices = np.zeros((*shape, slots))
        for s, k, t, price in given:
            if not (0 <= s < shape[0] and 0 <= k < shape[1] and 1 <= t <= slots):
                raise ValueError(f"{key}: no server {s}, type {k}, slot {t}")
            if not 0 <= price < LARGEST:
                raise ValueError(f"{key}: need numbers >= 0")
            prices[s, k, t - 1] = price
        return rounded(prices)

    workers = array(data["worker_prices"], "worker_prices", view.workers.shape)
    return CapacityPrices(workers, array(data["ps_prices"], "ps_prices", view.ps.shape))
