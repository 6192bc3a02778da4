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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.pricing import PricedServers
from schedgap.models.elastic.bounds.container_prices import ContainerPricer, ContainerPrices
from schedgap.models.elastic.bounds.mode_tables import table
from schedgap.models.elastic.heuristics.kernel import KERNEL, entry
from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.programs.columns import ElasticRun, run_of, schedule_of
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
    upto: Floats | None = None,
    factor: float = 0.0,
    fit: float = 0.0,
    stop: Stop = lambda: False,
) -> list[ElasticRun] | None:
    """Schedule the jobs in order, each at the least weight x (start + duration) + factor x price.

    `order`: jobs that have modes. `upto`, `factor`, `fit`: as for `PartialSchedule`. `stop`:
    returns True when time is up.

    Returns
    -------
    list of ElasticRun or None
        In a batch problem without the jobs that do not fit; otherwise None when the horizon is
        closed and a job does not fit. None also when it was stopped. Where an open horizon takes
        too much memory, the jobs run one after another.
    """
    longest = max((shortest(instance, j) or 0 for j in order), default=0)
    slots = max((instance.jobs[j].arrival for j in order), default=1) + 2 * longest
    slots = max(slots, longest + (0 if upto is None else upto.shape[1] - 1))
    last = math.inf if instance.last_end is None else instance.last_end - 1
    run = entry(instance)
    try:
        partial, left = PartialSchedule(instance, int(min(slots, last)), upto), list(order)
        while left:
            if stop():
                return None
            now = 1 if run is KERNEL.plain else len(left)  # between two looks at the clock
            done = partial.insert_all(left[:now], factor, fit, run)
            left = left[done:]
            if done == now:
                continue
            if partial.slots < last:
                slots = int(min(2 * partial.slots, last))
                partial = PartialSchedule(instance, slots, upto, partial.runs())
            elif instance.is_batch:
                left = left[1:]
            else:
                return None
    except ScaleError:
        return one_by_one(instance, order)
    return partial.runs()


def one_by_one(instance: ElasticInstance, order: Sequence[int]) -> list[ElasticRun] | None:
    """Return runs of the jobs one after another, each in its fastest mode.

    With a last slot there are none in a batch, and None otherwise.
    """
    view, start, runs = cluster(instance), 1, list[ElasticRun]()
    if instance.last_end is not None:
        return runs if instance.is_batch else None
    for j in order:
        mode = min(modes(instance, j), key=lambda mode: mode.duration)
        run = PricedServers.empty(view, 1).cheapest_at(mode, 1)
        assert run is not None
        start = max(start, instance.jobs[j].arrival)
        runs.append(run_of(j, run)._replace(start=start))
        start += mode.duration
    return runs


@dataclass(frozen=True, slots=True, eq=False)
class LpGuide:
    """Prices of a linear relaxation, and starts and ends of the jobs in its Lagrangian solution."""

    upto: Floats  # [i, t] price of a container in slots 1..t
    start: Floats  # [j]
    end: Floats  # [j] start + duration

    def order(self, late: float = 1.0) -> list[int]:
        """Return the jobs by a point between start and end.

        `late`: the point in [0, 1]; 1 orders by the ends.
        """
        point = (1 - late) * self.start + late * self.end
        order: list[int] = np.argsort(point, kind="stable").tolist()
        return order


def guide(instance: ElasticInstance, prices: ContainerPrices) -> LpGuide:
    """Return the guide given by prices; jobs without a run come last."""
    pricer = ContainerPricer(instance)
    priced = pricer.price_jobs(prices)
    assert priced is not None  # without a clock
    late = prices.slots + 1
    spans = [(runs[0].start, pricer.end(runs[0])) if runs else (late, late) for runs in priced[1]]
    return LpGuide(prices.upto(), *np.array(spans, dtype=float).T)


def solve_wspt_list(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `wspt-list`."""
    runs = wspt_list(instance)
    return (
        MethodResult(note=NO_PLACE) if runs is None else MethodResult(schedule_of(instance, runs))
    )
