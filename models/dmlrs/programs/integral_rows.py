"""Rows for (2) and (3) whose feasible set cannot change within an engine's tolerance (ours).

The worker-slots A on a single machine and B across machines are whole and bounded. So (3) matters
for finitely many pairs (A, B) only, and a row with small whole coefficients describes the same
pairs: p A + q B >= r, where p / q is the simplest fraction that separates the pairs that do the
work from those that do not. Engines satisfy such a row to within about 1e-6, which is far less than
the step of 1 between its values. Likewise the slope of (2) lies strictly between the ratios of
workers to PSs that are allowed and those that are not.
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
    machine_limits,
    max_external_workers,
    min_worker_slots,
)

MAX_VALUES = 5_000_000  # most values of A that are enumerated
MAX_LEFT_SIDE = 2**62  # bound on the left side of a row


@dataclass(frozen=True, slots=True)
class CoverRow:
    """The row `internal * A + external * B >= least`, equivalent to (3) for the whole A, B.

    It is equivalent for those A, B that the job's slots can hold. For a job that never runs across
    machines B is 0, and the row is equivalent for B = 0.
    """

    internal: int
    external: int
    least: int


def min_external(instance: DmlrsInstance, i: int) -> Ints:
    """Return need[A], the least B with A / N_int + B / N_ext >= 1 - 1e-9, for A = 0, 1, ...

    A goes up to ceil(N_int), or to what the slots from the arrival on can hold. Where they cannot
    hold enough B, need[A] is one more than they can hold. The comparison is the floating-point
    expression that the rules use.

    Raises
    ------
    ScaleError
        When A would have more than `MAX_VALUES` values.
    """
    view = arrays(instance)
    internal, external = view.needed[i, INTERNAL], view.needed[i, EXTERNAL]
    slots = instance.horizon - int(view.arrival[i]) + 1
    most = int(min(math.ceil(internal), slots * int(machine_limits(instance).internal[i].max())))
    if most >= MAX_VALUES:
        raise ScaleError(
            f"job {instance.jobs[i].id} may have {most} worker-slots, exact methods take at most "
            f"{MAX_VALUES}"
        )
    # B = ceil((1 - 1e-9 - A / N_int) N_ext), then corrected by one where rounding is off
    beyond = slots * max_external_workers(instance, i) + 1
    done = np.arange(most + 1) / internal
    need = np.minimum(beyond, np.maximum(0.0, np.ceil((FULL - done) * external)))
    need = np.where(done + need / external >= FULL, need, need + 1)
    less = np.maximum(0.0, need - 1)
    need = np.where(done + less / external >= FULL, less, need)
    least_external: Ints = np.minimum(beyond, need).astype(np.int64)
    return least_external


@lru_cache(maxsize=4096)
def cover_row(instance: DmlrsInstance, i: int) -> CoverRow:
    """Return the row that stands for (3) of a job that some schedule may complete.

    Raises
    ------
    ScaleError
        When no row with coefficients of moderate size exists.
    """
    needed, max_external = arrays(instance).needed[i], max_external_workers(instance, i)
    if max_external == 0:
        return CoverRow(1, 1, min_worker_slots(float(needed[INTERNAL])))
    slots = instance.horizon - int(arrays(instance).arrival[i]) + 1
    row = separate(min_external(instance, i), slots * max_external)
    if row is None:
        raise ScaleError(
            f"job {instance.jobs[i].id}: rounding hides which worker-slots do its work"
        )
    return row


def separate(need: Ints, max_external: int) -> CoverRow | None:
    """Return the row of smallest coefficients that holds exactly for the pairs with B >= need[A].

    `need` [A]: least B for A = 0, 1, ...; never increasing. `max_external`: largest B.

    Returns
    -------
    CoverRow or None
        None if no row separates the pairs.

    Notes
    -----
    The feasible slopes p / q form an open interval. The simplest fraction of the interval known so
    far is tried. If it fails, the sufficient pair (a, need[a]) of least value and the insufficient
    pair (b, need[b] - 1) of largest value give the inequality p (a - b) > q (need[b] - 1 -
    need[a]), which shortens the interval.
    """
    A = np.arange(len(need))
    coverable = np.flatnonzero(need <= max_external)  # (A, need[A]) suffices
    positive = np.flatnonzero(need > 0)  # (A, need[A] - 1) does not
    one_less = np.minimum(need - 1, max_external)
    if not len(coverable):
        return CoverRow(1, 1, len(need) + max_external)
    low, high = Fraction(0), None
    while True:
        slope = simplest_fraction(low, high)
        p, q = slope.numerator, slope.denominator
        if p * len(need) + q * (max_external + 1) > MAX_LEFT_SIDE:
            return None
        complete = p * A[coverable] + q * need[coverable]
        incomplete = p * A[positive] + q * one_less[positive]
        a, b = int(coverable[complete.argmin()]), int(positive[incomplete.argmax()])
        if complete.min() > incomplete.max():
            return CoverRow(p, q, int(complete.min()))
        rise = int(one_less[b] - need[a])
        if a > b:
            low = max(low, Fraction(rise, a - b))
        elif a < b:
            high = Fraction(-rise, b - a) if high is None else min(high, Fraction(-rise, b - a))
        if a == b or (high is not None and low >= high):
            return None


def simplest_fraction(low: Fraction, high: Fraction | None) -> Fraction:
    """Return the fraction of least denominator in the open interval (low, high).

    `low`, `high`: 0 <= low < high; `high` None is infinity.

    Notes
    -----
    By continued fractions: the integer part, then the reciprocal of the rest.
    """
    whole = math.floor(low)
    if high is None or whole + 1 < high:
        return Fraction(whole + 1)
    rest = low - whole
    return whole + 1 / simplest_fraction(1 / (high - whole), 1 / rest if rest else None)


def ps_slope(instance: DmlrsInstance, i: int) -> float:
    """Return gamma' such that n <= gamma' s if and only if s >= m(n), for n = 1..F."""
    job_bundles = bundles(instance, i)
    served = float((job_bundles.workers / job_bundles.ps).max())
    several = job_bundles.ps > 1
    excluded = float(
        (job_bundles.workers[several] / (job_bundles.ps[several] - 1)).min(initial=math.inf)
    )
    return served + 1 if excluded == math.inf else (served + excluded) / 2
