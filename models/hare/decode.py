"""Schedules from integer starts, and integer starts from the order of tasks on each GPU."""

import math
from collections.abc import Iterable
from heapq import heapreplace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedgap.instances.hare import HareArrays, HareInstance, HareSchedule, arrays
from schedgap.models.hare.integer_time import HareSteps, Ints, Synchronization, steps
from schedgap.models.program import Known


def to_schedule(instance: HareInstance, start: ArrayLike, gpu: ArrayLike) -> HareSchedule:
    """Return the schedule with given starts and GPUs, in the instance's time unit.

    `start` [i]: start of each task, in steps. `gpu` [i]: index of its GPU in `instance.gpus`.
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

    `schedule`: only its GPUs and the order of its starts matter. `synchronization`: with `fixed`,
    the tasks of a round keep a common start.
    """
    step = float(steps(instance).step)
    return left_shifted(instance, np.round(schedule.start / step), schedule.gpu, synchronization)


def value_of(instance: HareInstance, start: ArrayLike, gpu: ArrayLike) -> int:
    """Return sum w_n C_n of a schedule, in grid steps.

    `start` [i]: start of each task, in steps. `gpu` [i]: index of its GPU in `instance.gpus`.
    """
    view, whole = arrays(instance), steps(instance)
    task = np.arange(view.tasks)
    ends = np.asarray(start) + whole.duration[task, view.gpu_class[np.asarray(gpu)]]
    completion = np.maximum.reduceat(ends, view.round_tasks[view.job_rounds[:-1]])
    return int(whole.weight @ completion)


def upper_of(
    instance: HareInstance,
    known: Known[HareSchedule] | None,
    synchronization: Synchronization = "relaxed",
) -> int | None:
    """Return the objective of a known schedule in grid steps, which narrows the time windows."""
    if known is None or known.schedule is None:
        return None
    begin = to_steps(instance, known.schedule, synchronization)
    return value_of(instance, begin, known.schedule.gpu)


def round_up(bound: float) -> int:
    """Return the smallest grid value that an engine's bound permits, within its tolerance."""
    return math.ceil(bound - 1e-6 * max(1.0, abs(bound)))


def assign_gpus(
    instance: HareInstance, start: NDArray[Any], kind: Ints, train: NDArray[Any] | None = None
) -> Ints:
    """Return the GPU [i] of each task, given its start and its class of equal GPUs.

    `start` [i]: start of each task; in no class do more tasks train at once than it has GPUs.
    `kind` [i]: class k of its GPU. `train` [i]: T^c on this class, in the unit of the starts; by
    default in steps.

    Notes
    -----
    Greedy colouring of an interval graph: in order of their starts, each task takes the GPU of its
    class that became free first. It succeeds whenever no moment has more intervals than GPUs.
    """
    view = arrays(instance)
    if train is None:
        train = steps(instance).train[np.arange(view.tasks), kind]
    gpu, end, kinds = [0] * view.tasks, (start + train).tolist(), kind.tolist()
    free: list[list[tuple[float, int]]] = [[(0, m) for m in gpus] for gpus in view.class_gpus]
    for i in np.lexsort((end, start)).tolist():
        gpu[i] = free[kinds[i]][0][1]
        heapreplace(free[kinds[i]], (end[i], gpu[i]))
    return np.array(gpu, dtype=np.int64)


def left_shifted(
    instance: HareInstance,
    start: ArrayLike,
    gpu: ArrayLike,
    synchronization: Synchronization = "relaxed",
) -> Ints:
    """Return the starts [i], in steps, of the left-shifted schedule: no task can start earlier.

    `start` [i]: start of each task, in steps, possibly off by an engine's tolerance; only the order
    counts. `gpu` [i]: index of its GPU in `instance.gpus`. `synchronization`: with `fixed`, the
    tasks of a round keep a common start.

    Notes
    -----
    Tasks are placed in the order of their starts. Each starts when its GPU is free and its round
    may begin, so no start increases and the order on every GPU is kept.
    """
    view, whole = arrays(instance), steps(instance)
    order = _groups(view, np.asarray(start, dtype=float), synchronization)
    return np.array(_earliest_starts(view, order, gpu, whole), dtype=np.int64)


def left_shifted_schedule(
    instance: HareInstance, schedule: HareSchedule, synchronization: Synchronization = "relaxed"
) -> HareSchedule:
    """Return the left-shifted schedule in the instance's own times, which need no common step.

    `schedule`: only its GPUs and the order of its starts matter. `synchronization`: with `fixed`,
    the tasks of a round keep a common start.
    """
    view = arrays(instance)
    order = _groups(view, schedule.start, synchronization)
    shifted = _earliest_starts(view, order, schedule.gpu, view)
    return HareSchedule(schedule.gpu, np.array(shifted, dtype=float))


def rounds_of(view: HareArrays) -> list[range]:
    """Return [q] the tasks of each round."""
    return [range(first, stop) for first, stop in pairwise(view.round_tasks.tolist())]


def _groups(
    view: HareArrays, start: NDArray[np.float64], synchronization: Synchronization
) -> Iterable[range]:
    """Return single tasks, or with `fixed` whole rounds, in the order of their starts."""
    if synchronization == "fixed":
        return sorted(rounds_of(view), key=lambda tasks: (start[tasks.start], tasks.start))
    return (range(i, i + 1) for i in np.lexsort((np.arange(view.tasks), start)).tolist())


def _earliest_starts(
    view: HareArrays, groups: Iterable[range], gpu: ArrayLike, times: HareArrays | HareSteps
) -> list[float]:
    """Return the earliest start [i] of each task if groups of tasks start together, in order.

    `times`: the instance in steps, which gives integers, or in its own unit.
    """
    gpus, kind = np.asarray(gpu).tolist(), view.gpu_class.tolist()
    arrivals, trains, syncs = times.arrival.tolist(), times.train.tolist(), times.sync.tolist()
    free: list[float] = [0] * view.gpus
    barrier: list[float] = [0] * view.rounds
    starts: list[float] = [0] * view.tasks
    first = set(view.job_rounds.tolist())
    for tasks in groups:
        q = int(view.task_round[tasks.start])
        ready = arrivals[view.round_job[q]] if q in first else barrier[q - 1]
        begin = max(ready, *(free[gpus[i]] for i in tasks))
        for i in tasks:
            m = gpus[i]
            starts[i], free[m] = begin, begin + trains[i][kind[m]]
            barrier[q] = max(barrier[q], free[m] + syncs[i][kind[m]])
    return starts
