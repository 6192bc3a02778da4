"""What PD-ORS is compared against: FIFO and DRF, slot by slot.

The paper gives each a sentence: FIFO "by arrival time", DRF "by the largest resource held". The
rest is ours. They see a job from its arrival on, and run on all jobs that are there and not yet
done; a job that is not done by T is left out of the schedule in the end, as only finished jobs pay,
but it has held what it held. Ties: arrival, then list order; machines in list order.
"""

import heapq
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
from schedgap.instances.dmlrs.arrays import Ints
from schedgap.models.arrivals import Arriving
from schedgap.models.dmlrs.physics import FULL, Bundles, bundles, progress, ps_needed

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
        found.append(_allowed(bundles(instance, i), n))
    return found[0], found[1]


def _more(internal: int, external: int, mode: int, n: int) -> tuple[int, int]:
    return (internal + n, external) if mode == INTERNAL else (internal, external + n)


def _allowed(some: Bundles, n: int) -> int:
    """Return the least allowed number of workers from n on."""
    place = int(np.searchsorted(some.workers, n))
    return int(some.workers[place]) if place < len(some.workers) else BEYOND


# --- FIFO --------------------------------------------------------------------------------------


def fifo(
    instance: DmlrsInstance, workers: int | None = None, *, strict: bool = False
) -> DmlrsSchedule:
    """Return the schedule that serves jobs by arrival, each with as many workers as it can use.

    A job takes the largest n up to F, `workers` and what it needs, inside the first machine that
    holds it with its PSs, or else spread: unit by unit on the first machine with room, a PS before
    the worker that asks for it.

    Parameters
    ----------
    workers : int, optional
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
            most = min(int(view.batch[each.job]), workers or BEYOND)
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


# --- DRF ---------------------------------------------------------------------------------------


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
        after = _allowed(bundles(instance, each.job), before + 1)
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
