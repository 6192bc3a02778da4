"""Gavel_FIFO: first come, first served, each job on the fastest idle GPUs."""

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.baselines.simulation import (
    GpuCluster,
    Starts,
    WaitingJob,
    fastest,
    simulate,
)


def gavel_fifo(instance: HareInstance) -> HareSchedule:
    """Start jobs in order of arrival, each on the fastest idle GPUs.

    The paper: jobs in order of arrival, on the fastest available GPUs; a job waits until the GPUs
    that it demands are idle. Ours: a job demands as many GPUs as its widest round has tasks, at
    most all, and holds them until it completes; no job overtakes another. Ties: list order.
    """
    return simulate(instance, _first_come_first_served)


def _first_come_first_served(now: float, waiting: list[WaitingJob], cluster: GpuCluster) -> Starts:
    """Start jobs in order of arrival until one finds too few idle GPUs."""
    idle, starts = cluster.idle(now), []
    for job in waiting:
        width = min(job.width, len(cluster.free))
        if width > len(idle):
            break
        gang = fastest(idle, job.total, width, cluster)
        idle = [m for m in idle if m not in gang]
        starts.append((job, gang))
    return starts
