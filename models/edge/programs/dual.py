"""The dual (5): prices of workers and PSs by server and slot, and the bound that any prices prove.

Lagrangian relaxation of (2g) and (2h) with multipliers lambda and mu, the prices: the bound is

    sum over j of the least cost (9) of job j  -  sum over s, t of price times capacity,

where the cost of a schedule is c_j - a_j (or -1 in a batch) plus the prices of what it uses. Prices
are rounded to multiples of a power of two, so that all sums, and hence the bound, are exact.

Certificates may contain additional prices for superadditive cuts (see
`models.mechanisms.dual_feasible_functions`), also by server and slot: the cut of f says that the
numbers of workers n_1, n_2, ... of jobs on a server of capacity W in a slot satisfy
f(n_1) + f(n_2) + ... <= f(W). A job with n workers on a server pays f(n) times the price of the
cut, and the capacity in the bound is f(W). For a split job the cheapest servers are then found by a
dynamic program over the servers instead of a sort.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schedgap.models.edge.algorithms.cheapest_schedule import (
    Floats,
    Ints,
    PricedPlacement,
    PricingProblem,
    SlotWindows,
)
from schedgap.models.edge.decisions import CompiledInstance, CompiledJob, ModeStart
from schedgap.models.edge.modes import JobMode
from schedgap.models.edge.placements import PlacedRun
from schedgap.models.mechanisms.dual_feasible_functions import (
    SuperadditiveFunction,
    is_superadditive,
    value_of,
)

STEP = 2.0**-24  # prices are multiples of it
LARGEST = 2.0**27  # limit on sums of prices: below it, sums of multiples of STEP are exact
MAX_WORKERS = 64  # capacity of a server with cuts
MAX_SPLIT_WORKERS = 2_000  # of a split job that pays for cuts; with more it pays nothing for them
MAX_CELLS = 30_000_000  # entries of all arrays of prices


@dataclass(frozen=True, slots=True, eq=False)
class CapacityPrices:
    """Prices >= 0 per unit and slot; slots count from the window's first, later ones cost 0."""

    workers: Floats  # lambda [s, u, t]
    ps: Floats  # mu [s, v, t]
    cut_prices: Mapping[SuperadditiveFunction, Floats] = field(default_factory=dict)
    """[s, u, t] of the cuts of each function; 0 where the function is not defined up to W_su."""

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
    taken to cost nothing but its c_j - a_j, which is at least first + H - a_j and at least that of
    the job alone. So the bound is valid for every H.

    Attributes
    ----------
    late_costs : list of float
        Least cost of each task if it ends after slot H (or, in a batch, is left out); inf: never.
    """

    def __init__(self, view: CompiledInstance, slots: int) -> None:
        self.view, self.slots = view, slots
        self.free_workers = np.broadcast_to(view.workers[:, :, None], (*view.workers.shape, slots))
        self.free_ps = np.broadcast_to(view.ps[:, :, None], (*view.ps.shape, slots))
        self.late_costs = [self._late_cost(task) for task in view.tasks]

    def _late_cost(self, task: CompiledJob) -> float:
        """Return the cost of a schedule that ends after the last priced slot; inf if none can."""
        view, alone = self.view, self.view.minimum_flow(task)
        can_end_late = self.slots < view.slots and alone is not None
        if view.is_batch:  # 0: the job is left out
            return -1.0 if can_end_late else 0.0
        if not can_end_late or alone is None:
            return math.inf
        return max(alone, view.first + self.slots - task.arrival)

    def pricing_problems(self, prices: CapacityPrices) -> "PricingProblems":
        """Return the pricing problems of all jobs on the empty network.

        `prices`: for `slots` slots.
        """
        return PricingProblems(prices, self.free_workers, self.free_ps)

    def start_costs(self, problems: "PricingProblems", task: CompiledJob, mode: JobMode) -> Floats:
        """Return the least cost of a mode for each start, objective included.

        `problems`: from `pricing_problems`. `mode`: one of its modes.

        Returns
        -------
        array [start] of float
            Starts count from the window's first slot; inf where the mode does not fit.
        """
        cost = problems.start_costs(task, mode, task.ready - self.view.first)
        if self.view.is_batch:
            return cost - 1.0
        first_flow = self.view.first + mode.duration - 1 - task.arrival
        flow: Floats = cost + np.arange(first_flow, first_flow + len(cost))
        return flow

    def all_start_costs(self, prices: CapacityPrices) -> list[list[Floats]]:
        """Return the least costs [start] by task and mode.

        `prices`: for `slots` slots.
        """
        problems = self.pricing_problems(prices)
        return [
            [self.start_costs(problems, task, mode) for mode in task.modes]
            for task in self.view.tasks
        ]

    def least_costs(self, start_costs: list[list[Floats]]) -> Floats:
        """Return the least cost [task] of each job.

        `start_costs`: from `all_start_costs`.
        """
        return np.array(
            [
                min([late, *(cost.min() for cost in costs if cost.size)])
                for late, costs in zip(self.late_costs, start_costs, strict=True)
            ]
        )

    def capacity_charge(self, prices: CapacityPrices) -> float:
        """Return the sum over all servers, types and slots of price times capacity.

        `prices`: for `slots` slots.

        Raises
        ------
        ValueError
            If the sum is so large that it could be rounded.
        """
        charge = float((prices.workers.sum(axis=2) * self.view.workers).sum())
        charge += float((prices.ps.sum(axis=2) * self.view.ps).sum())
        for function, price in prices.cut_prices.items():
            f = np.array((0, *function))
            upper = f[np.minimum(self.view.workers, len(function))]  # f(W)
            charge += float((price.sum(axis=2) * upper).sum())
        if not charge < LARGEST:
            raise ValueError("prices are too large to be summed exactly")
        return charge

    def bound(self, prices: CapacityPrices) -> float:
        """Return the lower bound that prices prove on sum c_j - a_j, or on minus the jobs that run.

        inf if some job cannot run at all.

        `prices`: for `slots` slots.
        """
        return self.bound_from(self.least_costs(self.all_start_costs(prices)), prices)

    def bound_from(self, least_costs: Floats, prices: CapacityPrices) -> float:
        """Return the bound from known least costs.

        `least_costs` [task]: under `prices`, from `least_costs`. `prices`: for `slots` slots.
        """
        return math.fsum(least_costs.tolist()) - self.capacity_charge(prices)

    def cheapest_run(
        self, problems: "PricingProblems", task: CompiledJob, mode: JobMode, start: int
    ) -> PlacedRun:
        """Return the cheapest run of a mode and start that fits.

        `problems`: from `pricing_problems`. `mode`: one of its modes. `start`: counted from the
        window's first slot.
        """
        placed = problems.of(task, mode).place(mode, start, task.ready - self.view.first)
        assert isinstance(placed, PricedPlacement)
        mode_start = ModeStart(task.job, mode, self.view.first + start)
        return PlacedRun(mode_start, tuple(sorted(placed.workers.items())), placed.ps)


class PricingProblems:
    """The pricing problems of all jobs under given prices; tables are shared between jobs.

    `prices`: prices. `free_workers`, `free_ps` [s, u, t]: free units.
    """

    def __init__(self, prices: CapacityPrices, free_workers: Ints, free_ps: Ints) -> None:
        self._prices, self._free_workers, self._free_ps = prices, free_workers, free_ps
        self._workers: dict[int, SlotWindows] = {}
        self._ps: dict[tuple[int, int, tuple[int, ...]], SlotWindows] = {}
        self._cuts: dict[tuple[SuperadditiveFunction, int], SlotWindows] = {}

    def of(self, task: CompiledJob, mode: JobMode) -> PricingProblem:
        """Return the pricing problem of one job in one mode.

        A colocated job pays for cuts along with its PS, as it has all its workers on that server; a
        split job pays nothing for cuts here: see `start_costs`.

        `mode`: one of its modes.
        """
        u, v, prices = task.worker_type, task.ps_type, self._prices
        if u not in self._workers:
            self._workers[u] = SlotWindows(prices.workers[:, u], self._free_workers[:, u])
        weights = tuple(
            value_of(f, mode.workers) if mode.colocated else 0 for f in prices.cut_prices
        )
        key = (u if any(weights) else -1, v, weights)
        if key not in self._ps:
            price = prices.ps[:, v]
            for weight, cut_price in zip(weights, prices.cut_prices.values(), strict=True):
                if weight:
                    price = price + weight * cut_price[:, u]
            self._ps[key] = SlotWindows(price, self._free_ps[:, v])
        return PricingProblem(self._workers[u], self._ps[key])

    def start_costs(self, task: CompiledJob, mode: JobMode, ready: Ints) -> Floats:
        """Return the least cost [start] of a mode; inf where it does not fit.

        `mode`: one of its modes. `ready` [s]: first slot in which the job can use each server, from
        0.

        Notes
        -----
        Without cuts, or colocated: as in `PricingProblem.start_costs`. A split job with cuts: n
        workers on one server cost n times the price plus f(n) times the price of each cut, which is
        not linear in n. Let C_k[m] be the least cost of m workers on the first k servers; then
        C_k[m] = min over n of C_{k-1}[m - n] + cost of n workers on server k.
        """
        problem, cuts = self.of(task, mode), self._cut_windows(task.worker_type)
        pays_no_cuts = mode.colocated or not cuts or mode.workers > MAX_SPLIT_WORKERS
        if pays_no_cuts or mode.duration > problem.ps.slots:
            return problem.start_costs(mode, ready)
        servers, n = problem.workers.servers, mode.workers
        early = np.arange(problem.ps.slots - mode.duration + 1) < ready[servers, None]
        least = np.full((n + 1, early.shape[1]), np.inf)  # C_k [workers, start]
        least[0] = 0.0
        unit = problem.workers.sums(mode.duration, servers)
        cut_sums = {f: windows.sums(mode.duration, servers) for f, windows in cuts.items()}
        for k, capacity in enumerate(problem.workers.free[servers, 0].tolist()):
            before = least.copy()
            for count in range(1, min(n, capacity) + 1):
                cost = count * unit[k]
                for f, price in cut_sums.items():
                    cost = cost + value_of(f, count) * price[k]
                cost = np.where(early[k], np.inf, cost)
                np.minimum(least[count:], before[: n + 1 - count] + cost, out=least[count:])
        total: Floats = least[n] + problem.ps_start_costs(mode, ready)
        return total

    def _cut_windows(self, u: int) -> dict[SuperadditiveFunction, SlotWindows]:
        """Return the prices of the cuts that apply to one worker type."""
        windows = {}
        for function, price in self._prices.cut_prices.items():
            if (function, u) not in self._cuts:
                self._cuts[function, u] = SlotWindows(price[:, u], self._free_workers[:, u])
            if self._cuts[function, u].price.any():
                windows[function] = self._cuts[function, u]
        return windows


def to_data(prices: CapacityPrices) -> dict[str, object]:
    """Return prices as plain JSON data without loss: [server, type, slot from 1, price].

    `prices`: multiples of STEP.
    """

    def cells(array: Floats) -> list[list[float]]:
        return [
            [int(s), int(k), int(t) + 1, float(array[s, k, t])] for s, k, t in np.argwhere(array)
        ]

    cuts = [{"shape": list(f), "prices": cells(price)} for f, price in prices.cut_prices.items()]
    return {
        "slots": prices.slots,
        "worker_prices": cells(prices.workers),
        "ps_prices": cells(prices.ps),
    } | ({"shapes": cuts} if cuts else {})


def from_data(view: CompiledInstance, data: Mapping[str, Any]) -> CapacityPrices:
    """Return the prices of a certificate.

    `data`: as `to_data` returns it; the key `shapes` holds the prices of superadditive cuts.

    Raises
    ------
    ValueError
        If the prices do not fit the instance.
    """
    slots = data["slots"]
    if not isinstance(slots, int) or not 1 <= slots <= max(1, view.slots):
        raise ValueError("slots: need a number >= 1 of slots, no more than the window has")

    cells = slots * (view.workers.size * (1 + len(data.get("shapes", ()))) + view.ps.size)
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

    cuts: dict[SuperadditiveFunction, Floats] = {}
    for cut in data.get("shapes", ()):
        f = tuple(cut["shape"])
        if not all(type(n) is int for n in f) or not is_superadditive(f):
            raise ValueError("shapes: need integers with f(m) + f(n) <= f(m + n)")
        cuts[f] = array(cut["prices"], "shapes", view.workers.shape)
        if (cuts[f][view.workers > len(f)] != 0).any():
            raise ValueError("shapes: a server has more workers than a shape has numbers")
    workers = array(data["worker_prices"], "worker_prices", view.workers.shape)
    return CapacityPrices(workers, array(data["ps_prices"], "ps_prices", view.ps.shape), cuts)
