"""What is returned where a job may find no place: a whole schedule, or what there is of one."""

from collections.abc import Callable, Mapping
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.decisions import no_schedule
from schedgap.models.edge.placements import sums
from schedgap.models.method import MethodResult, RunContext


def deliver(
    instance: EdgeInstance, schedule: EdgeSchedule, trace: Mapping[str, Any] | None = None
) -> MethodResult:
    """Return a schedule of all jobs; with jobs left over, their number and the rest to look at.

    The trace gets the `sums`, or `left`, the ids of the jobs without a place.
    """
    left = [job.id for job in instance.jobs if job.id not in schedule.placements]
    if left:
        note = f"{len(left)} of {len(instance.jobs)} jobs unplaced"
        return MethodResult(
            note=note, partial=schedule.to_data(instance), trace={**(trace or {}), "left": left}
        )
    return MethodResult(schedule, trace={**(trace or {}), **sums(instance, schedule)})


def run_policy(
    function: Callable[..., EdgeSchedule],
    instance: EdgeInstance,
    call: RunContext,
    *,
    proves: bool = True,
) -> MethodResult:
    """Run a function from an instance and its options to a schedule, which may leave jobs out.

    `proves`: a job that cannot end in time settles that there is no schedule. Without transfer
    delays such a job may still run.
    """
    if proves and (reason := no_schedule(instance)):
        return MethodResult(infeasible=True, note=reason)
    return deliver(instance, function(instance, **call.options))
