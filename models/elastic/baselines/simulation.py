"""Simulation of online policies, with and without preemption.

A policy sees the jobs that have arrived and the free amounts, and nothing else. It is called at
arrivals, at ends of runs, and when patience ends: in between nothing that it depends on changes.
Ties: arrival, then list order. Where a policy preempts, a job may lose its servers and resume on
others, which the model forbids; each time it loses slots.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from annotated_types import Ge

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Placement
from schedgap.models.elastic.algorithms.a_maxweight import ArrivedJob, constants
from schedgap.models.elastic.algorithms.a_online import ElasticArrivals
from schedgap.models.elastic.baselines.first_fit import JobPlacement, fastest_mode, first_fit
from schedgap.models.elastic.modes import ElasticCluster, Mode, batch_slots, cluster
from schedgap.models.elastic.placement import Floats

RESTART = 1  # by default
Restart = Annotated[int, "slots that a preempted job loses when it resumes", Ge(0)]


@dataclass(eq=False)
class ActiveJob:
    """A job that has arrived and is not complete."""

    arrived_job: ArrivedJob
    mode: Mode  # the fastest
    left: float  # remaining mini-batches
    waits_since: int  # slot since which it has not run
    held: JobPlacement | None = None
    since: int = 0  # first slot of the current segment
    restart: int = RESTART  # slots that every segment but the first loses
    segments: list[Placement] = field(default_factory=list)

    def lost(self) -> int:
        """Return the slots that the current segment loses at its start."""
        return self.restart if self.segments else 0

    def rate(self, view: ElasticCluster) -> float:
        """Return mini-batches per slot with the present placement."""
        assert self.held is not None
        mode = self.held.mode
        number = np.array([mode.workers])
        slots = batch_slots(
            view, self.arrived_job.job, mode.worker_type, mode.ps_type, number, mode.central
        )[0]
        return mode.workers / float(slots) if slots > 0 else math.inf

    def end(self, view: ElasticCluster) -> int:
        """Return the slot at which the current segment can end, within the rules' tolerance."""
        assert self.held is not None
        if not self.segments:
            return self.since + self.held.mode.duration
        lost = self.lost()
        work = self.arrived_job.job.work
        needed = (self.left - 5e-7 - 5e-10 * work) / self.rate(view)
        return self.since + lost + max(1, math.ceil(needed))

    def stop(self, view: ElasticCluster, now: int) -> None:
        """End the current segment before slot `now`.

        `now`: slot.
        """
        assert self.held is not None
        if now > self.since:
            lost = self.lost()
            done = max(0, now - self.since - lost)
            self.left = max(0.0, self.left - (done * self.rate(view) if done else 0.0))
            mode, workers, ps = self.held
            mode = mode._replace(duration=now - self.since)
            self.segments.append(view.place(mode, self.since, workers, ps))
        self.held, self.waits_since = None, now


Assignment = dict[int, JobPlacement]  # by index in the list of active jobs
PreemptivePolicy = Callable[[int, list[ActiveJob], Floats], tuple[Assignment, float]]
"""Slot, active jobs by arrival, capacity [h, r] -> placements, and the slot of the next call."""


def simulate_preemptive(
    instance: ElasticInstance, policy: PreemptivePolicy, restart: int = RESTART
) -> ElasticSchedule:
    """Run an online policy that may preempt jobs; a new placement is a new segment.

    Every segment but a job's first loses slots at its start. The schedule breaks only the rule
    that a job runs without interruption (V12).

    `policy`: slot, active jobs by arrival, capacity [h, r] -> placements of the jobs that run, and
    the slot at which to call it again. `restart`: slots that a segment loses.
    """
    view, const, arrivals = cluster(instance), constants(instance), ElasticArrivals(instance)
    arrival_slots = sorted({job.arrival for job in instance.jobs})
    active: list[ActiveJob] = []
    done: dict[str, tuple[Placement, ...]] = {}
    next_call = math.inf
    while active or arrival_slots:
        ends = [job.end(view) for job in active if job.held is not None]
        now = int(min([next_call, *ends, *arrival_slots[:1]]))
        arrival_slots = [arrival for arrival in arrival_slots if arrival > now]
        for job in [job for job in active if job.held and job.end(view) <= now]:
            job.stop(view, now)
            done[job.arrived_job.job.id] = tuple(job.segments)
            active.remove(job)
        for arrived_job in arrivals.until(now):
            mode = fastest_mode(view, const, arrived_job.modes)
            work = float(arrived_job.job.work)
            active.append(ActiveJob(arrived_job, mode, work, now, restart=restart))
        assignment, next_call = policy(now, active, view.capacity)
        for k, job in enumerate(active):
            placement = assignment.get(k)
            if job.held is not None and job.held != placement:
                job.stop(view, now)
            if placement is not None and job.held is None:
                job.held, job.since = placement, now
    return ElasticSchedule(done, "preemptive", restart)


Starts = list[tuple[ArrivedJob, JobPlacement]]
Policy = Callable[[list[ArrivedJob], Floats], Starts]
"""Waiting jobs by arrival, free amounts [h, r] -> the jobs that start."""


def simulate(instance: ElasticInstance, policy: Policy) -> ElasticSchedule:
    """Run an online policy without preemption; every job must fit on the empty cluster."""
    view = cluster(instance)

    def starts(now: int, active: list[ActiveJob], free: Floats) -> tuple[Assignment, float]:
        assignment = {k: job.held for k, job in enumerate(active) if job.held is not None}
        for held in assignment.values():
            free = free - held.amounts(view)
        waiting = {job.arrived_job.place: k for k, job in enumerate(active) if job.held is None}
        for arrived_job, placement in policy(
            [active[k].arrived_job for k in waiting.values()], free
        ):
            assignment[waiting[arrived_job.place]] = placement
        return assignment, math.inf

    done = simulate_preemptive(instance, starts)
    return ElasticSchedule({job: done.segments(job)[0] for job in done.placements})


def place_or_preempt(
    view: ElasticCluster, active: ActiveJob, free: Floats, others: list[ActiveJob]
) -> JobPlacement | None:
    """Place the fastest mode where it displaces no other job, or else where it does.

    `free` [h, r]: free amounts if none of the others ran. `others`: jobs that may be displaced.
    """
    job, mode = active.arrived_job.job, active.mode
    unused = free.copy()
    for other in others:
        if other.held is not None:
            unused -= other.held.amounts(view)
    for amounts in (unused, free):
        placement = first_fit(view, job, mode.worker_type, mode.ps_type, mode.workers, amounts)
        if placement is not None:
            return placement
    return None


def still_fits(view: ElasticCluster, held: JobPlacement, free: Floats) -> bool:
    """Return whether a placement is within free amounts.

    `free` [h, r]: free amounts.
    """
    return bool((held.amounts(view) <= free).all())
