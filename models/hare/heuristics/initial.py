"""Initial search state of the exact methods: list schedules and the critical-path bound.

Joins `algorithms` and `bounds.certificates` to `SearchState`; the value of the first schedule gives
the time windows of the programs.
"""

from collections.abc import Iterator

import numpy as np

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.instances.hare.scale import grid
from schedgap.models.hare.algorithms.algorithm_1 import algorithm_1
from schedgap.models.hare.algorithms.list_wspt import list_wspt, smith_ratio
from schedgap.models.hare.bounds.certificates import critical_certificate
from schedgap.models.hare.decode import left_shifted_schedule, to_schedule, to_steps, value_of
from schedgap.models.hare.integer_time import Synchronization, steps
from schedgap.models.method import RunContext
from schedgap.models.search_state import SearchState

CLOSE = 5e-7  # relative; closer values count as equal if there is no grid


def initial_state(
    instance: HareInstance, call: RunContext, synchronization: Synchronization
) -> SearchState:
    """Return the search state of the best list schedule and the critical paths.

    Values are in grid steps; if there is no grid, they are in the instance's units.

    `synchronization`: variant of the problem.
    """
    if grid(instance) is None:
        state = SearchState(
            call,
            lambda schedule: schedule.value(instance),
            normalise=lambda schedule: left_shifted_schedule(instance, schedule, synchronization),
            tolerance=CLOSE,
        )
        state.bound(*critical_certificate(instance))
    else:
        whole = steps(instance)

        def shift_left(schedule: HareSchedule) -> HareSchedule:
            """Return the left-shifted schedule, whose value is on the grid."""
            begin = to_steps(instance, schedule, synchronization)
            return to_schedule(instance, begin, schedule.gpu)

        def measure(schedule: HareSchedule) -> int:
            begin = np.round(schedule.start / float(whole.step)).astype(np.int64)
            return value_of(instance, begin, schedule.gpu)

        state = SearchState(
            call,
            measure,
            to_objective=whole.to_objective,
            round_bound=round,
            normalise=shift_left,
            tolerance=0,
        )
        state.trace["step"] = str(whole.step)
        state.bound(whole.critical_path_value, critical_certificate(instance)[1])
    for schedule in starting_schedules(instance, synchronization):
        state.incumbent(schedule)
        if state.closed or state.call.clock.expired():
            break
    return state


def starting_schedule(
    instance: HareInstance, synchronization: Synchronization = "relaxed"
) -> HareSchedule:
    """Return the best of a few list schedules.

    `synchronization`: variant of the problem.
    """
    schedules = starting_schedules(instance, synchronization)
    return min(schedules, key=lambda schedule: schedule.value(instance))


def starting_schedules(
    instance: HareInstance, synchronization: Synchronization = "relaxed"
) -> Iterator[HareSchedule]:
    """Yield a few list schedules.

    `synchronization`: variant of the problem. The optimum of the fixed variant can be higher, so
    the value of a relaxed schedule does not bound it.
    """
    if synchronization == "fixed":
        yield _rounds_together(instance)
        return
    view = arrays(instance)
    yield list_wspt(instance, "finish")
    yield algorithm_1(instance, view.head + view.fastest / 2, gpu_rule="finish").schedule
    yield list_wspt(instance, "available")


def _rounds_together(instance: HareInstance) -> HareSchedule:
    """Return the schedule of whole rounds in Smith's order, each on the first free GPUs."""
    view = arrays(instance)
    start, gpu = np.zeros(view.tasks), np.zeros(view.tasks, dtype=np.int64)
    free = np.zeros(view.gpus)
    for n in np.argsort(smith_ratio(instance), kind="stable"):
        ready = view.arrival[n]
        for q in range(view.job_rounds[n], view.job_rounds[n + 1]):
            tasks = np.arange(view.round_tasks[q], view.round_tasks[q + 1])
            chosen = np.argsort(np.maximum(free, ready), kind="stable")[: len(tasks)]
            begin = max(ready, free[chosen].max())
            kinds = view.gpu_class[chosen]
            start[tasks], gpu[tasks] = begin, chosen
            free[chosen] = begin + view.train[tasks, kinds]
            ready = (begin + view.duration[tasks, kinds]).max()
    return HareSchedule(gpu, start)
