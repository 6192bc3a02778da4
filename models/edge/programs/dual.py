"""The dual (5): prices of workers and PSs by server and slot, and the bound that any of them prove.

Lagrangian relaxation of (2g) and (2h) with the prices lambda and mu: every job takes its cheapest
schedule (9) by itself, and what the capacities are worth is taken off. Prices are rounded to
multiples of a power of two: then every sum is exact, and so is the bound.

Ours: beside them there may be prices of shapes f, by server and slot as well: a job with n workers
on a server of W holds f(n) of f(W); see `superadditive_cuts`. Where to put the workers of a split
job is then no longer a matter of the cheapest servers first, but of a small dynamic program over
the servers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints, Market, Offer, Windows
from schedgap.models.edge.decisions import Group, Problem, Task
from schedgap.models.edge.modes import Mode
from schedgap.models.edge.placements import Run
from schedgap.models.edge.programs.superadditive_cuts import Shape, is_superadditive, worth

STEP = 2.0**-24  # of prices
LARGEST = 2.0**27  # of all sums of prices: below it sums of multiples of STEP are exact
MOST_SPREAD = 2_000  # workers of a split job that pays shapes; with more it pays none
MOST_CELLS = 30_000_000  # of all arrays of prices


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """Prices per unit and slot, >= 0; slots count from the window's first, later ones are free."""

    workers: Floats  # lambda [s, u, t]
    ps: Floats  # mu [s, v, t]
    shapes: Mapping[Shape, Floats] = field(default_factory=dict)
    """By shape [s, u, t]; 0 where a server has more workers than a shape has numbers."""

    @property
    def slots(self) -> int:
        """Number of slots with prices."""
        return int(self.workers.shape[2])

    def until(self, slots: int) -> "Prices":
        """Return the prices of workers and PSs for so many slots or more, the last ones 0."""
        more = [(0, 0), (0, 0), (0, slots - self.slots)]
        return Prices(np.pad(self.workers, more), np.pad(self.ps, more))


def rounded(prices: Floats) -> Floats:
    """Return prices as multiples of STEP; those below 0 count as 0."""
    steps: Floats = np.rint(np.maximum(prices, 0.0) / STEP) * STEP
    return steps + 0.0  # no -0.0


class Pricer:
    """The cheapest schedules of all jobs under given prices.

    The objective is one of minimisation: c_j - a_j, or for a batch -1 for each job that runs.

    Parameters
    ----------
    slots : int
        Number H of slots with prices, at most the window's. Schedules that end later are taken to
        be free of charge, with c_j - a_j at least first + H - a_j and never less than alone.
    """

    def __init__(self, view: Problem, slots: int) -> None:
        self.view, self.slots = view, slots
        self.free_workers = np.broadcast_to(view.workers[:, :, None], (*view.workers.shape, slots))
        self.free_ps = np.broadcast_to(view.ps[:, :, None], (*view.ps.shape, slots))
        self.late = [self._late(task) for task in view.tasks]

    def _late(self, task: Task) -> float:
        """Return what a schedule costs that ends after the last price; inf where none can."""
        view, least = self.view, self.view.least_flow(task)
        ends_late = self.slots < view.slots and least is not None
        if view.is_batch:  # 0: the job is left out
            return -1.0 if ends_late else 0.0
        if not ends_late or least is None:
            return math.inf
        return max(least, view.first + self.slots - task.arrival)

    def markets(self, prices: Prices) -> "Markets":
        """Return what jobs are offered on the empty network."""
        return Markets(prices, self.free_workers, self.free_ps)

    def costs(self, markets: "Markets", task: Task, mode: Mode) -> Floats:
        """Return the least cost [start] of a mode, starts from the window's first slot on."""
        cost = markets.costs(task, mode, task.ready - self.view.first)
        if self.view.is_batch:
            return cost - 1.0
        first_end = self.view.first + mode.duration - 1 - task.arrival
        flow: Floats = cost + np.arange(first_end, first_end + len(cost))
        return flow

    def least(self, all_costs: list[list[Floats]]) -> Floats:
        """Return the least cost [task] of each job from `costs` by task and mode."""
        return np.array(
            [
                min([late, *(cost.min() for cost in costs if cost.size)])
                for late, costs in zip(self.late, all_costs, strict=True)
            ]
        )

    def all_costs(self, prices: Prices) -> list[list[Floats]]:
        """Return the least costs [start] by task and mode."""
        markets = self.markets(prices)
        return [
            [self.costs(markets, task, mode) for mode in task.modes] for task in self.view.tasks
        ]

    def paid(self, prices: Prices) -> float:
        """Return what the capacities are worth; ValueError where sums could be rounded."""
        worth = float((prices.workers.sum(axis=2) * self.view.workers).sum())
        worth += float((prices.ps.sum(axis=2) * self.view.ps).sum())
        for shape, price in prices.shapes.items():
            f = np.array((0, *shape))
            room = f[np.minimum(self.view.workers, len(shape))]
            worth += float((price.sum(axis=2) * room).sum())
        if not worth < LARGEST:
            raise ValueError("prices are too large to be summed exactly")
        return worth

    def bound(self, prices: Prices) -> float:
        """Return the bound that prices prove: on sum c_j - a_j, or on minus the jobs that run.

        inf where some job cannot run at all.
        """
        return self.total(self.least(self.all_costs(prices)), prices)

    def total(self, least: Floats, prices: Prices) -> float:
        """Return the bound, given the least cost [task] of each job."""
        return math.fsum(least.tolist()) - self.paid(prices)

    def run(self, markets: "Markets", task: Task, mode: Mode, start: int) -> tuple[float, Run]:
        """Return the cheapest run of a group; `start` counts from the window's first slot."""
        offer = markets.of(task, mode).place(mode, start, task.ready - self.view.first)
        assert isinstance(offer, Offer)
        flow = self.view.first + start + mode.duration - 1 - task.arrival
        group = Group(task.job, mode, self.view.first + start)
        cost = offer.cost + (-1.0 if self.view.is_batch else flow)
        return cost, Run(group, tuple(sorted(offer.workers.items())), offer.ps)


class Markets:
    """What jobs are offered under prices; a job together pays its shapes along with its PS."""

    def __init__(self, prices: Prices, free_workers: Any, free_ps: Any) -> None:
        self._prices, self._free_workers, self._free_ps = prices, free_workers, free_ps
        self._workers: dict[int, Windows] = {}
        self._ps: dict[tuple[int, int, tuple[int, ...]], Windows] = {}
        self._shapes: dict[tuple[Shape, int], Windows] = {}

    def of(self, task: Task, mode: Mode) -> Market:
        """Return the market of one job in one mode; split, it pays no shapes there."""
        u, v, prices = task.worker_type, task.ps_type, self._prices
        if u not in self._workers:
            self._workers[u] = Windows(prices.workers[:, u], self._free_workers[:, u])
        counts = tuple(worth(f, mode.workers) if mode.together else 0 for f in prices.shapes)
        key = (u if any(counts) else -1, v, counts)
        if key not in self._ps:
            price = prices.ps[:, v]
            for count, each in zip(counts, prices.shapes.values(), strict=True):
                if count:
                    price = price + count * each[:, u]
            self._ps[key] = Windows(price, self._free_ps[:, v])
        return Market(self._workers[u], self._ps[key])

    def costs(self, task: Task, mode: Mode, ready: Ints) -> Floats:
        """Return the least cost [start] of a mode; inf where it fits nowhere."""
        market, shaped = self.of(task, mode), self._shaped(task.worker_type)
        free_of_shapes = mode.together or not shaped or mode.workers > MOST_SPREAD
        if free_of_shapes or mode.duration > market.ps.slots:
            return market.costs(mode, ready)
        hosts = market.workers.hosts
        n, late = mode.workers, np.arange(market.ps.slots - mode.duration + 1) < ready[hosts, None]
        least = np.full((n + 1, late.shape[1]), np.inf)  # [workers so far, start]
        least[0] = 0.0
        unit = market.workers.sums(mode.duration, hosts)
        extra = {f: windows.sums(mode.duration, hosts) for f, windows in shaped.items()}
        for k, room in enumerate(market.workers.free[hosts, 0].tolist()):
            before = least.copy()
            for count in range(1, min(n, room) + 1):
                cost = count * unit[k]
                for f, price in extra.items():
                    cost = cost + worth(f, count) * price[k]
                cost = np.where(late[k], np.inf, cost)
                np.minimum(least[count:], before[: n + 1 - count] + cost, out=least[count:])
        total: Floats = least[n] + market.host_costs(mode, ready)
        return total

    def _shaped(self, u: int) -> dict[Shape, Windows]:
        """Return prices of the shapes that one type of workers pays."""
        found = {}
        for shape, price in self._prices.shapes.items():
            if (shape, u) not in self._shapes:
                self._shapes[shape, u] = Windows(price[:, u], self._free_workers[:, u])
            if self._shapes[shape, u].price.any():
                found[shape] = self._shapes[shape, u]
        return found


def to_data(prices: Prices) -> dict[str, Any]:
    """Return prices as plain JSON data, exactly: [server, type, slot from 1, price]."""

    def cells(array: Floats) -> list[list[float]]:
        return [
            [int(s), int(k), int(t) + 1, float(array[s, k, t])] for s, k, t in np.argwhere(array)
        ]

    shapes = [{"shape": list(f), "prices": cells(each)} for f, each in prices.shapes.items()]
    return {
        "slots": prices.slots,
        "worker_prices": cells(prices.workers),
        "ps_prices": cells(prices.ps),
    } | ({"shapes": shapes} if shapes else {})


def from_data(view: Problem, data: Mapping[str, Any]) -> Prices:
    """Return the prices of a certificate; ValueError where they do not fit the instance."""
    slots = data["slots"]
    if not isinstance(slots, int) or not 1 <= slots <= max(1, view.slots):
        raise ValueError("slots: need a number >= 1 of slots, no more than the window has")

    cells = slots * (view.workers.size * (1 + len(data.get("shapes", ()))) + view.ps.size)
    if cells > MOST_CELLS:
        raise ValueError(f"too large: {cells} prices, at most {MOST_CELLS}")

    def array(given: Any, key: str, shape: tuple[int, ...]) -> Floats:
        found = np.zeros((*shape, slots))
        for s, k, t, price in given:
            if not (0 <= s < shape[0] and 0 <= k < shape[1] and 1 <= t <= slots):
                raise ValueError(f"{key}: no server {s}, type {k}, slot {t}")
            if not 0 <= price < LARGEST:
                raise ValueError(f"{key}: need numbers >= 0")
            found[s, k, t - 1] = price
        return rounded(found)

    shapes: dict[Shape, Floats] = {}
    for each in data.get("shapes", ()):
        f = tuple(each["shape"])
        if not all(type(n) is int for n in f) or not is_superadditive(f):
            raise ValueError("shapes: need whole numbers, f(m) + f(n) <= f(m + n)")
        shapes[f] = array(each["prices"], "shapes", view.workers.shape)
        if (shapes[f][view.workers > len(f)] != 0).any():
            raise ValueError("shapes: a server has more workers than a shape has numbers")
    workers = array(data["worker_prices"], "worker_prices", view.workers.shape)
    return Prices(workers, array(data["ps_prices"], "ps_prices", view.ps.shape), shapes)
