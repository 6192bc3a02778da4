"""List schedules: jobs one by one, each where it is cheapest beside those before.

Offline and without preemption. Without prices the cheapest is the earliest end; with the prices of
a linear relaxation a job also pays for what it takes from the others.
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
from schedgap.models.elastic.time_windows import no_schedule, shortest
from schedgap.models.method import MethodResult, RunContext

NO_PLACE = "a job found no place before the end of the closed horizon"

Stop = Callable[[], bool]


def wspt_order(instance: ElasticInstance) -> list[int]:
    """Return the jobs that can run by least volume / weight, ties in list order."""
    view = cluster(instance)
    whole = view.capacity.sum(axis=0)
    share = np.where(whole > 0, 1 / np.where(whole > 0, whole, 1.0), 0.0)  # [r]
    worker, ps = view.worker_units @ share, np.append(view.ps_units @ share, 0.0)

    def rank(j: int) -> tuple[float, int]:
        own = table(instance, j)
        held = own.workers * worker[own.worker_type] + ps[own.ps_type]  # -1 in the ring: the last
        return float((held * own.duration).min()) / instance.jobs[j].weight, j

    return sorted((j for j in range(len(instance.jobs)) if modes(instance, j)), key=rank)


def wspt_list(instance: ElasticInstance, stop: Stop = lambda: False) -> list[ElasticRun] | None:
    """Run the jobs by least volume / weight, each where it ends first; every job has a mode.

    Volume is demand x duration, each resource as a share of all servers' total. Of equal ends the
    least volume, then the earliest start; servers as `partial_schedule.losses` says. None
    when the horizon is closed and a job finds no place in it.
    """
    return list_schedule(instance, wspt_order(instance), stop=stop)


def list_schedule(
    instance: ElasticInstance,
    order: Sequence[int],
    price: Floats | None = None,
    factor: float = 0.0,
    stop: Stop = lambda: False,
) -> list[ElasticRun] | None:
    """Run the jobs in an order, each where weight x (start + duration) + factor x price is least.

    None when the horizon is closed and a job finds no place in it, or when it was stopped.

    Parameters
    ----------
    price : array [t, r], optional
        Of a unit of `Cluster` for a slot, the same on all servers.
    """
    longest = max(shortest(instance, j) or 0 for j in order)
    slots = max(instance.jobs[j].arrival for j in order) + 2 * longest
    slots = max(slots, longest + (0 if price is None else len(price)))
    if instance.last_end is not None:
        slots = instance.last_end - 1
    board = PartialSchedule(instance, slots, price)
    for j in order:
        if stop():
            return None
        while not board.insert(j, factor):
            if instance.last_end is not None:
                return None
            board = PartialSchedule(instance, 2 * board.slots, price, board.runs.values())
    return list(board.runs.values())


@dataclass(frozen=True, slots=True, eq=False)
class LpGuide:
    """What a linear relaxation says: prices, and when jobs run in the Lagrangian solution."""

    price: Floats  # [t, r] of a unit of `Cluster` for a slot
    start: Floats  # [j]
    end: Floats  # [j] start + duration

    def order(self, late: float = 1.0) -> list[int]:
        """Return the jobs by their ends, or by a point in (0, 1) of the way there."""
        point = (1 - late) * self.start + late * self.end
        order: list[int] = np.argsort(point, kind="stable").tolist()
        return order


def guide(
    instance: ElasticInstance, rough: BlockPrices, fine: ContainerPrices | None = None
) -> LpGuide:
    """Read a guide off the prices of `pooled-lp-coarse`, and of `configuration-lp` where known.

    All jobs have modes. A unit costs the mean over the pools, by their capacities; when jobs run
    the finer prices say.
    """
    pricer = PoolPricer(instance, rough.pool)
    whole = pricer.capacity.sum(axis=0)
    share = pricer.capacity / np.where(whole > 0, whole, 1.0)
    price = np.einsum("krt,kr->tr", rough.by_slot(), share)
    if fine is None:
        priced = pricer.all(rough)
        assert priced is not None  # without a clock
        spans = [(runs[0].start, pricer.end(j, runs[0])) for j, runs in enumerate(priced[1])]
    else:
        containers = ContainerPricer(instance)
        wanted = containers.wanted(fine)
        assert wanted is not None
        spans = [(runs[0].start, containers.end(runs[0])) for runs in wanted[1]]
    start, end = np.array(spans, dtype=float).T
    return LpGuide(price, start, end)


def list_by_prices(
    instance: ElasticInstance, given: LpGuide, stop: Stop = lambda: False
) -> list[ElasticRun] | None:
    """Run the jobs in the order of the guide, each where it costs least with its prices.

    None when the horizon is closed and a job finds no place in it, or when it was stopped.
    """
    return list_schedule(instance, given.order(), given.price, 1.0, stop)


def solve_wspt_list(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `wspt-list`."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    runs = wspt_list(instance)
    return (
        MethodResult(note=NO_PLACE) if runs is None else MethodResult(schedule_of(instance, runs))
    )
