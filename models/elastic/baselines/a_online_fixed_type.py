"""Baseline of Fig. 9: A_online with one worker type for all jobs."""

from typing import Annotated

from annotated_types import Ge

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance, Job
from schedgap.models.elastic.algorithms.a_online import a_online
from schedgap.models.elastic.algorithms.closed_horizon import result_within_horizon
from schedgap.models.elastic.modes import ElasticCluster, Mode, job_modes
from schedgap.models.method import MethodResult, RunContext


def a_online_fixed_type(
    instance: ElasticInstance,
    call: RunContext,
    *,
    worker_type: Annotated[int, "its position in the list of worker types", Ge(1)] = 1,
) -> MethodResult:
    """Run `a-online-fixed-type`; a job that cannot use the type does not prove infeasibility."""
    count = len(instance.worker_types)
    if worker_type > count:
        raise UsageError(f"option worker_type={worker_type}: there are {count} worker types")
    name = instance.worker_types[worker_type - 1].id

    def of_type(view: ElasticCluster, job: Job) -> tuple[Mode, ...]:
        return tuple(m for m in job_modes(view, job) if m.worker_type == worker_type - 1)

    schedule = a_online(instance, modes_of=of_type).schedule
    if schedule is None:
        return MethodResult(note=f"some job cannot run on worker type {name} alone")
    return result_within_horizon(instance, schedule, {"worker_type": name})
