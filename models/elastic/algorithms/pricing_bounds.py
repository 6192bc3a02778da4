"""Lower bounds on the cost of a mode at each start: slot by slot the cheapest workers and PS.

In each slot the workers take the servers that are cheapest in that slot, and one PS the cheapest
server for it. A placement has the same servers in all slots, so it costs no less than both sums.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from schedgap.models.elastic.modes import MAX_WORKERS, ElasticCluster, Mode, mode_columns
from schedgap.models.elastic.placement import Floats, GreedyFill, Ints, fits

_PAIRS = MAX_WORKERS + 1  # pairs of a worker type and a number of workers, of each type


class WindowTable:
    """Sums or minima over windows of rows of a table [t, ...]; its last row stands for later ones.

    They are kept for windows of 1, 2, 4, ... rows, up to `longest`. Differences of prefix sums
    would lose small prices next to large ones. `join`: adds two windows, or takes their minimum.
    """

    def __init__(self, join: np.ufunc, table: Floats, longest: int) -> None:
        self._join, self._last = join, len(table) - 1
        self.levels = np.empty((max(1, min(longest, self._last)).bit_length(), *table.shape))
        self.levels[0] = table
        self.update(0, len(table))

    def update(self, a: int, b: int, columns: Ints | None = None) -> None:
        """Update longer windows after rows a..b-1 have changed, all or some of their columns."""
        for level in range(1, len(self.levels)):
            half, shorter = 1 << (level - 1), self.levels[level - 1]
            rows = np.arange(max(0, a - 2 * half + 1), b)
            at, then = _at(rows, columns), _at(np.minimum(rows + half, self._last), columns)
            self.levels[level][at] = self._join(shorter[at], shorter[then])

    def over(self, rows: Ints, length: int, columns: Ints | None = None) -> Floats:
        """Return the sums or minima over `length` rows from each given row on, of some columns.

        The last row does not count twice: it is 0 or infinite, or above all others.
        """
        total: Floats | None = None
        length, offset = min(length, self._last), 0
        for level in range(length.bit_length()):
            if length >> level & 1:
                at = _at(np.minimum(rows + offset, self._last), columns)
                part = self.levels[level][at]
                total = part if total is None else self._join(total, part)
                offset += 1 << level
        assert total is not None
        return total


def _at(rows: Ints, columns: Ints | None) -> Any:
    return rows if columns is None else (rows[:, None], columns)


class CostLowerBounds:
    """For each slot, the price of N workers of each type, and of one PS of each type.

    Rows are the slots, with one more row for all later slots. They are updated when needed.

    `price`, `free` [t, h, r]: views of the prices and free amounts, which may change later.
    """

    def __init__(self, view: ElasticCluster, price: Floats, free: Floats) -> None:
        self._view, self._price, self._free = view, price, free
        self._stale = np.ones(len(price), dtype=bool)
        self._fills: list[GreedyFill] = []  # [m]
        self._ps = np.zeros((len(view.ps_units), len(price)))  # [p, t]

    def invalidate(self, a: int, b: int) -> None:
        """Mark rows as changed.

        `a`, `b`: the rows a..b-1.
        """
        self._stale[a:b] = True

    def _update(self) -> None:
        """Follow the changes since the last call."""
        view, rows = self._view, np.flatnonzero(self._stale)
        if not len(rows):
            return
        self._stale[:] = False
        price, free = self._price[rows], self._free[rows]
        for m, worker in enumerate(view.worker_units):
            fill = GreedyFill(price @ view.worker_demand[m], fits(free, worker), MAX_WORKERS)
            if m < len(self._fills):
                self._fills[m].replace(rows, fill)
            else:
                self._fills.append(fill)
        for p, ps in enumerate(view.ps_units):
            fitting = (free >= ps).all(axis=2)
            cost = np.where(fitting, price @ view.ps_demand[p], np.inf)
            self._ps[p, rows] = cost.min(axis=1)

    def bounds(
        self, candidates: Sequence[Mode], first: int, last: int, weight: float
    ) -> tuple[list[Floats], Floats]:
        """Return for each mode a lower bound at each of its starts, and the least of these.

        `first`, `last`: first row that a mode may use, and first row after these. `weight`: added
        for each slot of start + duration, which is the row after the last one used, plus 1.

        The bounds are at the start rows from `first` on; of the starts after all slots only the
        first has one. A mode without a start has an empty array, and infinity as its least bound.
        """
        result: list[Floats] = [np.empty(0)] * len(candidates)
        lowest = np.full(len(candidates), np.inf)
        m, p, N, _, d = mode_columns(candidates)
        able = np.flatnonzero(first + d <= last)
        if not len(able):
            return result, lowest
        # Table over slots: first the price of N workers of a type, for each pair (type, N), then
        # the price of one PS of each type. Each pair is computed once, whatever the modes.
        pairs, pair = np.unique(m[able] * _PAIRS + N[able], return_inverse=True)
        kinds, numbers = np.divmod(pairs, _PAIRS)
        ps_types, ps = np.unique(p[able], return_inverse=True)
        self._update()
        table = [self._workers_cost(kind, numbers[kinds == kind]) for kind in np.unique(kinds)]
        if not self._view.is_ring:
            table.append(self._ps[ps_types])
        # bound(mode, start) = sum over its slots (workers + PS) + weight (start + duration).
        sums, rows = WindowTable(np.add, np.concatenate(table).T, int(d.max())), len(self._price)
        for duration in np.unique(d[able]).tolist():
            # A start after all slots is no better than the first such one.
            starts = np.arange(first, min(last - duration, max(first, rows - 1)) + 1)
            group = d[able] == duration
            total = sums.over(starts, duration, pair[group])
            if not self._view.is_ring:
                total = total + sums.over(starts, duration, len(pairs) + ps[group])
            if weight:
                total = total + weight * (starts + duration + 1)[:, None]
            lowest[able[group]] = total.min(axis=0)
            for k, bound in zip(able[group].tolist(), total.T, strict=True):
                result[k] = bound
        return result, lowest

    def _workers_cost(self, m: int, numbers: Ints) -> Floats:
        """Return the cost [N, t] of each number of workers in each slot; infinite if none fit."""
        fill = self._fills[m]
        able = np.minimum(numbers[:, None], fill.total)
        cost = fill.cost(np.broadcast_to(np.arange(len(fill.total)), able.shape), able)
        result: Floats = np.where(able == numbers[:, None], cost, np.inf)
        return result
