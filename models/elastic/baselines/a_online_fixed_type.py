"""Baseline of Fig. 9: A_online with one worker type for all jobs."""

from typing import Annotated

from annotated_types import Ge

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.a_online import a_online
from schedgap.models.elastic.algorithms.closed_horizon import result_within_horizon
from schedgap.models.elastic.time_windows import no_schedule
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
    restricted = _with_one_type(instance, worker_type - 1)
    if restricted is None or no_schedule(restricted) is not None:
        return MethodResult(note=f"some job cannot run on worker type {name} alone")
    return result_within_horizon(instance, a_online(restricted).schedule, {"worker_type": name})


def _with_one_type(instance: ElasticInstance, worker_type: int) -> ElasticInstance | None:
    """Return the instance with all other worker types barred; None if a job cannot use this one."""
    name = instance.worker_types[worker_type].id
    if any(name not in job.train_time for job in instance.jobs):
        return None
    jobs = [
        {**job, "train_time": {name: job["train_time"][name]}} for job in instance.to_data()["jobs"]
    ]
    return ElasticInstance.from_data({**instance.to_data(), "jobs": jobs})
