"""Sched_Homo: weight over work first, blind to the speed of GPUs."""

import math

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.baselines.simulation import (
    Arrived,
    Cluster,
    Policy,
    Starts,
    simulate,
)


def sched_homo(instance: HareInstance) -> HareSchedule:
    """Start jobs by weight / work on any idle GPUs, in equal shares, as if all were equally fast.

    The paper: weighted completion time with parallelism in and between jobs, blind to speeds, no
    preemption of jobs. Ours: work is the sum of mean training times over all GPUs; a job gets the
    first idle GPUs of the list, as many as its widest round has tasks or as there are. The online
    primal-dual prices of the work that the paper cites are not in the paper and not reproduced.
    Ties: list order.
    """
    return simulate(instance, _weight_over_work(), equal_shares=True)


def _weight_over_work() -> Policy:
    known: dict[int, float] = {}  # of each job that has arrived, weight / work

    def rank(job: Arrived, cluster: Cluster) -> tuple[float, int]:
        if job.place not in known:
            everywhere = math.fsum(job.work[k] for k in cluster.gpu_class)
            known[job.place] = job.weight * len(cluster.free) / everywhere
        return -known[job.place], job.place

    def policy(now: float, waiting: list[Arrived], cluster: Cluster) -> Starts:
        idle, starts = cluster.idle(now), []
        for job in sorted(waiting, key=lambda job: rank(job, cluster)):
            gang, idle = idle[: job.width], idle[job.width :]
            if gang:
                starts.append((job, gang))
        return starts

    return policy
