"""An `edge` instance as arrays."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.edge.instance import EdgeInstance, Job
from schedgap.instances.verdict import TOLERANCE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENDLESS = 2**62  # worker-slots, more than any instance can give to a job


@dataclass(frozen=True, slots=True, eq=False)
class EdgeArrays:
    """Arrays of one instance; all are read-only.

    The indices, all in list order, are j job, s server, u worker type and v PS type. The index xi
    is 0 for split and 1 for together (all workers on the server of the PS).
    """

    workers: Ints  # [s, u] W_su
    ps: Ints  # [s, v] P_sv
    is_cloud: NDArray[np.bool_]  # [s]
    arrival: Ints  # [j] a_j, a slot
    ready: Ints  # [j, s] a_j + Delta_js, first slot in which the job may use the server
    chunks: Ints  # [j] D_j
    worker_type: Ints  # [j] u_j, an index
    ps_type: Ints  # [j] v_j, an index
    work: Floats  # [j, xi] E D M / p_j, worker-slots
    needed: Ints  # [j, xi] sufficient integer worker-slots: ceil(work - 1e-6), at least 1


def batch_seconds(job: Job, together: bool) -> float:
    """Return 1/p_j of (1), the seconds that a worker needs for a mini-batch and its exchange.

    The exchange of k MB of gradients and k MB of parameters at B Mbit/s takes 2 x 8 k / B seconds.

    `together`: whether all of its workers are on the server of the PS, so there is no
    exchange.
    """
    exchange = 0.0 if together else 16 * job.gradient_megabytes / job.bandwidth_mbps
    return job.compute_seconds + job.update_seconds + exchange


def work(instance: EdgeInstance, job: Job, together: bool) -> float:
    """Return E_j D_j M_j / p_j, the worker-slots of a job.

    `job`: one of its jobs. `together`: whether all workers are on the server of the PS.
    """
    return job.minibatches * batch_seconds(job, together) / instance.slot_seconds


@lru_cache(maxsize=64)
def arrays(instance: EdgeInstance) -> EdgeArrays:
    """Return an instance as arrays; they are computed once per instance."""
    servers, jobs = instance.servers, instance.jobs
    u = {name: k for k, name in enumerate(instance.worker_types)}
    v = {name: k for k, name in enumerate(instance.ps_types)}
    slots = np.array([[work(instance, job, xi) for xi in (False, True)] for job in jobs])
    delay = [[job.transfer_delay[server.id] for server in servers] for job in jobs]
    arrival = _ints([job.arrival for job in jobs])
    view = EdgeArrays(
        workers=_ints([[s.workers.get(name, 0) for name in u] for s in servers]),
        ps=_ints([[s.parameter_servers.get(name, 0) for name in v] for s in servers]),
        is_cloud=np.array([server.kind == "cloud" for server in servers]),
        arrival=arrival,
        ready=arrival[:, None] + _ints(delay),
        chunks=_ints([job.chunks for job in jobs]),
        worker_type=_ints([u[job.worker_type] for job in jobs]),
        ps_type=_ints([v[job.ps_type] for job in jobs]),
        work=slots,
        needed=_ints([[_whole(number) for number in row] for row in slots.tolist()]),
    )
    for name in view.__slots__:
        getattr(view, name).setflags(write=False)
    return view


def _whole(slots: float) -> int:
    """Return the ceiling: workers times slots is an integer, so it is enough to cover that."""
    return min(ENDLESS, max(1, math.ceil(slots - TOLERANCE)))


def _ints(values: object) -> Ints:
    return np.array(values, dtype=np.int64)
