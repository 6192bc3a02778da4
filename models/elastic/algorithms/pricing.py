"""Cheapest schedule of one job under prices: Algorithms 4-7, vectorised over starts and servers.

The price of a window is a sum over its slots, and the free amount a minimum. Both are read off
tables over 1, 2, 4, ... slots. Modes are tried in the order of a lower bound on their cost
(`pricing_bounds`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, Placement
from schedgap.models.elastic.algorithms.pricing_bounds import CostLowerBounds, WindowTable
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster, modes
from schedgap.models.elastic.placement import (
    Floats,
    Ints,
    Placed,
    Rule,
    cheapest_in_windows,
    tie_margin,
)

MAX_CELLS = 10**8  # largest size of each of two tables: 0.8 GB


class PricedRun(NamedTuple):
    """A mode, start and placement of a job, with its cost; counts by index of server."""

    cost: float
    mode: Mode
    start: int  # slot, from 1
    workers: Mapping[int, int]
    ps: Mapping[int, int]

    @property
    def end(self) -> int:
        """start + duration."""
        return self.start + self.mode.duration

    def amounts(self, view: ElasticCluster) -> Floats:
        """Return [h, r] the usage, in units."""
        used = np.zeros_like(view.capacity)
        for h, amounts in view.usage(self.mode, self.workers, self.ps).items():
            used[h] = amounts
        return used


class PricedServers:
    """Prices and free amounts on every server in slots 1..T; later everything is free, at price 0.

    `price` [t, h, r]: price >= 0 of one unit of demand as given in the file, for one slot. `free`
    [t, h, r]: free amounts, in units of the cluster. `longest`: length in slots of the longest
    window that will be priced.

    Raises
    ------
    ScaleError
        When the tables would be too large.
    """

    def __init__(self, view: ElasticCluster, price: Floats, free: Floats, *, longest: int) -> None:
        self.view = view
        slots, servers, resources = price.shape
        self.slots = slots
        levels = max(1, min(longest, slots).bit_length())
        shape = (levels, slots + 1, servers, resources)
        if math.prod(shape) > MAX_CELLS:
            raise ScaleError(
                f"{slots} slots on {servers} servers are too many to price: the tables would have "
                f"{math.prod(shape):.2g} entries, at most {MAX_CELLS:.2g} are kept"
            )
        price = np.concatenate([price, np.zeros((1, servers, resources))])
        free = np.concatenate([free, view.capacity[None]])
        self._price = WindowTable(np.add, price, longest)
        self._free = WindowTable(np.minimum, free, longest)
        self._lower_bounds = CostLowerBounds(view, self.price, self.free)

    @classmethod
    def empty(cls, view: ElasticCluster, slots: int) -> "PricedServers":
        """Return the empty cluster with zero prices.

        `slots`: number of slots that may get a price later.
        """
        shape = (slots, *view.capacity.shape)
        zeros = np.broadcast_to(0.0, shape)
        return cls(view, zeros, np.broadcast_to(view.capacity, shape), longest=slots)

    @property
    def price(self) -> Floats:
        """[t, h, r] prices by slot; the last row stands for all later slots."""
        first: Floats = self._price.levels[0]
        return first

    @property
    def free(self) -> Floats:
        """[t, h, r] free amounts by slot; the last row stands for all later slots."""
        first: Floats = self._free.levels[0]
        return first

    def change(self, first: int, last: int, servers: Ints, price: Floats, free: Floats) -> None:
        """Set prices and free amounts of some servers in slots first..last.

        `first`, `last`: slots, from 1. `servers` [k]: indices of the servers. `price`, `free` [t,
        k, r]: new values.
        """
        self.price[first - 1 : last, servers] = price
        self.free[first - 1 : last, servers] = free
        self._price.update(first - 1, last, servers)
        self._free.update(first - 1, last, servers)
        self._lower_bounds.invalidate(first - 1, last)

    def free_beside(self, run: PricedRun) -> tuple[Ints, Floats]:
        """Return the servers of a run, and what it leaves free of them in its slots [t, k, r]."""
        usage = self.view.usage(run.mode, run.workers, run.ps)
        servers = np.array(sorted(usage))
        used = np.array([usage[h] for h in servers.tolist()])
        return servers, self.free[run.start - 1 : run.end - 1, servers] - used

    def occupy(self, run: PricedRun) -> None:
        """Subtract the usage of a run, which must fit, from the free amounts; prices stay."""
        servers, free = self.free_beside(run)
        price = self.price[run.start - 1 : run.end - 1, servers]
        self.change(run.start, run.end - 1, servers, price, free)

    def _price_starts(
        self, mode: Mode, rows: Ints, rule: Rule, below: float
    ) -> tuple[Floats, Callable[[int], Placed]]:
        """Return the costs of a mode at starts given as rows, and the placement at the t-th.

        Costs of `below` or more may be left out.
        """
        view = self.view
        price, free = (table.over(rows, mode.duration) for table in (self._price, self._free))
        omega = _weigh(price, view.worker_demand[mode.worker_type])
        zeta = np.zeros_like(omega)
        if mode.ps_type is not None:
            zeta = _weigh(price, view.ps_demand[mode.ps_type])
        return cheapest_in_windows(
            view.demand(mode), omega, zeta, free, central=mode.central, rule=rule, below=below
        )

    def costs(self, mode: Mode, starts: Ints, *, rule: Rule = "exact") -> Floats:
        """Return the least cost of a mode at each start slot; infinite where it does not fit.

        `starts` [t]: start slots, from 1. `rule`: how split placements are found.
        """
        return self._price_starts(mode, np.asarray(starts) - 1, rule, np.inf)[0]

    def cheapest_at(self, mode: Mode, start: int, *, rule: Rule = "exact") -> PricedRun | None:
        """Return the cheapest placement of a mode at a start slot; None where it does not fit.

        `start`: slot, from 1. `rule`: how split placements are found.
        """
        cost, place = self._price_starts(mode, np.array([start - 1]), rule, np.inf)
        return (
            PricedRun(float(cost[0]), mode, start, *place(0)[1:]) if np.isfinite(cost[0]) else None
        )

    def cheapest(
        self,
        candidates: Sequence[Mode],
        first: int,
        end: int,
        *,
        weight: float = 0.0,
        rule: Rule = "exact",
        volumes: Sequence[float] | None = None,
    ) -> PricedRun | None:
        """Return the schedule of least cost over modes, starts and placements.

        `candidates`: in the order that breaks ties. `first`, `end`: earliest start slot; largest
        start + duration. `weight`: added to the cost for each slot of start + duration. `rule`: how
        split placements are found. `volumes`: of each mode: ties then go to the least volume, and
        among these to the earliest end (E21).

        Notes
        -----
        Source: Algorithms 4-7, which enumerate all this. Ties: the first mode, the earliest start,
        then as in `placement`. Costs that differ by less than 1e-9, relative to costs above 1,
        count as equal.
        """
        best: PricedRun | None = None
        key: tuple[float, float] = (-1, -1)  # the run with the least key wins a tie
        ceiling = floor = np.inf  # costs above the first never win, those below the second always
        bounds, lowest = self._lower_bounds.bounds(candidates, first - 1, end - 1, weight)
        # In ascending order of bounds: once a bound exceeds the ceiling, no later mode is better.
        for k in np.argsort(lowest, kind="stable").tolist():
            mode, bound = candidates[k], float(lowest[k])
            if bound > ceiling or bound == np.inf:
                break
            least_key = (k, 0) if volumes is None else (volumes[k], first + mode.duration)
            if bound >= floor and least_key >= key:
                continue
            run = self._cheapest_start(mode, first - 1, bounds[k], ceiling, weight, rule)
            if run is None:
                continue
            own_key = (k, 0) if volumes is None else (volumes[k], run.end)
            if run.cost < floor or (run.cost <= ceiling and own_key < key):
                best, key, margin = run, own_key, tie_margin(run.cost)
                # Ties do not add up: the run never costs more than the least cost and its margin.
                ceiling, floor = min(ceiling, run.cost + margin), min(floor, run.cost - margin)
        return best

    def _cheapest_start(
        self, mode: Mode, first: int, bounds: Floats, ceiling: float, weight: float, rule: Rule
    ) -> PricedRun | None:
        """Return the cheapest run of a mode, priced block by block; None if all cost too much.

        `first`: row of the first start. `bounds` [t]: on the cost of each start; of the starts
        after slot T only the first has one. `ceiling`: starts that cost more may be left out.
        """
        rows = first + np.flatnonzero(bounds <= ceiling)
        if not len(rows):
            return None
        ends = rows + 1 + mode.duration
        below = ceiling + 2 * tie_margin(ceiling) - weight * ends[0]
        costs, place = self._price_starts(mode, rows, rule, below)
        costs = costs + weight * ends
        least = float(costs.min())
        if least == np.inf:
            return None
        i = int(np.argmax(costs <= least + tie_margin(least)))
        return PricedRun(float(costs[i]), mode, int(rows[i]) + 1, *place(i)[1:])


def _weigh(price: Floats, demand: Floats) -> Floats:
    """Return [t, h] the sum over resources of price [t, h, r] times demand [r].

    Term by term: equal servers must get equal sums, to the last bit; otherwise ties would depend on
    the order in which a library adds.
    """
    total: Floats = price[..., 0] * demand[0]
    for r in range(1, len(demand)):
        if demand[r]:
            total += price[..., r] * demand[r]
    return total


def cheapest_schedule(
    instance: ElasticInstance,
    job: int,
    prices: Floats,
    free: Floats,
    window: tuple[int, int],
    *,
    rule: Rule = "exact",
) -> tuple[float, Placement] | None:
    """Return the cheapest schedule of one job under prices, problem (12)/(20), with its cost.

    Parameters
    ----------
    job : int
        Index into the instance's jobs.
    prices : array [h, r, t]
        Price >= 0 of one unit of each resource for one slot; 0 after the last slot.
    free : array [h, r, t]
        Free amounts in the resources' own units, within the effective capacity; after the last slot
        the cluster is empty.
    window : (int, int)
        Earliest start slot, and largest start + duration.
    rule : "exact" or "repaired"
        How split placements are found.

    Returns
    -------
    (float, Placement) or None
        None when no schedule fits.

    Notes
    -----
    Source: (12), (20); Algorithms 4-7. Ties: central first, then types in list order, then as in
    `modes.job_modes`, then the earliest start. For many jobs under the same prices use one
    `PricedServers`.
    """
    view = cluster(instance)
    longest = max(1, window[1] - window[0])
    priced = PricedServers(
        view, np.moveaxis(prices, 2, 0), view.units(np.moveaxis(free, 2, 0)), longest=longest
    )
    run = priced.cheapest(modes(instance, job), *window, rule=rule)
    if run is None:
        return None
    return run.cost, view.place(run.mode, run.start, run.workers, run.ps)
