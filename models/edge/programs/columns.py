"""Programs (4) and its twin for (2): one column for every run of every job.

The paper's columns are schedules that satisfy (2a)-(2l); here they are the runs of non-dominated
modes. (4a) and (4b) lack the factor chi: as printed, schedules that are not chosen would hold
servers as well (E9).
"""

from collections.abc import Sequence
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.decisions import problem
from schedgap.models.edge.placements import Run, runs_of, schedule_of, sound

Cell = tuple[int, int, int]  # server, type, slot


def all_runs(instance: EdgeInstance) -> list[Run]:
    """Return every run of every job."""
    view = problem(instance)
    task_of = {task.job: task for task in view.tasks}
    return [run for group in view.groups() for run in runs_of(view, task_of[group.job], group)]


def build(instance: EdgeInstance, *, runs: Sequence[Run] | None = None) -> Any:
    """Return the program over `runs`, or all runs, as a Pyomo `ConcreteModel`."""
    import pyomo.environ as pyo

    view = problem(instance)
    task_of = {task.job: task for task in view.tasks}
    if runs is None:
        runs = all_runs(instance)
    own: dict[int, list[int]] = {task.job: [] for task in view.tasks}
    gamma: dict[Cell, list[tuple[int, int]]] = {}  # runs and their workers
    delta: dict[Cell, list[int]] = {}  # runs with their PS
    for i, run in enumerate(runs):
        task = task_of[run.group.job]
        own[task.job].append(i)
        for t in range(run.group.start, run.group.end + 1):
            for s, count in run.workers:
                gamma.setdefault((s, task.worker_type, t), []).append((i, count))
            delta.setdefault((run.host, task.ps_type, t), []).append(i)

    model = pyo.ConcreteModel(name=instance.name)
    model.chi = pyo.Var(range(len(runs)), domain=pyo.Binary, doc="run l is chosen")
    if view.is_batch:
        model.objective = pyo.Objective(
            expr=sum(model.chi[i] for i in model.chi), sense=pyo.maximize, doc="(4): jobs that run"
        )
    else:
        model.objective = pyo.Objective(
            expr=sum(
                task_of[run.group.job].flow(run.group) * model.chi[i] for i, run in enumerate(runs)
            ),
            doc="(2): sum of c_j - a_j",
        )
    model.eq_4a = pyo.Constraint(
        sorted(gamma),
        doc="workers of each server, type and slot",
        rule=lambda model, s, u, t: (
            sum(count * model.chi[i] for i, count in gamma[s, u, t]) <= int(view.workers[s, u])
        ),
    )
    model.eq_4b = pyo.Constraint(
        sorted(delta),
        doc="PSs of each server, type and slot",
        rule=lambda model, s, v, t: sum(model.chi[i] for i in delta[s, v, t]) <= int(view.ps[s, v]),
    )

    def once(model: Any, j: int) -> Any:
        if not own[j]:
            return pyo.Constraint.Feasible if view.is_batch else pyo.Constraint.Infeasible
        chosen = sum(model.chi[i] for i in own[j])
        return chosen <= 1 if view.is_batch else chosen == 1

    model.eq_4c = pyo.Constraint(
        list(own), doc="at most one run of each job; exactly one for (2)", rule=once
    )
    return model


def read(
    model: Any, instance: EdgeInstance, runs: Sequence[Run] | None = None
) -> EdgeSchedule | None:
    """Return the schedule of a solved model over `runs`, or all runs; None where it is none."""
    if runs is None:
        runs = all_runs(instance)
    chosen = [run for i, run in enumerate(runs) if (model.chi[i].value or 0.0) > 0.5]
    if len({run.group.job for run in chosen}) < len(chosen):
        return None
    return sound(instance, schedule_of(instance, chosen))
