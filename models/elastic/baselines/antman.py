"""AntMan: guaranteed jobs displace opportunistic ones."""

import hashlib
import math

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Job
from schedgap.models.elastic.algorithms.closed_horizon import (
    infeasible_result,
    result_within_horizon,
)
from schedgap.models.elastic.baselines.first_fit import JobPlacement, first_fit, max_workers
from schedgap.models.elastic.baselines.preemption import (
    ActiveJob,
    Assignment,
    place_or_preempt,
    simulate_preemptive,
    still_fits,
)
from schedgap.models.elastic.modes import ElasticCluster, cluster
from schedgap.models.elastic.placement import Floats
from schedgap.models.method import MethodResult, RunContext


def antman(instance: ElasticInstance, patience: int = 8, seed: int = 0) -> ElasticSchedule:
    """Guaranteed jobs get what they want, displacing opportunistic ones, who share the rest.

    The paper: two classes; a guaranteed job that waits long becomes opportunistic. Ours: which job
    is guaranteed is drawn from the seed and its id, evenly. Guaranteed jobs get the workers of
    their quickest mode, first come first served; `patience` slots of waiting end the guarantee.
    Opportunistic ones take, by arrival, as many workers of these types as fit; who can have no more
    than it has stays where it is.
    """
    view = cluster(instance)
    fallen: set[str] = set()

    def guaranteed(job: Job) -> bool:
        drawn = hashlib.sha256(f"{seed}:{job.id}".encode()).digest()[0]
        return drawn % 2 == 0 and job.id not in fallen

    def policy(now: int, active: list[ActiveJob], free: Floats) -> tuple[Assignment, float]:
        wake, holdings = math.inf, Assignment()
        sure: list[int] = []
        for k, each in enumerate(active):
            job = each.arrived_job.job
            if guaranteed(job) and each.held is None and now - each.waits_since >= patience:
                fallen.add(job.id)
            if guaranteed(job):
                sure.append(k)
        others = [each for k, each in enumerate(active) if k not in sure]
        for k in sorted(sure, key=lambda k: active[k].held is None):
            each = active[k]
            held = each.held or place_or_preempt(view, each, free, others)
            if held is None:
                wake = min(wake, each.waits_since + patience)
                continue
            holdings[k], free = held, free - held.amounts(view)
        for k, each in enumerate(active):
            if k in sure:
                continue
            held = _as_many_as_fit(view, each, free)
            if held is not None:
                holdings[k], free = held, free - held.amounts(view)
        return holdings, wake

    return simulate_preemptive(instance, policy)


def solve_antman(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `antman`."""
    if proof := infeasible_result(instance):
        return proof
    return result_within_horizon(
        instance, antman(instance, call.options["patience"], call.seed), {}
    )


def _as_many_as_fit(view: ElasticCluster, each: ActiveJob, free: Floats) -> JobPlacement | None:
    """Most workers of the job's types; what it holds, if that is as many and still free."""
    job, m, p = each.arrived_job.job, each.mode.worker_type, each.mode.ps_type
    best, low, high = None, 1, max_workers(view, job, m, p)
    while low <= high:  # where a number fits, every smaller one does
        middle = (low + high) // 2
        found = first_fit(view, job, m, p, middle, free)
        if found is None:
            high = middle - 1
        else:
            best, low = found, middle + 1
    own = each.held
    if best and own and own.mode.workers == best.mode.workers and still_fits(view, own, free):
        return own
    return best
