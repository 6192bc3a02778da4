"""DRF: workers one by one to the job of the least dominant share."""

import heapq
from collections.abc import Sequence

import numpy as np

from schedgap.instances.dmlrs import Counts, DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.baselines.simulation import (
    BEYOND,
    Active,
    Placed,
    next_allowed,
    simulate,
)
from schedgap.models.dmlrs.throughput import bundles, ps_needed


def drf(instance: DmlrsInstance) -> DmlrsSchedule:
    """Return the schedule that evens out dominant shares in every slot.

    The job of the least dominant share goes to its next allowed number of workers, until each has
    F workers, or enough to be done, or finds no room.

    Notes
    -----
    Source: Numerical results, after Ghodsi et al., NSDI 2011; completed by us.
    """
    return simulate(instance, lambda slot, active: dominant_shares(instance, active))


def dominant_shares(instance: DmlrsInstance, active: Sequence[Active]) -> Placed:
    """Return what DRF gives to the jobs in an empty slot."""
    view = arrays(instance)
    free, total = view.capacity_milli.copy(), view.capacity_milli.sum(axis=0)
    countable = total > 0
    placed: Placed = {each.job: {} for each in active}
    queue = [(0.0, place) for place in range(len(active))]  # ties: earlier in `active`
    while queue:
        _, place = heapq.heappop(queue)
        each = active[place]
        own = placed[each.job]
        before = sum(w for w, _ in own.values())
        need = each.need_internal if len(own) <= 1 else each.need_external
        after = next_allowed(bundles(instance, each.job), before + 1)
        if before >= need or after == BEYOND:
            continue
        raised = _raise(instance, each.job, own, after, free)
        if raised is None:
            continue
        placed[each.job] = raised
        used = sum(
            w * view.worker_milli[each.job] + s * view.ps_milli[each.job]
            for w, s in raised.values()
        )
        share = (used[countable] / total[countable]).max(initial=0.0)
        heapq.heappush(queue, (float(share), place))
    return {i: counts for i, counts in placed.items() if counts}


def _raise(
    instance: DmlrsInstance, i: int, own: Counts, workers: int, free: Ints
) -> dict[int, tuple[int, int]] | None:
    """Return the placement with so many workers, taken off `free`; None if there is no room."""
    view, ratio = arrays(instance), float(arrays(instance).ratio[i])
    before = sum(w for w, _ in own.values())
    due = ps_needed(ratio, workers) - sum(s for _, s in own.values())
    new = (workers - before) * view.worker_milli[i] + due * view.ps_milli[i]
    counts = dict(own)
    if len(own) <= 1:
        whole = [*own] or _first(free, new)
        if whole and (free[whole[0]] >= new).all():
            w, s = counts.get(whole[0], (0, 0))
            counts[whole[0]] = w + workers - before, s + due
            free[whole[0]] -= new
            return counts
    left = free.copy()
    for kind in (1,) * due + (0,) * (workers - before):
        unit = view.ps_milli[i] if kind else view.worker_milli[i]
        mine = [h for h in sorted(counts) if (left[h] >= unit).all()][:1]
        found = mine or _first(left, unit)
        if not found:
            return None
        left[found[0]] -= unit
        w, s = counts.get(found[0], (0, 0))
        counts[found[0]] = (w, s + 1) if kind else (w + 1, s)
    free[:] = left
    return counts


def _first(free: Ints, demand: Ints) -> list[int]:
    """Return the first machine that has so much room, or nothing."""
    found: list[int] = np.flatnonzero(np.all(free >= demand, axis=1))[:1].tolist()
    return found
