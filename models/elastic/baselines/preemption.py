"""Online policies that preempt: schedules of a relaxed problem.

A job may lose its servers and come back on others, which the model forbids; each time it then loses
a slot. Online, as in `simulation`. Decisions fall on arrivals, ends of runs, and ends of patience:
between these nothing that a policy looks at changes. Ties: arrival, then list order.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Placement
from schedgap.models.elastic.algorithms.a_maxweight import ArrivedJob, constants
from schedgap.models.elastic.algorithms.a_online import ElasticArrivals
from schedgap.models.elastic.baselines.first_fit import JobPlacement, fastest_mode, first_fit
from schedgap.models.elastic.modes import ElasticCluster, Mode, batch_slots, cluster
from schedgap.models.elastic.placement import Floats

RESTART = 1  # slots that a changed placement loses


@dataclass(eq=False)
class ActiveJob:
    """A job that has arrived and is not done."""

    arrived_job: ArrivedJob
    mode: Mode  # the quickest
    left: float  # mini-batches
    waits_since: int  # slot from which on it has not run
    held: JobPlacement | None = None
    since: int = 0  # first slot of the current segment
    segments: list[Placement] = field(default_factory=list)

    def rate(self, view: ElasticCluster) -> float:
        """Mini-batches per slot with what it holds."""
        assert self.held is not None
        mode = self.held.mode
        number = np.array([mode.workers])
        slots = batch_slots(
            view, self.arrived_job.job, mode.worker_type, mode.ps_type, number, mode.central
        )[0]
        return mode.workers / float(slots) if slots > 0 else math.inf

    def end(self, view: ElasticCluster) -> int:
        """Slot with which the current segment can be over; the rules allow a little to be left."""
        lost = RESTART if self.segments else 0
        work = self.arrived_job.job.work
        needed = (self.left - 5e-7 - 5e-10 * work) / self.rate(view)
        return self.since + lost + max(1, math.ceil(needed))

    def stop(self, view: ElasticCluster, now: int) -> None:
        """End the current segment before slot `now`."""
        assert self.held is not None
        if now > self.since:
            lost = RESTART if self.segments else 0
            done = max(0, now - self.since - lost)
            self.left = max(0.0, self.left - (done * self.rate(view) if done else 0.0))
            self.segments.append(self.held.placement(view, self.since, now - self.since))
        self.held, self.waits_since = None, now


Assignment = dict[int, JobPlacement]  # by place in the list of active jobs
PreemptivePolicy = Callable[[int, list[ActiveJob], Floats], tuple[Assignment, float]]
"""Slot, active jobs by arrival, capacity [h, r] -> who holds what, and when to ask again."""


def simulate_preemptive(instance: ElasticInstance, policy: PreemptivePolicy) -> ElasticSchedule:
    """Run an online policy that may take servers away; a new placement is a new segment.

    Every segment but a job's first loses a slot at its start. What the schedule breaks is the rule
    that a job runs in one piece (V12).
    """
    view, const, arrivals = cluster(instance), constants(instance), ElasticArrivals(instance)
    coming = sorted({job.arrival for job in instance.jobs})
    active: list[ActiveJob] = []
    done: dict[str, tuple[Placement, ...]] = {}
    wake = math.inf
    while active or coming:
        ends = [each.end(view) for each in active if each.held is not None]
        now = int(min([wake, *ends, *coming[:1]]))
        coming = [arrival for arrival in coming if arrival > now]
        for each in [each for each in active if each.held and each.end(view) <= now]:
            each.stop(view, now)
            done[each.arrived_job.job.id] = tuple(each.segments)
            active.remove(each)
        for arrived_job in arrivals.until(now):
            mode = fastest_mode(view, const, arrived_job.modes)
            active.append(ActiveJob(arrived_job, mode, float(arrived_job.job.work), now))
        holdings, wake = policy(now, active, view.capacity)
        for k, each in enumerate(active):
            wanted = holdings.get(k)
            if each.held is not None and each.held != wanted:
                each.stop(view, now)
            if wanted is not None and each.held is None:
                each.held, each.since = wanted, now
    return ElasticSchedule(done, "preemptive", RESTART)


def place_or_preempt(
    view: ElasticCluster, each: ActiveJob, free: Floats, others: list[ActiveJob]
) -> JobPlacement | None:
    """Place the quickest mode where no other job runs, or else where some of the others do."""
    job, mode = each.arrived_job.job, each.mode
    spare = free.copy()
    for other in others:
        if other.held is not None:
            spare -= other.held.amounts(view)
    for room in (spare, free):
        found = first_fit(view, job, mode.worker_type, mode.ps_type, mode.workers, room)
        if found is not None:
            return found
    return None


def still_fits(view: ElasticCluster, held: JobPlacement, free: Floats) -> bool:
    return bool((held.amounts(view) <= free).all())
