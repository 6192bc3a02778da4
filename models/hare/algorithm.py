"""Algorithm 1 of the paper, its list rule in Smith's order, and what its analysis promises.

E1, E4, ... are the paper's errata as numbered in `paper.py`.
"""

import math
from collections.abc import Sequence
from heapq import heapreplace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedgap.instances.hare import HareInstance, HareSchedule, arrays

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
    gpu_rule: GpuRule = "available",
    order_guard: bool = True,
) -> HareSchedule:
    """Place the tasks one by one in the order of their middle completion times.

    Parameters
    ----------
    middle : array [i]
        H_i in the instance's time unit, tasks in the order of `HareArrays`; see `middles`.
    gpu_rule : "available" or "finish"
        The GPU that is free first, as printed, or the one on which the task is synchronized first
        (ours: the printed rule is blind to speed, E5).
    order_guard : bool
        Raise H so that no task comes before a task of an earlier round of its job (ours, E4).
        Without it line 10 takes unset values for 0, as line 1 set them, and the schedule may
        break (4) and (7).

    Returns
    -------
    HareSchedule
        Valid when `order_guard` is set.

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
    for i in sequence(instance, middle, order_guard=order_guard).tolist():  # L4-L5
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
    # L17
    return HareSchedule(np.array(gpu, dtype=np.int64), np.array(start))  # L18


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


def list_wspt(instance: HareInstance, gpu_rule: GpuRule = "finish") -> HareSchedule:
    """Run Algorithm 1 on Smith's order of the jobs: least work by weight first (ours).

    Work is the training time of all tasks, each on its fastest GPU; jobs of weight 0 come last.
    """
    view = arrays(instance)
    work = np.bincount(view.task_job, weights=view.train.min(axis=1))
    key = np.divide(work, view.weight, out=np.full(view.jobs, np.inf), where=view.weight > 0)
    return algorithm_1(instance, key[view.task_job], gpu_rule=gpu_rule)


def alpha(instance: HareInstance) -> float:
    """Return the greatest ratio of a task's times over the GPUs, >= 1; infinite when x / 0 occurs.

    Notes
    -----
    Source: Lemma 3. A task whose synchronization takes 0 everywhere has ratio 1 (E17).
    """
    view = arrays(instance)
    worst = 1.0
    for times in (view.train, view.sync):
        least, most = times.min(axis=1), times.max(axis=1)
        if ((least == 0) & (most > 0)).any():
            return math.inf
        worst = max(worst, float(np.max(most[most > 0] / least[most > 0], initial=1.0)))
    return worst


def theorem_4(instance: HareInstance) -> dict[str, Any]:
    """Return what Theorem 4 says of an instance.

    Returns
    -------
    dict
        `claim` in words; `factor` = alpha (2 + alpha), or None when alpha is infinite; `holds`,
        whether the instance meets the conditions; `failed`, those that it does not meet, in words.

    Notes
    -----
    Source: Theorem 4. Its proof has gaps (E1, E2, E18-E20), and with the printed relaxation the
    theorem is false: the factor is to be reported beside the measured ratio, never relied on.
    """
    worst, failed = alpha(instance), failed_assumptions(instance)
    return {
        "claim": "value <= alpha (2 + alpha) optimum (Theorem 4)",
        "factor": worst * (2 + worst) if math.isfinite(worst) else None,
        "holds": not failed,
        "failed": failed,
    }


def failed_assumptions(instance: HareInstance, *, relaxation_proved: bool = True) -> list[str]:
    """Return which of the four assumptions behind Theorem 4 fail, in words."""
    view = arrays(instance)
    first = view.round_tasks[view.job_rounds[:-1]][view.task_job]  # first task of each one's job
    unlike = ((view.train != view.train[first]) | (view.sync != view.sync[first])).any()
    checks = [
        ("(i) no synchronization is longer than training", bool((view.sync > view.train).any())),
        ("(ii) alpha is finite", math.isinf(alpha(instance))),
        ("(iii) the relaxation is solved to optimality", not relaxation_proved),
        ("(iv) the tasks of each job are alike", bool(unlike)),
    ]
    return [words for words, fails in checks if fails]


def lemma_report(
    instance: HareInstance,
    middle: ArrayLike,
    schedule: HareSchedule,
    *,
    relaxation_proved: bool = True,
) -> dict[str, Any]:
    """Measure both lemmas behind Theorem 4 on a schedule of Algorithm 1.

    Parameters
    ----------
    middle : array [i]
        The H that Algorithm 1 was given, in the instance's time unit.
    relaxation_proved : bool
        Whether H comes from a proved optimum of the paper's relaxation.

    Returns
    -------
    dict
        Plain data: `alpha` and `factor` = alpha (2 + alpha), None when infinite; `lemma_2`, the
        greatest load / 2 H, where load is the training time on the task's GPU up to and with the
        task; `lemma_3`, the greatest idle time / alpha H before a task on its GPU (None without
        alpha); `lemma_2_holds`, `lemma_3_holds`; `failed_assumptions`, in words.

    Notes
    -----
    Source: Lemma 2 (10) for the GPU that takes the task (E16), Lemma 3 (14). H is raised along the
    rounds as in Algorithm 1 with its guard. A GPU serves its tasks in the order of pi, so starts
    give that order.
    """
    view = arrays(instance)
    # Rounding may have pushed an H below half a training time, which no H can be.
    key = np.maximum(raised(instance, middle), view.train.min(axis=1) / 2)
    train = view.train[np.arange(view.tasks), view.gpu_class[schedule.gpu]]
    load, idle = np.empty(view.tasks), np.empty(view.tasks)
    order = np.lexsort((schedule.start, schedule.gpu))
    cuts = np.flatnonzero(np.diff(schedule.gpu[order])) + 1
    for own in np.split(order, cuts):
        load[own] = np.cumsum(train[own])
        idle[own] = schedule.start[own] - (load[own] - train[own])
    worst = alpha(instance)
    finite = math.isfinite(worst)
    lemma_2 = float(np.max(load / (2 * key)))
    lemma_3 = float(np.max(idle / (worst * key))) if finite else None
    return {
        "alpha": worst if finite else None,
        "factor": worst * (2 + worst) if finite else None,
        "lemma_2": lemma_2,
        "lemma_2_holds": lemma_2 <= 1 + 1e-9,
        "lemma_3": lemma_3,
        "lemma_3_holds": None if lemma_3 is None else lemma_3 <= 1 + 1e-9,
        "failed_assumptions": failed_assumptions(instance, relaxation_proved=relaxation_proved),
    }
