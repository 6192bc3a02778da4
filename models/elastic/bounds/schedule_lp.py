"""The bounds `schedule-lp` and `pooled-lp`: the linear relaxation of (8), by column generation.

The capacities are the only rows that join the jobs. Under prices delta >= 0 of a unit of a resource
for one slot, every schedule costs at least the sum over the jobs of the cheapest run, w (t + d) and
its price, less the price of all capacity: the Lagrangian bound, which the prices alone certify.
Servers of equal capacities can share their prices: the runs are closed under exchanging them, so
the average over all exchanges of a fractional schedule is one, and uses them equally.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.pricing import PricedCluster
from schedgap.models.elastic.bounds.volume import contended_slots
from schedgap.models.elastic.modes import Mode, cluster, modes
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.programs.columns import ElasticRun, run_of, runs_from
from schedgap.models.elastic.time_windows import windows
from schedgap.models.method import MethodResult
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.loops.column_generation import (
    ColumnGenerationResult,
    Columns,
    Priced,
    generate_columns,
)
from schedgap.solvers.programs.arrays import LinearProgram

TIES = 4e-9  # relative: of costs that differ by less, pricing may return the larger one
MAX_CELLS = 2_000_000  # servers x resources x slots under prices
MAX_STARTS, MAX_ENTRIES = 20_000_000, 40_000_000  # of the evaluation of a certificate


OnProved = Callable[[float, Mapping[str, Any]], None]
"""Told of a better bound of the minimisation, and its certificate."""


@dataclass(frozen=True, slots=True, eq=False)
class SlotPrices:
    """Prices >= 0 of a unit (of `Cluster`) of a resource for one slot, in objective units.

    After the last slot all is free; a bound holds for whatever number of slots.
    """

    pool: Ints  # [h] pool of each server: 0, 1, ... in order of first appearance
    price: Floats  # [pool, r, t]

    def per_demand(self, instance: ElasticInstance) -> Floats:
        """Return [t, h, r], of one unit of demand as given in the file."""
        spread = self.price[self.pool] * cluster(instance).scale[:, None]
        result: Floats = np.moveaxis(spread, 2, 0)
        return result


def pools(instance: ElasticInstance, *, pooled: bool) -> Ints:
    """Return [h] the pool of each server: those of equal capacities, or each one by itself."""
    if not pooled:
        return np.arange(len(instance.servers))
    seen: dict[bytes, int] = {}
    rows = cluster(instance).capacity
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])


def pool_capacity(instance: ElasticInstance, pool: Ints) -> Floats:
    """Return [pool, r] the capacity of each pool, in units."""
    capacity = cluster(instance).capacity
    total = np.zeros((int(pool.max()) + 1, capacity.shape[1]))
    np.add.at(total, pool, capacity)
    return total


def priced_slots(instance: ElasticInstance, schedule: ElasticSchedule | None) -> int:
    """Return the number of slots with prices; any is valid.

    To the last one that an optimal schedule can use, or where that is later to the last one that is
    likely to be contended, and the end of the known schedule.
    """
    if instance.is_batch:
        return (instance.last_end or 2) - 1
    if schedule is None:
        return instance.horizon
    span = windows(instance, schedule.value(instance))
    assert span is not None
    last = max(schedule.segments(job.id)[-1].end for job in instance.jobs) - 1
    return max(1, min(span.slots, max(last, contended_slots(instance))))


class RunPricer:
    """Cheapest runs of all jobs under given prices, and the bound that follows."""

    def __init__(self, instance: ElasticInstance, pool: Ints) -> None:
        self.instance, self.pool = instance, pool
        self.view = cluster(instance)
        self.capacity = pool_capacity(instance, pool)
        self.jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]
        self._by_type: list[list[list[Mode]]] = []
        for j in range(len(instance.jobs)):
            groups: dict[tuple[int, bool], list[Mode]] = {}
            for mode in modes(instance, j):
                groups.setdefault((mode.worker_type, mode.central), []).append(mode)
            self._by_type.append(list(groups.values()))

    def market(self, prices: SlotPrices) -> PricedCluster:
        """Return the empty cluster under prices."""
        price = prices.per_demand(self.instance)
        durations = [mode.duration for j in self.jobs for mode in modes(self.instance, j)]
        longest = max(durations, default=1)
        return PricedCluster(
            self.view,
            price,
            np.broadcast_to(self.view.capacity, price.shape),
            longest=max(1, min(longest, len(price))),
        )

    def cheapest(
        self, market: PricedCluster, job: int, *, several: bool = False
    ) -> list[tuple[float, ElasticRun]]:
        """Return (reduced cost but for the job's own price, run), the least first.

        `several`: the best run of each worker type, central and split; else the best of all.
        In a batch problem a run's cost is its price less the job's weight.
        """
        instance = self.instance
        options = modes(instance, job)
        given, found = instance.jobs[job], []
        weight = 0.0 if instance.is_batch else given.weight
        for group in self._by_type[job] if several else [options]:
            end = instance.last_end
            if end is None:
                longest = max(mode.duration for mode in group)
                end = max(market.slots, given.arrival - 1) + 1 + longest
            offer = market.cheapest(group, given.arrival, end, weight=weight)
            if offer is not None:
                cost = offer.cost - (given.weight if instance.is_batch else 0.0)
                found.append((cost, run_of(job, offer)))
        return sorted(found)

    def values(self, prices: SlotPrices) -> tuple[Floats, list[list[tuple[float, ElasticRun]]]]:
        """Return [j] the least cost of each job, and its good runs.

        0 for a job that is better left out; infinite for one that cannot run at all.
        """
        market = self.market(prices)
        least = np.full(len(self.instance.jobs), 0.0 if self.instance.is_batch else np.inf)
        runs: list[list[tuple[float, ElasticRun]]] = [[] for _ in self.instance.jobs]
        for j in self.jobs:
            runs[j] = self.cheapest(market, j, several=True)
            for cost, _ in runs[j]:
                least[j] = min(least[j], cost)
        return least, runs

    def bound(self, prices: SlotPrices, least: Floats) -> float:
        """Return the Lagrangian bound of the least costs, rounding taken off.

        A lower bound on the weighted completion time, or on minus the scheduled weight.
        """
        paid = float((prices.price.sum(axis=2) * self.capacity).sum())
        size = float(np.abs(least).sum()) + paid + len(least)
        if self.instance.is_batch:
            size += float(sum(job.weight for job in self.instance.jobs))
        return float(least.sum()) - paid - TIES * size


@dataclass(frozen=True, slots=True, eq=False)
class ScheduleLpResult:
    """Where column generation stopped; of a batch problem all values are minus the weight."""

    bound: float | None
    prices: SlotPrices | None
    result: ColumnGenerationResult | None
    infeasible: bool
    runs: tuple[tuple[ElasticRun, float], ...]  # of the last master, with their shares


def solve_lp(
    instance: ElasticInstance,
    schedule: ElasticSchedule | None,
    *,
    pooled: bool,
    clock: Clock,
    slots: int | None = None,
    seed: int = 0,
    threads: int = 1,
    gap: float = 1e-6,
    on_bound: OnProved | None = None,
) -> ScheduleLpResult:
    """Solve the linear relaxation; every bound on the way is valid.

    Parameters
    ----------
    schedule : ElasticSchedule or None
        A known schedule: the first columns, and where prices end. Without one (a closed horizon),
        artificial columns dearer than any schedule take its place.
    slots : int or None
        Number of slots with prices; None: as far as an optimal schedule can reach.
    """
    pool = pools(instance, pooled=pooled)
    pricer = RunPricer(instance, pool)
    slots = slots or priced_slots(instance, schedule)
    layout = _SlotRows(instance, pool, pricer.capacity, slots)
    ceiling = _ceiling(instance)
    known = [] if schedule is None else runs_from(instance, schedule)
    jobs = len(instance.jobs)
    first = layout.columns(known)
    artificial = sparse.csr_array((layout.rows, 0))
    costs = np.array([layout.cost(run) for run in known])
    if schedule is None and not instance.is_batch:
        artificial = sparse.eye_array(layout.rows, jobs, format="csr")
        costs = np.append(costs, np.full(jobs, 2 * ceiling))
    entries = sparse.hstack([first, artificial], format="csr")
    master = LinearProgram.nonnegative(
        costs,
        entries,
        row_lower=layout.row_lower,
        row_upper=layout.row_upper,
    )

    latest: list[SlotPrices] = []

    def pricing(duals: Floats) -> Priced:
        prices = layout.prices(duals)
        latest[:] = [prices]
        least, runs = pricer.values(prices)
        fresh = [run for j in range(jobs) for cost, run in runs[j] if cost < duals[j] - 1e-9]
        bound = pricer.bound(prices, least)
        columns = None
        if fresh:
            cost = np.array([layout.cost(run) for run in fresh])
            columns = Columns(cost, layout.columns(fresh), fresh)
        return Priced(columns, bound)

    def certified_result(bound: float) -> None:
        if on_bound is not None:
            on_bound(bound, certificate("pooled-lp" if pooled else "schedule-lp", latest[0]))

    result = generate_columns(
        master, pricing, clock=clock, gap=gap, seed=seed, threads=threads, on_bound=certified_result
    )
    prices = None if result.prices is None else layout.prices(result.prices)
    runs: list[tuple[ElasticRun, float]] = []
    if result.values is not None:
        every = [*known, *([None] * (len(costs) - len(known))), *result.tags]
        runs = [
            (run, float(share))
            for run, share in zip(every, result.values, strict=True)
            if run is not None and share > 1e-6
        ]
    infeasible = False
    if result.bound is not None and not instance.is_batch and instance.last_end is not None:
        infeasible = result.bound > ceiling * (1 + 1e-9) + 1e-6
    return ScheduleLpResult(result.bound, prices, result, infeasible, tuple(runs))


def _ceiling(instance: ElasticInstance) -> float:
    """Return a value that no schedule within a closed horizon exceeds."""
    return sum(job.weight for job in instance.jobs) * (instance.horizon + 1)


class _SlotRows:
    """Rows of the master: the jobs, then pools x resources x slots in mean servers."""

    def __init__(self, instance: ElasticInstance, pool: Ints, capacity: Floats, slots: int) -> None:
        self.instance, self.pool, self.slots = instance, pool, slots
        self.jobs = len(instance.jobs)
        self.pools, self.resources = capacity.shape
        mean = cluster(instance).capacity.mean(axis=0)
        self.size = np.where(mean > 0, mean, 1.0)  # [r]
        self.rows = self.jobs + capacity.size * slots
        cells = np.repeat((capacity / self.size).ravel(), slots)
        once = np.ones(self.jobs)
        self.row_lower = np.concatenate(
            [
                np.full(self.jobs, -np.inf) if instance.is_batch else once,
                np.full(len(cells), -np.inf),
            ]
        )
        self.row_upper = np.concatenate([once, cells])

    def cost(self, run: ElasticRun) -> float:
        weight = self.instance.jobs[run.job].weight
        return -weight if self.instance.is_batch else weight * run.end

    def prices(self, duals: Floats) -> SlotPrices:
        """Return the prices behind duals [i]; those of the wrong sign count as 0."""
        cells = np.maximum(0.0, -duals[self.jobs :]) + 0.0  # no -0.0
        cells = cells.reshape(self.pools, self.resources, self.slots) / self.size[:, None]
        return SlotPrices(self.pool, cells)

    def columns(self, runs: Sequence[ElasticRun]) -> Any:
        """Return the entries of runs, sparse [i, l]."""
        view = cluster(self.instance)
        rows, columns, entries = [], [], []
        for at, run in enumerate(runs):
            rows.append(np.array([run.job]))
            entries.append(np.ones(1))
            held: dict[int, Floats] = {}
            for h, amounts in run.held(view).items():
                k = int(self.pool[h])
                held[k] = held.get(k, 0.0) + amounts
            span = np.arange(run.start - 1, min(run.end - 1, self.slots))
            count = 1
            for k, amounts in held.items():
                for r in np.flatnonzero(amounts):
                    rows.append(self.jobs + (k * self.resources + r) * self.slots + span)
                    entries.append(np.full(len(span), amounts[r] / self.size[r]))
                    count += len(span)
            columns.append(np.full(count, at))
        if not runs:
            return sparse.csc_array((self.rows, 0))
        index = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csc_array((np.concatenate(entries), index), shape=(self.rows, len(runs)))


def too_large(instance: ElasticInstance, slots: int) -> str | None:
    """Return why prices by server, resource and slot cannot be held, or None."""
    cells = slots * cluster(instance).capacity.size
    if cells > MAX_CELLS:
        return f"too large: {cells} servers x resources x slots, at most {MAX_CELLS}"
    return None


def _too_long(instance: ElasticInstance, slots: int) -> str | None:
    """Return why pricing under prices by slot would take too long, or too much memory, or None."""
    starts = slots * sum(len(modes(instance, j)) for j in range(len(instance.jobs)))
    if starts > MAX_STARTS:
        return f"too large: {starts} modes x slots, at most {MAX_STARTS}"
    each = (mode.duration for j in range(len(instance.jobs)) for mode in modes(instance, j))
    longest = max(each, default=1)
    entries = min(longest, slots).bit_length() * (slots + 1) * cluster(instance).capacity.size
    if entries > MAX_ENTRIES:
        return f"too large: tables of {entries} entries, at most {MAX_ENTRIES}"
    return None


def certificate(kind: str, prices: SlotPrices) -> dict[str, Any]:
    """Return the prices, rounded to 12 digits, as plain JSON data."""
    cells = [
        [int(k), int(r), int(t) + 1, float(f"{prices.price[k, r, t]:.12g}")]
        for k, r, t in np.argwhere(prices.price > 0)
    ]
    return {"kind": kind, "slots": prices.price.shape[2], "prices": cells}


def certificate_bound(instance: ElasticInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that the prices of a certificate prove, in the objective's own sense.

    Slots after the last price are as those after the last slot: free.
    """
    pool = pools(instance, pooled=data["kind"] == "pooled-lp")
    if data["slots"] < 1:
        raise ValueError("slots: need a number >= 1")
    slots = min(data["slots"], max([t for _, _, t, value in data["prices"] if value], default=1))
    if reason := too_large(instance, slots) or _too_long(instance, slots):
        raise ValueError(f"slots: {reason}")
    shape = (int(pool.max()) + 1, len(instance.resources), slots)
    price = np.zeros(shape)
    for k, r, t, value in data["prices"]:
        if not (0 <= k < shape[0] and 0 <= r < shape[1] and 1 <= t <= data["slots"]):
            raise IndexError(f"no pool {k}, resource {r}, slot {t}")
        if not 0 <= value < np.inf:
            raise ValueError("prices: need numbers >= 0")
        if t <= slots:
            price[k, r, t - 1] = value
    return lagrangian_bound(instance, SlotPrices(pool, price))


def lagrangian_bound(instance: ElasticInstance, prices: SlotPrices) -> float:
    """Return the bound that prices prove: on the optimum from below, of a batch from above."""
    pricer = RunPricer(instance, prices.pool)
    if not pricer.jobs:
        return 0.0
    bound = pricer.bound(prices, pricer.values(prices)[0])
    return -bound if instance.is_batch else bound


def certified_result(
    instance: ElasticInstance, certificate: dict[str, Any], **trace: Any
) -> MethodResult:
    """Return what a certificate proves: evaluated as it stands in the file, rounded prices."""
    bound = certificate_bound(instance, certificate)
    return MethodResult(bound=bound, trace=trace, certificate=certificate | {"value": bound})
