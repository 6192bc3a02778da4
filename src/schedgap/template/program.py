"""The exact program in Pyomo."""

from typing import Any

import pyomo.environ as pyo

from schedgap.template.instance import Placement, TemplateInstance, TemplateSchedule


def assignment(instance: TemplateInstance) -> Any:
    """Return the program: each job on one machine, and the largest load."""
    J, M = [*instance.time], range(1, instance.machines + 1)
    model = pyo.ConcreteModel(name=instance.name)
    model.x = pyo.Var(J, M, domain=pyo.Binary, doc="job j runs on machine m")
    model.makespan = pyo.Var(domain=pyo.NonNegativeReals)
    model.job = pyo.Constraint(J, rule=lambda _, j: sum(model.x[j, m] for m in M) == 1)
    model.machine = pyo.Constraint(M, rule=lambda _, m: (
        sum(instance.time[j] * model.x[j, m] for j in J) <= model.makespan))  # fmt: skip
    model.objective = pyo.Objective(expr=model.makespan)
    return model


def read(model: Any, instance: TemplateInstance) -> TemplateSchedule:
    """Return the schedule of a solved program: the jobs of a machine one after the other."""
    free, placed = dict.fromkeys(range(1, instance.machines + 1), 0), []
    for (job, machine), x in model.x.items():
        if x.value > 0.5:
            placed.append(Placement(job=job, machine=machine, start=free[machine]))
            free[machine] += instance.time[job]
    return TemplateSchedule(jobs=tuple(placed))
