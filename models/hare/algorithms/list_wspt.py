"""Algorithm 1 in orders that need no relaxation (ours): Smith's order, or by earliest start.

References
----------
W. E. Smith, "Various optimizers for single-stage production", Naval Research Logistics Quarterly 3
(1956).
"""

from typing import Annotated, Literal

import numpy as np

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.algorithms.algorithm_1 import Floats, GpuRule, algorithm_1


def list_wspt(instance: HareInstance, gpu_rule: GpuRule = "finish") -> HareSchedule:
    """Run Algorithm 1 on the jobs in Smith's order.

    Parameters
    ----------
    gpu_rule : "finish" or "available"
        As in `algorithm_1`.
    """
    view = arrays(instance)
    key = smith_ratio(instance)[view.task_job]
    schedule: HareSchedule = algorithm_1(instance, key, gpu_rule=gpu_rule).schedule
    return schedule


def list_schedule(
    instance: HareInstance,
    order: Annotated[
        Literal["start", "smith"],
        "tasks by their earliest start if their job ran alone, or jobs in Smith's order",
    ] = "start",
    gpu_rule: Annotated[
        Literal["finish", "available"],
        "GPU that synchronizes the task first, or that is free first",
    ] = "finish",
) -> HareSchedule:
    """Run Algorithm 1 in an order that needs no relaxation."""
    if order == "smith":
        return list_wspt(instance, gpu_rule)
    view = arrays(instance)
    schedule: HareSchedule = algorithm_1(instance, view.head, gpu_rule=gpu_rule).schedule
    return schedule


def smith_ratio(instance: HareInstance) -> Floats:
    """Return [n] work / weight of each job; infinite for weight 0.

    The work of a job is the training time of all its tasks, each on its fastest GPU.
    """
    view = arrays(instance)
    work = np.bincount(view.task_job, weights=view.train.min(axis=1))
    infinite = np.full(view.jobs, np.inf)
    return np.asarray(np.divide(work, view.weight, out=infinite, where=view.weight > 0))
