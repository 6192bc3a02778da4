"""The bound `srpt-bound`: all workers of a type as one preemptive machine.

References
----------
L. Schrage, "A proof of the optimality of the shortest remaining processing time discipline",
Operations Research 16 (1968): minimises the sum of completion times on one preemptive machine.
M. X. Goemans, M. Queyranne, A. S. Schulz, M. Skutella, Y. Wang, "Single machine scheduling with
release dates", SIAM Journal on Discrete Mathematics 15 (2002): the preemptive schedule in order of
priority minimises the weighted sum of mean busy times.
"""

import heapq
import math
from collections.abc import Callable, Sequence

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.instances.verdict import TOLERANCE
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.decisions import CompiledInstance, compiled


def srpt(instance: EdgeInstance) -> float:
    """Return the bound on sum c_j - a_j for an instance of (2) in which each job fits alone.

    The workers of a type become one machine that works on one job at a time with all of them. The
    bound is the largest of the jobs alone and two sums over all jobs:

    - C_j - a_j of the schedule by shortest remaining work;
    - M_j + d_j / 2 - a_j, with M_j the mean busy times when the job with the least total work
      runs, and d_j the duration of the shortest mode: a run at a constant rate ends half its
      duration after its mean busy time.

    The work of a job is that of a colocated run less the tolerance of the rules; its release date
    is when the first server is ready. The rate must not be limited by the chunks: SRPT would not be
    optimal then, and the first sum no bound.
    """
    view = compiled(instance)
    sums = [_sums_of_type(view, worker_type) for worker_type in range(view.workers.shape[1])]
    ends, means = (sum(column) for column in zip(*sums, strict=True))
    # The rounding error of sums of a few hundred jobs is far below 1e-6.
    return float(max(math.ceil(max(ends, means) - 1e-6), job_bound(view)))


def _sums_of_type(view: CompiledInstance, worker_type: int) -> tuple[float, float]:
    """Return both sums for the jobs of one worker type."""
    tasks = [task for task in view.tasks if task.worker_type == worker_type]
    speed = int(view.workers[:, worker_type].sum())
    if not tasks or not speed:
        return 0.0, 0.0
    given = arrays(view.instance)
    work = [max(0.0, float(given.work[task.job, 1]) - TOLERANCE) / speed for task in tasks]
    release = [float(task.ready.min() - 1) for task in tasks]
    arrivals = sum(task.arrival for task in tasks)
    ends = _machine(release, work, lambda job, remaining: remaining)[0]
    means = _machine(release, work, lambda job, remaining: work[job])[1]
    half_durations = sum(min(mode.duration for mode in task.modes) for task in tasks) / 2
    return sum(ends) - arrivals, sum(means) + half_durations - arrivals


def _machine(
    release: Sequence[float], work: Sequence[float], key: Callable[[int, float], float]
) -> tuple[list[float], list[float]]:
    """Simulate one preemptive machine that runs the released job with the least key.

    `key` is a function of job and remaining work. Returns completion and mean busy time of each
    job; both are the release date of a job without work.
    """
    remaining, ends, means = list(work), list(release), list(release)
    busy = [0.0] * len(work)  # integral of the time over the intervals in which the job runs
    waiting: list[tuple[float, int]] = []
    order = sorted(range(len(work)), key=release.__getitem__)
    now, at = 0.0, 0
    while at < len(order) or waiting:
        if not waiting:
            now = max(now, release[order[at]])
        while at < len(order) and release[order[at]] <= now:
            job = order[at]
            heapq.heappush(waiting, (key(job, remaining[job]), job))
            at += 1
        _, job = heapq.heappop(waiting)
        until = now + remaining[job]
        if at < len(order):
            until = min(until, release[order[at]])
        busy[job] += (until - now) * (until + now) / 2
        done = until >= now + remaining[job]
        remaining[job] = 0.0 if done else remaining[job] - (until - now)
        now = until
        if done:
            ends[job] = now
            if work[job]:
                means[job] = busy[job] / work[job]
        else:
            heapq.heappush(waiting, (key(job, remaining[job]), job))
    return ends, means
