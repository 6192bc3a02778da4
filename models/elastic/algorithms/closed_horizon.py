"""Results of algorithms that ignore a closed horizon, on instances that have one."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import rules, time_windows
from schedgap.models.method import MethodResult, RunContext

_MAX_SHOWN = 20  # violations reported in a trace


def infeasible_result(instance: ElasticInstance) -> MethodResult | None:
    """Return the result that proves infeasibility if some job can never run; None otherwise."""
    reason = time_windows.no_schedule(instance)
    return MethodResult(infeasible=True, note=reason) if reason else None


def result_within_horizon(
    instance: ElasticInstance, schedule: ElasticSchedule, trace: Mapping[str, Any]
) -> MethodResult:
    """Return the result for a schedule that may end after a closed horizon.

    Parameters
    ----------
    schedule : ElasticSchedule
        Valid except possibly for rule V4.
    trace : mapping
        Trace of the result.

    Returns
    -------
    MethodResult
        With the schedule, or with a note and the violations where it ends too late.
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
    schedule_of: Callable[..., ElasticSchedule], instance: ElasticInstance, call: RunContext
) -> MethodResult:
    """Run an algorithm with the options of a call, unless no schedule exists.

    Parameters
    ----------
    schedule_of : callable
        Algorithm: instance and options to a schedule.
    """
    proof = infeasible_result(instance)
    return proof or result_within_horizon(instance, schedule_of(instance, **call.options), {})
