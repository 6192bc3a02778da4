"""List schedules: jobs in a given order, each placed where it ends earliest.

Offline: not an online algorithm, because the orders use all jobs.

References
----------
R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied Mathematics 17
(1969): list scheduling.
L. A. Hall, A. S. Schulz, D. B. Shmoys, J. Wein, "Scheduling to minimize average completion time:
off-line and on-line approximation algorithms", Mathematics of Operations Research 22 (1997): lists
ordered by a solution of a relaxation.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.heuristics.partial_schedule import PartialSchedule

FACTORS = 0.5, 1, 2, 3, 4, 6  # weights of a job's time on all workers of its type, in sort keys


def orders(
    instance: EdgeInstance, starts: Mapping[int, float] | None = None
) -> dict[str, tuple[int, ...]]:
    """Return orders of the jobs that may run, by name.

    `starts`: a slot for each job (index), such as its mean start in a linear relaxation: adds the
    order `starts`.

    One order is by arrival. Each other one adds a multiple of the job's time alone (work / chunks),
    its work, or its time on all workers of its type. Ties are broken in list order.
    """
    view = arrays(instance)
    jobs = [task.job for task in compiled(instance).tasks]
    work = view.work[:, 1]
    on_all = work / np.maximum(view.workers.sum(axis=0), 1)[view.worker_type]
    keys = {
        "arrival": view.arrival.astype(float),
        "arrival + work / chunks": view.arrival + work / view.chunks,
        "arrival + 0.3 work": view.arrival + 0.3 * work,
    }
    keys |= {
        f"arrival + {factor:g} work / workers": view.arrival + factor * on_all for factor in FACTORS
    }
    if starts is not None:
        keys["starts"] = np.array([starts.get(j, math.inf) for j in range(len(instance.jobs))])
    return {name: tuple(sorted(jobs, key=key.__getitem__)) for name, key in keys.items()}


def place_all(instance: EdgeInstance, order: Sequence[int]) -> PartialSchedule:
    """Place jobs in an order, each where it ends earliest; jobs that do not fit are left unplaced.

    `order`: jobs by index.
    """
    partial = PartialSchedule(instance)
    partial.insert(order)
    return partial


def best_list(
    instance: EdgeInstance,
    *,
    stop: Callable[[], bool] = lambda: False,
    on_list: Callable[[PartialSchedule], None] = lambda partial: None,
) -> tuple[str, PartialSchedule]:
    """Return the best list schedule with its name: fewest unplaced jobs, then least objective.

    The last candidate, `by type`, concatenates the best order of each worker type.

    `stop`: called after each list; True ends the comparison with the lists so far. `on_list`:
    receives each list schedule as soon as it is built.
    """
    view, lists = arrays(instance), dict[str, PartialSchedule]()

    def add(name: str, order: Sequence[int]) -> None:
        lists[name] = place_all(instance, order)
        on_list(lists[name])

    def best() -> str:
        return min(lists, key=lambda name: lists[name].value)

    for name, order in orders(instance).items():
        add(name, order)
        if stop():
            return best(), lists[best()]
    by_type: list[int] = []
    for t, problem in enumerate(lists[best()].problems):
        name = min(lists, key=lambda name: float(lists[name].states[t].plan.cost.sum()))
        u = view.worker_type[problem.job[0]]
        by_type += [i for i in orders(instance)[name] if view.worker_type[i] == u]
    add("by type", by_type)
    return best(), lists[best()]
