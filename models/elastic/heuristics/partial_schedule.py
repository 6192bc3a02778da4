"""Partial schedule: jobs are inserted and removed, by the functions of the kernel."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.heuristics import kernel
from schedgap.models.elastic.heuristics.kernel import Plan, Problem, State
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster, modes
from schedgap.models.elastic.placement import Floats, fits, ps_needed
from schedgap.models.elastic.programs.columns import ElasticRun, run_at

MAX_CELLS = 10_000_000  # entries of a table: slots x servers x resources, modes x starts


class ModeRow(NamedTuple):
    """Modes of a job that differ in the PS type only."""

    volume: float  # share of all servers' resources, times the duration
    duration: int
    worker_type: int
    workers: int
    central: bool
    ps_types: tuple[int, ...]  # in ascending order of demand; -1 in the ring
    ps: int  # PSs of the first type that serve all workers; 0 in the ring


@lru_cache(maxsize=1 << 12)
def mode_rows(instance: ElasticInstance, job: int) -> tuple[ModeRow, ...]:
    """Return the modes of a job in ascending order of volume.

    `job`: index of the job.
    """
    view = cluster(instance)
    total = view.capacity.sum(axis=0)
    share = np.where(total > 0, 1 / np.where(total > 0, total, 1.0), 0.0)
    types: dict[tuple[int, int, int, bool], list[tuple[float, int, int]]] = {}
    for mode in modes(instance, job):
        m, p, N, q, d = mode
        ps, demand = _ps(view, mode), N * view.worker_units[m]
        if p is not None:
            demand = demand + ps * view.ps_units[p]
        types.setdefault((d, m, N, q), []).append(
            (float(demand @ share), -1 if p is None else p, ps)
        )
    rows = []
    for (d, m, N, q), found in types.items():
        found.sort(key=lambda each: each[0])
        rows.append(
            ModeRow(d * min(found)[0], d, m, N, q, tuple(p for _, p, _ in found), found[0][2])
        )
    return tuple(sorted(rows))


def _ps(view: ElasticCluster, mode: Mode) -> int:
    """Return the number of PSs of a mode; of a split mode with no worker next to them."""
    if mode.ps_type is None:
        return 0
    m, p = mode.worker_type, mode.ps_type
    b, B = float(view.worker_bandwidth[m]), float(view.ps_bandwidth[p])
    return 1 if mode.central else ps_needed(b, B, mode.workers)


@lru_cache(maxsize=16)
def _problem(instance: ElasticInstance) -> Problem:
    """Return the instance as arrays, without prices and priorities."""
    view, types = cluster(instance), len(cluster(instance).worker_units)
    rows = [mode_rows(instance, j) for j in range(len(instance.jobs))]
    off = np.append(0, np.cumsum([len(each) for each in rows]))
    given = [row for each in rows for row in each]
    duration = np.array([row.duration for row in given])
    weight = np.array([job.weight for job in instance.jobs], dtype=float)
    arrival = np.array([job.arrival for job in instance.jobs])
    shortest = np.array([min((row.duration for row in each), default=0) for each in rows])
    by_duration = [
        first + np.argsort(duration[first:last], kind="stable") for first, last in pairwise(off)
    ]
    worker_cost, ps_cost = opportunity_costs(instance)
    none = np.zeros((1, view.capacity.shape[1]))
    return Problem(
        alone=weight * (arrival + shortest),
        keys=np.zeros((1, len(rows))),
        weight=weight,
        arrival=arrival,
        off=off,
        by_duration=np.concatenate(by_duration),
        worker_type=np.array([row.worker_type for row in given]),
        workers=np.array([row.workers for row in given]),
        duration=duration,
        central=np.array([row.central for row in given]),
        ps=np.array([row.ps for row in given]),
        ps_kind=np.array([types + row.ps_types[0] if row.ps else 0 for row in given]),
        kinds_from=np.append(0, np.cumsum([len(row.ps_types) for row in given])),
        kinds=np.array([p for row in given for p in row.ps_types]),
        paid=np.zeros((types, 1)),
        worker_units=view.worker_units.copy(),
        ps_units=none if view.is_ring else view.ps_units.copy(),
        bandwidth=view.worker_bandwidth.copy(),
        ps_bandwidth=np.ones(1) if view.is_ring else view.ps_bandwidth.copy(),
        worker_cost=worker_cost,
        ps_cost=np.zeros((1, len(view.capacity))) if view.is_ring else ps_cost,
    )


def _plan(jobs: int, servers: int) -> Plan:
    """Return a plan without jobs."""
    whole = (np.full(jobs, -1) for _ in range(5))
    counts = (np.zeros((jobs, servers), dtype=np.int64) for _ in range(2))
    return Plan(np.zeros(jobs), np.zeros(jobs), np.zeros(jobs), *whole, *counts)


def _check_size(what: str, cells: int) -> None:
    if cells > MAX_CELLS:
        raise ScaleError(f"{what} are too many: {cells:.2g} entries, at most {MAX_CELLS:.2g}")


class PartialSchedule:
    """Inserted jobs, and the free capacity in slots 1..T.

    Attributes
    ----------
    slots : int
        T: every run ends by then.
    problem, state : Problem, State
        Of the kernel.
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
        `runs`: at most one for each job, each in a mode of the job.
        """
        self.instance, self.slots = instance, slots
        view, bare = cluster(instance), _problem(instance)
        capacity, units, jobs = view.capacity, view.worker_units, len(instance.jobs)
        rows = int(np.diff(bare.off).max(initial=0))
        _check_size(f"{slots} slots on {len(capacity)} servers", slots * capacity.size)
        _check_size(f"{slots} slots on {len(capacity)} servers", slots * len(capacity) * len(units))
        _check_size(f"{rows} modes in {slots} slots", rows * slots)
        kinds = len(units) + len(view.ps_units)
        upto = np.zeros((kinds, 1)) if upto is None else upto[:, : slots + 1]
        paid = np.pad(upto, ((0, 0), (0, slots + 1 - upto.shape[1])), mode="edge")
        self.problem = bare._replace(paid=np.ascontiguousarray(paid))
        width = 1 + min(len(capacity), int(bare.workers.max(initial=0)))
        self.state = State(
            plan=_plan(jobs, width),
            free=np.repeat(capacity[:, :, None], slots, axis=2),
            fit=np.empty((len(units), len(capacity), slots), dtype=np.int16),
            every=np.empty((len(units), slots), dtype=np.int64),
            cost=np.empty((rows, slots)),
            least=np.empty(rows),
            lowest=np.empty((2 * len(units), slots), dtype=np.int64),
            length=np.empty(2 * len(units), dtype=np.int64),
        )
        self.put(runs)

    def runs(self, plan: Plan | None = None) -> list[ElasticRun]:
        """Return the runs of the inserted jobs, or of a plan's jobs."""
        plan, types = plan or self.state.plan, self.problem
        found = []
        for j in np.flatnonzero(plan.mode >= 0).tolist():
            k, p, used = int(plan.mode[j]), int(plan.kind[j]), int(plan.servers[j])
            mode = Mode(
                int(types.worker_type[k]),
                None if p < 0 else p,
                int(types.workers[k]),
                bool(types.central[k]),
                int(types.duration[k]),
            )
            at, count = plan.server[j, :used].tolist(), plan.beside[j, :used].tolist()
            ps = {} if p < 0 else {int(plan.host[j]): int(plan.ps[j])}
            workers = dict(zip(at, count, strict=True))
            found.append(run_at(j, mode, int(plan.start[j]) + 1, workers, ps))
        return found

    def put(self, runs: Iterable[ElasticRun]) -> None:
        """Insert given runs.

        `runs`: they must fit, each in a mode of the job.
        """
        plan, state, view = self.state.plan, self.state, cluster(self.instance)
        for run in runs:
            j, (m, p, N, q, d) = run.job, run.mode
            (at,) = (
                i for i, row in enumerate(mode_rows(self.instance, j))
                if (row.duration, row.worker_type, row.workers, row.central) == (d, m, N, q)
            )  # fmt: skip
            counts, (host, ps) = dict(run.workers), run.ps[0] if run.ps else (-1, 0)
            if host >= 0:
                counts.setdefault(host, 0)
            plan.mode[j], plan.kind[j] = self.problem.off[j] + at, -1 if p is None else p
            plan.start[j], plan.end[j] = run.start - 1, run.end - 1
            plan.host[j], plan.ps[j], plan.servers[j] = host, ps, len(counts)
            plan.cost[j] = self.problem.weight[j] * run.end
            plan.server[j, : len(counts)] = [*counts]
            plan.beside[j, : len(counts)] = [*counts.values()]
            for h, amounts in run.usage(view).items():
                state.free[h, :, run.start - 1 : run.end - 1] -= amounts[:, None]
        for m, worker in enumerate(view.worker_units):
            fit = fits(state.free.swapaxes(1, 2), worker)
            state.fit[m] = np.minimum(fit, kernel.MANY)
            state.every[m] = state.fit[m].sum(axis=0)

    def remove(self, job: int) -> None:
        """Remove a job."""
        kernel.apply(self.problem, self.state, job, -1)
        self.state.plan.mode[job] = -1

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
        Ties: the least volume, then the earliest start. Servers: the least opportunity
        cost (`opportunity_costs`).
        """
        spare = np.inf
        if latest is not None:
            spare = float(self.problem.weight[job]) * latest - self.problem.alone[job]
        gene = np.array([factor, fit])
        return kernel.insert(self.problem, self.state, job, gene, spare, None)

    def insert_all(
        self, jobs: Sequence[int], factor: float, fit: float, run: Callable[..., int]
    ) -> int:
        """Insert jobs in order until one does not fit; return how many are inserted.

        `jobs`, `factor`, `fit`: as for `insert`. `run`: of the kernel, compiled or not.
        """
        genes, order = np.array([[factor, fit]]), np.array(jobs, dtype=np.int64)
        plan, values, cooling = self.state.plan, np.zeros(2), np.ones(5)
        rng = np.random.default_rng(0)
        return run(self.problem, self.state, plan, plan, values, order, genes, 2, 0, cooling, rng)


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
