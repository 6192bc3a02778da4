"""The modes of a job as arrays, without those that another one makes needless.

A row k that another one beats (no slower, and no demand larger, on any servers) changes no optimum.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster, modes
from schedgap.models.elastic.placement import Floats, Ints, fits, ps_needed

ROUNDING = 1e-9  # relative: prices of runs are sums of numbers >= 0, so this is far too much


class ModeTable(NamedTuple):
    """Modes of a job; a row is one of them, with the fewest PSs it runs with."""

    worker_type: Ints  # [k]
    ps_type: Ints  # [k] -1 in the ring
    workers: Ints  # [k]
    ps: Ints  # [k] the fewest
    central: Any  # [k] bool
    duration: Ints  # [k]

    def demand(self, view: ElasticCluster) -> Floats:
        """[k, r] of workers and PSs on all servers together, in units."""
        demand: Floats = self.workers[:, None] * view.worker_units[self.worker_type]
        if not view.is_ring:
            demand = demand + self.ps[:, None] * view.ps_units[self.ps_type]
        return demand

    def rows(self, kept: Ints) -> "ModeTable":
        """Return some of the rows."""
        return ModeTable(*(column[kept] for column in self))


@lru_cache(maxsize=1 << 12)
def table(instance: ElasticInstance, job: int) -> ModeTable:
    """Return the modes of a job, which has some.

    Of modes that differ in the PS type alone, those whose PSs ask for no more are kept.
    """
    view = cluster(instance)
    groups: dict[tuple[int, bool, int, int], list[tuple[int, int]]] = {}
    for m, p, N, q, d in modes(instance, job):
        s = 0 if p is None else 1 if q else min_ps(view, m, p, N)
        groups.setdefault((m, q, N, d), []).append((-1 if p is None else p, s))
    rows = [
        (m, p, N, s, q, d)
        for (m, q, N, d), kinds in groups.items()
        for p, s in _modest(view, tuple(kinds))
    ]
    return ModeTable(*(np.array(column) for column in zip(*rows, strict=True)))


@lru_cache(maxsize=1 << 12)
def table_on_one_pool(instance: ElasticInstance, job: int) -> ModeTable:
    """Return the modes of a job, by duration, that no other beats where all servers are one."""
    rows = table(instance, job)
    return rows.rows(undominated(np.column_stack([rows.duration, rows.demand(cluster(instance))])))


def undominated(points: Floats) -> Ints:
    """Return the points [k, c] than which no other one is as small in all numbers, sorted.

    Of equal points the first is kept.
    """
    left = np.lexsort(points.T[::-1])  # nothing beats the first of these
    kept = []
    while len(left):
        first = left[0]
        kept.append(first)
        left = left[(points[left] < points[first]).any(axis=1)]
    return np.array(kept, dtype=np.int64)


@lru_cache(maxsize=1 << 16)
def _modest(
    view: ElasticCluster, kinds: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """Return the PS types, with numbers, that ask for less of something than each other one."""
    if len(kinds) == 1:
        return kinds
    # One PS of a type must also fit where one of the other does: compare single PSs, too.
    one = np.array([view.ps_units[p] for p, _ in kinds])
    number = np.array([s for _, s in kinds])
    return tuple(kinds[k] for k in undominated(np.hstack([one, number[:, None] * one])).tolist())


@lru_cache(maxsize=1 << 16)
def min_ps(view: ElasticCluster, m: int, p: int, workers: int) -> int:
    """Return the fewest PSs with which a split mode runs on the empty cluster.

    Over all servers n that hold the PSs, with as many workers beside them as fit.
    """
    demand = view.demand(Mode(m, p, workers, False, 1))
    assert demand.ps is not None
    room = fits(view.capacity, demand.ps)
    for s in range(1, demand.most_ps() + 1):
        n = np.flatnonzero(room >= s)
        if not len(n):
            break
        beside = fits(view.capacity[n] - s * demand.ps, demand.worker)
        g = int(np.minimum(beside, workers - 1).max())
        if ps_needed(demand.bandwidth, demand.ps_bandwidth, workers - g) <= s:
            return s
    raise AssertionError("every mode has a placement")
