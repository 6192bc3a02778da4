"""FIFO: jobs in order of arrival, each on the server that can schedule it earliest.

Completed by us. It sees a job from its arrival on; a job that cannot end by T is left over and does
not hold up others. Ties: arrival, then list order.
"""

from collections.abc import Sequence

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.algorithms.a_maxsche import Arrived
from schedgap.models.edge.algorithms.a_online import Arrivals
from schedgap.models.edge.baselines.timetable import Timetable
from schedgap.models.edge.decisions import Group
from schedgap.models.edge.modes import Mode
from schedgap.models.edge.placements import Run


def fifo(instance: EdgeInstance) -> EdgeSchedule:
    """Start jobs in order of arrival on the single server that can start them earliest.

    Ours: as many workers as the server has, at most the chunks; no job starts before an earlier one
    of its worker type. A job for which no server has both workers and PSs takes all free workers at
    the first slot at which there are any, servers in list order.
    """
    timetable, arrivals = Timetable(instance), Arrivals(instance)
    not_before: dict[int, int] = {}  # by worker type, the last start
    for slot in sorted({job.arrival for job in instance.jobs}):
        for each in arrivals.until(slot):
            lower = max(slot, not_before.get(each.worker_type, 1))
            run = _fifo_run(timetable, each, lower)
            if run is not None:
                timetable.take(run)
                not_before[each.worker_type] = run.group.start
    return timetable.schedule()


def _fifo_run(timetable: Timetable, job: Arrived, lower: int) -> Run | None:
    view, last = arrays(timetable.instance), timetable.instance.horizon
    workers = view.workers[:, job.worker_type]
    both = np.flatnonzero((workers >= 1) & (view.ps[:, job.ps_type] >= 1)).tolist()
    if not both:
        return _fifo_split(timetable, job, lower)
    best: Run | None = None
    for s in both:
        n = min(job.job.chunks, int(workers[s]))
        mode = Mode(n, -(-job.needed[True] // n), True)
        for start in _moments(timetable, job, max(lower, int(job.ready[s])), [s]):
            end = start + mode.duration - 1
            if end > last or (best is not None and start >= best.group.start):
                break
            if (
                timetable.free_workers(job.worker_type, start, end)[s] >= n
                and timetable.hosts[job.ps_type].most_free(s, start, end) >= 1
            ):
                best = Run(Group(job.place, mode, start), ((s, n),), s)
                break
    return best


def _fifo_split(timetable: Timetable, job: Arrived, lower: int) -> Run | None:
    """Return the run on all free workers; none of its type starts later, so they stay free."""
    hosts = timetable.hosts[job.ps_type]
    servers = range(len(job.ready))
    for start in _moments(timetable, job, lower, servers):
        free = np.where(
            job.ready <= start, timetable.free_workers(job.worker_type, start, start), 0
        )
        n = min(job.job.chunks, int(free.sum()))
        if not n:
            continue
        mode = Mode(n, -(-job.needed[False] // n), False)
        end = start + mode.duration - 1
        able = (s for s in servers if job.ready[s] <= start and hosts.most_free(s, start, end) >= 1)
        host = next(able, None)
        if host is None:
            continue
        if end > timetable.instance.horizon:
            return None
        return Run(Group(job.place, mode, start), _in_list_order(free, n), host)
    return None


def _moments(timetable: Timetable, job: Arrived, lower: int, servers: Sequence[int]) -> list[int]:
    """Slots from the lower limit on at which servers can become ready or free."""
    hosts = timetable.hosts[job.ps_type]
    slots = {lower, *timetable.tables[job.worker_type].times.tolist()}
    slots |= {int(job.ready[s]) for s in servers}
    slots |= {after for s in servers for _, after in hosts.full(s)}
    return sorted(slot for slot in slots if slot >= lower)


def _in_list_order(free: Ints, n: int) -> tuple[tuple[int, int], ...]:
    taken = np.diff(np.minimum(np.cumsum(free), n), prepend=0)
    return tuple((int(s), int(taken[s])) for s in np.flatnonzero(taken))
