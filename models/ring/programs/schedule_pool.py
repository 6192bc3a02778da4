"""Choice of a schedule from a pool, (10)-(13), and of one within a limit on loads, (14)-(16).

The paper's pool holds all schedules. The choice from a smaller pool is feasible, but bounds
nothing.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.ring.programs.load_limit import estimated_loads
from schedgap.models.ring.rates import rate_table

if TYPE_CHECKING:
    import pyomo.core as pyo
    from ortools.sat.python.cp_model import CpModel

Pool = Sequence[RingSchedule]


def build(instance: RingInstance, pool: Pool, *, relaxed: bool = False) -> "pyo.ConcreteModel":
    """Return (10)-(13) as a Pyomo model, which has its schedules as `pool`.

    `pool`: schedules of the instance, at least one. `relaxed`: leave out (13), so that convex
    combinations of schedules are allowed.

    Notes
    -----
    T_j is the last slot of a job, a_j + rho_j - 1 (E6). Rows (12) of consecutive jobs suffice.
    """
    import pyomo.core as pyo

    model = _choice(instance, pool, relaxed)
    ends = [[schedule.runs[job.id].end for schedule in pool] for job in instance.jobs]
    model.mk = pyo.Var(domain=pyo.NonNegativeReals, doc="makespan")
    model.objective = pyo.Objective(expr=model.mk, doc="(10)")
    model.eq_10 = pyo.Constraint(
        model.J,
        doc="no job ends later, in the chosen schedule (E9)",
        rule=lambda model, j: model.mk >= sum(ends[j][k] * model.x[j, k] for k in model.K),
    )
    return model


def build_limit(instance: RingInstance, pool: Pool) -> "pyo.ConcreteModel":
    """Return (14)-(16) with (11)-(13) as a Pyomo model that minimises theta_u, without solving it.

    `pool`: schedules of the instance with GPU numbers, at least one.
    """
    import pyomo.core as pyo

    model = _choice(instance, pool, False)
    table = rate_table(instance)
    load = estimated_loads(table)
    jobs_on = [_jobs_by_gpu(instance, schedule) for schedule in pool]  # [k] (server, GPU) -> jobs
    gpus = [(s, g) for s, number in enumerate(table.server_gpus) for g in range(number)]
    model.theta = pyo.Var(domain=pyo.NonNegativeReals, doc="limit on the load of every GPU")
    model.objective = pyo.Objective(expr=model.theta, doc="the least limit of (14)")
    model.eq_16 = pyo.Constraint(
        gpus,
        doc="load of each GPU: (15) counts a job only on the GPUs it uses (E10)",
        rule=lambda model, s, g: (
            sum(load[j] * model.x[j, k] for k in model.K for j in jobs_on[k].get((s, g), ()))
            <= model.theta
        ),
    )
    return model


def _choice(instance: RingInstance, pool: Pool, relaxed: bool) -> "pyo.ConcreteModel":
    """Return a model with (11)-(13) alone."""
    import pyomo.core as pyo

    model = pyo.ConcreteModel(name=instance.name)
    model.pool = pool
    jobs = len(instance.jobs)
    model.J = pyo.RangeSet(0, jobs - 1)
    model.K = pyo.RangeSet(0, len(pool) - 1)
    model.x = pyo.Var(
        model.J, model.K, doc="job j follows schedule k",
        domain=pyo.UnitInterval if relaxed else pyo.Binary,
    )  # fmt: skip
    model.eq_11 = pyo.Constraint(
        model.J,
        doc="one schedule for each job",
        rule=lambda model, j: sum(model.x[j, k] for k in model.K) == 1,
    )
    model.eq_12 = pyo.Constraint(
        pyo.RangeSet(1, jobs - 1),
        model.K,
        doc="the same schedule for all jobs",
        rule=lambda model, j, k: model.x[j, k] == model.x[j - 1, k],
    )
    return model


def build_cp_sat(instance: RingInstance, pool: Pool) -> "CpModel":
    """Return (10)-(13) as a CP-SAT model, without solving it.

    `pool`: schedules of the instance, at least one.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    J, K = range(len(instance.jobs)), range(len(pool))
    x = {(j, k): model.new_bool_var(f"x[{j},{k}]") for j in J for k in K}
    makespan = model.new_int_var(0, max(schedule.makespan for schedule in pool), "mk")
    for j, job in enumerate(instance.jobs):
        model.add_exactly_one(x[j, k] for k in K)  # eq_11
        if j:
            for k in K:
                model.add(x[j, k] == x[j - 1, k])  # eq_12
        ends = [schedule.runs[job.id].end for schedule in pool]
        model.add(makespan >= sum(ends[k] * x[j, k] for k in K))  # eq_10
    model.minimize(makespan)
    return model


def read(model: "pyo.ConcreteModel", instance: RingInstance) -> RingSchedule:
    """Return the schedule that a solved Pyomo model chooses.

    `model`: result of `build`, with values.
    """
    chosen: int = max(model.K, key=lambda k: model.x[0, k].value or 0.0)
    schedule: RingSchedule = model.pool[chosen]
    return schedule


def read_cp_sat(values: Sequence[int], pool: Pool) -> RingSchedule:
    """Return the schedule that a solved CP-SAT model chooses.

    `values`: value of each variable of `build_cp_sat`, by its index. `pool`: pool of the model.
    """
    return pool[max(range(len(pool)), key=values.__getitem__)]


def _jobs_by_gpu(
    instance: RingInstance, schedule: RingSchedule
) -> Mapping[tuple[int, int], list[int]]:
    """Return the jobs on each GPU, by (server, number)."""
    position = {server.id: s for s, server in enumerate(instance.servers)}
    jobs_on: dict[tuple[int, int], list[int]] = {}
    for j, job in enumerate(instance.jobs):
        for server, numbers in (schedule.runs[job.id].gpus or {}).items():
            for number in numbers:
                jobs_on.setdefault((position[server], number), []).append(j)
    return jobs_on
