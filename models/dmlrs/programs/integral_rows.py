"""Rows for (2) and (3) whose feasible set cannot change within an engine's tolerance (ours).

The worker-slots A on a single machine and B across machines are whole. Take the hull of the pairs
(A, B) that do a job's work. Its edges hold for the same integers as (3), and have whole
coefficients. So an engine cannot take a pair that lacks a little for one that does the work.
Likewise the slope of (2) lies strictly between the ratios of workers to PSs that are allowed and
those that are not.
"""

import math
from itertools import pairwise

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.throughput import FULL, bundles, machine_limits, max_external_workers

MAX_VALUES = 5_000_000  # most values of A that are enumerated


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


def work_rows(instance: DmlrsInstance, i: int) -> list[tuple[int, int, int]]:
    """Return the rows p A + q B >= r that stand for (3) of job i, each as (p, q, r).

    Raises
    ------
    ScaleError
        When A would have more than `MAX_VALUES` values.
    """
    need = min_external(instance, i)
    slots = instance.horizon - int(arrays(instance).arrival[i]) + 1
    enough = np.flatnonzero(need <= slots * max_external_workers(instance, i))
    if not len(enough):
        return [(0, 0, 1)]  # no pair does the work
    corners: list[tuple[int, int]] = []
    for a, b in zip(enough.tolist(), need[enough].tolist(), strict=True):
        while len(corners) > 1:
            (c, d), (e, f) = corners[-2:]
            if (e - c) * (b - d) > (f - d) * (a - c):  # (e, f) is below the line to (a, b)
                break
            corners.pop()
        corners.append((a, b))
    rows = [(1, 0, corners[0][0]), (0, 1, corners[-1][1])]
    for (a, b), (c, d) in pairwise(corners):
        step = math.gcd(b - d, c - a)
        p, q = (b - d) // step, (c - a) // step
        rows.append((p, q, p * a + q * b))
    return [row for row in rows if row[2]]


def ps_slope(instance: DmlrsInstance, i: int) -> float:
    """Return gamma' such that n <= gamma' s if and only if s >= m(n), for n = 1..F.

    It lies strictly between the ratios of workers to PSs that are allowed and those that are not.
    For the tolerances of engines, it is far from both.
    """
    job_bundles = bundles(instance, i)
    served = float((job_bundles.workers / job_bundles.ps).max())
    several = job_bundles.ps > 1
    excluded = float(
        (job_bundles.workers[several] / (job_bundles.ps[several] - 1)).min(initial=math.inf)
    )
    return served + 1 if excluded == math.inf else (served + excluded) / 2
