"""Prices of whole workers and parameter servers (PSs) by block of slots, and the bound they prove.

A run takes workers and PSs of its types for some slots, on any servers; in each slot a server
supplies one of its configurations: numbers of workers and PSs of each type that it holds at once.
The relaxation leaves out on which server a container is, and that it stays there. So every schedule
costs at least

    sum_j min over runs of j (w_j (start + duration) + price) - sum over servers and slots of the
    value of the most valuable configuration.

In a coarser relaxation all servers are one pool: a resource has a price, a container pays for its
demand, and the last sum is the value of the cluster's capacity.

References
----------
P. C. Gilmore, R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961): configurations. The relaxation to containers and slots is new; the
proof is above.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.block_pricing import (
    add_window_prices,
    block_edges,
    candidate_starts,
    price_each_job,
    price_list,
    read_price_list,
    safe_bound,
)
from schedgap.models.elastic.bounds.mode_tables import ROUNDING, table, undominated
from schedgap.models.elastic.bounds.volume import MAX_SLOTS
from schedgap.models.elastic.modes import ElasticCluster, cluster, modes
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.mechanisms.configurations import maximal_configurations
from schedgap.solvers.children.clock import Clock

MAX_PER_JOB = 3  # runs of a job that pricing returns
MAX_VISITED = 200_000  # configurations of one server, including those that are not maximal
_SUM_ROUNDING = 1e-9  # error of sums of fractional demands, relative to a capacity


def containers(view: ElasticCluster) -> Floats:
    """Return [i, r] the demand of a worker of each type, then of a PS of each type, in units."""
    return np.concatenate([view.worker_units, view.ps_units.reshape(-1, len(view.scale))])


@lru_cache(maxsize=16)
def configurations(instance: ElasticInstance) -> tuple[tuple[int, Floats], ...]:
    """Return for each kind of server how many there are, and its maximal configurations [c, i].

    What a server holds in a slot of any schedule is at most one of them, in every entry.

    Raises
    ------
    ScaleError
        When a server has too many.
    """
    view = cluster(instance)
    kinds, number = np.unique(view.capacity, axis=0, return_counts=True)
    result = []
    for capacity, n in zip(kinds, number, strict=True):
        found = maximal_configurations(
            containers(view), capacity, rounding=_SUM_ROUNDING, at_most=MAX_VISITED
        )
        if found is None:
            raise ScaleError(f"a server has more than {MAX_VISITED} configurations")
        result.append((int(n), found.astype(np.float64)))
    return tuple(result)


@dataclass(frozen=True, slots=True, eq=False)
class ContainerPrices:
    """Prices >= 0 of a worker of each type, then of a PS of each type, for one slot.

    They are 0 after the last slot.
    """

    block: int  # slots in a block; the last one may be shorter
    slots: int
    price: Floats  # [i, b]

    def edges(self) -> Ints:
        """Return [b + 1] the number of slots before each block, and finally all slots."""
        return block_edges(self.block, self.slots)

    def upto(self) -> Floats:
        """Return [i, t] the price of a container in slots 1..t, from t = 0 on."""
        by_slot = np.repeat(self.price, np.diff(self.edges()), axis=1)
        return np.pad(np.cumsum(by_slot, axis=1), ((0, 0), (1, 0)))


class ContainerDemands(NamedTuple):
    """Containers and durations of a job's modes; dominated modes are left out."""

    worker: Ints  # [k] container
    workers: Ints  # [k]
    ps: Ints  # [k] container; in the ring any
    ps_count: Ints  # [k] PSs; in the ring 0
    duration: Ints  # [k]


@lru_cache(maxsize=1 << 12)
def container_demands(instance: ElasticInstance, job: int) -> ContainerDemands:
    """Return the containers and durations of a job's modes.

    `job`: index of a job that has modes.
    """
    modes_of_job, types = table(instance, job), len(cluster(instance).worker_units)
    points = np.column_stack([modes_of_job.duration, modes_of_job.workers, modes_of_job.ps]).astype(
        float
    )
    kind = modes_of_job.worker_type * (int(modes_of_job.ps_type.max()) + 2) + modes_of_job.ps_type
    groups = (np.flatnonzero(kind == one) for one in np.unique(kind))
    rows = modes_of_job.rows(
        np.concatenate([group[undominated(points[group])] for group in groups])
    )
    ps = np.where(rows.ps_type < 0, 0, types + rows.ps_type)
    return ContainerDemands(rows.worker_type, rows.workers, ps, rows.ps, rows.duration)


@lru_cache(maxsize=1 << 12)
def pool_demands(instance: ElasticInstance, job: int) -> ContainerDemands:
    """Return the modes among which one is cheapest if all servers are one pool.

    `job`: index of a job that has modes.
    """
    own, demand = container_demands(instance, job), containers(cluster(instance))
    total = own.workers[:, None] * demand[own.worker] + own.ps_count[:, None] * demand[own.ps]
    kept = undominated(np.column_stack([own.duration, total]))
    return ContainerDemands._make(column[kept] for column in own)


class ContainerRun(NamedTuple):
    """A run of low cost under prices."""

    cost: float
    job: int
    row: int  # index in the pricer's `demands`
    start: int  # slot, from 1


class ContainerPricer:
    """The pricing problem: cheapest runs of all jobs, most valuable configurations of servers.

    `pooled`: all servers are one pool, and a container pays for its demand.
    """

    def __init__(self, instance: ElasticInstance, *, pooled: bool = False) -> None:
        self.instance, self._demands = instance, pool_demands if pooled else container_demands
        self.jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]

    @property
    def number(self) -> Ints:
        """[k] servers of each kind."""
        return np.array([number for number, _ in configurations(self.instance)])

    def end(self, run: ContainerRun) -> int:
        """Return start + duration."""
        return run.start + int(self.demands(run.job).duration[run.row])

    def demands(self, job: int) -> ContainerDemands:
        """Return the modes that are priced.

        `job`: index of a job that has modes.
        """
        return self._demands(self.instance, job)

    def price_jobs(
        self, prices: ContainerPrices, clock: Clock | None = None
    ) -> tuple[Floats, list[list[ContainerRun]]] | None:
        """Return [j] the least cost of each job, and its cheapest runs.

        In a batch problem the cost is the price less the weight, and 0 at most.

        `prices`: any prices >= 0.

        Returns
        -------
        (array [j], list of list of ContainerRun) or None
            None when the clock expired before the last job was priced.
        """
        paid = prices.upto()
        return price_each_job(
            self.instance, self.jobs, lambda j: self._cheapest(j, prices, paid), clock
        )

    def _cheapest(self, job: int, prices: ContainerPrices, paid: Floats) -> list[ContainerRun]:
        """Return the cheapest runs of a job; paid [i, t]: price of a container in slots 1..t."""
        given, own = self.instance.jobs[job], self.demands(job)
        first, last = given.arrival - 1, self.instance.last_end
        start = candidate_starts(first, last, prices.edges(), own.duration)  # [k, i]
        end = start + own.duration[:, None]
        cost: Floats = np.zeros(start.shape)
        add_window_prices(cost, paid, own.worker, own.workers, start, own.duration)
        add_window_prices(cost, paid, own.ps, own.ps_count, start, own.duration)
        if self.instance.is_batch:
            cost -= given.weight
        else:
            cost += given.weight * (end + 1)
        cost[(start < first) | (end >= (np.inf if last is None else last))] = np.inf
        costs = cost.ravel()
        low = (
            np.argpartition(costs, MAX_PER_JOB)[:MAX_PER_JOB]
            if len(costs) > MAX_PER_JOB
            else np.arange(len(costs))
        )
        return [
            ContainerRun(float(costs[i]), job, i // cost.shape[1], int(start.ravel()[i]) + 1)
            for i in low[np.argsort(costs[low], kind="stable")].tolist()
            if np.isfinite(costs[i])
        ]

    def best_configurations(self, prices: ContainerPrices) -> tuple[Floats, Ints]:
        """Return [k, b] the value of the most valuable configuration of a server, and its index.

        `prices`: any prices >= 0.
        """
        kinds = configurations(self.instance)
        values = [table @ prices.price for _, table in kinds]  # [k] of [c, b]
        return (
            np.stack([value.max(axis=0) for value in values]),
            np.stack([value.argmax(axis=0) for value in values]),
        )

    def bound(self, least: Floats, paid: float) -> float:
        """Return the Lagrangian bound, less all rounding errors; in a batch on minus the weight.

        `least` [j]: from `price_jobs`. `paid`: value of all servers.
        """
        return safe_bound(self.instance, least, paid, rounding=ROUNDING, terms=1 + len(least))

    def supply(self, prices: ContainerPrices, values: Floats) -> float:
        """Return the value of all servers.

        `prices`: any prices >= 0. `values` [k, b]: from `best_configurations`.
        """
        return float(self.number @ values @ np.diff(prices.edges()))


def block_certificate(
    instance: ElasticInstance, prices: ContainerPrices, pool: Floats | None = None
) -> dict[str, object]:
    """Return the certificate as plain JSON data, with prices rounded to 12 digits.

    `pool` [r, b]: prices of units of the resources, if all servers are one pool.
    """
    sizes = {"block": prices.block, "slots": prices.slots}
    if pool is None:
        return {"kind": "configuration-lp", **sizes, "prices": price_list(prices.price)}
    cells = [[0, *cell] for cell in price_list(pool)]
    servers = [0] * len(instance.servers)
    return {"kind": "pooled-lp-coarse", **sizes, "pool": servers, "prices": cells}


def block_certificate_bound(instance: ElasticInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that the prices of a certificate prove, in the objective's own sense.

    `data`: the certificate, as written by `block_certificate`.

    Raises
    ------
    ValueError, IndexError
        When it does not fit the instance.
    """
    block, slots, cells = data["block"], data["slots"], data["prices"]
    if not all(1 <= n <= MAX_SLOTS for n in (block, slots)):
        raise ValueError("block, slots: need numbers >= 1 that are not too large")
    whole, demand = data["kind"] == "configuration-lp", containers(cluster(instance))
    pricer = ContainerPricer(instance, pooled=not whole)
    length = np.diff(block_edges(block, slots))
    if whole:
        prices = ContainerPrices(block, slots, read_price_list(cells, (len(demand), len(length))))
        paid = pricer.supply(prices, pricer.best_configurations(prices)[0])
    else:
        if [*data["pool"]] != [0] * len(instance.servers) or any(cell[0] for cell in cells):
            raise ValueError("pool: need the number 0 for each server, and for each price")
        price = read_price_list([cell[1:] for cell in cells], (demand.shape[1], len(length)))
        prices = ContainerPrices(block, slots, demand @ price)
        paid = float(cluster(instance).capacity.sum(axis=0) @ price @ length)
    priced = pricer.price_jobs(prices)
    assert priced is not None  # without a clock
    bound = pricer.bound(priced[0], paid)
    return -bound if instance.is_batch else bound
