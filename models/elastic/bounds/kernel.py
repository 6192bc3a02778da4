"""Kernel of the pricing by container prices: the cheapest run of each job on an empty cluster.

`container_prices.ContainerPricer` does the same by arrays, for small instances and certificates.
"""

from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.solvers.search.compiled import Kernel

LARGE = 50  # jobs x servers from which on searches and pricing are compiled


class JobModes(NamedTuple):
    """Modes k of the jobs."""

    weight: Floats  # [j] 0 in a batch problem
    arrival: Ints  # [j] a_j
    off: Ints  # [j + 1] where the modes of a job begin
    by_duration: Ints  # [k] modes of each job, the shortest first
    duration: Ints  # [k] d
    workers: Ints  # [k] N
    ps: Ints  # [k]
    worker: Ints  # [k] container of a worker
    server: Ints  # [k] container of a PS; any without PSs


class Runs(NamedTuple):
    """The cheapest run of each job."""

    mode: Ints  # [j] k, -1 without a run
    start: Ints  # [j] slots before it
    cost: Floats  # [j]


def price(jobs: Any, runs: Any, edges: Any, paid: Any, last: int) -> None:
    """Write the mode and the start of least weight x completion + price of each job.

    Prices change at the edges only, so one of the cheapest runs starts or ends at an edge, or
    starts first of all; see `block_pricing.candidate_starts`. `edges` [b + 1]: of blocks. `paid`
    [i, t]: price of a container in slots 1..t. `last`: slot by which a run ends.
    """
    slots = paid.shape[1] - 1
    for j in range(len(jobs.weight)):
        first, weight, least = jobs.arrival[j] - 1, jobs.weight[j], np.inf
        before = 0
        while before + 1 < len(edges) and edges[before + 1] <= first:
            before += 1
        runs.mode[j] = -1
        for at in range(jobs.off[j], jobs.off[j + 1]):
            k = jobs.by_duration[at]
            d, N, ps = jobs.duration[k], jobs.workers[k], jobs.ps[k]
            if weight * (d + jobs.arrival[j]) >= least:  # so all that follow are as expensive
                break
            worker, server = paid[jobs.worker[k]], paid[jobs.server[k]]
            for x in range(before, len(edges)):
                edge = max(first, edges[x])
                if weight * (edge + 1) >= least:
                    break
                for row in (edge - d, edge):
                    if row < first or row + d > last:
                        continue
                    begin, end = min(row, slots), min(row + d, slots)
                    cost = N * (worker[end] - worker[begin]) + ps * (server[end] - server[begin])
                    cost += weight * (row + d + 1)
                    if cost < least:
                        least = cost
                        runs.mode[j], runs.start[j], runs.cost[j] = k, row, cost


def large(instance: ElasticInstance) -> bool:
    """Return whether an instance is worth the loading of compiled code."""
    return len(instance.jobs) * len(instance.servers) >= LARGE


def _sample() -> tuple[Any, ...]:
    """Return arguments of `price`, for the compiler: one job with one mode of one slot."""
    one, none = np.ones(1, np.int64), np.zeros(1, np.int64)
    jobs = JobModes(np.ones(1), one, np.arange(2), none, one, one, one, none, none)
    return jobs, Runs(none.copy(), none.copy(), np.zeros(1)), np.arange(2), np.zeros((1, 2)), 1


PRICING = Kernel("elastic-pricing", (price,), _sample, large)
