"""Schedules from integer starts, and integer starts from the order of tasks on each GPU."""

import numpy as np
from numpy.typing import ArrayLike

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.integer_time import Ints, Synchronization, steps


def to_schedule(instance: HareInstance, start: ArrayLike, gpu: ArrayLike) -> HareSchedule:
    """Return the schedule with given starts and GPUs, in the instance's time unit.

    Parameters
    ----------
    start : array [i]
        Start of each task, in steps.
    gpu : array [i]
        Index of its GPU in `instance.gpus`.
    """
    step = steps(instance).step
    times = [float(int(t) * step) for t in np.asarray(start)]
    return HareSchedule(np.asarray(gpu, dtype=np.int64), np.array(times))


def to_steps(
    instance: HareInstance,
    schedule: HareSchedule,
    synchronization: Synchronization = "relaxed",
) -> Ints:
    """Return the starts [i] of a schedule in steps, after a left shift.

    Parameters
    ----------
    schedule : HareSchedule
        Only its GPUs and the order of its starts matter.
    synchronization : "relaxed" or "fixed"
        With `fixed`, the tasks of a round keep a common start.
    """
    step = float(steps(instance).step)
    return left_shifted(instance, np.round(schedule.start / step), schedule.gpu, synchronization)


def value_of(instance: HareInstance, start: ArrayLike, gpu: ArrayLike) -> int:
    """Return sum w_n C_n of a schedule, in grid steps.

    Parameters
    ----------
    start : array [i]
        Start of each task, in steps.
    gpu : array [i]
        Index of its GPU in `instance.gpus`.
    """
    view, whole = arrays(instance), steps(instance)
    task = np.arange(view.tasks)
    ends = np.asarray(start) + whole.duration[task, view.gpu_class[np.asarray(gpu)]]
    completion = np.maximum.reduceat(ends, view.round_tasks[view.job_rounds[:-1]])
    return int(whole.weight @ completion)


def assign_gpus(instance: HareInstance, start: ArrayLike, kind: ArrayLike) -> Ints:
    """Return the GPU [i] of each task, given its start and its class of equal GPUs.

    Parameters
    ----------
    start : array [i]
        Start of each task, in steps; in no class do more tasks train at once than it has GPUs.
    kind : array [i]
        Class k of GPUs of each task.

    Notes
    -----
    Greedy colouring of an interval graph: in order of their starts, each task takes the GPU that
    became free last among those that are free. It succeeds whenever no moment has more intervals
    than GPUs.
    """
    view, whole = arrays(instance), steps(instance)
    begin, classes = np.asarray(start), np.asarray(kind)
    gpu = np.full(view.tasks, -1, dtype=np.int64)
    free = [0] * view.gpus
    for i in np.lexsort((np.arange(view.tasks), begin)):
        idle = [m for m in view.class_gpus[classes[i]] if free[m] <= begin[i]]
        gpu[i] = max(idle, key=free.__getitem__)
        free[gpu[i]] = int(begin[i] + whole.train[i, classes[i]])
    return gpu


def left_shifted(
    instance: HareInstance,
    start: ArrayLike,
    gpu: ArrayLike,
    synchronization: Synchronization = "relaxed",
) -> Ints:
    """Return the starts [i], in steps, of the left-shifted schedule: no task can start earlier.

    Parameters
    ----------
    start : array [i]
        Start of each task, in steps, possibly off by an engine's tolerance; only the order counts.
    gpu : array [i]
        Index of its GPU in `instance.gpus`.
    synchronization : "relaxed" or "fixed"
        With `fixed`, the tasks of a round keep a common start.

    Notes
    -----
    Tasks are placed in the order of their starts. Each starts when its GPU is free and its round
    may begin, so no start increases and the order on every GPU is kept.
    """
    view, whole = arrays(instance), steps(instance)
    near, on = np.asarray(start, dtype=float), np.asarray(gpu)
    free = [0] * view.gpus
    barrier = [0] * view.rounds
    exact = np.zeros(view.tasks, dtype=np.int64)
    rounds = [range(*pair) for pair in zip(view.round_tasks, view.round_tasks[1:], strict=False)]
    if synchronization == "fixed":
        groups = sorted(rounds, key=lambda tasks: (near[tasks.start], tasks.start))
    else:
        groups = [range(i, i + 1) for i in np.lexsort((np.arange(view.tasks), near))]
    first = set(view.job_rounds.tolist())
    for tasks in groups:
        q = int(view.task_round[tasks.start])
        ready = int(whole.arrival[view.round_job[q]]) if q in first else barrier[q - 1]
        begin = max(ready, *(free[on[i]] for i in tasks))
        for i in tasks:
            k = view.gpu_class[on[i]]
            exact[i] = begin
            free[on[i]] = begin + int(whole.train[i, k])
            barrier[q] = max(barrier[q], begin + int(whole.duration[i, k]))
    return exact
