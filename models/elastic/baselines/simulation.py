"""Simulation of online policies without preemption, slot by slot.

A policy sees the jobs that have arrived and the free amounts, and nothing else. It is called at
arrivals and at ends of runs: in between nothing that it depends on changes. Ties: arrival, then
list order.
"""

from collections.abc import Callable

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Placement
from schedgap.models.elastic.algorithms.a_maxweight import ArrivedJob
from schedgap.models.elastic.algorithms.a_online import ElasticArrivals
from schedgap.models.elastic.baselines.first_fit import JobPlacement
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats

Starts = list[tuple[ArrivedJob, JobPlacement]]
Policy = Callable[[list[ArrivedJob], Floats], Starts]
"""Waiting jobs by arrival, free amounts [h, r] -> the jobs that start."""


def simulate(instance: ElasticInstance, policy: Policy) -> ElasticSchedule:
    """Run an online policy without preemption; every job must fit on the empty cluster.

    `policy`: waiting jobs by arrival, and free amounts [h, r] -> the jobs that start, with
    placements.
    """
    view, arrivals = cluster(instance), ElasticArrivals(instance)
    moments = {job.arrival for job in instance.jobs}
    running: list[tuple[int, Floats]] = []
    waiting: list[ArrivedJob] = []
    placed: dict[str, Placement] = {}
    while moments:
        now = min(moments)  # the slot that begins
        moments.remove(now)
        running = [run for run in running if run[0] > now]
        free = view.capacity - sum(amounts for _, amounts in running)
        waiting += arrivals.until(now)
        for arrived_job, held in policy(list(waiting), free):
            waiting.remove(arrived_job)
            end = now + held.mode.duration
            running.append((end, held.amounts(view)))
            moments.add(end)
            placed[arrived_job.job.id] = held.placement(view, now, held.mode.duration)
    assert not waiting, "a policy left jobs on an empty cluster"
    return ElasticSchedule(placed)
