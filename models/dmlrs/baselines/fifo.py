"""FIFO: jobs by arrival, each with as many workers as it can use."""

from collections.abc import Sequence

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.baselines.simulation import BEYOND, Active, Placed, simulate
from schedgap.models.dmlrs.throughput import bundles, ps_needed


def fifo(
    instance: DmlrsInstance, fifo_workers: int | None = None, *, strict: bool = False
) -> DmlrsSchedule:
    """Return the schedule that serves jobs by arrival, each with as many workers as it can use.

    A job takes the largest n up to F, `fifo_workers` and what it needs, inside the first machine
    that holds it with its PSs, or else spread: unit by unit on the first machine with room, a PS
    before the worker that asks for it.

    Parameters
    ----------
    fifo_workers : int, optional
        The most workers of any job; >= 1.
    strict : bool
        A job that gets nothing keeps the later ones waiting.

    Notes
    -----
    Source: Numerical results; completed by us. Time: O(T I (F + H R)).
    """
    view = arrays(instance)

    def decide(slot: int, active: Sequence[Active]) -> Placed:
        free, placed = view.capacity_milli.copy(), Placed()
        for each in active:
            most = min(int(view.batch[each.job]), fifo_workers or BEYOND)
            counts = _largest(instance, each, most, free)
            if counts is None and strict:
                break
            if counts is not None:
                placed[each.job] = counts
                for h, (w, s) in counts.items():
                    free[h] -= w * view.worker_milli[each.job] + s * view.ps_milli[each.job]
        return placed

    return simulate(instance, decide)


def _largest(
    instance: DmlrsInstance, each: Active, most: int, free: Ints
) -> dict[int, tuple[int, int]] | None:
    """Return the placement of the most workers, inside a machine if that holds as many."""
    some = bundles(instance, each.job)
    usable = some.workers <= min(most, each.need_internal)
    fits = np.all(some.demand_milli[usable][:, None, :] <= free, axis=2)  # [k, h]
    holding = np.flatnonzero(fits.any(axis=1))
    inside = int(some.workers[holding[-1]]) if len(holding) else 0
    if len(instance.machines) > 1:
        counts = _spread(instance, each.job, min(most, each.need_external), free)
        if sum(w for w, _ in counts.values()) > inside:
            return counts
    if not inside:
        return None
    k = holding[-1]
    return {int(np.argmax(fits[k])): (inside, int(some.ps[k]))}


def _spread(instance: DmlrsInstance, i: int, most: int, free: Ints) -> dict[int, tuple[int, int]]:
    """Return the largest allowed number of workers, up to `most`, that can be placed unit by unit.

    The units of n workers are the first ones of those of n + 1. What has no room for a worker or
    a PS will not get it back, so that each is looked for from the last place on.
    """
    view, left = arrays(instance), free.tolist()
    units = view.worker_milli[i].tolist(), view.ps_milli[i].tolist()
    at = [0, 0]  # first machine that may have room for a worker, for a PS
    counts: dict[int, tuple[int, int]] = {}
    best: dict[int, tuple[int, int]] = {}
    allowed = set(bundles(instance, i).workers.tolist())
    ratio = float(view.ratio[i])
    for n in range(1, min(most, max(allowed, default=0)) + 1):
        due = ps_needed(ratio, n) - ps_needed(ratio, n - 1)
        for kind in (1,) * due + (0,):
            unit = units[kind]
            h = at[kind]
            while h < len(left) and any(u > room for u, room in zip(unit, left[h], strict=True)):
                h += 1
            at[kind] = h
            if h == len(left):
                return best
            left[h] = [room - u for u, room in zip(unit, left[h], strict=True)]
            w, s = counts.get(h, (0, 0))
            counts[h] = (w + 1, s) if kind == 0 else (w, s + 1)
        if n in allowed:
            best = dict(counts)
    return best
