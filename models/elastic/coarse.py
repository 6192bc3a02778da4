"""The bound `pooled-lp-coarse`: servers in a few pools, prices by block of slots; for full scale.

A run is a mode, a start, and workers and PSs by pool: in the cheapest pools, as many in each as its
empty servers hold. Prices are the same for a block of slots. Each step only relaxes the problem.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import Cluster, cluster, modes
from schedgap.models.elastic.placement import Floats, Ints, fits
from schedgap.models.elastic.pooled import MOST_SLOTS, crowded_slots, least_ps
from schedgap.models.elastic.schedule_lp import ROUNDING, pool_capacity
from schedgap.models.elastic.windows import no_schedule, shortest
from schedgap.solvers.clock import Clock
from schedgap.solvers.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.engine import OnBound
from schedgap.solvers.linear import LinearProgram

_ASKED = 256  # candidates of a job that are priced at once
ROUGH = 1e-3  # relative gap at which the prices of one pool guide those of several


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
class Coarse:
    """Prices >= 0 of a unit of each resource for one slot, by pool and block; 0 after the last."""

    block: int  # slots in a block; the last one may be shorter
    slots: int
    pool: Ints  # [h]
    price: Floats  # [pool, r, b]

    def by_slot(self) -> Floats:
        """[pool, r, t] in slots 1..T."""
        return np.repeat(self.price, self.block, axis=2)[:, :, : self.slots]


class Taken(NamedTuple):
    """A mode and start of a job that is cheap under prices."""

    cost: float
    row: int
    start: int  # slot, from 1


class _Table(NamedTuple):
    """The modes of a job, without PS types that ask for more than another one of the same row."""

    worker_type: Ints  # [k]
    ps_type: Ints  # [k] -1 in the ring
    workers: Ints  # [k]
    ps: Ints  # [k] the fewest
    central: Any  # [k] bool
    duration: Ints  # [k]


@lru_cache(maxsize=1 << 12)
def _table(instance: ElasticInstance, job: int) -> _Table:
    view = cluster(instance)
    groups: dict[tuple[int, bool, int, int], list[tuple[int, int]]] = {}
    for m, p, N, q, d in modes(instance, job):
        s = 0 if p is None else 1 if q else least_ps(view, m, p, N)
        groups.setdefault((m, q, N, d), []).append((-1 if p is None else p, s))
    rows = [
        (m, p, N, s, q, d)
        for (m, q, N, d), kinds in groups.items()
        for p, s in _undominated(view, tuple(kinds))
    ]
    return _Table(*(np.array(column) for column in zip(*rows, strict=True)))


@lru_cache(maxsize=1 << 16)
def _undominated(view: Cluster, kinds: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Return the PS types, with numbers, that ask for less of something than each other one."""
    if len(kinds) == 1:
        return kinds
    demand = np.array([s * view.ps_units[p] for p, s in kinds])
    less: Any = (demand[:, None] <= demand[None]).all(axis=2)  # [i, j] i asks for no more than j
    # One PS of a type must also fit where one of the other does: compare single PSs, too.
    one = np.array([view.ps_units[p] for p, _ in kinds])
    less &= (one[:, None] <= one[None]).all(axis=2)
    kept: list[int] = []
    for j in np.argsort(demand.sum(axis=1), kind="stable").tolist():
        if not any(less[i, j] for i in kept):
            kept.append(j)
    return tuple(kinds[j] for j in kept)


class CoarsePricer:
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

    def _most_central(self, m: int, p: int) -> Ints:
        """[pool] workers that one empty server holds, beside a PS."""
        if (m, p) not in self._central:
            free = self.view.capacity - (self.view.ps_units[p] if p >= 0 else 0.0)
            most = np.where((free >= 0).all(axis=1), fits(free, self.view.worker_units[m]), 0)
            most = np.array([most[self.pool == k].max() for k in range(len(self.capacity))])
            self._central[m, p] = most
        return self._central[m, p]

    def cheapest(self, market: "_Market", job: int, several: int = 1) -> list[Taken]:
        """Return the least cost of a job, and the least of some other starts and modes.

        In a batch problem the cost is the price less the weight. Empty: none is in time.
        """
        instance, given = self.instance, self.instance.jobs[job]
        table = _table(instance, job)
        a = self._starts(job, market.prices)
        end = a + 1 + table.duration[:, None]
        if instance.is_batch:
            base = np.full(a.shape, -given.weight)
        else:
            base = given.weight * end.astype(float)
        late = np.inf if instance.last_end is None else instance.last_end
        base[(a < given.arrival - 1) | (end > late)] = np.inf
        floor = (base + market.floor(table, a)).ravel()
        # The lowest floors are priced first; then all floors below what these cost.
        bar = float(np.partition(floor, _ASKED)[_ASKED]) if len(floor) > _ASKED else np.inf
        part = np.flatnonzero((floor <= bar) & (floor < np.inf))
        found = self._priced(market, table, a, base, part, several)
        least = found[-1].cost if len(found) == several else np.inf
        part = np.flatnonzero((floor > bar) & (floor < least))
        if len(part):
            found = sorted(found + self._priced(market, table, a, base, part, several))
        return found[:several]

    def _starts(self, job: int, prices: Coarse) -> Ints:
        """Return [k, i] the slots before a start among which each row has a best start.

        Between two of them, where neither start nor end passes into another block, a price is a
        least of linear functions of the start: least at an end. Some are out of the job's time.
        """
        key = job, prices.block, prices.slots
        if key not in self._known_starts:
            first, last = self.instance.jobs[job].arrival - 1, self.instance.last_end
            d = _table(self.instance, job).duration
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
        self, market: "_Market", table: _Table, a: Ints, base: Floats, part: Ints, several: int
    ) -> list[Taken]:
        """Return the cheapest runs among rows and starts given by flat index."""
        k, at = np.divmod(part, a.shape[1])
        start = a[k, at]
        cost = base.ravel()[part] + self._price(market, table, k, start)
        return [
            Taken(float(cost[i]), int(k[i]), int(start[i]) + 1)
            for i in np.argsort(cost, kind="stable")[:several].tolist()
            if np.isfinite(cost[i])
        ]

    def _price(self, market: "_Market", table: _Table, k: Ints, a: Ints) -> Floats:
        """Return the price of rows k from slots a on, by the cheapest pools."""
        worker, ps = market.windows(table, k, a)  # [pool, i]
        N, s, m, p = table.workers[k], table.ps[k], table.worker_type[k], table.ps_type[k]
        ps = np.zeros_like(worker) if ps is None else np.where(self._hosts[:, p], ps, np.inf)
        cost = np.full(len(k), np.inf)
        room = self._room[:, m]
        split = np.flatnonzero(~table.central[k])
        if len(split):
            order = np.argsort(np.where(room[:, split] > 0, worker[:, split], np.inf), axis=0)
            by = np.take_along_axis(worker[:, split], order, 0)
            upto = np.cumsum(np.take_along_axis(room[:, split], order, 0), axis=0)
            count = np.diff(np.minimum(upto, N[split]), axis=0, prepend=0)
            enough = upto[-1] >= N[split]
            total = (count * by).sum(axis=0) + s[split] * ps[:, split].min(axis=0)
            cost[split] = np.where(enough, total, np.inf)
        whole = np.flatnonzero(table.central[k])
        if len(whole):
            most = np.stack([self._most_central(m[i], p[i]) for i in whole.tolist()], axis=1)
            each = N[whole] * worker[:, whole] + s[whole] * ps[:, whole]
            cost[whole] = np.where(most >= N[whole], each, np.inf).min(axis=0)
        return cost

    def end(self, job: int, taken: Taken) -> int:
        """Return start + duration."""
        return taken.start + int(_table(self.instance, job).duration[taken.row])

    def usage(self, market: "_Market", job: int, taken: Taken) -> Floats:
        """[pool, r] what the run holds in each of its slots, in the cheapest pools."""
        table, use = _table(self.instance, job), np.zeros_like(self.capacity)
        k = np.array([taken.row])
        worker, ps = (
            None if part is None else part[:, 0]
            for part in market.windows(table, k, np.array([taken.start - 1]))
        )
        N, m, p = (
            int(column[taken.row]) for column in (table.workers, table.worker_type, table.ps_type)
        )
        assert worker is not None
        units = self.view.worker_units[m]
        if table.central[taken.row]:
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
            use[at] += int(table.ps[taken.row]) * self.view.ps_units[p]
        return use

    def bound(self, prices: Coarse, least: Floats) -> float:
        """Return the Lagrangian bound, rounding taken off; of a batch on minus the weight."""
        paid = float((prices.by_slot().sum(axis=2) * self.capacity).sum())
        size = float(np.abs(least).sum()) + paid * (1 + len(least)) + len(least)
        if self.instance.is_batch:
            size += sum(job.weight for job in self.instance.jobs)
        return float(least.sum()) - paid - ROUNDING * size

    def all(
        self, prices: Coarse, several: int = 1, clock: Clock | None = None
    ) -> tuple[Floats, list[list[Taken]], "_Market"] | None:
        """Return [j] the least cost of each job, 0 at most in a batch, and its cheapest runs.

        None when the clock ran out before the last job was priced.
        """
        market = _Market(self.view, prices, self._room > 0, self._hosts)
        least = np.full(len(self.instance.jobs), 0.0 if self.instance.is_batch else np.inf)
        runs: list[list[Taken]] = [[] for _ in self.instance.jobs]
        for j in self.jobs:
            if clock is not None and clock.expired():
                return None
            runs[j] = self.cheapest(market, j, several)
            if runs[j]:
                least[j] = min(least[j], runs[j][0].cost)
        return least, runs, market


class _Market:
    """Prices of workers and PSs by pool, summed from slot 1 on."""

    def __init__(self, view: Cluster, prices: Coarse, runs_on: Any, hosts: Any) -> None:
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

    def floor(self, table: _Table, a: Ints) -> Floats:
        """[k, i] what rows cost at least from slots a [k, i] on: the cheapest pool in each slot."""
        T = self.prices.slots
        start = np.clip(a, 0, T)
        end = np.clip(a + table.duration[:, None], 0, T)

        def paid(least: Floats, kind: Ints, count: Ints) -> Floats:
            flat, row = least.ravel(), kind[:, None] * (T + 1)
            cost: Floats = count[:, None] * (flat[row + end] - flat[row + start])
            return cost

        cost = paid(self._least_worker, table.worker_type, table.workers)
        if self._least_ps is not None and self._least_ps.any():
            cost += paid(self._least_ps, table.ps_type, table.ps)
        return cost

    def windows(self, table: _Table, k: Ints, a: Ints) -> tuple[Floats, Floats | None]:
        """Return the price [pool, i] of a worker, and of a PS, of rows k from slots a on."""
        T, m, p = self.prices.slots, table.worker_type[k], table.ps_type[k]
        start, end = np.minimum(a, T), np.minimum(a + table.duration[k], T)
        worker = (self._worker[m, :, end] - self._worker[m, :, start]).T
        if self._ps is None:
            return worker, None
        return worker, (self._ps[p, :, end] - self._ps[p, :, start]).T


@dataclass(frozen=True, slots=True, eq=False)
class CoarseLp:
    """Where column generation stopped; of a batch problem values are minus the weight."""

    bound: float | None
    prices: Coarse | None
    objective: float | None
    rounds: int
    columns: int


class _Layout:
    """Rows of the master: the jobs, then pools x resources x blocks in mean servers."""

    def __init__(self, pricer: CoarsePricer, block: int, slots: int) -> None:
        self.pricer, self.block, self.slots = pricer, block, slots
        self.jobs = len(pricer.instance.jobs)
        self.blocks = -(-slots // block)
        mean = pricer.view.capacity.mean(axis=0)
        self.size = np.where(mean > 0, mean, 1.0)  # [r]
        self._begin = np.arange(self.blocks) * block
        self._end = np.minimum(self._begin + block, slots)
        length = (self._end - self._begin).astype(float)
        cells = np.outer((pricer.capacity / self.size).ravel(), length).ravel()
        self.rows = self.jobs + len(cells)
        once, none = np.ones(self.jobs), np.full(self.jobs, -np.inf)
        at_least = none if pricer.instance.is_batch else once
        self.row_lower = np.concatenate([at_least, np.full(len(cells), -np.inf)])
        self.row_upper = np.concatenate([once, cells])

    def prices(self, duals: Floats) -> Coarse:
        """Return the prices behind duals [i]; those of the wrong sign count as 0."""
        shape = *self.pricer.capacity.shape, self.blocks
        cells = np.maximum(0.0, -duals[self.jobs :]).reshape(shape) / self.size[:, None]
        return Coarse(self.block, self.slots, self.pricer.pool, cells + 0.0)

    def duals(self, prices: Coarse, least: Floats) -> Floats:
        """Return the duals [i] of given prices, on these pools."""
        return np.concatenate([least, -(prices.price * self.size[:, None]).ravel()])

    def worth(self, job: int, end: int) -> float:
        """Return the cost of a column."""
        weight = self.pricer.instance.jobs[job].weight
        return -weight if self.pricer.instance.is_batch else weight * end

    def columns(self, runs: list[tuple[int, Taken]], market: _Market) -> Columns:
        """Return runs of jobs as columns."""
        rows: list[Any] = []
        entries: list[Any] = []
        at, cost = [], []
        for column, (j, taken) in enumerate(runs):
            end = self.pricer.end(j, taken)
            inside = np.minimum(end - 1, self._end) - np.maximum(taken.start - 1, self._begin)
            blocks = np.flatnonzero(inside > 0)
            use = self.pricer.usage(market, j, taken) / self.size
            cells = np.flatnonzero(use.ravel())
            rows += [[j], (self.jobs + cells[:, None] * self.blocks + blocks).ravel()]
            entries += [[1.0], np.outer(use.ravel()[cells], inside[blocks]).ravel()]
            at.append(np.full(1 + len(cells) * len(blocks), column))
            cost.append(self.worth(j, end))
        index = (np.concatenate(rows), np.concatenate(at))
        matrix = sparse.csc_array((np.concatenate(entries), index), (self.rows, len(runs)))
        return Columns(np.array(cost), matrix, [None] * len(runs))


def solve_coarse(
    instance: ElasticInstance,
    *,
    block: int,
    clock: Clock,
    pools: int = 1,
    seed: int = 0,
    threads: int = 1,
    on_bound: OnBound | None = None,
    each: int = 3,
    gap: float = 1e-6,
) -> CoarseLp:
    """Solve the linear relaxation over modes on pools of servers, prices constant on blocks.

    Parameters
    ----------
    pools : int
        Most pools; equal servers are in one.
    each : int
        Columns of a job to add in a round.
    gap : float
        Relative gap between master and bound at which it ends.

    Notes
    -----
    The first columns run each job after the last price; where the horizon ends before, artificial
    columns dearer than any schedule do. With several pools, those of the prices of one come first.
    """
    pricer = CoarsePricer(instance, server_pools(instance, pools))
    layout = _Layout(pricer, block, crowded_slots(instance))
    slots, jobs = layout.slots, layout.jobs
    costs: Any = np.zeros(0)
    known: Any = sparse.csc_array((layout.rows, 0))
    if not instance.is_batch:
        known = sparse.eye_array(layout.rows, jobs, format="csc")
        if instance.last_end is None:
            late = [max(slots + 1, job.arrival) for job in instance.jobs]
            ends = [t + (shortest(instance, j) or 0) for j, t in enumerate(late)]
            costs = np.array([layout.worth(j, end) for j, end in enumerate(ends)])
        else:
            dear = 2 * sum(job.weight for job in instance.jobs) * (instance.horizon + 1)
            costs = np.full(jobs, dear)
    center = None
    if len(pricer.capacity) > 1:
        rough = solve_coarse(
            instance, block=block, clock=clock, seed=seed, threads=threads, on_bound=on_bound,
            gap=max(gap, ROUGH),
        )  # fmt: skip
        if rough.prices is not None:
            spread = np.repeat(rough.prices.price, len(pricer.capacity), axis=0)
            prices = Coarse(block, slots, pricer.pool, spread)
            if (priced := pricer.all(prices, each, clock)) is not None:
                least, runs, market = priced
                center = layout.duals(prices, least)
                if first := [(j, run) for j in pricer.jobs for run in runs[j]]:
                    fresh = layout.columns(first, market)
                    costs = np.concatenate([costs, np.asarray(fresh.cost)])
                    known = sparse.hstack([known, fresh.matrix], format="csc")
    master = LinearProgram(
        cost=costs,
        lower=np.zeros(len(costs)),
        upper=np.full(len(costs), np.inf),
        matrix=known.tocsr(),
        row_lower=layout.row_lower,
        row_upper=layout.row_upper,
    )

    def pricing(duals: Floats) -> Priced | None:
        prices = layout.prices(duals)
        if (priced := pricer.all(prices, each, clock)) is None:
            return None
        least, runs, market = priced
        fresh = [(j, run) for j in pricer.jobs for run in runs[j] if run.cost < duals[j] - 1e-9]
        columns = layout.columns(fresh, market) if fresh else None
        return Priced(columns, pricer.bound(prices, least))

    result = generate_columns(
        master, pricing, clock=clock, seed=seed, threads=threads, on_bound=on_bound,
        prices=center, gap=gap,
    )  # fmt: skip
    return CoarseLp(
        bound=result.bound,
        prices=None if result.prices is None else layout.prices(result.prices),
        objective=result.objective,
        rounds=result.rounds,
        columns=len(result.tags),
    )


def coarse_certificate(prices: Coarse) -> dict[str, Any]:
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


def coarse_certified(instance: ElasticInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that the prices of a certificate prove, in the objective's own sense."""
    block, slots, pool = data["block"], data["slots"], data["pool"]
    if not all(isinstance(n, int) for n in (block, slots)) or not 1 <= slots <= MOST_SLOTS:
        raise ValueError("slots: need a number >= 1 that is not too large")
    if not 1 <= block <= MOST_SLOTS:
        raise ValueError("block: need a number >= 1")
    if len(pool) != len(instance.servers) or not all(isinstance(k, int) for k in pool):
        raise ValueError("pool: need a number for each server")
    if set(pool) != set(range(max(pool) + 1)):
        raise ValueError("pool: need the numbers 0, 1, ...")
    if no_schedule(instance) is not None:
        raise ValueError("the instance has no schedule at all")
    price = np.zeros((max(pool) + 1, len(instance.resources), -(-slots // block)))
    for k, r, b, value in data["prices"]:
        if not (0 <= k < len(price) and 0 <= r < price.shape[1] and 0 <= b < price.shape[2]):
            raise IndexError(f"no pool {k}, resource {r}, block {b}")
        if not 0 <= value < np.inf:
            raise ValueError("prices: need numbers >= 0")
        price[k, r, b] = value
    return coarse_bound(instance, Coarse(block, slots, np.array(pool), price))


def coarse_bound(instance: ElasticInstance, prices: Coarse) -> float:
    """Return the bound that prices prove: on the optimum from below, of a batch from above."""
    pricer = CoarsePricer(instance, prices.pool)
    priced = pricer.all(prices)
    assert priced is not None  # without a clock
    bound = pricer.bound(prices, priced[0])
    return -bound if instance.is_batch else bound
