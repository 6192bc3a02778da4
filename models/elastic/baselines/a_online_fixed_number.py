"""Baseline of Fig. 10: A_online with one number of workers for all jobs."""

from collections.abc import Mapping

import numpy as np

from schedgap.instances.elastic import ElasticInstance, Job
from schedgap.models.elastic.algorithms.a_maxweight import ModesOf
from schedgap.models.elastic.algorithms.a_online import (
    ElasticArrivals,
    online_settings,
    serve_rounds,
)
from schedgap.models.elastic.algorithms.closed_horizon import (
    infeasible_result,
    result_within_horizon,
)
from schedgap.models.elastic.baselines.first_fit import max_workers
from schedgap.models.elastic.modes import (
    ElasticCluster,
    Mode,
    durations,
    max_central_workers,
    max_split_workers,
)
from schedgap.models.method import MethodResult, RunContext


def a_online_fixed_number(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `a-online-fixed-number`."""
    if proof := infeasible_result(instance):
        return proof
    choose = modes_with_number(call.options["workers"])
    run = serve_rounds(
        ElasticArrivals(instance, choose), online_settings(instance, modes_of=choose)
    )
    return result_within_horizon(instance, run.schedule, {"rounds": run.trace()})


def modes_with_number(workers: int) -> ModesOf:
    """Return the function that selects the modes with a given number of workers.

    Parameters
    ----------
    workers : int
        The number; where a job or the cluster does not allow it, the largest possible one.
    """

    def choose(view: ElasticCluster, job: Job) -> tuple[Mode, ...]:
        return tuple(
            Mode(m, p, number, central, int(d))
            for central in (True, False)
            for m, name in enumerate(view.worker_types)
            if name in job.train_time
            for p in _ps_of(view, job)
            for number in [min(workers, max_workers(view, job, m, p))]
            if number >= 1 and number <= _max_workers_of(view, job, m, p, central)
            for d in durations(view, job, m, p, np.array([number]), central)
        )

    return choose


def _ps_of(view: ElasticCluster, job: Job) -> list[int | None]:
    """Return the PS types that a job can use; [None] in the ring."""
    if not isinstance(job.update_time, Mapping):
        return [None]
    return [p for p, name in enumerate(view.ps_types) if name in job.update_time]


def _max_workers_of(view: ElasticCluster, job: Job, m: int, p: int | None, central: bool) -> int:
    """Return the largest number of workers of a mode on the empty cluster."""
    if central:
        return min(job.chunks, max_central_workers(view, m, p))
    return max_split_workers(view, m, p, job.chunks)
