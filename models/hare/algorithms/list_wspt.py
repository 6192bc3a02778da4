"""Algorithm 1 with the jobs in Smith's order (ours): least work by weight first."""

import numpy as np

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.algorithms.algorithm_1 import GpuRule, algorithm_1


def list_wspt(instance: HareInstance, gpu_rule: GpuRule = "finish") -> HareSchedule:
    """Run Algorithm 1 on Smith's order of the jobs.

    Work is the training time of all tasks, each on its fastest GPU; jobs of weight 0 come last.

    Parameters
    ----------
    gpu_rule : "finish" or "available"
        As in `algorithm_1`.
    """
    view = arrays(instance)
    work = np.bincount(view.task_job, weights=view.train.min(axis=1))
    key = np.divide(work, view.weight, out=np.full(view.jobs, np.inf), where=view.weight > 0)
    schedule: HareSchedule = algorithm_1(instance, key[view.task_job], gpu_rule=gpu_rule).schedule
    return schedule
