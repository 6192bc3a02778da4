"""The cheapest schedule of one job under prices, problem (9): exact, for every start at once.

Once start, duration and number of workers are fixed, workers and PS do not meet in any constraint:
the workers fill the cheapest servers, the PS takes the cheapest one, and on a single server both
stand together. Hence a sort for each window, and no search.

Slots are counted from 0 here, within whatever stretch of time the arrays cover.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DECIMALS = 9  # costs are compared so: else the order of a sum would decide between equal ones


class Mode(Protocol):
    """A number of workers, how many slots they take, and whether all stand on one server."""

    @property
    def workers(self) -> int: ...
    @property
    def duration(self) -> int: ...
    @property
    def together(self) -> bool: ...


class Offer(NamedTuple):
    """A way to run a job, and what it costs; servers by index."""

    cost: float
    start: int  # slot, from 0
    duration: int
    together: bool  # of the mode: a split mode may still find all workers beside the PS
    workers: Mapping[int, int]
    ps: int


Key = Callable[[float, Mode, int], tuple[float, ...]]  # (cost, mode, start): the least is taken


def fewest_first(cost: float, mode: Mode, start: int) -> tuple[float, ...]:
    """Order by cost; among equal costs fewest workers, then the single server."""
    return cost, mode.workers, not mode.together


def earliest_first(cost: float, mode: Mode, start: int) -> tuple[float, ...]:
    """Order by cost; among equal costs earliest end, fewest workers, then the single server."""
    return cost, start + mode.duration, mode.workers, not mode.together


class Windows:
    """Price and free units of one type on every server: sums and minima over windows of slots.

    Sums are read off tables over 1, 2, 4, ... slots, without differences of prefix sums: those
    would lose small prices beside large ones.

    Parameters
    ----------
    price : array [s, t]
        Of one unit for one slot; >= 0.
    free : array [s, t]
        Free units; may be a broadcast column.
    """

    def __init__(self, price: Floats, free: Ints) -> None:
        """Keep the arrays; tables are built when they are asked for."""
        self.price, self.free = price, free
        self.hosts = np.flatnonzero((free > 0).any(axis=1))
        self._clear()

    @property
    def slots(self) -> int:
        """How many slots the arrays cover."""
        return len(self.price[0])

    def _clear(self) -> None:
        self._sums: list[Floats] = []
        self._minima: list[Ints] = []
        self._opening: tuple[Floats, Ints] | None = None
        self._plain: NDArray[np.bool_] | None = None

    def change(self, server: int, slots: slice, price: Floats, free: Ints) -> None:
        """Set price [t] and free units [t] of one server."""
        self.price[server, slots], self.free[server, slots] = price, free
        kept = self._opening
        self._clear()
        if kept is not None:
            np.cumsum(self.price[server], out=kept[0][server])
            np.minimum.accumulate(self.free[server], out=kept[1][server])
            self._opening = kept

    def plain(self) -> NDArray[np.bool_]:
        """[s] whether a server costs nothing at any time, and always has a free unit."""
        if self._plain is None:
            self._plain = np.asarray((self.price == 0).all(axis=1) & (self.free > 0).all(axis=1))
        return self._plain

    def opening(self, lengths: Ints) -> tuple[Floats, Ints]:
        """Return sums and minima [s, k] over the windows of these lengths [k] from slot 0 on."""
        if self._opening is None:
            least = np.minimum.accumulate(self.free, axis=1)
            self._opening = np.cumsum(self.price, axis=1), least
        sums, minima = self._opening
        return sums[:, lengths - 1], minima[:, lengths - 1]

    def sums(self, length: int, rows: Ints) -> Floats:
        """Return the price sums [row, start] of all windows of a length; rows are servers."""
        if not self._sums:
            self._sums = [self.price]
        starts = self.slots - length + 1
        total = np.zeros((len(rows), starts))
        at, level = 0, 0
        while length >> level:
            if level == len(self._sums):
                block, half = self._sums[-1], 1 << (level - 1)
                self._sums.append(block[:, :-half] + block[:, half:])
            if length >> level & 1:
                total += self._sums[level][rows, at : at + starts]
                at += 1 << level
            level += 1
        return total

    def minima(self, length: int, rows: Ints) -> Ints:
        """Return the least free units [row, start] in all windows of a length."""
        starts = self.slots - length + 1
        if self.free.strides[1] == 0:  # the same at all times
            return np.broadcast_to(self.free[rows, :1], (len(rows), starts))
        if not self._minima:
            self._minima = [self.free]
        level = length.bit_length() - 1
        while level >= len(self._minima):
            block, half = self._minima[-1], 1 << (len(self._minima) - 1)
            self._minima.append(np.minimum(block[:, :-half], block[:, half:]))
        block, later = self._minima[level], length - (1 << level)
        return np.minimum(block[rows, :starts], block[rows, later : later + starts])


def together_costs(n: Ints | int, L: Floats, W: Ints, M: Floats, P: Ints) -> Floats:
    """Return the cost [s, k] of n workers and the PS on each server; inf where they do not fit.

    Parameters
    ----------
    n : int or array [k]
        Workers in each case.
    L, M : array [s, k]
        Price of one worker, and of one PS, throughout the window of each case.
    W, P : array [s, k]
        Free workers and PSs throughout it; 0 where the server is not ready.
    """
    return np.where((n <= W) & (P >= 1), n * L + M, np.inf)


def fill_costs(n: Ints | int, L: Floats, W: Ints) -> Floats:
    """Return the cost [k] of n workers on the cheapest servers; inf where there are too few."""
    if not len(L):
        return np.full(L.shape[1], np.inf)
    order = np.argsort(L, axis=0)
    price, most = np.take_along_axis(L, order, 0), np.take_along_axis(W, order, 0)
    taken = np.minimum(np.cumsum(most, axis=0), n)
    cost: Floats = (price * np.diff(taken, axis=0, prepend=0)).sum(axis=0)
    return np.where(taken[-1] == n, cost, np.inf)


def ps_costs(M: Floats, P: Ints) -> Floats:
    """Return the cost [s, k] of the PS on each server; inf where none is free."""
    return np.where(P >= 1, M, np.inf)


def fill(n: int, L: Floats, W: Ints) -> dict[int, int] | None:
    """Return n workers on the cheapest servers, L [s], W [s]; ties in list order; None if too few.

    Source: Algorithm 4, lines 3-10.
    """
    counts: dict[int, int] = {}
    for s in np.argsort(np.round(L, DECIMALS), kind="stable").tolist():  # A4 L3-L4
        if count := min(int(W[s]), n):  # A4 L5
            counts[s] = count
            n -= count  # A4 L6
    # A4 L7
    return None if n else dict(sorted(counts.items()))  # A4 L8-L10


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """What one job is offered: its type of workers and its type of PSs on all servers."""

    workers: Windows
    ps: Windows

    def costs(self, mode: Mode, ready: Ints) -> Floats:
        """Return the least cost [start] of a mode for every start; inf where it fits nowhere.

        Parameters
        ----------
        ready : array [s]
            First slot in which the job may use each server, from 0; from `slots` on it never may.

        Notes
        -----
        Source: (9). Exact. Time: O(slots S log S).
        """
        length, starts = mode.duration, np.arange(max(0, self.workers.slots - mode.duration + 1))
        if not len(starts):
            return np.empty(0)
        hosts = self.workers.hosts
        late = starts < ready[hosts, None]
        L, W = self.workers.sums(length, hosts), self.workers.minima(length, hosts)
        W = np.where(late, 0, W)
        least: Floats
        if mode.together:
            M, P = self.ps.sums(length, hosts), self.ps.minima(length, hosts)
            least = together_costs(mode.workers, L, W, M, P).min(axis=0, initial=np.inf)
            return least
        least = fill_costs(mode.workers, L, W) + self.host_costs(mode, ready)
        return least

    def host_costs(self, mode: Mode, ready: Ints) -> Floats:
        """Return the least cost [start] of a PS throughout a mode; inf where there is none."""
        length, rows = mode.duration, self._ps_rows(ready)
        starts = np.arange(self.ps.slots - length + 1)
        M, P = self.ps.sums(length, rows), self.ps.minima(length, rows)
        P = np.where(starts < ready[rows, None], 0, P)
        least: Floats = ps_costs(M, P).min(axis=0, initial=np.inf)
        return least

    def _ps_rows(self, ready: Ints) -> Ints:
        """Return the servers that can be the cheapest one for a PS: of the plain ones one."""
        hosts = self.ps.hosts
        plain = self.ps.plain()[hosts]
        if not plain.any():
            return hosts
        first = hosts[plain][np.argmin(ready[hosts[plain]])]
        return np.append(hosts[~plain], first)

    def opening_costs(self, modes: Iterable[Mode], ready: Ints) -> Floats:
        """Return the least cost [k] of each mode, started in slot 0; inf where it fits nowhere."""
        listed = list(modes)
        n = np.array([mode.workers for mode in listed], dtype=np.int64)
        lengths = np.array([mode.duration for mode in listed], dtype=np.int64)
        together = np.array([mode.together for mode in listed], dtype=bool)
        L, W = self.workers.opening(np.minimum(lengths, self.workers.slots))
        M, P = self.ps.opening(np.minimum(lengths, self.workers.slots))
        here = (ready <= 0)[:, None]
        W, P = np.where(here, W, 0), np.where(here, P, 0)
        least = np.full(len(listed), np.inf)
        alone = L[:, together], W[:, together], M[:, together], P[:, together]
        least[together] = together_costs(n[together], *alone).min(axis=0, initial=np.inf)
        apart, hosts = ~together, self.workers.hosts
        least[apart] = fill_costs(n[apart], L[np.ix_(hosts, apart)], W[np.ix_(hosts, apart)])
        least[apart] += ps_costs(M[:, apart], P[:, apart]).min(axis=0, initial=np.inf)
        least[lengths > self.workers.slots] = np.inf
        return least

    def place(self, mode: Mode, start: int, ready: Ints) -> Offer | None:
        """Return the cheapest placement of a mode in one window; ties in list order.

        Source: Algorithm 3; Algorithm 4, whose lines 12-38 the cheapest server for the PS replaces.
        """
        window = slice(start, start + mode.duration)
        if window.stop > self.workers.slots:
            return None
        here = ready <= start
        L, M = self.workers.price[:, window].sum(axis=1), self.ps.price[:, window].sum(axis=1)
        W = np.where(here, self.workers.free[:, window].min(axis=1), 0)
        P = np.where(here, self.ps.free[:, window].min(axis=1), 0)
        n = mode.workers
        if mode.together:
            each = together_costs(n, L, W, M, P)
            s = int(np.argmin(np.round(each, DECIMALS)))
            counts = {s: n} if np.isfinite(each[s]) else None
        else:
            each = ps_costs(M, P)
            s = int(np.argmin(np.round(each, DECIMALS)))
            counts = fill(n, L, W) if np.isfinite(each[s]) else None
        if counts is None:
            return None
        cost = sum(float(L[h]) * count for h, count in counts.items()) + float(M[s])
        return Offer(cost, start, mode.duration, mode.together, counts, s)

    def cheapest(
        self,
        modes: Iterable[Mode],
        ready: Ints,
        *,
        key: Key = earliest_first,
        opening: bool = False,
    ) -> Offer | None:
        """Return the cheapest schedule of a job, None when there is none.

        Parameters
        ----------
        modes : iterable of Mode
            Those of a job that no other one dominates: the rest never costs less.
        ready : array [s]
            First slot in which the job may use each server.
        key : callable
            Decides between schedules of equal cost; costs count to 9 decimals.
        opening : bool
            Start in slot 0 only.
        """
        best: tuple[tuple[float, ...], Mode, int] | None = None
        listed = list(modes)
        found = self.opening_costs(listed, ready)[:, None].tolist() if opening and listed else None
        for k, mode in enumerate(listed):
            costs = np.round(self.costs(mode, ready) if found is None else found[k], DECIMALS)
            if not costs.size or not np.isfinite(costs.min()):
                continue
            start = int(np.argmin(costs))  # the first of equal ones
            rank = key(float(costs[start]), mode, start)
            if best is None or rank < best[0]:
                best = rank, mode, start
        return None if best is None else self.place(best[1], best[2], ready)
