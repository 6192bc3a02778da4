"""The method `pair-contention`: a bound from the interval program with contention between pairs."""

from dataclasses import replace

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, NullProgress, RunContext
from schedgap.models.ring.bounds.solve_bounds import BoundsOnly
from schedgap.models.ring.exact.interval_stages import relaxation_stage
from schedgap.models.ring.heuristics.initial import initial_state, settled_result


def pair_contention(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run the stage of `exact` that minimises the relaxation, for its bound alone."""
    initial = initial_state(instance, replace(call, progress=NullProgress()))
    lower = int(initial.lower)
    call.progress.bound(lower, initial.certificate)
    if lower > instance.horizon:
        return settled_result(instance, initial) or MethodResult(bound=lower)
    bounds = BoundsOnly(call.progress, lower)
    report = relaxation_stage(bounds, instance, initial.schedule, lower, budget=call.budget)
    if report.infeasible:
        return MethodResult(infeasible=True, note="complete search", trace=report.trace)
    certificate = initial.certificate if bounds.lower == lower else None
    return MethodResult(bound=float(bounds.lower), certificate=certificate, trace=report.trace)
