"""Time windows of jobs: from the arrival to the latest completion in an optimal schedule."""

import math
from dataclasses import dataclass

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import modes

_MARGIN = 1e-6  # slots added, because rounding must exclude no optimal completion


@dataclass(frozen=True, slots=True)
class ElasticWindows:
    """First slot of each job, and its largest start + duration."""

    first: tuple[int, ...]
    end: tuple[int, ...]

    @property
    def slots(self) -> int:
        """The last slot that any job can use."""
        return max(self.end) - 1


def shortest(instance: ElasticInstance, job: int) -> int | None:
    """Return the duration of the fastest mode of a job in slots; None when it has no placement."""
    return min((mode.duration for mode in modes(instance, job)), default=None)


def earliest(instance: ElasticInstance) -> list[int] | None:
    """Return the smallest start + duration of each job; None when some job has no placement."""
    least = [shortest(instance, j) for j in range(len(instance.jobs))]
    if any(d is None for d in least):
        return None
    return [job.arrival + d for job, d in zip(instance.jobs, least, strict=True) if d is not None]


def windows(instance: ElasticInstance, upper: float | None) -> ElasticWindows | None:
    """Return time windows that contain an optimal schedule.

    `upper`: value of a feasible schedule. A batch problem does not use it: there the deadline ends
    the windows.

    The result is None if the horizon is open and no schedule is given: nothing then limits
    completion.

    Notes
    -----
    Let e_j be the earliest start + duration of job j. Any schedule costs at least sum_i w_i e_i,
    and a job that completes x slots after e_j adds w_j x. In a schedule of value at most `upper`
    therefore x <= (upper - sum_i w_i e_i) / w_j.
    """
    first = tuple(job.arrival for job in instance.jobs)
    last, earliest_ends = instance.last_end, earliest(instance)
    if instance.is_batch or upper is None or earliest_ends is None:
        return None if last is None else ElasticWindows(first, (last,) * len(first))
    weights = [job.weight for job in instance.jobs]
    slack = upper - math.fsum(w * c for w, c in zip(weights, earliest_ends, strict=True))
    slack += 1e-12 * abs(upper)
    ends = [
        max(c, math.floor(slack / w + c + _MARGIN))
        for w, c in zip(weights, earliest_ends, strict=True)
    ]
    return ElasticWindows(first, tuple(ends if last is None else [min(end, last) for end in ends]))


def no_schedule(instance: ElasticInstance) -> str | None:
    """Return why no schedule exists, if a single job shows it; None otherwise.

    A job may have no placement on the empty cluster, or be unable to end within a closed horizon. A
    batch problem always has a schedule: the empty one.
    """
    if instance.is_batch:
        return None
    for j, job in enumerate(instance.jobs):
        least = shortest(instance, j)
        if least is None:
            return f"job {job.id} fits on no servers"
        if instance.last_end is not None and job.arrival + least > instance.last_end:
            return f"job {job.id} cannot end by slot {instance.horizon}"
    return None
