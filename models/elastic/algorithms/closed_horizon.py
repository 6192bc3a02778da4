"""Results of algorithms that ignore a closed horizon."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import rules
from schedgap.models.method import MethodResult, RunContext

_MAX_SHOWN = 20  # violations reported in a trace


def result_within_horizon(
    instance: ElasticInstance, schedule: ElasticSchedule, trace: Mapping[str, Any]
) -> MethodResult:
    """Return the result for a schedule that may end after a closed horizon.

    `schedule`: valid except possibly for rule V4. `trace`: trace of the result.

    The result has the schedule, or a note and the violations if it ends too late.
    """
    if instance.last_end is not None:
        data = schedule.to_data(instance)
        violations = list(islice(rules.check(instance, data, {}), _MAX_SHOWN))
        if violations and all(item.rule == "V4" for item in violations):
            messages = [{"rule": item.rule, "message": item.message} for item in violations]
            note = f"the schedule ends after the closed horizon: {violations[0].message}"
            return MethodResult(note=note, partial=data, trace={**trace, "violations": messages})
    return MethodResult(schedule=schedule, trace=dict(trace))


def run_within_horizon(
    schedule_of: Callable[..., ElasticSchedule],
    instance: ElasticInstance,
    call: RunContext,
    **options: Any,
) -> MethodResult:
    """Run an algorithm with its options; its schedule may be too long.

    `schedule_of`: algorithm: instance and options to a schedule.
    """
    return result_within_horizon(instance, schedule_of(instance, **options), {})
