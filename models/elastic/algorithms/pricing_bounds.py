"""Lower bounds on what a mode costs at each start: slot by slot the cheapest workers and PS.

In one slot the workers go to the servers that are cheapest in that slot, and one PS to where it is
cheapest; a real placement has the same servers throughout, and nothing is cheaper than both sums.
"""

from collections.abc import Sequence

import numpy as np

from schedgap.models.elastic.modes import MAX_WORKERS, ElasticCluster, Mode
from schedgap.models.elastic.placement import Floats, Ints, before, fits


class CostLowerBounds:
    """Slot by slot, the price of N workers of each type, and of one PS of each type.

    Rows are the slots, and a last row for all slots after them. Brought up to date on demand.
    """

    def __init__(self, view: ElasticCluster, price: Floats, free: Floats, *, blank: bool) -> None:
        """Keep views of prices and free amounts [t, h, r]; `blank`: all rows are as the last."""
        self._view, self._price, self._free = view, price, free
        self._changes: list[tuple[int, int]] = [] if blank else [(0, len(price) - 1)]
        self._seen: dict[tuple[str, int], int] = {}  # changes that a type's rows know of
        self._workers: dict[int, _Sorted] = {}
        self._ps: dict[int, Floats] = {}  # [t]

    def renew(self, a: int, b: int) -> None:
        """Note that rows a..b-1 have changed."""
        self._changes.append((a, b))

    def _changed(self, role: str, kind: int) -> Ints:
        """Return the rows that changed since this was asked for the type, or from the start."""
        mask = np.zeros(len(self._price), dtype=bool)
        for a, b in self._changes[self._seen.get((role, kind), 0) :]:
            mask[a:b] = True
        self._seen[role, kind] = len(self._changes)
        return np.flatnonzero(mask)

    def bounds(
        self, candidates: Sequence[Mode], first: int, last: int, weight: float
    ) -> tuple[list[Floats], Floats]:
        """Return for each mode the bound at each start row from `first` on, and the least of them.

        `last` is the first row that the mode may not use. Without a start: an empty array and
        infinity. Starts after all slots are left out, but for the first. `weight` is added for each
        slot of the paper's completion time, which is one more than the row after the last one used.
        """
        result: list[Floats] = [np.empty(0)] * len(candidates)
        least = np.full(len(candidates), np.inf)
        groups: dict[int, list[int]] = {}
        pairs: dict[tuple[int, int], int] = {}
        kinds: dict[int, int] = {}
        for k, mode in enumerate(candidates):
            if first + mode.duration <= last:
                groups.setdefault(mode.duration, []).append(k)
                pairs.setdefault((mode.worker_type, mode.workers), len(pairs))
                if mode.ps_type is not None:
                    kinds.setdefault(mode.ps_type, len(kinds))
        if not groups:
            return result, least
        rows = len(self._price)
        slot = np.empty((len(pairs) + len(kinds), rows))
        numbers: dict[int, list[int]] = {}
        for m, N in pairs:
            numbers.setdefault(m, []).append(N)
        for m, several in numbers.items():
            slot[[pairs[m, N] for N in several]] = self._worker(m).cost(np.array(several))
        for p, place in kinds.items():
            slot[len(pairs) + place] = self._cheapest_ps(p)
        sums = _Sums(slot)
        for duration, members in groups.items():
            # A start after all slots is no better than the first such one.
            starts = np.arange(first, min(last - duration, max(first, rows - 1)) + 1)
            chosen = [candidates[k] for k in members]
            at = np.array([pairs[mode.worker_type, mode.workers] for mode in chosen])
            total = sums.over(at, starts, duration)
            if kinds:
                ps = np.array([kinds[mode.ps_type] for mode in chosen if mode.ps_type is not None])
                total = total + sums.over(len(pairs) + ps, starts, duration)
            if weight:
                total = total + weight * (starts + duration + 1)
            least[members] = total.min(axis=1)
            for k, bound in zip(members, total, strict=True):
                result[k] = bound
        return result, least

    def _worker(self, m: int) -> "_Sorted":
        if m not in self._workers:
            last = np.array([len(self._price) - 1])
            self._workers[m] = _Sorted(*self._offers(m, last), len(self._price))
        rows = self._changed("worker", m)
        if len(rows):
            self._workers[m].renew(rows, *self._offers(m, rows))
        return self._workers[m]

    def _offers(self, m: int, rows: Ints) -> tuple[Floats, Ints]:
        """Return the price of a worker, and how many fit, in some slots [t, h]."""
        most = fits(self._free[rows], self._view.worker_units[m])
        return self._price[rows] @ self._view.worker_demand[m], np.minimum(most, MAX_WORKERS)

    def _cheapest_ps(self, p: int) -> Floats:
        """[t] price of the cheapest PS that fits somewhere."""
        if p not in self._ps:
            self._ps[p] = np.zeros(len(self._price))
        rows = self._changed("ps", p)
        if len(rows):
            fitting = (self._free[rows] >= self._view.ps_units[p]).all(axis=2)
            price = np.where(fitting, self._price[rows] @ self._view.ps_demand[p], np.inf)
            self._ps[p][rows] = price.min(axis=1)
        return self._ps[p]


class _Sorted:
    """For one worker type: servers by price in each slot, with workers and cost before each."""

    def __init__(self, omega: Floats, most: Ints, rows: int) -> None:
        """Sort the only row given; all rows are like it."""
        shape = rows, omega.shape[1]
        self._span = MAX_WORKERS * shape[1] + 1
        self._omega, self._paid = np.empty(shape), np.empty(shape)
        self._before, self._upto = (np.empty(shape, dtype=np.int64) for _ in range(2))
        self.renew(np.arange(rows), omega, most)

    def renew(self, rows: Ints, omega: Floats, most: Ints) -> None:
        """Sort some rows anew; prices and numbers [t, h], or [1, h] for all of them."""
        order = np.argsort(omega, axis=1)
        omega, most = np.take_along_axis(omega, order, 1), np.take_along_axis(most, order, 1)
        upto = np.cumsum(most, axis=1)
        self._omega[rows] = omega
        self._paid[rows] = before(np.cumsum(most * omega, axis=1))
        self._before[rows] = before(upto)
        # Shifted row by row, so that all rows together ascend and one search serves them.
        self._upto[rows] = upto + self._span * rows[:, None]

    def cost(self, numbers: Ints) -> Floats:
        """Return the cost of so many workers in each slot [N, t]; infinite where none fit."""
        rows, width = np.arange(len(self._upto)), self._upto.shape[1]
        upto = self._upto.ravel()
        at = np.searchsorted(upto, numbers[:, None] + self._span * rows)
        able = at // width == rows
        at = np.minimum(at, len(upto) - 1)
        rest = numbers[:, None] - self._before.ravel()[at]
        cost = self._paid.ravel()[at] + rest * self._omega.ravel()[at]
        result: Floats = np.where(able, cost, np.inf)
        return result


class _Sums:
    """Sums over windows of the rows of a table [k, t]; after the last column it stays the same."""

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
