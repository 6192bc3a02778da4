"""The bound `job-alone`: every job by itself at its quickest."""

import math

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.time_windows import earliest, no_schedule, shortest
from schedgap.models.method import MethodResult, RunContext


def job_alone(instance: ElasticInstance) -> float:
    """Return the value of every job alone at its quickest; of a batch, of all jobs in time."""
    if instance.is_batch:
        return math.fsum(
            job.weight
            for j, job in enumerate(instance.jobs)
            for d in [shortest(instance, j)]
            if d is not None and job.arrival + d <= (instance.last_end or 0)
        )
    ends = earliest(instance)
    if ends is None:
        return math.inf
    return math.fsum(job.weight * end for job, end in zip(instance.jobs, ends, strict=True))


def job_alone_bound(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run every job alone."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    bound = job_alone(instance)
    return MethodResult(bound=bound, certificate={"kind": "no-contention", "value": bound})
