"""Online policies on a cluster: what they are shown, and the schedule that they make (ours).

The paper gives each scheme that it compares with Hare a sentence or two. All are online here:
`simulate` shows a policy the jobs that have arrived and the GPUs, and nothing else.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareArrays, HareInstance, HareSchedule, arrays

Floats = NDArray[np.float64]
Rows = list[list[float]]  # [task of the round][class of GPUs] times


@dataclass(frozen=True, slots=True)
class Cluster:
    """The GPUs, as an online policy knows them at one moment."""

    gpu_class: list[int]  # [m] class of equal GPUs
    free: list[float]  # [m] when the GPU is or was released by the job that holds or held it

    def idle(self, now: float) -> list[int]:
        """GPUs that nobody holds, in list order."""
        return [m for m, free in enumerate(self.free) if free <= now]


@dataclass(frozen=True, eq=False)
class Arrived:
    """A job that has arrived and does not run: all that an online policy may know of it."""

    place: int  # in the list of jobs; breaks ties
    weight: float
    train: list[Rows]  # [round left] T^c
    duration: list[Rows]  # [round left] T^c + T^s

    @cached_property
    def width(self) -> int:
        """Most tasks of a round."""
        return max(map(len, self.train))

    @cached_property
    def total(self) -> list[float]:
        """[k] sum of T^c + T^s over all tasks, as if all ran on class k."""
        return sums(chain(*self.duration))

    @cached_property
    def work(self) -> list[float]:
        """[k] sum of T^c over all tasks, as if all ran on class k."""
        return sums(chain(*self.train))

    @cached_property
    def alone(self) -> Floats:
        """[k] time from start to completion when all tasks run in turn on one GPU of class k."""
        length = np.zeros(len(self.total))
        for train, duration in zip(self.train, self.duration, strict=True):
            before = np.cumsum(train, axis=0) - train
            length += np.max(before + duration, axis=0)
        return length

    def after_a_round(self) -> "Arrived":
        """The same job when its next round is done."""
        return Arrived(self.place, self.weight, self.train[1:], self.duration[1:])


Starts = list[tuple[Arrived, list[int]]]  # jobs that start, with the idle GPUs that each gets
Policy = Callable[[float, list[Arrived], Cluster], Starts]  # now, waiting by arrival, the GPUs


def simulate(
    instance: HareInstance,
    policy: Policy,
    *,
    by_round: bool = False,
    equal_shares: bool = False,
) -> HareSchedule:
    """Run an online policy: it decides after all arrivals and releases of a moment.

    Parameters
    ----------
    by_round : bool
        A decision starts the next round of a job, and its GPUs are released at their own training
        end; otherwise it starts the whole job, which holds its GPUs until it completes.
    equal_shares : bool
        Deal a round's tasks to the GPUs in turn; otherwise each goes where it is done first.
    """
    view = arrays(instance)
    cluster = Cluster(view.gpu_class.tolist(), [0.0] * view.gpus)
    start, gpu = np.zeros(view.tasks), np.zeros(view.tasks, dtype=np.int64)
    following = view.round_tasks[view.job_rounds[:-1]].tolist()  # [n] first task not yet placed
    events: list[tuple[float, int, int]] = [  # time, 0 arrival | 1 barrier | 2 release, job
        (arrival, 0, n) for n, arrival in enumerate(view.arrival.tolist())
    ]
    heapify(events)
    waiting: list[Arrived] = []
    between: dict[int, Arrived] = {}  # jobs of which a round runs, as they will be after it
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, kind, n = heappop(events)
            if kind == 0:
                waiting.append(_arrive(view, n))
            elif kind == 1:
                waiting.append(between.pop(n))
        if not waiting or not (free := cluster.idle(now)):
            continue
        for job, gang in policy(now, waiting, cluster):
            assert set(gang) <= set(free), "a policy gave away GPUs that are held"
            free = [m for m in free if m not in gang]
            waiting.remove(job)
            end = now
            for r in range(1 if by_round else len(job.train)):
                places, released, end = run_round(job, r, end, gang, cluster, equal_shares)
                for m, begin in places:
                    gpu[following[job.place]], start[following[job.place]] = m, begin
                    following[job.place] += 1
                for m in gang:
                    cluster.free[m] = released[m] if by_round else end
            for time in {cluster.free[m] for m in gang}:
                heappush(events, (time, 2, -1))
            if by_round and len(job.train) > 1:
                between[job.place] = job.after_a_round()
                heappush(events, (end, 1, job.place))
    return HareSchedule(gpu, start)


def _arrive(view: HareArrays, n: int) -> Arrived:
    cuts = view.round_tasks[view.job_rounds[n] : view.job_rounds[n + 1] + 1].tolist()
    tasks = slice(cuts[0], cuts[-1])
    train, duration = view.train[tasks].tolist(), view.duration[tasks].tolist()
    rounds = [slice(a - cuts[0], b - cuts[0]) for a, b in pairwise(cuts)]
    return Arrived(
        n, float(view.weight[n]), [train[own] for own in rounds], [duration[own] for own in rounds]
    )


def sums(rows: Iterable[list[float]]) -> list[float]:
    """[k] exact column sums: how the GPUs fall into classes must not change a tie."""
    return [math.fsum(column) for column in zip(*rows, strict=True)]


def run_round(
    job: Arrived,
    r: int,
    now: float,
    gang: Sequence[int],
    cluster: Cluster,
    equal_shares: bool = False,
) -> tuple[list[tuple[int, float]], dict[int, float], float]:
    """Place the tasks of a job's r-th round that is left, in number order, on free GPUs.

    Returns
    -------
    list, dict, float
        (GPU, start) of each task; the training end of each GPU; the barrier. Ties: list order.
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


def fastest(gpus: Sequence[int], total: Sequence[float], count: int, cluster: Cluster) -> list[int]:
    """Return the GPUs on which the times add up to least, ties in list order."""
    return sorted(gpus, key=lambda m: (total[cluster.gpu_class[m]], m))[:count]
