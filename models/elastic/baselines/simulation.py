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

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Job, Placement
from schedgap.models.elastic.algorithms.a_maxweight import constants
from schedgap.models.elastic.algorithms.a_online import ElasticArrivals
from schedgap.models.elastic.algorithms.pricing import PricedRun
from schedgap.models.elastic.baselines.first_fit import fastest_mode, first_fit
from schedgap.models.elastic.modes import ElasticCluster, Mode, batch_slots, cluster
from schedgap.models.elastic.placement import Floats

RESTART = 1  # slots, the default
Restart = Annotated[int, "slots that a preempted job loses when it resumes", Ge(0)]


@dataclass(eq=False)
class ActiveJob:
    """A job that has arrived and is not complete."""

    view: ElasticCluster
    job: Job
    mode: Mode  # the fastest
    restart: int  # slots that every segment but the first loses
    left: float  # mini-batches before the current segment
    waits_since: int  # slot since which it has not run
    held: PricedRun | None = None
    since: int = 0  # first slot of the current segment
    segments: list[Placement] = field(default_factory=list)

    def placed(self, free: Floats, workers: int | None = None) -> PricedRun | None:
        """Return the first placement of so many workers, by default as many as the fastest mode's.

        `free` [h, r]: free amounts, in units.
        """
        m, p, most, *_ = self.mode
        return first_fit(self.view, self.job, m, p, workers or most, free)

    def lost(self) -> int:
        """Return the slots that the current segment loses at its start."""
        return self.restart if self.segments else 0

    def rate(self) -> float:
        """Return mini-batches per slot with the present placement."""
        assert self.held is not None
        m, p, workers, central, _ = self.held.mode
        [slots] = batch_slots(self.view, self.job, m, p, np.array([workers]), central)
        return workers / float(slots) if slots > 0 else math.inf

    def remaining(self, now: int) -> float:
        """Return the mini-batches that remain at the start of slot `now`."""
        slots = 0 if self.held is None else now - self.since - self.lost()
        return max(0.0, self.left - slots * self.rate()) if slots > 0 else self.left

    def end(self) -> int:
        """Return the slot at which the current segment can end, within the rules' tolerance."""
        assert self.held is not None
        if not self.segments:
            return self.since + self.held.mode.duration
        needed = (self.left - 5e-7 - 5e-10 * self.job.work) / self.rate()
        return self.since + self.lost() + max(1, math.ceil(needed))

    def stop(self, now: int) -> None:
        """End the current segment before slot `now`."""
        assert self.held is not None
        if now > self.since:
            self.left = self.remaining(now)
            mode = self.held.mode._replace(duration=now - self.since)
            run = self.view.place(mode, self.since, self.held.workers, self.held.ps)
            self.segments.append(run)
        self.held, self.waits_since = None, now


Assignment = dict[int, PricedRun]  # index in the list of jobs -> placement
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
        ends = [each.end() for each in active if each.held is not None]
        now = int(min([next_call, *ends, *arrival_slots[:1]]))
        arrival_slots = [arrival for arrival in arrival_slots if arrival > now]
        for each in [each for each in active if each.held and each.end() <= now]:
            each.stop(now)
            done[each.job.id] = tuple(each.segments)
            active.remove(each)
        for arrived in arrivals.until(now):
            mode, work = fastest_mode(view, const, arrived.modes), float(arrived.job.work)
            active.append(ActiveJob(view, arrived.job, mode, restart, work, now))
        assignment, next_call = policy(now, active, view.capacity)
        for k, each in enumerate(active):
            placement = assignment.get(k)
            if each.held is not None and each.held != placement:
                each.stop(now)
            if placement is not None and each.held is None:
                each.held, each.since = placement, now
    return ElasticSchedule(done, "preemptive", restart)


Policy = Callable[[list[ActiveJob], Floats], Assignment]
"""Waiting jobs by arrival, free amounts [h, r] -> placements of the jobs that start."""


def simulate(instance: ElasticInstance, policy: Policy) -> ElasticSchedule:
    """Run an online policy without preemption; every job must fit on the empty cluster."""
    view = cluster(instance)

    def starts(now: int, active: list[ActiveJob], free: Floats) -> tuple[Assignment, float]:
        assignment = {k: each.held for k, each in enumerate(active) if each.held is not None}
        for held in assignment.values():
            free = free - held.amounts(view)
        waiting = [k for k in range(len(active)) if k not in assignment]
        found = policy([active[k] for k in waiting], free)
        return assignment | {waiting[i]: placement for i, placement in found.items()}, math.inf

    done = simulate_preemptive(instance, starts)
    return ElasticSchedule({job: done.segments(job)[0] for job in done.placements})


def place_or_preempt(active: ActiveJob, free: Floats, others: list[ActiveJob]) -> PricedRun | None:
    """Place the fastest mode where it displaces no other job, or else where it does.

    `free` [h, r]: free amounts if none of the others ran. `others`: jobs that may be displaced.
    """
    unused = free.copy()
    for other in others:
        if other.held is not None:
            unused -= other.held.amounts(active.view)
    return active.placed(unused) or active.placed(free)


def still_fits(view: ElasticCluster, held: PricedRun, free: Floats) -> bool:
    """Return whether a placement is within free amounts.

    `free` [h, r]: free amounts.
    """
    return bool((held.amounts(view) <= free).all())
