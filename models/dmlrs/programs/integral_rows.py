"""Rows for (2) and (3) that an engine's tolerance cannot break (ours).

Worker-slots A inside a machine and B across machines are whole, and a job has slots for few of
them. So (3) need hold for a finite set of pairs only, and small whole numbers describe the same
set: p A + q B >= r, with p / q the simplest fraction that separates the pairs that do the work from
those that do not. Engines meet such a row within about 1e-6 of a whole number, never by a step.
Likewise the slope of (2) lies between the numbers of workers that so many PSs can serve and those
that they cannot.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.throughput import (
    FULL,
    bundles,
    external_width,
    least_worker_slots,
    widths,
)

MOST_VALUES = 5_000_000  # of A that are looked at
FARTHEST = 2**62  # of a row's left side


@dataclass(frozen=True, slots=True)
class Cover:
    """`inside * A + across * B >= least` holds for just the A, B of a job that do its work, (3).

    Among the whole A, B that its slots can hold. Where the job never runs across machines, B is 0
    and the row need hold for such A alone.
    """

    inside: int
    across: int
    least: int


def least_external(instance: DmlrsInstance, i: int) -> Ints:
    """Return need[A]: the least B with A / N_int + B / N_ext >= 1 - 1e-9, for A = 0, 1, ...

    A goes as far as it matters: to ceil(N_int), or to what the slots from arrival on can hold. More
    B than these slots can hold is one more than they can. The very expression that judges schedules
    decides.
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
    beyond = slots * external_width(instance, i) + 1
    part = np.arange(most + 1) / inside
    need = np.minimum(beyond, np.maximum(0.0, np.ceil((FULL - part) * across)))
    need = np.where(part + need / across >= FULL, need, need + 1)
    less = np.maximum(0.0, need - 1)
    need = np.where(part + less / across >= FULL, less, need)
    found: Ints = np.minimum(beyond, need).astype(np.int64)
    return found


@lru_cache(maxsize=4096)
def cover(instance: DmlrsInstance, i: int) -> Cover:
    """Return the row that stands for (3) of a job that some schedule may complete."""
    needed, width = arrays(instance).needed[i], external_width(instance, i)
    if width == 0:
        return Cover(1, 1, least_worker_slots(float(needed[INTERNAL])))
    slots = instance.horizon - int(arrays(instance).arrival[i]) + 1
    found = separate(least_external(instance, i), slots * width)
    if found is None:
        raise ScaleError(
            f"job {instance.jobs[i].id}: rounding hides which worker-slots do its work"
        )
    return found


def separate(need: Ints, most: int) -> Cover | None:
    """Return the row of the smallest numbers that holds for just the pairs with B >= need[A].

    Among A = 0, 1, ... and B = 0..most; None where no row does that.

    Notes
    -----
    A row exists for p / q in an open interval. Two pairs that a fraction does not separate shorten
    what is known of it; the simplest fraction in there is tried next.
    """
    A = np.arange(len(need))
    enough = np.flatnonzero(need <= most)  # with B = need[A]
    short = np.flatnonzero(need > 0)  # with one less
    less = np.minimum(need - 1, most)
    if not len(enough):
        return Cover(1, 1, len(need) + most)
    low, high = Fraction(0), None
    while True:
        slope = simplest(low, high)
        p, q = slope.numerator, slope.denominator
        if p * len(need) + q * (most + 1) > FARTHEST:
            return None
        does, does_not = p * A[enough] + q * need[enough], p * A[short] + q * less[short]
        a, b = int(enough[does.argmin()]), int(short[does_not.argmax()])
        if does.min() > does_not.max():
            return Cover(p, q, int(does.min()))
        rise = int(less[b] - need[a])
        if a > b:
            low = max(low, Fraction(rise, a - b))
        elif a < b:
            high = Fraction(-rise, b - a) if high is None else min(high, Fraction(-rise, b - a))
        if a == b or (high is not None and low >= high):
            return None


def simplest(low: Fraction, high: Fraction | None) -> Fraction:
    """Return the fraction of least denominator between low >= 0 and high; None: there is no end."""
    whole = math.floor(low)
    if high is None or whole + 1 < high:
        return Fraction(whole + 1)
    rest = low - whole
    return whole + 1 / simplest(1 / (high - whole), 1 / rest if rest else None)


def ps_slope(instance: DmlrsInstance, i: int) -> float:
    """Return gamma': n <= gamma' s just where s >= m(n), for all n = 1..F, under `at_least`."""
    some = bundles(instance, i)
    served = float((some.workers / some.ps).max())
    more = some.ps > 1
    beyond = float((some.workers[more] / (some.ps[more] - 1)).min(initial=math.inf))
    return served + 1 if beyond == math.inf else (served + beyond) / 2
