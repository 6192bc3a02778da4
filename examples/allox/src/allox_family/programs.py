"""The exact programs in Pyomo: the paper's for queued jobs, and ours for arrivals."""

from typing import Any

import pyomo.environ as pyo

from allox_family.algorithms import allox
from allox_family.instance import AlloxInstance, AlloxSchedule, Placement
from allox_family.rules import objective


def matching(instance: AlloxInstance) -> Any:
    """Return the matching of jobs to (machine, position from the end).

    The job in position k delays k jobs, itself included. The optimum is that of the instance if all
    jobs are queued at slot 0, and a bound on it otherwise.
    """
    J, M, length = range(len(instance.jobs)), range(len(instance.machines)), instance.lengths
    K = range(1, len(J) + 1)
    model = pyo.ConcreteModel(name=instance.name)
    model.x = pyo.Var(J, M, K, domain=pyo.Binary, doc="job j is in position k from the end of m")
    model.job = pyo.Constraint(J, rule=lambda _, j: sum(model.x[j, :, :]) == 1)
    model.position = pyo.Constraint(M, K, rule=lambda _, m, k: sum(model.x[:, m, k]) <= 1)
    cost = sum(k * length[j][m] * model.x[j, m, k] for j in J for m in M for k in K)
    model.objective = pyo.Objective(expr=cost - sum(job.arrival for job in instance.jobs))
    return model


def time_indexed(instance: AlloxInstance) -> Any:
    """Return the program over (job, kind of machine, start), which knows when jobs arrive.

    A schedule in which a job ends later than here allowed is worse than AlloX's.
    """
    known = objective(instance, allox(instance).to_data(instance))
    slack = int(known) - sum(min(job.cpu, job.gpu) for job in instance.jobs)
    starts, running = {}, {}  # (job, kind, start) -> cost; (kind, slot) -> who can run then
    for j, job in enumerate(instance.jobs):
        end = job.arrival + min(job.cpu, job.gpu) + slack
        for kind, length in (("cpu", job.cpu), ("gpu", job.gpu)):
            for t in range(job.arrival, end - length + 1):
                starts[j, kind, t] = t + length - job.arrival
                for slot in range(t, t + length):
                    running.setdefault((kind, slot), []).append((j, kind, t))
    model = pyo.ConcreteModel(name=instance.name)
    model.x = pyo.Var(starts, domain=pyo.Binary, doc="job j starts on a machine of the kind at t")
    model.job = pyo.Constraint(range(j + 1), rule=lambda _, j: sum(model.x[j, :, :]) == 1)
    size = {"cpu": instance.cpus, "gpu": instance.gpus}
    model.slot = pyo.Constraint(
        running, rule=lambda _, *row: sum(model.x[key] for key in running[row]) <= size[row[0]]
    )
    model.objective = pyo.Objective(expr=sum(cost * model.x[key] for key, cost in starts.items()))
    return model


def read(model: Any, instance: AlloxInstance) -> AlloxSchedule:
    """Return the schedule of a solved program: its order, each job as early as possible."""
    chosen = [key for key, x in model.x.items() if x.value > 0.5]
    if model.component("position"):
        order = [(-k, j, instance.machines[m]) for j, m, k in chosen]
    else:
        order = [(start, j, kind) for j, kind, start in chosen]
    free, placed = [0] * len(instance.machines), []
    for _, j, where in sorted(order):
        job, names = instance.jobs[j], instance.machines
        m = min((m for m, name in enumerate(names) if name.startswith(where)), key=free.__getitem__)
        start = max(free[m], job.arrival)
        free[m] = start + instance.lengths[j][m]
        placed.append(Placement(job=job.id, machine=names[m], start=start))
    return AlloxSchedule(jobs=tuple(placed))
