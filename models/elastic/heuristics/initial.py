"""First schedules and the search state with which exact methods and bounds start.

It joins the list schedules, the bound of every job alone, and the time windows that follow from a
schedule. In a list, each job takes the cheapest run that still fits: the serial schedule generation
scheme.

References
----------
R. Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited: theory
and computation", European Journal of Operational Research 90 (1996).
"""

import math
from collections.abc import Iterator

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.bounds.job_alone import job_alone
from schedgap.models.elastic.heuristics.list_schedules import (
    Stop,
    list_schedule,
    one_by_one,
    wspt_order,
)
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.programs.columns import fits_together, runs_from, schedule_of
from schedgap.models.elastic.programs.weights import VALUE_TOLERANCE, value_step
from schedgap.models.elastic.time_windows import ElasticWindows, no_schedule, windows
from schedgap.models.method import RunContext
from schedgap.models.search_state import SearchState

SHARE = 0.2  # fraction of the time for the first schedules


def starting_schedule(
    instance: ElasticInstance, stop: Stop = lambda: False
) -> ElasticSchedule | None:
    """Return the best of `starting_schedules`; None where no list ends within a closed horizon.

    `stop`: returns True when time is up.
    """
    sign = -1.0 if instance.is_batch else 1.0
    return min(
        starting_schedules(instance, stop),
        key=lambda schedule: sign * schedule.value(instance),
        default=None,
    )


def starting_schedules(
    instance: ElasticInstance, stop: Stop = lambda: False
) -> Iterator[ElasticSchedule]:
    """Yield feasible schedules of two lists: by least volume / weight, and by arrival.

    The first one does not depend on the time limit.

    `stop`: returns True when time is up.
    """
    if no_schedule(instance) is not None:
        return
    ranked = [j for j in wspt_order(instance) if modes(instance, j)]
    yielded = False
    for order in ranked, sorted(ranked, key=lambda j: instance.jobs[j].arrival):
        if yielded and stop():
            return
        runs = list_schedule(instance, order, stop=stop)
        if runs is None and not yielded:
            runs = one_by_one(instance, order)
        if runs is not None:
            yielded = True
            yield schedule_of(instance, runs)


def known_windows(instance: ElasticInstance) -> ElasticWindows:
    """Return the time windows given by a first schedule, a closed horizon or a deadline."""
    start = starting_schedule(instance)
    span = windows(instance, None if start is None else start.value(instance))
    if span is None:  # an open horizon, and some job has no placement: infeasible
        first = tuple(job.arrival for job in instance.jobs)
        return ElasticWindows(first, first)
    return span


def initial_state(instance: ElasticInstance, call: RunContext) -> SearchState:
    """Return the search state with the first schedules, and the bound by jobs alone.

    Values are minimised: in a batch problem they are minus the weight. Where the values have no
    common step, values that differ by less than `VALUE_TOLERANCE` count as equal.
    """
    sign, step = -1.0 if instance.is_batch else 1.0, value_step(instance)

    def round_up(bound: float) -> float:
        """Round a bound up to the step of all values, less round-off and an engine's tolerance."""
        if step is None:
            return bound
        return math.ceil(bound / step - max(1e-6, 1e-9 * abs(bound / step))) * step

    state = SearchState(
        call,
        lambda schedule: sign * schedule.value(instance),
        to_objective=lambda value: sign * value,
        round_bound=round_up,
        normalise=lambda s: s if fits_together(instance, runs_from(instance, s)) else None,
        tolerance=1e-13 if step is not None else 2 * VALUE_TOLERANCE,
    )
    alone = sign * job_alone(instance)
    state.bound(alone, {"kind": "no-contention"})
    for schedule in starting_schedules(instance, call.clock.share(SHARE).expired):
        state.incumbent(schedule)
        if state.closed:
            break
    return state
