"""DRF: numbers of workers by dominant resource fairness."""

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.baselines.simulation import ActiveJob, Assignment, simulate
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats


def drf(instance: ElasticInstance) -> ElasticSchedule:
    """Give waiting jobs workers one by one, each to the job with the least dominant share.

    The paper: numbers of workers by max-min fair dominant shares. Ours: at each arrival and end,
    the waiting jobs get workers of the types of their fastest mode. This ends when one more does
    not fit next to the others. Jobs with at least one worker start and keep what they have.
    """
    view = cluster(instance)
    total = view.capacity.sum(axis=0)

    def policy(waiting: list[ActiveJob], free: Floats) -> Assignment:
        placed = Assignment()
        share = dict.fromkeys(range(len(waiting)), 0.0)  # jobs that may still grow
        while share:
            k = min(share, key=lambda k: (share[k], k))
            job, present = waiting[k].job, placed.get(k)
            usage = present.amounts(view) if present else np.zeros_like(free)
            number = present.mode.workers + 1 if present else 1
            more = waiting[k].placed(free + usage, number) if number <= job.chunks else None
            if more is None:
                del share[k]
                continue
            amounts = more.amounts(view)
            free, placed[k] = free + usage - amounts, more
            used = amounts.sum(axis=0)
            share[k] = float((used[total > 0] / total[total > 0]).max())
        return placed

    return simulate(instance, policy)
