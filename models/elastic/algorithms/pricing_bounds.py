"""Lower bounds on the cost of a mode at each start: slot by slot the cheapest workers and PS.

In each slot the workers take the servers that are cheapest in that slot, and one PS the cheapest
server for it. A placement has the same servers in all slots, so it costs no less than both sums.
"""

from collections.abc import Sequence

import numpy as np

from schedgap.models.elastic.modes import MAX_WORKERS, ElasticCluster, Mode, mode_columns
from schedgap.models.elastic.placement import Floats, GreedyFill, Ints, fits

_PAIRS = MAX_WORKERS + 1  # pairs of a worker type and a number of workers, of each type


class CostLowerBounds:
    """For each slot, the price of N workers of each type, and of one PS of each type.

    Rows are the slots, with one more row for all later slots. They are updated when needed.

    `price`, `free` [t, h, r]: views of the prices and free amounts, which may change later.
    """

    def __init__(self, view: ElasticCluster, price: Floats, free: Floats) -> None:
        self._view, self._price, self._free = view, price, free
        self._changes = [(0, len(price))]
        self._seen: dict[tuple[str, int], int] = {}  # number of changes applied to a type
        self._fills: dict[int, GreedyFill] = {}
        self._ps: dict[int, Floats] = {}  # [t]

    def invalidate(self, a: int, b: int) -> None:
        """Mark rows as changed.

        `a`, `b`: the rows a..b-1.
        """
        self._changes.append((a, b))

    def _changed(self, role: str, kind: int) -> Ints:
        """Return the rows that changed since the last call for this type."""
        mask = np.zeros(len(self._price), dtype=bool)
        for a, b in self._changes[self._seen.get((role, kind), 0) :]:
            mask[a:b] = True
        self._seen[role, kind] = len(self._changes)
        return np.flatnonzero(mask)

    def bounds(
        self, candidates: Sequence[Mode], first: int, last: int, weight: float
    ) -> tuple[list[Floats], Floats]:
        """Return for each mode a lower bound at each of its starts, and the least of these.

        `first`, `last`: first row that a mode may use, and first row after these. `weight`: added
        for each slot of start + duration, which is the row after the last one used, plus 1.

        Returns
        -------
        (list of array, array [k])
            Bounds at the start rows from `first` on; of the starts after all slots only the first.
            A mode without a start has an empty array, and infinity as its least bound.
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
        table = [self._workers_cost(kind, numbers[kinds == kind]) for kind in np.unique(kinds)]
        table.append(np.array([self._cheapest_ps(kind) for kind in ps_types.tolist()]))
        # bound(mode, start) = sum over its slots (workers + PS) + weight (start + duration).
        sums, rows = _WindowSums(np.concatenate(table)), len(self._price)
        for duration in np.unique(d[able]).tolist():
            # A start after all slots is no better than the first such one.
            starts = np.arange(first, min(last - duration, max(first, rows - 1)) + 1)
            group = d[able] == duration
            total = sums.over(pair[group], starts, duration)
            if not self._view.is_ring:
                total = total + sums.over(len(pairs) + ps[group], starts, duration)
            if weight:
                total = total + weight * (starts + duration + 1)
            lowest[able[group]] = total.min(axis=1)
            for k, bound in zip(able[group].tolist(), total, strict=True):
                result[k] = bound
        return result, lowest

    def _workers_cost(self, m: int, numbers: Ints) -> Floats:
        """Return the cost [N, t] of each number of workers in each slot; infinite if none fit."""
        rows = self._changed("worker", m)
        if m not in self._fills:
            self._fills[m] = self._fill(m, np.arange(len(self._price)))
        elif len(rows):
            self._fills[m].replace(rows, self._fill(m, rows))
        fill = self._fills[m]
        able = np.minimum(numbers[:, None], fill.total)
        cost = fill.cost(np.broadcast_to(np.arange(len(fill.total)), able.shape), able)
        result: Floats = np.where(able == numbers[:, None], cost, np.inf)
        return result

    def _fill(self, m: int, rows: Ints) -> GreedyFill:
        """Return the workers of a type on the cheapest servers in some slots."""
        fit = fits(self._free[rows], self._view.worker_units[m])
        return GreedyFill(self._price[rows] @ self._view.worker_demand[m], fit, MAX_WORKERS)

    def _cheapest_ps(self, p: int) -> Floats:
        """Return [t] the price of the cheapest PS that fits on some server; 0 in the ring."""
        if p not in self._ps:
            self._ps[p] = np.zeros(len(self._price))
        rows = self._changed("ps", p)
        if len(rows) and p >= 0:
            fitting = (self._free[rows] >= self._view.ps_units[p]).all(axis=2)
            price = np.where(fitting, self._price[rows] @ self._view.ps_demand[p], np.inf)
            self._ps[p][rows] = price.min(axis=1)
        return self._ps[p]


class _WindowSums:
    """Sums over windows of the rows of a table [k, t]; its last column stands for later ones."""

    def __init__(self, table: Floats) -> None:
        self._levels = [table]
        self._last = table.shape[1] - 1

    def over(self, rows: Ints, starts: Ints, length: int) -> Floats:
        """Return [k, t] the sum over `length` columns from each start on."""
        total: Floats | None = None
        offset, level = 0, 0
        while length >> level:
            if level == len(self._levels):
                half = self._levels[-1]
                later = np.minimum(np.arange(self._last + 1) + (1 << (level - 1)), self._last)
                self._levels.append(half + half[:, later])
            if length >> level & 1:
                columns = np.minimum(starts + offset, self._last)
                part = self._levels[level][rows[:, None], columns]
                total = part if total is None else total + part
                offset += 1 << level
            level += 1
        assert total is not None
        return total
