"""Placement of baselines: the types of a job's fastest mode, and the first placement that fits.

The paper gives each baseline a sentence or two; the rest is ours. Ties: list order.
"""

import numpy as np

from schedgap.instances.elastic import Job
from schedgap.models.elastic.algorithms.a_maxweight import MaxWeightConstants
from schedgap.models.elastic.algorithms.pricing import PricedRun
from schedgap.models.elastic.modes import ElasticCluster, Mode, durations
from schedgap.models.elastic.placement import Floats, cheapest


def fastest_mode(view: ElasticCluster, const: MaxWeightConstants, of: tuple[Mode, ...]) -> Mode:
    """Return the fastest mode; among equals the least volume, then the first types.

    `const`: scales of the volumes. `of`: modes of a job, at least one.
    """
    volumes = const.volumes(view, of).tolist()

    def rank(k: int) -> tuple[int, float, tuple[int, int | None]]:
        return of[k].duration, float(f"{volumes[k]:.9g}"), of[k][:2]

    return of[min(range(len(of)), key=rank)]


def first_fit(
    view: ElasticCluster, job: Job, m: int, p: int | None, workers: int, free: Floats
) -> PricedRun | None:
    """Return the first placement in list order: on one server that holds all, else on several.

    `m`: worker type. `p`: PS type; None in the ring. `workers`: number of workers. `free` [h, r]:
    free amounts from now on, in units. The run starts in slot 1, and a server costs its number.
    """
    position = np.arange(1.0, len(free) + 1)
    for central in (True, False):
        mode = Mode(m, p, workers, central, 0)
        found = cheapest(view.demand(mode), position, position, free, central=central)
        if found is not None:
            d = durations(view, job, m, p, np.array([workers]), central)[0]
            return PricedRun(found.cost, mode._replace(duration=int(d)), 1, *found[1:])
    return None
