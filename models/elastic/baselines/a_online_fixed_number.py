"""Baseline of Fig. 10: A_online with one number of workers for all jobs."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from schedgap.instances.elastic import ElasticInstance, Job
from schedgap.models.elastic.algorithms.a_maxweight import ModesOf
from schedgap.models.elastic.algorithms.a_online import a_online
from schedgap.models.elastic.algorithms.closed_horizon import result_within_horizon
from schedgap.models.elastic.modes import (
    ElasticCluster,
    Mode,
    durations,
    max_workers,
    usable_types,
)
from schedgap.models.method import MethodResult, RunContext

Workers = Annotated[int, "workers of each job, where job and cluster allow that many", Ge(1)]


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
