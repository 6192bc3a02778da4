"""Bounds on the makespan that cost nothing, and the execution times that all bounds start from."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schedgap.models.ring.rates import NEVER, RateTable

Ints = NDArray[np.int64]


def inside_slots(table: RateTable) -> tuple[float, ...]:
    """Return execution times inside one server [j], slots; NEVER where no server has the GPUs."""
    largest = max(table.server_gpus)
    return tuple(
        table.slots(j, 1, 0) if size <= largest else NEVER for j, size in enumerate(table.size)
    )


def spread_slots(table: RateTable) -> tuple[float, ...]:
    """Return the least execution times on several servers [j], slots; NEVER where impossible."""
    found = []
    for j, fewest in enumerate(table.fewest_servers):
        n = max(2, fewest)
        possible = fewest and n <= table.most_servers[j]
        found.append(table.slots(j, n, 1) if possible else NEVER)
    return tuple(found)


def area_bound(table: RateTable, sizes: Sequence[int]) -> int:
    """Return ceil(sum_j sizes_j d_j / N): all GPUs busy with jobs of these sizes at their best."""
    work = sum(size * int(d) for size, d in zip(sizes, table.best_slots, strict=True))
    return -(-work // table.gpus)


def dff_sizes(sizes: Sequence[int], room: int, k: int) -> list[int]:
    """Return f_k(G_j), G_j <= room: all of it for a size that leaves less than k, 0 below k.

    Whatever fits together still does: beside a size above room - k only sizes below k have a place.
    f_0 = f_1 is the identity; k is at most half of the room, rounded up.
    """
    return [room if size > room - k else size if size >= k else 0 for size in sizes]


def dff_thresholds(sizes: Sequence[int], room: int) -> list[int]:
    """Return the k >= 2 of `rounded_sizes` that can say more than the sizes themselves.

    With k from room - G_j + 1 on a job of size G_j takes all of the room. Between two such k a
    larger one only loses.
    """
    return sorted({room - size + 1 for size in sizes if room < 2 * size and size < room})


def width_dff(table: RateTable) -> tuple[int, int]:
    """Return the bound `width-dff` in slots, and the k of `rounded_sizes` that gives it.

    Notes
    -----
    Every best execution time must be finite. With k = 0 it is `area`.
    """
    ks = [0, *dff_thresholds(table.size, table.gpus)]
    values = [area_bound(table, dff_sizes(table.size, table.gpus, k)) for k in ks]
    best = max(range(len(ks)), key=values.__getitem__)
    return values[best], ks[best]
