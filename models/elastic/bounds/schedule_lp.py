"""The bound `schedule-lp`: the linear relaxation of (8), by column generation.

Only the capacity rows link the jobs. Let delta >= 0 be prices of a unit of a resource for one slot,
by server. Every schedule costs at least

    sum_j min over runs of j (w_j (start + duration) + price of its usage) - sum delta C,

the Lagrangian bound, which the prices alone certify. Servers of equal capacity share their prices,
because the set of schedules is closed under permuting these servers. So the average of an optimal
fractional schedule over all permutations is optimal. The average uses these servers equally.

References
----------
J. M. van den Akker, C. A. J. Hurkens, M. W. P. Savelsbergh, "Time-indexed formulations for machine
scheduling problems: column generation", INFORMS Journal on Computing 12 (2000).
M. Fischetti, L. Liberti, "Orbital shrinking", Combinatorial Optimization, Lecture Notes in Computer
Science 7422 (2012): the average over permutations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.pricing import PricedServers
from schedgap.models.elastic.bounds.block_pricing import (
    price_each_job,
    price_list,
    read_price_list,
    safe_bound,
)
from schedgap.models.elastic.bounds.configuration_lp import (
    LpResult,
    OnProved,
    fallback_costs,
    generate,
    run_cost,
)
from schedgap.models.elastic.bounds.contention import contended_slots
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.programs.columns import ElasticRun, run_at
from schedgap.models.elastic.time_windows import windows
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster, prices_at_most
from schedgap.models.method import Budget
from schedgap.solvers.loops.column_generation import Columns
from schedgap.solvers.programs.builder import Entries

GAP = 1e-6  # relative, between master and bound, at which column generation ends
MIN_USAGE = 1e-8  # relative to a mean server, of a run in the master; HiGHS refuses less
TIES = 4e-9  # relative: of costs that differ by less, pricing may return the larger one
MAX_CELLS = 2_000_000  # servers x resources x slots with prices
MAX_STARTS = 20_000_000  # modes x slots, when a certificate is evaluated


@dataclass(frozen=True, slots=True, eq=False)
class SlotPrices:
    """Prices >= 0 of a unit (of `ElasticCluster`) of a resource for one slot.

    They are 0 after the last slot, so any number of slots gives a valid bound.
    """

    pool: Ints  # [h] pool of each server: 0, 1, ... in order of first appearance
    price: Floats  # [pool, r, t]

    def per_demand(self, instance: ElasticInstance) -> Floats:
        """Return [t, h, r] the prices of one unit of demand as given in the file."""
        by_server = self.price[self.pool] * cluster(instance).scale[:, None]
        result: Floats = np.moveaxis(by_server, 2, 0)
        return result


def pools(instance: ElasticInstance, *, pooled: bool) -> Ints:
    """Return [h] the pool of each server.

    `pooled`: servers of equal capacities form a pool; otherwise every server is a pool.
    """
    if not pooled:
        return np.arange(len(instance.servers))
    seen: dict[bytes, int] = {}
    rows = cluster(instance).capacity
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])


def pool_capacity(instance: ElasticInstance, pool: Ints) -> Floats:
    """Return [pool, r] the capacity of each pool, in units.

    `pool` [h]: pool of each server.
    """
    capacity = cluster(instance).capacity
    total = np.zeros((int(pool.max()) + 1, capacity.shape[1]))
    np.add.at(total, pool, capacity)
    return total


def priced_slots(instance: ElasticInstance, schedule: ElasticSchedule | None) -> int:
    """Return the number of slots that get prices; any number is valid.

    Slots that no optimal schedule can use need no price. Other slots count up to the end of the
    given schedule, or up to the last slot with likely contention if that is later.
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
    """The pricing problem: cheapest runs of all jobs under prices, and the bound they prove.

    `pool` [h]: pool of each server.
    """

    def __init__(self, instance: ElasticInstance, pool: Ints) -> None:
        self.instance, self.pool = instance, pool
        self.view = cluster(instance)
        self.capacity = pool_capacity(instance, pool)
        self.jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]

    def _cheapest(self, priced: PricedServers, job: int) -> list[tuple[float, ElasticRun]]:
        """Return the cheapest run of each worker type, central and split, the least cost first.

        The cost is w (start + duration) plus the price; in a batch the price less the weight.
        """
        instance = self.instance
        given, runs = instance.jobs[job], []
        weight = 0.0 if instance.is_batch else given.weight
        for _, members in groupby(
            modes(instance, job), lambda mode: (mode.central, mode.worker_type)
        ):
            group, end = list(members), instance.last_end
            if end is None:
                longest = max(mode.duration for mode in group)
                end = max(priced.slots, given.arrival - 1) + 1 + longest
            run = priced.cheapest(group, given.arrival, end, weight=weight)
            if run is not None:
                cost = run.cost - (given.weight if instance.is_batch else 0.0)
                runs.append((cost, run_at(job, *run[1:])))
        return sorted(runs)

    def values(self, prices: SlotPrices) -> tuple[Floats, list[list[tuple[float, ElasticRun]]]]:
        """Return [j] the least cost of each job, and its cheapest runs with their costs.

        A job of a batch that is better left out has a least cost of 0. A job that cannot run at all
        has an infinite one.

        `prices`: by pool, resource and slot.
        """
        price = prices.per_demand(self.instance)
        durations = (mode.duration for j in self.jobs for mode in modes(self.instance, j))
        longest = min(max(durations, default=1), len(price))
        empty = np.broadcast_to(self.view.capacity, price.shape)
        priced = PricedServers(self.view, price, empty, longest=longest)
        result = price_each_job(self.instance, self.jobs, lambda j: self._cheapest(priced, j))
        assert result is not None  # without a clock
        return result

    def bound(self, prices: SlotPrices, least: Floats) -> float:
        """Return the Lagrangian bound sum_j least_j - sum delta C, less all rounding errors.

        A lower bound on the weighted completion time, or on minus the scheduled weight.

        `prices`: by pool, resource and slot. `least` [j]: from `values`.
        """
        paid = float((prices.price.sum(axis=2) * self.capacity).sum())
        return safe_bound(self.instance, least, paid, rounding=TIES, terms=1)


class _SlotMaster:
    """The restricted master: rows of the jobs, and of pools x resources x slots."""

    def __init__(self, pricer: RunPricer, slots: int) -> None:
        instance = pricer.instance
        self.instance, self.pool, self.slots = instance, pricer.pool, slots
        mean = pricer.view.capacity.mean(axis=0)
        self._size = np.where(mean > 0, mean, 1.0)  # [r]: capacity rows count mean servers
        self.master: RestrictedMaster[ElasticRun] = RestrictedMaster()
        self.jobs = self.master.rows(
            "job", len(instance.jobs), lower=-np.inf if instance.is_batch else 1.0, upper=1.0
        )
        capacity = pricer.capacity / self._size
        self.cells = self.master.rows(
            "capacity", (*capacity.shape, slots), upper=capacity[:, :, None]
        )
        self._at = self.cells.positions  # [pool, r, t]

    def prices(self, duals: Floats) -> SlotPrices:
        """Return the prices of dual values [i]."""
        return SlotPrices(self.pool, prices_at_most(self.cells, duals) / self._size[:, None])

    def certificate(self, duals: Floats) -> dict[str, object]:
        """Return the certificate of dual values [i]."""
        return certificate("pooled-lp", self.prices(duals))

    def columns(self, runs: Sequence[ElasticRun]) -> Columns:
        """Return runs as columns: 1 in the row of the job, and their usage in the slots."""
        view = cluster(self.instance)
        cost: list[float] = []
        entries: list[Entries] = []
        for run in runs:
            usage = np.zeros(self.cells.shape[:2])  # [pool, r]
            for h, amounts in run.usage(view).items():
                usage[self.pool[h]] += amounts
            usage /= self._size
            used = np.nonzero(usage > MIN_USAGE)
            rows = self._at[used][:, run.start - 1 : min(run.end - 1, self.slots)]
            entries.append([(run.job, 1.0), (rows, np.repeat(usage[used], rows.shape[1]))])
            cost.append(run_cost(self.instance, run.job, run.end))
        return self.master.columns(cost, entries, list(runs))


def solve_lp(
    instance: ElasticInstance,
    slots: int,
    *,
    budget: Budget,
    rounds: int | None = None,
    on_bound: OnProved | None = None,
) -> LpResult | None:
    """Solve the linear relaxation; every bound on the way is valid.

    Returns None if time runs out before the first bound.

    `slots`: number of slots with prices. `rounds`: number of rounds at which it ends. `on_bound`:
    receives each better bound with its certificate.
    """
    pricer = RunPricer(instance, pools(instance, pooled=True))
    rows = _SlotMaster(pricer, slots)
    if not instance.is_batch:
        rows.master.begin(rows.master.artificial(rows.jobs, fallback_costs(instance, slots)))

    def pricing(duals: Floats) -> Priced:
        prices = rows.prices(duals)
        least, runs = pricer.values(prices)
        improving = [run for j in pricer.jobs for cost, run in runs[j] if cost < duals[j] - 1e-9]
        columns = rows.columns(improving) if improving else None
        return Priced(columns, pricer.bound(prices, least))

    return generate(rows, pricing, budget=budget, gap=GAP, rounds=rounds, on_bound=on_bound)


def too_large(instance: ElasticInstance, slots: int) -> str | None:
    """Return why prices by server, resource and slot do not fit in memory; None if they do.

    `slots`: number of slots with prices.
    """
    cells = slots * cluster(instance).capacity.size
    if cells > MAX_CELLS:
        return f"too large: {cells} servers x resources x slots, at most {MAX_CELLS}"
    return None


def _too_long(instance: ElasticInstance, slots: int) -> str | None:
    """Return why pricing under prices by slot would take too much time, or None."""
    starts = slots * sum(len(modes(instance, j)) for j in range(len(instance.jobs)))
    return (
        f"too large: {starts} modes x slots, at most {MAX_STARTS}" if starts > MAX_STARTS else None
    )


def certificate(kind: str, prices: SlotPrices) -> dict[str, object]:
    """Return a certificate as plain JSON data: prices by pool, resource and slot, from slot 1.

    `kind`: "pooled-lp" or "dual-lp". `prices`: rounded to 12 digits.
    """
    cells = [[k, r, int(t) + 1, price] for k, r, t, price in price_list(prices.price)]
    return {"kind": kind, "slots": prices.price.shape[2], "prices": cells}


def certificate_bound(instance: ElasticInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that the prices of a certificate prove, in the objective's own sense.

    Slots after the last positive price are dropped: their prices are 0 anyway.

    `data`: the certificate, as written by `certificate`.

    Raises
    ------
    ValueError, IndexError
        When it does not fit the instance.
    """
    pool = pools(instance, pooled=data["kind"] == "pooled-lp")
    cells = [(k, r, t - 1, price) for k, r, t, price in data["prices"]]
    slots = min(data["slots"], max([t + 1 for _, _, t, price in cells if price], default=1))
    if reason := too_large(instance, slots) or _too_long(instance, slots):
        raise ValueError(f"slots: {reason}")
    pools_by_resources = int(pool.max()) + 1, len(instance.resources)
    price = read_price_list(
        cells, (*pools_by_resources, slots), (*pools_by_resources, data["slots"])
    )
    return lagrangian_bound(instance, SlotPrices(pool, price))


def lagrangian_bound(instance: ElasticInstance, prices: SlotPrices) -> float:
    """Return the bound that prices prove: a lower one on the optimum, an upper one of a batch.

    `prices`: any prices >= 0.
    """
    pricer = RunPricer(instance, prices.pool)
    if not pricer.jobs:
        return 0.0
    bound = pricer.bound(prices, pricer.values(prices)[0])
    return -bound if instance.is_batch else bound
