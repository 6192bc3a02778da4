"""Runs of single jobs, the columns of (8): a mode, a start and a minimal placement.

A minimal placement has exactly the workers of the mode, and all PSs on one server, as few as (2i)
allows. An optimal schedule needs no others. (2i) restricts every server with PSs separately, so a
schedule stays feasible without the PSs of all servers but one. A job that becomes central by that
only gets faster.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster
from schedgap.models.elastic.placement import Floats, fits, ps_needed

ServerCounts = tuple[tuple[int, int], ...]
"""(server, number), ascending; servers with none are left out."""


class ElasticRun(NamedTuple):
    """One job in one mode from one start slot on, with its placement; all by index."""

    job: int
    mode: Mode
    start: int  # slot, from 1
    workers: ServerCounts
    ps: ServerCounts

    @property
    def end(self) -> int:
        """start + duration."""
        return self.start + self.mode.duration

    def usage(self, view: ElasticCluster) -> dict[int, Floats]:
        """Return the usage of the run in each of its slots: by server an array [r], in units."""
        return view.usage(self.mode, dict(self.workers), dict(self.ps))


def run_at(
    job: int, mode: Mode, start: int, workers: Mapping[int, int], ps: Mapping[int, int]
) -> ElasticRun:
    """Return a run with counts by server given as mappings.

    `start`: first slot, from 1. `workers`, `ps`: number of workers, and of PSs, by index of the
    server; may contain zeros.
    """
    counts = (
        tuple(sorted((h, count) for h, count in numbers.items() if count))
        for numbers in (workers, ps)
    )
    return ElasticRun(job, mode, start, *counts)


def runs_from(instance: ElasticInstance, schedule: ElasticSchedule) -> list[ElasticRun]:
    """Return the runs of a schedule without preemption, by index, in the order of the jobs.

    `schedule`: one segment for each job; it may be longer than necessary.
    """
    view, runs = cluster(instance), []
    at = {name: h for h, name in enumerate(view.servers)}
    for j, job in enumerate(instance.jobs):
        if job.id not in schedule.placements:
            continue
        placed = schedule.segments(job.id)[0]
        workers, ps = (
            {at[name]: count for name, count in counts.items()}
            for counts in (placed.workers, placed.ps)
        )
        m = view.worker_types.index(placed.worker_type)
        p = None if placed.ps_type is None else view.ps_types.index(placed.ps_type)
        mode = Mode(m, p, sum(workers.values()), placed.is_central, placed.duration)
        runs.append(run_at(j, mode, placed.start, workers, ps))
    return runs


def schedule_of(instance: ElasticInstance, runs: Iterable[ElasticRun]) -> ElasticSchedule:
    """Return the schedule that consists of given runs.

    `runs`: at most one for each job.
    """
    view = cluster(instance)
    return ElasticSchedule(
        {
            instance.jobs[run.job].id: view.place(
                run.mode, run.start, dict(run.workers), dict(run.ps)
            )
            for run in sorted(runs)
        }
    )


def fits_together(instance: ElasticInstance, runs: Sequence[ElasticRun]) -> bool:
    """Return whether runs respect the effective capacities; applied to whatever an engine returns.

    Usage increases only where a run starts, so only these slots are checked.

    `runs`: at most one for each job.
    """
    view, starts = cluster(instance), np.unique([run.start for run in runs])
    used = np.zeros((*view.capacity.shape, len(starts)))
    for run in runs:
        first, last = np.searchsorted(starts, (run.start, run.end))
        for h, amounts in run.usage(view).items():
            used[h, :, first:last] += amounts[:, None]
    return bool((used <= view.capacity[:, :, None] * (1 + 1e-15)).all())


def placements(view: ElasticCluster, mode: Mode) -> Iterator[tuple[ServerCounts, ServerCounts]]:
    """Yield the minimal placements of a mode on the empty cluster: workers and PSs by server."""
    N, servers, demand = mode.workers, range(len(view.servers)), view.demand(mode)
    if mode.central:
        needed = N * demand.worker + (0.0 if demand.ps is None else demand.ps)
        for h in np.flatnonzero((view.capacity >= needed).all(axis=1)).tolist():
            yield ((h, N),), () if demand.ps is None else ((h, 1),)
        return
    most = np.minimum(fits(view.capacity, demand.worker), N).tolist()
    able = [h for h in servers if most[h]]
    if demand.ps is None:
        yield from ((workers, ()) for workers in _spread(able, most, N) if len(workers) > 1)
        return
    for n in servers:
        others = [h for h in able if h != n]
        for g in range(min(most[n], N - 1) + 1):
            s = ps_needed(demand.bandwidth, demand.ps_bandwidth, N - g)
            if (view.capacity[n] >= g * demand.worker + s * demand.ps).all():
                on_n = ((n, g),) if g else ()
                for workers in _spread(others, most, N - g):
                    yield tuple(sorted(workers + on_n)), ((n, s),)


def _spread(servers: Sequence[int], most: Sequence[int], number: int) -> Iterator[ServerCounts]:
    """Yield all ways to distribute workers over servers, each with at most `most` [h]."""
    if not number:
        yield ()
    elif servers and number <= sum(most[h] for h in servers):
        h, *others = servers
        for count in range(min(number, most[h]), -1, -1):
            for rest in _spread(others, most, number - count):
                yield ((h, count), *rest) if count else rest
