"""Configurations of a server: numbers of workers and PSs of each type that it holds at once.

References
----------
P. C. Gilmore, R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961).
"""

from functools import lru_cache

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import ElasticCluster, cluster
from schedgap.models.elastic.placement import Floats
from schedgap.models.mechanisms.configurations import maximal_configurations

MAX_VISITED = 200_000  # configurations of one server, including those that are not maximal
_ROUNDING = 1e-9  # of a capacity: error of sums of demands that are not whole numbers


def containers(view: ElasticCluster) -> Floats:
    """Return [i, r] the demand of a worker of each type, then of a PS of each type, in units."""
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
    result = []
    for capacity, n in zip(kinds, number, strict=True):
        found = maximal_configurations(
            containers(view), capacity, rounding=_ROUNDING, at_most=MAX_VISITED
        )
        if found is None:
            raise ScaleError(f"a server has more than {MAX_VISITED} configurations")
        result.append((int(n), found.astype(np.float64)))
    return tuple(result)
