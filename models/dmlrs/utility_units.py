"""Utilities in a unit of their own (ours): what engines' absolute tolerances are small against.

Engines compare with 1e-6 or less, whatever the size of the numbers. So methods run on an instance
whose largest utility that a job may earn is 512 to 1024: all are multiplied by one power of two,
which floats do exactly, and schedules, bounds and prices mean the same before and after. A large
utility that no schedule earns would still hide small ones. What is above a bound on the whole sum
is earned by none: it is cut down, and the rest is multiplied again.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.instance import Table
from schedgap.models.dmlrs.throughput import first_completions
from schedgap.models.method import MethodResult, Progress, RunContext

TOP = 10  # the largest utility is below 2^10, and no less than half of it
WORD = 2e-6  # how far an engine's bound may lie on the wrong side of its optimum
LOW = 2.0  # a bound below this is looked at again in a smaller unit
CLOSED = 1e-7  # relative, of a value and its bound
_ROUND = 1e-12  # relative, of sums of utilities
_UTILITIES = ("goal", "fluid", "master", "relaxation", "bound")  # of a trace

Run = Callable[[DmlrsInstance, RunContext], MethodResult]


def in_unit(instance: DmlrsInstance, most: float = math.inf) -> tuple[DmlrsInstance, int]:
    """Return the instance with utilities times 2^k, and k; the schedules are the same ones.

    Parameters
    ----------
    most : float
        A bound on the optimum: a completion that is worth more is none of any schedule, and is
        worth as much as the job's next one. The optimum is the same, apart from the unit.
    """
    view, T = arrays(instance), instance.horizon
    kept: list[tuple[int, list[float]]] = []  # of each job: slots without a say, then utilities
    for i, first in enumerate(first_completions(instance)):
        arrival = int(view.arrival[i])
        own = view.utility[i, first - arrival : T - arrival + 1]
        left = own[own <= most * (1 + _ROUND)]
        kept.append((first - arrival + len(own) - len(left), left.tolist()))
    top = max((own[0] for _, own in kept if own), default=0.0)
    k = TOP - math.frexp(top)[1] if top > 0 else 0
    jobs = []
    for job, (free, late) in zip(instance.jobs, kept, strict=True):
        worths = [_times(value, k) for value in late]
        values = [*worths[:1] * free, *worths, *[0.0] * T][:T]
        table = Table.model_construct(type="table", values=tuple(values))
        jobs.append(job.model_copy(update={"utility": table}))
    fields = {name: getattr(instance, name) for name in instance.model_fields_set}
    return type(instance).model_construct(**(fields | {"jobs": tuple(jobs)})), k


def _times(value: float, k: int) -> float:
    """Return value 2^k, rounded up where a float cannot hold it."""
    found = math.ldexp(value, k)
    return found if math.ldexp(found, -k) >= value else math.nextafter(found, math.inf)


class _Heard:
    """Progress of a run on the instance in its unit, told in the instance's own."""

    def __init__(self, instance: DmlrsInstance, k: int, told: Progress, least: float) -> None:
        self.instance, self.k, self.told, self.least = instance, k, told, least

    def incumbent(self, schedule: DmlrsSchedule, objective: float) -> None:
        """Pass a schedule on."""
        self.told.incumbent(schedule, schedule.value(self.instance))

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Pass a bound on; one for an instance that was cut down has no certificate."""
        value = _times(value, -self.k)
        if self.least == math.inf:
            proof = certificate and _priced(certificate, -self.k)
            self.told.bound(value, proof, confirmed=confirmed)
        elif value < self.least:
            self.told.bound(value, confirmed=confirmed)

    def phase(self, text: str) -> None:
        """Pass on what is being done."""
        self.told.phase(text)


def in_units(run: Run, *, again: bool = False) -> Run:
    """Return a method that runs in the instance's unit and answers in its own.

    Parameters
    ----------
    again : bool
        Whether it is run again where its bound is small against the unit, for as long as the bound
        does not meet the schedule.
    """

    def wrapped(instance: DmlrsInstance, call: RunContext) -> MethodResult:
        least, best, rounds = math.inf, MethodResult(), 0
        while True:
            small, k = in_unit(instance, least)
            heard = _Heard(instance, k, call.progress, least)
            found = _told(run(small, replace(call, progress=heard)), k)
            rounds += 1
            best = found if rounds == 1 else _joined(instance, best, found)
            bound = best.bound
            low = bound is not None and math.ldexp(bound, k) < LOW
            if not again or not low or bound is None or call.clock.expired():
                break
            value = 0.0 if best.schedule is None else best.schedule.value(instance)
            if bound - value <= CLOSED * bound or (bound >= least and rounds > 1):
                break
            least = bound
        if rounds > 1:
            best = replace(best, trace={**best.trace, "units": rounds})
        return best

    return wrapped


def _joined(instance: DmlrsInstance, one: MethodResult, other: MethodResult) -> MethodResult:
    """Return the better schedule and the better bound of two outcomes, the later one's words."""
    schedules = [each.schedule for each in (one, other) if each.schedule is not None]
    schedule = max(schedules, key=lambda each: each.value(instance), default=None)
    bounds = [each.bound for each in (one, other) if each.bound is not None]
    bound = min(bounds, default=None)
    certificate = one.certificate if bound == one.bound else None
    return replace(other, schedule=schedule, bound=bound, certificate=certificate)


def _told(found: MethodResult, k: int) -> MethodResult:
    bound = None if found.bound is None else _times(found.bound, -k)
    certificate = None if found.certificate is None else _priced(found.certificate, -k)
    return replace(found, bound=bound, certificate=certificate, trace=_trace(found.trace, -k))


def _trace(trace: Any, k: int) -> Any:
    if not isinstance(trace, Mapping):
        return trace
    return {
        key: math.ldexp(value, k)
        if key in _UTILITIES and isinstance(value, float)
        else _trace(value, k)
        for key, value in trace.items()
    }


def _priced(certificate: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Return a certificate with all prices times 2^k."""
    found = dict(certificate)
    for key, value in certificate.items():
        if key == "prices":
            found[key] = [[*row[:-1], math.ldexp(row[-1], k)] for row in value]
        elif key == "of":
            found[key] = _priced(value, k)
        elif key == "value":
            found[key] = _times(value, k)
    return found
