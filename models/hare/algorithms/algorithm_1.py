"""Algorithm 1: tasks one by one, in the order of their middle completion times.

Events of a run, times in the instance's unit:

- `order` (L4): `tasks`, all of them in the order in which they are placed;
- `start` (L13-L16): `job`, `round`, `task`, `gpu`, `start`; `ready`, when the round before is
  synchronized; `gpu_free`, when the GPU is idle before; `gpu_busy_until`, and after the task;
- `barrier` (L10): `job`, `round`, `time` at which all of the round is synchronized.

E1, E4, ... are the paper's errata as numbered in `paper.py`.
"""

import math
from collections.abc import Sequence
from heapq import heapreplace
from typing import Any, Literal

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
    """Return the middle completion times H of a relaxation's solution.

    Parameters
    ----------
    start : array [i]
        x_hat in the instance's time unit, tasks in the order of `HareArrays`.
    gpu : array [i]
        y_hat as indices into `instance.gpus`; only `assigned` needs it.
    midpoint : "max" or "assigned"
        Add half the training time on the slowest GPU, as printed, or on the one of y_hat (E14).

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
        Whether to say each step.
    gpu_rule : "available" or "finish"
        The GPU that is free first, as printed, or the one on which the task is synchronized first
        (ours: the printed rule is blind to speed, E5).
    order_guard : bool
        Raise H so that no task comes before a task of an earlier round of its job (ours, E4).
        Without it line 10 takes unset values for 0, as line 1 set them, and the schedule may
        break (4) and (7).

    Returns
    -------
    AlgorithmRun
        Its `HareSchedule` is valid when `order_guard` is set.

    Notes
    -----
    Source: Algorithm 1. Guarantee: alpha (2 + alpha) by Theorem 4, on conditions that can fail
    (`theorem_4`). Time: O(n log n + n log m), with `finish` O(n log n + n (k + log m)) for k
    classes of GPUs. Ties: by round, job, task number; among GPUs the earliest of the list
    (`finish`: in each class only the GPU that is free first competes).
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
    barrier = [0.0] * view.rounds  # of each round, max x~ + T~c + T~s so far: L10 in O(1)
    order = sequence(instance, middle, order_guard=order_guard).tolist()
    steps = _Steps(instance, order) if events else None
    for i in order:  # L4-L5
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
        if steps is not None:
            steps.placed(i, m, start[i], (ready, phi, start[i] + train[i][k]), barrier[q])
    # L17
    schedule = HareSchedule(np.array(gpu, dtype=np.int64), np.array(start))  # L18
    return AlgorithmRun(schedule, () if steps is None else tuple(steps.events))


class _Steps:
    """The events of a run."""

    def __init__(self, instance: HareInstance, order: Sequence[int]) -> None:
        view = arrays(instance)
        self._instance, self._view = instance, view
        self._left = np.diff(view.round_tasks).tolist()  # of each round, tasks not yet placed
        tasks = [self._named(i) for i in order]
        self.events: list[dict[str, Any]] = [{"line": "L4", "event": "order", "tasks": tasks}]

    def _named(self, i: int) -> dict[str, Any]:
        view = self._view
        q, n = int(view.task_round[i]), int(view.task_job[i])
        return {
            "job": self._instance.jobs[n].id,
            "round": q - int(view.job_rounds[n]) + 1,
            "task": i - int(view.round_tasks[q]) + 1,
        }

    def placed(
        self, i: int, m: int, start: float, times: tuple[float, float, float], barrier: float
    ) -> None:
        """Add that a task starts on a GPU, and that its round is complete, if it is."""
        ready, free, until = times
        named = self._named(i)
        self.events.append({
            "line": "L13", "event": "start", **named, "gpu": self._instance.gpus[m].id,
            "start": start, "ready": ready, "gpu_free": free, "gpu_busy_until": until,
        })  # fmt: skip
        q = int(self._view.task_round[i])
        self._left[q] -= 1
        if not self._left[q]:
            where = {"job": named["job"], "round": named["round"]}
            self.events.append({"line": "L10", "event": "barrier", **where, "time": barrier})


def sequence(
    instance: HareInstance, middle: ArrayLike, *, order_guard: bool = True
) -> NDArray[np.int64]:
    """Return pi: all tasks by H, then by round, job and task number (Algorithm 1, line 4)."""
    view = arrays(instance)
    place = view.task_round - view.job_rounds[view.task_job]  # r, from 0
    key = raised(instance, middle) if order_guard else np.asarray(middle, dtype=float)
    return np.lexsort((np.arange(view.tasks), place, key))


def raised(instance: HareInstance, middle: ArrayLike) -> Floats:
    """Return [i] the least H' >= H that never decreases from a round to the next of its job (E4).

    H' exceeds H only where tasks of one job differ, or the relaxation was solved inexactly.
    """
    view = arrays(instance)
    key = np.array(middle, dtype=float)
    most = np.maximum.reduceat(key, view.round_tasks[:-1])
    for first, last in zip(view.job_rounds[:-1], view.job_rounds[1:], strict=True):
        most[first:last] = np.maximum.accumulate(most[first:last])
    later = ~np.isin(np.arange(view.rounds), view.job_rounds)  # rounds with one before
    floor = np.where(later, np.concatenate(([0.0], most[:-1])), -np.inf)
    return np.asarray(np.maximum(key, floor[view.task_round]))
