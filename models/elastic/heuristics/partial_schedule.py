"""Partial schedule: jobs are inserted and removed, by the functions of the kernel."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.heuristics import kernel
from schedgap.models.elastic.heuristics.kernel import Plan, Problem, State
from schedgap.models.elastic.modes import Mode, ModeTable, cluster, mode_table, stacked
from schedgap.models.elastic.placement import Floats, Ints, fits
from schedgap.models.elastic.programs.columns import ElasticRun, run_at
from schedgap.models.elastic.time_windows import shortest
from schedgap.solvers.search.annealing import insert_all

LATE = 0.01  # in a batch, the share of a job's weight that an end at the deadline costs in a list
MAX_CELLS = 10_000_000  # entries of a table: slots x servers x resources, modes x starts


@lru_cache(maxsize=16)
def _problem(instance: ElasticInstance) -> Problem:
    """Return the instance as arrays, without prices and priorities."""
    view, jobs = cluster(instance), instance.jobs
    rows, kinds, kinds_from = list[ModeTable](), list[Ints](), [0]
    for j in range(len(jobs)):
        own = mode_table(instance, j)
        own = own.rows(np.lexsort((own.duration, own.duration * (own.demand @ view.share))))
        same = np.column_stack([own.duration, own.worker_type, own.workers, own.central])
        _, first, group = np.unique(same, axis=0, return_index=True, return_inverse=True)
        row = np.argsort(np.argsort(first))[group.ravel()]  # row of each mode
        rows.append(own.rows(np.sort(first)))
        kinds.append(own.ps_type[np.argsort(row, kind="stable")])
        kinds_from += (kinds_from[-1] + np.cumsum(np.bincount(row))).tolist()
    all_rows, off, by_duration = stacked(rows)
    weight = np.array([job.weight for job in jobs], dtype=float)
    if instance.deadline is not None:
        weight *= LATE / instance.deadline
    arrival = np.array([job.arrival for job in jobs])
    least = np.array([shortest(instance, j) or 0 for j in range(len(jobs))])
    types, none = len(view.worker_units), np.zeros((1, view.capacity.shape[1]))
    worker_cost, ps_cost = opportunity_costs(instance)
    return Problem(
        alone=weight * (arrival + least),
        left_out=np.full(len(jobs), np.inf),
        keys=np.zeros((1, len(jobs))),
        weight=weight,
        arrival=arrival,
        off=off,
        by_duration=by_duration,
        worker_type=all_rows.worker_type,
        workers=all_rows.workers,
        duration=all_rows.duration,
        central=all_rows.central,
        ps=all_rows.ps,
        ps_kind=np.where(all_rows.ps, types + all_rows.ps_type, 0),
        kinds_from=np.array(kinds_from),
        kinds=np.concatenate(kinds),
        paid=np.zeros((types, 1)),
        worker_units=view.worker_units.copy(),
        ps_units=none if view.is_ring else view.ps_units.copy(),
        bandwidth=view.worker_bandwidth.copy(),
        ps_bandwidth=np.ones(1) if view.is_ring else view.ps_bandwidth.copy(),
        worker_cost=worker_cost,
        ps_cost=np.zeros((1, len(view.capacity))) if view.is_ring else ps_cost,
    )


class PartialSchedule:
    """Inserted jobs, and the free capacity in slots 1..T.

    `slots`: T, by which every run ends. `problem`, `state`: data of the kernel.
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
        cells = slots * max(rows, capacity.size, len(capacity) * len(units))
        if cells > MAX_CELLS:
            raise ScaleError(f"{slots} slots are too many: {cells:.2g} entries of a table")
        kinds = len(units) + len(view.ps_units)
        upto = np.zeros((kinds, 1)) if upto is None else upto[:, : slots + 1]
        paid = np.pad(upto, ((0, 0), (0, slots + 1 - upto.shape[1])), mode="edge")
        self.problem = bare._replace(paid=np.ascontiguousarray(paid))
        shape = jobs, 1 + min(len(capacity), int(bare.workers.max(initial=0)))  # servers of a run
        self.state = State(
            plan=Plan(
                np.zeros(jobs),
                np.zeros(jobs),
                np.zeros(jobs),
                *(np.full(jobs, -1) for _ in range(5)),
                *(np.zeros(shape, dtype=np.int64) for _ in range(2)),
            ),
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
        plan, state, view, rows = self.state.plan, self.state, cluster(self.instance), self.problem
        for run in runs:
            j, (m, p, N, q, d) = run.job, run.mode
            own = slice(rows.off[j], rows.off[j + 1])
            same = (rows.worker_type[own] == m) & (rows.workers[own] == N)
            same &= (rows.central[own] == q) & (rows.duration[own] == d)
            counts, (host, ps) = dict(run.workers), run.ps[0] if run.ps else (-1, 0)
            if host >= 0:
                counts.setdefault(host, 0)
            assert same.any()
            plan.mode[j], plan.kind[j] = rows.off[j] + same.argmax(), -1 if p is None else p
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

    def insert_all(
        self, jobs: Sequence[int], factor: float, fit: float, run: Callable[..., int]
    ) -> int:
        """Insert jobs in order until one does not fit; return how many are inserted.

        A job is inserted at the least weight x (start + duration) + factor x price; with 0 it ends
        as early as possible. Ties: the least volume, then the earliest start. Servers: the least
        opportunity cost (`opportunity_costs`).

        `jobs`: they have modes. `fit`: weight of the room that the workers have on a server just
        before and after the run, in the choice of servers. `run`: of the kernel, compiled or not.
        """
        return insert_all(run, self.problem, self.state, jobs, (factor, fit))


@lru_cache(maxsize=64)
def opportunity_costs(instance: ElasticInstance) -> tuple[Floats, Floats]:
    """Return what a worker [m, h], and a PS [p, h], on an empty server costs the other jobs.

    The value of a server is the work per slot that the best worker type does on it, in the mean
    over all jobs. A container costs a share of this value: the share that it takes of the server's
    scarcest resource.
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
    worker, ps = (
        np.minimum(1.0, (units[:, None] / size).max(axis=2)) * (value + 1e-6)
        for units in (view.worker_units, view.ps_units)
    )
    return worker, ps
