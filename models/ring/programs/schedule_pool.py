"""Choice of a schedule from a pool, (10)-(13).

The paper's pool holds all schedules. The choice from a smaller pool is feasible, but bounds
nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from schedgap.instances.ring import RingInstance, RingSchedule

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

    model = pyo.ConcreteModel(name=instance.name)
    model.pool = pool
    jobs = len(instance.jobs)
    model.J = pyo.RangeSet(0, jobs - 1)
    model.K = pyo.RangeSet(0, len(pool) - 1)
    model.x = pyo.Var(model.J, model.K, domain=pyo.Binary, doc="job j follows schedule k")
    model.mk = pyo.Var(domain=pyo.NonNegativeReals, doc="makespan")
    model.objective = pyo.Objective(expr=model.mk, doc="(10)")
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
    ends = [[schedule.runs[job.id].end for schedule in pool] for job in instance.jobs]
    model.eq_10 = pyo.Constraint(
        model.J,
        doc="no job ends later, in the chosen schedule (E9)",
        rule=lambda model, j: model.mk >= sum(ends[j][k] * model.x[j, k] for k in model.K),
    )
    return model


def read(model: "pyo.ConcreteModel", instance: RingInstance) -> RingSchedule:
    """Return the schedule that a solved model chooses.

    `model`: result of `build`, with values.
    """
    chosen: int = max(model.K, key=lambda k: model.x[0, k].value or 0.0)
    schedule: RingSchedule = model.pool[chosen]
    return schedule
