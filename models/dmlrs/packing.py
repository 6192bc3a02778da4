"""Whether the bundles of one slot find room on the machines, and which few of them do not (ours).

Capacities are the same in every slot, so what one slot cannot hold, none can.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import Counts, DmlrsInstance, arrays
from schedgap.instances.dmlrs.arrays import Floats, Ints
from schedgap.models.dmlrs.physics import bundles, ps_needed, widths
from schedgap.solvers.engine import EngineResult
from schedgap.solvers.linear import LinearProgram

Solve = Callable[[LinearProgram], EngineResult]


class Item(NamedTuple):
    """n workers of a job, with their PSs on one machine, or wherever there is room."""

    job: int
    internal: bool
    workers: int


@dataclass(frozen=True, slots=True)
class Packing:
    """Where items go, one by one, or that they do not fit; neither when the search was stopped."""

    counts: tuple[Counts, ...] | None = None
    impossible: bool = False


def pack(instance: DmlrsInstance, items: Sequence[Item], solve: Solve) -> Packing:
    """Return a packing of items on the empty machines, or a proof that there is none.

    An engine's tolerance only lets more fit, so its `infeasible` is a proof; a packing is judged in
    whole thousandths.
    """
    if not items:
        return Packing(())
    program = _program(instance, items)
    if program is None:
        return Packing(impossible=True)
    result = solve(program)
    if result.status == "infeasible":
        return Packing(impossible=True)
    if result.values is None:
        return Packing()
    counts, left = [], arrays(instance).capacity_milli.copy()
    for item, columns in zip(items, _columns(instance, items), strict=True):
        own = _counts(instance, item, columns, np.asarray(result.values))
        for h, (w, s) in own.items():
            left[h] -= w * arrays(instance).worker_milli[item.job]
            left[h] -= s * arrays(instance).ps_milli[item.job]
        counts.append(own)
    return Packing(tuple(counts)) if (left >= 0).all() else Packing()


def few_that_do_not_fit(
    instance: DmlrsInstance, items: Sequence[Item], solve: Solve
) -> tuple[Item, ...]:
    """Return a smallest part of items that cannot be packed, none of which can be made easier.

    Items are dropped, freed from their machine, and given fewer workers, as long as a proof says
    that the rest does not fit.
    """

    def fails(some: Sequence[Item]) -> bool:
        return pack(instance, some, solve).impossible

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


def _columns(instance: DmlrsInstance, items: Sequence[Item]) -> list[Ints]:
    """Return the columns of each item: machines that hold it, or workers [h], then PSs [h]."""
    found, first = [], 0
    for item in items:
        hosts = widths(instance).internal[item.job] >= item.workers
        size = int(hosts.sum()) if item.internal else 2 * len(instance.machines)
        found.append(np.arange(first, first + size))
        first += size
    return found


def _counts(instance: DmlrsInstance, item: Item, columns: Ints, values: Floats) -> Counts:
    chosen = np.round(values[columns]).astype(int)
    if item.internal:
        hosts = np.flatnonzero(widths(instance).internal[item.job] >= item.workers)
        ps = ps_needed(float(arrays(instance).ratio[item.job]), item.workers)
        return {int(h): (item.workers, ps) for h in hosts[chosen > 0]}
    pairs = chosen.reshape(2, -1).T.tolist()
    return {h: (w, s) for h, (w, s) in enumerate(pairs) if w + s}


def _program(instance: DmlrsInstance, items: Sequence[Item]) -> LinearProgram | None:
    """Return the feasibility program, in whole numbers; None where an item fits nowhere."""
    view, most, H = arrays(instance), widths(instance), len(instance.machines)
    columns = _columns(instance, items)
    total = sum(map(len, columns))
    upper = np.ones(total)
    sums, right, load = [], [], np.zeros((H, len(instance.resources), total))
    for item, own in zip(items, columns, strict=True):
        alpha, beta = view.worker_milli[item.job], view.ps_milli[item.job]
        ps = ps_needed(float(view.ratio[item.job]), item.workers)
        if item.internal:
            hosts = np.flatnonzero(most.internal[item.job] >= item.workers)
            load[hosts, :, own] = item.workers * alpha + ps * beta
            parts = [(own, 1)]
        else:
            w, s = own[:H], own[H:]
            upper[w] = np.minimum(item.workers, most.workers[item.job])
            upper[s] = np.minimum(ps, most.ps[item.job])
            load[np.arange(H), :, w], load[np.arange(H), :, s] = alpha, beta
            parts = [(w, item.workers), (s, ps)]
        for some, number in parts:
            if upper[some].sum() < number:
                return None
            line = np.zeros(total)
            line[some] = 1
            sums.append(line)
            right.append(number)
    rooms = []
    for h, r in np.ndindex(H, len(instance.resources)):
        step = math.gcd(*load[h, r].astype(np.int64).tolist()) or 1
        load[h, r] /= step
        rooms.append(int(view.capacity_milli[h, r]) // step + 0.5)  # midway between whole loads
    matrix = np.vstack([*sums, load.reshape(-1, total)])
    equal = np.array(right, dtype=float)
    return LinearProgram(
        cost=np.zeros(total),
        lower=np.zeros(total),
        upper=upper,
        matrix=sparse.csr_array(matrix),
        row_lower=np.concatenate([equal, np.full(len(rooms), -np.inf)]),
        row_upper=np.concatenate([equal, rooms]),
        integer=np.ones(total, dtype=bool),
    )
