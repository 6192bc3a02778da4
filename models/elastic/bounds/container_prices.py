"""Prices of whole workers and parameter servers (PSs) by block of slots, and the bound they prove.

A run takes workers and PSs of its types for some slots, on any servers; in each slot a server
supplies one of its configurations. The relaxation leaves out on which server a container is, and
that it stays there. So every schedule costs at least

    sum_j min over runs of j (w_j (start + duration) + price) - sum over servers and slots of the
    value of the most valuable configuration.

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

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.block_pricing import (
    add_window_prices,
    block_edges,
    candidate_starts,
    price_each_job,
    safe_bound,
)
from schedgap.models.elastic.bounds.configurations import configurations, containers
from schedgap.models.elastic.bounds.mode_tables import ROUNDING, table, undominated
from schedgap.models.elastic.bounds.price_lists import price_list, read_price_list
from schedgap.models.elastic.bounds.volume import MAX_SLOTS
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.solvers.children.clock import Clock

MAX_PER_JOB = 3  # runs of a job that pricing returns


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


class ContainerRun(NamedTuple):
    """A run of low cost under prices."""

    cost: float
    job: int
    row: int  # of the job's container_demands
    start: int  # slot, from 1


class ContainerPricer:
    """The pricing problem: cheapest runs of all jobs, most valuable configurations of servers.

    Attributes
    ----------
    number : array [k]
        Servers of each kind.
    configurations : list of array [c, i]
        Maximal configurations of each kind.
    """

    def __init__(self, instance: ElasticInstance) -> None:
        self.instance = instance
        self.jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]
        kinds = configurations(instance)
        self.number = np.array([number for number, _ in kinds])
        self.configurations = [table for _, table in kinds]  # [k] of [c, i]

    def end(self, run: ContainerRun) -> int:
        """Return start + duration."""
        return run.start + int(container_demands(self.instance, run.job).duration[run.row])

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
        by_slot = np.repeat(prices.price, np.diff(prices.edges()), axis=1)
        paid = np.pad(np.cumsum(by_slot, axis=1), ((0, 0), (1, 0)))
        return price_each_job(
            self.instance, self.jobs, lambda j: self._cheapest(j, prices, paid), clock
        )

    def _cheapest(self, job: int, prices: ContainerPrices, paid: Floats) -> list[ContainerRun]:
        """Return the cheapest runs of a job; paid [i, t]: price of a container in slots 1..t."""
        given, own = self.instance.jobs[job], container_demands(self.instance, job)
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
        values = [table @ prices.price for table in self.configurations]  # [k] of [c, b]
        return (
            np.stack([value.max(axis=0) for value in values]),
            np.stack([value.argmax(axis=0) for value in values]),
        )

    def bound(self, prices: ContainerPrices, least: Floats, values: Floats) -> float:
        """Return the Lagrangian bound, less all rounding errors; in a batch on minus the weight.

        `prices`: any prices >= 0. `least` [j]: from `price_jobs`. `values` [k, b]: from
        `best_configurations`.
        """
        paid = float(self.number @ values @ np.diff(prices.edges()))
        return safe_bound(self.instance, least, paid, rounding=ROUNDING, terms=1 + len(least))


def configuration_certificate(prices: ContainerPrices) -> dict[str, object]:
    """Return the certificate as plain JSON data.

    `prices`: rounded to 12 digits.
    """
    sizes = {"block": prices.block, "slots": prices.slots}
    return {"kind": "configuration-lp", **sizes, "prices": price_list(prices.price)}


def configuration_certificate_bound(instance: ElasticInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that the prices of a certificate prove, in the objective's own sense.

    `data`: the certificate, as written by `configuration_certificate`.

    Raises
    ------
    ValueError, IndexError
        When it does not fit the instance.
    """
    block, slots = data["block"], data["slots"]
    if not all(1 <= n <= MAX_SLOTS for n in (block, slots)):
        raise ValueError("block, slots: need numbers >= 1 that are not too large")
    shape = len(containers(cluster(instance))), -(-slots // block)
    price = read_price_list(data["prices"], shape)
    prices, pricer = ContainerPrices(block, slots, price), ContainerPricer(instance)
    priced = pricer.price_jobs(prices)
    assert priced is not None  # without a clock
    bound = pricer.bound(prices, priced[0], pricer.best_configurations(prices)[0])
    return -bound if instance.is_batch else bound
