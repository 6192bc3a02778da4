"""When a job can run in an optimal schedule: from its arrival to an end that a schedule proves."""

import math
from dataclasses import dataclass

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import modes

_MARGIN = 1e-6  # in slots: without it, rounding cuts optima off


@dataclass(frozen=True, slots=True)
class JobWindows:
    """For each job the first slot, and the largest start + duration."""

    first: tuple[int, ...]
    end: tuple[int, ...]

    @property
    def slots(self) -> int:
        """The last slot that any job uses."""
        return max(self.end) - 1


def shortest(instance: ElasticInstance, job: int) -> int | None:
    """Return the least duration of a job in slots; None when it has no placement."""
    return min((mode.duration for mode in modes(instance, job)), default=None)


def earliest(instance: ElasticInstance) -> list[int] | None:
    """Return each job's least start + duration; None when a job has no placement."""
    least = [shortest(instance, j) for j in range(len(instance.jobs))]
    if any(d is None for d in least):
        return None
    return [job.arrival + d for job, d in zip(instance.jobs, least, strict=True) if d is not None]


def windows(instance: ElasticInstance, upper: float | None) -> JobWindows | None:
    """Return the windows that hold an optimal schedule.

    Parameters
    ----------
    upper : float or None
        Value of a known schedule; plays no part in a batch problem, where the deadline is the end.

    Returns
    -------
    Windows or None
        None when nothing ends the horizon: it is open and no schedule is known. A job that is late
        by x in some schedule costs w_j x more than at its earliest, all others at least theirs.
    """
    first = tuple(job.arrival for job in instance.jobs)
    last, least = instance.last_end, earliest(instance)
    if instance.is_batch or upper is None or least is None:
        return None if last is None else JobWindows(first, (last,) * len(first))
    weights = [job.weight for job in instance.jobs]
    slack = upper - math.fsum(w * c for w, c in zip(weights, least, strict=True))
    slack += 1e-12 * abs(upper)
    ends = [
        max(c, math.floor(slack / w + c + _MARGIN)) for w, c in zip(weights, least, strict=True)
    ]
    return JobWindows(first, tuple(ends if last is None else [min(end, last) for end in ends]))


def no_schedule(instance: ElasticInstance) -> str | None:
    """Return why there is no schedule, where single jobs show it; batch problems always have one.

    A job without a placement on the empty cluster, or one that cannot end in a closed horizon.
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
