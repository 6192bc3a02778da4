"""Sched_Homo: largest weight over work first, ignoring the speeds of the GPUs."""

import math

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.baselines.simulation import GpuCluster, WaitingJob, in_order, simulate


def sched_homo(instance: HareInstance) -> HareSchedule:
    """Start jobs by weight / work on any idle GPUs, in equal shares, as if all were equally fast.

    The paper: minimize weighted completion time with parallelism within and between jobs, ignoring
    speeds, without preemption of jobs. Ours: the work of a job is the sum of the mean training
    times of its tasks over all GPUs. A job gets the first idle GPUs of the list, up to the number
    of tasks in its widest round. The online primal-dual prices of the work that the paper cites are
    not in the paper and not reproduced. Ties: list order.
    """
    ratio: dict[int, float] = {}  # job -> weight / work, once it has arrived

    def rank(job: WaitingJob, cluster: GpuCluster) -> tuple[float, int]:
        if job.place not in ratio:
            total = math.fsum(job.work[k] for k in cluster.gpu_class)
            ratio[job.place] = job.weight * len(cluster.free) / total
        return -ratio[job.place], job.place

    policy = in_order(rank, lambda job, idle, cluster: idle[: job.width])
    return simulate(instance, policy, equal_shares=True)
