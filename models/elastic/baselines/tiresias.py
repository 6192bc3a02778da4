"""Tiresias: the job with the least remaining work runs first, others are preempted."""

import math

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.a_maxweight import constants
from schedgap.models.elastic.baselines.simulation import (
    RESTART,
    ActiveJob,
    Assignment,
    Restart,
    place_or_preempt,
    simulate_preemptive,
    still_fits,
)
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats


def tiresias(instance: ElasticInstance, restart: Restart = RESTART) -> ElasticSchedule:
    """Run the jobs with the least remaining slots x resources first; the others are preempted.

    Notes
    -----
    The paper: preemptive, by remaining work times resources. Ours: both by the fastest mode, each
    resource as a share of the total of all servers. At every arrival and end, jobs are placed in
    this order; a running job keeps its servers where it can. Calls in between would change nothing:
    only running jobs gain priority, so a waiting job would find even less free.
    """
    view, const = cluster(instance), constants(instance)

    def policy(now: int, active: list[ActiveJob], free: Floats) -> tuple[Assignment, float]:
        def rank(k: int) -> tuple[float, int]:
            each = active[k]
            [volume] = const.volumes(view, [each.mode])
            return float(f"{each.remaining(now) / each.job.work * volume:.9g}"), k

        assignment = Assignment()
        order = sorted(range(len(active)), key=rank)
        for place, k in enumerate(order):
            placement = active[k].held
            if placement is None or not still_fits(view, placement, free):
                others = [active[other] for other in order[place + 1 :]]
                placement = place_or_preempt(active[k], free, others)
            if placement is not None:
                assignment[k], free = placement, free - placement.amounts(view)
        return assignment, math.inf

    return simulate_preemptive(instance, policy, restart)
