"""An `elastic` instance as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.elastic.instance import ElasticInstance

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ElasticArrays:
    """Arrays of one instance; all are read-only.

    The indices, all in list order, are j job, h server, r resource, m worker type, p PS type.
    """

    capacity: Floats  # [h, r] C_h^r
    worker_demand: Floats  # [m, r] e_m^r
    ps_demand: Floats  # [p, r] z_p^r
    worker_bandwidth: Floats  # [m] b_m
    ps_bandwidth: Floats  # [p] B_p
    arrival: Ints  # [j] a_j
    weight: Floats  # [j] w_j
    work: tuple[int, ...]  # [j] E_j D_j K_j, mini-batches; may exceed 64 bits
    chunks: Ints  # [j] D_j
    gradient_size: Floats  # [j] pi_j, bandwidth units times slots
    train_time: Floats  # [j, m] v_jm, slots; inf if the type is not allowed
    update_time: Floats  # [j, p] U_j^p, slots, inf if not allowed; for rings [j, 1] U_j


@lru_cache(maxsize=64)
def arrays(instance: ElasticInstance) -> ElasticArrays:
    """Return an instance as arrays; they are computed once per instance."""
    resources = instance.resources
    band = resources.index(instance.bandwidth_resource)
    worker_types = [kind.id for kind in instance.worker_types]
    ps_types = [kind.id for kind in instance.ps_types]
    worker_demand = _table([kind.demand for kind in instance.worker_types], resources, 0.0)
    ps_demand = _table([kind.demand for kind in instance.ps_types], resources, 0.0)
    updates = [
        job.update_time if isinstance(job.update_time, dict) else {"": job.update_time}
        for job in instance.jobs
    ]
    view = ElasticArrays(
        capacity=_table([server.capacity for server in instance.servers], resources, 0.0),
        worker_demand=worker_demand,
        ps_demand=ps_demand,
        worker_bandwidth=worker_demand[:, band].copy(),
        ps_bandwidth=ps_demand[:, band].copy(),
        arrival=np.array([job.arrival for job in instance.jobs], dtype=np.int64),
        weight=np.array([job.weight for job in instance.jobs], dtype=float),
        work=tuple(job.work for job in instance.jobs),
        chunks=np.array([job.chunks for job in instance.jobs], dtype=np.int64),
        gradient_size=np.array([job.gradient_size for job in instance.jobs], dtype=float),
        train_time=_table([job.train_time for job in instance.jobs], worker_types, np.inf),
        update_time=_table(updates, [""] if instance.is_ring else ps_types, np.inf),
    )
    for name in view.__slots__:
        value = getattr(view, name)
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return view


def _table(rows: Sequence[Mapping[str, float]], columns: Sequence[str], absent: float) -> Floats:
    """Return the array [row, column] of the value of each object at each key."""
    table = np.full((len(rows), len(columns)), absent)
    for k, row in enumerate(rows):
        for c, name in enumerate(columns):
            if name in row:
                table[k, c] = row[name]
    return table
