"""The pricing problem (9) of one job: its cheapest schedule under prices, exact, for every start.

Let start, duration and number of workers be fixed. Then no constraint joins the workers and the PS
of a split job. The workers fill the cheapest servers, and the PS takes the cheapest server for PSs.
A colocated job takes the server that is cheapest for both. So a sort for each window suffices.

Slots are counted from 0, within the slots that the arrays cover.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.models.edge.modes import JobMode

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DECIMALS = 9  # costs are rounded before they are compared, so rounding errors break no ties


class PricedPlacement(NamedTuple):
    """A schedule of one job with its cost; servers by index."""

    cost: float
    start: int  # slot, from 0
    duration: int
    colocated: bool  # says the mode; a split mode may still have all workers on the PS's server
    workers: Mapping[int, int]
    ps: int


TieBreak = Callable[[float, JobMode, int], tuple[float, ...]]  # sort key from (cost, mode, start)


def fewest_first(cost: float, mode: JobMode, start: int) -> tuple[float, ...]:
    """Return a sort key: cost, then fewest workers, then colocated before split.

    `cost`: rounded.
    """
    return cost, mode.workers, not mode.colocated


def earliest_first(cost: float, mode: JobMode, start: int) -> tuple[float, ...]:
    """Return a sort key: cost, then earliest end, fewest workers, colocated before split.

    `cost`: rounded.
    """
    return cost, start + mode.duration, mode.workers, not mode.colocated


class SlotWindows:
    """Price and free units of one type on every server: sums and minima over windows of slots.

    Sums are read from tables over 1, 2, 4, ... slots. Differences of prefix sums would lose small
    prices next to large ones.

    `price` [s, t]: price >= 0 of one unit for one slot. `free` [s, t]: free units; may be a
    broadcast column.
    """

    def __init__(self, price: Floats, free: Ints) -> None:
        """Keep the arrays; tables are built on first use."""
        self.price, self.free = price, free
        self.servers = np.flatnonzero((free > 0).any(axis=1))  # servers with a free unit
        self._clear()

    @property
    def slots(self) -> int:
        """Number of slots that the arrays cover."""
        return len(self.price[0])

    def _clear(self) -> None:
        self._sums: list[Floats] = []
        self._minima: list[Ints] = []
        self._prefixes: tuple[Floats, Ints] | None = None
        self._always_free: NDArray[np.bool_] | None = None

    def change(self, server: int, slots: slice, price: Floats, free: Ints) -> None:
        """Set price and free units of one server.

        `slots`: slots to change. `price`, `free` [t]: new values in these slots.
        """
        self.price[server, slots], self.free[server, slots] = price, free
        prefixes = self._prefixes
        self._clear()
        if prefixes is not None:
            np.cumsum(self.price[server], out=prefixes[0][server])
            np.minimum.accumulate(self.free[server], out=prefixes[1][server])
            self._prefixes = prefixes

    def always_free(self) -> NDArray[np.bool_]:
        """Return for each server [s] whether its price is 0 and a unit is free in all slots."""
        if self._always_free is None:
            self._always_free = np.asarray(
                (self.price == 0).all(axis=1) & (self.free > 0).all(axis=1)
            )
        return self._always_free

    def prefixes(self, lengths: Ints) -> tuple[Floats, Ints]:
        """Return price sums and minima of free units [s, k] over windows that begin in slot 0.

        `lengths` [k]: lengths of the windows, >= 1.
        """
        if self._prefixes is None:
            minima = np.minimum.accumulate(self.free, axis=1)
            self._prefixes = np.cumsum(self.price, axis=1), minima
        sums, minima = self._prefixes
        return sums[:, lengths - 1], minima[:, lengths - 1]

    def sums(self, length: int, rows: Ints) -> Floats:
        """Return the price sums [row, start] of all windows of one length.

        `length`: in slots. `rows`: servers.
        """
        if not self._sums:
            self._sums = [self.price]
        starts = self.slots - length + 1
        total = np.zeros((len(rows), starts))
        at, level = 0, 0
        while length >> level:  # add up the powers of two that make up the length
            if level == len(self._sums):
                block, half = self._sums[-1], 1 << (level - 1)
                self._sums.append(block[:, :-half] + block[:, half:])
            if length >> level & 1:
                total += self._sums[level][rows, at : at + starts]
                at += 1 << level
            level += 1
        return total

    def minima(self, length: int, rows: Ints) -> Ints:
        """Return the minima of free units [row, start] over all windows of one length.

        `length`: in slots. `rows`: servers.
        """
        starts = self.slots - length + 1
        if self.free.strides[1] == 0:  # constant over time
            return np.broadcast_to(self.free[rows, :1], (len(rows), starts))
        if not self._minima:
            self._minima = [self.free]
        level = length.bit_length() - 1
        while level >= len(self._minima):
            block, half = self._minima[-1], 1 << (len(self._minima) - 1)
            self._minima.append(np.minimum(block[:, :-half], block[:, half:]))
        block, later = self._minima[level], length - (1 << level)  # two windows that overlap
        return np.minimum(block[rows, :starts], block[rows, later : later + starts])


def colocated_costs(n: Ints | int, L: Floats, W: Ints, M: Floats, P: Ints) -> Floats:
    """Return the cost [s, k] of n workers and the PS on one server; inf where they do not fit.

    `n` [k]: workers in each case k. `L`, `M` [s, k]: price of one worker, and of one PS, over the
    window of each case. `W`, `P` [s, k]: workers and PSs that are free throughout the window; 0
    where the server is not ready.
    """
    return np.where((n <= W) & (P >= 1), n * L + M, np.inf)


def fill_costs(n: Ints | int, L: Floats, W: Ints) -> Floats:
    """Return the cost [k] of n workers on the cheapest servers; inf where too few are free.

    `n` [k]: workers in each case k. `L` [s, k]: price of one worker over the window of each case.
    `W` [s, k]: workers that are free throughout the window.
    """
    if not len(L):
        return np.full(L.shape[1], np.inf)
    order = np.argsort(L, axis=0)
    price, free = np.take_along_axis(L, order, 0), np.take_along_axis(W, order, 0)
    used = np.minimum(np.cumsum(free, axis=0), n)
    cost: Floats = (price * np.diff(used, axis=0, prepend=0)).sum(axis=0)
    return np.where(used[-1] == n, cost, np.inf)


def ps_costs(M: Floats, P: Ints) -> Floats:
    """Return the cost [s, k] of the PS on each server; inf where none is free.

    `M`, `P` [s, k]: price of a PS over the window of each case, and PSs that are free throughout
    it.
    """
    return np.where(P >= 1, M, np.inf)


def fill(n: int, L: Floats | Ints, W: Ints) -> dict[int, int]:
    """Return n workers on the cheapest servers, by server; none if too few are free.

    Ties are broken by list order. Source: Algorithm 4, lines 3-10.

    `n`: workers. `L`, `W` [s]: price of one worker, and free workers.
    """
    counts: dict[int, int] = {}
    for s in np.argsort(np.round(L, DECIMALS), kind="stable").tolist():  # A4 L3-L4
        if count := min(int(W[s]), n):  # A4 L5
            counts[s] = count
            n -= count  # A4 L6
    # A4 L7
    return {} if n else dict(sorted(counts.items()))  # A4 L8-L10


@dataclass(frozen=True, slots=True, eq=False)
class PricingProblem:
    """Prices and free units of one job's worker type and PS type on all servers."""

    workers: SlotWindows
    ps: SlotWindows

    def start_costs(self, mode: JobMode, ready: Ints) -> Floats:
        """Return the least cost [start] of a mode for every start; inf where it does not fit.

        `mode`: number of workers, duration and xi. `ready` [s]: first slot in which the job may use
        each server, from 0; `slots` or more: never.

        Notes
        -----
        Source: (9). Exact. Time: O(slots S log S).
        """
        length, starts = mode.duration, np.arange(max(0, self.workers.slots - mode.duration + 1))
        if not len(starts):
            return np.empty(0)
        servers = self.workers.servers
        L, W = self.workers.sums(length, servers), self.workers.minima(length, servers)
        W = np.where(starts < ready[servers, None], 0, W)
        least: Floats
        if mode.colocated:
            M, P = self.ps.sums(length, servers), self.ps.minima(length, servers)
            least = colocated_costs(mode.workers, L, W, M, P).min(axis=0, initial=np.inf)
            return least
        least = fill_costs(mode.workers, L, W) + self.ps_start_costs(mode, ready)
        return least

    def ps_start_costs(self, mode: JobMode, ready: Ints) -> Floats:
        """Return the least cost [start] of a PS for the duration of a mode; inf: none is free.

        `mode`: only its duration matters. `ready` [s]: first slot in which the job may use each
        server.
        """
        length, rows = mode.duration, self._ps_candidates(ready)
        starts = np.arange(self.ps.slots - length + 1)
        M, P = self.ps.sums(length, rows), self.ps.minima(length, rows)
        P = np.where(starts < ready[rows, None], 0, P)
        least: Floats = ps_costs(M, P).min(axis=0, initial=np.inf)
        return least

    def _ps_candidates(self, ready: Ints) -> Ints:
        """Return servers for the PS: of those that are always free, only the first to be ready."""
        servers = self.ps.servers
        always = self.ps.always_free()[servers]
        if not always.any():
            return servers
        first = servers[always][np.argmin(ready[servers[always]])]
        return np.append(servers[~always], first)

    def first_slot_costs(self, modes: Iterable[JobMode], ready: Ints) -> Floats:
        """Return the least cost [k] of each mode started in slot 0; inf where it does not fit.

        `modes`: modes k. `ready` [s]: first slot in which the job may use each server.
        """
        listed = list(modes)
        n = np.array([mode.workers for mode in listed], dtype=np.int64)
        lengths = np.array([mode.duration for mode in listed], dtype=np.int64)
        colocated = np.array([mode.colocated for mode in listed], dtype=bool)
        L, W = self.workers.prefixes(np.minimum(lengths, self.workers.slots))
        M, P = self.ps.prefixes(np.minimum(lengths, self.workers.slots))
        here = (ready <= 0)[:, None]
        W, P = np.where(here, W, 0), np.where(here, P, 0)
        least = np.full(len(listed), np.inf)
        whole = L[:, colocated], W[:, colocated], M[:, colocated], P[:, colocated]
        least[colocated] = colocated_costs(n[colocated], *whole).min(axis=0, initial=np.inf)
        split, servers = ~colocated, self.workers.servers
        least[split] = fill_costs(n[split], L[np.ix_(servers, split)], W[np.ix_(servers, split)])
        least[split] += ps_costs(M[:, split], P[:, split]).min(axis=0, initial=np.inf)
        least[lengths > self.workers.slots] = np.inf
        return least

    def place(self, mode: JobMode, start: int, ready: Ints) -> PricedPlacement | None:
        """Return the cheapest placement of a mode from one start, or None; ties in list order.

        `mode`: number of workers, duration and xi. `start`: first slot. `ready` [s]: first slot in
        which the job may use each server.

        Notes
        -----
        Source: Algorithm 3, and Algorithm 4 with lines 12-38 replaced by the choice of the cheapest
        server for the PS.
        """
        window = slice(start, start + mode.duration)
        if window.stop > self.workers.slots:
            return None
        here = ready <= start
        L, M = self.workers.price[:, window].sum(axis=1), self.ps.price[:, window].sum(axis=1)
        W = np.where(here, self.workers.free[:, window].min(axis=1), 0)
        P = np.where(here, self.ps.free[:, window].min(axis=1), 0)
        n = mode.workers
        by_server = colocated_costs(n, L, W, M, P) if mode.colocated else ps_costs(M, P)
        s = int(np.argmin(np.round(by_server, DECIMALS)))
        if not np.isfinite(by_server[s]):
            return None
        counts = {s: n} if mode.colocated else fill(n, L, W)
        if not counts:
            return None
        cost = sum(float(L[h]) * count for h, count in counts.items()) + float(M[s])
        return PricedPlacement(cost, start, mode.duration, mode.colocated, counts, s)

    def cheapest(
        self,
        modes: Iterable[JobMode],
        ready: Ints,
        *,
        key: TieBreak = earliest_first,
        first_slot_only: bool = False,
    ) -> PricedPlacement | None:
        """Return the cheapest schedule of a job, or None if it does not fit.

        `modes`: the non-dominated modes of the job; others never cost less. `ready` [s]: first slot
        in which the job may use each server. `key`: sort key from cost, mode and start that breaks
        ties; costs are rounded to 9 decimals. `first_slot_only`: start in slot 0 only.
        """
        best: tuple[tuple[float, ...], JobMode, int] | None = None
        listed = list(modes)
        first = (
            self.first_slot_costs(listed, ready)[:, None].tolist()
            if first_slot_only and listed
            else None
        )
        for k, mode in enumerate(listed):
            costs = np.round(self.start_costs(mode, ready) if first is None else first[k], DECIMALS)
            if not costs.size or not np.isfinite(costs.min()):
                continue
            start = int(np.argmin(costs))  # the first of equal ones
            rank = key(float(costs[start]), mode, start)
            if best is None or rank < best[0]:
                best = rank, mode, start
        return None if best is None else self.place(best[1], best[2], ready)
