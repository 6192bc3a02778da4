"""Algorithm 1: list scheduling in the order of middle completion times.

Events of a run, times in the instance's unit:

- `order` (L4): `tasks`, all tasks in the order in which they are placed;
- `start` (L13-L16): `job`, `round`, `task`, `gpu`, `start`; `ready`, the time at which the previous
  round is synchronized; `gpu_free`, the time at which the GPU becomes free before the task;
  `gpu_busy_until`, the time at which the task releases it;
- `barrier` (L10): `job`, `round`, `time` at which the whole round is synchronized.

E1, E4, ... are the paper's errata as numbered in `paper.toml`.
"""

import math
from collections.abc import Iterator, Sequence
from heapq import heapreplace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.method import AlgorithmRun

Floats = NDArray[np.float64]
GpuRule = Literal["available", "finish"]
Midpoint = Literal["max", "assigned"]


def middles(
    instance: HareInstance,
    start: ArrayLike,
    gpu: ArrayLike | None = None,
    *,
    midpoint: Midpoint = "max",
) -> Floats:
    """Return the middle completion times H of a solution of the relaxation.

    Parameters
    ----------
    start : array [i]
        x_hat in the instance's time unit, tasks in the order of `HareArrays`.
    gpu : array [i]
        y_hat as indices into `instance.gpus`; needed with `assigned` only.
    midpoint : "max" or "assigned"
        Add half the training time on the slowest GPU, as printed, or on the GPU of y_hat (E14).

    Returns
    -------
    array [i]
        H_i in the instance's time unit, > 0.

    Notes
    -----
    Source: Section 5.2, Step 2.
    """
    view = arrays(instance)
    if midpoint == "assigned":
        assert gpu is not None, "midpoint 'assigned' needs the relaxation's GPUs"
        train = view.train[np.arange(view.tasks), view.gpu_class[np.asarray(gpu)]]
    else:
        train = view.train.max(axis=1)
    middle: Floats = np.asarray(start, dtype=float) + train / 2  # L3
    return middle


def algorithm_1(
    instance: HareInstance,
    middle: ArrayLike,
    *,
    events: bool = False,
    gpu_rule: GpuRule = "available",
    order_guard: bool = True,
) -> AlgorithmRun:
    """Place the tasks one by one in the order of their middle completion times.

    Parameters
    ----------
    middle : array [i]
        H_i in the instance's time unit, tasks in the order of `HareArrays`; see `middles`.
    events : bool
        Whether to record each step.
    gpu_rule : "available" or "finish"
        Take the GPU that is free first, as printed, or the one that synchronizes the task first
        (ours: the printed rule ignores speed, E5).
    order_guard : bool
        Raise H so that no task precedes a task of an earlier round of its job (ours, E4). Without
        it, line 10 may read the initial value 0 of a task that is not placed yet. The schedule may
        then violate (4) and (7).

    Returns
    -------
    AlgorithmRun
        With a `HareSchedule` that is feasible if `order_guard` is set.

    Notes
    -----
    Source: Algorithm 1. Guarantee: alpha (2 + alpha) by Theorem 4, under assumptions that can fail
    (`theorem_4`). Time: O(n log n + n log m), with `finish` O(n log n + n (k + log m)) for k
    classes of GPUs. Ties are broken by round, job and task number; among GPUs by list order. With
    `finish`, only the GPU of each class that is free first competes.
    """
    view = arrays(instance)
    start = [0.0] * view.tasks  # L1 x~
    gpu = [0] * view.tasks  # L1 y~
    # L2 phi_m, kept as heaps of (phi_m, m): of all GPUs, or of each class of equal ones
    groups: Sequence[Sequence[int]] = (
        [range(view.gpus)] if gpu_rule == "available" else view.class_gpus
    )
    heaps = [[(0.0, m) for m in group] for group in groups]
    gpu_class, first_round = view.gpu_class.tolist(), set(view.job_rounds.tolist())
    task_round, arrival = view.task_round.tolist(), view.arrival[view.task_job].tolist()
    train, duration = view.train.tolist(), view.duration.tolist()
    barrier = [0.0] * view.rounds  # [q] max x~ + T~c + T~s so far: L10 takes O(1)
    steps = []  # what `_events` tells
    for i in _sequence(instance, middle, order_guard).tolist():  # L4-L5
        q = task_round[i]  # L6
        ready = arrival[i] if q in first_round else barrier[q - 1]  # L7-L11 t_i
        heap = heaps[0]  # L12 m*: the root has the least phi
        if gpu_rule == "finish":  # E5
            ends = duration[i]
            least = math.inf, 0
            for rival in heaps:
                phi, m = rival[0]
                end = (max(ready, phi) + ends[gpu_class[m]], m)
                if end < least:
                    least, heap = end, rival
        phi, m = heap[0]
        start[i] = max(ready, phi)  # L13
        gpu[i] = m  # L14
        k = gpu_class[m]  # L15 T~c, T~s
        heapreplace(heap, (start[i] + train[i][k], m))  # L16: synchronization overlaps
        barrier[q] = max(barrier[q], start[i] + duration[i][k])
        if events:
            steps.append((i, m, start[i], ready, phi, start[i] + train[i][k], barrier[q]))
    # L17
    schedule = HareSchedule(np.array(gpu, dtype=np.int64), np.array(start))  # L18
    return AlgorithmRun(schedule, tuple(_events(instance, steps)) if events else ())


def _events(
    instance: HareInstance, steps: Sequence[tuple[int, int, float, float, float, float, float]]
) -> Iterator[dict[str, object]]:
    """Yield the events of a run as plain data.

    `steps`: of each task in its order, the task, its GPU and its start; when its round may start;
    when the GPU is free before and after it; the last synchronization of its round so far.
    """
    view = arrays(instance)
    columns = view.task_job.tolist(), view.place.tolist(), view.number.tolist()
    tasks = [
        {"job": instance.jobs[n].id, "round": r, "task": number}
        for n, r, number in zip(*columns, strict=True)
    ]
    yield {"line": "L4", "event": "order", "tasks": [tasks[i] for i, *_ in steps]}
    left = np.diff(view.round_tasks).tolist()  # [q] tasks not placed yet
    for i, m, start, ready, free, until, barrier in steps:
        yield {
            "line": "L13", "event": "start", **tasks[i], "gpu": instance.gpus[m].id,
            "start": start, "ready": ready, "gpu_free": free, "gpu_busy_until": until,
        }  # fmt: skip
        left[q := int(view.task_round[i])] -= 1
        if not left[q]:
            where = {"job": tasks[i]["job"], "round": tasks[i]["round"]}
            yield {"line": "L10", "event": "barrier", **where, "time": barrier}


def _sequence(instance: HareInstance, middle: ArrayLike, order_guard: bool) -> NDArray[np.int64]:
    """Return pi, line 4: all tasks in order of H, then of round, job and task number."""
    view = arrays(instance)
    key = monotone_middles(instance, middle) if order_guard else np.asarray(middle, dtype=float)
    return np.lexsort((np.arange(view.tasks), view.place, key))


def monotone_middles(instance: HareInstance, middle: ArrayLike) -> Floats:
    """Return [i] the smallest H' >= H that does not decrease along the rounds of a job (E4).

    Parameters
    ----------
    middle : array [i]
        H_i in the instance's time unit.

    Notes
    -----
    H' differs from H only if tasks of one job differ or the relaxation was solved inexactly.
    """
    view = arrays(instance)
    key = np.array(middle, dtype=float)
    most = np.maximum.reduceat(key, view.round_tasks[:-1])
    for first, last in zip(view.job_rounds[:-1], view.job_rounds[1:], strict=True):
        most[first:last] = np.maximum.accumulate(most[first:last])
    later = ~np.isin(np.arange(view.rounds), view.job_rounds)  # rounds that are not first
    floor = np.where(later, np.concatenate(([0.0], most[:-1])), -np.inf)
    return np.asarray(np.maximum(key, floor[view.task_round]))
