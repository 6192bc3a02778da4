"""Partial schedules: the plans of some jobs, and what they leave free, for the kernel.

References
----------
Y. Toyoda, "A simplified algorithm for obtaining approximate solutions to zero-one programming
problems", Management Science 21 (1975): greedy by value over a weighted sum of resources.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np

from schedgap.instances.dmlrs import (
    EXTERNAL,
    INTERNAL,
    DmlrsInstance,
    DmlrsSchedule,
    Plan,
    arrays,
)
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.heuristics import kernel
from schedgap.models.dmlrs.throughput import (
    bundles,
    first_completions,
    max_external_workers,
    mode_limits,
)
from schedgap.solvers import Clock
from schedgap.solvers.search.annealing import insert_all

MAX_ENTRIES = 3_000_000  # largest size of an array


def densities(instance: DmlrsInstance) -> Floats:
    """Return u(f0 - a) / (N sum_r (alpha + beta / gamma) / C) of each job [i].

    C is the capacity of all machines; N is for work across machines, if the job can run so. 0 for a
    job that no schedule completes.
    """
    view = arrays(instance)
    capacity = np.maximum(view.capacity.sum(axis=0), 1e-3)
    density = np.zeros(len(instance.jobs))
    for i, first in enumerate(first_completions(instance)):
        if first <= instance.horizon:
            mode = EXTERNAL if max_external_workers(instance, i) else INTERNAL
            unit_demand = view.worker_demand[i] + view.ps_demand[i] / view.ratio[i]
            cluster_share = float(view.needed[i, mode] * (unit_demand / capacity).sum())
            density[i] = view.utility[i, first - view.arrival[i]] / cluster_share
    return density


@lru_cache(maxsize=16)
def _problem(instance: DmlrsInstance) -> kernel.Problem:
    """Return the jobs that can be completed, without prices."""
    view, first = arrays(instance), np.array(first_completions(instance), dtype=np.int64)
    job = np.flatnonzero(first <= instance.horizon)
    most = np.array([max(mode_limits(instance, i)) for i in job.tolist()], dtype=np.int64)
    width = min(int(most.max(initial=1)), max(1, MAX_ENTRIES // max(1, len(job))))
    number = np.arange(width + 1)
    down, servers = (np.zeros((len(job), len(number)), dtype=np.int64) for _ in range(2))
    for j, i in enumerate(job.tolist()):
        own = bundles(instance, i)
        place = np.searchsorted(own.workers, number, side="right")
        down[j], servers[j] = np.append(0, own.workers)[place], np.append(0, own.ps)[place]
    density = densities(instance)[job]
    return kernel.Problem(
        alone=np.zeros(len(job)),
        keys=np.stack([-density, view.arrival[job].astype(float)]),
        job=job,
        arrival=view.arrival[job] - 1,
        lead=first[job] - view.arrival[job],
        utility=view.utility[job],
        needed=view.needed[job],
        ratio=view.ratio[job],
        worker=view.worker_milli[job].astype(float),
        ps=view.ps_milli[job].astype(float),
        most=np.minimum(most, down[:, -1]),
        down=down,
        servers=servers,
        price=np.zeros((instance.horizon, len(instance.resources))),
    )


def _state(problem: kernel.Problem, instance: DmlrsInstance) -> kernel.State:
    """Return the state without jobs."""
    view, T, H, jobs = arrays(instance), instance.horizon, len(instance.machines), len(problem.job)
    most = int((problem.most + problem.servers[:, -1]).max(initial=1))
    entries = max(1, min(T * min(H, most), MAX_ENTRIES // max(1, jobs)))
    rows, none = (jobs, entries), np.zeros(T, dtype=np.int64)
    plan = kernel.Plan(
        start=problem.arrival.astype(float),
        end=(problem.arrival + problem.lead).astype(float),
        cost=problem.utility[np.arange(jobs), problem.lead],
        used=np.zeros(jobs, dtype=np.int64),
        slot=np.zeros(rows, dtype=np.int64),
        machine=np.zeros(rows, dtype=np.int64),
        workers=np.zeros(rows, dtype=np.int64),
        ps=np.zeros(rows, dtype=np.int64),
    )
    return kernel.State(
        plan,
        free=np.repeat(view.capacity_milli.T.astype(float)[None], T, axis=0),
        inside=np.zeros((T, H)),
        alone=np.zeros((T, H)),
        beside=np.zeros((T, H)),
        width=np.zeros((T, 2), dtype=np.int64),
        mode=none.copy(),
        progress=np.zeros(T),
        cost=np.zeros(T),
        order=none.copy(),
        chosen=none,
    )


class PartialSchedule:
    """Plans of some jobs, and the capacity that they leave free.

    `prices` [t, r]: prices of the resources at which jobs are inserted. `plans`: of the jobs that
    are scheduled at the start.
    """

    def __init__(
        self, instance: DmlrsInstance, prices: Floats, plans: Mapping[int, Plan] | None = None
    ) -> None:
        self.instance = instance
        self.problem = _problem(instance)._replace(price=prices / 1000)
        self.state = _state(self.problem, instance)
        self.best = float(self.state.plan.cost.sum())  # value if no job lost any utility
        self._row = {i: j for j, i in enumerate(self.problem.job.tolist())}
        for i, plan in (plans or {}).items():
            own, j = self.state.plan, self._row[i]
            rows = [(t - 1, h, *counts) for t, held in plan.items() for h, counts in held.items()]
            if len(rows) > own.slot.shape[1]:
                continue
            own.used[j] = len(rows)
            for array, values in zip(own[4:], np.array(rows).T, strict=True):
                array[j, : len(rows)] = values
            slots, utility = own.slot[j, : len(rows)], self.problem.utility[j]
            own.start[j], own.end[j] = slots.min(), slots.max()
            own.cost[j] -= utility[slots.max() - self.problem.arrival[j]]
            kernel.apply(self.problem, self.state, j, 1)

    def insert(self, jobs: Iterable[int], share: float = 1.0, clock: Clock | None = None) -> None:
        """Insert jobs in order, each where it pays best at a share of the prices."""
        run = kernel.KERNEL.entry(self.instance)
        for i in jobs:
            if clock is not None and clock.expired():
                break
            insert_all(run, self.problem, self.state, [self._row[i]], (share, 1.0))

    def insert_by_density(self, share: float, clock: Clock) -> None:
        """Insert the jobs that are not scheduled, densest first; ties in list order."""
        rows = np.argsort(self.problem.keys[0], kind="stable")
        self.insert(self.problem.job[rows[self.state.plan.used[rows] == 0]].tolist(), share, clock)

    @property
    def value(self) -> float:
        """Sum of the utilities."""
        return self.best - float(self.state.plan.cost.sum())

    def schedule(self, plan: kernel.Plan | None = None) -> DmlrsSchedule:
        """Return the schedule of a plan of the kernel, by default the current one."""
        plan = plan or self.state.plan
        plans: dict[int, dict[int, dict[int, tuple[int, int]]]] = {}
        for j in np.flatnonzero(plan.used).tolist():
            entries = np.stack([array[j, : plan.used[j]] for array in plan[4:]], axis=1)
            own = plans[int(self.problem.job[j])] = {}
            for t, h, workers, ps in entries.tolist():
                own.setdefault(t + 1, {})[h] = workers, ps
        return DmlrsSchedule.of_plans(self.instance, plans)
