"""DRF: numbers of workers by max-min fair dominant shares."""

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.a_maxweight import ArrivedJob, constants
from schedgap.models.elastic.baselines.first_fit import JobPlacement, fastest_mode, first_fit
from schedgap.models.elastic.baselines.simulation import Starts, simulate
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats


def drf(instance: ElasticInstance) -> ElasticSchedule:
    """Give waiting jobs workers one by one, the next to the job of least dominant share.

    The paper: numbers of workers by max-min fair dominant shares. Ours: at each arrival and end the
    waiting jobs fill up with the types of their quickest mode, each until one worker more finds no
    place beside what the others have; those with a worker start and keep what they have.
    """
    view, const = cluster(instance), constants(instance)
    total = view.capacity.sum(axis=0)

    def policy(waiting: list[ArrivedJob], free: Floats) -> Starts:
        kinds = [fastest_mode(view, const, arrived_job.modes) for arrived_job in waiting]
        held: dict[int, JobPlacement] = {}
        share = dict.fromkeys(range(len(waiting)), 0.0)  # of the jobs that may still grow
        while share:
            k = min(share, key=lambda k: (share[k], k))
            job, own = waiting[k].job, held.get(k)
            mine = own.amounts(view) if own else np.zeros_like(free)
            number = own.mode.workers + 1 if own else 1
            m, p = kinds[k].worker_type, kinds[k].ps_type
            more = first_fit(view, job, m, p, number, free + mine) if number <= job.chunks else None
            if more is None:
                del share[k]
                continue
            amounts = more.amounts(view)
            free, held[k] = free + mine - amounts, more
            used = amounts.sum(axis=0)
            share[k] = float((used[total > 0] / total[total > 0]).max())
        return [(waiting[k], held[k]) for k in sorted(held)]

    return simulate(instance, policy)
