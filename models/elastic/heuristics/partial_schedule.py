"""Runs of jobs that fit together, made for speed: jobs come and go by the hundred in a second.

All servers charge the same for a unit, so that a mode and a start alone decide what a job pays, and
servers only decide whether it fits. That is first asked of the whole cluster, slot by slot, of all
modes and starts at once; the cheapest answers are then asked of the servers.
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
from schedgap.models.elastic.programs.columns import ElasticRun

MAX_CELLS = 50_000_000  # of a table: slots x servers x resources, modes x starts
_ASKED = 64  # candidates that are put in order at once; the first few often decide
_MANY = np.iinfo(np.int16).max  # workers on a server, at most


@dataclass(frozen=True, slots=True, eq=False)
class ModeGroups:
    """The modes of a job, those that differ in the PS type alone put together as one row k.

    Rows are in the order of volume: the share of all servers' resources, times the duration.
    """

    worker_type: Ints  # [k]
    workers: Ints  # [k]
    duration: Ints  # [k]
    central: tuple[bool, ...]  # [k]
    ps_types: tuple[tuple[int | None, ...], ...]  # [k] the least demand first
    demand: Floats  # [k, r] with the first PS type, all PSs away from all workers; in units
    groups: tuple[tuple[int, bool, tuple[tuple[int, int, int], ...]], ...]
    """By worker type and central: rows, durations (ascending), workers."""


@lru_cache(maxsize=1 << 12)
def mode_groups(instance: ElasticInstance, job: int) -> ModeGroups:
    """Return the modes of a job, which has some, without their PS types."""
    view = cluster(instance)
    whole = view.capacity.sum(axis=0)
    share = np.where(whole > 0, 1 / np.where(whole > 0, whole, 1.0), 0.0)
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
    return ModeGroups(
        worker_type,
        workers,
        duration,
        tuple(q for _, _, _, q in order),
        tuple(ps_types),
        np.array(
            [
                _demand(view, Mode(m, kinds[0], N, q, d))
                for (d, m, N, q), kinds in zip(order, ps_types, strict=True)
            ]
        ),
        tuple((m, q, tuple(each)) for (m, q), each in groups.items()),
    )


def _demand(view: ElasticCluster, mode: Mode) -> Floats:
    """[r] of workers and PSs; of a split mode as if no worker were beside the PSs."""
    workers: Floats = mode.workers * view.worker_units[mode.worker_type]
    if mode.ps_type is None:
        return workers
    m, p = mode.worker_type, mode.ps_type
    b, B = float(view.worker_bandwidth[m]), float(view.ps_bandwidth[p])
    ps = 1 if mode.central else ps_needed(b, B, mode.workers)
    demand: Floats = workers + ps * view.ps_units[p]
    return demand


def _check_size(what: str, cells: int) -> None:
    if cells > MAX_CELLS:
        raise ScaleError(f"{what} are too many: {cells:.2g} entries, at most {MAX_CELLS:.2g}")


class PartialSchedule:
    """Placed jobs, and what is free beside them in slots 1..T.

    Attributes
    ----------
    runs : dict
        The run of each placed job, by index of the job.
    slots : int
        T: every run ends by then.
    """

    def __init__(
        self,
        instance: ElasticInstance,
        slots: int,
        price: Floats | None = None,
        runs: Iterable[ElasticRun] = (),
    ) -> None:
        """Place some runs that fit together.

        Parameters
        ----------
        price : array [t, r], optional
            Of a unit of `Cluster` for a slot, >= 0, the same on all servers; after its last slot 0.
        """
        self.instance, self.view, self.slots = instance, cluster(instance), slots
        capacity, units = self.view.capacity, self.view.worker_units
        _check_size(f"{slots} slots on {len(capacity)} servers", slots * capacity.size)
        _check_size(f"{slots} slots on {len(capacity)} servers", slots * len(capacity) * len(units))
        price = np.zeros((0, capacity.shape[1])) if price is None else price[:slots]
        self._paid = np.zeros((slots + 1, capacity.shape[1]))  # for slots 1..t
        np.cumsum(price, axis=0, out=self._paid[1 : len(price) + 1])
        self._paid[len(price) + 1 :] = self._paid[len(price)]
        self._units = np.where(units > 0, units, np.nan)
        alone = np.stack([np.minimum(fits(capacity, worker), _MANY) for worker in units])
        self._free = np.repeat(capacity[None], slots, axis=0)  # [t, h, r]
        self._fit = np.repeat(alone[:, None].astype(np.int16), slots, axis=1)  # [m, t, h]
        self._all = self._fit.sum(axis=2, dtype=np.int64)  # [m, t] on all servers
        self._most = self._fit.max(axis=2)  # [m, t] on one of them
        self._worker_loss, self._ps_loss = losses(instance)
        self.runs: dict[int, ElasticRun] = {}
        for run in runs:
            self.put(run)

    def value(self) -> float:
        """Return sum w_j (start_j + duration_j) of the placed jobs."""
        return math.fsum(self.instance.jobs[j].weight * run.end for j, run in self.runs.items())

    def put(self, run: ElasticRun) -> None:
        """Run a job just so."""
        self.runs[run.job] = run
        self._hold(run, 1)

    def remove(self, job: int) -> ElasticRun:
        """Take a job out."""
        run = self.runs.pop(job)
        self._hold(run, -1)
        return run

    def _hold(self, run: ElasticRun, sign: int) -> None:
        span, held = slice(run.start - 1, run.end - 1), run.held(self.view)
        servers = np.array(list(held))
        free = self._free[span, servers] - sign * np.array(list(held.values()))
        self._free[span, servers] = free
        fit = np.full((len(self._units), *free.shape[:2]), float(_MANY))
        for r, units in enumerate(self._units.T):
            np.fmin(fit, np.floor(free[:, :, r] / units[:, None, None]), out=fit)
        fit = np.maximum(fit, 0).astype(np.int16)
        change = fit - self._fit[:, span, servers]
        self._all[:, span] += change.sum(axis=2, dtype=np.int64)
        self._fit[:, span, servers] = fit
        self._most[:, span] = self._fit[:, span].max(axis=2)

    def insert(self, job: int, factor: float = 0.0, latest: int | None = None) -> bool:
        """Run a job where weight x (start + duration) + factor x price is least.

        Parameters
        ----------
        factor : float
            Of the prices; with 0 the job ends as early as it can.
        latest : int, optional
            Largest start + duration of interest.

        Returns
        -------
        bool
            False where nothing fits by then.

        Notes
        -----
        Ties: the least volume, then the earliest start. Servers: those on which the least is lost
        to others (`losses`).
        """
        own, given = mode_groups(self.instance, job), self.instance.jobs[job]
        first = given.arrival - 1  # row of the first slot
        last = self.slots if latest is None else min(self.slots, latest - 1)  # row after the last
        if last <= first:
            return False
        k, s = np.nonzero(self._able(own, first, last))
        cost = given.weight * (own.duration[k] + s + given.arrival)
        if factor:
            end = first + s + own.duration[k]
            for r in np.flatnonzero(self._paid[-1]).tolist():
                paid = self._paid[:, r]
                cost += (factor * own.demand[:, r])[k] * (paid[end] - paid[first + s])
        full: dict[tuple[int, int], tuple[int, int]] = {}  # type, start: a duration, its workers
        while len(cost):
            bar = np.partition(cost, _ASKED)[_ASKED] if len(cost) > _ASKED else np.inf
            near = cost <= bar
            asked = np.flatnonzero(near)
            asked = asked[np.argsort(cost[asked], kind="stable")]
            for i, row in zip(k[asked].tolist(), (first + s[asked]).tolist(), strict=True):
                m, N, d = int(own.worker_type[i]), int(own.workers[i]), int(own.duration[i])
                shorter, room = full.get((m, row), (d + 1, 0))
                if shorter <= d and room < N:
                    continue
                room = int(np.minimum.reduce(self._fit[m, row : row + d]).sum())
                if room < N:
                    full[m, row] = d, room
                elif (run := self._placed(job, own, i, row)) is not None:
                    self.put(run)
                    return True
            cost, k, s = cost[~near], k[~near], s[~near]
        return False

    def _able(self, own: ModeGroups, first: int, last: int) -> NDArray[np.bool_]:
        """[k, s] whether each slot of the window has room for all the workers."""
        size = len(own.duration) * (last - first)
        _check_size(f"{len(own.duration)} modes in {last - first} slots", size)
        able = np.zeros((len(own.duration), last - first), dtype=bool)
        for m, central, rows in own.groups:
            least, length = (self._most if central else self._all)[m, first:last], 1
            for k, d, N in rows:
                if d > last - first:
                    break
                while length < d:  # `least` of windows of `length` slots
                    step = min(length, d - length)
                    least, length = np.minimum(least[:-step], least[step:]), length + step
                np.greater_equal(least, N, out=able[k, : len(least)])
        return able

    def _placed(self, job: int, own: ModeGroups, k: int, row: int) -> ElasticRun | None:
        """Return the run of a mode from a row of slots on, if the servers have room for it."""
        m, N, d = int(own.worker_type[k]), int(own.workers[k]), int(own.duration[k])
        free = self._free[row : row + d].min(axis=0)
        omega, fill = self._worker_loss[m], None
        if not own.central[k]:
            most = self._fit[m, row : row + d].min(axis=0).astype(np.int64)
            fill = GreedyFill(omega[None], most[None], N)
        for p in own.ps_types[k]:
            mode = Mode(m, p, N, own.central[k], d)
            zeta = np.zeros_like(omega) if p is None else self._ps_loss[p]
            demand = self.view.demand(mode)
            found = cheapest(demand, omega, zeta, free, central=mode.central, fill=fill)
            if found is not None:
                _, workers, ps = found
                counts = (tuple(sorted(each.items())) for each in (workers, ps))
                return ElasticRun(job, mode, row + 1, *counts)
        return None


@lru_cache(maxsize=64)
def losses(instance: ElasticInstance) -> tuple[Floats, Floats]:
    """Return what a worker [m, h], and a PS [p, h], on an empty server keeps others from doing.

    A server is worth the work per slot that the best worker type does on it, in the mean over all
    jobs; a container loses the share of it that is its share of the server's scarcest resource.
    """
    view = cluster(instance)
    speed = np.zeros(len(view.worker_types))
    for job in instance.jobs:
        for m, name in enumerate(view.worker_types):
            if name in job.train_time:
                speed[m] += 1 / max(job.train_time[name], 1e-6) / job.work
    alone = np.stack([fits(view.capacity, worker) for worker in view.worker_units])
    worth = (alone * speed[:, None]).max(axis=0)
    worth = worth / max(float(worth.max()), 1e-300)
    size = np.where(view.capacity > 0, view.capacity, 1.0)

    def loss(units: Floats) -> Floats:
        lost: Floats = np.minimum(1.0, (units / size).max(axis=1)) * (worth + 1e-6)
        return lost

    return (
        np.array([loss(units) for units in view.worker_units]),
        np.array([loss(units) for units in view.ps_units]),
    )
