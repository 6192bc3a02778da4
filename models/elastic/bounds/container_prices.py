"""Prices of whole workers and parameter servers (PSs) by block of slots, and the bound they prove.

A run takes workers and PSs of its types for some slots, on any servers; in each slot a server
offers one of its configurations. That leaves out which server a container is on, and that it stays
there. So each schedule costs at least the sum over the jobs of the cheapest run, weight x (start +
duration) and the price, less what the dearest configuration of every server is worth.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.configurations import configurations, containers
from schedgap.models.elastic.bounds.mode_tables import ROUNDING, table, undominated
from schedgap.models.elastic.bounds.volume import MAX_SLOTS
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.solvers.children.clock import Clock

EACH = 3  # runs of a job that pricing returns, at most


@dataclass(frozen=True, slots=True, eq=False)
class ContainerPrices:
    """Prices >= 0 of a worker of each type, then of a PS of each type, for a slot.

    After the last slot all is free.
    """

    block: int  # slots in a block; the last one may be shorter
    slots: int
    price: Floats  # [i, b]

    def edges(self) -> Ints:
        """[b + 1] slots before each block, and all slots."""
        return np.append(np.arange(0, self.slots, self.block), self.slots)


class ContainerDemands(NamedTuple):
    """What the modes of a job ask for; without those that ask for more of the same, or longer."""

    worker: Ints  # [k] container
    workers: Ints  # [k]
    ps: Ints  # [k] container; in the ring any
    pss: Ints  # [k] PSs; in the ring 0
    duration: Ints  # [k]


@lru_cache(maxsize=1 << 12)
def container_demands(instance: ElasticInstance, job: int) -> ContainerDemands:
    """Return the needs of a job that has modes."""
    own, types = table(instance, job), len(cluster(instance).worker_units)
    points = np.column_stack([own.duration, own.workers, own.ps]).astype(float)
    kind = own.worker_type * (int(own.ps_type.max()) + 2) + own.ps_type
    groups = (np.flatnonzero(kind == one) for one in np.unique(kind))
    rows = own.rows(np.concatenate([group[undominated(points[group])] for group in groups]))
    ps = np.where(rows.ps_type < 0, 0, types + rows.ps_type)
    return ContainerDemands(rows.worker_type, rows.workers, ps, rows.ps, rows.duration)


class ContainerRun(NamedTuple):
    """A run that is cheap under prices."""

    cost: float
    job: int
    row: int  # of the job's needs
    start: int  # slot, from 1


class ContainerPricer:
    """Cheapest runs of all jobs, and dearest configurations of all servers, under prices.

    Attributes
    ----------
    number : array [k]
        Servers of each kind.
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

    def wanted(
        self, prices: ContainerPrices, clock: Clock | None = None
    ) -> tuple[Floats, list[list[ContainerRun]]] | None:
        """Return [j] the least cost of each job, and its cheapest runs.

        In a batch problem the cost is the price less the weight, and 0 at most. None when the clock
        ran out before the last job was priced.
        """
        instance = self.instance
        by_slot = np.repeat(prices.price, np.diff(prices.edges()), axis=1)
        paid = np.pad(np.cumsum(by_slot, axis=1), ((0, 0), (1, 0)))
        least = np.full(len(instance.jobs), 0.0 if instance.is_batch else np.inf)
        runs: list[list[ContainerRun]] = [[] for _ in instance.jobs]
        for j in self.jobs:
            if clock is not None and clock.expired():
                return None
            runs[j] = self._cheapest(j, prices, paid)
            if runs[j]:
                least[j] = min(least[j], runs[j][0].cost)
        return least, runs

    def _cheapest(self, job: int, prices: ContainerPrices, paid: Floats) -> list[ContainerRun]:
        """Return the cheapest runs of a job; paid [i, t] for a container in slots 1..t.

        Between two starts at which a run starts or ends with a block, its price is linear.
        """
        given, own = self.instance.jobs[job], container_demands(self.instance, job)
        first, last = given.arrival - 1, self.instance.last_end
        edges = prices.edges()[prices.edges() > first]
        starts = np.broadcast_to(np.append(first, edges), (len(own.duration), len(edges) + 1))
        ends = edges if last is None else np.append(edges, last - 1)
        start = np.concatenate([starts, ends - own.duration[:, None]], axis=1)  # [k, i]
        end = start + own.duration[:, None]
        cost: Floats = np.zeros(start.shape)
        for kind, count in ((own.worker, own.workers), (own.ps, own.pss)):
            rows = np.flatnonzero((paid[kind, -1] > 0) & (count > 0))
            window = kind[rows] * (int(own.duration.max()) + 1) + own.duration[rows]
            _, some, same = np.unique(window, return_index=True, return_inverse=True)
            some = rows[some]  # one row of each window
            a, b = (np.clip(part[some], 0, prices.slots) for part in (start, end))
            flat, at = paid.ravel(), kind[some, None] * paid.shape[1]
            cost[rows] += count[rows, None] * (flat[at + b] - flat[at + a])[same]
        if self.instance.is_batch:
            cost -= given.weight
        else:
            cost += given.weight * (end + 1)
        cost[(start < first) | (end >= (np.inf if last is None else last))] = np.inf
        costs = cost.ravel()
        low = np.argpartition(costs, EACH)[:EACH] if len(costs) > EACH else np.arange(len(costs))
        return [
            ContainerRun(float(costs[i]), job, i // cost.shape[1], int(start.ravel()[i]) + 1)
            for i in low[np.argsort(costs[low], kind="stable")].tolist()
            if np.isfinite(costs[i])
        ]

    def offered(self, prices: ContainerPrices) -> tuple[Floats, Ints]:
        """Return [k, b] the worth of the dearest configuration of a server, and which it is."""
        worth = [table @ prices.price for table in self.configurations]
        return np.stack([each.max(axis=0) for each in worth]), np.stack(
            [each.argmax(axis=0) for each in worth]
        )

    def bound(self, prices: ContainerPrices, least: Floats, worth: Floats) -> float:
        """Return the Lagrangian bound, rounding taken off; of a batch on minus the weight."""
        paid = float(self.number @ worth @ np.diff(prices.edges()))
        size = float(np.abs(least).sum()) + paid * (1 + len(least)) + len(least)
        if self.instance.is_batch:
            size += sum(job.weight for job in self.instance.jobs)
        return float(least.sum()) - paid - ROUNDING * size


def configuration_certificate(prices: ContainerPrices) -> dict[str, Any]:
    """Return the prices, rounded to 12 digits, as plain JSON data."""
    cells = [
        [int(i), int(b), float(f"{prices.price[i, b]:.12g}")]
        for i, b in np.argwhere(prices.price > 0)
    ]
    sizes = {"block": prices.block, "slots": prices.slots}
    return {"kind": "configuration-lp", **sizes, "prices": cells}


def configuration_certificate_bound(instance: ElasticInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that the prices of a certificate prove, in the objective's own sense."""
    block, slots = data["block"], data["slots"]
    if not all(1 <= n <= MAX_SLOTS for n in (block, slots)):
        raise ValueError("block, slots: need numbers >= 1 that are not too large")
    price = np.zeros((len(containers(cluster(instance))), -(-slots // block)))
    for i, b, value in data["prices"]:
        if not (0 <= i < len(price) and 0 <= b < price.shape[1]):
            raise IndexError(f"no container {i}, block {b}")
        if not 0 <= value < np.inf:
            raise ValueError("prices: need numbers >= 0")
        price[i, b] = value
    return configuration_bound(instance, ContainerPrices(block, slots, price))


def configuration_bound(instance: ElasticInstance, prices: ContainerPrices) -> float:
    """Return the bound that prices prove: on the optimum from below, of a batch from above."""
    pricer = ContainerPricer(instance)
    priced = pricer.wanted(prices)
    assert priced is not None  # without a clock
    bound = pricer.bound(prices, priced[0], pricer.offered(prices)[0])
    return -bound if instance.is_batch else bound
