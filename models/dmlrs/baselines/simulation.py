"""The simulation that FIFO, DRF and Dorm share: it places the unfinished jobs slot by slot.

The paper gives each a sentence: FIFO "by arrival time", DRF "by the largest resource held". The
rest is ours. A policy sees a job from its arrival on, and places all jobs that have arrived and are
not finished. A job that is not finished by T is left out of the schedule, because only finished
jobs earn. Until T it occupies the machines. Ties: arrival, then list order; machines in list order.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from schedgap.instances.dmlrs import (
    EXTERNAL,
    INTERNAL,
    Counts,
    DmlrsInstance,
    DmlrsSchedule,
    arrays,
)
from schedgap.models.dmlrs.throughput import FULL, Bundles, bundles, progress
from schedgap.models.online import Arriving

UNBOUNDED = 2**62  # more workers than any job can have


class UnfinishedJob(NamedTuple):
    """A job that has arrived and is not finished; how many workers would finish it in this slot."""

    job: int
    need_internal: int  # least allowed number of workers, on one machine
    need_external: int  # the same, across machines


Placements = dict[int, dict[int, tuple[int, int]]]  # job -> machine -> workers, PSs
Decide = Callable[
    [int, Sequence[UnfinishedJob]], Mapping[int, Counts]
]  # (slot, jobs) -> placements


def simulate(instance: DmlrsInstance, decide: Decide) -> DmlrsSchedule:
    """Return the schedule of the jobs that a policy finishes by T, slot by slot.

    `decide`: the policy: from the slot, from 1, and the unfinished jobs to the placement of each
    job.
    """
    arriving = Arriving(arrays(instance).arrival.tolist(), lambda i: i)
    waiting: list[int] = []
    finished: list[int] = []
    done: dict[int, tuple[int, int]] = {}  # worker-slots internal, external
    plans: dict[int, dict[int, Counts]] = {}
    for slot in range(1, instance.horizon + 1):
        for i in arriving.until(slot):
            waiting.append(i)
            done[i], plans[i] = (0, 0), {}
        active = [UnfinishedJob(i, *_completing_workers(instance, i, *done[i])) for i in waiting]
        for i, counts in decide(slot, active).items():
            workers = sum(w for w, _ in counts.values())
            internal, external = done[i]
            if len(counts) == 1:
                done[i] = internal + workers, external
            else:
                done[i] = internal, external + workers
            plans[i][slot] = counts
        finished += [i for i in waiting if progress(instance, i, *done[i]) >= FULL]
        waiting = [i for i in waiting if progress(instance, i, *done[i]) < FULL]
    return DmlrsSchedule.of_plans(instance, {i: plans[i] for i in finished})


def _completing_workers(
    instance: DmlrsInstance, i: int, internal: int, external: int
) -> tuple[int, int]:
    """Return the least allowed n that completes job i in this slot, in either mode."""
    missing = FULL - progress(instance, i, internal, external)
    needed, workers = arrays(instance).needed[i], []
    for mode in (INTERNAL, EXTERNAL):
        n = max(1, math.ceil(missing * needed[mode]) - 1)
        while progress(instance, i, *_added(internal, external, mode, n)) < FULL:
            n += 1
        workers.append(next_allowed(bundles(instance, i), n))
    return workers[0], workers[1]


def _added(internal: int, external: int, mode: int, n: int) -> tuple[int, int]:
    """Return the worker-slots of both modes after n more in one mode."""
    return (internal + n, external) if mode == INTERNAL else (internal, external + n)


def next_allowed(job_bundles: Bundles, n: int) -> int:
    """Return the least allowed number of workers that is at least n, or `UNBOUNDED`.

    `job_bundles`: the allowed numbers of workers of the job. `n`: at least 1.
    """
    place = int(np.searchsorted(job_bundles.workers, n))
    return int(job_bundles.workers[place]) if place < len(job_bundles.workers) else UNBOUNDED
