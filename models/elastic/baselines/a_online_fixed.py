"""Baselines of Figs. 9 and 10: A_online with one worker type, or one number, for all jobs."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance, Job
from schedgap.models.elastic.algorithms.a_maxweight import ModesOf
from schedgap.models.elastic.algorithms.a_online import a_online
from schedgap.models.elastic.algorithms.closed_horizon import result_within_horizon
from schedgap.models.elastic.modes import (
    ElasticCluster,
    Mode,
    durations,
    job_modes,
    max_workers,
    usable_types,
)
from schedgap.models.method import MethodResult, RunContext

Workers = Annotated[int, "workers of each job, where job and cluster allow that many", Ge(1)]


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


def a_online_fixed_number(
    instance: ElasticInstance, call: RunContext, *, workers: Workers = 8
) -> MethodResult:
    """Run `a-online-fixed-number`."""
    run = a_online(instance, modes_of=modes_with_number(workers))
    return result_within_horizon(instance, run.schedule, {"rounds": run.trace["rounds"]})


def modes_with_number(workers: int) -> ModesOf:
    """Return the function that selects the modes with a given number of workers.

    `workers`: the number; where a job or the cluster does not allow it, the largest possible one.
    """

    def choose(view: ElasticCluster, job: Job) -> tuple[Mode, ...]:
        return tuple(
            Mode(m, p, number, central, int(d))
            for central in (True, False)
            for m, p in usable_types(view, job)
            for number in [min(workers, max_workers(view, job, m, p))]
            if 1 <= number <= max_workers(view, job, m, p, central=central)
            for d in durations(view, job, m, p, np.array([number]), central)
        )

    return choose
