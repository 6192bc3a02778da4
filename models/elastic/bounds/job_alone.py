"""The bound `job-alone`: every job by itself in its fastest mode.

It drops all capacity rows that link the jobs, so each job completes no later than in any schedule.
In project scheduling this is the critical-path bound.

References
----------
J. E. Kelley, "Critical-path planning and scheduling: mathematical basis", Operations Research 9
(1961).
"""

import math

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.time_windows import earliest, shortest
from schedgap.models.method import MethodResult, RunContext


def job_alone(instance: ElasticInstance) -> float:
    """Return the value of every job alone in its fastest mode; in a batch, of the jobs in time."""
    if instance.is_batch:
        return math.fsum(
            job.weight
            for j, job in enumerate(instance.jobs)
            if (d := shortest(instance, j)) and job.arrival + d <= (instance.last_end or 0)
        )
    ends = earliest(instance)
    if ends is None:
        return math.inf
    return math.fsum(job.weight * end for job, end in zip(instance.jobs, ends, strict=True))


def job_alone_bound(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `job-alone`."""
    bound = job_alone(instance)
    return MethodResult(bound=bound, certificate={"kind": "no-contention", "value": bound})
