"""The bounds as methods, each with a certificate that is evaluated without an engine."""

import math
from collections.abc import Mapping
from typing import Any

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, NullProgress, Progress, RunContext
from schedgap.models.ring.algorithms.packing import lpt_pack
from schedgap.models.ring.bounds import class_lp
from schedgap.models.ring.bounds.elementary import width_dff
from schedgap.models.ring.bounds.pattern_lp import Refutation, pattern_bound
from schedgap.models.ring.rates import past_horizon, rate_table, refuted
from schedgap.solvers import solve

_SEARCHING = 0.9  # of the time; the rest is for what is under way, and for its proof


def _proved(bound: float, certificate: dict[str, Any], **trace: Any) -> MethodResult:
    value = float(bound)
    return MethodResult(bound=value, certificate=certificate | {"value": value}, trace=trace)


def run_job_alone(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `job-alone`: the longest job, by itself at its best."""
    if proof := refuted(instance):
        return proof
    best = rate_table(instance).best_slots
    longest = max(range(len(best)), key=best.__getitem__)
    return _proved(best[longest], {"kind": "longest", "job": instance.jobs[longest].id})


def run_area(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `area`."""
    return refuted(instance) or _proved(rate_table(instance).area, {"kind": "area"})


def run_width_dff(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `width-dff`."""
    if proof := refuted(instance):
        return proof
    value, k = width_dff(rate_table(instance))
    return within_horizon(instance, _proved(value, {"kind": "width-dff", "k": k}))


def run_class_lp(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `class-lp`."""
    if proof := refuted(instance):
        return proof
    program = class_lp.class_program(rate_table(instance))
    result = solve(
        class_lp.build(program), "highs", clock=call.clock, threads=call.threads, seed=call.seed
    )
    if result.duals is None:
        return MethodResult(note="stopped before the first bound")
    prices = class_lp.prices(program, result.duals)
    certificate = {
        "kind": "class-lp",
        "classes": dict(prices.rows),
        "jobs": {job.id: nu for job, nu in zip(instance.jobs, prices.jobs, strict=True) if nu},
    }
    value = class_lp.dual_bound(program, prices)
    return within_horizon(instance, _proved(value, certificate, lp=result.objective))


def run_bounds(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `bounds`: the best of `job-alone`, `area`, `width-dff` and `class-lp`."""
    best = MethodResult(note="stopped before the first bound")
    trace = {}
    for name, run in (
        ("longest", run_job_alone),
        ("area", run_area),
        ("width-dff", run_width_dff),
        ("class-lp", run_class_lp),
    ):
        found = run(instance, call)
        if found.infeasible:
            return found
        trace[name] = found.bound
        if found.bound is not None and (best.bound is None or found.bound > best.bound):
            best = found
            call.progress.bound(found.bound, found.certificate)
    return MethodResult(bound=best.bound, certificate=best.certificate, note=best.note, trace=trace)


def run_pattern_lp(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `pattern-lp`, from the best of `bounds` up to the makespan of `lpt-pack`."""
    start = run_bounds(instance, call)
    if start.infeasible or start.bound is None:
        return start
    table = rate_table(instance)
    trial = lpt_pack(table)
    upper = int(trial.makespan) if trial.feasible else table.horizon + 1
    best = start

    def report(refutation: Refutation) -> None:
        nonlocal best
        prices = zip(instance.jobs, refutation.prices, strict=True)
        certificate = {
            "kind": "pattern-lp",
            "slots": refutation.slots,
            "jobs": {job.id: price for job, price in prices if price},
        }
        best = _proved(refutation.slots + 1, certificate, **start.trace)
        call.progress.bound(refutation.slots + 1.0, best.certificate)

    call.progress.phase("refuting makespans")
    pattern_bound(table, int(start.bound), upper, call.clock.share(_SEARCHING), on_refuted=report)
    return within_horizon(instance, best)


def within_horizon(instance: RingInstance, found: MethodResult) -> MethodResult:
    """Return a bound, or the proof that it exceeds the horizon."""
    if found.bound is not None and found.bound > instance.horizon:
        return MethodResult(
            infeasible=True,
            note=past_horizon(instance, found.bound),
            certificate=found.certificate,
            trace=found.trace,
        )
    return found


class BoundsOnly(NullProgress):
    """Where a bound sends what it finds: schedules are not its business."""

    def __init__(self, progress: Progress, lower: int) -> None:
        self._progress = progress
        self.lower: float = lower

    def incumbent(self, schedule: object, objective: float | None = None) -> None:
        """Discard a schedule."""

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Pass it on, unless it is an engine's word."""
        lower = math.ceil(value - 1e-6)
        if confirmed and lower > self.lower:
            self.lower = lower
            self._progress.bound(lower, certificate)
