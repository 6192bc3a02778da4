"""`Hare_Sched` as an interval model for CP-SAT: an interval for each task and kind of GPU (ours).

GPUs of one kind are interchangeable, and unit-demand intervals of which at most `cap` overlap at
any time can be assigned to `cap` GPUs. So one cumulative constraint per kind expresses (8) without
the symmetry between equal GPUs.
"""

import itertools

import numpy as np
from numpy.typing import ArrayLike

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.decode import (
    assign_gpus,
    round_up,
    rounds_of,
    to_schedule,
    to_steps,
    upper_of,
)
from schedgap.models.hare.integer_time import (
    Synchronization,
    identical_jobs,
    latest_completions,
    steps,
)
from schedgap.models.program import BuiltProgram, Known, check_size


def build(
    instance: HareInstance,
    known: Known[HareSchedule],
    *,
    synchronization: Synchronization = "relaxed",
    max_intervals: int | None = None,
) -> BuiltProgram[HareSchedule]:
    """Build the CP-SAT model of the problem, in whole steps.

    `known`: schedule of this variant and lower bound on the optimum, in grid steps.
    `synchronization`: with `fixed`, all tasks of a round start together. `max_intervals`: more are
    not built.

    The variables are, in this order: x [i]; y [i, k] task by task; barriers [q].

    Raises
    ------
    ScaleError
        If the times are not multiples of a common step.
    """
    from ortools.sat.python import cp_model

    view, whole = arrays(instance), steps(instance)
    kinds = range(len(view.class_gpus))
    check_size(view.tasks * len(kinds), max_intervals, "intervals")
    upper = upper_of(instance, known, synchronization)
    ends = latest_completions(whole, upper)
    model = cp_model.CpModel()
    train, duration = whole.train, whole.duration
    last = ends[view.task_job] - whole.tail
    # (4): each start lies in its time window
    x = [
        model.new_int_var(int(whole.head[i]), int(last[i] - duration[i].min()), f"x[{i}]")
        for i in range(view.tasks)
    ]
    y = [[model.new_bool_var(f"y[{i},{k}]") for k in kinds] for i in range(view.tasks)]
    barrier = [
        model.new_int_var(
            int(max(whole.head[i] + duration[i].min() for i in tasks)),
            int(last[tasks[0]]),
            f"barrier[{q}]",
        )
        for q, tasks in enumerate(rounds_of(view))
    ]
    for i in range(view.tasks):
        q = view.task_round[i]
        model.add_exactly_one(y[i])  # (5)
        for k in kinds:
            model.add(barrier[q] >= x[i] + int(duration[i, k])).only_enforce_if(y[i][k])  # (6), (7)
        model.add(barrier[q] >= x[i] + int(duration[i].min()))
        if q not in view.job_rounds:
            model.add(x[i] >= barrier[q - 1])  # (7)
    for k, gpus in enumerate(view.class_gpus):  # (8)
        runs = [
            model.new_optional_fixed_size_interval_var(
                x[i], int(train[i, k]), y[i][k], f"run[{i},{k}]"
            )
            for i in range(view.tasks)
        ]
        if len(gpus) == 1:
            model.add_no_overlap(runs)
        else:
            model.add_cumulative(runs, [1] * len(runs), len(gpus))
    if synchronization == "fixed":
        for tasks in rounds_of(view):
            for i in tasks[1:]:
                model.add(x[i] == x[tasks[0]])
    else:  # identical tasks start in order of their numbers
        for group in view.alike:
            for i, j in itertools.pairwise(group):
                model.add(x[i] <= x[j])
    completion = [barrier[view.job_rounds[n + 1] - 1] for n in range(view.jobs)]
    for jobs in identical_jobs(instance):
        for n, other in itertools.pairwise(jobs):
            model.add(completion[n] <= completion[other])
    value = cp_model.LinearExpr.weighted_sum(completion, whole.weight.tolist())
    if upper is not None:
        model.add(value <= upper)  # the windows bound each job alone, this row all together
    model.add(value >= int(known.lower))
    model.minimize(value)
    return BuiltProgram(
        model,
        lambda values: _read(values, instance),
        real=round_up,
        grid=1,
        start=lambda found: _start(instance, found, synchronization),
    )


def _read(values: ArrayLike, instance: HareInstance) -> HareSchedule:
    """Return the schedule of a solution.

    `values`: values of all variables, in the order of `build`.
    """
    view = arrays(instance)
    kinds = len(view.class_gpus)
    solution = np.asarray(values, dtype=np.int64)
    start, chosen = solution[: view.tasks], solution[view.tasks : view.tasks * (1 + kinds)]
    kind = chosen.reshape(view.tasks, kinds).argmax(axis=1)
    return to_schedule(instance, start, assign_gpus(instance, start, kind))


def _start(
    instance: HareInstance, schedule: HareSchedule, synchronization: Synchronization
) -> list[int | None]:
    """Return the hint that encodes a schedule, in the order of `build`; None for the barriers."""
    view = arrays(instance)
    start = to_steps(instance, schedule, synchronization)
    kind = view.gpu_class[schedule.gpu]
    for group in view.alike:  # identical tasks start in order of their numbers
        order = sorted(group, key=lambda i: (start[i], i))
        start[list(group)], kind[list(group)] = start[order], kind[order]
    chosen = np.equal.outer(kind, np.arange(len(view.class_gpus)))
    return [*start.tolist(), *chosen.astype(int).ravel().tolist(), *[None] * view.rounds]
