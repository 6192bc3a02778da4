"""Partial schedule for fast local search: hundreds of jobs are inserted and removed per second.

Prices of containers are the same on all servers, so a mode and a start determine what a job pays,
and servers only decide whether it fits. Fitting is first tested on the cluster as a whole, slot by
slot, for all modes and starts at once; only the cheapest candidates are then tested on servers.

References
----------
R. Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited: theory
and computation", European Journal of Operational Research 90 (1996): the serial scheme. The test in
two steps is new; the first is a relaxation of the second.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster, modes
from schedgap.models.elastic.placement import Floats, GreedyFill, Ints, cheapest, fits, ps_needed
from schedgap.models.elastic.programs.columns import ElasticRun, run_at

MAX_CELLS = 10_000_000  # entries of a table: slots x servers x resources, modes x starts
_BATCH = 64  # candidates that are sorted at once; often one of the first few fits
_MANY = np.iinfo(np.int16).max  # upper limit on workers on a server


@dataclass(frozen=True, slots=True, eq=False)
class ModeGroups:
    """The modes of a job, in rows k; modes that differ in the PS type only share a row.

    Rows are in ascending order of volume: the share of all servers' resources, times the duration.
    """

    worker_type: Ints  # [k]
    workers: Ints  # [k]
    duration: Ints  # [k]
    central: tuple[bool, ...]  # [k]
    ps_types: tuple[tuple[int | None, ...], ...]  # [k] in ascending order of demand
    ps: Ints  # [k] PSs of the first type that serve all workers; 0 in the ring
    ps_kind: Ints  # [k] container: the worker types come first, then the PS types
    groups: tuple[tuple[int, bool, tuple[tuple[int, int, int], ...]], ...]
    """For each worker type and centrality: triples (row, duration, workers) by duration."""


@lru_cache(maxsize=1 << 12)
def mode_groups(instance: ElasticInstance, job: int) -> ModeGroups:
    """Return the modes of a job in rows.

    `job`: index of a job that has modes.
    """
    view = cluster(instance)
    total = view.capacity.sum(axis=0)
    share = np.where(total > 0, 1 / np.where(total > 0, total, 1.0), 0.0)
    rows: dict[tuple[int, int, int, bool], list[tuple[float, int | None]]] = {}
    for mode in modes(instance, job):
        m, p, N, q, d = mode
        rows.setdefault((d, m, N, q), []).append((float(_demand(view, mode) @ share), p))
    order = sorted(rows, key=lambda row: (row[0] * min(rows[row])[0], row))
    ps_types = [tuple(p for _, p in sorted(rows[row], key=lambda item: item[0])) for row in order]
    groups: dict[tuple[int, bool], list[tuple[int, int, int]]] = {}
    for k, (d, m, N, q) in sorted(enumerate(order), key=lambda item: item[1]):
        groups.setdefault((m, q), []).append((k, d, N))
    duration, worker_type, workers, _ = (np.array(column) for column in zip(*order, strict=True))
    pairs = list(zip(order, ps_types, strict=True))
    return ModeGroups(
        worker_type,
        workers,
        duration,
        tuple(q for _, _, _, q in order),
        tuple(ps_types),
        np.array([_ps(view, Mode(m, p[0], N, q, d)) for (d, m, N, q), p in pairs]),
        np.array([0 if p[0] is None else len(view.worker_units) + p[0] for p in ps_types]),
        tuple((m, q, tuple(triples)) for (m, q), triples in groups.items()),
    )


def _ps(view: ElasticCluster, mode: Mode) -> int:
    """Return the number of PSs of a mode; of a split mode with no worker next to them."""
    if mode.ps_type is None:
        return 0
    m, p = mode.worker_type, mode.ps_type
    b, B = float(view.worker_bandwidth[m]), float(view.ps_bandwidth[p])
    return 1 if mode.central else ps_needed(b, B, mode.workers)


def _demand(view: ElasticCluster, mode: Mode) -> Floats:
    """Return [r] the demand of workers and PSs."""
    workers: Floats = mode.workers * view.worker_units[mode.worker_type]
    return (
        workers if mode.ps_type is None else workers + _ps(view, mode) * view.ps_units[mode.ps_type]
    )


def _check_size(what: str, cells: int) -> None:
    if cells > MAX_CELLS:
        raise ScaleError(f"{what} are too many: {cells:.2g} entries, at most {MAX_CELLS:.2g}")


class PartialSchedule:
    """Inserted jobs, and the free capacity in slots 1..T.

    Attributes
    ----------
    runs : dict
        The run of each inserted job, by index of the job.
    slots : int
        T: every run ends by then.
    """

    def __init__(
        self,
        instance: ElasticInstance,
        slots: int,
        upto: Floats | None = None,
        runs: Iterable[ElasticRun] = (),
    ) -> None:
        """Insert runs that fit together.

        `slots`: T. `upto` [i, t]: price of a container in slots 1..t, as in `ContainerPrices`.
        `runs`: at most one for each job.
        """
        self.instance, self.view, self.slots = instance, cluster(instance), slots
        capacity, units = self.view.capacity, self.view.worker_units
        _check_size(f"{slots} slots on {len(capacity)} servers", slots * capacity.size)
        _check_size(f"{slots} slots on {len(capacity)} servers", slots * len(capacity) * len(units))
        kinds = len(units) + len(self.view.ps_units)
        upto = np.zeros((kinds, 1)) if upto is None else upto[:, : slots + 1]
        self._paid = np.pad(upto, ((0, 0), (0, slots + 1 - upto.shape[1])), mode="edge")
        self._units = np.where(units > 0, units, np.nan)  # [m, r]
        alone = np.stack([np.minimum(fits(capacity, worker), _MANY) for worker in units])
        self._free = np.repeat(capacity[None], slots, axis=0)  # [t, h, r]
        self._fit = np.repeat(alone[:, None].astype(np.int16), slots, axis=1)  # [m, t, h]
        self._all = self._fit.sum(axis=2, dtype=np.int64)  # [m, t] on all servers
        self._most = self._fit.max(axis=2)  # [m, t] on one of them
        self._worker_cost, self._ps_cost = opportunity_costs(instance)
        self.runs: dict[int, ElasticRun] = {}
        for run in runs:
            self.put(run)

    def value(self) -> float:
        """Return sum w_j (start_j + duration_j) of the inserted jobs."""
        return math.fsum(self.instance.jobs[j].weight * run.end for j, run in self.runs.items())

    def put(self, run: ElasticRun) -> None:
        """Insert a given run.

        `run`: it must fit.
        """
        self.runs[run.job] = run
        self._use(run, 1)

    def remove(self, job: int) -> ElasticRun:
        """Remove a job and return its run."""
        run = self.runs.pop(job)
        self._use(run, -1)
        return run

    def _use(self, run: ElasticRun, sign: int) -> None:
        """Add (sign 1) or remove (sign -1) the usage of a run, and update the workers that fit."""
        span, usage = slice(run.start - 1, run.end - 1), run.usage(self.view)
        servers = np.array(list(usage))
        free = self._free[span, servers] - sign * np.array(list(usage.values()))
        self._free[span, servers] = free
        fit = np.full((len(self._units), *free.shape[:2]), float(_MANY))
        for r, units in enumerate(self._units.T):
            np.fmin(fit, np.floor(free[:, :, r] / units[:, None, None]), out=fit)
        fit = np.maximum(fit, 0).astype(np.int16)
        change = fit - self._fit[:, span, servers]
        self._all[:, span] += change.sum(axis=2, dtype=np.int64)
        self._fit[:, span, servers] = fit
        self._most[:, span] = self._fit[:, span].max(axis=2)

    def insert(
        self, job: int, factor: float = 0.0, latest: int | None = None, fit: float = 0.0
    ) -> bool:
        """Insert a job at the least weight x (start + duration) + factor x price.

        `job`: index of a job that has modes. `factor`: factor of the prices; with 0 the job ends as
        early as possible. `latest`: largest start + duration. `fit`: weight of the room that the
        job's workers have on a server just before and after the run, in the choice of servers.

        Returns
        -------
        bool
            False if the job does not fit by then.

        Notes
        -----
        Ties: the least volume, then the earliest start. Servers: those of the least opportunity
        cost (`opportunity_costs`).
        """
        table, given = mode_groups(self.instance, job), self.instance.jobs[job]
        first = given.arrival - 1  # row of the first slot
        last = self.slots if latest is None else min(self.slots, latest - 1)  # row after the last
        if last <= first:
            return False
        k, s = np.nonzero(self._may_fit(table, first, last))
        cost = given.weight * (table.duration[k] + s + given.arrival)
        if factor:
            begin, end = first + s, first + s + table.duration[k]
            for kind, count in ((table.worker_type, table.workers), (table.ps_kind, table.ps)):
                at = kind[k]
                cost += factor * count[k] * (self._paid[at, end] - self._paid[at, begin])
        # Where too few workers fit on the servers, no longer mode with as many workers fits.
        blocked: dict[tuple[int, int], tuple[int, int]] = {}  # type, start: duration, workers
        while len(cost):
            threshold = np.partition(cost, _BATCH)[_BATCH] if len(cost) > _BATCH else np.inf
            near = cost <= threshold
            batch = np.flatnonzero(near)
            batch = batch[np.argsort(cost[batch], kind="stable")]
            for i, row in zip(k[batch].tolist(), (first + s[batch]).tolist(), strict=True):
                m, N, d = int(table.worker_type[i]), int(table.workers[i]), int(table.duration[i])
                shorter, worker_fit = blocked.get((m, row), (d + 1, 0))
                if shorter <= d and worker_fit < N:
                    continue
                worker_fit = int(np.minimum.reduce(self._fit[m, row : row + d]).sum())
                if worker_fit < N:
                    blocked[m, row] = d, worker_fit
                elif (run := self._place(job, table, i, row, fit)) is not None:
                    self.put(run)
                    return True
            cost, k, s = cost[~near], k[~near], s[~near]
        return False

    def _may_fit(self, table: ModeGroups, first: int, last: int) -> NDArray[np.bool_]:
        """Return [k, s] whether each slot of the window has capacity for all the workers."""
        size = len(table.duration) * (last - first)
        _check_size(f"{len(table.duration)} modes in {last - first} slots", size)
        fits_at = np.zeros((len(table.duration), last - first), dtype=bool)
        for m, central, rows in table.groups:
            lowest, length = (self._most if central else self._all)[m, first:last], 1
            for k, d, N in rows:
                if d > last - first:
                    break
                while length < d:  # minimum over windows of `length` slots, extended to d slots
                    step = min(length, d - length)
                    lowest, length = np.minimum(lowest[:-step], lowest[step:]), length + step
                np.greater_equal(lowest, N, out=fits_at[k, : len(lowest)])
        return fits_at

    def _place(
        self, job: int, table: ModeGroups, k: int, row: int, fit: float
    ) -> ElasticRun | None:
        """Return the run of a mode from a row of slots on, if it fits on the servers."""
        m, N, d = int(table.worker_type[k]), int(table.workers[k]), int(table.duration[k])
        free = self._free[row : row + d].min(axis=0)
        omega, fill = self._worker_cost[m], None
        most = self._fit[m, row : row + d].min(axis=0).astype(np.int64)
        if fit:
            beside = [at for at in (row - 1, row + d) if 0 <= at < self.slots]
            room = np.minimum(self._fit[m, beside], most).sum(axis=0) / np.maximum(most, 1)
            omega = omega * (1 + fit * room)
        if not table.central[k]:
            fill = GreedyFill(omega[None], most[None], N)
        for p in table.ps_types[k]:
            mode = Mode(m, p, N, table.central[k], d)
            zeta = np.zeros_like(omega) if p is None else self._ps_cost[p]
            demand = self.view.demand(mode)
            placement = cheapest(demand, omega, zeta, free, central=mode.central, fill=fill)
            if placement is not None:
                return run_at(job, mode, row + 1, *placement[1:])
        return None


@lru_cache(maxsize=64)
def opportunity_costs(instance: ElasticInstance) -> tuple[Floats, Floats]:
    """Return what a worker [m, h], and a PS [p, h], on an empty server costs the other jobs.

    The value of a server is the work per slot that the best worker type does on it, in the mean
    over all jobs; a container costs the share of it that it takes of the server's scarcest
    resource.
    """
    view = cluster(instance)
    speed = np.zeros(len(view.worker_types))
    for job in instance.jobs:
        for m, name in enumerate(view.worker_types):
            if name in job.train_time:
                speed[m] += 1 / max(job.train_time[name], 1e-6) / job.work
    fit = np.stack([fits(view.capacity, worker) for worker in view.worker_units])
    value = (fit * speed[:, None]).max(axis=0)
    value = value / max(float(value.max()), 1e-300)
    size = np.where(view.capacity > 0, view.capacity, 1.0)

    def cost(units: Floats) -> Floats:
        costs: Floats = np.minimum(1.0, (units / size).max(axis=1)) * (value + 1e-6)
        return costs

    return (
        np.array([cost(units) for units in view.worker_units]),
        np.array([cost(units) for units in view.ps_units]),
    )
