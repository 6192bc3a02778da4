"""The bounds `pooled-lp-coarse`, `no-contention` and `volume`: all servers as one, for full scale.

On a single pool a run is a mode: what it asks for in all, on any servers. Prices are the same for
a block of slots. Each step only relaxes the problem.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import Cluster, Mode, cluster, modes
from schedgap.models.elastic.placement import Floats, Ints, fits, ps_needed
from schedgap.models.elastic.schedule_lp import ROUNDING
from schedgap.models.elastic.windows import earliest, no_schedule, shortest
from schedgap.solvers.clock import Clock
from schedgap.solvers.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.engine import OnBound
from schedgap.solvers.linear import LinearProgram

MOST_SLOTS = 5_000  # with prices


@lru_cache(maxsize=1 << 16)
def least_ps(view: Cluster, m: int, p: int, workers: int) -> int:
    """Return the fewest PSs with which a split mode runs on the empty cluster.

    Over all servers n that hold the PSs, with as many workers beside them as fit.
    """
    demand = view.demand(Mode(m, p, workers, False, 1))
    assert demand.ps is not None
    room = fits(view.capacity, demand.ps)
    for s in range(1, demand.most_ps() + 1):
        n = np.flatnonzero(room >= s)
        if not len(n):
            break
        beside = fits(view.capacity[n] - s * demand.ps, demand.worker)
        g = int(np.minimum(beside, workers - 1).max())
        if ps_needed(demand.bandwidth, demand.ps_bandwidth, workers - g) <= s:
            return s
    raise AssertionError("every mode has a placement")


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """The modes of a job that no other beats in duration and all demands."""

    duration: Ints  # [k] slots
    demand: Floats  # [k, r] on all servers together, in units


@lru_cache(maxsize=1 << 12)
def choices(instance: ElasticInstance, job: int) -> Choices:
    """Return the undominated modes of a job, by duration."""
    view, rows = cluster(instance), set()
    for mode in modes(instance, job):
        demand = mode.workers * view.worker_units[mode.worker_type]
        if mode.ps_type is not None:
            m, p = mode.worker_type, mode.ps_type
            ps = 1 if mode.central else least_ps(view, m, p, mode.workers)
            demand = demand + ps * view.ps_units[p]
        rows.add((mode.duration, *demand.tolist()))
    table = np.array(sorted(rows), dtype=float).reshape(len(rows), len(view.scale) + 1)
    kept: list[int] = []
    for k in range(len(table)):
        if not kept or not (table[kept] <= table[k]).all(axis=1).any():
            kept.append(k)
    return Choices(table[kept, 0].astype(np.int64), table[kept, 1:])


def crowded_slots(instance: ElasticInstance) -> int:
    """Return a number of slots after which little is contended, for prices; any is valid.

    The last arrival, then half as long again as the scarcest resource is busy with all jobs.
    """
    if instance.last_end is not None:
        return min(instance.last_end - 1, MOST_SLOTS)
    total = cluster(instance).capacity.sum(axis=0)
    busy = np.zeros(len(total))
    for j in range(len(instance.jobs)):
        own = choices(instance, j)
        busy += (own.demand * own.duration[:, None]).min(axis=0)
    share = float((busy[total > 0] / total[total > 0]).max(initial=0.0))
    longest = max(shortest(instance, j) or 0 for j in range(len(instance.jobs)))
    last = max(job.arrival for job in instance.jobs)
    return int(min(max(1, last + math.ceil(1.5 * share) + longest), MOST_SLOTS))


@dataclass(frozen=True, slots=True, eq=False)
class Coarse:
    """Prices >= 0 of a unit of each resource for one slot, by block of slots; 0 after the last."""

    block: int  # slots in a block; the last one may be shorter
    slots: int
    price: Floats  # [r, b]

    def paid(self) -> Floats:
        """[r, t] price of a unit from slot 1 to slot t, t = 0..slots."""
        slot = np.repeat(self.price, self.block, axis=1)[:, : self.slots]
        return np.hstack([np.zeros((len(slot), 1)), np.cumsum(slot, axis=1)])


class CoarsePricer:
    """Cheapest modes and starts of all jobs under prices by block."""

    def __init__(self, instance: ElasticInstance) -> None:
        self.instance = instance
        self.capacity = cluster(instance).capacity.sum(axis=0)  # [r]
        self.choices = [
            choices(instance, j) if modes(instance, j) else None for j in range(len(instance.jobs))
        ]

    def best(self, prices: Coarse, paid: Floats, job: int) -> tuple[Floats, Ints, Ints, Ints]:
        """Return the least cost of each choice over its starts [k], the start, duration and k.

        In a batch problem the cost is the price less the weight. Infinite where none is in time.
        """
        instance, given = self.instance, self.instance.jobs[job]
        own = self.choices[job]
        assert own is not None
        T, arrival = prices.slots, given.arrival
        d = own.duration
        last = instance.last_end
        # After the last price only the first start can be best.
        latest = max(T, arrival - 1) + 1 if last is None else last - int(d.min())
        start = np.arange(arrival, max(arrival, latest) + 1)
        a, b = np.minimum(start - 1, T), np.minimum(start[None, :] - 1 + d[:, None], T)
        cost = np.zeros(b.shape)
        for r in range(len(paid)):
            cost += own.demand[:, r, None] * np.maximum(0.0, paid[r][b] - paid[r][a])
        if instance.is_batch:
            cost -= given.weight
        else:
            cost += given.weight * (start[None, :] + d[:, None])
        if last is not None:
            cost[start[None, :] + d[:, None] > last] = np.inf
        at = cost.argmin(axis=1)
        k = np.arange(len(d))
        return cost[k, at], start[at], d, k

    def bound(self, prices: Coarse, least: Floats) -> float:
        """Return the Lagrangian bound, rounding taken off; of a batch on minus the weight."""
        paid = float((prices.paid()[:, -1] * self.capacity).sum())
        size = float(np.abs(least).sum()) + paid * (1 + len(least)) + len(least)
        if self.instance.is_batch:
            size += sum(job.weight for job in self.instance.jobs)
        return float(least.sum()) - paid - ROUNDING * size

    def least(self, prices: Coarse) -> Floats:
        """[j] the least cost of each job; 0 at most in a batch problem."""
        paid = prices.paid()
        none = 0.0 if self.instance.is_batch else np.inf
        return np.array(
            [
                none if own is None else min(
                    float(self.best(prices, paid, j)[0].min()),
                    0.0 if self.instance.is_batch else np.inf,
                )
                for j, own in enumerate(self.choices)
            ]
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class CoarseLp:
    """Where column generation stopped; of a batch problem values are minus the weight."""

    bound: float | None
    prices: Coarse | None
    objective: float | None
    rounds: int
    columns: int


def solve_coarse(
    instance: ElasticInstance,
    *,
    block: int,
    clock: Clock,
    seed: int = 0,
    threads: int = 1,
    on_bound: OnBound | None = None,
    each: int = 3,
) -> CoarseLp:
    """Solve the linear relaxation over modes on one pool, prices constant on blocks of slots.

    Parameters
    ----------
    each : int
        Columns of a job to add in a round.

    Notes
    -----
    The first columns run each job after the last price; where the horizon ends before, artificial
    columns dearer than any schedule do.
    """
    pricer = CoarsePricer(instance)
    slots = crowded_slots(instance)
    jobs, R, B = len(instance.jobs), len(pricer.capacity), -(-slots // block)
    size = np.where(pricer.capacity > 0, pricer.capacity, 1.0)
    length = np.full(B, float(block))
    length[-1] = slots - block * (B - 1)
    cells = np.outer(pricer.capacity / size, length).ravel()  # [r, b]
    begins = np.arange(B) * block

    def column(job: int, start: int, duration: int, demand: Floats) -> Any:
        inside = np.minimum(start - 1 + duration, np.minimum(begins + block, slots))
        inside = np.maximum(0.0, inside - np.maximum(start - 1, begins))
        own = np.zeros(jobs)
        own[job] = 1.0
        return np.concatenate([own, np.outer(demand / size, inside).ravel()])

    def worth(job: int, end: int) -> float:
        weight = instance.jobs[job].weight
        return -weight if instance.is_batch else weight * end

    known, costs = [], []
    if not instance.is_batch:
        known = list(np.eye(jobs, jobs + len(cells)))
        if instance.last_end is None:
            late = [max(slots + 1, job.arrival) for job in instance.jobs]
            costs = [worth(j, t + (shortest(instance, j) or 0)) for j, t in enumerate(late)]
        else:
            dear = 2 * sum(job.weight for job in instance.jobs) * (instance.horizon + 1)
            costs = [dear] * jobs
    rows = jobs + len(cells)
    once = np.ones(jobs)
    master = LinearProgram(
        cost=np.array(costs),
        lower=np.zeros(len(costs)),
        upper=np.full(len(costs), np.inf),
        matrix=sparse.csr_array(np.array(known).reshape(len(known), rows).T),
        row_lower=np.concatenate(
            [np.full(jobs, -np.inf) if instance.is_batch else once, np.full(len(cells), -np.inf)]
        ),
        row_upper=np.concatenate([once, cells]),
    )

    def prices_of(duals: Floats) -> Coarse:
        return Coarse(block, slots, np.maximum(0.0, -duals[jobs:]).reshape(R, B) / size[:, None])

    def pricing(duals: Floats) -> Priced:
        prices = prices_of(duals)
        paid = prices.paid()
        least = np.full(jobs, 0.0 if instance.is_batch else np.inf)
        fresh, cost = [], []
        for j, own in enumerate(pricer.choices):
            if own is None:
                continue
            value, start, duration, _ = pricer.best(prices, paid, j)
            least[j] = min(least[j], float(value.min()))
            for k in np.argsort(value, kind="stable")[:each].tolist():
                if value[k] < duals[j] - 1e-9:
                    s, d = int(start[k]), int(duration[k])
                    fresh.append(column(j, s, d, own.demand[k]))
                    cost.append(worth(j, s + d))
        columns = None
        if fresh:
            columns = Columns(
                np.array(cost), sparse.csc_array(np.array(fresh).T), [None] * len(fresh)
            )
        return Priced(columns, pricer.bound(prices, least))

    result = generate_columns(
        master, pricing, clock=clock, seed=seed, threads=threads, on_bound=on_bound
    )
    return CoarseLp(
        bound=result.bound,
        prices=None if result.prices is None else prices_of(result.prices),
        objective=result.objective,
        rounds=result.rounds,
        columns=len(result.tags),
    )


def coarse_certificate(prices: Coarse) -> dict[str, Any]:
    """Return the prices, rounded to 12 digits, as plain JSON data."""
    cells = [
        [int(r), int(b), float(f"{prices.price[r, b]:.12g}")]
        for r, b in np.argwhere(prices.price > 0)
    ]
    return {
        "kind": "pooled-lp-coarse",
        "block": prices.block,
        "slots": prices.slots,
        "prices": cells,
    }


def coarse_certified(instance: ElasticInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that the prices of a certificate prove, in the objective's own sense."""
    block, slots = data["block"], data["slots"]
    if not all(isinstance(n, int) for n in (block, slots)) or not 1 <= slots <= MOST_SLOTS:
        raise ValueError("slots: need a number >= 1 that is not too large")
    if not 1 <= block <= MOST_SLOTS:
        raise ValueError("block: need a number >= 1")
    if no_schedule(instance) is not None:
        raise ValueError("the instance has no schedule at all")
    price = np.zeros((len(instance.resources), -(-slots // block)))
    for r, b, value in data["prices"]:
        if not (0 <= r < price.shape[0] and 0 <= b < price.shape[1]):
            raise IndexError(f"no resource {r}, block {b}")
        if not 0 <= value < np.inf:
            raise ValueError("prices: need numbers >= 0")
        price[r, b] = value
    return coarse_bound(instance, Coarse(block, slots, price))


def coarse_bound(instance: ElasticInstance, prices: Coarse) -> float:
    """Return the bound that prices prove: on the optimum from below, of a batch from above."""
    pricer = CoarsePricer(instance)
    bound = pricer.bound(prices, pricer.least(prices))
    return -bound if instance.is_batch else bound


def no_contention(instance: ElasticInstance) -> float:
    """Return the value of every job alone at its quickest; of a batch, of all jobs in time."""
    if instance.is_batch:
        return math.fsum(
            job.weight
            for j, job in enumerate(instance.jobs)
            for d in [shortest(instance, j)]
            if d is not None and job.arrival + d <= (instance.last_end or 0)
        )
    ends = earliest(instance)
    if ends is None:
        return math.inf
    return math.fsum(job.weight * end for job, end in zip(instance.jobs, ends, strict=True))


def volume(instance: ElasticInstance, resource: int) -> float | None:
    """Return the bound by mean busy times on one resource; None where there is none of it.

    Notes
    -----
    p_j is the least volume of job j as a share of the resource: demand times duration over the
    total capacity. A run at a constant rate ends, by the paper's count, at its mean busy time
    + d / 2 + 1; of all preemptive schedules, running the available job of the largest w_j / p_j
    has the least weighted mean busy time (Goemans et al. 2002). A run of more volume than p_j is a
    run of p_j at a lower rate, with the same mean busy time.
    """
    total = float(cluster(instance).capacity[:, resource].sum())
    if not total > 0:
        return None
    jobs = range(len(instance.jobs))
    least = [_least_volume(instance, j, resource) / total for j in jobs]
    release = [job.arrival - 1.0 for job in instance.jobs]
    weight = [job.weight for job in instance.jobs]
    busy = mean_busy_times(release, least, weight)
    value = math.fsum(
        w * (m + (shortest(instance, j) or 0) / 2 + 1)
        for j, w, m in zip(jobs, weight, busy, strict=True)
    )
    return value * (1 - ROUNDING)


def _least_volume(instance: ElasticInstance, job: int, resource: int) -> float:
    """Least demand x duration of a mode, in units of one resource and slots."""
    own = choices(instance, job)
    return float((own.demand[:, resource] * own.duration).min())


def mean_busy_times(release: list[float], volume: list[float], weight: list[float]) -> list[float]:
    """Return [j] the mean busy times of the schedule by w / p with preemption, at unit speed."""
    order = sorted(range(len(release)), key=lambda j: release[j])
    left, moment = list(volume), [0.0] * len(volume)
    now, at, waiting = 0.0, 0, set[int]()
    while at < len(order) or waiting:
        if not waiting:
            now = max(now, release[order[at]])
        while at < len(order) and release[order[at]] <= now:
            if volume[order[at]] > 0:
                waiting.add(order[at])
            at += 1
        if not waiting:
            continue
        j = max(waiting, key=lambda j: (weight[j] / volume[j], -j))
        until = now + left[j]
        finished = at == len(order) or until <= release[order[at]]
        if not finished:
            until = release[order[at]]
        moment[j] += (until - now) * (until + now) / 2
        left[j] -= until - now
        now = until
        if finished:
            waiting.remove(j)
    return [moment[j] / volume[j] if volume[j] > 0 else release[j] for j in range(len(release))]
