"""The method `pair-contention`: a bound from the interval program with contention between pairs."""

from dataclasses import replace

from schedgap.errors import ContradictionError, ScaleError
from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, NullProgress, RunContext
from schedgap.models.ring.bounds.solve_bounds import BoundsOnly
from schedgap.models.ring.heuristics.initial import initial_state, settled_result
from schedgap.models.ring.programs import intervals
from schedgap.models.search_state import solve_program


def pair_contention(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `pair-contention`: the interval program with contention between pairs only."""
    initial = initial_state(instance, replace(call, progress=NullProgress()))
    lower, first = int(initial.lower), initial.schedule
    call.progress.bound(lower, initial.certificate)
    if lower > instance.horizon:
        return settled_result(instance, initial) or MethodResult(bound=lower)
    horizon = instance.horizon if first is None else first.makespan
    known = MethodResult(bound=float(lower), certificate=initial.certificate)
    try:
        program = intervals.build(instance, horizon=horizon, detail="pairs", lower=lower)
    except ScaleError as error:
        return replace(known, trace={"left_out": str(error)})
    if program is None:
        return MethodResult(infeasible=True, note="complete search")
    bounds = BoundsOnly(call.progress, lower)
    result, report = solve_program(
        bounds,
        program.model,
        "cp-sat",
        budget=call.budget,
        read=lambda values: None,
        grid=1,
        start=None if first is None else program.start_from(first),
    )
    if report.infeasible and first is not None:
        raise ContradictionError(f"no plan ends by {horizon}, where a schedule does")
    if report.infeasible:
        return MethodResult(infeasible=True, note="complete search", trace=report.trace)
    trace = {"value": result.objective, **report.trace}
    if bounds.lower == lower:
        return replace(known, trace=trace)
    return MethodResult(bound=float(bounds.lower), trace=trace)
