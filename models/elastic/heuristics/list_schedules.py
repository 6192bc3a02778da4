"""List schedules: jobs one by one, each in the cheapest run that fits next to those before.

Offline and without preemption. Without prices the cheapest run ends first; with the dual prices of
a linear relaxation a job also pays for the capacity that it takes from others.

References
----------
W. E. Smith, "Various optimizers for single-stage production", Naval Research Logistics Quarterly 3
(1956): weight over volume.
C. Phillips, C. Stein, J. Wein, "Minimizing average completion time in the presence of release
dates", Mathematical Programming (1998): lists in the order of a relaxation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.coarse_prices import BlockPrices, PoolPricer
from schedgap.models.elastic.bounds.container_prices import ContainerPricer, ContainerPrices
from schedgap.models.elastic.bounds.mode_tables import table
from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.programs.columns import ElasticRun, schedule_of
from schedgap.models.elastic.time_windows import shortest
from schedgap.models.method import MethodResult, RunContext

NO_PLACE = "a job does not fit before the end of the closed horizon"

Stop = Callable[[], bool]


def wspt_order(instance: ElasticInstance) -> list[int]:
    """Return the jobs that have modes by least volume / weight, ties in list order."""
    view = cluster(instance)
    total = view.capacity.sum(axis=0)
    share = np.where(total > 0, 1 / np.where(total > 0, total, 1.0), 0.0)  # [r]
    worker, ps = view.worker_units @ share, np.append(view.ps_units @ share, 0.0)

    def rank(j: int) -> tuple[float, int]:
        rows = table(instance, j)
        demand = (
            rows.workers * worker[rows.worker_type] + ps[rows.ps_type]
        )  # -1 in the ring: the last
        return float((demand * rows.duration).min()) / instance.jobs[j].weight, j

    return sorted((j for j in range(len(instance.jobs)) if modes(instance, j)), key=rank)


def wspt_list(instance: ElasticInstance, stop: Stop = lambda: False) -> list[ElasticRun] | None:
    """Schedule the jobs by least volume / weight, each at its earliest end; every job has a mode.

    Volume is demand x duration, each resource as a share of all servers' total. Of equal ends the
    least volume, then the earliest start; servers are chosen by
    `partial_schedule.opportunity_costs`.

    `stop`: returns True when time is up.

    Returns
    -------
    list of ElasticRun or None
        None when the horizon is closed and a job does not fit, or when it was stopped.
    """
    return list_schedule(instance, wspt_order(instance), stop=stop)


def list_schedule(
    instance: ElasticInstance,
    order: Sequence[int],
    price: Floats | None = None,
    factor: float = 0.0,
    stop: Stop = lambda: False,
) -> list[ElasticRun] | None:
    """Schedule the jobs in order, each at the least weight x (start + duration) + factor x price.

    `order`: jobs that have modes. `price` [t, r]: price of a unit of `ElasticCluster` for a slot,
    the same on all servers. `factor`: factor of the prices. `stop`: returns True when time is up.

    Returns
    -------
    list of ElasticRun or None
        None when the horizon is closed and a job does not fit, or when it was stopped.
    """
    longest = max(shortest(instance, j) or 0 for j in order)
    slots = max(instance.jobs[j].arrival for j in order) + 2 * longest
    slots = max(slots, longest + (0 if price is None else len(price)))
    if instance.last_end is not None:
        slots = instance.last_end - 1
    partial = PartialSchedule(instance, slots, price)
    for j in order:
        if stop():
            return None
        while not partial.insert(j, factor):
            if instance.last_end is not None:
                return None
            partial = PartialSchedule(instance, 2 * partial.slots, price, partial.runs.values())
    return list(partial.runs.values())


@dataclass(frozen=True, slots=True, eq=False)
class LpGuide:
    """Prices of a linear relaxation, and starts and ends of the jobs in its Lagrangian solution."""

    price: Floats  # [t, r] of a unit of `Cluster` for a slot
    start: Floats  # [j]
    end: Floats  # [j] start + duration

    def order(self, late: float = 1.0) -> list[int]:
        """Return the jobs by a point between start and end.

        `late`: the point in [0, 1]; 1 orders by the ends.
        """
        point = (1 - late) * self.start + late * self.end
        order: list[int] = np.argsort(point, kind="stable").tolist()
        return order


def guide(
    instance: ElasticInstance, rough: BlockPrices, fine: ContainerPrices | None = None
) -> LpGuide:
    """Return the guide given by prices of `pooled-lp-coarse`, and of `configuration-lp` if known.

    `rough`: the price of a unit is the mean over the pools, weighted by their capacities. `fine`:
    if given, they determine the runs instead of `rough`. All jobs must have modes.
    """
    pricer = PoolPricer(instance, rough.pool)
    total = pricer.capacity.sum(axis=0)
    share = pricer.capacity / np.where(total > 0, total, 1.0)
    price = np.einsum("krt,kr->tr", rough.by_slot(), share)
    if fine is None:
        priced = pricer.price_jobs(rough)
        assert priced is not None  # without a clock
        spans = [(runs[0].start, pricer.end(j, runs[0])) for j, runs in enumerate(priced[1])]
    else:
        containers = ContainerPricer(instance)
        priced_runs = containers.price_jobs(fine)
        assert priced_runs is not None
        spans = [(runs[0].start, containers.end(runs[0])) for runs in priced_runs[1]]
    start, end = np.array(spans, dtype=float).T
    return LpGuide(price, start, end)


def solve_wspt_list(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `wspt-list`."""
    runs = wspt_list(instance)
    return (
        MethodResult(note=NO_PLACE) if runs is None else MethodResult(schedule_of(instance, runs))
    )
