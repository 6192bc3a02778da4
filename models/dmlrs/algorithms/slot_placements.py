"""theta(t, v), Algorithm 4: the options of a job in one slot.

Options on one machine are lines 2-7; those across machines, lines 8-11, are in `rounding`. This
module adds exact and greedy options across machines (ours). The cost of a slot depends on v only
through the number n of workers. So one option for each n and mode gives all of theta.
"""

from collections.abc import Iterable

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.slot_options import SlotOption, SlotState
from schedgap.models.dmlrs.throughput import bundles_that_fit, unit_by_unit

MAX_STEPS = 100_000_000  # steps of the exact theta of one slot


def internal(slot: SlotState) -> list[SlotOption]:
    """Return the cheapest machine for each n that fits on one machine, by n.

    Parameters
    ----------
    slot : SlotState
        State of the slot for the job.

    Notes
    -----
    Source: (22), Algorithm 4, lines 2-7, with the true cost of n workers and m(n) PSs. Ties: the
    first machine.
    """
    job_bundles = slot.job.bundles
    fit_count = bundles_that_fit(job_bundles, slot.free)  # A4 L4-L5
    last = min(int(fit_count.max(initial=0)), slot.job.useful_bundles(INTERNAL))
    n, m = job_bundles.workers[:last], job_bundles.ps[:last]  # A4 L3 (E16)
    cost = n[:, None] * slot.worker_price + m[:, None] * slot.ps_price  # A4 L2 [k, h]
    cost[fit_count <= np.arange(last)[:, None]] = np.inf
    best = cost.argmin(axis=1) if last else np.zeros(0, dtype=np.int64)  # A4 L6-L7 (E14)
    return [slot.option({int(h): (int(n[k]), int(m[k]))}) for k, h in enumerate(best)]


def external_exact(slot: SlotState) -> list[SlotOption]:
    """Return a cheapest placement on any machines for each n, by n.

    If it lies on one machine, it is internal.

    `slot`: state of the slot for the job.

    Raises
    ------
    ScaleError
        When it would take more than `MAX_STEPS` steps.

    Notes
    -----
    Source: (23)-(26) with m(n) PSs, solved in integers: machine by machine, the least cost of any
    W workers and S PSs so far. Ties: fewer on later machines.
    """
    if len(slot.free) < 2:
        return []
    workers, _, last = _placeable(slot)
    if not last:
        return []
    W, S = int(slot.job.bundles.workers[last - 1]), int(slot.job.bundles.ps[last - 1])
    points = [
        [(w, s) for w in range(min(W, workers[h]) + 1) for s in range(_max_ps(slot, h, w) + 1)]
        for h in range(len(slot.free))
    ]
    if sum(map(len, points)) * (W + 1) * (S + 1) > MAX_STEPS:
        raise ScaleError(
            f"exact slots for a job with {W} workers and {S} PSs on {len(points)} machines: "
            f"more than {MAX_STEPS} steps; round or fill greedily instead"
        )
    # least[W, S]: cheapest placement of W workers and S PSs on the machines so far
    least = np.full((W + 1, S + 1), np.inf)
    least[0, 0] = 0.0
    chosen = np.zeros((len(points), W + 1, S + 1), dtype=np.int64)
    for h, choices in enumerate(points):
        after = least.copy()  # (0, 0)
        for k, (w, s) in enumerate(choices):
            if w > W or s > S or not w + s:
                continue
            price = w * slot.worker_price[h] + s * slot.ps_price[h]
            candidate = least[: W + 1 - w, : S + 1 - s] + price
            target = after[w:, s:]
            better = candidate < target
            target[better] = candidate[better]
            chosen[h, w:, s:][better] = k
        least = after
    options = []
    for n, m in _first_bundles(slot, last):
        if least[n, m] < np.inf:
            counts = {}
            for h in range(len(points) - 1, -1, -1):
                w, s = points[h][chosen[h, n, m]]
                if w + s:
                    counts[h] = w, s
                n, m = n - w, m - s
            options.append(slot.option(dict(sorted(counts.items()))))
    return options


def external_greedy(slot: SlotState) -> list[SlotOption]:
    """Return a placement for each n from one sweep over the machines, by n.

    Worker by worker, with a PS first when the ratio requires one; each goes to the first machine
    with enough free capacity, in order of p (alpha gamma + beta). Not the cheapest in general.

    Parameters
    ----------
    slot : SlotState
        State of the slot for the job.

    Notes
    -----
    Time: O(F + H). Ties: the first machine.
    """
    last = _placeable(slot)[2]
    if len(slot.free) < 2 or not last:
        return []
    job = slot.job
    order = np.argsort(slot.worker_price * job.ratio + slot.ps_price, kind="stable")
    limit, demand = int(job.bundles.workers[last - 1]), (job.worker, job.ps)
    return [
        slot.option({int(order[k]): pair for k, pair in counts.items()})
        for counts in unit_by_unit(job.bundles, job.ratio, demand, limit, slot.free[order])
    ]


def _placeable(slot: SlotState) -> tuple[Ints, Ints, int]:
    """Return `max_units`, and how many of the bundles could fit on all machines together."""
    workers, ps = slot.max_units
    job_bundles = slot.job.bundles
    fits = (job_bundles.workers <= workers.sum()) & (job_bundles.ps <= ps.sum())
    return workers, ps, min(int(fits.sum()), slot.job.useful_bundles(EXTERNAL))


def _first_bundles(slot: SlotState, last: int) -> Iterable[tuple[int, int]]:
    """Return n and m(n) of the first bundles."""
    job_bundles = slot.job.bundles
    return zip(job_bundles.workers[:last].tolist(), job_bundles.ps[:last].tolist(), strict=True)


def _max_ps(slot: SlotState, h: int, workers: int) -> int:
    """Return how many PSs fit on a machine next to the given workers."""
    used = slot.job.ps > 0
    free = slot.free[h] - workers * slot.job.worker
    return int(min((free[used] // slot.job.ps[used]).min(), slot.max_units[1][h]))
