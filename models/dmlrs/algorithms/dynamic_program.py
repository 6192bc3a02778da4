"""Theta(t~, V), Algorithm 3: the cheapest way to do a job's work by each slot, from its offers.

One pass gives all t~ at once, as Theta(t~, .) only extends Theta(t~ - 1, .). In (21) only idling
and the volumes of the offers matter: between them theta is constant.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.offers import Arrived, Offer
from schedgap.models.dmlrs.throughput import FULL, ROUNDING, least_worker_slots

MOST_STATES = 10_000_000  # slots times worker-slots, kept to find the way back

Row = Sequence[Offer]  # the offers of one slot
Places = NDArray[np.int32]


class Cheapest(NamedTuple):
    """The least cost by each slot [k] = a + k, inf where there is none, and a way to it."""

    cost: Floats  # [k] Theta(a + k, V), never rising
    ways: Mapping[int, Mapping[int, Offer]]  # by k where the cost falls, offers by index of slot


def not_dominated(job: Arrived, offers: Row) -> list[Offer]:
    """Return the offers that no other beats in progress at no more cost, by progress."""
    found: list[Offer] = []
    for offer in sorted(offers, key=lambda each: (-job.progress(each), each.cost)):
        if not found or offer.cost < found[-1].cost:
            found.append(offer)
    return found[::-1]


# --- exact -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Labels:
    """Ways to use the slots so far, by falling progress and falling cost."""

    internal: Ints  # [l] A, worker-slots
    external: Ints  # [l] B
    cost: Floats  # [l]
    before: Ints  # [l] label of the slot before
    taken: Ints  # [l] offer, -1 idle


def exact(job: Arrived, rows: Sequence[Row]) -> Cheapest:
    """Return Theta at every slot, with the progress of (3) as it is.

    Notes
    -----
    A multiple-choice covering knapsack by labels (progress, cost); of two labels the one with less
    progress at no less cost is dropped. Time: the number of labels times the offers, per slot. With
    offers of one mode only it is one over whole worker-slots: O(N) for each offer.
    """
    modes = {offer.internal for offers in rows for offer in offers}
    if len(modes) == 1:
        target = least_worker_slots(float(job.needed[INTERNAL if modes.pop() else EXTERNAL]))
        if target * len(rows) <= MOST_STATES:
            return _covered(rows, [[offer.workers for offer in own] for own in rows], target)
    start = np.zeros(1, dtype=np.int64)
    labels = [_Labels(start, start, np.zeros(1), start - 1, start - 1)]
    cost, ways, least = np.full(len(rows), np.inf), {}, math.inf
    for k, offers in enumerate(rows):
        grown, done, ending = _grow(job, labels[-1], offers, least)
        if ending is not None and done < least:
            least = done
            ways[k] = _way(labels, rows, k, *ending)
        cost[k] = least
        labels.append(grown)
    return Cheapest(cost, ways)


def _grow(
    job: Arrived, labels: _Labels, offers: Row, least: float
) -> tuple[_Labels, float, tuple[int, int] | None]:
    """Return the labels after one more slot, and the cheapest completion in it: (label, offer)."""
    n = np.array([0] + [offer.workers for offer in offers], dtype=np.int64)
    inside = np.array([False] + [offer.internal for offer in offers])
    price = np.array([0.0] + [offer.cost for offer in offers])
    A = (labels.internal[:, None] + np.where(inside, n, 0)).ravel()
    B = (labels.external[:, None] + np.where(inside, 0, n)).ravel()
    cost = (labels.cost[:, None] + price).ravel()
    progress = A / job.needed[0] + B / job.needed[1]
    source, offer = np.divmod(np.arange(len(A)), len(n))
    complete = np.flatnonzero(progress >= FULL)
    done, ending = math.inf, None
    if len(complete):
        best = complete[cost[complete].argmin()]
        done, ending = float(cost[best]), (int(source[best]), int(offer[best]) - 1)
    open_ = np.flatnonzero((progress < FULL) & (cost < min(least, done)))
    order = open_[np.lexsort((cost[open_], -progress[open_]))]
    cheaper = np.minimum.accumulate(cost[order])
    kept = order[np.r_[True, cost[order][1:] < cheaper[:-1]]] if len(order) else order
    return (
        _Labels(A[kept], B[kept], cost[kept], source[kept], offer[kept] - 1),
        done,
        ending,
    )


def _way(
    labels: Sequence[_Labels], rows: Sequence[Row], k: int, label: int, offer: int
) -> dict[int, Offer]:
    """Return the offers that lead to a completion, by index of slot."""
    found = {k: rows[k][offer]}
    for slot in range(k - 1, -1, -1):
        own = labels[slot + 1]
        if own.taken[label] >= 0:
            found[slot] = rows[slot][int(own.taken[label])]
        label = int(own.before[label])
    return dict(sorted(found.items()))


# --- on a grid ---------------------------------------------------------------------------------


def on_grid(job: Arrived, rows: Sequence[Row], parts: int) -> Cheapest:
    """Return Theta with progress rounded down to parts of the work: a valid plan, not cheaper.

    Parameters
    ----------
    parts : int
        Q >= 1.

    Notes
    -----
    Theta(V) <= Theta_grid(V) <= Theta(V (1 + (k - 1) / Q)) by the k-th slot. With Q = V / q, for
    quanta of q samples, this is Algorithm 3 as printed: v a multiple of q, and at once for all t~.
    Time: O(Q) for each offer.
    """
    return _covered(rows, [[_down(job, o, parts) for o in row] for row in rows], parts)


def on_grid_up(job: Arrived, rows: Sequence[Row], parts: int) -> Cheapest:
    """Return Theta with progress rounded up: a lower bound, its ways may not do the work."""
    weights = [[_up(job, o, parts) for o in row] for row in rows]
    return _covered(rows, weights, parts)


def in_quanta(job: Arrived, rows: Sequence[Row], volume: int, quantum: int) -> Cheapest:
    """Return Theta where each slot trains a whole number of quanta of samples, as printed.

    The last quantum may be a part of one: its slot trains at least that.
    """
    scale = volume / quantum
    weights = [
        [math.floor(scale * job.progress(offer) * (1 + ROUNDING / 2)) for offer in row]
        for row in rows
    ]
    return _covered(rows, weights, math.ceil(scale))


def _down(job: Arrived, offer: Offer, parts: int) -> int:
    # half of what (3) lets pass: a whole grid of such progress still does the work
    return min(parts, math.floor(parts * job.progress(offer) * (1 + ROUNDING / 2)))


def _up(job: Arrived, offer: Offer, parts: int) -> int:
    return min(parts, math.ceil(parts * job.progress(offer) / FULL * (1 - 1e-12)))


def _covered(rows: Sequence[Row], weights: Sequence[Sequence[int]], target: int) -> Cheapest:
    """Return the least cost of a total weight >= target by each slot, one offer for each slot."""
    least = np.full(target + 1, np.inf)  # A3 L1 (E17); the last state is "at least"
    least[0] = 0.0
    taken = np.full((len(rows), target + 1), -1, dtype=np.int32)
    before = np.tile(np.arange(target + 1, dtype=np.int32), (len(rows), 1))
    cost, ways = np.empty(len(rows)), {}
    for k, (row, own) in enumerate(zip(rows, weights, strict=True)):
        after = least.copy()  # v = 0
        for o in _lasting(row, own):  # A3 L2
            w, price = min(own[o], target), row[o].cost
            moved = least[: target - w] + price  # A3 L3
            better = np.flatnonzero(moved < after[w:target])  # A3 L4
            after[w + better] = moved[better]
            taken[k, w + better], before[k, w + better] = o, better
            last = target - w + int(least[target - w :].argmin())
            if least[last] + price < after[target]:
                after[target] = least[last] + price
                taken[k, target], before[k, target] = o, last
        # A3 L5
        if after[target] < (cost[k - 1] if k else np.inf):
            ways[k] = _back(rows, taken, before, k, target)
        least, cost[k] = after, after[target]
    return Cheapest(cost, ways)


def _lasting(row: Row, weights: Sequence[int]) -> list[int]:
    """Return the offers of some weight that none of as much weight beats, by falling weight."""
    found: list[int] = []
    for o in sorted(range(len(row)), key=lambda o: (-weights[o], row[o].cost)):
        if weights[o] and (not found or row[o].cost < row[found[-1]].cost):
            found.append(o)
    return found


def _back(
    rows: Sequence[Row], taken: Places, before: Places, k: int, state: int
) -> dict[int, Offer]:
    found = {}
    for slot in range(k, -1, -1):
        if taken[slot, state] >= 0:
            found[slot] = rows[slot][int(taken[slot, state])]
        state = int(before[slot, state])
    return dict(sorted(found.items()))
