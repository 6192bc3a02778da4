"""The program (1)-(9), printed and by intervals, as exact methods, and a relaxation as a bound.

Joins `programs.printed` and `programs.intervals` to the initial state and the engines.
"""

from dataclasses import replace
from typing import Annotated

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, NullProgress, RunContext
from schedgap.models.ring.bounds.solve_bounds import BoundsOnly
from schedgap.models.ring.exact.interval_stages import relaxation_stage
from schedgap.models.ring.heuristics.initial import (
    from_initial_state,
    initial_state,
    settled_result,
)
from schedgap.models.ring.programs import intervals, printed
from schedgap.models.ring.simulator import schedule_of
from schedgap.models.search_state import SearchState


@from_initial_state
def rar_ddls(instance: RingInstance, call: RunContext, state: SearchState) -> MethodResult:
    """Run method `rar-ddls`: (1)-(9) slot by slot, up to the makespan of a first schedule.

    `state`: initial state, given by `from_initial_state`.
    """
    horizon = instance.horizon if state.schedule is None else state.schedule.makespan
    columns = printed.size(instance, horizon)
    if columns > printed.MOST_COLUMNS:
        return state.outcome(f"too large: about {columns} columns > {printed.MOST_COLUMNS}")
    if columns > call.clock.remaining() * printed.COLUMNS_PER_SECOND:
        return state.outcome(f"no time to build a program of about {columns} columns")
    call.progress.phase("building the program")
    model = printed.build(instance, horizon=horizon, lower=int(state.lower))
    state.solve(model, lambda values: printed.read(model, instance), grid=1)
    return state.outcome()


@from_initial_state
def rar_ddls_cp(
    instance: RingInstance,
    call: RunContext,
    state: SearchState,
    *,
    pair_cuts: Annotated[bool, "add rows for pairs of rings that overlap on a server"] = True,
) -> MethodResult:
    """Run method `rar-ddls-cp`: (1)-(9) by intervals, with contention slot by slot.

    `state`: initial state, given by `from_initial_state`.
    """
    call.progress.phase("building the program")
    incumbent = state.schedule
    program = intervals.build(
        instance,
        horizon=instance.horizon if incumbent is None else incumbent.makespan,
        detail="slots",
        lower=int(state.lower),
        pair_cuts=pair_cuts,
    )
    if program is None:
        return MethodResult(infeasible=True, note="some job cannot end within the horizon")
    plan_of = program.plan
    state.solve(
        program.model,
        lambda values: schedule_of(instance, *plan_of(values)),
        grid=1,
        start=None if incumbent is None else program.start_from(incumbent),
    )
    return state.outcome()


def pair_contention(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `pair-contention`: the interval program with contention between pairs only."""
    initial = initial_state(instance, replace(call, progress=NullProgress()))
    lower = int(initial.lower)
    call.progress.bound(lower, initial.certificate)
    if lower > instance.horizon:
        return settled_result(instance, initial) or MethodResult(bound=lower)
    bounds = BoundsOnly(call.progress, lower)
    report = relaxation_stage(
        bounds,
        instance,
        initial.schedule,
        lower,
        "pairs",
        budget=call.budget,
    )
    if report.infeasible:
        return MethodResult(infeasible=True, note="complete search", trace=dict(report.trace))
    return MethodResult(
        bound=float(bounds.lower),
        certificate=initial.certificate if bounds.lower == lower else None,
        trace=dict(report.trace),
    )
