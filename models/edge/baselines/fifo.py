"""FIFO: jobs in order of arrival, each on the server that can start it earliest; completed by us.

A job is known from its arrival on. A job that cannot end by T is left unplaced and does not delay
others. Ties: arrival, then list order.
"""

from collections.abc import Iterator

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.algorithms.a_maxsche import RevealedJob
from schedgap.models.edge.algorithms.a_online import JobStream
from schedgap.models.edge.algorithms.cheapest_schedule import fill
from schedgap.models.edge.decisions import ModeStart
from schedgap.models.edge.placements import PlacedRun, schedule_from_runs


def fifo(instance: EdgeInstance) -> EdgeSchedule:
    """Start jobs in order of arrival on the single server that can start them earliest.

    Ours: a job gets all workers of the server, at most its number of chunks; no job starts before
    an earlier one of its worker type. A job for which no server has both workers and PSs gets all
    free workers in the first slot with any, servers in list order.
    """
    stream, runs = JobStream(instance), list[PlacedRun]()
    last_start: dict[int, int] = {}  # latest start by worker type
    for slot in sorted({job.arrival for job in instance.jobs}):
        for job in stream.until(slot):
            run = _first_run(instance, runs, job, max(slot, last_start.get(job.worker_type, 1)))
            if run is not None:
                runs.append(run)
                last_start[job.worker_type] = run.start
    return schedule_from_runs(instance, runs)


def _first_run(
    instance: EdgeInstance, runs: list[PlacedRun], job: RevealedJob, lower: int
) -> PlacedRun | None:
    """Return the run of a job that starts earliest, from slot `lower` on, or None."""
    view = arrays(instance)
    workers, ps = view.workers[:, job.worker_type], view.ps[:, job.ps_type]
    both = np.flatnonzero((workers >= 1) & (ps >= 1)).tolist()
    for start, free in _moments(instance, runs, job, lower):
        hosts = [s for s in both or range(len(ps)) if job.ready[s] <= start]
        for s in hosts:
            n = min(job.data.chunks, int(workers[s] if both else free.sum()))
            if n == 0 or (both and free[s] < n):
                continue
            mode = job.mode(n, colocated=bool(both))
            end = start + mode.duration - 1
            if not _free_ps(instance, runs, job, s, start, end):
                continue
            if end <= instance.horizon:
                used = {s: n} if both else fill(n, 0 * free, free)
                return PlacedRun(ModeStart(job.index, mode, start), tuple(used.items()), s)
            if not both:
                return None
    return None


def _moments(
    instance: EdgeInstance, runs: list[PlacedRun], job: RevealedJob, lower: int
) -> Iterator[tuple[int, Ints]]:
    """Yield the slots in which servers may become ready or free, with the free workers [s].

    Earlier runs of the worker type start no later, so these workers stay free.
    """
    view = arrays(instance)
    slots = {lower, *job.ready.tolist(), *(run.end + 1 for run in runs)}
    for start in sorted(slot for slot in slots if slot >= lower):
        free = view.workers[:, job.worker_type].copy()
        for run in runs:
            if view.worker_type[run.job] == job.worker_type and run.end >= start:
                for s, count in run.workers:
                    free[s] -= count
        yield start, np.where(job.ready <= start, free, 0)


def _free_ps(
    instance: EdgeInstance, runs: list[PlacedRun], job: RevealedJob, s: int, start: int, end: int
) -> bool:
    """Return whether a PS for a job is free on a server in all slots of an interval."""
    kinds = arrays(instance).ps_type
    held = [
        run
        for run in runs
        if run.host == s and kinds[run.job] == job.ps_type and start <= run.end and run.start <= end
    ]
    slots = {max(start, run.start) for run in held}
    peak = max((sum(run.start <= slot <= run.end for run in held) for slot in slots), default=0)
    return bool(peak < arrays(instance).ps[s, job.ps_type])
