"""Modes of a job: number of workers, whether all share the PS's server, and the resulting duration.

Only non-dominated modes are listed: each has the fewest workers for its duration. Fewer workers at
an equal duration leave more capacity to others, so an optimal schedule needs no other mode.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.instances.edge.compiled import EdgeArrays


class JobMode(NamedTuple):
    """How a job runs, apart from its start and its servers."""

    workers: int  # n
    duration: int  # d, in slots
    colocated: bool  # xi: all workers on the server of the PS


def max_workers(instance: EdgeInstance, job: int, colocated: bool) -> int:
    """Return the largest number of workers that a job can have on the empty network.

    `job`: index of the job in the instance. `colocated`: whether all workers must be on the server
    of the PS.

    The number is at most D_j, and 0 if the job can never run in this way.
    """
    view = arrays(instance)
    has_ps = view.ps[:, view.ps_type[job]] >= 1
    workers = view.workers[:, view.worker_type[job]]
    if not has_ps.any():
        return 0
    available = workers[has_ps].max() if colocated else workers.sum()
    return int(min(available, view.chunks[job]))


@lru_cache(maxsize=1 << 16)
def modes(instance: EdgeInstance, job: int, colocated: bool) -> tuple[JobMode, ...]:
    """Return the non-dominated modes that fit on the empty network and into the horizon.

    `job`: index of the job in the instance. `colocated`: whether all workers are on the server of
    the PS.

    The modes are ordered by number of workers, ascending; durations strictly decrease. Transfer
    delays and the window of a batch are not taken into account: see `earliest_start`.

    Notes
    -----
    The duration is ceil(work / workers), computed in integers. The number workers x slots is an
    integer, so it covers the work if and only if it covers `EdgeArrays.needed`. This number already
    includes the tolerance of 1e-6 worker-slots that the rules allow.
    """
    limit = max_workers(instance, job, colocated)
    needed = int(arrays(instance).needed[job, int(colocated)])
    n = -(-needed // instance.horizon)
    listed = []
    while n <= limit:
        d = -(-needed // n)
        listed.append(JobMode(n, d, colocated))
        if d == 1:
            break
        n = -(-needed // (d - 1))  # the fewest workers for d - 1 slots
    return tuple(listed)


def all_modes(instance: EdgeInstance, job: int) -> tuple[JobMode, ...]:
    """Return the colocated modes of a job, then the split ones.

    Parameters
    ----------
    job : int
        Index of the job in the instance.
    """
    return modes(instance, job, True) + modes(instance, job, False)


def longest_job_slots(instance: EdgeInstance) -> int:
    """Return the largest duration of a job when every job runs in its shortest mode, in slots."""
    return max(
        min((mode.duration for mode in all_modes(instance, j)), default=0)
        for j in range(len(instance.jobs))
    )


@lru_cache(maxsize=1 << 18)
def earliest_start(instance: EdgeInstance, job: int, mode: JobMode) -> int | None:
    """Return the first slot in which a mode fits on the empty network, by (2i).

    `job`: index of the job in the instance. `mode`: one of its modes.

    The result is None if the mode never fits. A mode that fits also fits in every later slot,
    because servers only become ready over time. In a batch the slot is not before the window; the
    end of the window or horizon is not checked.
    """
    view: EdgeArrays = arrays(instance)
    ready = view.ready[job]
    workers = view.workers[:, view.worker_type[job]]
    has_ps = view.ps[:, view.ps_type[job]] >= 1
    if mode.colocated:
        able = ready[has_ps & (workers >= mode.workers)]
        slot = able.min() if len(able) else None
    else:
        order = np.argsort(ready, kind="stable")
        enough = np.flatnonzero(np.cumsum(workers[order]) >= mode.workers)
        slot = None
        if len(enough) and has_ps.any():
            slot = max(ready[order[enough[0]]], ready[has_ps].min())
    return None if slot is None else max(int(slot), instance.window[0])
