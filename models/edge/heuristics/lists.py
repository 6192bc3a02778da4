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
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.models.edge.baselines.partial_schedule import EdgePartialSchedule
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.heuristics.earliest_end import earliest_run

FACTORS = 0.5, 1, 2, 3, 4, 6  # in sort keys: of the job's time on all workers of its type


def orders(
    instance: EdgeInstance, starts: Mapping[int, float] | None = None
) -> dict[str, tuple[int, ...]]:
    """Return orders of the jobs that may run, by name.

    `starts`: a slot for each job (index), such as its mean start in a linear relaxation: adds the
    order `starts`.

    Returns
    -------
    dict of tuple of int
        By arrival, and by arrival plus a multiple of the job's time alone (work / chunks), of its
        work, or of its time on all workers of its type. Ties in list order.
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


def place_all(instance: EdgeInstance, order: Sequence[int]) -> EdgePartialSchedule:
    """Place jobs in an order, each where it ends earliest; jobs that do not fit are left unplaced.

    `order`: jobs by index.

    Notes
    -----
    Time: O(n) placements, each O(servers x intervals) for every start that is tried.
    """
    partial = EdgePartialSchedule(instance)
    for job in order:
        run = earliest_run(partial, job)
        if run is not None:
            partial.place(run)
    return partial


@lru_cache(maxsize=64)
def _cached_list(instance: EdgeInstance, order: tuple[int, ...]) -> EdgePartialSchedule:
    """Return `place_all`; cached, so callers must not change it."""
    return place_all(instance, order)


def best_list(
    instance: EdgeInstance,
    starts: Mapping[int, float] | None = None,
    *,
    stop: Callable[[], bool] = lambda: False,
    on_list: Callable[[EdgePartialSchedule], None] = lambda partial: None,
) -> tuple[str, tuple[int, ...]]:
    """Return name and order of the best list schedule: fewest unplaced jobs, then least objective.

    The last candidate, `by type`, concatenates the best order of each worker type.

    `starts`: as in `orders`. `stop`: called after each list; True ends the comparison with the
    lists so far. `on_list`: receives each list schedule as soon as it is built.
    """
    view, candidates = arrays(instance), orders(instance, starts)

    def key(partial: EdgePartialSchedule, jobs: Iterable[int]) -> tuple[int, int]:
        runs = [partial.runs[j] for j in jobs if j in partial.runs]
        return -len(runs), sum(run.end - int(view.arrival[run.job]) for run in runs)

    def best(jobs: Sequence[int]) -> str:
        return min(candidates, key=lambda name: key(lists[name], jobs))

    lists: dict[str, EdgePartialSchedule] = {}
    for name, order in candidates.items():
        lists[name] = _cached_list(instance, order)
        on_list(lists[name])
        if stop():
            candidates = {name: candidates[name] for name in lists}
            return (name := best(order)), candidates[name]
    by_type: list[int] = []
    for u in range(len(instance.worker_types)):
        own = [j for j in candidates["arrival"] if view.worker_type[j] == u]
        by_type += sorted(own, key=candidates[best(own)].index)
    candidates["by type"] = tuple(by_type)
    lists["by type"] = _cached_list(instance, tuple(by_type))
    on_list(lists["by type"])
    name = best(by_type)
    return name, candidates[name]
