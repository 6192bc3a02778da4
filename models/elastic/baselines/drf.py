"""DRF: numbers of workers by dominant resource fairness."""

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.a_maxweight import ArrivedJob, constants
from schedgap.models.elastic.baselines.first_fit import JobPlacement, fastest_mode, first_fit
from schedgap.models.elastic.baselines.simulation import Starts, simulate
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats


def drf(instance: ElasticInstance) -> ElasticSchedule:
    """Give waiting jobs workers one by one, each to the job with the least dominant share.

    The paper: numbers of workers by max-min fair dominant shares. Ours: at each arrival and end,
    the waiting jobs get workers of the types of their fastest mode, until one more does not fit
    next to the others; jobs with at least one worker start and keep what they have.
    """
    view, const = cluster(instance), constants(instance)
    total = view.capacity.sum(axis=0)

    def policy(waiting: list[ArrivedJob], free: Floats) -> Starts:
        fastest = [fastest_mode(view, const, arrived_job.modes) for arrived_job in waiting]
        placed: dict[int, JobPlacement] = {}
        share = dict.fromkeys(range(len(waiting)), 0.0)  # jobs that may still grow
        while share:
            k = min(share, key=lambda k: (share[k], k))
            job, present = waiting[k].job, placed.get(k)
            present_usage = present.amounts(view) if present else np.zeros_like(free)
            number = present.mode.workers + 1 if present else 1
            m, p = fastest[k].worker_type, fastest[k].ps_type
            more = (
                first_fit(view, job, m, p, number, free + present_usage)
                if number <= job.chunks
                else None
            )
            if more is None:
                del share[k]
                continue
            amounts = more.amounts(view)
            free, placed[k] = free + present_usage - amounts, more
            used = amounts.sum(axis=0)
            share[k] = float((used[total > 0] / total[total > 0]).max())
        return [(waiting[k], placed[k]) for k in sorted(placed)]

    return simulate(instance, policy)
