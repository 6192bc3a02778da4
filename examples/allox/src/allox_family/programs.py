"""The exact programs in Pyomo: the paper's for queued jobs, and ours for arrivals."""

from typing import Any

import pyomo.environ as pyo

from allox_family.algorithms import allox
from allox_family.instance import AlloxInstance, AlloxSchedule, Placement
from allox_family.rules import objective


def matching(instance: AlloxInstance) -> Any:
    """Return the matching of jobs to (machine, position from the end).

    The job in position k delays k jobs, itself included. If all jobs are queued at slot 0, the
    program has the optimum of the instance. Otherwise its optimum is a bound.
    """
    J, M, K = [*instance.arrival], instance.machines, range(1, len(instance.jobs) + 1)
    model = pyo.ConcreteModel(name=instance.name)
    model.x = pyo.Var(J, M, K, domain=pyo.Binary, doc="job j is in position k from the end of m")
    model.job = pyo.Constraint(J, rule=lambda _, j: sum(model.x[j, :, :]) == 1)
    model.position = pyo.Constraint(M, K, rule=lambda _, m, k: sum(model.x[:, m, k]) <= 1)
    cost = sum(k * instance.time[j, m] * model.x[j, m, k] for j in J for m in M for k in K)
    model.objective = pyo.Objective(expr=cost - sum(instance.arrival.values()))
    return model


def excess(instance: AlloxInstance) -> int:
    """Return by how much, at least, the value of a schedule exceeds the slot in which it ends."""
    least = [min(job.cpu, job.gpu) for job in instance.jobs]
    return sum(least) - max(job.arrival + n for job, n in zip(instance.jobs, least, strict=True))


def narrow(instance: AlloxInstance) -> Any:
    """Return the program over the slots in which a schedule ends that is as good as AlloX's."""
    known = objective(instance, allox(instance).to_data(instance))
    return time_indexed(instance, int(known) - excess(instance))


def time_indexed(instance: AlloxInstance, end: int | None = None) -> Any:
    """Return the program over (job, kind of machine, start), which knows when jobs arrive.

    No job ends later than `end`, by default when all have run one after the other.
    """
    if end is None:
        end = sum(max(job.cpu, job.gpu) for job in instance.jobs) + max(instance.arrival.values())
    cost: dict[tuple[str, str, int], int] = {}  # of (job, kind, start)
    running: dict[tuple[str, int], list[tuple[str, str, int]]] = {}  # at (kind, slot)
    for job in instance.jobs:
        for kind, time in (("cpu", job.cpu), ("gpu", job.gpu)):
            for start in range(job.arrival, end - time + 1):
                cost[job.id, kind, start] = start + time - job.arrival
                for slot in range(start, start + time):
                    running.setdefault((kind, slot), []).append((job.id, kind, start))
    model = pyo.ConcreteModel(name=instance.name)
    model.x = pyo.Var(list(cost), domain=pyo.Binary, doc="job starts on this kind in this slot")
    model.job = pyo.Constraint([*instance.arrival], rule=lambda _, j: sum(model.x[j, :, :]) == 1)
    size = {"cpu": instance.cpus, "gpu": instance.gpus}
    model.slot = pyo.Constraint(list(running), rule=lambda _, kind, slot: (
        sum(model.x[key] for key in running[kind, slot]) <= size[kind]))  # fmt: skip
    model.objective = pyo.Objective(expr=sum(cost[key] * model.x[key] for key in cost))
    return model


def read(model: Any, instance: AlloxInstance) -> AlloxSchedule:
    """Return the schedule of a solved program: its order, each job as early as possible."""
    chosen = [key for key, x in model.x.items() if x.value > 0.5]
    sign = -1 if model.component("position") else 1  # positions count from the end
    free, placed = dict.fromkeys(instance.machines, 0), []
    for job, where, _ in sorted(chosen, key=lambda key: sign * key[2]):
        fits = {m: free[m] for m, kind in instance.machines.items() if where in (m, kind)}
        machine = min(fits, key=fits.__getitem__)
        start = max(free[machine], instance.arrival[job])
        free[machine] = start + instance.time[job, machine]
        placed.append(Placement(job=job, machine=machine, start=start))
    return AlloxSchedule(jobs=tuple(placed))
