"""Offered load of family `hare`."""

import math

from schedgap.instances.hare.instance import HareInstance, Job, Task, time_on

MACHINES = "gpus"  # setting with the number of machines


def work(instance: HareInstance) -> float:
    """Return the time in which all GPUs together complete all tasks.

    GPU m completes 1 / T^c of a task per unit of time. So all GPUs together need
    1 / sum_m (1 / T^c_m) for it. Synchronization leaves the GPU free and does not count.
    """
    return math.fsum(
        number * _shared(instance, task) for job in instance.jobs for _, task, number in job.times()
    )


def span(instance: HareInstance) -> float:
    """Return the time from the first to the last arrival.

    If all jobs arrive at once, it is the time that the longest job needs alone.
    """
    arrivals = [job.arrival for job in instance.jobs]
    return max(arrivals) - min(arrivals) or max(_alone(instance, job) for job in instance.jobs)


def _shared(instance: HareInstance, task: Task) -> float:
    return 1 / math.fsum(1 / time_on(task.training_time, gpu) for gpu in instance.gpus)


def _alone(instance: HareInstance, job: Job) -> float:
    """Return how long the rounds of a job take with a fastest GPU for each task."""
    if job.alike is not None:
        return job.number_of_rounds * _fastest(instance, job.alike)
    return math.fsum(
        max(_fastest(instance, task) for task in job.tasks_of(r))
        for r in range(job.number_of_rounds)
    )


def _fastest(instance: HareInstance, task: Task) -> float:
    sync = task.synchronization_time
    return min(
        time_on(task.training_time, gpu) + (time_on(sync, gpu) if sync else 0.0)
        for gpu in instance.gpus
    )
