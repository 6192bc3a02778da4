"""The cheapest schedule of one job under prices: Algorithms 4-7 on a market of free amounts.

A window's price is a sum over its slots and what is free throughout it a minimum; both are read off
tables over 1, 2, 4, ... slots, without differences of prefix sums: those would lose small prices
beside large ones. Modes are taken up in the order of a lower bound (`pricing_bounds`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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

MAX_CELLS = 10**8  # of each of two tables: 0.8 GB
_BLOCK = 16, 64, 256, 1024  # starts that are priced at once: the first few often decide


class PricedRun(NamedTuple):
    """A way to run a job, and what it costs; counts by index of server."""

    cost: float
    mode: Mode
    start: int  # slot, from 1
    workers: Mapping[int, int]
    ps: Mapping[int, int]

    @property
    def end(self) -> int:
        """start + duration."""
        return self.start + self.mode.duration


class PricedCluster:
    """Prices and free amounts on every server in slots 1..T; after them all is free and unpriced.

    Attributes
    ----------
    price : array [t, h, r]
        Price of one unit of demand as given in the file, for one slot; >= 0.
    free : array [t, h, r]
        What is free, in the units of the cluster.
    """

    def __init__(self, view: ElasticCluster, price: Floats, free: Floats, *, longest: int) -> None:
        """Set the tables up; `longest` is the longest window, in slots, that will be asked for."""
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
        known = price.strides[0] == free.strides[0] == 0  # each a single row, repeated
        rows = slice(1) if known else slice(None)
        self.blank = not price[rows].any() and bool((free[rows] == view.capacity).all())
        if not self.blank:
            self._price[0, :-1], self._free[0, :-1] = price, free
            self._raise_levels(0, slots, np.arange(servers))
        self._floors = CostLowerBounds(view, self.price, self.free, blank=self.blank)

    @classmethod
    def empty(cls, view: ElasticCluster, slots: int) -> "PricedCluster":
        """Return the market of an empty cluster with zero prices."""
        shape = (slots, *view.capacity.shape)
        nothing = np.broadcast_to(0.0, shape)
        return cls(view, nothing, np.broadcast_to(view.capacity, shape), longest=slots)

    @property
    def price(self) -> Floats:
        """[t, h, r], one row more than there are slots: the last stands for all after them."""
        first: Floats = self._price[0]
        return first

    @property
    def free(self) -> Floats:
        """[t, h, r], one row more than there are slots: the last stands for all after them."""
        first: Floats = self._free[0]
        return first

    def change(self, first: int, last: int, servers: Ints, price: Floats, free: Floats) -> None:
        """Set prices and free amounts [t, h, r] of some servers in slots first..last."""
        self.blank = False
        self._price[0, first - 1 : last, servers] = price.swapaxes(0, 1)
        self._free[0, first - 1 : last, servers] = free.swapaxes(0, 1)
        self._raise_levels(first - 1, last, servers)
        self._floors.renew(first - 1, last)

    def _raise_levels(self, a: int, b: int, servers: Ints) -> None:
        """Bring the tables of longer windows up to date with rows a..b-1 of the slots."""
        for level in range(1, len(self._price)):
            half = 1 << (level - 1)
            rows = np.arange(max(0, a - 2 * half + 1), b)
            later = np.minimum(rows + half, self.slots)
            at, then = np.ix_(rows, servers), np.ix_(later, servers)
            self._price[level][at] = self._price[level - 1][at] + self._price[level - 1][then]
            self._free[level][at] = np.minimum(
                self._free[level - 1][at], self._free[level - 1][then]
            )

    def _window(self, rows: Ints, length: int, servers: Ints) -> tuple[Floats, Floats]:
        """Return price sums and least free amounts [t, h, r] of windows from given rows on."""
        length, total, offset = min(length, self.slots), None, 0
        for level in range(length.bit_length()):
            if length >> level & 1:
                at = np.minimum(rows + offset, self.slots)
                part = self._price[level][at[:, None], servers]
                total = part if total is None else total + part
                offset += 1 << level
        level = length.bit_length() - 1
        last = np.minimum(rows + length - (1 << level), self.slots)
        free = np.minimum(
            self._free[level][rows[:, None], servers], self._free[level][last[:, None], servers]
        )
        assert total is not None
        return total, free

    def _quote(self, mode: Mode, rows: Ints, rule: Rule, below: float) -> "_StartCosts":
        """Price a mode at starts given as rows of slots."""
        view = self.view
        servers = _hosts(view, mode)
        price, free = self._window(np.minimum(rows, self.slots), mode.duration, servers)
        omega = _weigh(price, view.worker_demand[mode.worker_type])
        if mode.ps_type is None:
            zeta = np.zeros_like(omega)
        else:
            zeta = _weigh(price, view.ps_demand[mode.ps_type])
        demand = view.demand(mode)
        if mode.central:
            costs = central_costs(demand, omega, zeta, free)
            return _StartCosts(costs.min(axis=1, initial=np.inf), servers, costs, None, None)
        fill = GreedyFill(omega, fits(free, demand.worker), demand.workers)
        if demand.ps is None:
            found = ring_split(fill, demand.workers)
        else:
            found = ps_split(fill, demand, zeta, free, rule=rule, below=below)
        return _StartCosts(found.cost, servers, None, fill, found)

    def costs(self, mode: Mode, starts: Ints, *, rule: Rule = "exact") -> Floats:
        """Return the least cost of a mode at each start slot; infinite where it does not fit."""
        return self._quote(mode, np.asarray(starts) - 1, rule, np.inf).cost

    def offer(self, mode: Mode, start: int, *, rule: Rule = "exact") -> PricedRun | None:
        """Return the cheapest placement of a mode at a start slot."""
        quote = self._quote(mode, np.array([start - 1]), rule, np.inf)
        return quote.offer(self.view, mode, start, 0)

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

        Parameters
        ----------
        candidates : sequence of Mode
            In the order that breaks ties.
        first, end : int
            Earliest start slot; largest start + duration.
        weight : float
            Added to the cost for each slot of start + duration.
        rule : "exact" or "repaired"
            How split placements are found.
        volumes : sequence of float, optional
            Of each mode: ties then go to the least volume, and of those to the earliest end (E21).
        below : float
            Schedules that do not cost less are left out.

        Notes
        -----
        Source: Algorithms 4-7, which enumerate all this. Ties: the first mode, the earliest start,
        then as the placement says. A cost counts as less when it is less by 1e-9, relative to
        values over 1.
        """
        choice = _CheapestRun(volumes, below)
        for k, floor, rows, floors in self.by_lower_bound(candidates, first, end, weight):
            if floor > choice.ceiling:
                break
            mode = candidates[k]
            if choice.cannot_win(k, floor, first + mode.duration):
                continue
            self._try_starts(choice, k, mode, floor, rows, floors, weight, rule)
        return choice.best

    def by_lower_bound(
        self, candidates: Sequence[Mode], first: int, end: int, weight: float
    ) -> Iterator[tuple[int, float, Ints, Floats]]:
        """Yield modes by their lower bound: index, bound, rows of starts, bound at each of them.

        A row is a start slot less 1. Starts after all slots are left out, but for the first. A mode
        without a start in time, or a place in any slot, is left out.
        """
        if self.blank and not weight:
            for k, mode in enumerate(candidates):
                rows = np.arange(first - 1, min(end - mode.duration, max(first, self.slots + 1)))
                if len(rows):
                    yield k, 0.0, rows, np.zeros(len(rows))
            return
        bounds, least = self._floors.bounds(candidates, first - 1, end - 1, weight)
        for k in np.argsort(least, kind="stable").tolist():
            if least[k] == np.inf:
                return
            yield k, float(least[k]), first - 1 + np.arange(len(bounds[k])), bounds[k]

    def _try_starts(
        self,
        choice: "_CheapestRun",
        k: int,
        mode: Mode,
        floor: float,
        rows: Ints,
        floors: Floats,
        weight: float,
        rule: Rule,
    ) -> None:
        """Price a mode at its starts, a block at a time, and put its best one to the choice."""
        best: tuple[float, int, _StartCosts, int] | None = None  # cost, row, quote, place in it
        sizes = iter(_BLOCK)
        size = next(sizes)
        while len(rows):
            bar = choice.ceiling if best is None else best[0] - tie_margin(best[0])
            kept = floors <= bar
            rows, floors = rows[kept], floors[kept]
            block, rows, floors = rows[:size], rows[size:], floors[size:]
            size = next(sizes, size)
            if not len(block):
                break
            ends = block + 1 + mode.duration
            below = bar + 2 * tie_margin(bar) - weight * ends[0]
            quote = self._quote(mode, block, rule, below)
            cost = quote.cost + weight * ends
            least = float(cost.min())
            if least < (np.inf if best is None else best[0] - tie_margin(best[0])):
                i = int(np.argmax(cost <= least + tie_margin(least)))
                best = float(cost[i]), int(block[i]), quote, i
                if best[0] <= floor + tie_margin(floor):
                    break
        if best is not None:
            cost_of, row, quote, i = best
            if choice.wins(k, cost_of, row + 1 + mode.duration):
                offer = quote.offer(self.view, mode, row + 1, i)
                assert offer is not None
                choice.take(k, offer._replace(cost=cost_of))


@dataclass(frozen=True, slots=True)
class _StartCosts:
    """Costs of a mode at some starts [t], and what it takes to name the placement."""

    cost: Floats
    servers: Ints  # indices of the servers that were looked at
    central: Floats | None  # [t, h]
    fill: GreedyFill | None
    found: SplitPlacements | None

    def offer(self, view: ElasticCluster, mode: Mode, start: int, t: int) -> PricedRun | None:
        cost = float(self.cost[t])
        if not np.isfinite(cost):
            return None
        if self.central is not None:
            h = int(self.servers[np.argmax(self.central[t] <= cost + tie_margin(cost))])
            return PricedRun(cost, mode, start, {h: mode.workers}, _one_ps(mode, h))
        assert self.fill is not None and self.found is not None
        workers, ps = counts(self.fill, view.demand(mode), self.found, t)
        names = self.servers.tolist()
        return PricedRun(
            cost,
            mode,
            start,
            {names[h]: count for h, count in workers.items()},
            {names[h]: count for h, count in ps.items()},
        )


class _CheapestRun:
    """The best offer so far; ties by place in the list of modes, or by volume and end."""

    def __init__(self, volumes: Sequence[float] | None, below: float) -> None:
        self.best: PricedRun | None = None
        self.ceiling = below  # what costs more cannot be chosen
        self._bar = below  # what costs less is chosen whatever its key
        self._key: tuple[float, float] = (-1, -1)
        self._volumes = volumes

    def _key_of(self, k: int, end: int) -> tuple[float, float]:
        return (k, 0) if self._volumes is None else (self._volumes[k], end)

    def wins(self, k: int, cost: float, end: int) -> bool:
        if not cost < np.inf:
            return False
        return cost < self._bar or (cost <= self.ceiling and self._key_of(k, end) < self._key)

    def cannot_win(self, k: int, floor: float, earliest_end: int) -> bool:
        return floor >= self._bar and self._key_of(k, earliest_end) >= self._key

    def take(self, k: int, offer: PricedRun) -> None:
        self.best, self._key = offer, self._key_of(k, offer.end)
        margin = tie_margin(offer.cost)
        # Ties do not add up: what is chosen never costs more than the least cost and its margin.
        self.ceiling = min(self.ceiling, offer.cost + margin)
        self._bar = min(self._bar, offer.cost - margin)


def _weigh(price: Floats, demand: Floats) -> Floats:
    """Return [t, h] the sum over resources of price [t, h, r] times demand [r].

    Term by term: equal servers must get equal sums, to the last bit, or ties would be decided by
    the order in which a library adds.
    """
    total: Floats = price[..., 0] * demand[0]
    for r in range(1, len(demand)):
        if demand[r]:
            total += price[..., r] * demand[r]
    return total


def _one_ps(mode: Mode, h: int) -> dict[int, int]:
    return {} if mode.ps_type is None else {h: 1}


def _hosts(view: ElasticCluster, mode: Mode) -> Ints:
    """Servers that can hold a part of the mode, when empty; all of it, if it is central."""
    return _able(view, mode.worker_type, mode.ps_type, mode.workers if mode.central else 0)


@lru_cache(maxsize=1 << 12)
def _able(view: ElasticCluster, m: int, p: int | None, central: int) -> Ints:
    worker = view.worker_units[m]
    if central:
        needed = central * worker + (0.0 if p is None else view.ps_units[p])
        return np.flatnonzero((view.capacity >= needed).all(axis=1))
    able = fits(view.capacity, worker) >= 1
    if p is not None:
        able |= fits(view.capacity, view.ps_units[p]) >= 1
    return np.flatnonzero(able)


def cheapest_schedule(
    instance: ElasticInstance,
    job: int,
    prices: Floats,
    free: Floats,
    window: tuple[int, int],
    *,
    rule: Rule = "exact",
) -> tuple[float, Placement] | None:
    """Return the cheapest schedule of one job under prices, problem (12)/(20); None: none fits.

    Parameters
    ----------
    job : int
        Index into the instance's jobs.
    prices : array [h, r, t]
        Price of one unit of each resource for one slot, >= 0; after the last slot 0.
    free : array [h, r, t]
        What is free, in the resources' own units, within the effective capacity; after the last
        slot everything is.
    window : (int, int)
        Earliest start slot, and largest start + duration.
    rule : "exact" or "repaired"
        How split placements are found.

    Notes
    -----
    Source: (12), (20); Algorithms 4-7. Ties: central first, then types in list order, then as in
    `modes.job_modes`, then the earliest start. For many jobs under the same prices make one
    `Market`.
    """
    view = cluster(instance)
    longest = max(1, window[1] - window[0])
    market = PricedCluster(
        view, np.moveaxis(prices, 2, 0), np.moveaxis(view.units(free), 2, 0), longest=longest
    )
    found = market.cheapest(modes(instance, job), *window, rule=rule)
    if found is None:
        return None
    return found.cost, view.place(found.mode, found.start, found.workers, found.ps)
