"""Prices of whole workers and parameter servers (PSs) by block of slots, and the bound they prove.

A run takes workers and PSs of its types for some slots, on any servers. In each slot a server
supplies one of its configurations: numbers of workers and PSs of each type that it holds at once.
The relaxation leaves out on which server a container is, and that it stays there. So every schedule
costs at least

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
    ROUNDING,
    block_edges,
    candidate_starts,
    price_each_job,
    price_list,
    read_price_list,
    safe_bound,
    window_prices,
)
from schedgap.models.elastic.modes import ElasticCluster, cluster, mode_table, modes
from schedgap.models.elastic.placement import Floats, Ints, fits
from schedgap.models.mechanisms.configurations import maximal_configurations
from schedgap.solvers.children.clock import Clock

MAX_VISITED = 200_000  # configurations of one server, including those that are not maximal
_SUM_ROUNDING = 1e-9  # error of sums of fractional demands, relative to a capacity


def containers(view: ElasticCluster) -> Floats:
    """Return [i, r] the demand of a worker of each type, then of a PS of each type, in units."""
    return np.concatenate([view.worker_units, view.ps_units.reshape(-1, len(view.scale))])


@lru_cache(maxsize=16)
def configurations(instance: ElasticInstance) -> tuple[tuple[int, Floats], ...]:
    """Return for each kind of server how many there are, and its maximal configurations [c, i].

    What a server holds in a slot of any schedule is at most one of them, in every entry. If there
    are too many, PSs or all containers count as if they had the server for themselves.
    """
    view = cluster(instance)
    kinds, number = np.unique(view.capacity, axis=0, return_counts=True)
    demand, result = containers(view), list[tuple[int, Floats]]()
    for capacity, n in zip(kinds, number, strict=True):
        free = capacity + _SUM_ROUNDING * (1 + capacity)
        table = np.array([fits(free, units) for units in demand], dtype=np.float64)[None]
        for kept in len(demand), len(view.worker_units):
            found = maximal_configurations(
                demand[:kept], capacity, rounding=_SUM_ROUNDING, at_most=MAX_VISITED
            )
            if found is not None:
                others = np.repeat(table[:, kept:], len(found), axis=0)
                table = np.hstack([found.astype(np.float64), others])
                break
        result.append((int(n), table))
    return tuple(result)


@dataclass(frozen=True, slots=True, eq=False)
class ContainerPrices:
    """Prices >= 0 of a worker of each type, then of a PS of each type, for one slot.

    They are 0 after the last slot.
    """

    edges: Ints  # [b + 1] slots before each block, and finally all slots
    price: Floats  # [i, b]

    @property
    def slots(self) -> int:
        """Number of slots with prices."""
        return int(self.edges[-1])

    def by_blocks(self, edges: Ints) -> "ContainerPrices":
        """Return them with other blocks of the same slots: each has the price of its first slot.

        `edges` [b + 1]: of the new blocks.
        """
        return ContainerPrices(edges, self.price[:, self.block_of(edges[:-1])])

    def block_of(self, before: Ints) -> Ints:
        """Return [i] the block of each slot, given by the number of slots before it [i]."""
        return np.searchsorted(self.edges, before, side="right") - 1

    def upto(self) -> Floats:
        """Return [i, t] the price of a container in slots 1..t, from t = 0 on."""
        by_slot = np.repeat(self.price, np.diff(self.edges), axis=1)
        return np.pad(np.cumsum(by_slot, axis=1), ((0, 0), (1, 0)))


class ContainerRun(NamedTuple):
    """A run of low cost under prices."""

    cost: float
    job: int
    row: int  # index of the mode
    start: int  # slot, from 1


class ContainerPricer:
    """The pricing problem: cheapest runs of all jobs, most valuable configurations of servers."""

    def __init__(self, instance: ElasticInstance) -> None:
        self.instance = instance
        self.types = len(cluster(instance).worker_units)
        self.jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]

    @property
    def number(self) -> Ints:
        """[k] servers of each kind."""
        return np.array([number for number, _ in configurations(self.instance)])

    def end(self, run: ContainerRun) -> int:
        """Return start + duration."""
        return run.start + int(mode_table(self.instance, run.job).duration[run.row])

    def price_jobs(
        self, prices: ContainerPrices, clock: Clock | None = None
    ) -> tuple[Floats, list[list[ContainerRun]]] | None:
        """Return [j] the least cost of each job, and its cheapest run, if it has any.

        In a batch problem the cost is the price less the weight, and 0 at most.

        `prices`: any prices >= 0.

        The result is None if the clock expired before the last job was priced.
        """
        paid = prices.upto()
        return price_each_job(
            self.instance, self.jobs, lambda j: self._cheapest(j, prices, paid), clock
        )

    def _cheapest(self, job: int, prices: ContainerPrices, paid: Floats) -> list[ContainerRun]:
        """Return the cheapest run of a job; paid [i, t]: price of a container in slots 1..t."""
        given, own = self.instance.jobs[job], mode_table(self.instance, job)
        first, last = given.arrival - 1, self.instance.last_end
        start = candidate_starts(first, last, prices.edges, own.duration)  # [k, i]
        end = start + own.duration[:, None]
        cost = own.workers[:, None] * window_prices(paid, own.worker_type, start, own.duration)
        if own.ps.any():
            ps = window_prices(paid, self.types + own.ps_type, start, own.duration)
            cost += own.ps[:, None] * ps
        if self.instance.is_batch:
            cost -= given.weight
        else:
            cost += given.weight * (end + 1)
        cost[(start < first) | (end >= (np.inf if last is None else last))] = np.inf
        k, i = np.unravel_index(cost.argmin(), cost.shape)
        least = float(cost[k, i])
        return [ContainerRun(least, job, int(k), int(start[k, i]) + 1)] if least < np.inf else []

    def best_configurations(
        self, prices: ContainerPrices
    ) -> tuple[Floats, list[tuple[int, int, int]]]:
        """Return [k, b] the value of a server's most valuable configuration, and each as (k, c, b).

        `prices`: any prices >= 0.
        """
        kinds = configurations(self.instance)
        values = [table @ prices.price for _, table in kinds]  # [k] of [c, b]
        best = np.stack([value.argmax(axis=0) for value in values])
        chosen = [(k, int(c), b) for (k, b), c in np.ndenumerate(best)]
        return np.stack([value.max(axis=0) for value in values]), chosen

    def bound(self, least: Floats, paid: float) -> float:
        """Return the Lagrangian bound, less all rounding errors; in a batch on minus the weight.

        `least` [j]: from `price_jobs`. `paid`: value of all servers.
        """
        return safe_bound(self.instance, least, paid, rounding=ROUNDING, terms=1 + len(least))

    def supply(self, prices: ContainerPrices, values: Floats) -> float:
        """Return the value of all servers.

        `prices`: any prices >= 0. `values` [k, b]: from `best_configurations`.
        """
        return float(self.number @ values @ np.diff(prices.edges))


def block_certificate(prices: ContainerPrices) -> dict[str, object]:
    """Return the certificate as plain JSON data, with prices rounded to 12 digits.

    Its blocks have one length, the largest of which all others are multiples.
    """
    block = int(np.gcd.reduce(prices.edges[:-1])) or prices.slots
    by_block = prices.by_blocks(block_edges(block, prices.slots)).price
    sizes = {"block": block, "slots": prices.slots}
    return {"kind": "configuration-lp", **sizes, "prices": price_list(by_block)}


def block_certificate_bound(instance: ElasticInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that the prices of a certificate prove, in the objective's own sense.

    `data`: the certificate, as written by `block_certificate`.

    Raises
    ------
    ValueError, IndexError
        When it does not fit the instance.
    """
    pricer, edges = ContainerPricer(instance), block_edges(data["block"], data["slots"])
    shape = len(containers(cluster(instance))), len(edges) - 1
    prices = ContainerPrices(edges, read_price_list(data["prices"], shape))
    paid = pricer.supply(prices, pricer.best_configurations(prices)[0])
    priced = pricer.price_jobs(prices)
    assert priced is not None  # without a clock
    bound = pricer.bound(priced[0], paid)
    return -bound if instance.is_batch else bound
