"""The bound `volume`: mean busy times of the least volumes, all servers as one.

On a single pool a run is a mode: what it asks for in all, on any servers.
"""

import math
from functools import lru_cache

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.mode_tables import ROUNDING, table
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.time_windows import no_schedule, shortest
from schedgap.models.method import MethodResult, RunContext

MAX_SLOTS = 5_000  # with prices


def contended_slots(instance: ElasticInstance) -> int:
    """Return a number of slots after which little is contended, for prices; any is valid.

    The last arrival, then half as long again as the scarcest resource is busy with all jobs.
    """
    if instance.last_end is not None:
        return min(instance.last_end - 1, MAX_SLOTS)
    total = cluster(instance).capacity.sum(axis=0)
    busy = np.zeros(len(total))
    for j in range(len(instance.jobs)):
        busy += _least_volumes(instance, j)
    share = float((busy[total > 0] / total[total > 0]).max(initial=0.0))
    longest = max(shortest(instance, j) or 0 for j in range(len(instance.jobs)))
    last = max(job.arrival for job in instance.jobs)
    return int(min(max(1, last + math.ceil(1.5 * share) + longest), MAX_SLOTS))


def mean_busy_time_bound(instance: ElasticInstance, resource: int) -> float | None:
    """Return the bound by mean busy times on one resource; None where there is none of it.

    Notes
    -----
    p_j is the least volume of job j as a share of the resource: demand times duration over the
    total capacity. A run at a constant rate ends, by the paper's count, at its mean busy time
    + d / 2 + 1; of all preemptive schedules, running the available job of the largest w_j / p_j
    has the least weighted mean busy time (Goemans et al. 2002). A run of more volume than p_j is a
    run of p_j at a lower rate, with the same mean busy time.
    """
    total = float(cluster(instance).capacity[:, resource].sum())
    if not total > 0:
        return None
    jobs = range(len(instance.jobs))
    least = [float(_least_volumes(instance, j)[resource]) / total for j in jobs]
    release = [job.arrival - 1.0 for job in instance.jobs]
    weight = [job.weight for job in instance.jobs]
    busy = mean_busy_times(release, least, weight)
    value = math.fsum(
        w * (m + (shortest(instance, j) or 0) / 2 + 1)
        for j, w, m in zip(jobs, weight, busy, strict=True)
    )
    return value * (1 - ROUNDING)


@lru_cache(maxsize=1 << 12)
def _least_volumes(instance: ElasticInstance, job: int) -> Floats:
    """[r] least demand x duration of a mode, in units of the resource and slots."""
    own = table(instance, job)
    least: Floats = (own.demand(cluster(instance)) * own.duration[:, None]).min(axis=0)
    return least


def mean_busy_times(release: list[float], volume: list[float], weight: list[float]) -> list[float]:
    """Return [j] the mean busy times of the schedule by w / p with preemption, at unit speed."""
    order = sorted(range(len(release)), key=lambda j: release[j])
    left, moment = list(volume), [0.0] * len(volume)
    now, at, waiting = 0.0, 0, set[int]()
    while at < len(order) or waiting:
        if not waiting:
            now = max(now, release[order[at]])
        while at < len(order) and release[order[at]] <= now:
            if volume[order[at]] > 0:
                waiting.add(order[at])
            at += 1
        if not waiting:
            continue
        j = max(waiting, key=lambda j: (weight[j] / volume[j], -j))
        until = now + left[j]
        finished = at == len(order) or until <= release[order[at]]
        if not finished:
            until = release[order[at]]
        moment[j] += (until - now) * (until + now) / 2
        left[j] -= until - now
        now = until
        if finished:
            waiting.remove(j)
    return [moment[j] / volume[j] if volume[j] > 0 else release[j] for j in range(len(release))]


def volume_bound(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Bound by the volume on the resource that is scarcest."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    values = {
        name: value
        for r, name in enumerate(instance.resources)
        for value in [mean_busy_time_bound(instance, r)]
        if value is not None
    }
    if not values:
        return MethodResult(note="no resource has any capacity")
    best = max(values, key=lambda name: values[name])
    return MethodResult(
        bound=values[best],
        trace={"by_resource": values},
        certificate={"kind": "volume", "resource": best, "value": values[best]},
    )
