"""AntMan: guaranteed jobs displace opportunistic ones (preemptive)."""

import hashlib
import math
from bisect import bisect_left
from typing import Annotated, Any

from annotated_types import Ge

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Job
from schedgap.models.elastic.algorithms.closed_horizon import result_within_horizon
from schedgap.models.elastic.algorithms.pricing import PricedRun
from schedgap.models.elastic.baselines.simulation import (
    RESTART,
    ActiveJob,
    Assignment,
    Restart,
    place_or_preempt,
    simulate_preemptive,
    still_fits,
)
from schedgap.models.elastic.modes import cluster, max_workers
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
    many workers of the same types as fit. A job that cannot have more than it has stays where it
    is.
    """
    view = cluster(instance)
    demoted: set[str] = set()

    def guaranteed(job: Job) -> bool:
        drawn = hashlib.sha256(f"{seed}:{job.id}".encode()).digest()[0]
        return drawn % 2 == 0 and job.id not in demoted

    def policy(now: int, active: list[ActiveJob], free: Floats) -> tuple[Assignment, float]:
        for each in active:
            if each.held is None and now - each.waits_since >= patience:
                demoted.add(each.job.id)
        first = [k for k, each in enumerate(active) if guaranteed(each.job)]
        # Guaranteed jobs: running ones keep their servers, waiting ones may displace the others.
        first.sort(key=lambda k: active[k].held is None)
        others = [k for k in range(len(active)) if k not in first]
        assignment, next_call = Assignment(), math.inf
        for k in [*first, *others]:
            each = active[k]
            if k in first:
                held = each.held or place_or_preempt(each, free, [active[k] for k in others])
            else:  # opportunistic jobs share what is left, by arrival
                held = _as_many_as_fit(each, free)
            if held is not None:
                assignment[k], free = held, free - held.amounts(view)
            elif k in first:
                next_call = min(next_call, each.waits_since + patience)
        return assignment, next_call

    return simulate_preemptive(instance, policy, restart)


def solve_antman(instance: ElasticInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run `antman`; `options`: its own."""
    return result_within_horizon(instance, antman(instance, seed=call.seed, **options), {})


def _as_many_as_fit(active: ActiveJob, free: Floats) -> PricedRun | None:
    """Return the largest placement of a job's types; its present one if no larger one fits."""
    present, most = active.held, max_workers(active.view, active.job, *active.mode[:2])
    # Where a number fits, every smaller one does.
    number = bisect_left(range(1, most + 1), True, key=lambda n: active.placed(free, n) is None)
    best = active.placed(free, number) if number else None
    if best and present and present.mode.workers == best.mode.workers:
        return present if still_fits(active.view, present, free) else best
    return best
