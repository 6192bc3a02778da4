"""Modes of a job: worker type, PS type, number of workers, central or split, and the duration.

A mode is kept only if every smaller number of workers takes longer. An optimal schedule needs no
other mode: with one worker fewer and the same duration it uses less and ends no later.

References
----------
A. Sprecher, S. Hartmann, A. Drexl, "An exact algorithm for project scheduling with multiple modes",
OR Spektrum 19 (1997): inefficient modes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, Job, Placement
from schedgap.models.elastic import placement
from schedgap.models.elastic.placement import TOLERANCE, Floats, Ints, ModeDemand

MAX_DECIMALS = 4  # demands with more decimals do not count as multiples of a step
MAX_UNITS = 2.0**50  # amounts up to here are divided exactly enough
MAX_WORKERS = 2**22  # largest number of workers of a job
MAX_DURATION = 2.0**50  # slots of a run


class Mode(NamedTuple):
    """How a job runs, apart from its start and servers; types are list indices."""

    worker_type: int  # m
    ps_type: int | None  # p; None in the ring
    workers: int  # N
    central: bool  # q: everything on one server
    duration: int  # d, in slots


@dataclass(frozen=True, slots=True, eq=False)
class ElasticCluster:
    """Servers, worker types and PS types, in units in which sums of demands are exact.

    Where all demands of a resource are multiples of 10^-k for some k = 0..4, the unit is the
    largest such step. All amounts are then integers, and their sums are exact. Otherwise the unit
    is 1, and the tolerance of 1e-6 that the rules grant is added to each capacity. With this
    effective capacity C', an assignment fits if and only if the rules accept it. The indices, in
    list order, are h server, r resource, m worker type, p PS type.
    """

    is_ring: bool
    resources: tuple[str, ...]  # ids
    servers: tuple[str, ...]  # ids
    worker_types: tuple[str, ...]  # ids
    ps_types: tuple[str, ...]  # ids
    scale: Floats  # [r] units per unit of the file
    whole: NDArray[np.bool_]  # [r] whether all amounts are integer multiples of the unit
    capacity: Floats  # [h, r] C', in units
    worker_units: Floats  # [m, r] e_m, in units
    ps_units: Floats  # [p, r] z_p, in units
    worker_demand: Floats  # [m, r] e_m as given
    ps_demand: Floats  # [p, r] z_p as given
    worker_bandwidth: Floats  # [m] b_m
    ps_bandwidth: Floats  # [p] B_p

    @property
    def share(self) -> Floats:
        """[r] what a unit is of all servers' total; 0 where they have nothing."""
        total = self.capacity.sum(axis=0)
        share: Floats = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return share

    def units(self, amounts: Floats) -> Floats:
        """Convert amounts [..., r] as given in the file to units."""
        return _units(amounts, self.scale, self.whole)

    def demand(self, mode: Mode) -> ModeDemand:
        """Return the number of workers of a mode and the demand of its containers, in units.

        `mode`: types are indices into this cluster's lists.
        """
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

    def usage(
        self, mode: Mode, workers: Mapping[int, int], ps: Mapping[int, int]
    ) -> dict[int, Floats]:
        """Return the usage [r] of a placement in each slot, by index of server, in units.

        `mode`: types. `workers`, `ps`: number of workers, and of PSs, by index of the server.
        """
        amounts = {h: count * self.worker_units[mode.worker_type] for h, count in workers.items()}
        for h, count in ps.items():
            assert mode.ps_type is not None
            amounts[h] = amounts.get(h, 0.0) + count * self.ps_units[mode.ps_type]
        return amounts

    def place(
        self, mode: Mode, start: int, workers: Mapping[int, int], ps: Mapping[int, int]
    ) -> Placement:
        """Return a run as a `Placement` of the schedule file, with ids in place of indices.

        `mode`: types and duration. `start`: first slot, from 1. `workers`, `ps`: number of workers,
        and of PSs, by index of the server.
        """
        return Placement(
            start,
            mode.duration,
            self.worker_types[mode.worker_type],
            None if mode.ps_type is None else self.ps_types[mode.ps_type],
            {self.servers[h]: count for h, count in workers.items()},
            {self.servers[h]: count for h, count in ps.items()},
        )


def _units(amounts: Floats, scale: Floats, whole: NDArray[np.bool_]) -> Floats:
    """Convert amounts [..., r] to units, where they are integers if the unit divides them."""
    units: Floats = np.where(whole, np.rint(amounts * scale), amounts * scale)
    return units


@lru_cache(maxsize=64)
def cluster(instance: ElasticInstance) -> ElasticCluster:
    """Return the servers and types of an instance; cached."""
    resources = len(instance.resources)

    def amounts(given: Iterable[Mapping[str, float]]) -> Floats:
        rows = [[one.get(name, 0.0) for name in instance.resources] for one in given]
        return np.array(rows, dtype=np.float64).reshape(-1, resources)

    worker_demand = amounts(kind.demand for kind in instance.worker_types)
    ps_demand = amounts(kind.demand for kind in instance.ps_types)
    demands = np.concatenate([worker_demand, ps_demand])
    bandwidth = instance.resources.index(instance.bandwidth_resource)
    scale, whole = np.ones(resources), np.zeros(resources, dtype=bool)
    bare = amounts(server.capacity for server in instance.servers)
    capacity = bare + TOLERANCE
    # The first power of 10 that makes all demands of a resource integers. Integer usage u fits
    # if u <= floor((C + 1e-6) 10^k), so the tolerance of the rules enters the capacity once.
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

    return ElasticCluster(
        is_ring=instance.is_ring,
        resources=tuple(instance.resources),
        servers=tuple(server.id for server in instance.servers),
        worker_types=tuple(kind.id for kind in instance.worker_types),
        ps_types=tuple(kind.id for kind in instance.ps_types),
        scale=scale,
        whole=whole,
        capacity=capacity,
        worker_units=_units(worker_demand, scale, whole),
        ps_units=_units(ps_demand, scale, whole),
        worker_demand=worker_demand,
        ps_demand=ps_demand,
        worker_bandwidth=worker_demand[:, bandwidth].copy(),
        ps_bandwidth=ps_demand[:, bandwidth].copy(),
    )


@lru_cache(maxsize=1 << 16)
def split_workers(view: ElasticCluster, m: int, p: int, ps: int) -> int:
    """Return how many workers can run split over at least two empty servers with so many PSs.

    Every smaller number has a split placement, too. One server n has all PSs and as many workers as
    fit next to them. The other servers hold at most as many as the PSs serve.

    `m`, `p`: worker type and PS type. `ps`: number of PSs.
    """
    fit = placement.fits(view.capacity, view.worker_units[m])
    fit_elsewhere = int(fit.sum()) - fit  # [n]
    ps_fit = placement.fits(view.capacity, view.ps_units[p])
    n = np.flatnonzero((ps_fit >= ps) & (fit_elsewhere >= 1))
    b, B = float(view.worker_bandwidth[m]), float(view.ps_bandwidth[p])
    served = placement.workers_served(b, B, ps)
    if not len(n) or served < 1:
        return 0
    free = view.capacity[n] - ps * view.ps_units[p]
    workers_on_n = placement.fits(free, view.worker_units[m])
    return int((workers_on_n + np.minimum(fit_elsewhere[n], served)).max())


@lru_cache(maxsize=1 << 16)
def _fewest_ps(view: ElasticCluster, m: int, p: int | None, workers: int, central: bool) -> int:
    """Return the smallest number of PSs with which a mode runs on the empty cluster.

    `m`, `p`: worker type and PS type; None in the ring. `workers`, `central`: of the mode.
    """
    if p is None or central:
        return int(p is not None)
    b, B = float(view.worker_bandwidth[m]), float(view.ps_bandwidth[p])
    most = placement.ps_needed(b, B, workers)  # enough to serve all workers
    return next((s for s in range(1, most) if split_workers(view, m, p, s) >= workers), most)


@lru_cache(maxsize=1 << 12)
def _central_room(view: ElasticCluster, m: int, p: int | None) -> int:
    """Return the largest number of workers of a type on one empty server, next to a PS."""
    free = view.capacity
    if p is not None:
        free = free - view.ps_units[p]
        free = free[(free >= 0).all(axis=1)]
    return int(placement.fits(free, view.worker_units[m]).max(initial=0))


@lru_cache(maxsize=1 << 12)
def _worker_room(view: ElasticCluster, m: int) -> tuple[int, int]:
    """Return how many workers of a type fit on all empty servers, and on how many servers some."""
    fit = placement.fits(view.capacity, view.worker_units[m])
    return int(fit.sum()), int(np.count_nonzero(fit))


@lru_cache(maxsize=1 << 12)
def _ps_room(view: ElasticCluster, p: int) -> int:
    """Return the largest number of PSs of a type on one empty server."""
    return int(placement.fits(view.capacity, view.ps_units[p]).max(initial=0))


@lru_cache(maxsize=1 << 16)
def _most_workers(view: ElasticCluster, m: int, p: int | None, chunks: int, central: bool) -> int:
    """Return the largest number of workers on one empty server with a PS, or split over several.

    Every smaller number has such a placement, too; split in the ring from 2 on.

    `m`: worker type. `p`: PS type; None in the ring. `chunks`: upper limit on the number, (2g).
    """
    if central:
        return min(chunks, _central_room(view, m, p))
    room, servers = _worker_room(view, m)
    most = min(room, chunks)
    if p is None:
        return most if servers >= 2 else 0
    b, B = float(view.worker_bandwidth[m]), float(view.ps_bandwidth[p])
    numbers = range(1, min(_ps_room(view, p), placement.ps_needed(b, B, most)) + 1)
    return min(chunks, max((split_workers(view, m, p, s) for s in numbers), default=0))


def max_workers(
    view: ElasticCluster, job: Job, m: int, p: int | None, *, central: bool | None = None
) -> int:
    """Return the largest number of workers of a job on the empty cluster, at most its chunks.

    `m`: worker type. `p`: PS type; None in the ring. `central`: on one server, or split over
    several; None: either.
    """
    kinds = (True, False) if central is None else (central,)
    return max(_most_workers(view, m, p, job.chunks, kind) for kind in kinds)


def batch_slots(
    view: ElasticCluster, job: Job, m: int, p: int | None, workers: Ints, central: bool
) -> Floats:
    """Return 1 / rho for each number of workers [k]: slots of one worker for one mini-batch.

    `job`: its train time, update time and gradient size count. `m`: worker type. `p`: PS type; None
    in the ring. `workers` [k]: numbers of workers, >= 1. `central`: everything is on one server:
    the time of the exchange, 2 pi / b, is zero.

    Notes
    -----
    Source: (1), and (14) in the ring.
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
    """Return the smallest duration that (2f) allows for each number of workers [k], in whole slots.

    `m`: worker type. `p`: PS type; None in the ring. `workers` [k]: numbers of workers, >= 1.
    `central`: whether everything is on one server.
    """
    needed = job.work * batch_slots(view, job, m, p, workers, central)
    slots: Floats = np.maximum(1.0, np.ceil((needed - TOLERANCE) / workers))
    return slots


def job_modes(view: ElasticCluster, job: Job) -> tuple[Mode, ...]:
    """Return the modes of a job that have a placement on the empty cluster.

    Central modes come first, then modes by types in list order. Modes of a type are ordered by
    duration with PSs, and by number of workers in the ring, both ascending. Algorithms 3-7
    enumerate the modes in this order.

    Raises
    ------
    ScaleError
        When a job could use millions of workers, or run for more than 2^50 slots.
    """
    return tuple(
        Mode(m, p, N, central, int(d))
        for central in (True, False)
        for m, p in usable_types(view, job)
        for N, d in _breakpoints(view, job, m, p, central)
    )


@lru_cache(maxsize=64)
def _all_modes(instance: ElasticInstance) -> tuple[tuple[Mode, ...], ...]:
    view = cluster(instance)
    return tuple(job_modes(view, job) for job in instance.jobs)


def modes(instance: ElasticInstance, job: int) -> tuple[Mode, ...]:
    """Return the modes of one job of an instance, in the order of `job_modes`; cached.

    Parameters
    ----------
    job : int
        Index of the job. Without any mode it can never run.
    """
    return _all_modes(instance)[job]


class ModeTable(NamedTuple):
    """Modes of a job as arrays, one mode in each row, with the fewest PSs with which it can run."""

    worker_type: Ints  # [k]
    ps_type: Ints  # [k] -1 in the ring
    workers: Ints  # [k]
    central: Ints  # [k] 0 or 1
    duration: Ints  # [k]
    ps: Ints  # [k] the fewest; 0 in the ring
    demand: Floats  # [k, r] of all containers, in units

    def rows(self, kept: Ints) -> "ModeTable":
        """Return some of the rows, by index."""
        return ModeTable._make(column[kept] for column in self)


def stacked(tables: Sequence[ModeTable]) -> tuple[ModeTable, Ints, Ints]:
    """Return the rows of all jobs, the first row of each job, and each job's rows by duration."""
    rows = ModeTable(*(np.concatenate(columns) for columns in zip(*tables, strict=True)))
    off = np.cumsum([0, *(len(own.ps) for own in tables)])
    order = [np.argsort(own.duration, kind="stable") for own in tables]
    return rows, off, np.concatenate(order) + np.repeat(off[:-1], np.diff(off))


def mode_columns(of: Sequence[Mode]) -> Ints:
    """Return [5, k] worker types, PS types (-1 in the ring), workers, central, and durations."""
    rows = [(m, -1 if p is None else p, N, q, d) for m, p, N, q, d in of]
    return np.array(rows, dtype=np.int64).reshape(-1, 5).T


@lru_cache(maxsize=1 << 12)
def mode_table(instance: ElasticInstance, job: int) -> ModeTable:
    """Return the modes of a job as arrays, in the order of `modes`.

    `job`: index of the job.
    """
    view, rows = cluster(instance), modes(instance, job)
    ps = np.array([_fewest_ps(view, m, p, N, q) for m, p, N, q, _ in rows], dtype=np.int64)
    m, p, N, q, d = mode_columns(rows)
    demand: Floats = N[:, None] * view.worker_units[m]
    if not view.is_ring:
        demand += ps[:, None] * view.ps_units[p]
    return ModeTable(m, p, N, q, d, ps, demand)


def usable_types(view: ElasticCluster, job: Job) -> Iterator[tuple[int, int | None]]:
    """Yield the pairs of worker type and PS type, None in the ring, that the job can use."""
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
    """Return the numbers of workers that are faster than all smaller ones, with durations."""
    largest = _most_workers(view, m, p, job.chunks, central)
    if largest > MAX_WORKERS:
        raise ScaleError(
            f"job {job.id} could use {largest} workers; at most {MAX_WORKERS} are tried"
        )
    smallest = 2 if p is None and not central else 1  # a split ring has two workers
    workers = np.arange(smallest, largest + 1)
    slots = durations(view, job, m, p, workers, central)
    if slots.max(initial=1.0) > MAX_DURATION:
        raise ScaleError(f"job {job.id} runs for {slots.max():.2g} slots, at most 2^50 are counted")
    is_faster = np.ones(len(slots), dtype=bool)
    np.less(slots[1:], np.minimum.accumulate(slots)[:-1], out=is_faster[1:])
    (faster,) = is_faster.nonzero()
    if p is not None:
        faster = faster[::-1]
    return list(zip(workers[faster].tolist(), slots[faster].tolist(), strict=True))
