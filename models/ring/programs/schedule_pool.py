"""Problem (10)-(13): one of the schedules of a pool, and (14)-(16): one within a limit on loads.

The paper's pool holds all schedules there are. Any smaller one gives a schedule, and no bound.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.ring.programs.load_limit import estimated_loads
from schedgap.models.ring.rates import rate_table

Pool = Sequence[RingSchedule]


def build(instance: RingInstance, pool: Pool, *, relaxed: bool = False) -> Any:
    """Return (10)-(13) as a Pyomo `ConcreteModel`; it solves nothing.

    `relaxed`: without (13), the convex combinations of the pool's schedules.

    Notes
    -----
    T_j is the last slot of a job, a_j + rho_j - 1 (E6). Rows (12) of consecutive jobs suffice.
    """
    import pyomo.environ as pyo

    model = _choice(instance, pool, relaxed)
    ends = [[kept.runs[job.id].end for kept in pool] for job in instance.jobs]
    model.mk = pyo.Var(domain=pyo.NonNegativeReals, doc="makespan")
    model.objective = pyo.Objective(expr=model.mk, doc="(10)")
    model.eq_10 = pyo.Constraint(
        model.J,
        doc="no job ends later, in the schedule that is chosen (E9)",
        rule=lambda model, j: model.mk >= sum(ends[j][k] * model.x[j, k] for k in model.K),
    )
    return model


def build_limit(instance: RingInstance, pool: Pool) -> Any:
    """Return (14)-(16) with (11)-(13) as a Pyomo model that minimises theta_u; solves nothing.

    The schedules of the pool must have GPU numbers.
    """
    import pyomo.environ as pyo

    model = _choice(instance, pool, False)
    table = rate_table(instance)
    work = estimated_loads(table)
    users = [_users(instance, kept) for kept in pool]  # [k] (server, GPU) -> jobs
    gpus = [(s, g) for s, room in enumerate(table.server_gpus) for g in range(room)]
    model.theta = pyo.Var(domain=pyo.NonNegativeReals, doc="limit on the load of every GPU")
    model.objective = pyo.Objective(expr=model.theta, doc="the least limit of (14)")
    model.eq_16 = pyo.Constraint(
        gpus,
        doc="load of each GPU: (15) counts a job where it runs only (E10)",
        rule=lambda model, s, g: (
            sum(work[j] * model.x[j, k] for k in model.K for j in users[k].get((s, g), ()))
            <= model.theta
        ),
    )
    return model


def _choice(instance: RingInstance, pool: Pool, relaxed: bool) -> Any:
    """Return a model with (11)-(13) alone."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel(name=instance.name)
    jobs = len(instance.jobs)
    model.J = pyo.RangeSet(0, jobs - 1)
    model.K = pyo.RangeSet(0, len(pool) - 1)
    model.x = pyo.Var(
        model.J, model.K, doc="job j follows schedule k",
        domain=pyo.UnitInterval if relaxed else pyo.Binary,
    )  # fmt: skip
    model.eq_11 = pyo.Constraint(
        model.J,
        doc="one schedule",
        rule=lambda model, j: sum(model.x[j, k] for k in model.K) == 1,
    )
    model.eq_12 = pyo.Constraint(
        pyo.RangeSet(1, jobs - 1),
        model.K,
        doc="the same for all jobs",
        rule=lambda model, j, k: model.x[j, k] == model.x[j - 1, k],
    )
    return model


def build_cp_sat(instance: RingInstance, pool: Pool) -> Any:
    """Return (10)-(13) as a CP-SAT model; it solves nothing."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    J, K = range(len(instance.jobs)), range(len(pool))
    x = {(j, k): model.new_bool_var(f"x[{j},{k}]") for j in J for k in K}
    makespan = model.new_int_var(0, max(kept.makespan for kept in pool), "mk")
    for j, job in enumerate(instance.jobs):
        model.add_exactly_one(x[j, k] for k in K)  # eq_11
        if j:
            for k in K:
                model.add(x[j, k] == x[j - 1, k])  # eq_12
        model.add(makespan >= sum(kept.runs[job.id].end * x[j, k] for k, kept in enumerate(pool)))
    model.minimize(makespan)
    return model


def read(model: Any, pool: Pool) -> RingSchedule:
    """Return the schedule that a solved Pyomo model chooses."""
    chosen: int = max(model.K, key=lambda k: model.x[0, k].value or 0.0)
    return pool[chosen]


def read_cp_sat(values: Sequence[int], pool: Pool) -> RingSchedule:
    """Return the schedule that the values of a CP-SAT model's variables choose."""
    return pool[max(range(len(pool)), key=values.__getitem__)]


def _users(instance: RingInstance, kept: RingSchedule) -> Mapping[tuple[int, int], list[int]]:
    """Return the jobs on each GPU (server, number)."""
    place = {server.id: s for s, server in enumerate(instance.servers)}
    found: dict[tuple[int, int], list[int]] = {}
    for j, job in enumerate(instance.jobs):
        for server, numbers in (kept.runs[job.id].gpus or {}).items():
            for number in numbers:
                found.setdefault((place[server], number), []).append(j)
    return found
