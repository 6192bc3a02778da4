"""The programs that `schedgap export` writes, by the name of the method that solves them."""

from collections.abc import Callable, Mapping
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.ring import RingInstance


def rar_ddls(instance: RingInstance) -> Any:
    """Return (1)-(9) slot by slot, up to the makespan of a first schedule."""
    from schedgap.models.ring import program

    return program.build(instance)


def schedule_pool(instance: RingInstance) -> Any:
    """Return (10)-(13) over the runs of the algorithms."""
    from schedgap.models.ring import schedule_pool as pools
    from schedgap.models.ring.rates import no_schedule

    if reason := no_schedule(instance):
        raise UsageError(f"no program: {reason}")
    pool = pools.default_pool(instance)
    if not pool:
        raise UsageError("no program: no run found a schedule within the horizon")
    return pools.build(instance, pool)


PROGRAMS: Mapping[str, Callable[[RingInstance], Any]] = {
    "rar-ddls": rar_ddls,
    "schedule-pool": schedule_pool,
}
