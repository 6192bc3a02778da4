"""What the baselines give a job: the types of its quickest mode, and the first placement that fits.

The paper gives each baseline a sentence or two; the rest is ours. Ties: list order.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from schedgap.instances.elastic import Job, Placement
from schedgap.models.elastic.algorithms.a_maxweight import MaxWeightConstants
from schedgap.models.elastic.modes import (
    ElasticCluster,
    Mode,
    durations,
    max_central_workers,
    max_split_workers,
)
from schedgap.models.elastic.placement import Floats, cheapest


def fastest_mode(view: ElasticCluster, const: MaxWeightConstants, of: tuple[Mode, ...]) -> Mode:
    """Return the quickest mode; of these the one of least volume, then the first types."""
    volumes = const.volumes(view, of).tolist()

    def rank(k: int) -> tuple[float, float, int, int]:
        mode = of[k]
        p = -1 if mode.ps_type is None else mode.ps_type
        return mode.duration, float(f"{volumes[k]:.9g}"), mode.worker_type, p

    return of[min(range(len(of)), key=rank)]


def max_workers(view: ElasticCluster, job: Job, m: int, p: int | None) -> int:
    """Return the most workers, up to the job's chunks, that the empty cluster holds."""
    central = min(job.chunks, max_central_workers(view, m, p))
    return max(central, max_split_workers(view, m, p, job.chunks))


class JobPlacement(NamedTuple):
    """Workers and PSs of a job on their servers, by index, and how long a whole run takes."""

    mode: Mode
    workers: Mapping[int, int]
    ps: Mapping[int, int]

    def amounts(self, view: ElasticCluster) -> Floats:
        """[h, r] what it takes, in units."""
        used = np.zeros_like(view.capacity)
        for h, count in self.workers.items():
            used[h] += count * view.worker_units[self.mode.worker_type]
        for h, count in self.ps.items():
            assert self.mode.ps_type is not None
            used[h] += count * view.ps_units[self.mode.ps_type]
        return used

    def placement(self, view: ElasticCluster, start: int, duration: int) -> Placement:
        """Return a run of so many slots."""
        return view.place(
            self.mode._replace(duration=duration), start, dict(self.workers), dict(self.ps)
        )


def first_fit(
    view: ElasticCluster, job: Job, m: int, p: int | None, workers: int, free: Floats
) -> JobPlacement | None:
    """Return the first placement in list order: on one server that holds all, else on several.

    Parameters
    ----------
    free : array [h, r]
        What is free from now on, in units.
    """
    position = np.arange(1.0, len(free) + 1)
    for central in (True, False):
        mode = Mode(m, p, workers, central, 0)
        found = cheapest(view.demand(mode), position, position, free, central=central)
        if found is not None:
            d = durations(view, job, m, p, np.array([workers]), central)[0]
            return JobPlacement(mode._replace(duration=int(d)), found[1], found[2])
    return None
