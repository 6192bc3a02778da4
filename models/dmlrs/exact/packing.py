"""Whether the bundles of one slot find room on the machines, and which few of them do not (ours).

Capacities are the same in every slot, so what one slot cannot hold, none can.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from schedgap.instances.dmlrs import Counts, DmlrsInstance, arrays
from schedgap.models.dmlrs.exact.bin_completion import OutOfTimeError, fill
from schedgap.models.dmlrs.programs.aggregate import Item
from schedgap.models.dmlrs.throughput import bundles, ps_needed
from schedgap.solvers.children.clock import Clock


@dataclass(frozen=True, slots=True)
class Packing:
    """Where items go, one by one, or that they do not fit; neither when the search was stopped."""

    counts: tuple[Counts, ...] | None = None
    impossible: bool = False


def pack(instance: DmlrsInstance, items: Sequence[Item], clock: Clock) -> Packing:
    """Return a packing of items on the empty machines, or a proof that there is none.

    Whole thousandths and a complete search: no tolerance is in it.
    """
    if not items:
        return Packing(())
    view = arrays(instance)
    rooms, types = np.unique(view.capacity_milli, axis=0, return_inverse=True)
    machines = [np.flatnonzero(types.ravel() == q).tolist() for q in range(len(rooms))]
    units, numbers, meant = [], [], []
    for k, item in enumerate(items):
        ps = ps_needed(float(view.ratio[item.job]), item.workers)
        worker, server = view.worker_milli[item.job], view.ps_milli[item.job]
        parts = [(1, 0, item.workers), (0, 1, ps)]
        for w, s, number in [(item.workers, ps, 1)] if item.internal else parts:
            units.append(tuple((w * worker + s * server).tolist()))
            numbers.append(number)
            meant.append((k, w, s))
    bins = [(tuple(room.tolist()), len(own)) for room, own in zip(rooms, machines, strict=True)]
    try:
        filled = fill(units, tuple(numbers), bins, clock)
    except OutOfTimeError:
        return Packing()
    if filled is None:
        return Packing(impossible=True)
    counts: list[dict[int, tuple[int, int]]] = [{} for _ in items]
    for q, own in filled:
        h = machines[q].pop(0)
        for number, (k, w, s) in zip(own, meant, strict=True):
            if number:
                before = counts[k].get(h, (0, 0))
                counts[k][h] = before[0] + number * w, before[1] + number * s
    return Packing(tuple(counts))


def few_that_do_not_fit(
    instance: DmlrsInstance, items: Sequence[Item], clock: Clock
) -> tuple[Item, ...]:
    """Return a smallest part of items that cannot be packed, none of which can be made easier.

    Items are dropped, freed from their machine, and given fewer workers, as long as a proof says
    that the rest does not fit.
    """

    def fails(some: Sequence[Item]) -> bool:
        return pack(instance, some, clock).impossible

    found = list(items)
    for item in items:
        rest = [each for each in found if each != item]
        if rest and fails(rest):
            found = rest
    for k, item in enumerate(found):
        if item.internal and len(instance.machines) > 1:
            freed = [*found[:k], item._replace(internal=False), *found[k + 1 :]]
            found = freed if fails(freed) else found
        allowed = bundles(instance, item.job).workers
        fewer = allowed[allowed < item.workers].tolist()
        low, high = 0, len(fewer)  # fewer[high:] and the item itself do not fit
        while low < high:
            middle = (low + high) // 2
            lower = [*found[:k], found[k]._replace(workers=fewer[middle]), *found[k + 1 :]]
            if fails(lower):
                high, found = middle, lower
            else:
                low = middle + 1
    return tuple(found)


def dominates(item: Item, other: Item) -> bool:
    """Whether an item takes all the room that another one of the same job does."""
    at_least = item.job == other.job and item.workers >= other.workers
    return at_least and (item.internal or not other.internal)
