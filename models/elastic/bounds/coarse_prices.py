"""Prices by pool of servers and block of slots (`pooled-lp-coarse`), and the bound they prove.

A run is a mode, a start, and numbers of workers and PSs by pool: the cheapest pools first, in each
as many workers as its empty servers hold. Prices are constant in a block of slots. Each of these
steps relaxes the problem: servers are pooled, and a pool's capacity holds for a block as a whole.

References
----------
F. Glover, "Surrogate constraint duality in mathematical programming", Operations Research (1975):
sums of rows as a relaxation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.block_pricing import (
    add_window_prices,
    block_edges,
    candidate_starts,
    price_each_job,
    safe_bound,
)
from schedgap.models.elastic.bounds.mode_tables import ROUNDING, ModeTable, table, table_on_one_pool
from schedgap.models.elastic.bounds.price_lists import price_list, read_price_list
from schedgap.models.elastic.bounds.schedule_lp import pool_capacity
from schedgap.models.elastic.bounds.volume import MAX_SLOTS
from schedgap.models.elastic.modes import ElasticCluster, cluster, modes
from schedgap.models.elastic.placement import Floats, Ints, fits
from schedgap.solvers.children.clock import Clock

Mask = NDArray[np.bool_]
_PRICED_FIRST = 256  # candidates of a job that are priced at once


def server_pools(instance: ElasticInstance, most: int) -> Ints:
    """Return [h] the pool of each server: equal capacities, numbered by first appearance.

    `most`: largest number of pools. If there are more, those with the least capacity for workers
    (of all types, as shares of the cluster's) are merged into one.
    """
    rows = cluster(instance).capacity
    seen: dict[bytes, int] = {}
    pool = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])
    if len(seen) <= most:
        return pool
    fit = np.stack([fits(rows, worker) for worker in cluster(instance).worker_units], axis=1)
    fit_share = (fit / np.maximum(fit.sum(axis=0), 1)).sum(axis=1)  # [h]
    total = np.bincount(pool, weights=fit_share)
    largest = np.argsort(-total, kind="stable")[: most - 1]
    number = np.full(len(seen), most - 1)
    number[np.sort(largest)] = np.arange(most - 1)
    merged: Ints = number[pool]
    return merged


@dataclass(frozen=True, slots=True, eq=False)
class BlockPrices:
    """Prices >= 0 of a unit of a resource for a slot, by pool and block; 0 after the last slot."""

    block: int  # slots in a block; the last one may be shorter
    slots: int
    pool: Ints  # [h]
    price: Floats  # [pool, r, b]

    def by_slot(self) -> Floats:
        """Return [pool, r, t] the prices in slots 1..T."""
        return np.repeat(self.price, self.block, axis=2)[:, :, : self.slots]


class PoolRun(NamedTuple):
    """A mode and start of a job, with its cost under prices."""

    cost: float
    row: int  # of the job's modes, see `PoolPricer.rows`
    start: int  # slot, from 1


class PoolPricer:
    """The pricing problem: cheapest modes, starts and pools of all jobs under prices by block.

    `pool` [h]: pool of each server.
    """

    def __init__(self, instance: ElasticInstance, pool: Ints) -> None:
        self.instance, self.pool, self.view = instance, pool, cluster(instance)
        self.capacity = pool_capacity(instance, pool)  # [pool, r]
        view, pools = self.view, range(len(self.capacity))
        fit = np.stack([fits(view.capacity, worker) for worker in view.worker_units])
        self._fit = np.stack([fit[:, pool == k].sum(axis=1) for k in pools])  # [pool, m]
        hosts = [(view.capacity >= ps).all(axis=1) for ps in view.ps_units]
        self._hosts = np.array([[host[pool == k].any() for host in hosts] for k in pools])
        self._central: dict[tuple[int, int], Ints] = {}
        self._known_starts: dict[tuple[int, int, int], Ints] = {}
        self.jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]

    def rows(self, job: int) -> ModeTable:
        """Return the modes of a job among which a cheapest one is.

        `job`: index of a job that has modes.
        """
        single_pool = len(self.capacity) == 1
        return table_on_one_pool(self.instance, job) if single_pool else table(self.instance, job)

    def _max_central(self, m: int, p: int) -> Ints:
        """Return [pool] the workers that one empty server holds, together with a PS."""
        if (m, p) not in self._central:
            free = self.view.capacity - (self.view.ps_units[p] if p >= 0 else 0.0)
            most = np.where((free >= 0).all(axis=1), fits(free, self.view.worker_units[m]), 0)
            most = np.array([most[self.pool == k].max() for k in range(len(self.capacity))])
            self._central[m, p] = most
        return self._central[m, p]

    def cheapest(self, sums: "PoolPriceSums", job: int, several: int = 1) -> list[PoolRun]:
        """Return the cheapest run of a job, and the next cheapest of other starts and modes.

        In a batch problem the cost is the price less the weight.

        `sums`: prices of workers and PSs. `job`: index of a job that has modes. `several`: largest
        number of runs.

        Returns
        -------
        list of PoolRun
            Empty when no run ends in time.
        """
        instance, given = self.instance, self.instance.jobs[job]
        rows = self.rows(job)
        key = job, sums.prices.block, sums.prices.slots
        if key not in self._known_starts:
            edges = block_edges(sums.prices.block, sums.prices.slots)
            self._known_starts[key] = candidate_starts(
                given.arrival - 1, instance.last_end, edges, rows.duration
            )
        a = self._known_starts[key]
        end = a + 1 + rows.duration[:, None]
        if instance.is_batch:
            base = np.full(a.shape, -given.weight)
        else:
            base = given.weight * end.astype(float)
        late = np.inf if instance.last_end is None else instance.last_end
        base[(a < given.arrival - 1) | (end > late)] = np.inf
        bound = (base + sums.lower_bounds(rows, a)).ravel()
        # Candidates with the lowest bounds are priced first; then all others whose bound is below
        # the cost of the runs found.
        threshold = (
            float(np.partition(bound, _PRICED_FIRST)[_PRICED_FIRST])
            if len(bound) > _PRICED_FIRST
            else np.inf
        )
        candidates = np.flatnonzero((bound <= threshold) & (bound < np.inf))
        runs = self._priced(sums, rows, a, base, candidates, several)
        least = runs[-1].cost if len(runs) == several else np.inf
        candidates = np.flatnonzero((bound > threshold) & (bound < least))
        if len(candidates):
            runs = sorted(runs + self._priced(sums, rows, a, base, candidates, several))
        return runs[:several]

    def _priced(
        self,
        sums: "PoolPriceSums",
        rows: ModeTable,
        a: Ints,
        base: Floats,
        candidates: Ints,
        several: int,
    ) -> list[PoolRun]:
        """Return the cheapest runs among candidates given by flat index into rows x starts."""
        k, at = np.divmod(candidates, a.shape[1])
        start = a[k, at]
        cost = base.ravel()[candidates] + self._price(sums, rows, k, start)
        return [
            PoolRun(float(cost[i]), int(k[i]), int(start[i]) + 1)
            for i in np.argsort(cost, kind="stable")[:several].tolist()
            if np.isfinite(cost[i])
        ]

    def _price(self, sums: "PoolPriceSums", rows: ModeTable, k: Ints, a: Ints) -> Floats:
        """Return the price of rows k from slots a on, in the cheapest pools."""
        worker, ps = sums.windows(rows, k, a)  # [pool, i]
        N, s, m, p = rows.workers[k], rows.ps[k], rows.worker_type[k], rows.ps_type[k]
        ps = np.zeros_like(worker) if ps is None else np.where(self._hosts[:, p], ps, np.inf)
        cost = np.full(len(k), np.inf)
        fit = self._fit[:, m]
        split = np.flatnonzero(~rows.central[k])
        if len(split):  # fill the pools in the order of their price
            order = np.argsort(np.where(fit[:, split] > 0, worker[:, split], np.inf), axis=0)
            sorted_price = np.take_along_axis(worker[:, split], order, 0)
            upto = np.cumsum(np.take_along_axis(fit[:, split], order, 0), axis=0)
            count = np.diff(np.minimum(upto, N[split]), axis=0, prepend=0)
            enough = upto[-1] >= N[split]
            total = (count * sorted_price).sum(axis=0) + s[split] * ps[:, split].min(axis=0)
            cost[split] = np.where(enough, total, np.inf)
        central = np.flatnonzero(rows.central[k])
        if len(central):  # all in the cheapest pool with a server that is large enough
            most = np.stack([self._max_central(m[i], p[i]) for i in central.tolist()], axis=1)
            each = N[central] * worker[:, central] + s[central] * ps[:, central]
            cost[central] = np.where(most >= N[central], each, np.inf).min(axis=0)
        return cost

    def end(self, job: int, run: PoolRun) -> int:
        """Return start + duration of a run."""
        return run.start + int(self.rows(job).duration[run.row])

    def usage(self, sums: "PoolPriceSums", job: int, run: PoolRun) -> Floats:
        """Return [pool, r] the usage of a run in each of its slots, in the cheapest pools.

        `sums`: prices of workers and PSs.
        """
        rows, use = self.rows(job), np.zeros_like(self.capacity)
        k = np.array([run.row])
        worker, ps = (
            None if part is None else part[:, 0]
            for part in sums.windows(rows, k, np.array([run.start - 1]))
        )
        N, m, p = (
            int(column[run.row]) for column in (rows.workers, rows.worker_type, rows.ps_type)
        )
        assert worker is not None
        units = self.view.worker_units[m]
        if rows.central[run.row]:
            each = N * worker + (0.0 if ps is None else ps)
            at = int(np.where(self._max_central(m, p) >= N, each, np.inf).argmin())
            use[at] = N * units + (0.0 if p < 0 else self.view.ps_units[p])
            return use
        fit = self._fit[:, m]
        for at in np.argsort(np.where(fit > 0, worker, np.inf), kind="stable").tolist():
            count = min(N, int(fit[at]))
            use[at] += count * units
            N -= count
        if ps is not None:
            at = int(np.where(self._hosts[:, p], ps, np.inf).argmin())
            use[at] += int(rows.ps[run.row]) * self.view.ps_units[p]
        return use

    def bound(self, prices: BlockPrices, least: Floats) -> float:
        """Return the Lagrangian bound sum_j least_j - sum price x capacity, less rounding errors.

        A lower bound on the weighted completion time, or on minus the weight of a batch.

        `prices`: any prices >= 0. `least` [j]: from `price_jobs`.
        """
        paid = float((prices.by_slot().sum(axis=2) * self.capacity).sum())
        return safe_bound(self.instance, least, paid, rounding=ROUNDING, terms=1 + len(least))

    def price_jobs(
        self, prices: BlockPrices, several: int = 1, clock: Clock | None = None
    ) -> tuple[Floats, list[list[PoolRun]], "PoolPriceSums"] | None:
        """Return [j] the least cost of each job (in a batch at most 0), its runs, and the sums.

        `prices`: any prices >= 0. `several`: runs of each job.

        Returns
        -------
        (array [j], list of list of PoolRun, PoolPriceSums) or None
            None when the clock expired before the last job was priced.
        """
        sums = PoolPriceSums(self.view, prices, self._fit > 0, self._hosts)
        priced = price_each_job(
            self.instance, self.jobs, lambda j: self.cheapest(sums, j, several), clock
        )
        return None if priced is None else (*priced, sums)


class PoolPriceSums:
    """Prices of workers and PSs by pool, summed from slot 1 on, so that windows are differences.

    `prices`: prices of units. `worker_fits`, `ps_fits` [pool, type]: whether a container fits on an
    empty server of the pool.
    """

    def __init__(
        self, view: ElasticCluster, prices: BlockPrices, worker_fits: Mask, ps_fits: Mask
    ) -> None:
        self.prices = prices
        slot = prices.by_slot()

        def summed(units: Floats, able: Mask) -> tuple[Floats, Floats]:
            """Return sums [type, pool, t], and [type, t] with the cheapest pool in each slot."""
            each = np.einsum("krt,ir->ikt", slot, units)
            least = np.where(able.T[:, :, None], each, np.inf).min(axis=1)
            least = np.where(np.isfinite(least), least, 0.0)
            pad = ((0, 0), (0, 0), (1, 0))
            return np.pad(np.cumsum(each, axis=2), pad), np.pad(np.cumsum(least, axis=1), pad[1:])

        self._worker, self._least_worker = summed(view.worker_units, worker_fits)
        self._ps = self._least_ps = None
        if len(view.ps_units):
            self._ps, self._least_ps = summed(view.ps_units, ps_fits)

    def lower_bounds(self, rows: ModeTable, a: Ints) -> Floats:
        """Return [k, i] lower bounds on prices from slots a on: the cheapest pool in each slot.

        `rows`: modes of a job. `a` [k, i]: slots before the starts.
        """
        cost = np.zeros(a.shape)
        add_window_prices(
            cost, self._least_worker, rows.worker_type, rows.workers, a, rows.duration
        )
        if self._least_ps is not None:
            add_window_prices(cost, self._least_ps, rows.ps_type, rows.ps, a, rows.duration)
        return cost

    def windows(self, rows: ModeTable, k: Ints, a: Ints) -> tuple[Floats, Floats | None]:
        """Return the price [pool, i] of a worker, and of a PS, of rows k from slots a on.

        `rows`: modes of a job. `k` [i]: rows. `a` [i]: slots before the starts.
        """
        T, m, p = self.prices.slots, rows.worker_type[k], rows.ps_type[k]
        start, end = np.minimum(a, T), np.minimum(a + rows.duration[k], T)
        worker = (self._worker[m, :, end] - self._worker[m, :, start]).T
        if self._ps is None:
            return worker, None
        return worker, (self._ps[p, :, end] - self._ps[p, :, start]).T


def coarse_certificate(prices: BlockPrices) -> dict[str, object]:
    """Return the certificate as plain JSON data.

    `prices`: rounded to 12 digits.
    """
    return {
        "kind": "pooled-lp-coarse",
        "block": prices.block,
        "slots": prices.slots,
        "pool": prices.pool.tolist(),
        "prices": price_list(prices.price),
    }


def coarse_certificate_bound(instance: ElasticInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that the prices of a certificate prove, in the objective's own sense.

    `data`: the certificate, as written by `coarse_certificate`.

    Raises
    ------
    ValueError, IndexError
        When it does not fit the instance.
    """
    block, slots, pool = data["block"], data["slots"], data["pool"]
    if not 1 <= slots <= MAX_SLOTS or not 1 <= block <= MAX_SLOTS:
        raise ValueError("block, slots: need numbers >= 1 that are not too large")
    if len(pool) != len(instance.servers):
        raise ValueError("pool: need a number for each server")
    if max(pool) >= len(pool) or set(pool) != set(range(max(pool) + 1)):
        raise ValueError("pool: need the numbers 0, 1, ...")
    shape = max(pool) + 1, len(instance.resources), -(-slots // block)
    price = read_price_list(data["prices"], shape)
    prices = BlockPrices(block, slots, np.array(pool), price)
    pricer = PoolPricer(instance, prices.pool)
    priced = pricer.price_jobs(prices)
    assert priced is not None  # without a clock
    bound = pricer.bound(prices, priced[0])
    return -bound if instance.is_batch else bound
