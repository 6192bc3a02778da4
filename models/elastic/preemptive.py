"""The baselines that preempt, AntMan and Tiresias: schedules of a relaxed problem.

A job may lose its servers and come back on others, which the model forbids; each time it then loses
a slot. Online, as in `baselines`. Decisions fall on arrivals, ends of runs, and ends of patience:
between these nothing that a policy looks at changes. Ties: arrival, then list order.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Job, Placement
from schedgap.models.elastic.algorithm import Arrivals
from schedgap.models.elastic.baselines import Held, first_fit, ideal, most_workers
from schedgap.models.elastic.batch import Arrived, constants
from schedgap.models.elastic.modes import Cluster, Mode, batch_slots, cluster
from schedgap.models.elastic.placement import Floats

RESTART = 1  # slots that a changed placement loses


@dataclass(eq=False)
class Active:
    """A job that has arrived and is not done."""

    arrived: Arrived
    mode: Mode  # the quickest
    left: float  # mini-batches
    waits_since: int  # slot from which on it has not run
    held: Held | None = None
    since: int = 0  # first slot of the current segment
    segments: list[Placement] = field(default_factory=list)

    def rate(self, view: Cluster) -> float:
        """Mini-batches per slot with what it holds."""
        assert self.held is not None
        mode = self.held.mode
        number = np.array([mode.workers])
        slots = batch_slots(
            view, self.arrived.job, mode.worker_type, mode.ps_type, number, mode.central
        )[0]
        return mode.workers / float(slots) if slots > 0 else math.inf

    def end(self, view: Cluster) -> int:
        """Slot with which the current segment can be over; the rules allow a little to be left."""
        lost = RESTART if self.segments else 0
        work = self.arrived.job.work
        needed = (self.left - 5e-7 - 5e-10 * work) / self.rate(view)
        return self.since + lost + max(1, math.ceil(needed))

    def stop(self, view: Cluster, now: int) -> None:
        """End the current segment before slot `now`."""
        assert self.held is not None
        if now > self.since:
            lost = RESTART if self.segments else 0
            done = max(0, now - self.since - lost)
            self.left = max(0.0, self.left - (done * self.rate(view) if done else 0.0))
            self.segments.append(self.held.placement(view, self.since, now - self.since))
        self.held, self.waits_since = None, now


Holdings = dict[int, Held]  # by place in the list of active jobs
Preemptive = Callable[[int, list[Active], Floats], tuple[Holdings, float]]
"""Slot, active jobs by arrival, capacity [h, r] -> who holds what, and when to ask again."""


def simulate_preemptive(instance: ElasticInstance, policy: Preemptive) -> ElasticSchedule:
    """Run an online policy that may take servers away; a new placement is a new segment.

    Every segment but a job's first loses a slot at its start. What the schedule breaks is the rule
    that a job runs in one piece (V12).
    """
    view, fixed, arrivals = cluster(instance), constants(instance), Arrivals(instance)
    coming = sorted({job.arrival for job in instance.jobs})
    active: list[Active] = []
    done: dict[str, tuple[Placement, ...]] = {}
    wake = math.inf
    while active or coming:
        ends = [each.end(view) for each in active if each.held is not None]
        now = int(min([wake, *ends, *coming[:1]]))
        coming = [arrival for arrival in coming if arrival > now]
        for each in [each for each in active if each.held and each.end(view) <= now]:
            each.stop(view, now)
            done[each.arrived.job.id] = tuple(each.segments)
            active.remove(each)
        for arrived in arrivals.until(now):
            mode = ideal(view, fixed, arrived.modes)
            active.append(Active(arrived, mode, float(arrived.job.work), now))
        holdings, wake = policy(now, active, view.capacity)
        for k, each in enumerate(active):
            wanted = holdings.get(k)
            if each.held is not None and each.held != wanted:
                each.stop(view, now)
            if wanted is not None and each.held is None:
                each.held, each.since = wanted, now
    return ElasticSchedule(done, "preemptive", RESTART)


def antman(instance: ElasticInstance, patience: int = 8, seed: int = 0) -> ElasticSchedule:
    """Guaranteed jobs get what they want, displacing opportunistic ones, who share the rest.

    The paper: two classes; a guaranteed job that waits long becomes opportunistic. Ours: which job
    is guaranteed is drawn from the seed and its id, evenly. Guaranteed jobs get the workers of
    their quickest mode, first come first served; `patience` slots of waiting end the guarantee.
    Opportunistic ones take, by arrival, as many workers of these types as fit; who can have no more
    than it has stays where it is.
    """
    view = cluster(instance)
    fallen: set[str] = set()

    def guaranteed(job: Job) -> bool:
        drawn = hashlib.sha256(f"{seed}:{job.id}".encode()).digest()[0]
        return drawn % 2 == 0 and job.id not in fallen

    def policy(now: int, active: list[Active], free: Floats) -> tuple[Holdings, float]:
        wake, holdings = math.inf, Holdings()
        sure: list[int] = []
        for k, each in enumerate(active):
            job = each.arrived.job
            if guaranteed(job) and each.held is None and now - each.waits_since >= patience:
                fallen.add(job.id)
            if guaranteed(job):
                sure.append(k)
        others = [each for k, each in enumerate(active) if k not in sure]
        for k in sorted(sure, key=lambda k: active[k].held is None):
            each = active[k]
            held = each.held or _beside_or_instead(view, each, free, others)
            if held is None:
                wake = min(wake, each.waits_since + patience)
                continue
            holdings[k], free = held, free - held.amounts(view)
        for k, each in enumerate(active):
            if k in sure:
                continue
            held = _as_many_as_fit(view, each, free)
            if held is not None:
                holdings[k], free = held, free - held.amounts(view)
        return holdings, wake

    return simulate_preemptive(instance, policy)


def _as_many_as_fit(view: Cluster, each: Active, free: Floats) -> Held | None:
    """Most workers of the job's types; what it holds, if that is as many and still free."""
    job, m, p = each.arrived.job, each.mode.worker_type, each.mode.ps_type
    best, low, high = None, 1, most_workers(view, job, m, p)
    while low <= high:  # where a number fits, every smaller one does
        middle = (low + high) // 2
        found = first_fit(view, job, m, p, middle, free)
        if found is None:
            high = middle - 1
        else:
            best, low = found, middle + 1
    own = each.held
    if best and own and own.mode.workers == best.mode.workers and _still_free(view, own, free):
        return own
    return best


def _beside_or_instead(
    view: Cluster, each: Active, free: Floats, others: list[Active]
) -> Held | None:
    """Place the quickest mode where no other job runs, or else where some of the others do."""
    job, mode = each.arrived.job, each.mode
    spare = free.copy()
    for other in others:
        if other.held is not None:
            spare -= other.held.amounts(view)
    for room in (spare, free):
        found = first_fit(view, job, mode.worker_type, mode.ps_type, mode.workers, room)
        if found is not None:
            return found
    return None


def _still_free(view: Cluster, held: Held, free: Floats) -> bool:
    return bool((held.amounts(view) <= free).all())


def tiresias(instance: ElasticInstance) -> ElasticSchedule:
    """Run the jobs that have least left: remaining slots x resources; the others are preempted.

    The paper: preemptive, by remaining work times resources. Ours: both by the quickest mode, each
    resource as a share of all servers' total; at every arrival and end jobs get their places in
    this order, who runs keeps its own where it can. Asking in between would change nothing: only
    running jobs get ahead, so those that wait find even less than they did.
    """
    view, fixed = cluster(instance), constants(instance)

    def left(now: int, each: Active) -> float:
        work = each.left
        if each.held is not None:
            slots = now - each.since - (RESTART if each.segments else 0)
            work -= slots * each.rate(view) if slots > 0 else 0.0
        return max(0.0, work) / each.arrived.job.work

    def policy(now: int, active: list[Active], free: Floats) -> tuple[Holdings, float]:
        def rank(k: int) -> tuple[float, int]:
            each = active[k]
            product = left(now, each) * float(fixed.volumes(view, [each.mode])[0])
            return float(f"{product:.9g}"), k

        holdings = Holdings()
        order = sorted(range(len(active)), key=rank)
        for place, k in enumerate(order):
            each, held = active[k], active[k].held
            if held is None or not _still_free(view, held, free):
                others = [active[other] for other in order[place + 1 :]]
                held = _beside_or_instead(view, each, free, others)
            if held is not None:
                holdings[k], free = held, free - held.amounts(view)
        return holdings, math.inf

    return simulate_preemptive(instance, policy)
