"""AntMan: guaranteed jobs displace opportunistic ones (preemptive)."""

import hashlib
import math
from typing import Annotated, Any

from annotated_types import Ge

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Job
from schedgap.models.elastic.algorithms.closed_horizon import result_within_horizon
from schedgap.models.elastic.baselines.first_fit import JobPlacement, first_fit
from schedgap.models.elastic.baselines.simulation import (
    RESTART,
    ActiveJob,
    Assignment,
    Restart,
    place_or_preempt,
    simulate_preemptive,
    still_fits,
)
from schedgap.models.elastic.modes import ElasticCluster, cluster, max_workers
from schedgap.models.elastic.placement import Floats
from schedgap.models.method import MethodResult, RunContext


def antman(
    instance: ElasticInstance,
    patience: Annotated[int, "slots of waiting after which a job loses its guarantee", Ge(1)] = 8,
    seed: int = 0,
    *,
    restart: Restart = RESTART,
) -> ElasticSchedule:
    """Run guaranteed jobs first; opportunistic ones share what they leave free.

    `patience`: slots of waiting after which a guaranteed job becomes opportunistic. `restart`:
    slots that a preempted job loses when it resumes.

    Notes
    -----
    The paper: two classes; a guaranteed job that waits long becomes opportunistic. Ours: the class
    of a job is drawn from the seed and its id, with equal probability. Guaranteed jobs get the
    workers of their fastest mode, first come first served. Opportunistic ones get, by arrival, as
    many workers of the same types as fit; a job that cannot have more than it has stays where it
    is.
    """
    view = cluster(instance)
    demoted: set[str] = set()

    def guaranteed(job: Job) -> bool:
        drawn = hashlib.sha256(f"{seed}:{job.id}".encode()).digest()[0]
        return drawn % 2 == 0 and job.id not in demoted

    def policy(now: int, active: list[ActiveJob], free: Floats) -> tuple[Assignment, float]:
        next_call, assignment = math.inf, Assignment()
        guaranteed_jobs: list[int] = []
        for k, active_job in enumerate(active):
            job = active_job.arrived_job.job
            if (
                guaranteed(job)
                and active_job.held is None
                and now - active_job.waits_since >= patience
            ):
                demoted.add(job.id)
            if guaranteed(job):
                guaranteed_jobs.append(k)
        # Guaranteed jobs: running ones keep their servers, waiting ones may displace the others.
        others = [active_job for k, active_job in enumerate(active) if k not in guaranteed_jobs]
        for k in sorted(guaranteed_jobs, key=lambda k: active[k].held is None):
            active_job = active[k]
            held = active_job.held or place_or_preempt(view, active_job, free, others)
            if held is None:
                next_call = min(next_call, active_job.waits_since + patience)
                continue
            assignment[k], free = held, free - held.amounts(view)
        # Opportunistic jobs share what is left, by arrival.
        for k, active_job in enumerate(active):
            if k in guaranteed_jobs:
                continue
            held = _as_many_as_fit(view, active_job, free)
            if held is not None:
                assignment[k], free = held, free - held.amounts(view)
        return assignment, next_call

    return simulate_preemptive(instance, policy, restart)


def solve_antman(instance: ElasticInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run `antman`; `options`: its own."""
    return result_within_horizon(instance, antman(instance, seed=call.seed, **options), {})


def _as_many_as_fit(
    view: ElasticCluster, active_job: ActiveJob, free: Floats
) -> JobPlacement | None:
    """Return the largest placement of a job's types; its present one if no larger one fits."""
    job, m, p = active_job.arrived_job.job, active_job.mode.worker_type, active_job.mode.ps_type
    best, low, high = None, 1, max_workers(view, job, m, p)
    while low <= high:  # where a number fits, every smaller one does
        middle = (low + high) // 2
        placement = first_fit(view, job, m, p, middle, free)
        if placement is None:
            high = middle - 1
        else:
            best, low = placement, middle + 1
    present = active_job.held
    if (
        best
        and present
        and present.mode.workers == best.mode.workers
        and still_fits(view, present, free)
    ):
        return present
    return best
