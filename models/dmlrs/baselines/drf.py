"""DRF: the next worker goes to the job of least dominant share."""

import heapq
from collections.abc import Sequence

import numpy as np

from schedgap.instances.dmlrs import Counts, DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.baselines.simulation import (
    UNBOUNDED,
    Placements,
    UnfinishedJob,
    next_allowed,
    simulate,
)
from schedgap.models.dmlrs.throughput import bundles, ps_needed


def drf(instance: DmlrsInstance) -> DmlrsSchedule:
    """Return the schedule that evens out dominant shares in every slot.

    The job of least dominant share gets its next allowed number of workers. That ends when each job
    has F workers, or enough to finish, or no free capacity.

    Notes
    -----
    Source: Numerical results, after Ghodsi et al., NSDI 2011; completed by us.
    """
    return simulate(instance, lambda slot, active: dominant_shares(instance, active))


def dominant_shares(instance: DmlrsInstance, active: Sequence[UnfinishedJob]) -> Placements:
    """Return the placement that DRF gives to the jobs in an empty slot.

    `active`: in order of arrival; ties go to the earlier one.
    """
    view = arrays(instance)
    free, total = view.capacity_milli.copy(), view.capacity_milli.sum(axis=0)
    countable = total > 0
    placed: Placements = {job.job: {} for job in active}
    queue = [(0.0, position) for position in range(len(active))]  # ties: earlier in `active`
    while queue:
        _, position = heapq.heappop(queue)
        job = active[position]
        counts = placed[job.job]
        before = sum(w for w, _ in counts.values())
        limit = job.need_internal if len(counts) <= 1 else job.need_external
        after = next_allowed(bundles(instance, job.job), before + 1)
        if before >= limit or after == UNBOUNDED:
            continue
        more = extended(instance, job.job, counts, after, free)
        if more is None:
            continue
        placed[job.job] = more
        used = sum(
            w * view.worker_milli[job.job] + s * view.ps_milli[job.job] for w, s in more.values()
        )
        share = (used[countable] / total[countable]).max(initial=0.0)
        heapq.heappush(queue, (float(share), position))
    return {i: counts for i, counts in placed.items() if counts}


def extended(
    instance: DmlrsInstance, i: int, held: Counts, workers: int, free: Ints
) -> dict[int, tuple[int, int]] | None:
    """Return the placement with more workers, taken from `free`; None if it does not fit.

    `workers`: the new number of its workers. `free` [h, r]: free capacity in thousandths; reduced
    if the units fit.
    """
    view, ratio = arrays(instance), float(arrays(instance).ratio[i])
    before = sum(w for w, _ in held.values())
    new_ps = ps_needed(ratio, workers) - sum(s for _, s in held.values())
    demand = (workers - before) * view.worker_milli[i] + new_ps * view.ps_milli[i]
    counts = dict(held)
    if len(held) <= 1:
        single = [*held] or _first_machine(free, demand)
        if single and (free[single[0]] >= demand).all():
            w, s = counts.get(single[0], (0, 0))
            counts[single[0]] = w + workers - before, s + new_ps
            free[single[0]] -= demand
            return counts
    remaining = free.copy()
    for kind in (1,) * new_ps + (0,) * (workers - before):
        unit = view.ps_milli[i] if kind else view.worker_milli[i]
        current = [h for h in sorted(counts) if (remaining[h] >= unit).all()][:1]
        target = current or _first_machine(remaining, unit)
        if not target:
            return None
        remaining[target[0]] -= unit
        w, s = counts.get(target[0], (0, 0))
        counts[target[0]] = (w, s + 1) if kind else (w + 1, s)
    free[:] = remaining
    return counts


def _first_machine(free: Ints, demand: Ints) -> list[int]:
    """Return the first machine with enough free capacity, as a list of at most one."""
    first: list[int] = np.flatnonzero(np.all(free >= demand, axis=1))[:1].tolist()
    return first
