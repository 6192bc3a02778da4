"""Placement of one job's workers and PSs in the free capacity of slots (ours), by arrays.

On one machine n workers have their m(n) PSs. Across machines there are two ways: all workers that
fit, with the PSs in the remaining capacity, or bundles of both on every machine. Neither dominates
the other. Machines with the least value of free capacity are filled first, as in best fit.

References
----------
R. Panigrahy, K. Talwar, L. Uyeda, U. Wieder, "Heuristics for vector bin packing", technical report,
Microsoft Research (2011): weighted sums of the free capacities.
"""

from dataclasses import dataclass

import numpy as np

from schedgap.instances.dmlrs import INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.throughput import (
    Bundles,
    bundles,
    bundles_that_fit,
    ps_needed,
    units_that_fit,
)

Counts = dict[int, tuple[int, int]]  # workers and PSs by index of the machine


@dataclass(frozen=True, slots=True, eq=False)
class SlotLimits:
    """How many workers and PSs of one job slots [t] can hold on their machines [h]."""

    internal: Ints  # [t, h] most workers with their PSs
    workers: Ints  # [t, h] most workers alone
    ps: Ints  # [t, h] most PSs next to these workers
    max_workers: Ints  # [t, mode] most workers in a mode


def slot_limits(instance: DmlrsInstance, i: int, free: Ints) -> SlotLimits:
    """Return how many workers and PSs of job i fit the free capacity of slots.

    `free` [t, h, r]: free capacity in thousandths.
    """
    view, job_bundles = arrays(instance), bundles(instance, i)
    internal = np.append(0, job_bundles.workers)[bundles_that_fit(job_bundles, free)]
    workers = units_that_fit(free, view.worker_milli[i], int(view.batch[i]))
    max_ps = int(job_bundles.ps[-1]) if len(job_bundles.ps) else 0
    ps = units_that_fit(free - workers[:, :, None] * view.worker_milli[i], view.ps_milli[i], max_ps)
    across = np.zeros(len(free), dtype=np.int64)
    if free.shape[1] > 1:
        bundled = _allowed(job_bundles, internal.sum(axis=1), np.full(len(free), max_ps))
        separate = _allowed(job_bundles, workers.sum(axis=1), ps.sum(axis=1))
        across = np.maximum(bundled, separate)
    max_workers = np.stack([internal.max(axis=1), across], axis=1)
    return SlotLimits(internal, workers, ps, max_workers)


def _allowed(job_bundles: Bundles, workers: Ints, ps: Ints) -> Ints:
    """Return the largest allowed numbers of workers up to given totals of workers and PSs."""
    last = np.minimum(
        np.searchsorted(job_bundles.workers, workers, side="right"),
        np.searchsorted(job_bundles.ps, ps, side="right"),
    )
    allowed: Ints = np.append(0, job_bundles.workers)[last]
    return allowed


def place(
    instance: DmlrsInstance, i: int, free: Ints, workers: int, mode: int, value: Floats
) -> Counts | None:
    """Return a placement of an allowed number of workers with their PSs; None if they do not fit.

    `free` [h, r]: free capacity in thousandths. `workers`, `mode`: number of workers; `INTERNAL`
    (0) or `EXTERNAL` (1). `value` [r]: value of free capacity; machines with the least value are
    filled first.
    """
    view = arrays(instance)
    limits, ratio = slot_limits(instance, i, free[None]), float(view.ratio[i])
    ps_count = ps_needed(ratio, workers)
    internal = limits.internal[0]
    order = _fullest(free, value)
    if mode == INTERNAL:
        candidates = order[internal[order] >= workers]
        return {int(candidates[0]): (workers, ps_count)} if len(candidates) else None
    if len(free) == 1:
        return None
    if limits.workers.sum() >= workers and limits.ps.sum() >= ps_count:
        w = _filled(order, limits.workers[0], workers)
        remaining = free - w[:, None] * view.worker_milli[i]
        s = _filled(
            _fullest(remaining, value),
            units_that_fit(remaining, view.ps_milli[i], ps_count),
            ps_count,
        )
    elif internal.sum() >= workers:
        w = _filled(order, internal, workers)
        s = _filled(order, np.array([ps_needed(ratio, n) for n in w.tolist()]), ps_count)
    else:
        return None
    return {int(h): (int(w[h]), int(s[h])) for h in np.flatnonzero(w + s)}


def _fullest(free: Ints, value: Floats) -> Ints:
    """Return the machines in ascending order of the value of their free capacity."""
    return np.argsort(free @ value, kind="stable")


def _filled(order: Ints, limits: Ints, number: int) -> Ints:
    """Return how many units each machine [h] gets when machines are filled in order."""
    filled = np.zeros_like(limits)
    start = np.cumsum(limits[order]) - limits[order]
    filled[order] = np.clip(number - start, 0, limits[order])
    return filled
