"""The bounds as methods, each with a certificate that is evaluated without an engine.

Joins `elementary`, `configuration_lp` and `pattern_lp` to the clock and the certificates.
"""

import math
from collections.abc import Mapping

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, NullProgress, Progress, RunContext
from schedgap.models.ring.algorithms.packing import lpt_pack
from schedgap.models.ring.bounds import configuration_lp
from schedgap.models.ring.bounds.elementary import width_dff
from schedgap.models.ring.bounds.pattern_lp import Refutation, pattern_bound
from schedgap.models.ring.rates import past_horizon, rate_table

_SEARCH_SHARE = 0.9  # share of the remaining time; the rest is for the last makespan and its proof


def _proved(bound: float, certificate: dict[str, object], **trace: object) -> MethodResult:
    value = float(bound)
    return MethodResult(bound=value, certificate=certificate | {"value": value}, trace=trace)


def run_job_alone(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `job-alone`: max_j d_j."""
    best = rate_table(instance).best_slots
    longest = max(range(len(best)), key=best.__getitem__)
    return _proved(best[longest], {"kind": "longest", "job": instance.jobs[longest].id})


def run_area(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `area`: ceil(sum_j G_j d_j / N)."""
    return _proved(rate_table(instance).area, {"kind": "area"})


def _width_dff(instance: RingInstance, call: RunContext) -> MethodResult:
    """Return the best area bound with sizes f_k(G_j)."""
    value, k = width_dff(rate_table(instance))
    return within_horizon(instance, _proved(value, {"kind": "width-dff", "k": k}))


def run_configuration_lp(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `configuration-lp`."""
    table = rate_table(instance)
    if reason := configuration_lp.too_large(table):
        return MethodResult(note=f"the pricing problem is too large: {reason}")
    found = configuration_lp.configuration_bound(table, call.clock)
    if found is None:
        return MethodResult(note="stopped before the first bound")
    prices = zip(instance.jobs, found.prices, strict=True)
    certificate: dict[str, object] = {
        "kind": "configuration-lp",
        "jobs": {job.id: list(price) for job, price in prices if any(price)},
    }
    return within_horizon(instance, _proved(found.slots, certificate, lp=found.objective))


def run_bounds(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `bounds`: the best of the bounds that take little time.

    `configuration_lp` is one of them if a job fits into no server.
    """
    best = MethodResult(note="stopped before the first bound")
    trace = {}
    runs = [("longest", run_job_alone), ("area", run_area), ("width-dff", _width_dff)]
    if max(rate_table(instance).fewest_servers) > 1:
        runs.append(("configuration-lp", run_configuration_lp))
    for name, run in runs:
        result = run(instance, call)
        if result.infeasible:
            return result
        trace[name] = result.bound
        if result.bound is not None and (best.bound is None or result.bound > best.bound):
            best = result
            call.progress.bound(result.bound, result.certificate)
    return MethodResult(bound=best.bound, certificate=best.certificate, note=best.note, trace=trace)


def run_pattern_lp(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `pattern-lp`, between the result of `bounds` and the makespan of `lpt-pack`."""
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
        certificate: dict[str, object] = {
            "kind": "pattern-lp",
            "slots": refutation.slots,
            "jobs": {job.id: price for job, price in prices if price},
        }
        best = _proved(refutation.slots + 1, certificate, **start.trace)
        call.progress.bound(refutation.slots + 1.0, best.certificate)

    call.progress.phase("refuting makespans")
    clock = call.clock.share(_SEARCH_SHARE)
    pattern_bound(table, int(start.bound), upper, clock, on_refuted=report)
    return within_horizon(instance, best)


def within_horizon(instance: RingInstance, result: MethodResult) -> MethodResult:
    """Return the result of a bound, turned into a proof of infeasibility if beyond the horizon.

    `result`: bound in slots with its certificate and trace.
    """
    if result.bound is not None and result.bound > instance.horizon:
        return MethodResult(
            infeasible=True,
            note=past_horizon(instance, result.bound),
            certificate=result.certificate,
            trace=result.trace,
        )
    return result


class BoundsOnly(NullProgress):
    """Progress for methods of kind bound: reports confirmed bounds and ignores schedules.

    `lower`: bound known at the beginning, slots.
    """

    def __init__(self, progress: Progress, lower: int) -> None:
        self._progress = progress
        self.lower: float = lower

    def incumbent(self, schedule: object, objective: float | None = None) -> None:
        """Discard a schedule.

        `schedule`: not read. `objective`: not read.
        """

    def bound(
        self,
        value: float,
        certificate: Mapping[str, object] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Report a bound, rounded up to a whole slot, if it is better than all before.

        `value`: slots. `confirmed`: False for a bound that only an engine reports, which is
        ignored.
        """
        lower = math.ceil(value - 1e-6)
        if confirmed and lower > self.lower:
            self.lower = lower
            self._progress.bound(lower, certificate)
