"""Workers and PSs of one job into what slots have left (ours), by arrays.

Inside a machine stand n workers with their m(n) PSs. Across machines there are two ways: all
workers that fit, with the PSs in what these leave over, or bundles of both on every machine.
Neither is always the best one.
"""

from dataclasses import dataclass

import numpy as np

from schedgap.instances.dmlrs import INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.throughput import Bundles, bundles, ps_needed

Counts = dict[int, tuple[int, int]]  # workers and PSs by index of the machine

EVEN = 1e-6  # weight of each resource beside its price, where room is valued


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What slots [t] hold of one job on their machines [h]."""

    inside: Ints  # [t, h] the most workers with their PSs on the machine
    workers: Ints  # [t, h] the most workers
    ps: Ints  # [t, h] the most PSs beside these
    width: Ints  # [t, mode] the most workers in a mode


def fit(instance: DmlrsInstance, i: int, room: Ints) -> Fit:
    """Return what fits rooms [t, h, r] in thousandths."""
    view, some = arrays(instance), bundles(instance, i)
    first = np.full(room.shape[:2], len(some.workers))
    for r in np.flatnonzero(some.demand_milli.any(axis=0)):
        # demand grows with n, so the bundles that fit are the first ones
        held = np.searchsorted(some.demand_milli[:, r], room[:, :, r], side="right")
        np.minimum(first, held, out=first)
    inside = np.append(0, some.workers)[first]
    workers = _alone(room, view.worker_milli[i], int(view.batch[i]))
    most = int(some.ps[-1]) if len(some.ps) else 0
    ps = _alone(room - workers[:, :, None] * view.worker_milli[i], view.ps_milli[i], most)
    across = np.zeros(len(room), dtype=np.int64)
    if room.shape[1] > 1:
        bundled = _allowed(some, inside.sum(axis=1), np.full(len(room), most))
        apart = _allowed(some, workers.sum(axis=1), ps.sum(axis=1))
        across = np.maximum(bundled, apart)
    width = np.stack([inside.max(axis=1), across], axis=1)
    return Fit(inside, workers, ps, width)


def _alone(room: Ints, demand: Ints, most: int) -> Ints:
    used = demand > 0
    found: Ints = np.minimum(most, (room[:, :, used] // demand[used]).min(axis=2))
    return found


def _allowed(some: Bundles, workers: Ints, ps: Ints) -> Ints:
    """Return the largest allowed numbers of workers for which so many workers and PSs do."""
    last = np.minimum(
        np.searchsorted(some.workers, workers, side="right"),
        np.searchsorted(some.ps, ps, side="right"),
    )
    found: Ints = np.append(0, some.workers)[last]
    return found


def place(
    instance: DmlrsInstance, i: int, room: Ints, workers: int, mode: int, value: Floats
) -> Counts | None:
    """Return where an allowed number of workers and their PSs go, or None where they do not fit.

    Parameters
    ----------
    room : array [h, r]
        In thousandths.
    value : array [r]
        Of room. The machines with the least of it left are filled first.
    """
    view = arrays(instance)
    own, need = fit(instance, i, room[None]), ps_needed(float(view.ratio[i]), workers)
    inside = own.inside[0]
    order = _fullest(room, value)
    if mode == INTERNAL:
        holds = order[inside[order] >= workers]
        return {int(holds[0]): (workers, need)} if len(holds) else None
    if len(room) == 1:
        return None
    if own.workers.sum() >= workers and own.ps.sum() >= need:
        w = _filled(order, own.workers[0], workers)
        left = room - w[:, None] * view.worker_milli[i]
        s = _filled(_fullest(left, value), _alone(left[None], view.ps_milli[i], need)[0], need)
    elif inside.sum() >= workers:
        w = _filled(order, inside, workers)
        ratio = float(view.ratio[i])
        s = _filled(order, np.array([ps_needed(ratio, n) for n in w.tolist()]), need)
    else:
        return None
    return {int(h): (int(w[h]), int(s[h])) for h in np.flatnonzero(w + s)}


def _fullest(room: Ints, value: Floats) -> Ints:
    return np.argsort(room @ value, kind="stable")


def _filled(order: Ints, most: Ints, number: int) -> Ints:
    """Return how many of a number stand on each machine [h], machines filled in an order."""
    found = np.zeros_like(most)
    before = np.cumsum(most[order]) - most[order]
    found[order] = np.clip(number - before, 0, most[order])
    return found
