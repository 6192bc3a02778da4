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
from schedgap.models.elastic.heuristics.kernel import KERNEL, Problem, State, entry
from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule
from schedgap.models.elastic.modes import ModeTable, cluster, mode_table
from schedgap.models.elastic.placement import Floats
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.search.annealing import insert_all

OPEN = 2**60  # last slot of an open horizon


def fastest_pricer(instance: ElasticInstance) -> ContainerPricer:
    """Return the pricing problem, compiled for large instances."""
    run = entry(instance)
    return ContainerPricer(instance) if run is KERNEL.plain else CompiledPricer(instance, run)


class CompiledPricer(ContainerPricer):
    """The pricing problem by an entry of the kernel, compiled or not."""

    def __init__(self, instance: ElasticInstance, run: Callable[..., int]) -> None:
        super().__init__(instance)
        self._run = run

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
        problem, state = _to_price(instance)
        problem = problem._replace(paid=prices.upto(), edges=edges, last=last)
        insert_all(self._run, problem, state, self.jobs, (1.0, 0.0))
        plan, earned = state.plan, [job.weight * instance.is_batch for job in instance.jobs]

        def run(job: int) -> list[ContainerRun]:
            if plan.mode[job] < 0:
                return []
            cost, row = plan.cost[job] - earned[job], plan.mode[job] - problem.off[job]
            return [ContainerRun(float(cost), job, int(row), int(plan.start[job]) + 1)]

        return price_each_job(instance, self.jobs, run, clock)


@lru_cache(maxsize=4)
def _to_price(instance: ElasticInstance) -> tuple[Problem, State]:
    """Return the modes of all jobs as arrays for the kernel, and room for the cheapest ones."""
    tables = [mode_table(instance, j) for j in range(len(instance.jobs))]
    every = ModeTable(*(np.concatenate(columns) for columns in zip(*tables, strict=True)))
    off = np.cumsum([0, *(len(own.ps) for own in tables)])
    order = [
        a + np.argsort(own.duration, kind="stable") for a, own in zip(off[:-1], tables, strict=True)
    ]
    made, types = PartialSchedule(instance, 1), len(cluster(instance).worker_units)
    problem = made.problem._replace(
        weight=made.problem.weight * (not instance.is_batch),
        off=off,
        by_duration=np.concatenate(order),
        worker_type=every.worker_type,
        workers=every.workers,
        duration=every.duration,
        ps=every.ps,
        ps_kind=np.where(every.ps > 0, types + every.ps_type, 0),
    )
    return problem, made.state
