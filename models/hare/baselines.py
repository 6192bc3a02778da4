"""The four schemes that the paper compares Hare with, completed where it leaves them open (ours).

The paper gives each scheme a sentence or two. All are online here: `simulate` shows a policy the
jobs that have arrived and the GPUs, and nothing else.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

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
        return _sums(chain(*self.duration))

    @cached_property
    def work(self) -> list[float]:
        """[k] sum of T^c over all tasks, as if all ran on class k."""
        return _sums(chain(*self.train))

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


def _sums(rows: Iterable[list[float]]) -> list[float]:
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


def _fastest(
    gpus: Sequence[int], total: Sequence[float], count: int, cluster: Cluster
) -> list[int]:
    """Return the GPUs on which the times add up to least, ties in list order."""
    return sorted(gpus, key=lambda m: (total[cluster.gpu_class[m]], m))[:count]


def gavel_fifo(instance: HareInstance) -> HareSchedule:
    """Start jobs in order of arrival, each on the fastest idle GPUs.

    The paper: jobs in order of arrival, on the fastest available GPUs; a job waits until the GPUs
    that it demands are idle. Ours: it demands as many as its widest round has tasks, at most all,
    holds them until it completes, and nobody overtakes. Ties: list order.
    """
    return simulate(instance, _first_come_first_served)


def _first_come_first_served(now: float, waiting: list[Arrived], cluster: Cluster) -> Starts:
    idle, starts = cluster.idle(now), []
    for job in waiting:
        width = min(job.width, len(cluster.free))
        if width > len(idle):
            break
        gang = _fastest(idle, job.total, width, cluster)
        idle = [m for m in idle if m not in gang]
        starts.append((job, gang))
    return starts


def srtf(instance: HareInstance, backfill: bool = True) -> HareSchedule:
    """Start rounds of the jobs with the shortest remaining time first, whatever their weight.

    The paper: always schedule the jobs that could complete earlier. Ours: preemptive between
    rounds. The remaining time is the length of the rounds left, each on its fastest GPUs of the
    whole cluster, one for each task, at most all. A round starts on the fastest idle GPUs when as
    many are idle; `backfill` lets later jobs start when they are not. Ties: list order.
    """
    return simulate(instance, _shortest_remaining_time(backfill), by_round=True)


def _shortest_remaining_time(backfill: bool) -> Policy:
    known: dict[int, list[float]] = {}  # of each job that has arrived, `_remaining`

    def remaining(job: Arrived, cluster: Cluster) -> tuple[float, int]:
        if job.place not in known:
            known[job.place] = _remaining(job, cluster)
        return known[job.place][len(job.train)], job.place

    def policy(now: float, waiting: list[Arrived], cluster: Cluster) -> Starts:
        idle, starts = cluster.idle(now), []
        for job in sorted(waiting, key=lambda job: remaining(job, cluster)):
            width = min(len(job.train[0]), len(cluster.free))
            if width <= len(idle):
                gang = _fastest(idle, _sums(job.duration[0]), width, cluster)
                idle = [m for m in idle if m not in gang]
                starts.append((job, gang))
            if not idle or (width > len(idle) and not backfill):
                break
        return starts

    return policy


def _remaining(job: Arrived, cluster: Cluster) -> list[float]:
    """[rounds left] the time that the last so many rounds take on their fastest GPUs."""
    everyone, found = range(len(cluster.free)), [0.0]
    for r in reversed(range(len(job.train))):
        gang = _fastest(everyone, _sums(job.duration[r]), len(job.train[r]), cluster)
        found.append(found[-1] + run_round(job, r, 0.0, gang, cluster)[2])
    return found


def sched_homo(instance: HareInstance) -> HareSchedule:
    """Start jobs by weight / work on any idle GPUs, in equal shares, as if all were equally fast.

    The paper: weighted completion time with parallelism in and between jobs, blind to speeds, no
    preemption of jobs. Ours: work is the sum of mean training times over all GPUs; a job gets the
    first idle GPUs of the list, as many as its widest round has tasks or as there are. The online
    primal-dual prices of the work that the paper cites are not in the paper and not reproduced.
    Ties: list order.
    """
    return simulate(instance, _weight_over_work(), equal_shares=True)


def _weight_over_work() -> Policy:
    known: dict[int, float] = {}  # of each job that has arrived, weight / work

    def rank(job: Arrived, cluster: Cluster) -> tuple[float, int]:
        if job.place not in known:
            everywhere = math.fsum(job.work[k] for k in cluster.gpu_class)
            known[job.place] = job.weight * len(cluster.free) / everywhere
        return -known[job.place], job.place

    def policy(now: float, waiting: list[Arrived], cluster: Cluster) -> Starts:
        idle, starts = cluster.idle(now), []
        for job in sorted(waiting, key=lambda job: rank(job, cluster)):
            gang, idle = idle[: job.width], idle[job.width :]
            if gang:
                starts.append((job, gang))
        return starts

    return policy


def sched_allox(instance: HareInstance, weighted: bool = False) -> HareSchedule:
    """Give each job one GPU by matchings of least total completion time of the waiting jobs.

    The paper: AlloX, a bipartite matching that knows all speeds, without parallelism in a job.
    Ours: whenever a GPU is idle, match the waiting jobs to (GPU, place from the end); of the jobs
    matched to an idle GPU the first in line starts, all others are matched again at the next event.
    `weighted` lets the one with the greatest weight / length start instead. Ties: see `match`.
    """
    return simulate(instance, _least_matching(weighted))


def _least_matching(weighted: bool) -> Policy:
    def policy(now: float, waiting: list[Arrived], cluster: Cluster) -> Starts:
        jobs = sorted(waiting, key=lambda job: job.place)
        length = np.array([job.alone for job in jobs])
        release = np.maximum(np.array(cluster.free) - now, 0.0)
        line: dict[int, list[tuple[float, int]]] = {}  # GPU -> (what comes first is least, row)
        for row, (m, q) in enumerate(match(release, np.array(cluster.gpu_class), length)):
            if release[m] == 0:
                rate = jobs[row].weight / length[row, cluster.gpu_class[m]]
                line.setdefault(m, []).append((-rate if weighted else -q, row))
        return [(jobs[min(own)[1]], [m]) for m, own in sorted(line.items())]

    return policy


def match(
    release: Floats, gpu_class: NDArray[np.int64], length: Floats, *, reduce: bool = True
) -> list[tuple[int, int]]:
    """Match jobs to (GPU, place from the end) at least total completion time.

    Parameters
    ----------
    release : array [m]
        Time until the GPU is idle.
    gpu_class : array [m]
        Class of the GPU, a column of `length`.
    length : array [job, class]
        Time that a job takes on a GPU of the class, > 0.
    reduce : bool
        Offer only the columns that are among the W cheapest of some of the W jobs: the other jobs
        take at most W - 1 of a job's W cheapest, so the least cost stays the same. The matching
        may be another one of that cost, so schedules are always made with it.

    Returns
    -------
    list of (m, q)
        For each job its GPU and its place q = 1, 2, ... from the end; it costs
        release[m] + q length[job, class of m].
    """
    jobs = len(length)
    gpu, place = _undominated(release, gpu_class, jobs) if reduce else _all(len(release), jobs)
    cost = release[gpu] + place * length[:, gpu_class[gpu]]
    if reduce:
        cheapest = np.argsort(cost, axis=1, kind="stable")[:, :jobs]
        kept = np.unique(cheapest)
        gpu, place, cost = gpu[kept], place[kept], cost[:, kept]
    _, chosen = linear_sum_assignment(cost)
    return list(zip(gpu[chosen].tolist(), place[chosen].tolist(), strict=True))


def _all(gpus: int, jobs: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[column] GPU and place of every pair, by GPU, then place."""
    return np.repeat(np.arange(gpus), jobs), np.tile(np.arange(1, jobs + 1), gpus)


def _undominated(
    release: Floats, gpu_class: NDArray[np.int64], jobs: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Leave out columns that are among nobody's `jobs` cheapest, whatever the lengths.

    In a class, place q on the j-th GPU to be released costs no less than the j q columns of the
    first j GPUs and q places, itself among them; so only j q <= `jobs` can be wanted.
    """
    rank = np.empty(len(release), dtype=np.int64)
    for k in range(gpu_class.max() + 1):
        own = np.flatnonzero(gpu_class == k)
        rank[own[np.argsort(release[own], kind="stable")]] = np.arange(1, len(own) + 1)
    gpu, place = _all(len(release), jobs)
    wanted = rank[gpu] * place <= jobs
    return gpu[wanted], place[wanted]
