"""`Hare_Sched` as interval models for CP-SAT: one interval for each task and GPU, or kind (ours).

GPUs of a kind are alike, and unit-demand intervals of which never more than `cap` overlap can be
given `cap` GPUs: one cumulative constraint for each kind says all of (8) without the symmetry.
"""

import itertools
from typing import Any, Literal

import numpy as np

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.decode import on_gpus, to_schedule, to_steps
from schedgap.models.hare.integer_time import Synchronization, alike_jobs, latest, steps

By = Literal["kind", "gpu"]


def build(
    instance: HareInstance,
    *,
    by: By = "kind",
    synchronization: Synchronization = "relaxed",
    upper: int | None = None,
    lower: int | None = None,
) -> Any:
    """Return a `cp_model.CpModel` of the problem, in whole steps.

    Parameters
    ----------
    by : "kind" or "gpu"
        Intervals by classes of equal GPUs (ours), or by GPUs as (8) is printed.
    synchronization : "relaxed" or "fixed"
        `fixed`: all tasks of a round start together.
    upper, lower : int or None
        In grid steps: the value of a schedule of this variant, and a bound on all of them.

    Returns
    -------
    CpModel
        Variables in this order: x [i]; y [i, m] task by task; barriers [q].

    Raises
    ------
    ScaleError
        When whole steps cannot hold the times.
    """
    from ortools.sat.python import cp_model

    view, whole = arrays(instance), steps(instance)
    ends = latest(whole, upper)
    machines = view.class_gpus if by == "kind" else tuple((m,) for m in range(view.gpus))
    model = cp_model.CpModel()
    train, duration = _times(instance, by)
    last = ends[view.task_job] - whole.tail
    # (4): a start lies in its window.
    x = [
        model.new_int_var(int(whole.head[i]), int(last[i] - duration[i].min()), f"x[{i}]")
        for i in range(view.tasks)
    ]
    y = [
        [model.new_bool_var(f"y[{i},{m}]") for m in range(len(machines))] for i in range(view.tasks)
    ]
    barrier = [
        model.new_int_var(
            int(max(whole.head[i] + duration[i].min() for i in tasks)),
            int(last[tasks[0]]),
            f"barrier[{q}]",
        )
        for q, tasks in enumerate(_rounds(instance))
    ]
    for i in range(view.tasks):
        q = view.task_round[i]
        model.add_exactly_one(y[i])  # (5)
        for m in range(len(machines)):
            model.add(barrier[q] >= x[i] + int(duration[i, m])).only_enforce_if(y[i][m])  # (6), (7)
        model.add(barrier[q] >= x[i] + int(duration[i].min()))
        if q not in view.job_rounds:
            model.add(x[i] >= barrier[q - 1])  # (7)
    for m, gpus in enumerate(machines):  # (8)
        runs = [
            model.new_optional_fixed_size_interval_var(
                x[i], int(train[i, m]), y[i][m], f"run[{i},{m}]"
            )
            for i in range(view.tasks)
        ]
        if len(gpus) == 1:
            model.add_no_overlap(runs)
        else:
            model.add_cumulative(runs, [1] * len(runs), len(gpus))
    if synchronization == "fixed":
        for tasks in _rounds(instance):
            for i in tasks[1:]:
                model.add(x[i] == x[tasks[0]])
    else:  # alike tasks start in the order of their numbers
        for group in view.alike:
            for i, j in itertools.pairwise(group):
                model.add(x[i] <= x[j])
    done = [barrier[view.job_rounds[n + 1] - 1] for n in range(view.jobs)]
    for jobs in alike_jobs(instance):
        for n, other in itertools.pairwise(jobs):
            model.add(done[n] <= done[other])
    value = cp_model.LinearExpr.weighted_sum(done, whole.weight.tolist())
    if upper is not None:
        model.add(value <= upper)  # the windows hold each job apart, this all of them
    if lower is not None:
        model.add(value >= lower)
    model.minimize(value)
    return model


def read(values: Any, instance: HareInstance, *, by: By = "kind") -> HareSchedule:
    """Return the schedule of a solution: the values of all variables by index."""
    view = arrays(instance)
    machines = len(view.class_gpus) if by == "kind" else view.gpus
    found = np.asarray(values, dtype=np.int64)
    start, chosen = found[: view.tasks], found[view.tasks : view.tasks * (1 + machines)]
    place = chosen.reshape(view.tasks, machines).argmax(axis=1)
    gpu = on_gpus(instance, start, place) if by == "kind" else place
    return to_schedule(instance, start, gpu)


def start(
    instance: HareInstance,
    schedule: HareSchedule,
    *,
    by: By = "kind",
    synchronization: Synchronization = "relaxed",
) -> list[int | None]:
    """Return hints by variable index for a schedule; barriers are left open."""
    view = arrays(instance)
    machines = len(view.class_gpus) if by == "kind" else view.gpus
    start = to_steps(instance, schedule, synchronization)
    place = view.gpu_class[schedule.gpu] if by == "kind" else schedule.gpu
    for group in view.alike:  # alike tasks start in the order of their numbers
        order = sorted(group, key=lambda i: (start[i], i))
        start[list(group)], place = start[order], place.copy()
        place[list(group)] = place[order]
    chosen = np.equal.outer(place, np.arange(machines))
    return [*start.tolist(), *chosen.astype(int).ravel().tolist(), *[None] * view.rounds]


def _times(instance: HareInstance, by: By) -> tuple[Any, Any]:
    """[i, m] training and d in steps, for each class or each GPU."""
    view, whole = arrays(instance), steps(instance)
    if by == "kind":
        return whole.train, whole.duration
    return whole.train[:, view.gpu_class], whole.duration[:, view.gpu_class]


def _rounds(instance: HareInstance) -> list[range]:
    view = arrays(instance)
    return [range(*pair) for pair in zip(view.round_tasks, view.round_tasks[1:], strict=False)]
