"""Capacities of `elastic` servers in the resources' own units, and what fits on them."""

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import placement
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats, Ints


def capacity(instance: ElasticInstance) -> Floats:
    """Return the effective capacity C' of each server [h, r], in the resources' own units.

    What the rules accept is exactly what stays within C': they allow 1e-6 more than C. Where all
    demands are multiples of a unit 10^-k, k = 0..4, C' is a multiple of it; else C + 1e-6.
    """
    view = cluster(instance)
    return view.capacity / view.scale


def fit(instance: ElasticInstance) -> Ints:
    """Return how many workers of each type fit on each empty server [h, m]."""
    view = cluster(instance)
    return np.stack([placement.fits(view.capacity, e) for e in view.worker_units], axis=1)


def ps_needed(instance: ElasticInstance, worker_type: int, ps_type: int, away: int) -> int:
    """Return the PSs that a server needs for workers of a type on other servers, (2i)."""
    view = cluster(instance)
    return placement.ps_needed(
        float(view.worker_bandwidth[worker_type]), float(view.ps_bandwidth[ps_type]), away
    )
