"""Rows for (2) and (3) that an engine's tolerance cannot break (ours).

Engines meet a row within about 1e-6. Worker-slots A inside a machine and B across machines are
whole, so the right side of (3) can lie between the lattice's values, as far from those that do the
work as from those that do not. Likewise the slope of (2), between the numbers of workers that so
many PSs can serve and those that they cannot.
"""

import math
from dataclasses import dataclass

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.arrays import Ints
from schedgap.models.dmlrs.physics import (
    FULL,
    bundles,
    external_width,
    least_worker_slots,
    widths,
)

NEAR = 1e-5  # below this part of a row's size, a gap needs an engine's least tolerances
MOST_VALUES = 5_000_000  # of A that are looked at


@dataclass(frozen=True, slots=True)
class Cover:
    """`stretch * A + B >= least` holds for just the whole A, B that do the job's work, (3).

    Where the job never runs across machines, B is 0 and the row need hold for such A alone.
    """

    stretch: float  # N_ext / N_int
    least: float
    gap: float  # from `least` to the nearest value of the lattice


def least_external(instance: DmlrsInstance, i: int) -> Ints:
    """Return need[A]: the least B with A / N_int + B / N_ext >= 1 - 1e-9, for A = 0, 1, ...

    A goes as far as it matters: to ceil(N_int), or to what the slots from arrival on can hold.
    The very expression that judges schedules decides.
    """
    view = arrays(instance)
    inside, across = view.needed[i, INTERNAL], view.needed[i, EXTERNAL]
    slots = instance.horizon - int(view.arrival[i]) + 1
    most = int(min(math.ceil(inside), slots * int(widths(instance).internal[i].max())))
    if most >= MOST_VALUES:
        raise ScaleError(
            f"job {instance.jobs[i].id} may have {most} worker-slots, exact methods take at most "
            f"{MOST_VALUES}"
        )
    part = np.arange(most + 1) / inside
    need = np.maximum(0.0, np.ceil((FULL - part) * across))
    need = np.where(part + need / across >= FULL, need, need + 1)
    less = np.maximum(0.0, need - 1)
    found: Ints = np.where(part + less / across >= FULL, less, need).astype(np.int64)
    return found


def cover(instance: DmlrsInstance, i: int) -> Cover:
    """Return the row that stands for (3) of a job that some schedule may complete."""
    needed = arrays(instance).needed[i]
    if external_width(instance, i) == 0:
        return Cover(1.0, least_worker_slots(float(needed[INTERNAL])) - 0.5, 0.5)
    stretch = float(needed[EXTERNAL] / needed[INTERNAL])
    need = least_external(instance, i)
    total = np.arange(len(need)) * stretch + need
    enough = float(total.min())
    short = float((total - 1)[need > 0].max())
    return Cover(stretch, (enough + short) / 2, (enough - short) / 2)


def ps_slope(instance: DmlrsInstance, i: int) -> float:
    """Return gamma': n <= gamma' s just where s >= m(n), for all n = 1..F, under `at_least`."""
    some = bundles(instance, i)
    served = float((some.workers / some.ps).max())
    more = some.ps > 1
    beyond = float((some.workers[more] / (some.ps[more] - 1)).min(initial=math.inf))
    return served + 1 if beyond == math.inf else (served + beyond) / 2


def is_close(instance: DmlrsInstance, i: int) -> bool:
    """Whether the row (3) of a job needs an engine's least tolerances.

    The binary of completion may be off by the tolerance as well, and moves the row by `least` times
    as much.
    """
    own = cover(instance, i)
    return own.gap < NEAR * max(1.0, own.least)
