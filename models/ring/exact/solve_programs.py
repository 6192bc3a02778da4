"""The program (1)-(9) as exact methods, printed and by intervals, and two relaxations of it."""

from collections.abc import Callable
from dataclasses import replace

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, NullProgress, RunContext
from schedgap.models.ring.bounds.solve_bounds import BoundsOnly
from schedgap.models.ring.exact.interval_stages import relaxation_stage
from schedgap.models.ring.heuristics.initial import initial_state, settled_result
from schedgap.models.ring.programs import intervals, printed
from schedgap.models.ring.rates import refuted
from schedgap.models.ring.simulator import schedule_of


def rar_ddls(instance: RingInstance, call: RunContext) -> MethodResult:
    """Solve (1)-(9) as printed, up to the makespan of a first schedule."""
    if proof := refuted(instance):
        return proof
    found = initial_state(instance, call)
    if end := settled_result(instance, found):
        return end
    horizon = instance.horizon if found.schedule is None else found.schedule.makespan
    columns = printed.size(instance, horizon)
    if columns > printed.MOST_COLUMNS:
        return found.outcome(f"too large: about {columns} columns > {printed.MOST_COLUMNS}")
    if columns > call.clock.remaining() * printed.COLUMNS_PER_SECOND:
        return found.outcome(f"no time to build a program of about {columns} columns")
    call.progress.phase("building the program")
    model = printed.build(instance, horizon=horizon, least=int(found.lower))
    found.solve(model, lambda values: printed.read(model, instance), grid=1)
    return found.outcome()


def rar_ddls_cp(instance: RingInstance, call: RunContext) -> MethodResult:
    """Solve (1)-(9) by intervals, the rates slot by slot."""
    if proof := refuted(instance):
        return proof
    found = initial_state(instance, call)
    if end := settled_result(instance, found):
        return end
    call.progress.phase("building the program")
    known = found.schedule
    made = intervals.build(
        instance,
        horizon=instance.horizon if known is None else known.makespan,
        detail="slots",
        least=int(found.lower),
        pair_cuts=call.options["pair_cuts"],
    )
    if made is None:
        return MethodResult(infeasible=True, note="some job cannot end within the horizon")
    program = made
    found.solve(
        program.model,
        lambda values: schedule_of(instance, *program.plan(values)),
        grid=1,
        start=None if known is None else program.start_from(known),
    )
    return found.outcome()


def _relaxed(detail: intervals.Detail) -> Callable[[RingInstance, RunContext], MethodResult]:
    def run(instance: RingInstance, call: RunContext) -> MethodResult:
        if proof := refuted(instance):
            return proof
        known = initial_state(instance, replace(call, progress=NullProgress()))
        lower = int(known.lower)
        call.progress.bound(lower, known.certificate)
        if lower > instance.horizon:
            return settled_result(instance, known) or MethodResult(bound=lower)
        kept = BoundsOnly(call.progress, lower)
        report = relaxation_stage(
            kept,
            instance,
            known.schedule,
            lower,
            detail,
            clock=call.clock,
            seed=call.seed,
            threads=call.threads,
        )
        if report.infeasible:
            return MethodResult(infeasible=True, note="complete search", trace=dict(report.trace))
        return MethodResult(
            bound=float(kept.lower),
            certificate=known.certificate if kept.lower == lower else None,
            trace=dict(report.trace),
        )

    return run


contention_free, pair_contention = _relaxed("free"), _relaxed("pairs")
