"""A first schedule for the exact methods: its value is what their windows come from."""

import numpy as np

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.algorithm import algorithm_1, list_wspt
from schedgap.models.hare.windows import Synchronization


def starting_schedule(
    instance: HareInstance, synchronization: Synchronization = "relaxed"
) -> HareSchedule:
    """Return the best of a few list schedules of the variant.

    A relaxed schedule's value must not bound the fixed variant, whose optimum can be higher.
    """
    if synchronization == "fixed":
        return _together(instance)
    view = arrays(instance)
    found = [list_wspt(instance, "finish"), list_wspt(instance, "available")]
    middle = view.head + view.fastest / 2
    found += [algorithm_1(instance, middle, gpu_rule="finish")]
    return min(found, key=lambda schedule: schedule.value(instance))


def _together(instance: HareInstance) -> HareSchedule:
    """Place whole rounds in Smith's order of the jobs, each on the GPUs that are free first."""
    view = arrays(instance)
    work = np.bincount(view.task_job, weights=view.train.min(axis=1))
    key = np.divide(work, view.weight, out=np.full(view.jobs, np.inf), where=view.weight > 0)
    start, gpu = np.zeros(view.tasks), np.zeros(view.tasks, dtype=np.int64)
    free = np.zeros(view.gpus)
    for n in np.argsort(key, kind="stable"):
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
