"""Sched_Allox: one GPU per job, by matchings of minimum total completion time."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.baselines.simulation import (
    Floats,
    GpuCluster,
    Policy,
    Starts,
    WaitingJob,
    simulate,
)


def sched_allox(
    instance: HareInstance,
    weighted: Annotated[
        bool, "start jobs by weight over length instead of in the order of the matching"
    ] = False,
) -> HareSchedule:
    """Run each job on one GPU, chosen by matchings of minimum total completion time.

    The paper: AlloX, a bipartite matching that knows all speeds, without parallelism within a job.
    Ours: whenever a GPU is idle, match the waiting jobs to (GPU, position from the end). Of the
    jobs matched to an idle GPU, the first in line starts; all others are matched again at the next
    event. Ties: see `match`.

    `weighted`: of the jobs matched to an idle GPU, start the one with the largest weight / length.
    """
    return simulate(instance, _matching_policy(weighted))


def _matching_policy(weighted: bool) -> Policy:
    """Return the policy that matches the waiting jobs anew at every event."""

    def policy(now: float, waiting: list[WaitingJob], cluster: GpuCluster) -> Starts:
        jobs = sorted(waiting, key=lambda job: job.place)
        length = np.array([job.alone for job in jobs])
        release = np.maximum(np.array(cluster.free) - now, 0.0)
        line: dict[int, list[tuple[float, int]]] = {}  # idle GPU -> (key, row); smallest key first
        for row, (m, q) in enumerate(match(release, np.array(cluster.gpu_class), length)):
            if release[m] == 0:
                rate = jobs[row].weight / length[row, cluster.gpu_class[m]]
                line.setdefault(m, []).append((-rate if weighted else -q, row))
        return [(jobs[min(queue)[1]], [m]) for m, queue in sorted(line.items())]

    return policy


def match(release: Floats, gpu_class: NDArray[np.int64], length: Floats) -> list[tuple[int, int]]:
    """Match jobs to pairs (GPU, position from the end) at minimum total completion time.

    `release` [m]: time until the GPU is idle. `gpu_class` [m]: class of each GPU, a column of
    `length`. `length` [job, class]: time that a job takes on a GPU of the class, > 0.

    The result has for each job its GPU and its position q = 1, 2, ... from the end, at cost
    release[m] + q length[job, class of m].

    Notes
    -----
    Of W jobs, only the columns that are among the W cheapest of some job are used. The other jobs
    take at most W - 1 of them, so the minimum cost stays the same.
    """
    jobs = len(length)
    gpu, place = _undominated_columns(release, gpu_class, jobs)
    cost = release[gpu] + place * length[:, gpu_class[gpu]]
    columns = np.unique(np.argsort(cost, axis=1, kind="stable")[:, :jobs])
    _, chosen = linear_sum_assignment(cost[:, columns])
    pairs = columns[chosen]
    return list(zip(gpu[pairs].tolist(), place[pairs].tolist(), strict=True))


def _undominated_columns(
    release: Floats, gpu_class: NDArray[np.int64], jobs: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns that can be among the `jobs` cheapest of a job, whatever its lengths.

    Within a class, take position q on the j-th GPU to be released. It costs no less than the j q
    columns of the first j GPUs and q positions, itself included. So j q <= `jobs` is necessary.
    """
    rank = np.empty(len(release), dtype=np.int64)
    for k in range(gpu_class.max() + 1):
        gpus = np.flatnonzero(gpu_class == k)
        rank[gpus[np.argsort(release[gpus], kind="stable")]] = np.arange(1, len(gpus) + 1)
    gpu = np.repeat(np.arange(len(release)), jobs)
    place = np.tile(np.arange(1, jobs + 1), len(release))
    possible = rank[gpu] * place <= jobs
    return gpu[possible], place[possible]
