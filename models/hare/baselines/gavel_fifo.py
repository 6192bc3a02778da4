"""Gavel_FIFO: first come, first served, each job on the fastest idle GPUs."""

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.baselines.simulation import fastest_gang, in_order, simulate


def gavel_fifo(instance: HareInstance) -> HareSchedule:
    """Start jobs in order of arrival, each on the fastest idle GPUs.

    The paper: jobs in order of arrival, on the fastest available GPUs; a job waits until the GPUs
    that it demands are idle. Ours: a job demands as many GPUs as its widest round has tasks, at
    most all, and holds them until it completes. No job overtakes another. Ties: list order.
    """
    return simulate(instance, in_order(lambda job, cluster: 0, fastest_gang))
