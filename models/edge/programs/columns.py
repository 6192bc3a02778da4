"""Program (4), and the same columns for objective (2): one column for each run of each job.

The paper's columns are all schedules that satisfy (2a)-(2l); here they are the runs in
non-dominated modes. (4a) and (4b) lack the factor chi: as printed, schedules that are not chosen
would hold servers as well (E9).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.placements import (
    PlacedRun,
    enumerate_runs,
    schedule_from_runs,
    valid_schedule,
)

if TYPE_CHECKING:
    import pyomo.core as pyo


def all_runs(instance: EdgeInstance) -> Iterator[PlacedRun]:
    """Yield every run of every job: one column each."""
    view = compiled(instance)
    for mode_start in view.mode_starts():
        yield from enumerate_runs(view, view.task_of[mode_start.job], mode_start)


def build(instance: EdgeInstance) -> "pyo.ConcreteModel":
    """Return the program as a Pyomo model, which has the runs of its columns as `runs`."""
    import pyomo.core as pyo

    view = compiled(instance)
    runs = list(all_runs(instance))
    runs_of_job: dict[int, list[int]] = {task.job: [] for task in view.tasks}
    gamma: dict[tuple[int, int, int], list[tuple[int, int]]] = {}  # [s, u, t] (run, workers)
    delta: dict[tuple[int, int, int], list[int]] = {}  # [s, v, t] runs with their PS there
    for i, run in enumerate(runs):
        task = view.task_of[run.job]
        runs_of_job[task.job].append(i)
        for t in range(run.start, run.end + 1):
            for s, count in run.workers:
                gamma.setdefault((s, task.worker_type, t), []).append((i, count))
            delta.setdefault((run.host, task.ps_type, t), []).append(i)

    model = pyo.ConcreteModel(name=instance.name)
    model.runs = runs
    model.chi = pyo.Var(range(len(runs)), domain=pyo.Binary, doc="run l is chosen")
    if view.is_batch:
        model.objective = pyo.Objective(
            expr=sum(model.chi[i] for i in model.chi), sense=pyo.maximize, doc="(4): jobs that run"
        )
    else:
        model.objective = pyo.Objective(
            expr=sum(
                view.task_of[run.job].flow(run.mode_start) * model.chi[i]
                for i, run in enumerate(runs)
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

    def once(model: "pyo.ConcreteModel", j: int) -> Any:
        if not runs_of_job[j]:
            return pyo.Constraint.Feasible if view.is_batch else pyo.Constraint.Infeasible
        chosen = sum(model.chi[i] for i in runs_of_job[j])
        return chosen <= 1 if view.is_batch else chosen == 1

    model.eq_4c = pyo.Constraint(
        list(runs_of_job), doc="at most one run of each job; exactly one for (2)", rule=once
    )
    return model


def read(model: "pyo.ConcreteModel", instance: EdgeInstance) -> EdgeSchedule | None:
    """Return the schedule of a solved model, or None if its values give no valid schedule.

    `model`: from `build`, with values.
    """
    chosen = [run for i, run in enumerate(model.runs) if (model.chi[i].value or 0.0) > 0.5]
    if len({run.job for run in chosen}) < len(chosen):
        return None
    return valid_schedule(instance, schedule_from_runs(instance, chosen))
