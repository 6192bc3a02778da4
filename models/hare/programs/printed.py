"""The paper's program `Hare_Sched`, (4)-(8), as a disjunctive mixed-integer program in Pyomo.

(8) refers to the earlier of two tasks on one GPU. The binary `before[i, j]` selects it, and one
big-M row per order enforces the gap. Time windows derived from a known schedule keep M small.
"""

from itertools import combinations
from itertools import pairwise as pairwise_of
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from schedgap.instances.hare import HareInstance, arrays
from schedgap.instances.hare.schedule import HareSchedule
from schedgap.models.hare.decode import (
    left_shifted,
    round_up,
    rounds_of,
    to_schedule,
    upper_of,
)
from schedgap.models.hare.integer_time import Ints, Synchronization, latest_completions, steps
from schedgap.models.program import BuiltProgram, Known, check_size
from schedgap.solvers.programs.arrays import Floats

if TYPE_CHECKING:
    import pyomo.core as pyo


def build(
    instance: HareInstance,
    known: Known[HareSchedule] | None = None,
    *,
    pairwise: Annotated[bool, "write (7) for each pair of tasks, as printed"] = False,
    synchronization: Synchronization = "relaxed",
    max_rows: int | None = None,
) -> BuiltProgram[HareSchedule]:
    """Build the program in the instance's units.

    `known`: a schedule of this variant. The program then contains every schedule that costs no
    more; None gives the full horizon. `pairwise`: write (7) for each pair of tasks, as printed,
    instead of one barrier variable per round. `synchronization`: with `fixed`, all tasks of a round
    start together, as in the scale-fixed scheme of Fig. 4. `max_rows`: more are not built.

    The variables are starts `x[i]`, assignment `y[i, m]`, completion `C[n]`; the rows are named
    after the equations. The reader keeps the order of a solution, and recomputes its starts exactly
    in whole steps.

    Raises
    ------
    ScaleError
        If the times are not multiples of a common step.
    """
    import pyomo.core as pyo

    view, whole = arrays(instance), steps(instance)
    check_size(view.tasks**2 * view.gpus, max_rows, "rows")
    step, unit = whole.step, float(whole.grid)
    head = [float(int(t) * step) for t in whole.head]
    ends = latest_completions(whole, upper_of(instance, known, synchronization))
    latest_end = [float(int(t) * step) for t in ends]
    last = [
        float(int(ends[n] - whole.tail[i] - whole.duration[i].min()) * step)
        for i, n in enumerate(view.task_job)
    ]
    train = view.train[:, view.gpu_class].tolist()
    duration = view.duration[:, view.gpu_class].tolist()
    job, round_of = view.task_job.tolist(), view.task_round.tolist()
    gpus = range(view.gpus)
    tasks = rounds_of(view)
    final = {int(q) - 1 for q in view.job_rounds[1:]}  # last rounds
    inner = [q for q in range(view.rounds) if q not in final]

    model = pyo.ConcreteModel(name=instance.name)
    model.x = pyo.Var(
        range(view.tasks),
        bounds=lambda model, i: (head[i], last[i]),
        doc="start of task i",
    )
    model.y = pyo.Var(range(view.tasks), gpus, domain=pyo.Binary, doc="task i runs on GPU m")
    model.C = pyo.Var(
        range(view.jobs), bounds=lambda model, n: (0, latest_end[n]), doc="completion of job n"
    )
    # (7) orders tasks of different rounds of a job; all other pairs may run in either order.
    model.PAIRS = pyo.Set(
        initialize=[
            (i, j)
            for i, j in combinations(range(view.tasks), 2)
            if job[i] != job[j] or round_of[i] == round_of[j]
        ],
        dimen=2,
    )
    model.before = pyo.Var(model.PAIRS, domain=pyo.Binary, doc="task i goes before task j")

    def end(i: int) -> Any:
        return model.x[i] + sum(duration[i][m] * model.y[i, m] for m in gpus)

    model.objective = pyo.Objective(
        expr=sum(float(view.weight[n]) * model.C[n] for n in range(view.jobs)),
        doc="total weighted completion time",
    )
    model.eq_4 = pyo.Constraint(
        range(view.tasks),
        doc="no task starts before its job arrives",
        rule=lambda model, i: model.x[i] >= float(view.arrival[job[i]]),
    )
    model.eq_5 = pyo.Constraint(
        range(view.tasks),
        doc="each task runs on exactly one GPU",
        rule=lambda model, i: sum(model.y[i, m] for m in gpus) == 1,
    )
    model.eq_6 = pyo.Constraint(  # last rounds only: by (7), earlier ones end earlier
        [i for q in sorted(final) for i in tasks[q]],
        doc="a job is complete when its last round is",
        rule=lambda model, i: model.C[job[i]] >= end(i),
    )
    if pairwise:
        model.eq_7 = pyo.Constraint(
            [(i, j) for q in inner for i in tasks[q] for j in tasks[q + 1]],
            doc="a round waits for the whole round before it",
            rule=lambda model, i, j: model.x[j] >= end(i),
        )
    else:
        model.barrier = pyo.Var(
            inner, bounds=lambda model, q: (0, latest_end[view.round_job[q]]), doc="end of round q"
        )
        model.eq_7_end = pyo.Constraint(
            [i for q in inner for i in tasks[q]],
            doc="the barrier waits for every task of its round",
            rule=lambda model, i: model.barrier[round_of[i]] >= end(i),
        )
        model.eq_7_start = pyo.Constraint(
            [j for q in inner for j in tasks[q + 1]],
            doc="the next round waits for the barrier",
            rule=lambda model, j: model.x[j] >= model.barrier[round_of[j] - 1],
        )

    def apart(i: int, j: int, m: int, other_order: Any) -> Any:
        """Return x_j >= x_i + T^c_im - M (...), active if both run on m and i goes first."""
        big_m = last[i] + train[i][m] - head[j]
        if big_m <= 0:
            return pyo.Constraint.Skip
        return model.x[j] >= model.x[i] + train[i][m] - big_m * (
            2 + other_order - model.y[i, m] - model.y[j, m]
        )

    # (8): |x_i - x_j| >= T^c_k on a shared GPU, where k is the earlier task: one big-M row per
    # order. Only training occupies the GPU; synchronization overlaps with the next task.
    model.eq_8_first = pyo.Constraint(
        model.PAIRS,
        gpus,
        doc="i before j, when both run on m",
        rule=lambda model, i, j, m: apart(i, j, m, 1 - model.before[i, j]),
    )
    model.eq_8_second = pyo.Constraint(
        model.PAIRS,
        gpus,
        doc="j before i, when both run on m",
        rule=lambda model, i, j, m: apart(j, i, m, model.before[i, j]),
    )
    if synchronization == "fixed":
        model.lin_together = pyo.Constraint(
            [i for round_tasks in tasks for i in round_tasks[1:]],
            doc="scale-fixed: all tasks of a round start together (Fig. 4)",
            rule=lambda model, i: model.x[i] == model.x[tasks[round_of[i]][0]],
        )
    else:
        model.cut_alike = pyo.Constraint(
            [pair for group in view.alike for pair in pairwise_of(group)],
            doc="identical tasks of a round start in order of their numbers",
            rule=lambda model, i, j: model.x[i] <= model.x[j],
        )

    def read(values: object) -> HareSchedule:
        start, gpu = _values(model, instance)
        return to_schedule(instance, left_shifted(instance, start, gpu, synchronization), gpu)

    return BuiltProgram(model, read, real=lambda bound: round_up(bound / unit), grid=unit)


def literal(model: "pyo.ConcreteModel", instance: HareInstance) -> HareSchedule:
    """Return the starts and GPUs of a solved model as they are, whether or not they obey the rules.

    `model`: model of `build`, with values.
    """
    count, gpu = _values(model, instance)
    count = np.where(np.abs(count - np.rint(count)) < 1e-5, np.rint(count), count)
    return HareSchedule(gpu, count * float(steps(instance).step))


def _values(model: "pyo.ConcreteModel", instance: HareInstance) -> tuple[Floats, Ints]:
    """Return the starts [i] of a solved model, in steps, and the GPUs [i]."""
    view = arrays(instance)
    start = np.array([model.x[i].value or 0.0 for i in range(view.tasks)])
    chosen = [[model.y[i, m].value or 0.0 for m in range(view.gpus)] for i in range(view.tasks)]
    return start / float(steps(instance).step), np.array(chosen).argmax(axis=1)
