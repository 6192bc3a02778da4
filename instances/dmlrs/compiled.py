"""A `dmlrs` instance as arrays."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.dmlrs.instance import STEP, DmlrsInstance, Job
from schedgap.instances.scaling import as_fraction

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

INTERNAL, EXTERNAL = 0, 1  # modes: all workers and PSs on one machine, or on several


@dataclass(frozen=True, slots=True, eq=False)
class DmlrsArrays:
    """Arrays of one instance; all are read-only.

    The indices, all in list order, are i job, h machine, r resource, and mode 0 internal, 1
    external. Amounts are in the unit of the resource, and also in integer thousandths of it, whose
    sums are exact.
    """

    capacity: Floats  # [h, r] C_h^r
    worker_demand: Floats  # [i, r] alpha_i^r
    ps_demand: Floats  # [i, r] beta_i^r
    capacity_milli: Ints  # [h, r]
    worker_milli: Ints  # [i, r]
    ps_milli: Ints  # [i, r]
    arrival: Ints  # [i] a_i, a slot
    batch: Ints  # [i] F_i, largest number of workers in a slot
    ratio: Floats  # [i] gamma_i
    needed: Floats  # [i, mode] N, worker-slots of the whole job
    utility: Floats  # [i, d] u_i at a delay of d = 0..T-1 slots; 0 for d > T - a_i


def sample_slots(job: Job, internal: bool) -> float:
    """Return c = tau + (gamma / F) (2 g / b), the slots that a worker needs for a sample by (2).

    `internal`: whether all of its workers and PSs are on one machine.
    """
    bandwidth = job.internal_bandwidth if internal else job.external_bandwidth
    exchange = 2 * job.gradient_size / bandwidth
    return job.time_per_sample + job.worker_ps_ratio / job.batch_size * exchange


def worker_slots(job: Job, internal: bool) -> float:
    """Return N = E K c, the worker-slots that the job needs in one mode.

    `internal`: whether all of its workers and PSs are on one machine.
    """
    return job.volume * sample_slots(job, internal)


@lru_cache(maxsize=64)
def arrays(instance: DmlrsInstance) -> DmlrsArrays:
    """Return an instance as arrays; they are computed once per instance."""
    machines, jobs, T = instance.machines, instance.jobs, instance.horizon

    def amounts(rows: list[dict[str, float]]) -> Ints:
        found = [
            [int(as_fraction(row[name]) * STEP) for name in instance.resources] for row in rows
        ]
        return np.array(found, dtype=np.int64).reshape(len(rows), len(instance.resources))

    capacity = amounts([machine.capacity for machine in machines])
    worker = amounts([job.worker_demand for job in jobs])
    ps = amounts([job.ps_demand for job in jobs])
    utility = np.zeros((len(jobs), T))
    for i, job in enumerate(jobs):
        delays = T - job.arrival + 1
        utility[i, :delays] = [job.utility.at(d) for d in range(delays)]
    view = DmlrsArrays(
        capacity=capacity / STEP,  # exactly the numbers of the file, which have at most 3 decimals
        worker_demand=worker / STEP,
        ps_demand=ps / STEP,
        capacity_milli=capacity,
        worker_milli=worker,
        ps_milli=ps,
        arrival=np.array([job.arrival for job in jobs], dtype=np.int64),
        batch=np.array([job.batch_size for job in jobs], dtype=np.int64),
        ratio=np.array([job.worker_ps_ratio for job in jobs], dtype=np.float64),
        needed=np.array(
            [[worker_slots(job, mode) for mode in (True, False)] for job in jobs],
            dtype=np.float64,
        ).reshape(len(jobs), 2),
        utility=utility,
    )
    for name in view.__slots__:
        getattr(view, name).setflags(write=False)
    return view
