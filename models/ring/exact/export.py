"""The programs that `schedgap export` writes, by the name of the method that solves them.

Joins `programs` to the starting schedule that gives the horizon, and to the pool.
"""

from typing import TYPE_CHECKING

from schedgap.errors import UsageError
from schedgap.instances.ring import RingInstance
from schedgap.models.ring.exact import all_schedules
from schedgap.models.ring.heuristics.initial import starting_schedule
from schedgap.models.ring.programs import printed
from schedgap.models.ring.programs import schedule_pool as pools
from schedgap.models.ring.rates import no_schedule, rate_table

if TYPE_CHECKING:
    import pyomo.environ as pyo


def rar_ddls(instance: RingInstance) -> "pyo.ConcreteModel":
    """Return (1)-(9) slot by slot, with the makespan of a first schedule as the horizon."""
    _require_possible(instance)
    first = starting_schedule(instance)
    horizon = instance.horizon if first is None else first.makespan
    return printed.build(instance, horizon=horizon)


def full_rar_ddls(instance: RingInstance) -> "pyo.ConcreteModel":
    """Return (1)-(9) slot by slot, with time for one job after another and the longest twice.

    No longer than the horizon of the instance.
    """
    _require_possible(instance)
    first = starting_schedule(instance)
    shortest = rate_table(instance).best_slots
    serial = int(sum(shortest) + max(shortest))
    least = serial if first is None else max(serial, first.makespan)
    return printed.build(instance, horizon=min(instance.horizon, least))


def complete_pool(instance: RingInstance) -> "pyo.ConcreteModel":
    """Return (10)-(13) over all schedules of a tiny instance."""
    _require_possible(instance)
    pool = all_schedules.complete_pool(instance, all_schedules.latest_end(instance))
    if not pool:
        raise UsageError("no program: no start and placement of all jobs is feasible")
    return pools.build(instance, pool)


def _require_possible(instance: RingInstance) -> None:
    """Raise UsageError if bounds alone prove that there is no schedule."""
    if reason := no_schedule(instance):
        raise UsageError(f"no program: {reason}")
