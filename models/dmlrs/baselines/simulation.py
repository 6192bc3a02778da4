"""What FIFO, DRF and Dorm share: a simulation that places the jobs slot by slot.

The paper gives each a sentence: FIFO "by arrival time", DRF "by the largest resource held". The
rest is ours. Policies see a job from its arrival on, and run on all jobs that are there and not yet
done; a job that is not done by T is left out of the schedule in the end, as only finished jobs pay,
but it has held what it held. Ties: arrival, then list order; machines in list order.
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

BEYOND = 2**62  # more workers than any job can have


class Active(NamedTuple):
    """A job that is there and not yet done; what it still needs is none of the others' business."""

    job: int
    need_internal: int  # the least allowed number of workers that completes it inside a machine
    need_external: int  # the same across machines


Placed = dict[int, dict[int, tuple[int, int]]]  # job -> machine -> workers, PSs
Decide = Callable[[int, Sequence[Active]], Mapping[int, Counts]]  # (slot, jobs) -> placements


def simulate(instance: DmlrsInstance, decide: Decide) -> DmlrsSchedule:
    """Return the schedule of the jobs that are done by T when `decide` places all, slot by slot."""
    arriving = Arriving(arrays(instance).arrival.tolist(), lambda i: i)
    there: list[int] = []
    done: list[int] = []
    worked: dict[int, tuple[int, int]] = {}  # worker-slots internal, external
    plans: dict[int, dict[int, Counts]] = {}
    for slot in range(1, instance.horizon + 1):
        for i in arriving.until(slot):
            there.append(i)
            worked[i], plans[i] = (0, 0), {}
        active = [Active(i, *_needs(instance, i, *worked[i])) for i in there]
        for i, counts in decide(slot, active).items():
            workers = sum(w for w, _ in counts.values())
            internal, external = worked[i]
            if len(counts) == 1:
                worked[i] = internal + workers, external
            else:
                worked[i] = internal, external + workers
            plans[i][slot] = counts
        done += [i for i in there if progress(instance, i, *worked[i]) >= FULL]
        there = [i for i in there if progress(instance, i, *worked[i]) < FULL]
    return DmlrsSchedule.of_plans(instance, {i: plans[i] for i in done})


def _needs(instance: DmlrsInstance, i: int, internal: int, external: int) -> tuple[int, int]:
    """Return the least allowed n that completes job i in this slot, in either mode."""
    missing = FULL - progress(instance, i, internal, external)
    needed, found = arrays(instance).needed[i], []
    for mode in (INTERNAL, EXTERNAL):
        n = max(1, math.ceil(missing * needed[mode]) - 1)
        while progress(instance, i, *_more(internal, external, mode, n)) < FULL:
            n += 1
        found.append(next_allowed(bundles(instance, i), n))
    return found[0], found[1]


def _more(internal: int, external: int, mode: int, n: int) -> tuple[int, int]:
    return (internal + n, external) if mode == INTERNAL else (internal, external + n)


def next_allowed(some: Bundles, n: int) -> int:
    """Return the least allowed number of workers from n on."""
    place = int(np.searchsorted(some.workers, n))
    return int(some.workers[place]) if place < len(some.workers) else BEYOND
