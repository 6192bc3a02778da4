"""Pricing problem of branch and price: cheapest schedule of one job at given prices of GPU time.

It is a shortest path over the barriers of the job; see `kernel.py`. A forward and a backward pass
give the minimum cost of a schedule through every barrier and through every start. Reduced-cost
fixing needs these.

Index letters: j task of the job, r its round, k kind of GPU, t step after the job's arrival.

References
----------
J. M. van den Akker, C. A. J. Hurkens, M. W. P. Savelsbergh, "Time-indexed formulations for machine
scheduling problems: column generation", INFORMS Journal on Computing 12 (2000).
S. Irnich, G. Desaulniers, J. Desrosiers, A. Hadjar, "Path-reduced costs for eliminating arcs in
routing and scheduling", INFORMS Journal on Computing 22 (2010): fixing by a forward and a backward
pass.
"""

from dataclasses import dataclass

import numpy as np

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.exact.kernel import SCHEDULES, Floats, Job, JobWindows, Plan
from schedgap.models.hare.integer_time import steps

LOADED_AFTER = 3000  # schedules after which it pays to load compiled code for a small instance


@dataclass(frozen=True, slots=True, eq=False)
class JobData:
    """One job and the windows of all its schedules that may be of interest."""

    steps: Job
    first: int  # index i of its first task
    rounds: tuple[tuple[int, ...], ...]  # [r] tasks j
    alike: tuple[tuple[int, ...], ...]  # [j] identical tasks of its round, itself included
    span: int  # latest t
    root: JobWindows


@dataclass(frozen=True, slots=True)
class ScheduleColumn:
    """One schedule of a job."""

    barrier: tuple[int, ...]  # [r] t by which the round is synchronized
    kind: tuple[int, ...]  # [j]
    start: tuple[int, ...]  # [j]


def job_data(instance: HareInstance, n: int, latest: int) -> JobData:
    """Return a job with the windows of all its schedules that end by a given time.

    `latest`: latest completion, in steps from time 0.
    """
    view, whole = arrays(instance), steps(instance)
    own = range(view.job_rounds[n], view.job_rounds[n + 1])
    first, last = int(view.round_tasks[own.start]), int(view.round_tasks[own.stop])
    arrival = int(whole.arrival[n])
    duration = whole.duration[first:last]
    head = whole.head[first:last] - arrival
    end = latest - arrival - whole.tail[first:last]
    time = np.arange(latest - arrival + 1)
    rounds = tuple(
        tuple(range(int(view.round_tasks[q]) - first, int(view.round_tasks[q + 1]) - first))
        for q in own
    )
    barrier = np.array(
        [
            (time >= max(head[j] + duration[j].min() for j in tasks)) & (time <= end[tasks[0]])
            for tasks in rounds
        ]
    )
    start = (time >= head[:, None, None]) & (time + duration[:, :, None] <= end[:, None, None])
    alike: list[tuple[int, ...]] = [()] * (last - first)
    for group in view.alike:
        if first <= group[0] < last:
            tasks = tuple(i - first for i in group)
            for j in tasks:
                alike[j] = tasks
    return JobData(
        first=first,
        rounds=rounds,
        alike=tuple(alike),
        span=latest - arrival,
        steps=Job(
            arrival,
            int(whole.weight[n]),
            view.round_tasks[own.start : own.stop + 1] - first,
            np.array([tasks[0] for tasks in alike]),
            whole.train[first:last].copy(),
            duration.copy(),
        ),
        root=JobWindows(barrier, start),
    )


class JobPricer:
    """The kernel, compiled for a large instance or a long search.

    `instance`: all jobs to be priced are of it.
    """

    def __init__(self, instance: HareInstance) -> None:
        self._run, self._priced = SCHEDULES.entry(instance), 0

    def price(
        self, job: JobData, windows: JobWindows, prefix: Floats
    ) -> tuple[float, ScheduleColumn] | None:
        """Return the cheapest schedule of a job and its cost, or None if its windows admit none.

        `prefix` [k, t]: price of one GPU of kind k from time 0 to t, t in steps from time 0.
        """
        self._priced += 1
        if self._priced == LOADED_AFTER:
            self._run = SCHEDULES.fast
        plan = _empty_plan(job)
        cost = self._run(job.steps, windows, prefix, -1.0, plan, windows)
        if not np.isfinite(cost):
            return None
        return cost, ScheduleColumn(*(tuple(part.tolist()) for part in plan))

    def reduce(self, job: JobData, windows: JobWindows, prefix: Floats, slack: float) -> JobWindows:
        """Return the windows without what only schedules use that cost over `slack` more.

        `slack`: >= 0, in grid steps, above the cost of the cheapest schedule.
        """
        within = JobWindows(*map(np.zeros_like, windows))
        self._run(job.steps, windows, prefix, slack, _empty_plan(job), within)
        return within


def _empty_plan(job: JobData) -> Plan:
    """Return room for a schedule of a job."""
    tasks = len(job.steps.like)
    return Plan(*(np.zeros(size, dtype=np.int64) for size in (len(job.rounds), tasks, tasks)))
