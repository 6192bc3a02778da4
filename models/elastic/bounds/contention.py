"""The certificate `volume`: weighted mean busy times of the least volumes on one resource.

All servers are pooled, so a run is a mode: its total demand, on any servers.

References
----------
M. X. Goemans, M. Queyranne, A. S. Schulz, M. Skutella, Y. Wang, "Single machine scheduling with
release dates", SIAM Journal on Discrete Mathematics 15 (2002): the preemptive schedule in order of
priority minimises the weighted sum of mean busy times.
"""

import math
from functools import lru_cache

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.block_pricing import ROUNDING
from schedgap.models.elastic.modes import cluster, mode_table
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.time_windows import shortest

MAX_SLOTS = 5_000  # largest number of slots with prices by block


def contended_slots(instance: ElasticInstance) -> int:
    """Return an estimate of the number of slots in which capacity is scarce; any number is valid.

    The last arrival, plus 1.5 times the time for which all jobs together occupy the scarcest
    resource, plus the longest job.
    """
    if instance.last_end is not None:
        return min(instance.last_end - 1, MAX_SLOTS)
    total = cluster(instance).capacity.sum(axis=0)
    volumes = np.zeros(len(total))
    for j in range(len(instance.jobs)):
        volumes += _least_volumes(instance, j)
    share = float((volumes[total > 0] / total[total > 0]).max(initial=0.0))
    longest = max(shortest(instance, j) or 0 for j in range(len(instance.jobs)))
    last = max(job.arrival for job in instance.jobs)
    return int(min(max(1, last + math.ceil(1.5 * share) + longest), MAX_SLOTS))


def mean_busy_time_bound(instance: ElasticInstance, resource: int) -> float | None:
    """Return the bound by mean busy times on one resource; None if the cluster has none of it.

    Notes
    -----
    Let p_j be the least volume of job j as a share of the resource: demand times duration over the
    total capacity. A run at a constant rate completes, by the paper's count, at its mean busy time
    + d / 2 + 1. One preemptive schedule always runs the available job of the largest w_j / p_j.
    Among all, it has the least weighted mean busy time (Goemans et al. 2002). A run of more volume
    than p_j is a run of p_j at a lower rate, with the same mean busy time.
    """
    total = float(cluster(instance).capacity[:, resource].sum())
    if not total > 0:
        return None
    jobs = range(len(instance.jobs))
    volumes = [float(_least_volumes(instance, j)[resource]) / total for j in jobs]
    release = [job.arrival - 1.0 for job in instance.jobs]
    weight = [job.weight for job in instance.jobs]
    mean_busy = mean_busy_times(release, volumes, weight)
    value = math.fsum(
        w * (m + (shortest(instance, j) or 0) / 2 + 1)
        for j, w, m in zip(jobs, weight, mean_busy, strict=True)
    )
    return value * (1 - ROUNDING)


@lru_cache(maxsize=1 << 12)
def _least_volumes(instance: ElasticInstance, job: int) -> Floats:
    """Return [r] the least demand x duration of a mode, in units of the resource times slots."""
    rows = mode_table(instance, job)
    least: Floats = (rows.demand * rows.duration[:, None]).min(axis=0)
    return least


def mean_busy_times(release: list[float], volume: list[float], weight: list[float]) -> list[float]:
    """Return [j] the mean busy times of the preemptive schedule by w / p on one machine.

    `release`: earliest start times. `volume`: processing times p, >= 0. `weight`: weights w, > 0.
    """
    mean, free = list(release), [(0.0, math.inf)]  # free intervals of the machine, in order
    jobs = [j for j in range(len(release)) if volume[j] > 0]
    for j in sorted(jobs, key=lambda j: -weight[j] / volume[j]):
        left, integral, rest = volume[j], 0.0, list[tuple[float, float]]()
        for begin, end in free:
            first = max(begin, release[j])
            last = min(first + left, end)
            if last > first:
                integral += (last - first) * (last + first) / 2
                left -= last - first
                rest += [(a, b) for a, b in ((begin, first), (last, end)) if a < b]
            else:
                rest.append((begin, end))
        mean[j], free = integral / volume[j], rest
    return mean
