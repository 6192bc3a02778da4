"""Results of algorithms that may leave jobs unplaced."""

from collections.abc import Callable, Mapping
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.placements import reported_sums
from schedgap.models.method import MethodResult, RunContext


def complete_or_partial(
    instance: EdgeInstance, schedule: EdgeSchedule, trace: Mapping[str, object] | None = None
) -> MethodResult:
    """Return a schedule of all jobs as the result, else only as a partial one.

    `schedule`: of all jobs or of some. `trace`: extended by `reported_sums`, or by `left`, the ids
    of the jobs that were not placed.
    """
    left = [job.id for job in instance.jobs if job.id not in schedule.placements]
    if left:
        note = f"{len(left)} of {len(instance.jobs)} jobs unplaced"
        return MethodResult(
            note=note, partial=schedule.to_data(instance), trace={**(trace or {}), "left": left}
        )
    return MethodResult(schedule, trace={**(trace or {}), **reported_sums(instance, schedule)})


def run_policy(
    function: Callable[..., EdgeSchedule], instance: EdgeInstance, call: RunContext, **options: Any
) -> MethodResult:
    """Run a policy as a method.

    `function`: from the instance and its options to a schedule, perhaps without some jobs.
    """
    return complete_or_partial(instance, function(instance, **options))
