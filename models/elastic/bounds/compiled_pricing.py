"""The pricing problem of container prices in compiled code, for bounds that are being computed.

A certificate is evaluated by `container_prices` alone, without compiled code.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.block_pricing import price_each_job
from schedgap.models.elastic.bounds.container_prices import (
    ContainerPricer,
    ContainerPrices,
    ContainerRun,
)
from schedgap.models.elastic.bounds.kernel import PRICING, JobModes, Runs
from schedgap.models.elastic.modes import cluster, mode_table, stacked
from schedgap.models.elastic.placement import Floats
from schedgap.solvers.children.clock import Clock

OPEN = 2**60  # last slot of an open horizon


def fastest_pricer(instance: ElasticInstance) -> ContainerPricer:
    """Return the pricing problem, compiled for large instances."""
    price = PRICING.compiled(instance)
    return ContainerPricer(instance) if price is None else CompiledPricer(instance, price)


class CompiledPricer(ContainerPricer):
    """The pricing problem by `kernel.price`, compiled or not."""

    def __init__(self, instance: ElasticInstance, price: Callable[..., None]) -> None:
        super().__init__(instance)
        self._price = price

    def price_jobs(
        self, prices: ContainerPrices, clock: Clock | None = None
    ) -> tuple[Floats, list[list[ContainerRun]]] | None:
        """Return [j] the least cost of each job, and its cheapest run, if it has any.

        `prices`: any prices >= 0. `clock`: it stops nothing before all jobs are priced.
        """
        instance, edges = self.instance, prices.edges
        end, last = instance.last_end, OPEN
        if end is not None:
            last = end - 1
            edges = np.append(edges[edges < last], last)
        count, jobs = len(instance.jobs), _job_modes(instance)
        runs = Runs(np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count))
        self._price(jobs, runs, edges, prices.upto(), last)
        earned = [job.weight * instance.is_batch for job in instance.jobs]

        def run(job: int) -> list[ContainerRun]:
            if runs.mode[job] < 0:
                return []
            cost, row = runs.cost[job] - earned[job], runs.mode[job] - jobs.off[job]
            return [ContainerRun(float(cost), job, int(row), int(runs.start[job]) + 1)]

        return price_each_job(instance, self.jobs, run, clock)


@lru_cache(maxsize=4)
def _job_modes(instance: ElasticInstance) -> JobModes:
    """Return the modes of all jobs as arrays for the kernel."""
    tables = [mode_table(instance, j) for j in range(len(instance.jobs))]
    every, off, by_duration = stacked(tables)
    types = len(cluster(instance).worker_units)
    return JobModes(
        weight=np.array([job.weight * (not instance.is_batch) for job in instance.jobs], float),
        arrival=np.array([job.arrival for job in instance.jobs]),
        off=off,
        by_duration=by_duration,
        duration=every.duration,
        workers=every.workers,
        ps=every.ps,
        worker=every.worker_type,
        server=np.where(every.ps > 0, types + every.ps_type, 0),
    )
