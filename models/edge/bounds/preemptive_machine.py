"""All workers of a type as one preemptive machine (ours): mean busy times, and least work first."""

import heapq
import math
from collections.abc import Callable, Sequence

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.instances.verdict import TOLERANCE
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.decisions import Problem, problem


def srpt(instance: EdgeInstance) -> float:
    """Return `srpt-bound`: all workers of a type as one preemptive machine, without rate limits.

    The larger of two sums over all jobs, and never below the jobs alone:

    - C_j - a_j where the job with the least remaining work runs (optimal on one machine);
    - M_j + d_j / 2 - a_j with the mean busy times M_j where the job with the least work runs, and
      d_j its shortest mode: a run at a constant rate ends half its length after its mean busy time.

    Works for (2), where each job has a schedule. A job's work is what it needs together with its
    PS, less the tolerance of the rules; it is released when the first server is ready. With the
    rate limited by the chunks the first sum is no bound: remaining work is not optimal then.
    """
    view = problem(instance)
    ends = sum(_by_type(view, worker_type)[0] for worker_type in range(view.workers.shape[1]))
    means = sum(_by_type(view, worker_type)[1] for worker_type in range(view.workers.shape[1]))
    # Sums of a few hundred jobs in floating point: far better than 1e-6.
    return float(max(math.ceil(max(ends, means) - 1e-6), job_bound(view)))


def _by_type(view: Problem, worker_type: int) -> tuple[float, float]:
    """Return both sums for the jobs of one worker type."""
    tasks = [task for task in view.tasks if task.worker_type == worker_type]
    speed = int(view.workers[:, worker_type].sum())
    if not tasks or not speed:
        return 0.0, 0.0
    given = arrays(view.instance)
    work = [max(0.0, float(given.work[task.job, 1]) - TOLERANCE) / speed for task in tasks]
    release = [float(task.ready.min() - 1) for task in tasks]
    arrivals = sum(task.arrival for task in tasks)
    ends = _machine(release, work, lambda job, left: left)[0]
    means = _machine(release, work, lambda job, left: work[job])[1]
    shortest = sum(min(mode.duration for mode in task.modes) for task in tasks) / 2
    return sum(ends) - arrivals, sum(means) + shortest - arrivals


def _machine(
    release: Sequence[float], work: Sequence[float], key: Callable[[int, float], float]
) -> tuple[list[float], list[float]]:
    """Run jobs on one preemptive machine, always one with the least key of those released.

    Returns
    -------
    ends, means : list of float
        Completion and mean busy time of each job; both its release for a job without work.
    """
    left, ends, means = list(work), list(release), list(release)
    busy = [0.0] * len(work)  # integral of the time over the job's runs
    waiting: list[tuple[float, int]] = []
    order = sorted(range(len(work)), key=release.__getitem__)
    now, at = 0.0, 0
    while at < len(order) or waiting:
        if not waiting:
            now = max(now, release[order[at]])
        while at < len(order) and release[order[at]] <= now:
            job = order[at]
            heapq.heappush(waiting, (key(job, left[job]), job))
            at += 1
        _, job = heapq.heappop(waiting)
        until = now + left[job]
        if at < len(order):
            until = min(until, release[order[at]])
        busy[job] += (until - now) * (until + now) / 2
        done = until >= now + left[job]
        left[job] = 0.0 if done else left[job] - (until - now)
        now = until
        if done:
            ends[job] = now
            if work[job]:
                means[job] = busy[job] / work[job]
        else:
            heapq.heappush(waiting, (key(job, left[job]), job))
    return ends, means
