"""What a server can hold at once: its configurations, numbers of workers and PSs of each type."""

from functools import lru_cache

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import ElasticCluster, cluster
from schedgap.models.elastic.placement import Floats

MAX_VISITED = 200_000  # configurations of one server, with those that are not maximal
_ROUNDING = 1e-9  # of a capacity: sums of demands that are no whole numbers


def containers(view: ElasticCluster) -> Floats:
    """[i, r] what a worker of each type, then a PS of each type, asks for; in units."""
    return np.concatenate([view.worker_units, view.ps_units.reshape(-1, len(view.scale))])


@lru_cache(maxsize=16)
def configurations(instance: ElasticInstance) -> tuple[tuple[int, Floats], ...]:
    """Return for each kind of server how many there are, and its maximal configurations [c, i].

    What a server holds in a slot of any schedule is at most one of them, in every entry.

    Raises
    ------
    ScaleError
        When a server has too many.
    """
    view = cluster(instance)
    kinds, number = np.unique(view.capacity, axis=0, return_counts=True)
    return tuple(
        (int(n), _maximal(capacity, containers(view)))
        for capacity, n in zip(kinds, number, strict=True)
    )


def _maximal(capacity: Floats, demand: Floats) -> Floats:
    """Return the vectors of numbers [c, i] of containers that fit together, and none beside."""
    # Large containers first; the last is never too few, so it is not branched on.
    share = (demand / np.where(capacity > 0, capacity, 1.0)).max(axis=1)
    order = np.argsort(-share, kind="stable").tolist()
    size = [demand[i].tolist() for i in order]
    count = [0] * len(order)
    found: list[list[int]] = []
    visited = 0

    def room(k: int, free: list[float]) -> int:
        least = min(left / one for left, one in zip(free, size[k], strict=True) if one > 0)
        return int(max(0.0, least))

    def extend(k: int, free: list[float]) -> None:
        nonlocal visited
        most = room(k, free)
        for number in range(most if k == len(order) - 1 else 0, most + 1):
            count[k] = number
            left = [have - number * one for have, one in zip(free, size[k], strict=True)]
            if k < len(order) - 1:
                extend(k + 1, left)
                continue
            visited += 1
            if visited > MAX_VISITED:
                raise ScaleError(f"a server has more than {MAX_VISITED} configurations")
            if not any(room(other, left) for other in range(len(order))):
                found.append(count.copy())

    extend(0, (capacity + _ROUNDING * (1 + capacity)).tolist())
    table = np.empty((len(found), len(order)))
    table[:, order] = found
    return table
