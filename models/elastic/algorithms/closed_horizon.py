"""Algorithms that heed no closed horizon: what they can return where there is one."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import rules, time_windows
from schedgap.models.method import MethodResult, RunContext

_SHOWN = 20  # violations kept in a trace


def infeasible_result(instance: ElasticInstance) -> MethodResult | None:
    """Return the proof that some job can never run as it must, if there is one."""
    reason = time_windows.no_schedule(instance)
    return MethodResult(infeasible=True, note=reason) if reason else None


def result_within_horizon(
    instance: ElasticInstance, schedule: ElasticSchedule, trace: Mapping[str, Any]
) -> MethodResult:
    """Return a schedule that was made without an eye on a closed horizon, if it ends in time."""
    if instance.last_end is not None:
        data = schedule.to_data(instance)
        late = list(islice(rules.check(instance, data, {}), _SHOWN))
        if late and all(item.rule == "V4" for item in late):
            words = [{"rule": item.rule, "message": item.message} for item in late]
            note = f"the schedule ends after the closed horizon: {late[0].message}"
            return MethodResult(note=note, partial=data, trace={**trace, "violations": words})
    return MethodResult(schedule=schedule, trace=dict(trace))


def run_within_horizon(
    schedule_of: Callable[..., ElasticSchedule], instance: ElasticInstance, call: RunContext
) -> MethodResult:
    """Run an algorithm with the options of a call, where there is a schedule at all."""
    proof = infeasible_result(instance)
    return proof or result_within_horizon(instance, schedule_of(instance, **call.options), {})
