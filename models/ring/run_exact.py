"""The exact methods by intervals and their relaxations: each joins one program to CP-SAT."""

from collections.abc import Callable
from dataclasses import replace

from schedgap.instances.ring import RingInstance
from schedgap.models.method import Call, Method, Option, Outcome, Unheard
from schedgap.models.ring import program_cp_sat
from schedgap.models.ring.exact.staged import relax_stage, staged
from schedgap.models.ring.heuristics.starting import first_bracket, settled
from schedgap.models.ring.run_algorithms import refuted
from schedgap.models.ring.run_bounds import BoundsOnly
from schedgap.models.ring.simulator import schedule_of


def whole(instance: RingInstance, call: Call) -> Outcome:
    """Run `rar-ddls-cp`."""
    if proof := refuted(instance):
        return proof
    found = first_bracket(instance, call)
    if end := settled(instance, found):
        return end
    call.progress.phase("building the program")
    known = found.schedule
    made = program_cp_sat.build(
        instance,
        horizon=instance.horizon if known is None else known.makespan,
        detail="slots",
        least=int(found.lower),
        pair_cuts=call.options["pair_cuts"],
    )
    if made is None:
        return Outcome(infeasible=True, note="some job cannot end within the horizon")
    program = made
    found.solve(
        program.model,
        lambda values: schedule_of(instance, *program.plan(values)),
        grid=1,
        start=None if known is None else program.start_from(known),
    )
    return found.outcome()


def _relaxed(detail: program_cp_sat.Detail) -> Callable[[RingInstance, Call], Outcome]:
    def run(instance: RingInstance, call: Call) -> Outcome:
        if proof := refuted(instance):
            return proof
        known = first_bracket(instance, replace(call, progress=Unheard()))
        lower = int(known.lower)
        call.progress.bound(lower, known.certificate)
        if lower > instance.horizon:
            return settled(instance, known) or Outcome(bound=lower)
        kept = BoundsOnly(call.progress, lower)
        report = relax_stage(
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
            return Outcome(infeasible=True, note="complete search", trace=dict(report.trace))
        return Outcome(
            bound=float(kept.lower),
            certificate=known.certificate if kept.lower == lower else None,
            trace=dict(report.trace),
        )

    return run


METHODS: tuple[Method, ...] = (
    Method(
        "staged-cp",
        "exact",
        staged,
        "lists and bounds, relaxations, then makespans refuted one by one",
        "(1)-(9)",
        ours=True,
        engines=("cp-sat", "highs"),
        drives=True,
        seeded=True,
    ),
    Method(
        "rar-ddls-cp",
        "exact",
        whole,
        "the paper's program by intervals, its rates slot by slot",
        "(1)-(9)",
        ours=True,
        engines=("cp-sat",),
        options=(Option("pair_cuts", "bool", True, "rows for rings that overlap on a server"),),
        seeded=True,
    ),
    Method(
        "contention-free",
        "bound",
        _relaxed("free"),
        "the least makespan if rings never met",
        "(1)-(9) relaxed",
        ours=True,
        engines=("cp-sat",),
        seeded=True,
    ),
    Method(
        "pair-contention",
        "bound",
        _relaxed("pairs"),
        "the least makespan if rings met at most in pairs",
        "(1)-(9) relaxed",
        ours=True,
        engines=("cp-sat",),
        seeded=True,
    ),
)
