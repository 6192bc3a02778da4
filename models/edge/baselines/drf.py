"""DRF: dominant resource fairness, max-min fair numbers of workers and PSs; completed by us.

A job is known from its arrival on. A job that cannot end by T is left unplaced and does not delay
others. Ties: arrival, then list order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.algorithms.a_maxsche import RevealedJob
from schedgap.models.edge.algorithms.a_online import JobStream
from schedgap.models.edge.decisions import ModeStart
from schedgap.models.edge.placements import PlacedRun, schedule_from_runs


@dataclass(eq=False)
class _Share:
    """The allocation of a waiting job in a slot."""

    job: RevealedJob
    workers: dict[int, int] = field(default_factory=dict)  # units by server
    host: int = -1
    blocked: bool = False

    @property
    def total_workers(self) -> int:
        return sum(self.workers.values())


def drf(instance: EdgeInstance) -> EdgeSchedule:
    """Allocate workers one by one, each to the job with the least dominant share.

    A job has a fraction of all workers of its type, and a fraction of all PSs of its type. The
    dominant share is the larger one. Ours: whenever a job arrives, becomes ready or ends, all
    waiting jobs take part; the workers of a job are placed close together, on one server if it can
    hold them all; every job with a worker starts and keeps its allocation.
    """
    view, stream = arrays(instance), JobStream(instance)
    moments = {int(slot) for slot in np.unique(view.arrival)}
    waiting: list[RevealedJob] = []
    running: list[PlacedRun] = []
    placed: list[PlacedRun] = []
    while moments:
        now = min(moments)
        moments.discard(now)
        running = [run for run in running if run.end >= now]
        new = stream.until(now)
        moments |= {int(slot) for job in new for slot in job.ready if now < slot}
        waiting += new
        free, ps = view.workers.copy(), view.ps.copy()
        for run in running:
            u, v = int(view.worker_type[run.job]), int(view.ps_type[run.job])
            for s, count in run.workers:
                free[s, u] -= count
            ps[run.host, v] -= 1
        for run in _starting_runs(instance, waiting, free, ps, now):
            running.append(run)
            placed.append(run)
            moments.add(run.end + 1)
        started = {run.job for run in running}
        waiting = [job for job in waiting if job.index not in started]
        moments = {slot for slot in moments if slot <= instance.horizon}
    return schedule_from_runs(instance, placed)


def _starting_runs(
    instance: EdgeInstance, waiting: Sequence[RevealedJob], free: Ints, ps: Ints, now: int
) -> list[PlacedRun]:
    """Return the runs that start in slot `now`; `free` [s, u] and `ps` [s, v] are reduced."""
    view = arrays(instance)
    all_workers, all_ps = view.workers.sum(axis=0), view.ps.sum(axis=0)
    shares = [_Share(job) for job in waiting]

    def dominant(share: _Share) -> float:
        if not share.workers:
            return 0.0
        of_workers = share.total_workers / int(all_workers[share.job.worker_type])
        return max(of_workers, 1 / int(all_ps[share.job.ps_type]))

    while eligible := [share for share in shares if not share.blocked]:
        share = min(eligible, key=dominant)
        share.blocked = share.total_workers == share.job.data.chunks or not _grant(
            share, free, ps, now
        )
    runs = []
    for share in shares:
        if share.workers:
            _gather(share, free, ps, now)
            n, colocated = share.total_workers, set(share.workers) == {share.host}
            mode = share.job.mode(n, colocated)
            if now + mode.duration - 1 <= instance.horizon:
                mode_start = ModeStart(share.job.index, mode, now)
                runs.append(PlacedRun(mode_start, tuple(sorted(share.workers.items())), share.host))
    return runs


def _grant(share: _Share, free: Ints, ps: Ints, now: int) -> bool:
    """Add one worker to a job, and with the first worker the PS; return False if none is free."""
    job = share.job
    own = np.where(job.ready <= now, free[:, job.worker_type], 0)
    if not own.any():
        return False
    if not share.workers:
        hosts = np.where(job.ready <= now, ps[:, job.ps_type], 0)
        if not hosts.any():
            return False
        with_ps = np.where(hosts > 0, own, 0)
        s = int(np.argmax(with_ps if with_ps.any() else own))
        share.host = s if with_ps.any() else int(np.argmax(hosts))
        ps[share.host, job.ps_type] -= 1
    elif own[share.host]:
        s = share.host
    else:
        used = np.zeros_like(own)
        used[list(share.workers)] = own[list(share.workers)]
        s = int(np.argmax(used if used.any() else own))
    free[s, job.worker_type] -= 1
    share.workers[s] = share.workers.get(s, 0) + 1
    return True


def _gather(share: _Share, free: Ints, ps: Ints, now: int) -> None:
    """Move a job to the ready server that can hold all of it with the fewest workers left over."""
    job, n = share.job, share.total_workers
    u, v = job.worker_type, job.ps_type
    for s, count in share.workers.items():
        free[s, u] += count
    ps[share.host, v] += 1
    fits = np.flatnonzero((job.ready <= now) & (free[:, u] >= n) & (ps[:, v] >= 1))
    if len(fits):
        share.host = int(fits[np.argmin(free[fits, u])])
        share.workers = {share.host: n}
    for s, count in share.workers.items():
        free[s, u] -= count
    ps[share.host, v] -= 1
