"""Choice of a schedule from a pool, (10)-(13), and of one within a limit on loads, (14)-(16).

The paper's pool holds all schedules. The choice from a smaller pool is feasible, but bounds
nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.ring.programs.load_limit import estimated_loads
from schedgap.models.ring.rates import rate_table

if TYPE_CHECKING:
    import pyomo.core as pyo

Pool = Sequence[RingSchedule]


def build(instance: RingInstance, pool: Pool) -> "pyo.ConcreteModel":
    """Return (10)-(13) as a Pyomo model, which has its schedules as `pool`.

    `pool`: schedules of the instance, at least one.

    Notes
    -----
    T_j is the last slot of a job, a_j + rho_j - 1 (E6). Rows (12) of consecutive jobs suffice.
    """
    import pyomo.core as pyo

    model = _choice(instance, pool)
    model.mk = pyo.Var(domain=pyo.NonNegativeReals, doc="makespan")
    model.objective = pyo.Objective(expr=model.mk, doc="(10)")
    ends = [[schedule.runs[job.id].end for schedule in pool] for job in instance.jobs]
    model.eq_10 = pyo.Constraint(
        model.J,
        doc="no job ends later, in the chosen schedule (E9)",
        rule=lambda model, j: model.mk >= sum(ends[j][k] * model.x[j, k] for k in model.K),
    )
    return model


def build_limit(instance: RingInstance, pool: Pool) -> "pyo.ConcreteModel":
    """Return (14)-(16) with (11)-(13) as a Pyomo model that minimises the limit theta_u.

    `load_limit` has the compact form, which needs no pool.

    `pool`: schedules of the instance with GPU numbers, at least one.
    """
    import pyomo.core as pyo

    model = _choice(instance, pool)
    load = estimated_loads(rate_table(instance))
    used = [  # [k][j] the GPUs of job j in schedule k, as pairs of a server and a number
        [
            {
                (server, gpu)
                for server, gpus in (schedule.runs[job.id].gpus or {}).items()
                for gpu in gpus
            }
            for job in instance.jobs
        ]
        for schedule in pool
    ]
    gpus = [(server.id, gpu) for server in instance.servers for gpu in range(server.gpus)]
    model.theta = pyo.Var(domain=pyo.NonNegativeReals, doc="limit on the load of every GPU")
    model.objective = pyo.Objective(expr=model.theta, doc="the least limit of (14)")
    model.eq_16 = pyo.Constraint(
        gpus,
        doc="load of each GPU: (15) counts a job only on the GPUs it uses (E10)",
        rule=lambda model, *gpu: (
            sum(load[j] * model.x[j, k] for j, k in model.J * model.K if gpu in used[k][j])
            <= model.theta
        ),
    )
    return model


def _choice(instance: RingInstance, pool: Pool) -> "pyo.ConcreteModel":
    """Return a model with (11)-(13) alone."""
    import pyomo.core as pyo

    model = pyo.ConcreteModel(name=instance.name)
    model.pool = pool
    model.J = pyo.RangeSet(0, len(instance.jobs) - 1)
    model.K = pyo.RangeSet(0, len(pool) - 1)
    model.x = pyo.Var(model.J, model.K, domain=pyo.Binary, doc="job j follows schedule k")
    model.eq_11 = pyo.Constraint(
        model.J,
        doc="one schedule for each job",
        rule=lambda model, j: sum(model.x[j, k] for k in model.K) == 1,
    )
    model.eq_12 = pyo.Constraint(
        pyo.RangeSet(1, len(instance.jobs) - 1),
        model.K,
        doc="the same schedule for all jobs",
        rule=lambda model, j, k: model.x[j, k] == model.x[j - 1, k],
    )
    return model


def read(model: "pyo.ConcreteModel", instance: RingInstance) -> RingSchedule:
    """Return the schedule that a solved model chooses.

    `model`: result of `build`, with values.
    """
    chosen: int = max(model.K, key=lambda k: model.x[0, k].value or 0.0)
    schedule: RingSchedule = model.pool[chosen]
    return schedule
