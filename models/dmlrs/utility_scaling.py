"""Scale the utilities so that the absolute tolerances of engines are small against them (ours).

Engines compare with 1e-6 or less, whatever the size of the numbers. Methods therefore run on an
instance whose largest attainable utility lies between 512 and 1024. All utilities are multiplied by
one power of two, which is exact in floating point. So schedules, bounds and prices convert back
exactly. A large utility that no schedule attains would still hide small ones. Utilities above a
bound on the whole sum are such: they are cut off, and the rest is scaled again.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.instance import Table
from schedgap.models.dmlrs.throughput import first_completions
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.scaled_values import Unscaled

MAX_EXPONENT = 10  # the largest utility is below 2^10, and no less than half of it
ENGINE_TOLERANCE = 2e-6  # most that an engine's bound may pass the optimum
RESCALE_BELOW = 2.0  # scaled bounds below this are computed again at a larger scale
CLOSED_GAP = 1e-7  # relative gap at which value and bound are equal
_SUM_ROUNDING = 1e-12  # relative, of sums of utilities


def scaled_instance(
    instance: DmlrsInstance, upper_bound: float = math.inf
) -> tuple[DmlrsInstance, int]:
    """Return the instance with utilities times 2^k, and k; its schedules are the same.

    `upper_bound`: bound on the optimum, in the given unit of utility. A completion of larger
    utility is in no schedule; the utility of the job's next completion replaces it. The optimum
    does not change, apart from the scale.
    """
    view, T = arrays(instance), instance.horizon
    remaining: list[
        tuple[int, list[float]]
    ] = []  # by job: completions that cannot occur, utilities
    for i, first in enumerate(first_completions(instance)):
        arrival = int(view.arrival[i])
        utilities = view.utility[i, first - arrival : T - arrival + 1]
        possible = utilities[utilities <= upper_bound * (1 + _SUM_ROUNDING)]
        remaining.append((first - arrival + len(utilities) - len(possible), possible.tolist()))
    largest = max((utilities[0] for _, utilities in remaining if utilities), default=0.0)
    k = MAX_EXPONENT - math.frexp(largest)[1] if largest > 0 else 0
    jobs = []
    for job, (lead, values_late) in zip(instance.jobs, remaining, strict=True):
        scaled = [_times(value, k) for value in values_late]
        values = [*scaled[:1] * lead, *scaled, *[0.0] * T][:T]
        table = Table.model_construct(type="table", values=tuple(values))
        jobs.append(job.model_copy(update={"utility": table}))
    fields = {name: getattr(instance, name) for name in instance.model_fields_set}
    return type(instance).model_construct(**(fields | {"jobs": tuple(jobs)})), k


def _times(value: float, k: int) -> float:
    """Return value 2^k, rounded up where a float cannot hold it."""
    scaled = math.ldexp(value, k)
    return scaled if math.ldexp(scaled, -k) >= value else math.nextafter(scaled, math.inf)


def with_scaled_utilities(
    run: Callable[..., MethodResult],
    instance: DmlrsInstance,
    call: RunContext,
    *,
    repeat: bool = False,
    **options: Any,
) -> MethodResult:
    """Run a method on the scaled instance, and answer in the original unit.

    `run`: the method, from instance, run context and options to result. `repeat`: whether to run
    again at a larger scale while the scaled bound is small and the gap is open.
    """
    cutoff, best, runs = math.inf, MethodResult(), 0
    while True:
        scaled, k = scaled_instance(instance, cutoff)
        unit = partial(_times, k=-k)
        back = Unscaled(instance, call.progress, unit, unit, cutoff)
        result = back.run(run, scaled, call, **options)
        runs += 1
        best = result if runs == 1 else _better_of(instance, best, result)
        bound = best.bound
        imprecise = bound is not None and math.ldexp(bound, k) < RESCALE_BELOW
        if not repeat or not imprecise or bound is None or call.clock.expired():
            break
        value = 0.0 if best.schedule is None else best.schedule.value(instance)
        if bound - value <= CLOSED_GAP * bound or (bound >= cutoff and runs > 1):
            break
        cutoff = bound
    if runs > 1:
        best = replace(best, trace={**best.trace, "units": runs})
    return best


def _better_of(instance: DmlrsInstance, earlier: MethodResult, later: MethodResult) -> MethodResult:
    """Return the better schedule and the better bound, with trace and note of the later result."""
    schedules = [result.schedule for result in (earlier, later) if result.schedule is not None]
    schedule = max(schedules, key=lambda result: result.value(instance), default=None)
    bounds = [result.bound for result in (earlier, later) if result.bound is not None]
    bound = min(bounds, default=None)
    evidence = earlier if bound == earlier.bound else MethodResult()
    return replace(
        later,
        schedule=schedule,
        bound=bound,
        certificate=evidence.certificate,
        proof=evidence.proof,
    )
