"""DRF: dominant resource fairness, max-min fair counts of workers and PSs.

Completed by us. It sees a job from its arrival on; a job that cannot end by T is left over and does
not hold up others. Ties: arrival, then list order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.algorithms.a_maxsche import Arrived
from schedgap.models.edge.algorithms.a_online import Arrivals
from schedgap.models.edge.baselines.timetable import Timetable
from schedgap.models.edge.decisions import Group
from schedgap.models.edge.modes import Mode
from schedgap.models.edge.placements import Run


@dataclass(eq=False)
class _Share:
    """What a waiting job gets in a slot."""

    job: Arrived
    workers: dict[int, int] = field(default_factory=dict)  # by server
    host: int = -1
    blocked: bool = False

    @property
    def number(self) -> int:
        return sum(self.workers.values())


def drf(instance: EdgeInstance) -> EdgeSchedule:
    """Share out workers one by one, each to the job with the least dominant share.

    The dominant share of a job is the larger one of its workers and its PS as parts of all workers
    and PSs of its types. Ours: when a job arrives, gets ready or ends, all waiting jobs take part;
    a job's workers stay together where they can, all of them on one server if one holds them; who
    has a worker then starts, and keeps what it has.
    """
    view, arrivals = arrays(instance), Arrivals(instance)
    moments = {int(slot) for slot in np.unique(view.arrival)}
    waiting: list[Arrived] = []
    running: list[Run] = []
    placed: list[Run] = []
    while moments:
        now = min(moments)
        moments.discard(now)
        running = [run for run in running if run.group.end >= now]
        new = arrivals.until(now)
        moments |= {int(slot) for each in new for slot in each.ready if now < slot}
        waiting += new
        free, ps = view.workers.copy(), view.ps.copy()
        for run in running:
            u, v = int(view.worker_type[run.group.job]), int(view.ps_type[run.group.job])
            for s, count in run.workers:
                free[s, u] -= count
            ps[run.host, v] -= 1
        for run in _drf_starts(instance, waiting, free, ps, now):
            running.append(run)
            placed.append(run)
            moments.add(run.group.end + 1)
        started = {run.group.job for run in running}
        waiting = [each for each in waiting if each.place not in started]
        moments = {slot for slot in moments if slot <= instance.horizon}
    timetable = Timetable(instance)
    timetable.runs = {run.group.job: run for run in placed}
    return timetable.schedule()


def _drf_starts(
    instance: EdgeInstance, waiting: Sequence[Arrived], free: Ints, ps: Ints, now: int
) -> list[Run]:
    """Return the runs that start in a slot; `free` [s, u] and `ps` [s, v] are used up."""
    view = arrays(instance)
    all_workers, all_ps = view.workers.sum(axis=0), view.ps.sum(axis=0)
    shares = [_Share(each) for each in waiting]

    def dominant(share: _Share) -> float:
        if not share.workers:
            return 0.0
        of_workers = share.number / int(all_workers[share.job.worker_type])
        return max(of_workers, 1 / int(all_ps[share.job.ps_type]))

    while open_to := [share for share in shares if not share.blocked]:
        share = min(open_to, key=dominant)
        share.blocked = share.number == share.job.job.chunks or not _grant(share, free, ps, now)
    runs = []
    for share in shares:
        if share.workers:
            _gather(share, free, ps, now)
            n, together = share.number, set(share.workers) == {share.host}
            mode = Mode(n, -(-share.job.needed[together] // n), together)
            if now + mode.duration - 1 <= instance.horizon:
                group = Group(share.job.place, mode, now)
                runs.append(Run(group, tuple(sorted(share.workers.items())), share.host))
    return runs


def _grant(share: _Share, free: Ints, ps: Ints, now: int) -> bool:
    """Give a job one worker more, and with the first one its PS; False where there is none."""
    job = share.job
    own = np.where(job.ready <= now, free[:, job.worker_type], 0)
    if not own.any():
        return False
    if not share.workers:
        hosts = np.where(job.ready <= now, ps[:, job.ps_type], 0)
        if not hosts.any():
            return False
        beside = np.where(hosts > 0, own, 0)
        s = int(np.argmax(beside if beside.any() else own))
        share.host = s if beside.any() else int(np.argmax(hosts))
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
    """Move a job to the ready server that holds all of it with the fewest workers left over."""
    job, n = share.job, share.number
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
