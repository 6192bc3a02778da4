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

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.pricing import PricedServers
from schedgap.models.elastic.heuristics.kernel import KERNEL
from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule
from schedgap.models.elastic.modes import cluster, mode_table, modes
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.programs.columns import ElasticRun, run_at, schedule_of
from schedgap.models.elastic.time_windows import shortest
from schedgap.models.method import MethodResult, RunContext

NO_PLACE = "a job does not fit before the end of the closed horizon"

Stop = Callable[[], bool]


def wspt_order(instance: ElasticInstance) -> list[int]:
    """Return the jobs that have modes by least volume / weight, ties in list order.

    Volume is demand x duration, each resource as a share of all servers' total.
    """
    share = cluster(instance).share

    def rank(j: int) -> float:
        own = mode_table(instance, j)
        return float((own.demand @ share * own.duration).min()) / instance.jobs[j].weight

    return sorted((j for j in range(len(instance.jobs)) if modes(instance, j)), key=rank)


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
    returns True when time is up; compiled code does not ask.

    In a batch problem the result leaves out the jobs that do not fit. Otherwise it is None if the
    horizon is closed and a job does not fit. It is also None if the search was stopped. If an open
    horizon takes too much memory, the jobs run one after another.
    """
    longest = max((shortest(instance, j) or 0 for j in order), default=0)
    slots = max((instance.jobs[j].arrival for j in order), default=1) + 2 * longest
    slots = max(slots, longest + (0 if upto is None else upto.shape[1] - 1))
    last = math.inf if instance.last_end is None else instance.last_end - 1
    run = KERNEL.entry(instance)
    try:
        partial, left = PartialSchedule(instance, int(min(slots, last)), upto), list(order)
        while left:
            if run is KERNEL.plain and stop():
                return None
            now = 1 if run is KERNEL.plain else len(left)  # compiled, they take milliseconds
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
    start, runs, empty = 1, list[ElasticRun](), PricedServers.empty(cluster(instance), 1)
    if instance.last_end is not None:
        return runs if instance.is_batch else None
    for j in order:
        mode = min(modes(instance, j), key=lambda mode: mode.duration)
        run = empty.cheapest_at(mode, 1)
        assert run is not None
        start = max(start, instance.jobs[j].arrival)
        runs.append(run_at(j, mode, start, run.workers, run.ps))
        start += mode.duration
    return runs


def wspt_list(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `wspt-list`: the jobs by least volume / weight, each at its earliest end."""
    runs = list_schedule(instance, wspt_order(instance))
    if runs is None:
        return MethodResult(note=NO_PLACE)
    return MethodResult(schedule_of(instance, runs))
