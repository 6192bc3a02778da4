"""Sched_Allox: one GPU for each job, by matchings of least total completion time."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.baselines.simulation import (
    Arrived,
    Cluster,
    Floats,
    Policy,
    Starts,
    simulate,
)


def sched_allox(instance: HareInstance, weighted: bool = False) -> HareSchedule:
    """Give each job one GPU by matchings of least total completion time of the waiting jobs.

    The paper: AlloX, a bipartite matching that knows all speeds, without parallelism in a job.
    Ours: whenever a GPU is idle, match the waiting jobs to (GPU, place from the end); of the jobs
    matched to an idle GPU the first in line starts, all others are matched again at the next event.
    `weighted` lets the one with the greatest weight / length start instead. Ties: see `match`.
    """
    return simulate(instance, _least_matching(weighted))


def _least_matching(weighted: bool) -> Policy:
    def policy(now: float, waiting: list[Arrived], cluster: Cluster) -> Starts:
        jobs = sorted(waiting, key=lambda job: job.place)
        length = np.array([job.alone for job in jobs])
        release = np.maximum(np.array(cluster.free) - now, 0.0)
        line: dict[int, list[tuple[float, int]]] = {}  # GPU -> (what comes first is least, row)
        for row, (m, q) in enumerate(match(release, np.array(cluster.gpu_class), length)):
            if release[m] == 0:
                rate = jobs[row].weight / length[row, cluster.gpu_class[m]]
                line.setdefault(m, []).append((-rate if weighted else -q, row))
        return [(jobs[min(own)[1]], [m]) for m, own in sorted(line.items())]

    return policy


def match(
    release: Floats, gpu_class: NDArray[np.int64], length: Floats, *, reduce: bool = True
) -> list[tuple[int, int]]:
    """Match jobs to (GPU, place from the end) at least total completion time.

    Parameters
    ----------
    release : array [m]
        Time until the GPU is idle.
    gpu_class : array [m]
        Class of the GPU, a column of `length`.
    length : array [job, class]
        Time that a job takes on a GPU of the class, > 0.
    reduce : bool
        Offer only the columns that are among the W cheapest of some of the W jobs: the other jobs
        take at most W - 1 of a job's W cheapest, so the least cost stays the same. The matching
        may be another one of that cost, so schedules are always made with it.

    Returns
    -------
    list of (m, q)
        For each job its GPU and its place q = 1, 2, ... from the end; it costs
        release[m] + q length[job, class of m].
    """
    jobs = len(length)
    gpu, place = _undominated(release, gpu_class, jobs) if reduce else _all(len(release), jobs)
    cost = release[gpu] + place * length[:, gpu_class[gpu]]
    if reduce:
        cheapest = np.argsort(cost, axis=1, kind="stable")[:, :jobs]
        kept = np.unique(cheapest)
        gpu, place, cost = gpu[kept], place[kept], cost[:, kept]
    _, chosen = linear_sum_assignment(cost)
    return list(zip(gpu[chosen].tolist(), place[chosen].tolist(), strict=True))


def _all(gpus: int, jobs: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[column] GPU and place of every pair, by GPU, then place."""
    return np.repeat(np.arange(gpus), jobs), np.tile(np.arange(1, jobs + 1), gpus)


def _undominated(
    release: Floats, gpu_class: NDArray[np.int64], jobs: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Leave out columns that are among nobody's `jobs` cheapest, whatever the lengths.

    In a class, place q on the j-th GPU to be released costs no less than the j q columns of the
    first j GPUs and q places, itself among them; so only j q <= `jobs` can be wanted.
    """
    rank = np.empty(len(release), dtype=np.int64)
    for k in range(gpu_class.max() + 1):
        own = np.flatnonzero(gpu_class == k)
        rank[own[np.argsort(release[own], kind="stable")]] = np.arange(1, len(own) + 1)
    gpu, place = _all(len(release), jobs)
    wanted = rank[gpu] * place <= jobs
    return gpu[wanted], place[wanted]
