"""FIFO: jobs in order of arrival, each on the server that can start it earliest; completed by us.

A job is known from its arrival on. A job that cannot end by T is left unplaced and does not delay
others. Ties: arrival, then list order.
"""

from collections.abc import Sequence

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.algorithms.a_maxsche import RevealedJob
from schedgap.models.edge.algorithms.a_online import JobStream
from schedgap.models.edge.baselines.partial_schedule import EdgePartialSchedule
from schedgap.models.edge.decisions import ModeStart
from schedgap.models.edge.placements import PlacedRun


def fifo(instance: EdgeInstance) -> EdgeSchedule:
    """Start jobs in order of arrival on the single server that can start them earliest.

    Ours: a job gets all workers of the server, at most its number of chunks; no job starts before
    an earlier one of its worker type. A job for which no server has both workers and PSs gets all
    free workers in the first slot with any, servers in list order.
    """
    partial, stream = EdgePartialSchedule(instance), JobStream(instance)
    last_start: dict[int, int] = {}  # by worker type
    for slot in sorted({job.arrival for job in instance.jobs}):
        for job in stream.until(slot):
            run = _first_run(partial, job, max(slot, last_start.get(job.worker_type, 1)))
            if run is not None:
                partial.place(run)
                last_start[job.worker_type] = run.start
    return partial.schedule()


def _first_run(partial: EdgePartialSchedule, job: RevealedJob, lower: int) -> PlacedRun | None:
    """Return the run of a job that starts earliest, from slot `lower` on, or None."""
    view, last = arrays(partial.instance), partial.instance.horizon
    workers = view.workers[:, job.worker_type]
    both = np.flatnonzero((workers >= 1) & (view.ps[:, job.ps_type] >= 1)).tolist()
    if not both:
        return _split_run(partial, job, lower)
    best: PlacedRun | None = None
    for s in both:
        n = min(job.data.chunks, int(workers[s]))
        mode = job.mode(n, colocated=True)
        for start in _moments(partial, job, max(lower, int(job.ready[s])), [s]):
            end = start + mode.duration - 1
            if end > last or (best is not None and start >= best.start):
                break
            if (
                partial.free_workers(job.worker_type, start, end)[s] >= n
                and partial.ps_usage[job.ps_type].free_throughout(s, start, end) >= 1
            ):
                best = PlacedRun(ModeStart(job.index, mode, start), ((s, n),), s)
                break
    return best


def _split_run(partial: EdgePartialSchedule, job: RevealedJob, lower: int) -> PlacedRun | None:
    """Return the run on all free workers; the last start of its type, so they stay free later."""
    ps_usage = partial.ps_usage[job.ps_type]
    servers = range(len(job.ready))
    for start in _moments(partial, job, lower, servers):
        free = np.where(job.ready <= start, partial.free_workers(job.worker_type, start, start), 0)
        n = min(job.data.chunks, int(free.sum()))
        if not n:
            continue
        mode = job.mode(n, colocated=False)
        end = start + mode.duration - 1
        able = (
            s
            for s in servers
            if job.ready[s] <= start and ps_usage.free_throughout(s, start, end) >= 1
        )
        host = next(able, None)
        if host is None:
            continue
        if end > partial.instance.horizon:
            return None
        return PlacedRun(ModeStart(job.index, mode, start), _in_list_order(free, n), host)
    return None


def _moments(
    partial: EdgePartialSchedule, job: RevealedJob, lower: int, servers: Sequence[int]
) -> list[int]:
    """Return the slots from `lower` on in which servers may become ready or free."""
    ps_usage = partial.ps_usage[job.ps_type]
    slots = {lower, *partial.profiles[job.worker_type].times.tolist()}
    slots |= {int(job.ready[s]) for s in servers}
    slots |= {after for s in servers for _, after in ps_usage.full(s)}
    return sorted(slot for slot in slots if slot >= lower)


def _in_list_order(free: Ints, n: int) -> tuple[tuple[int, int], ...]:
    taken = np.diff(np.minimum(np.cumsum(free), n), prepend=0)
    return tuple((int(s), int(taken[s])) for s in np.flatnonzero(taken))
