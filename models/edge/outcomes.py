"""What a method without a proof returns: a schedule, or what there is of one."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.method import Outcome


def deliver(
    instance: EdgeInstance, schedule: EdgeSchedule, trace: Mapping[str, Any] | None = None
) -> Outcome:
    """Return a schedule of all jobs; with jobs left over, their number and the rest to look at.

    The trace gets the `sums`, or `left`, the ids of the jobs without a place.
    """
    left = [job.id for job in instance.jobs if job.id not in schedule.placements]
    if left:
        note = f"{len(left)} of {len(instance.jobs)} jobs unplaced"
        return Outcome(
            note=note, partial=schedule.to_data(instance), trace={**(trace or {}), "left": left}
        )
    return Outcome(schedule, trace={**(trace or {}), **sums(instance, schedule)})


def sums(instance: EdgeInstance, schedule: EdgeSchedule) -> dict[str, Any]:
    """Return what the objective of (2) leaves out; nothing of a batch.

    `flow_time`: sum c_j + 1 - a_j, with the last slot that the paper's value omits; `completions`:
    sum c_j, of which alone a constant factor can hold.
    """
    if instance.is_batch:
        return {}
    return {
        "flow_time": schedule.flow_time(instance),
        "completions": sum(schedule.completion(job.id) for job in instance.jobs),
    }
