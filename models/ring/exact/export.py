"""The programs that `schedgap export` writes, by the name of the method that solves them."""

from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.ring import RingInstance
from schedgap.models.ring.heuristics.initial import starting_schedule
from schedgap.models.ring.heuristics.pool_of_runs import default_pool
from schedgap.models.ring.programs import printed
from schedgap.models.ring.programs import schedule_pool as pools
from schedgap.models.ring.rates import no_schedule


def rar_ddls(instance: RingInstance) -> Any:
    """Return (1)-(9) slot by slot, up to the makespan of a first schedule."""
    _possible(instance)
    first = starting_schedule(instance)
    horizon = instance.horizon if first is None else first.makespan
    return printed.build(instance, horizon=horizon)


def schedule_pool(instance: RingInstance) -> Any:
    """Return (10)-(13) over the runs of the algorithms."""
    _possible(instance)
    pool = default_pool(instance)
    if not pool:
        raise UsageError("no program: no run found a schedule within the horizon")
    return pools.build(instance, pool)


def _possible(instance: RingInstance) -> None:
    """Raise UsageError where bounds alone prove that there is no schedule."""
    if reason := no_schedule(instance):
        raise UsageError(f"no program: {reason}")
