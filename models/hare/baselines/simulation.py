"""Event simulation of online policies on a cluster (ours).

The paper describes each scheme that it compares with Hare in a sentence or two. All are online
here: `simulate` shows a policy the jobs that have arrived and the GPUs, and nothing else.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareArrays, HareInstance, HareSchedule, arrays

Floats = NDArray[np.float64]
Rows = list[list[float]]  # [task of the round][class of GPUs] times


@dataclass(frozen=True, slots=True)
class GpuCluster:
    """State of the GPUs that an online policy sees."""

    gpu_class: list[int]  # [m] class of equal GPUs
    free: list[float]  # [m] release time of the GPU by its current or last job

    def idle(self, now: float) -> list[int]:
        """Return the GPUs that no job holds, in list order.

        `now`: current time.
        """
        return [m for m, free in enumerate(self.free) if free <= now]


@dataclass(frozen=True, eq=False)
class WaitingJob:
    """A job that has arrived and is not running, as an online policy sees it."""

    place: int  # index in the list of jobs; breaks ties
    weight: float
    train: list[Rows]  # [remaining round] T^c
    duration: list[Rows]  # [remaining round] T^c + T^s

    @cached_property
    def width(self) -> int:
        """Number of tasks of the widest remaining round."""
        return max(map(len, self.train))

    @cached_property
    def total(self) -> list[float]:
        """[k] sum of T^c + T^s over all tasks on class k."""
        return sums(chain(*self.duration))

    @cached_property
    def work(self) -> list[float]:
        """[k] sum of T^c over all tasks on class k."""
        return sums(chain(*self.train))

    @cached_property
    def alone(self) -> Floats:
        """[k] time from start to completion if all tasks run in sequence on one GPU of class k."""
        length = np.zeros(len(self.total))
        for train, duration in zip(self.train, self.duration, strict=True):
            before = np.cumsum(train, axis=0) - train
            length += np.max(before + duration, axis=0)
        return length

    def rounds(self, first: int, stop: int | None) -> "WaitingJob":
        """Return the job with some of its rounds only."""
        train, duration = self.train[first:stop], self.duration[first:stop]
        return WaitingJob(self.place, self.weight, train, duration)


Starts = list[tuple[WaitingJob, list[int]]]  # jobs that start, each with its GPUs
Policy = Callable[
    [float, list[WaitingJob], GpuCluster], Starts
]  # now, waiting by arrival, the GPUs


def in_order(
    key: Callable[[WaitingJob, GpuCluster], Any],
    gang: Callable[[WaitingJob, list[int], GpuCluster], list[int]],
    *,
    backfill: bool = False,
) -> Policy:
    """Return the policy that starts the waiting jobs in the order of a key.

    `gang`: from a job and the idle GPUs to the GPUs that it gets, none if too few are idle.
    `backfill`: later jobs may start while an earlier one waits for GPUs.
    """

    def policy(now: float, waiting: list[WaitingJob], cluster: GpuCluster) -> Starts:
        idle, starts = cluster.idle(now), []
        for job in sorted(waiting, key=lambda job: key(job, cluster)):
            if chosen := gang(job, idle, cluster):
                taken = set(chosen)
                idle = [m for m in idle if m not in taken]
                starts.append((job, chosen))
            if not idle or not (chosen or backfill):
                break
        return starts

    return policy


def fastest_gang(job: WaitingJob, idle: list[int], cluster: GpuCluster) -> list[int]:
    """Return the fastest idle GPUs, one for each task of the widest round, at most all; or none."""
    width = min(job.width, len(cluster.free))
    return fastest(idle, job.total, width, cluster) if width <= len(idle) else []


def simulate(
    instance: HareInstance,
    policy: Policy,
    *,
    by_round: bool = False,
    equal_shares: bool = False,
) -> HareSchedule:
    """Return the schedule of an online policy, called after all arrivals and releases of a time.

    `policy`: from the time, the waiting jobs by arrival and the GPUs to the jobs that start, each
    with its idle GPUs. `by_round`: the policy starts the next round of a job, and each GPU is
    released when its last task of the round has trained. Otherwise it starts a whole job, which
    holds its GPUs until it completes. `equal_shares`: distribute the tasks of a round to the GPUs
    in turn; otherwise each task takes the GPU that finishes it first.
    """
    view = arrays(instance)
    cluster = GpuCluster(view.gpu_class.tolist(), [0.0] * view.gpus)
    start, gpu = np.zeros(view.tasks), np.zeros(view.tasks, dtype=np.int64)
    next_task = view.round_tasks[view.job_rounds[:-1]].tolist()  # [n] first task not yet placed
    events: list[tuple[float, int, int]] = [  # time, 0 arrival | 1 barrier | 2 release, job
        (arrival, 0, n) for n, arrival in enumerate(view.arrival.tolist())
    ]
    heapify(events)
    coming = {n: _arrive(view, n) for n in range(view.jobs)}  # jobs that an event brings
    waiting: list[WaitingJob] = []
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, kind, n = heappop(events)
            if kind < 2:
                waiting.append(coming.pop(n))
        if not waiting or not (free := cluster.idle(now)):
            continue
        for job, gang in policy(now, waiting, cluster):
            assert set(gang) <= set(free), "the policy assigned GPUs that are in use"
            free = [m for m in free if m not in gang]
            waiting.remove(job)
            end = now
            for r in range(1 if by_round else len(job.train)):
                places, released, end = run_round(job, r, end, gang, cluster, equal_shares)
                for m, begin in places:
                    gpu[next_task[job.place]], start[next_task[job.place]] = m, begin
                    next_task[job.place] += 1
                for m in gang:
                    cluster.free[m] = released[m] if by_round else end
            for time in {cluster.free[m] for m in gang}:
                heappush(events, (time, 2, -1))
            if by_round and len(job.train) > 1:
                coming[job.place] = job.rounds(1, None)
                heappush(events, (end, 1, job.place))
    return HareSchedule(gpu, start)


def _arrive(view: HareArrays, n: int) -> WaitingJob:
    """Return job n at its arrival."""
    cuts = view.round_tasks[view.job_rounds[n] : view.job_rounds[n + 1] + 1]
    own, inner = slice(cuts[0], cuts[-1]), cuts[1:-1] - cuts[0]
    train, delay = view.train[own], view.sync[own]
    return WaitingJob(
        place=n,
        weight=float(view.weight[n]),
        train=[part.tolist() for part in np.split(train, inner)],
        duration=[part.tolist() for part in np.split(train + delay, inner)],
    )


def sums(rows: Iterable[list[float]]) -> list[float]:
    """Return [k] correctly rounded column sums: ties do not depend on the classes.

    `rows`: [k] times of each task by class.
    """
    return [math.fsum(column) for column in zip(*rows, strict=True)]


def run_round(
    job: WaitingJob,
    r: int,
    now: float,
    gang: Sequence[int],
    cluster: GpuCluster,
    equal_shares: bool = False,
) -> tuple[list[tuple[int, float]], dict[int, float], float]:
    """Place the tasks of one round of a job on its GPUs, in order of their numbers.

    `r`: index of the round among the remaining rounds. `now`: start of the round. `gang`: GPUs of
    the job, all free at `now`. `cluster`: only the classes of the GPUs matter. `equal_shares`:
    distribute the tasks in turn; otherwise each takes the GPU that finishes it first.

    Return the GPU and start of each task, the time at which each GPU has trained its last task, and
    the time at which the whole round is synchronized. Ties are broken in list order.
    """
    free = dict.fromkeys(gang, now)
    places: list[tuple[int, float]] = []
    barrier = now
    for i, (train, duration) in enumerate(zip(job.train[r], job.duration[r], strict=True)):
        if equal_shares:
            m = gang[i % len(gang)]
        else:
            _, m = min((free[m] + duration[cluster.gpu_class[m]], m) for m in gang)
        places.append((m, free[m]))
        barrier = max(barrier, free[m] + duration[cluster.gpu_class[m]])
        free[m] += train[cluster.gpu_class[m]]
    return places, free, barrier


def fastest(
    gpus: Sequence[int], total: Sequence[float], count: int, cluster: GpuCluster
) -> list[int]:
    """Return the fastest GPUs for a set of tasks; ties in list order.

    `gpus`: GPUs to choose from. `total` [k]: total time of the tasks by class of GPUs. `count`:
    number of GPUs to return, at most all. `cluster`: only the classes of the GPUs matter.
    """
    return sorted(gpus, key=lambda m: (total[cluster.gpu_class[m]], m))[:count]
