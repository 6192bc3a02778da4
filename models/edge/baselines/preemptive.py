"""Preemptive: shortest remaining job first, for program (2) without (2c) and (2d).

The paper: jobs with less remaining work preempt others; the policy "ignores the time overhead of
preemption" and the upload delay, so (2i) is relaxed as well. In the second variant, with overhead,
transfer delays count, and every run after an interruption loses slots. The rest is completed by us.
Online: every slot is decided anew for the jobs that have arrived. Ties: arrival, then list order.
"""

import math
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from annotated_types import Ge

from schedgap.errors import ScaleError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.algorithms.a_maxsche import RevealedJob
from schedgap.models.edge.algorithms.a_online import JobStream
from schedgap.models.edge.algorithms.cheapest_schedule import fill
from schedgap.models.edge.modes import longest_job_slots

MAX_SLOTS = 1_000_000  # slots of one job
_SLACK = 5e-7  # worker-slots: half the tolerance of the rules


@dataclass(frozen=True)
class _Allocation:
    """Workers by server and the PS's server of a job in one slot, by index."""

    workers: tuple[tuple[int, int], ...]
    host: int

    @property
    def colocated(self) -> bool:
        return [s for s, _ in self.workers] == [self.host]


@dataclass(eq=False)
class _ActiveJob:
    """A job that has arrived and is not completed."""

    job: RevealedJob
    work: tuple[float, float]  # worker-slots, split and colocated
    remaining: float = 1.0  # fraction of the job
    current: _Allocation | None = None  # allocation in the previous slot
    since: int = 0  # first slot of the current segment
    overhead: int = 0  # slots at its beginning without progress
    overhead_left: int = 0  # slots of the overhead that are still to come
    segments: list[tuple[_Allocation, int, int, int]] = field(default_factory=list)

    def rate(self, allocation: _Allocation) -> float:
        """Return the fraction of the job that is done in a slot, by (1)."""
        return sum(count for _, count in allocation.workers) / self.work[allocation.colocated]

    def slots(self, allocation: _Allocation) -> int:
        """Return the number of slots that the remaining work takes."""
        slack = _SLACK / max(1.0, self.work[allocation.colocated])
        return max(1, math.ceil((self.remaining - slack) / self.rate(allocation)))

    def close(self, now: int) -> None:
        """End the current segment before slot `now`."""
        if self.current is not None:
            self.segments.append((self.current, self.since, now - 1, self.overhead))
            self.current = None


def preemptive_overhead(
    instance: EdgeInstance,
    overhead: Annotated[int, "slots without progress after an interruption", Ge(0)] = 1,
) -> EdgeSchedule:
    """Run `preemptive` with transfer delays and overhead."""
    return preemptive(instance, overhead)


def preemptive(instance: EdgeInstance, overhead: int | None = None) -> EdgeSchedule:
    """In every slot, let the jobs with the least remaining work use what they can, one by one.

    Remaining work is compared by the slots that it takes with as many workers as possible. A job
    runs colocated on a server with a free PS in two cases. Either that is as fast as split over
    all free workers, or it completes the job in this slot.

    `overhead`: slots without progress after an interruption or a change of servers; transfer delays
    count, and a running job moves only if it then ends sooner. None: neither counts.

    Raises
    ------
    ScaleError
        If some job needs more slots than can be simulated one by one.
    """
    if (slots := longest_job_slots(instance)) > MAX_SLOTS:
        raise ScaleError(f"a job needs {slots} slots or more, one by one: at most {MAX_SLOTS:.2g}")
    view, stream = arrays(instance), JobStream(instance)
    most = np.maximum(1, np.minimum(view.chunks, view.workers.sum(axis=0)[view.worker_type]))
    active: list[_ActiveJob] = []
    done: dict[str, tuple[Placement, ...]] = {}
    moments = np.unique(view.arrival if overhead is None else [*view.arrival, *view.ready.ravel()])
    now = int(moments[0])
    while now <= instance.horizon:
        active += [
            _ActiveJob(job, (float(view.work[job.index, 0]), float(view.work[job.index, 1])))
            for job in stream.until(now)
        ]
        if not active and stream.all_here():
            break
        active.sort(key=lambda a: round(a.remaining * a.work[1] / int(most[a.job.index]), 9))
        free, ps = view.workers.copy(), view.ps.copy()
        for job in active:
            _serve(job, free, ps, now, overhead)
        any_running = any(job.current is not None for job in active)
        for job in [job for job in active if job.remaining * max(1.0, job.work[1]) <= _SLACK]:
            job.close(now + 1)
            done[job.job.data.id] = _placements(instance, job)
            active.remove(job)
        active.sort(key=lambda a: (a.job.data.arrival, a.job.index))
        later = moments[moments > now]
        if not any_running and not len(later):
            break
        now = now + 1 if any_running else int(later[0])
    relaxed = ("2c-2d", "2i") if overhead is None else ("2c-2d",)
    return EdgeSchedule(done, relaxed)


def _serve(active: _ActiveJob, free: Ints, ps: Ints, now: int, overhead: int | None) -> None:
    """Run a job in slot `now` on free units, and reduce these."""
    job = active.job
    ready = np.ones(len(free), dtype=bool) if overhead is None else job.ready <= now
    chosen = _best(
        active, np.where(ready, free[:, job.worker_type], 0), np.where(ready, ps[:, job.ps_type], 0)
    )
    old = active.current
    if overhead is not None and old is not None and chosen is not None and old != chosen:
        fits = ps[old.host, job.ps_type] >= 1 and all(
            free[s, job.worker_type] >= count for s, count in old.workers
        )
        if fits and active.slots(chosen) + overhead >= active.slots(old) + active.overhead_left:
            chosen = old
    if chosen != old:
        active.close(now)
        if chosen is not None:
            active.current, active.since = chosen, now
            active.overhead = active.overhead_left = (overhead or 0) if active.segments else 0
    if chosen is None:
        return
    for s, count in chosen.workers:
        free[s, job.worker_type] -= count
    ps[chosen.host, job.ps_type] -= 1
    if active.overhead_left:
        active.overhead_left -= 1
    else:
        active.remaining -= active.rate(chosen)


def _best(active: _ActiveJob, free: Ints, ps: Ints) -> _Allocation | None:
    """Return the allocation of a job for one slot; free workers [s] and PSs [s] of its types."""
    hosts = np.flatnonzero(ps >= 1)
    if not len(hosts):
        return None
    split, colocated = active.work
    chunks = active.job.data.chunks
    useful = [max(1, math.ceil(active.remaining * work - _SLACK)) for work in (split, colocated)]
    m = min(int(free[hosts].max()), chunks, useful[1])  # colocated
    n = min(int(free.sum()), chunks, useful[0])  # split
    if m >= 1 and (colocated / m <= split / n or m >= useful[1]):
        able = hosts[free[hosts] >= m]
        s = int(able[np.argmin(free[able])])
        return _Allocation(((s, m),), s)
    if n < 1:
        return None
    return _Allocation(tuple(fill(n, -free, free).items()), int(np.argmax(ps)))


def _placements(instance: EdgeInstance, active: _ActiveJob) -> tuple[Placement, ...]:
    """Return the segments of a completed job by ids of servers."""
    names = [server.id for server in instance.servers]
    return tuple(
        Placement(
            start, end, {names[s]: count for s, count in run.workers}, names[run.host], overhead
        )
        for run, start, end, overhead in active.segments
    )
