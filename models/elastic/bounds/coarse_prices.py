"""The bound `pooled-lp-coarse`: servers in a few pools, prices by block of slots; for full scale.

A run is a mode, a start, and workers and PSs by pool: in the cheapest pools, as many in each as its
empty servers hold. Prices are the same for a block of slots. Each step only relaxes the problem.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.mode_tables import ROUNDING, ModeTable, table, table_on_one_pool
from schedgap.models.elastic.bounds.schedule_lp import pool_capacity
from schedgap.models.elastic.bounds.volume import MAX_SLOTS
from schedgap.models.elastic.modes import ElasticCluster, cluster, modes
from schedgap.models.elastic.placement import Floats, Ints, fits
from schedgap.solvers.children.clock import Clock

_ASKED = 256  # candidates of a job that are priced at once


def server_pools(instance: ElasticInstance, most: int) -> Ints:
    """Return [h] the pool of each server, at most so many: equal capacities, by first appearance.

    Where there are more, those with the least room for workers (of all types, as shares of the
    cluster's) are one.
    """
    rows = cluster(instance).capacity
    seen: dict[bytes, int] = {}
    pool = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])
    if len(seen) <= most:
        return pool
    alone = np.stack([fits(rows, worker) for worker in cluster(instance).worker_units], axis=1)
    room = (alone / np.maximum(alone.sum(axis=0), 1)).sum(axis=1)  # [h]
    total = np.bincount(pool, weights=room)
    kept = np.argsort(-total, kind="stable")[: most - 1]
    number = np.full(len(seen), most - 1)
    number[np.sort(kept)] = np.arange(most - 1)
    merged: Ints = number[pool]
    return merged


@dataclass(frozen=True, slots=True, eq=False)
class BlockPrices:
    """Prices >= 0 of a unit of each resource for one slot, by pool and block; 0 after the last."""

    block: int  # slots in a block; the last one may be shorter
    slots: int
    pool: Ints  # [h]
    price: Floats  # [pool, r, b]

    def by_slot(self) -> Floats:
        """[pool, r, t] in slots 1..T."""
        return np.repeat(self.price, self.block, axis=2)[:, :, : self.slots]


class PoolRun(NamedTuple):
    """A mode and start of a job that is cheap under prices."""

    cost: float
    row: int
    start: int  # slot, from 1


class PoolPricer:
    """Cheapest modes, starts and pools of all jobs under prices by block."""

    def __init__(self, instance: ElasticInstance, pool: Ints) -> None:
        self.instance, self.pool, self.view = instance, pool, cluster(instance)
        self.capacity = pool_capacity(instance, pool)  # [pool, r]
        view, pools = self.view, range(len(self.capacity))
        alone = np.stack([fits(view.capacity, worker) for worker in view.worker_units])
        self._room = np.stack([alone[:, pool == k].sum(axis=1) for k in pools])  # [pool, m]
        hosts = [(view.capacity >= ps).all(axis=1) for ps in view.ps_units]
        self._hosts = np.array([[host[pool == k].any() for host in hosts] for k in pools])
        self._central: dict[tuple[int, int], Ints] = {}
        self._known_starts: dict[tuple[int, int, int], Ints] = {}
        self.jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]

    def rows(self, job: int) -> ModeTable:
        """Return the modes of a job among which the cheapest one is."""
        alone = len(self.capacity) == 1
        return table_on_one_pool(self.instance, job) if alone else table(self.instance, job)

    def _most_central(self, m: int, p: int) -> Ints:
        """[pool] workers that one empty server holds, beside a PS."""
        if (m, p) not in self._central:
            free = self.view.capacity - (self.view.ps_units[p] if p >= 0 else 0.0)
            most = np.where((free >= 0).all(axis=1), fits(free, self.view.worker_units[m]), 0)
            most = np.array([most[self.pool == k].max() for k in range(len(self.capacity))])
            self._central[m, p] = most
        return self._central[m, p]

    def cheapest(self, sums: "PoolPriceSums", job: int, several: int = 1) -> list[PoolRun]:
        """Return the least cost of a job, and the least of some other starts and modes.

        In a batch problem the cost is the price less the weight. Empty: none is in time.
        """
        instance, given = self.instance, self.instance.jobs[job]
        rows = self.rows(job)
        a = self._starts(job, sums.prices)
        end = a + 1 + rows.duration[:, None]
        if instance.is_batch:
            base = np.full(a.shape, -given.weight)
        else:
            base = given.weight * end.astype(float)
        late = np.inf if instance.last_end is None else instance.last_end
        base[(a < given.arrival - 1) | (end > late)] = np.inf
        floor = (base + sums.floor(rows, a)).ravel()
        # The lowest floors are priced first; then all floors below what these cost.
        bar = float(np.partition(floor, _ASKED)[_ASKED]) if len(floor) > _ASKED else np.inf
        part = np.flatnonzero((floor <= bar) & (floor < np.inf))
        found = self._priced(sums, rows, a, base, part, several)
        least = found[-1].cost if len(found) == several else np.inf
        part = np.flatnonzero((floor > bar) & (floor < least))
        if len(part):
            found = sorted(found + self._priced(sums, rows, a, base, part, several))
        return found[:several]

    def _starts(self, job: int, prices: BlockPrices) -> Ints:
        """Return [k, i] the slots before a start among which each row has a best start.

        Between two of them, where neither start nor end passes into another block, a price is a
        least of linear functions of the start: least at an end. Some are out of the job's time.
        """
        key = job, prices.block, prices.slots
        if key not in self._known_starts:
            first, last = self.instance.jobs[job].arrival - 1, self.instance.last_end
            d = self.rows(job).duration
            edges = np.append(np.arange(0, prices.slots, prices.block), prices.slots)
            shared = np.concatenate([[first], edges[edges > first]])
            parts = [
                np.broadcast_to(shared, (len(d), len(shared))),
                edges[edges > first] - d[:, None],
            ]
            if last is not None:
                parts.append((last - 1 - d)[:, None])
            self._known_starts[key] = np.concatenate(parts, axis=1)
        return self._known_starts[key]

    def _priced(
        self,
        sums: "PoolPriceSums",
        rows: ModeTable,
        a: Ints,
        base: Floats,
        part: Ints,
        several: int,
    ) -> list[PoolRun]:
        """Return the cheapest runs among rows and starts given by flat index."""
        k, at = np.divmod(part, a.shape[1])
        start = a[k, at]
        cost = base.ravel()[part] + self._price(sums, rows, k, start)
        return [
            PoolRun(float(cost[i]), int(k[i]), int(start[i]) + 1)
            for i in np.argsort(cost, kind="stable")[:several].tolist()
            if np.isfinite(cost[i])
        ]

    def _price(self, sums: "PoolPriceSums", rows: ModeTable, k: Ints, a: Ints) -> Floats:
        """Return the price of rows k from slots a on, by the cheapest pools."""
        worker, ps = sums.windows(rows, k, a)  # [pool, i]
        N, s, m, p = rows.workers[k], rows.ps[k], rows.worker_type[k], rows.ps_type[k]
        ps = np.zeros_like(worker) if ps is None else np.where(self._hosts[:, p], ps, np.inf)
        cost = np.full(len(k), np.inf)
        room = self._room[:, m]
        split = np.flatnonzero(~rows.central[k])
        if len(split):
            order = np.argsort(np.where(room[:, split] > 0, worker[:, split], np.inf), axis=0)
            by = np.take_along_axis(worker[:, split], order, 0)
            upto = np.cumsum(np.take_along_axis(room[:, split], order, 0), axis=0)
            count = np.diff(np.minimum(upto, N[split]), axis=0, prepend=0)
            enough = upto[-1] >= N[split]
            total = (count * by).sum(axis=0) + s[split] * ps[:, split].min(axis=0)
            cost[split] = np.where(enough, total, np.inf)
        whole = np.flatnonzero(rows.central[k])
        if len(whole):
            most = np.stack([self._most_central(m[i], p[i]) for i in whole.tolist()], axis=1)
            each = N[whole] * worker[:, whole] + s[whole] * ps[:, whole]
            cost[whole] = np.where(most >= N[whole], each, np.inf).min(axis=0)
        return cost

    def end(self, job: int, taken: PoolRun) -> int:
        """Return start + duration."""
        return taken.start + int(self.rows(job).duration[taken.row])

    def usage(self, sums: "PoolPriceSums", job: int, taken: PoolRun) -> Floats:
        """[pool, r] what the run holds in each of its slots, in the cheapest pools."""
        rows, use = self.rows(job), np.zeros_like(self.capacity)
        k = np.array([taken.row])
        worker, ps = (
            None if part is None else part[:, 0]
            for part in sums.windows(rows, k, np.array([taken.start - 1]))
        )
        N, m, p = (
            int(column[taken.row]) for column in (rows.workers, rows.worker_type, rows.ps_type)
        )
        assert worker is not None
        units = self.view.worker_units[m]
        if rows.central[taken.row]:
            each = N * worker + (0.0 if ps is None else ps)
            at = int(np.where(self._most_central(m, p) >= N, each, np.inf).argmin())
            use[at] = N * units + (0.0 if p < 0 else self.view.ps_units[p])
            return use
        room = self._room[:, m]
        for at in np.argsort(np.where(room > 0, worker, np.inf), kind="stable").tolist():
            count = min(N, int(room[at]))
            use[at] += count * units
            N -= count
        if ps is not None:
            at = int(np.where(self._hosts[:, p], ps, np.inf).argmin())
            use[at] += int(rows.ps[taken.row]) * self.view.ps_units[p]
        return use

    def bound(self, prices: BlockPrices, least: Floats) -> float:
        """Return the Lagrangian bound, rounding taken off; of a batch on minus the weight."""
        paid = float((prices.by_slot().sum(axis=2) * self.capacity).sum())
        size = float(np.abs(least).sum()) + paid * (1 + len(least)) + len(least)
        if self.instance.is_batch:
            size += sum(job.weight for job in self.instance.jobs)
        return float(least.sum()) - paid - ROUNDING * size

    def all(
        self, prices: BlockPrices, several: int = 1, clock: Clock | None = None
    ) -> tuple[Floats, list[list[PoolRun]], "PoolPriceSums"] | None:
        """Return [j] the least cost of each job, 0 at most in a batch, and its cheapest runs.

        None when the clock ran out before the last job was priced.
        """
        sums = PoolPriceSums(self.view, prices, self._room > 0, self._hosts)
        least = np.full(len(self.instance.jobs), 0.0 if self.instance.is_batch else np.inf)
        runs: list[list[PoolRun]] = [[] for _ in self.instance.jobs]
        for j in self.jobs:
            if clock is not None and clock.expired():
                return None
            runs[j] = self.cheapest(sums, j, several)
            if runs[j]:
                least[j] = min(least[j], runs[j][0].cost)
        return least, runs, sums


class PoolPriceSums:
    """Prices of workers and PSs by pool, summed from slot 1 on."""

    def __init__(self, view: ElasticCluster, prices: BlockPrices, runs_on: Any, hosts: Any) -> None:
        self.prices = prices
        slot = prices.by_slot()

        def summed(units: Floats, able: Any) -> tuple[Floats, Floats]:
            """[kind, pool, t], and [kind, t] slot by slot of the cheapest pool that is able."""
            each = np.einsum("krt,ir->ikt", slot, units)
            least = np.where(able.T[:, :, None], each, np.inf).min(axis=1)
            least = np.where(np.isfinite(least), least, 0.0)
            pad = ((0, 0), (0, 0), (1, 0))
            return np.pad(np.cumsum(each, axis=2), pad), np.pad(np.cumsum(least, axis=1), pad[1:])

        self._worker, self._least_worker = summed(view.worker_units, runs_on)
        self._ps = self._least_ps = None
        if len(view.ps_units):
            self._ps, self._least_ps = summed(view.ps_units, hosts)

    def floor(self, rows: ModeTable, a: Ints) -> Floats:
        """[k, i] what rows cost at least from slots a [k, i] on: the cheapest pool in each slot."""
        cost = np.zeros(a.shape)
        self._add_floor(cost, self._least_worker, rows.worker_type, rows.workers, rows, a)
        if self._least_ps is not None:
            self._add_floor(cost, self._least_ps, rows.ps_type, rows.ps, rows, a)
        return cost

    def _add_floor(
        self, cost: Floats, least: Floats, kind: Ints, count: Ints, rows: ModeTable, a: Ints
    ) -> None:
        """Add the price of so many containers of a kind, in rows of equal windows once for all."""
        priced = np.flatnonzero(least[kind, -1] > 0)
        pair = kind[priced] * (int(rows.duration.max()) + 1) + rows.duration[priced]
        _, first, same = np.unique(pair, return_index=True, return_inverse=True)
        some, T = priced[first], self.prices.slots
        flat, at = least.ravel(), kind[some, None] * (T + 1)
        start = np.clip(a[some], 0, T)
        end = np.clip(a[some] + rows.duration[some, None], 0, T)
        window = flat[at + end] - flat[at + start]
        if len(priced) == len(cost):
            cost += count[:, None] * window[same]
        else:
            cost[priced] += count[priced, None] * window[same]

    def windows(self, rows: ModeTable, k: Ints, a: Ints) -> tuple[Floats, Floats | None]:
        """Return the price [pool, i] of a worker, and of a PS, of rows k from slots a on."""
        T, m, p = self.prices.slots, rows.worker_type[k], rows.ps_type[k]
        start, end = np.minimum(a, T), np.minimum(a + rows.duration[k], T)
        worker = (self._worker[m, :, end] - self._worker[m, :, start]).T
        if self._ps is None:
            return worker, None
        return worker, (self._ps[p, :, end] - self._ps[p, :, start]).T


def coarse_certificate(prices: BlockPrices) -> dict[str, Any]:
    """Return the prices, rounded to 12 digits, as plain JSON data."""
    cells = [
        [int(k), int(r), int(b), float(f"{prices.price[k, r, b]:.12g}")]
        for k, r, b in np.argwhere(prices.price > 0)
    ]
    return {
        "kind": "pooled-lp-coarse",
        "block": prices.block,
        "slots": prices.slots,
        "pool": prices.pool.tolist(),
        "prices": cells,
    }


def coarse_certificate_bound(instance: ElasticInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that the prices of a certificate prove, in the objective's own sense."""
    block, slots, pool = data["block"], data["slots"], data["pool"]
    if not 1 <= slots <= MAX_SLOTS or not 1 <= block <= MAX_SLOTS:
        raise ValueError("block, slots: need numbers >= 1 that are not too large")
    if len(pool) != len(instance.servers):
        raise ValueError("pool: need a number for each server")
    if max(pool) >= len(pool) or set(pool) != set(range(max(pool) + 1)):
        raise ValueError("pool: need the numbers 0, 1, ...")
    price = np.zeros((max(pool) + 1, len(instance.resources), -(-slots // block)))
    for k, r, b, value in data["prices"]:
        if not (0 <= k < len(price) and 0 <= r < price.shape[1] and 0 <= b < price.shape[2]):
            raise IndexError(f"no pool {k}, resource {r}, block {b}")
        if not 0 <= value < np.inf:
            raise ValueError("prices: need numbers >= 0")
        price[k, r, b] = value
    return coarse_bound(instance, BlockPrices(block, slots, np.array(pool), price))


def coarse_bound(instance: ElasticInstance, prices: BlockPrices) -> float:
    """Return the bound that prices prove: on the optimum from below, of a batch from above."""
    pricer = PoolPricer(instance, prices.pool)
    priced = pricer.all(prices)
    assert priced is not None  # without a clock
    bound = pricer.bound(prices, priced[0])
    return -bound if instance.is_batch else bound
