"""theta(t, v), Algorithm 4: what a job can have in one slot, and what it costs at most or at least.

Inside a machine as in lines 2-7; across machines lines 8-11 stand in `rounding`, here are exact,
greedy and bounding ways (ours). The cost of a slot depends on v only through the number n of
workers, so an offer for each n and mode is all of theta.
"""

from collections.abc import Iterable

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.offers import Offer, Slot
from schedgap.models.dmlrs.throughput import ps_needed

MOST_CELLS = 100_000_000  # steps of the exact theta of one slot


def internal(slot: Slot) -> list[Offer]:
    """Return the cheapest machine for each n that fits on one, by n.

    Notes
    -----
    Source: (22), Algorithm 4, lines 2-7, with the true cost of n workers and m(n) PSs. Ties: the
    first machine.
    """
    some = slot.job.bundles
    # demand grows with n, so the bundles that fit are the first ones
    fitting = np.min(
        [
            np.searchsorted(some.demand_milli[:, r], slot.room[:, r], side="right")
            for r in range(slot.room.shape[1])
        ],
        axis=0,
    )  # A4 L4-L5
    last = min(int(fitting.max(initial=0)), slot.job.useful(INTERNAL))
    n, m = some.workers[:last], some.ps[:last]  # A4 L3 (E16)
    cost = n[:, None] * slot.worker_price + m[:, None] * slot.ps_price  # A4 L2 [k, h]
    cost[fitting <= np.arange(last)[:, None]] = np.inf
    best = cost.argmin(axis=1) if last else np.zeros(0, dtype=np.int64)  # A4 L6-L7 (E14)
    return [slot.offer({int(h): (int(n[k]), int(m[k]))}) for k, h in enumerate(best)]


def external_exact(slot: Slot) -> list[Offer]:
    """Return a cheapest placement on any machines for each n, by n.

    It may lie on one machine, and is internal then.

    Raises
    ------
    ScaleError
        When there are more than `MOST_CELLS` steps to take.

    Notes
    -----
    Source: (23)-(26) with m(n) PSs, solved in integers: machine by machine, the least price of any
    W workers and S PSs so far. Ties: fewer on later machines.
    """
    if len(slot.room) < 2:
        return []
    workers, _, last = _reach(slot)
    if not last:
        return []
    W, S = int(slot.job.bundles.workers[last - 1]), int(slot.job.bundles.ps[last - 1])
    points = [
        [(w, s) for w in range(min(W, workers[h]) + 1) for s in range(_room_for_ps(slot, h, w) + 1)]
        for h in range(len(slot.room))
    ]
    if sum(map(len, points)) * (W + 1) * (S + 1) > MOST_CELLS:
        raise ScaleError(
            f"exact slots for a job with {W} workers and {S} PSs on {len(points)} machines: "
            f"more than {MOST_CELLS} steps; round or fill greedily instead"
        )
    least = np.full((W + 1, S + 1), np.inf)
    least[0, 0] = 0.0
    chosen = np.zeros((len(points), W + 1, S + 1), dtype=np.int64)
    for h, own in enumerate(points):
        after = least.copy()  # (0, 0)
        for k, (w, s) in enumerate(own):
            if w > W or s > S or not w + s:
                continue
            price = w * slot.worker_price[h] + s * slot.ps_price[h]
            moved = least[: W + 1 - w, : S + 1 - s] + price
            target = after[w:, s:]
            better = moved < target
            target[better] = moved[better]
            chosen[h, w:, s:][better] = k
        least = after
    found = []
    for n, m in _bundles(slot, last):
        if least[n, m] < np.inf:
            counts = {}
            for h in range(len(points) - 1, -1, -1):
                w, s = points[h][chosen[h, n, m]]
                if w + s:
                    counts[h] = w, s
                n, m = n - w, m - s
            found.append(slot.offer(dict(sorted(counts.items()))))
    return found


def external_greedy(slot: Slot) -> list[Offer]:
    """Return a placement for each n in one sweep over the machines, by n.

    Worker by worker, before it a PS when the ratio asks for one, each on the first machine with
    room, cheapest machines first by p (alpha gamma + beta). Not the cheapest.

    Notes
    -----
    Time: O(F + H). Ties: the first machine.
    """
    job = slot.job
    if len(slot.room) < 2:
        return []
    _, _, last = _reach(slot)
    order = np.argsort(slot.worker_price * job.ratio + slot.ps_price, kind="stable")
    room = slot.room[order].tolist()
    places = dict.fromkeys(("worker", "ps"), 0)
    demand = {"worker": job.worker.tolist(), "ps": job.ps.tolist()}
    held: dict[int, tuple[int, int]] = {}
    found: list[Offer] = []
    n = m = 0

    def place(unit: str) -> bool:
        """Put one unit on the first machine that has room; rooms only shrink, so none before."""
        own = demand[unit]
        for k in range(places[unit], len(room)):
            if all(free >= amount for free, amount in zip(room[k], own, strict=True)):
                room[k] = [free - amount for free, amount in zip(room[k], own, strict=True)]
                h = int(order[k])
                w, s = held.get(h, (0, 0))
                held[h] = (w + 1, s) if unit == "worker" else (w, s + 1)
                places[unit] = k
                return True
        return False

    for target, _ in _bundles(slot, last):
        while n < target:
            if m < ps_needed(job.ratio, n + 1):
                if not place("ps"):
                    return found
                m += 1
            elif place("worker"):
                n += 1
            else:
                return found
        found.append(slot.offer(held))
    return found


def external_floor(slot: Slot) -> list[Offer]:
    """Return for each n what no placement undercuts: all on the cheapest machine with room for any.

    An offer holds no machines: it is a price, not a placement.
    """
    if len(slot.room) < 2:
        return []
    workers, ps, last = _reach(slot)
    if not last:
        return []
    w, s = slot.worker_price[workers > 0].min(), slot.ps_price[ps > 0].min()
    return [Offer(float(n * w + m * s), n, False, {}) for n, m in _bundles(slot, last)]


def _reach(slot: Slot) -> tuple[Ints, Ints, int]:
    """Return `most`, and how many of the bundles could fit on all machines together."""
    workers, ps = slot.most
    some = slot.job.bundles
    fits = (some.workers <= workers.sum()) & (some.ps <= ps.sum())
    return workers, ps, min(int(fits.sum()), slot.job.useful(EXTERNAL))


def _bundles(slot: Slot, last: int) -> Iterable[tuple[int, int]]:
    """Return n and m(n) of the first bundles."""
    some = slot.job.bundles
    return zip(some.workers[:last].tolist(), some.ps[:last].tolist(), strict=True)


def _room_for_ps(slot: Slot, h: int, workers: int) -> int:
    """Return how many PSs fit on a machine beside so many workers."""
    used = slot.job.ps > 0
    free = slot.room[h] - workers * slot.job.worker
    return int(min((free[used] // slot.job.ps[used]).min(), slot.most[1][h]))
