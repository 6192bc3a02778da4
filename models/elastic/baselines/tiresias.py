"""Tiresias: the job that has least left runs first, the others are preempted."""

import math

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.a_maxweight import constants
from schedgap.models.elastic.baselines.preemption import (
    RESTART,
    ActiveJob,
    Assignment,
    place_or_preempt,
    simulate_preemptive,
    still_fits,
)
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats


def tiresias(instance: ElasticInstance) -> ElasticSchedule:
    """Run the jobs that have least left: remaining slots x resources; the others are preempted.

    The paper: preemptive, by remaining work times resources. Ours: both by the quickest mode, each
    resource as a share of all servers' total; at every arrival and end jobs get their places in
    this order, who runs keeps its own where it can. Asking in between would change nothing: only
    running jobs get ahead, so those that wait find even less than they did.
    """
    view, const = cluster(instance), constants(instance)

    def left(now: int, each: ActiveJob) -> float:
        work = each.left
        if each.held is not None:
            slots = now - each.since - (RESTART if each.segments else 0)
            work -= slots * each.rate(view) if slots > 0 else 0.0
        return max(0.0, work) / each.arrived_job.job.work

    def policy(now: int, active: list[ActiveJob], free: Floats) -> tuple[Assignment, float]:
        def rank(k: int) -> tuple[float, int]:
            each = active[k]
            product = left(now, each) * float(const.volumes(view, [each.mode])[0])
            return float(f"{product:.9g}"), k

        holdings = Assignment()
        order = sorted(range(len(active)), key=rank)
        for place, k in enumerate(order):
            each, held = active[k], active[k].held
            if held is None or not still_fits(view, held, free):
                others = [active[other] for other in order[place + 1 :]]
                held = place_or_preempt(view, each, free, others)
            if held is not None:
                holdings[k], free = held, free - held.amounts(view)
        return holdings, math.inf

    return simulate_preemptive(instance, policy)
