"""List schedules: jobs in some order, each where it ends soonest.

Offline, so no online algorithm.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.models.edge.baselines.timetable import Timetable
from schedgap.models.edge.decisions import problem
from schedgap.models.edge.heuristics.earliest_end import soonest

SHARES = 0.5, 1, 2, 3, 4, 6  # in keys of orders: of a job's time on all workers of its type


def orders(
    instance: EdgeInstance, starts: Mapping[int, float] | None = None
) -> dict[str, tuple[int, ...]]:
    """Return orders of the jobs that may run, by name.

    Parameters
    ----------
    instance : EdgeInstance
    starts : Mapping[int, float], optional
        A slot for each job, such as the mean start in a linear relaxation: one more order.

    Returns
    -------
    dict[str, tuple[int, ...]]
        By arrival; by arrival plus parts of the job's time alone (work / chunks), of its work, and
        of its time on all workers of its type. Ties in list order.
    """
    view = arrays(instance)
    able = [task.job for task in problem(instance).tasks]
    work = view.work[:, 1]
    on_all = work / np.maximum(view.workers.sum(axis=0), 1)[view.worker_type]
    keys = {
        "arrival": view.arrival.astype(float),
        "arrival + work / chunks": view.arrival + work / view.chunks,
        "arrival + 0.3 work": view.arrival + 0.3 * work,
    }
    keys |= {f"arrival + {part:g} work / workers": view.arrival + part * on_all for part in SHARES}
    if starts is not None:
        keys["starts"] = np.array([starts.get(j, math.inf) for j in range(len(instance.jobs))])
    return {name: tuple(sorted(able, key=key.__getitem__)) for name, key in keys.items()}


def place_all(instance: EdgeInstance, order: Sequence[int]) -> Timetable:
    """Place jobs (by index) in an order, each where it ends soonest; who ends nowhere is left over.

    Time: O(n) placements, each O(servers x stretches) for every start that is tried.
    """
    timetable = Timetable(instance)
    for job in order:
        run = soonest(timetable, job)
        if run is not None:
            timetable.take(run)
    return timetable


@lru_cache(maxsize=64)
def _listed(instance: EdgeInstance, order: tuple[int, ...]) -> Timetable:
    """Return `place_all`, once for each order; nobody changes it."""
    return place_all(instance, order)


def best_list(
    instance: EdgeInstance,
    starts: Mapping[int, float] | None = None,
    *,
    stop: Callable[[], bool] = lambda: False,
    hear: Callable[[Timetable], None] = lambda timetable: None,
) -> tuple[str, tuple[int, ...]]:
    """Return the name and the order of the best list schedule: fewest left over, then least value.

    Also tried, as `by type`: each worker type in the order that suits it best, type by type.

    Parameters
    ----------
    stop : callable
        Asked after each list: whether to be content with those so far.
    hear : callable
        Told of each list as soon as it is made.
    """
    view, found = arrays(instance), orders(instance, starts)

    def key(timetable: Timetable, jobs: Iterable[int]) -> tuple[int, int]:
        runs = [timetable.runs[j] for j in jobs if j in timetable.runs]
        return -len(runs), sum(r.group.end - int(view.arrival[r.group.job]) for r in runs)

    def best(jobs: Sequence[int]) -> str:
        return min(found, key=lambda name: key(timetables[name], jobs))

    timetables: dict[str, Timetable] = {}
    for name, order in found.items():
        timetables[name] = _listed(instance, order)
        hear(timetables[name])
        if stop():
            found = {name: found[name] for name in timetables}
            return (name := best(order)), found[name]
    mixed: list[int] = []
    for u in range(len(instance.worker_types)):
        own = [j for j in found["arrival"] if view.worker_type[j] == u]
        mixed += sorted(own, key=found[best(own)].index)
    found["by type"] = tuple(mixed)
    timetables["by type"] = _listed(instance, tuple(mixed))
    hear(timetables["by type"])
    name = best(mixed)
    return name, found[name]
