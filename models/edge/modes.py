"""The modes of a job: how many workers, together with the PS or not; the duration follows.

An optimal schedule needs no other: where a worker less takes no more slots, it is never worse.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.instances.edge.compiled import EdgeArrays


class Mode(NamedTuple):
    """How a job runs, but for the start and the servers."""

    workers: int  # n
    duration: int  # d, in slots
    together: bool  # xi: all workers on the server of the PS


def most_workers(instance: EdgeInstance, job: int, together: bool) -> int:
    """Return the most workers that a job can have on the empty network; 0: it can never run so."""
    view = arrays(instance)
    has_ps = view.ps[:, view.ps_type[job]] >= 1
    workers = view.workers[:, view.worker_type[job]]
    if not has_ps.any():
        return 0
    most = workers[has_ps].max() if together else workers.sum()
    return int(min(most, view.chunks[job]))


@lru_cache(maxsize=1 << 16)
def modes(instance: EdgeInstance, job: int, together: bool) -> tuple[Mode, ...]:
    """Return the modes of a job (by index) that fit on the empty network and into the horizon.

    Returns
    -------
    tuple of Mode
        By number of workers, ascending; each is shorter than the one before. Transfer delays and
        the window of a batch are left to the caller: see `earliest_start`.

    Notes
    -----
    The duration is ceil(work / workers), exactly: workers x slots is whole and so covers the work
    iff it covers `EdgeArrays.needed`; the 1e-6 worker-slots that the rules allow are in it.
    """
    most = most_workers(instance, job, together)
    needed = int(arrays(instance).needed[job, int(together)])
    n = -(-needed // instance.horizon)
    found = []
    while n <= most:
        d = -(-needed // n)
        found.append(Mode(n, d, together))
        if d == 1:
            break
        n = -(-needed // (d - 1))  # the fewest workers for d - 1 slots
    return tuple(found)


def all_modes(instance: EdgeInstance, job: int) -> tuple[Mode, ...]:
    """Return the modes together with the PS, then the split ones."""
    return modes(instance, job, True) + modes(instance, job, False)


def least_slots(instance: EdgeInstance) -> int:
    """Return the slots that the longest job takes, each in its shortest mode."""
    shortest = [
        min((mode.duration for mode in all_modes(instance, j)), default=0)
        for j in range(len(instance.jobs))
    ]
    return max(shortest)


@lru_cache(maxsize=1 << 18)
def earliest_start(instance: EdgeInstance, job: int, mode: Mode) -> int | None:
    """Return the first slot in which a mode fits on the empty network, by (2i); None: never.

    It fits from this slot on, since more servers are ready later. In a batch the slot is not before
    its window; the end of the window or the horizon is left to the caller.
    """
    view: EdgeArrays = arrays(instance)
    ready = view.ready[job]
    workers = view.workers[:, view.worker_type[job]]
    has_ps = view.ps[:, view.ps_type[job]] >= 1
    if mode.together:
        able = ready[has_ps & (workers >= mode.workers)]
        slot = able.min() if len(able) else None
    else:
        order = np.argsort(ready, kind="stable")
        enough = np.flatnonzero(np.cumsum(workers[order]) >= mode.workers)
        slot = None
        if len(enough) and has_ps.any():
            slot = max(ready[order[enough[0]]], ready[has_ps].min())
    return None if slot is None else max(int(slot), instance.window[0])
