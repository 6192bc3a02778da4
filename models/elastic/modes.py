"""The modes of a job: types, number of workers, on one server or not; the duration follows.

An optimal schedule needs no other: where a worker less takes no more slots, it is never worse.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, Job, Placement, arrays
from schedgap.models.elastic import placement
from schedgap.models.elastic.placement import TOLERANCE, Floats, Ints, ModeDemand

MAX_DECIMALS = 4  # of a unit
MAX_UNITS = 2.0**50  # whole numbers up to here divide exactly enough
MAX_WORKERS = 2**22  # of one job, for a list of modes


class Mode(NamedTuple):
    """How a job runs, but for the start and the servers; types are indices into the lists."""

    worker_type: int  # m
    ps_type: int | None  # p; None in the ring
    workers: int  # N
    central: bool  # q: everything on one server
    duration: int  # d, in slots


@dataclass(frozen=True, slots=True, eq=False)
class ElasticCluster:
    """Servers and types, without any job. Index letters as in `ElasticArrays`.

    Amounts are counted in units: where all demands of a resource are multiples of 10^-k, k = 0..4,
    the unit is the largest such step, all amounts are whole, and sums are exact. Elsewhere the unit
    is 1 and a capacity has the 1e-6 added that the rules allow. So what fits by `capacity` is what
    the rules accept, nothing less and nothing more (effective capacity C').
    """

    is_ring: bool
    resources: tuple[str, ...]  # ids
    servers: tuple[str, ...]  # ids
    worker_types: tuple[str, ...]  # ids
    ps_types: tuple[str, ...]  # ids
    scale: Floats  # [r] units in 1
    whole: NDArray[np.bool_]  # [r] whether amounts are whole numbers of units
    capacity: Floats  # [h, r] C', in units
    worker_units: Floats  # [m, r] e_m, in units
    ps_units: Floats  # [p, r] z_p, in units
    worker_demand: Floats  # [m, r] e_m as given
    ps_demand: Floats  # [p, r] z_p as given
    worker_bandwidth: Floats  # [m] b_m
    ps_bandwidth: Floats  # [p] B_p

    def units(self, amounts: Floats) -> Floats:
        """Return amounts [..., r, t] or [..., r] (resource last but one, or last) in units."""
        scale, whole = self.scale, self.whole
        if amounts.ndim > 2:
            scale, whole = scale[:, None], whole[:, None]
        scaled = amounts * scale
        result: Floats = np.where(whole, np.rint(scaled), scaled)
        return result

    def demand(self, mode: Mode) -> ModeDemand:
        """Return what a mode asks for, in units."""
        m, p = mode.worker_type, mode.ps_type
        if p is None:
            return ModeDemand(mode.workers, self.worker_units[m])
        return ModeDemand(
            mode.workers,
            self.worker_units[m],
            self.ps_units[p],
            float(self.worker_bandwidth[m]),
            float(self.ps_bandwidth[p]),
        )

    def place(
        self, mode: Mode, start: int, workers: Mapping[int, int], ps: Mapping[int, int]
    ) -> Placement:
        """Return a run from slot `start` on, with counts by index of server."""
        return Placement(
            start,
            mode.duration,
            self.worker_types[mode.worker_type],
            None if mode.ps_type is None else self.ps_types[mode.ps_type],
            {self.servers[h]: count for h, count in workers.items()},
            {self.servers[h]: count for h, count in ps.items()},
        )


@lru_cache(maxsize=64)
def cluster(instance: ElasticInstance) -> ElasticCluster:
    """Return the servers and types of an instance."""
    view = arrays(instance)
    demands = np.concatenate([view.worker_demand, view.ps_demand])
    resources = view.capacity.shape[1]
    scale, whole = np.ones(resources), np.zeros(resources, dtype=bool)
    bare, capacity = view.capacity, view.capacity + TOLERANCE
    for r in range(resources):
        for power in 10.0 ** np.arange(MAX_DECIMALS + 1):
            units = np.rint(demands[:, r] * power)
            largest = max(float(bare[:, r].max()) * power, float(units.max()))
            if largest < MAX_UNITS and (units / power == demands[:, r]).all():
                scale[r], whole[r] = power, True
                exact = np.floor(capacity[:, r] * power)
                # The largest doubles are further apart than 1e-6: there the sum may round up.
                capacity[:, r] = np.where(exact / power <= bare[:, r] + TOLERANCE, exact, exact - 1)
                break

    def whole_units(amounts: Floats) -> Floats:
        return np.where(whole, np.rint(amounts * scale), amounts)

    return ElasticCluster(
        is_ring=instance.is_ring,
        resources=tuple(instance.resources),
        servers=tuple(server.id for server in instance.servers),
        worker_types=tuple(kind.id for kind in instance.worker_types),
        ps_types=tuple(kind.id for kind in instance.ps_types),
        scale=scale,
        whole=whole,
        capacity=capacity,
        worker_units=whole_units(view.worker_demand),
        ps_units=whole_units(view.ps_demand),
        worker_demand=view.worker_demand,
        ps_demand=view.ps_demand,
        worker_bandwidth=view.worker_bandwidth,
        ps_bandwidth=view.ps_bandwidth,
    )


def volume(view: ElasticCluster, mode: Mode) -> float:
    """Return demand x duration of a mode, each resource as a share of the whole cluster's."""
    total = view.capacity.sum(axis=0)
    demand = mode.workers * view.worker_units[mode.worker_type]
    if mode.ps_type is not None:
        demand = demand + view.ps_units[mode.ps_type]
    return float((demand[total > 0] / total[total > 0]).sum()) * mode.duration


@lru_cache(maxsize=1 << 16)
def max_central_workers(view: ElasticCluster, m: int, p: int | None) -> int:
    """Return the most workers that fit on one empty server, beside one PS."""
    free = view.capacity
    if p is not None:
        free = free - view.ps_units[p]
        free = free[(free >= 0).all(axis=1)]
    return int(placement.fits(free, view.worker_units[m]).max(initial=0))


@lru_cache(maxsize=1 << 16)
def max_split_workers(view: ElasticCluster, m: int, p: int | None, chunks: int) -> int:
    """Return the most workers, up to `chunks`, that run on the empty cluster on >= 2 servers.

    Every smaller number has a placement, too; in the ring from 2 on.
    """
    worker = view.worker_units[m]
    alone = placement.fits(view.capacity, worker)
    total = int(alone.sum())
    if p is None:
        return min(total, chunks) if np.count_nonzero(alone) >= 2 else 0
    others = total - alone  # [n] workers on all servers but n
    b, B = float(view.worker_bandwidth[m]), float(view.ps_bandwidth[p])
    room = placement.fits(view.capacity, view.ps_units[p])
    most = 0
    for s in range(1, placement.ps_needed(b, B, min(total, chunks)) + 1):
        n = np.flatnonzero((room >= s) & (others >= 1))
        served = placement.workers_served(b, B, s)
        if not len(n):
            break
        if served >= 1:
            beside = placement.fits(view.capacity[n] - s * view.ps_units[p], worker)
            most = max(most, int((beside + np.minimum(others[n], served)).max()))
    return min(most, chunks)


def batch_slots(
    view: ElasticCluster, job: Job, m: int, p: int | None, workers: Ints, central: bool
) -> Floats:
    """Return 1 / rho for numbers of workers [k]: slots of one worker for one mini-batch.

    Source: (1), and (14) in the ring; the 2 pi / b of the exchange counts unless central.
    """
    train = job.train_time[view.worker_types[m]]
    exchange = 0.0 if central else 2 * job.gradient_size / float(view.worker_bandwidth[m])
    if p is None:
        assert not isinstance(job.update_time, dict)
        update = job.update_time * (workers - 1) / workers
        slots: Floats = train + update + exchange * (workers - 1) / workers
        return slots
    assert isinstance(job.update_time, dict)
    return np.full(len(workers), train + job.update_time[view.ps_types[p]] + exchange)


def durations(
    view: ElasticCluster, job: Job, m: int, p: int | None, workers: Ints, central: bool
) -> Floats:
    """Return the least duration by (2f) in slots, for numbers of workers [k]; whole numbers."""
    needed = job.work * batch_slots(view, job, m, p, workers, central)
    slots: Floats = np.maximum(1.0, np.ceil((needed - TOLERANCE) / workers))
    return slots


def job_modes(view: ElasticCluster, job: Job) -> tuple[Mode, ...]:
    """Return the modes of a job that have a placement on the empty cluster.

    Returns
    -------
    tuple of Mode
        Central ones first; then types in list order; then by duration with PSs, by number of
        workers in the ring, both ascending: the order in which Algorithms 3-7 go through them. Of
        equal types and centrality, a number of workers is kept if all smaller ones take longer.

    Raises
    ------
    ScaleError
        When a job could use millions of workers.
    """
    return tuple(
        Mode(m, p, int(N), central, int(d))
        for central in (True, False)
        for m, p in _types(view, job)
        for N, d in _breakpoints(view, job, m, p, central)
    )


@lru_cache(maxsize=64)
def _all_modes(instance: ElasticInstance) -> tuple[tuple[Mode, ...], ...]:
    view = cluster(instance)
    return tuple(job_modes(view, job) for job in instance.jobs)


def modes(instance: ElasticInstance, job: int) -> tuple[Mode, ...]:
    """Return the modes of the job with this index; see `job_modes`. Empty: it can never run."""
    return _all_modes(instance)[job]


def _types(view: ElasticCluster, job: Job) -> Iterator[tuple[int, int | None]]:
    """Worker and PS types that are not barred for the job."""
    for m, name in enumerate(view.worker_types):
        if name not in job.train_time:
            continue
        if view.is_ring:
            yield m, None
            continue
        assert isinstance(job.update_time, dict)
        yield from ((m, p) for p, ps in enumerate(view.ps_types) if ps in job.update_time)


def _breakpoints(
    view: ElasticCluster, job: Job, m: int, p: int | None, central: bool
) -> list[tuple[int, float]]:
    """Numbers of workers that are faster than all smaller ones, with the duration of each."""
    if central:
        most = min(job.chunks, max_central_workers(view, m, p))
    else:
        most = max_split_workers(view, m, p, job.chunks)
    if most > MAX_WORKERS:
        raise ScaleError(f"job {job.id} could use {most} workers; at most {MAX_WORKERS} are tried")
    least = 2 if p is None and not central else 1  # a split ring has two workers
    workers = np.arange(least, most + 1)
    slots = durations(view, job, m, p, workers, central)
    before = np.minimum.accumulate(np.concatenate([[np.inf], slots]))[:-1]
    kept = np.flatnonzero(slots < before)
    if p is not None:
        kept = kept[::-1]
    return [(int(workers[k]), float(slots[k])) for k in kept]
