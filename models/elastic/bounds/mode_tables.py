"""Modes of a job as arrays, and which of them are dominated.

A mode is dominated if another one is as fast and has at most its demand: leaving it out changes no
optimum.

References
----------
A. Sprecher, S. Hartmann, A. Drexl, "An exact algorithm for project scheduling with multiple modes",
OR Spektrum 19 (1997): inefficient modes.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import ElasticCluster, cluster, min_ps, modes
from schedgap.models.elastic.placement import Floats, Ints

ROUNDING = 1e-9  # relative; ample, as prices of runs are sums of numbers >= 0


class ModeTable(NamedTuple):
    """Modes of a job, one in each row, with the fewest PSs with which it can run."""

    worker_type: Ints  # [k]
    ps_type: Ints  # [k] -1 in the ring
    workers: Ints  # [k]
    ps: Ints  # [k] the fewest
    duration: Ints  # [k]

    def demand(self, view: ElasticCluster) -> Floats:
        """Return [k, r] the demand of workers and PSs on all servers together, in units."""
        demand: Floats = self.workers[:, None] * view.worker_units[self.worker_type]
        if not view.is_ring:
            demand = demand + self.ps[:, None] * view.ps_units[self.ps_type]
        return demand

    def rows(self, kept: Ints) -> "ModeTable":
        """Return some of the rows.

        `kept`: indices of the rows.
        """
        return ModeTable._make(column[kept] for column in self)


@lru_cache(maxsize=1 << 12)
def table(instance: ElasticInstance, job: int) -> ModeTable:
    """Return the modes of a job.

    `job`: index of a job that has modes.
    """
    view = cluster(instance)
    rows = [
        (m, -1, N, 0, d) if p is None else (m, p, N, 1 if q else min_ps(view, m, p, N), d)
        for m, p, N, q, d in modes(instance, job)
    ]
    return ModeTable(*np.array(rows).T)


def undominated(points: Floats) -> Ints:
    """Return the indices of the points that no other point is at most in all coordinates, sorted.

    Of equal points the first is kept.

    `points` [k, c]: the points.
    """
    remaining = np.lexsort(points.T[::-1])  # no point dominates the first of these
    kept = []
    while len(remaining):
        first = remaining[0]
        kept.append(first)
        remaining = remaining[(points[remaining] < points[first]).any(axis=1)]
    return np.array(kept, dtype=np.int64)
