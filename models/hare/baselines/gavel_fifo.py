"""Gavel_FIFO: jobs in order of arrival, each on the fastest idle GPUs."""

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.baselines.simulation import (
    Arrived,
    Cluster,
    Starts,
    fastest,
    simulate,
)


def gavel_fifo(instance: HareInstance) -> HareSchedule:
    """Start jobs in order of arrival, each on the fastest idle GPUs.

    The paper: jobs in order of arrival, on the fastest available GPUs; a job waits until the GPUs
    that it demands are idle. Ours: it demands as many as its widest round has tasks, at most all,
    holds them until it completes, and nobody overtakes. Ties: list order.
    """
    return simulate(instance, _first_come_first_served)


def _first_come_first_served(now: float, waiting: list[Arrived], cluster: Cluster) -> Starts:
    idle, starts = cluster.idle(now), []
    for job in waiting:
        width = min(job.width, len(cluster.free))
        if width > len(idle):
            break
        gang = fastest(idle, job.total, width, cluster)
        idle = [m for m in idle if m not in gang]
        starts.append((job, gang))
    return starts
