"""The programs of the family up to the makespan of a schedule, for engines, files and readers."""

import math
from typing import Annotated

from schedgap.errors import UsageError
from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.program import BuiltProgram, Known, NotBuiltError
from schedgap.models.ring.exact import all_schedules
from schedgap.models.ring.heuristics.initial import initial_state, settled_result, starting_schedule
from schedgap.models.ring.programs import intervals, printed
from schedgap.models.ring.programs import schedule_pool as pools
from schedgap.models.ring.rates import no_schedule, rate_table
from schedgap.models.ring.simulator import schedule_of
from schedgap.models.search_state import SearchState

Built = BuiltProgram[RingSchedule]


def initial(instance: RingInstance, call: RunContext) -> SearchState | MethodResult:
    """Return the search state before any search, or the result if that settles the instance."""
    state = initial_state(instance, call)
    return settled_result(instance, state) or state


def first_schedule(instance: RingInstance) -> RingSchedule | None:
    """Return the best of a few list schedules; UsageError if bounds prove that there is none."""
    if reason := no_schedule(instance):
        raise UsageError(f"no program: {reason}")
    return starting_schedule(instance)


def _horizon(instance: RingInstance, known: Known[RingSchedule] | None) -> int:
    """Return the last slot in which a job may end: the makespan of the known schedule.

    In the full time horizon there is time for one job after another and the longest twice, but no
    more than the instance has.
    """
    if known is not None:
        return instance.horizon if known.schedule is None else known.schedule.makespan
    first, shortest = first_schedule(instance), rate_table(instance).best_slots
    serial = int(sum(shortest) + max(shortest))
    return min(instance.horizon, serial if first is None else max(serial, first.makespan))


def rar_ddls(instance: RingInstance, known: Known[RingSchedule] | None = None) -> Built:
    """Build (1)-(9) slot by slot."""
    horizon = _horizon(instance, known)
    if (columns := printed.size(instance, horizon)) > printed.MOST_COLUMNS:
        raise NotBuiltError(f"too large: about {columns} columns > {printed.MOST_COLUMNS}")
    lower = None if known is None or math.isinf(known.lower) else int(known.lower)
    model = printed.build(instance, horizon=horizon, lower=lower)
    return BuiltProgram(model, lambda values: printed.read(model, instance), grid=1)


def rar_ddls_cp(
    instance: RingInstance,
    known: Known[RingSchedule],
    *,
    pair_cuts: Annotated[bool, "add rows for pairs of rings that overlap on a server"] = True,
) -> Built | None:
    """Build (1)-(9) by intervals, with contention slot by slot."""
    program = intervals.build(
        instance,
        horizon=_horizon(instance, known),
        detail="slots",
        lower=int(known.lower),
        pair_cuts=pair_cuts,
    )
    if program is None:
        return None
    plan = program.plan
    return BuiltProgram(
        program.model,
        lambda values: schedule_of(instance, *plan(values)),
        grid=1,
        start=program.start_from,
    )


def complete_pool(instance: RingInstance, known: Known[RingSchedule] | None = None) -> Built | None:
    """Build (10)-(13) over all schedules of a tiny instance that end by a known makespan."""
    schedule = first_schedule(instance) if known is None else known.schedule
    latest = instance.horizon if schedule is None else schedule.makespan
    pool = all_schedules.complete_pool(instance, latest)
    if not pool:
        if known is None:
            raise UsageError("no program: no start and placement of all jobs is feasible")
        return None
    model = pools.build(instance, pool)
    return BuiltProgram(model, lambda values: pools.read(model, instance), grid=1)
