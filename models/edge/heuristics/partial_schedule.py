"""Partial schedule: placed runs of all worker types, and what they leave free, for the kernel."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.decisions import ModeStart, compiled
from schedgap.models.edge.heuristics.kernel import (
    FAR,
    KERNEL,
    Plan,
    Problem,
    State,
    apply,
    copy,
    full_from,
    ps_server,
)
from schedgap.models.edge.modes import JobMode
from schedgap.models.edge.placements import PlacedRun, schedule_from_runs
from schedgap.solvers.search.annealing import insert_all

ALL = 1.0, 0.0, 0.0  # gene without limits: all workers, in every mode, at once


@lru_cache(maxsize=64)
def _problems(instance: EdgeInstance) -> tuple[Problem, ...]:
    """Return the jobs that may run, by worker type."""
    view, given = compiled(instance), arrays(instance)
    late = float(view.last * (len(view.tasks) + 1))
    found = []
    for u, tasks in view.of_type.items():
        job, server = np.array([task.job for task in tasks]), np.flatnonzero(view.workers[:, u])
        since, hosted = [], []
        for task in tasks:
            hosted.append(task.ready[view.ps[:, task.ps_type] > 0].min(initial=FAR))
            slots = np.unique(task.ready[(view.workers[:, u] > 0) | (view.ps[:, task.ps_type] > 0)])
            since.append(slots[slots >= task.ready[server].min(initial=FAR)])
        flows = [task.alone for task in tasks]
        found.append(
            Problem(
                alone=np.array([late if flow is None else float(flow) for flow in flows]),
                keys=np.stack([given.arrival[job], given.work[job, 1]]).astype(float),
                job=job,
                arrival=given.arrival[job],
                chunks=given.chunks[job],
                needed=given.needed[job],
                ready=np.stack([task.ready for task in tasks]),
                hosted=np.array(hosted),
                off=np.append(0, np.cumsum([len(slots) for slots in since])),
                since=np.concatenate(since),
                server=server,
                ps_type=given.ps_type.copy(),
                ps=given.ps.copy(),
                last=view.last,
                late=late,
            )
        )
    return tuple(found)


def _state(problem: Problem, workers: Ints, shared: Sequence[Ints]) -> State:
    """Return the state without runs.

    `workers` [c]: of the type. `shared`: what all worker types know of the PSs.
    """
    jobs, width, intervals = len(problem.job), len(workers), 2 * len(problem.job) + 2
    used = min(width, int(problem.chunks.max()))
    none = np.zeros(jobs, np.int64)
    plan = Plan(
        start=np.full(jobs, float(problem.last)),
        end=np.full(jobs, float(problem.last)),
        cost=np.full(jobs, problem.late),
        workers=none.copy(),
        split=none.copy(),
        host=none - 1,
        used=none,
        column=np.zeros((jobs, used), np.int64),
        beside=np.zeros((jobs, used), np.int64),
    )
    times, free = np.zeros(intervals, np.int64), np.zeros((intervals, width), np.int64)
    times[0], free[0] = 1, workers
    profile = np.ones(1, np.int64), times, np.arange(intervals), free, free.sum(axis=1)
    return State(plan, *profile, *shared, *(np.zeros(width, np.int64) for _ in range(2)))


class PartialSchedule:
    """Placed runs, and the capacity that they leave free.

    `problems`, `states`: data of the kernel, by worker type. `row`: position of the worker type,
    and row of the job in its problem, by job.
    """

    def __init__(self, instance: EdgeInstance) -> None:
        """Start with the empty network."""
        self.instance, self.problems, view = instance, _problems(instance), arrays(instance)
        slots = (np.full(len(instance.jobs), -1) for _ in range(3))
        shared = *slots, np.zeros(view.ps.shape, np.int64), np.count_nonzero(view.ps == 0, axis=0)
        self.states = [
            _state(problem, view.workers[problem.server, view.worker_type[problem.job[0]]], shared)
            for problem in self.problems
        ]
        self.row = {
            i: (t, j)
            for t, problem in enumerate(self.problems)
            for j, i in enumerate(problem.job.tolist())
        }

    def place(self, run: PlacedRun) -> bool:
        """Place a run for which there are workers; False without a PS.

        The PS of a split run may move to another server.
        """
        t, j = self.row[run.job]
        problem, state, host = self.problems[t], self.states[t], run.host
        if full_from(problem, state, host, problem.ps_type[run.job], run.start) <= run.end:
            host = -1 if run.mode.colocated else ps_server(problem, state, j, run.start, run.end)
        if host < 0:
            return False
        plan, used = state.plan, len(run.workers)
        plan.start[j], plan.end[j] = run.start, run.end
        plan.cost[j] = run.end - problem.arrival[j]
        plan.workers[j], plan.split[j] = run.mode.workers, not run.mode.colocated
        plan.host[j], plan.used[j] = host, used
        plan.column[j, :used] = problem.server.searchsorted([s for s, _ in run.workers])
        plan.beside[j, :used] = [count for _, count in run.workers]
        apply(problem, state, j, 1)
        return True

    def insert(self, order: Iterable[int], run: Callable[..., int] | None = None) -> None:
        """Place jobs in order, each where it ends earliest; those that do not fit are left out.

        `order`: jobs by index. `run`: of the kernel; None: as `Kernel.entry` chooses.
        """
        run = run or KERNEL.entry(self.instance)
        for i in order:
            t, j = self.row[i]
            insert_all(run, self.problems[t], self.states[t], [j], ALL)

    def restore(self, t: int, plan: Plan) -> None:
        """Make a plan of a worker type, which fits next to the other types, the current one."""
        problem, state = self.problems[t], self.states[t]
        for j in range(len(problem.job)):
            apply(problem, state, j, -1)
            copy(plan, state.plan, j)
        for j in range(len(problem.job)):
            apply(problem, state, j, 1)

    def runs_of(self, t: int, plan: Plan) -> dict[int, PlacedRun]:
        """Return the runs of a plan of a worker type, by job."""
        problem, found = self.problems[t], {}
        for j in np.flatnonzero(plan.host >= 0).tolist():
            i, start, end = int(problem.job[j]), int(plan.start[j]), int(plan.end[j])
            mode = JobMode(int(plan.workers[j]), end - start + 1, not plan.split[j])
            servers = problem.server[plan.column[j, : plan.used[j]]].tolist()
            workers = sorted(zip(servers, plan.beside[j, : plan.used[j]].tolist(), strict=True))
            found[i] = PlacedRun(ModeStart(i, mode, start), tuple(workers), int(plan.host[j]))
        return found

    @property
    def runs(self) -> dict[int, PlacedRun]:
        """All runs, by job."""
        return {
            i: run
            for t, state in enumerate(self.states)
            for i, run in self.runs_of(t, state.plan).items()
        }

    @property
    def value(self) -> float:
        """Sum c_j - a_j; with an unplaced job it is larger than for any schedule."""
        return sum(float(state.plan.cost.sum()) for state in self.states)

    @property
    def complete(self) -> bool:
        """Whether all jobs that may run are placed."""
        return all(bool((state.plan.host >= 0).all()) for state in self.states)

    def schedule(self) -> EdgeSchedule:
        """Return the schedule of all placed jobs."""
        return schedule_from_runs(self.instance, self.runs.values())
