"""Cheapest schedule of one job under prices: Algorithms 4-7, vectorised over starts and servers.

The price of a window is a sum over its slots, and the free amount a minimum; both are read off
tables over 1, 2, 4, ... slots. Differences of prefix sums would lose small prices next to large
ones. Modes are tried in the order of a lower bound on their cost (`pricing_bounds`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, Placement
from schedgap.models.elastic.algorithms.pricing_bounds import CostLowerBounds
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster, modes
from schedgap.models.elastic.placement import (
    Floats,
    GreedyFill,
    Ints,
    Rule,
    SplitPlacements,
    central_costs,
    counts,
    fits,
    ps_split,
    ring_split,
    tie_margin,
)

MAX_CELLS = 10**8  # largest size of each of two tables: 0.8 GB
_BLOCK = 16, 64, 256, 1024  # starts priced at once: often the first few suffice


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
        self._price, self._free = np.zeros(shape), np.empty(shape)
        self._free[:] = view.capacity
        self._price[0, :-1], self._free[0, :-1] = price, free
        self._raise_levels(0, slots, np.arange(servers))
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
        first: Floats = self._price[0]
        return first

    @property
    def free(self) -> Floats:
        """[t, h, r] free amounts by slot; the last row stands for all later slots."""
        first: Floats = self._free[0]
        return first

    def change(self, first: int, last: int, servers: Ints, price: Floats, free: Floats) -> None:
        """Set prices and free amounts of some servers in slots first..last.

        `first`, `last`: slots, from 1. `servers` [k]: indices of the servers. `price`, `free` [t,
        k, r]: new values.
        """
        self._price[0, first - 1 : last, servers] = price.swapaxes(0, 1)
        self._free[0, first - 1 : last, servers] = free.swapaxes(0, 1)
        self._raise_levels(first - 1, last, servers)
        self._lower_bounds.invalidate(first - 1, last)

    def occupy(self, run: PricedRun) -> None:
        """Subtract the usage of a run from the free amounts; prices stay.

        `run`: it must fit.
        """
        usage = self.view.usage(run.mode, run.workers, run.ps)
        span, servers = slice(run.start - 1, run.end - 1), np.array(list(usage))
        free = self.free[span, servers] - np.array(list(usage.values()))
        self.change(run.start, run.end - 1, servers, self.price[span, servers], free)

    def _raise_levels(self, a: int, b: int, servers: Ints) -> None:
        """Update the tables of windows of 2, 4, ... slots after a change of rows a..b-1."""
        for level in range(1, len(self._price)):
            half = 1 << (level - 1)
            rows = np.arange(max(0, a - 2 * half + 1), b)
            later = np.minimum(rows + half, self.slots)
            at, then = np.ix_(rows, servers), np.ix_(later, servers)
            self._price[level][at] = self._price[level - 1][at] + self._price[level - 1][then]
            self._free[level][at] = np.minimum(
                self._free[level - 1][at], self._free[level - 1][then]
            )

    def _window(self, rows: Ints, length: int) -> tuple[Floats, Floats]:
        """Return price sums and minimal free amounts [t, h, r] of windows from given rows."""
        # A sum over `length` slots joins windows of the powers of 2 in `length`; for a minimum, two
        # overlapping windows of the largest power are enough.
        length, total, offset = min(length, self.slots), None, 0
        for level in range(length.bit_length()):
            if length >> level & 1:
                at = np.minimum(rows + offset, self.slots)
                part = self._price[level][at]
                total = part if total is None else total + part
                offset += 1 << level
        level = length.bit_length() - 1
        last = np.minimum(rows + length - (1 << level), self.slots)
        free = np.minimum(self._free[level][rows], self._free[level][last])
        assert total is not None
        return total, free

    def _price_starts(self, mode: Mode, rows: Ints, rule: Rule, below: float) -> "_StartCosts":
        """Price a mode at starts given as rows; costs of `below` or more may be left out."""
        view = self.view
        price, free = self._window(np.minimum(rows, self.slots), mode.duration)
        omega = _weigh(price, view.worker_demand[mode.worker_type])
        if mode.ps_type is None:
            zeta = np.zeros_like(omega)
        else:
            zeta = _weigh(price, view.ps_demand[mode.ps_type])
        demand = view.demand(mode)
        if mode.central:
            costs = central_costs(demand, omega, zeta, free)
            return _StartCosts(costs.min(axis=1), costs, None, None)
        fill = GreedyFill(omega, fits(free, demand.worker), demand.workers)
        if demand.ps is None:
            found = ring_split(fill, demand.workers)
        else:
            found = ps_split(fill, demand, zeta, free, rule=rule, below=below)
        return _StartCosts(found.cost, None, fill, found)

    def costs(self, mode: Mode, starts: Ints, *, rule: Rule = "exact") -> Floats:
        """Return the least cost of a mode at each start slot; infinite where it does not fit.

        `starts` [t]: start slots, from 1. `rule`: how split placements are found.
        """
        return self._price_starts(mode, np.asarray(starts) - 1, rule, np.inf).cost

    def cheapest_at(self, mode: Mode, start: int, *, rule: Rule = "exact") -> PricedRun | None:
        """Return the cheapest placement of a mode at a start slot; None where it does not fit.

        `start`: slot, from 1. `rule`: how split placements are found.
        """
        start_costs = self._price_starts(mode, np.array([start - 1]), rule, np.inf)
        return start_costs.run(self.view, mode, start, 0)

    def cheapest(
        self,
        candidates: Sequence[Mode],
        first: int,
        end: int,
        *,
        weight: float = 0.0,
        rule: Rule = "exact",
        volumes: Sequence[float] | None = None,
        below: float = np.inf,
    ) -> PricedRun | None:
        """Return the schedule of least cost over modes, starts and placements.

        `candidates`: in the order that breaks ties. `first`, `end`: earliest start slot; largest
        start + duration. `weight`: added to the cost for each slot of start + duration. `rule`: how
        split placements are found. `volumes`: of each mode: ties then go to the least volume, and
        among these to the earliest end (E21). `below`: schedules that do not cost less are left
        out.

        Notes
        -----
        Source: Algorithms 4-7, which enumerate all this. Ties: the first mode, the earliest start,
        then as in `placement`. Costs that differ by less than 1e-9, relative to costs above 1,
        count as equal.
        """
        best = _CheapestRun(volumes, below)
        # In ascending order of bounds: once a bound exceeds the incumbent, no later mode is better.
        for k, bound, rows, bounds in self.by_lower_bound(candidates, first, end, weight):
            if bound > best.ceiling:
                break
            mode = candidates[k]
            if best.cannot_win(k, bound, first + mode.duration):
                continue
            self._try_starts(best, k, mode, bound, rows, bounds, weight, rule)
        return best.run

    def by_lower_bound(
        self, candidates: Sequence[Mode], first: int, end: int, weight: float
    ) -> Iterator[tuple[int, float, Ints, Floats]]:
        """Yield modes in ascending order of a lower bound on their cost.

        `first`, `end`: earliest start slot; largest start + duration. `weight`: added to the cost
        for each slot of start + duration.

        Yields
        ------
        (k, bound, rows, bounds)
            Index of the mode, its lower bound, its starts as rows (start slot - 1), and a bound for
            each of them. Of the starts after slot T only the first is yielded. Modes that cannot
            start in time, or fit in no slot, are left out.
        """
        bounds, lowest = self._lower_bounds.bounds(candidates, first - 1, end - 1, weight)
        for k in np.argsort(lowest, kind="stable").tolist():
            if lowest[k] == np.inf:
                return
            yield k, float(lowest[k]), first - 1 + np.arange(len(bounds[k])), bounds[k]

    def _try_starts(
        self,
        incumbent: "_CheapestRun",
        k: int,
        mode: Mode,
        bound: float,
        rows: Ints,
        bounds: Floats,
        weight: float,
        rule: Rule,
    ) -> None:
        """Price a mode at its starts, block by block, and update the incumbent."""
        best: tuple[float, int, _StartCosts, int] | None = None  # cost, row, costs, index
        sizes = iter(_BLOCK)
        size = next(sizes)
        while len(rows):
            cutoff = incumbent.ceiling if best is None else best[0] - tie_margin(best[0])
            promising = bounds <= cutoff
            rows, bounds = rows[promising], bounds[promising]
            block, rows, bounds = rows[:size], rows[size:], bounds[size:]
            size = next(sizes, size)
            if not len(block):
                break
            ends = block + 1 + mode.duration
            below = cutoff + 2 * tie_margin(cutoff) - weight * ends[0]
            start_costs = self._price_starts(mode, block, rule, below)
            cost = start_costs.cost + weight * ends
            cheapest = float(cost.min())
            if cheapest < (np.inf if best is None else best[0] - tie_margin(best[0])):
                i = int(np.argmax(cost <= cheapest + tie_margin(cheapest)))
                best = float(cost[i]), int(block[i]), start_costs, i
                if best[0] <= bound + tie_margin(bound):
                    break
        if best is not None:
            best_cost, row, start_costs, i = best
            if incumbent.wins(k, best_cost, row + 1 + mode.duration):
                run = start_costs.run(self.view, mode, row + 1, i)
                assert run is not None
                incumbent.take(k, run._replace(cost=best_cost))


@dataclass(frozen=True, slots=True)
class _StartCosts:
    """Costs of a mode at some starts [t], with what is needed to construct the placements."""

    cost: Floats
    central: Floats | None  # [t, h]
    fill: GreedyFill | None
    found: SplitPlacements | None

    def run(self, view: ElasticCluster, mode: Mode, start: int, t: int) -> PricedRun | None:
        """Return the run at the t-th start; None where the mode does not fit."""
        cost = float(self.cost[t])
        if not np.isfinite(cost):
            return None
        if self.central is not None:
            h = int(np.argmax(self.central[t] <= cost + tie_margin(cost)))
            return PricedRun(cost, mode, start, {h: mode.workers}, _one_ps(mode, h))
        assert self.fill is not None and self.found is not None
        return PricedRun(cost, mode, start, *counts(self.fill, view.demand(mode), self.found, t))


class _CheapestRun:
    """The cheapest run so far; ties are broken by the order of modes, or by volume and end."""

    def __init__(self, volumes: Sequence[float] | None, below: float) -> None:
        self.run: PricedRun | None = None
        self.ceiling = below  # a run that costs more cannot be chosen
        self._floor = below  # a run that costs less is chosen whatever its key
        self._key: tuple[float, float] = (-1, -1)
        self._volumes = volumes

    def _key_of(self, k: int, end: int) -> tuple[float, float]:
        return (k, 0) if self._volumes is None else (self._volumes[k], end)

    def wins(self, k: int, cost: float, end: int) -> bool:
        """Return whether a run of mode k replaces the incumbent."""
        if not cost < np.inf:
            return False
        return cost < self._floor or (cost <= self.ceiling and self._key_of(k, end) < self._key)

    def cannot_win(self, k: int, bound: float, earliest_end: int) -> bool:
        """Return whether no run of mode k with costs from `bound` on replaces the incumbent."""
        return bound >= self._floor and self._key_of(k, earliest_end) >= self._key

    def take(self, k: int, run: PricedRun) -> None:
        """Make a run of mode k the incumbent."""
        self.run, self._key = run, self._key_of(k, run.end)
        margin = tie_margin(run.cost)
        # Ties do not add up: the chosen run never costs more than the least cost and its margin.
        self.ceiling = min(self.ceiling, run.cost + margin)
        self._floor = min(self._floor, run.cost - margin)


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


def _one_ps(mode: Mode, h: int) -> dict[int, int]:
    return {} if mode.ps_type is None else {h: 1}


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
