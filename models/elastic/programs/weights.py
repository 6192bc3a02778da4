"""Step of which all objective values are multiples, and weights scaled to a common magnitude.

The tolerances of engines, and ours, assume values above 1, so small weights are scaled up. Methods
on scaled weights answer in the instance's own units.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.scaling import as_fraction, common_step
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.scaled_values import Unscaled

VALUE_TOLERANCE = 1e-7  # relative; values without a common step that differ by less are equal
LEAST, WANTED = 1, 100  # a largest weight below the first is scaled to the second, or more


@lru_cache(maxsize=64)
def scaled_weights(instance: ElasticInstance) -> tuple[ElasticInstance, int]:
    """Return the instance with weights multiplied by 10^k, and k; 0 unless all weights are below 1.

    A job that can never run in a batch affects no schedule, whatever its weight: it gets the
    largest weight of the others.
    """
    runnable = [_can_run(instance, j) for j in range(len(instance.jobs))]
    weights = [job.weight for job, able in zip(instance.jobs, runnable, strict=True) if able]
    largest, power = as_fraction(max(weights, default=LEAST)), 0
    if largest >= LEAST:
        return instance, 0
    while largest * 10**power < WANTED:
        power += 1
    data = instance.to_data()
    jobs = [
        job | {"weight": float((as_fraction(job["weight"]) if able else largest) * 10**power)}
        for job, able in zip(data["jobs"], runnable, strict=True)
    ]
    return ElasticInstance.from_data(data | {"jobs": jobs}), power


def _can_run(instance: ElasticInstance, job: int) -> bool:
    """Return whether some mode of a job ends within a batch's deadline; always true without one."""
    last = instance.last_end
    if not instance.is_batch or last is None:
        return True
    from schedgap.models.elastic.modes import modes  # loads NumPy; most verdicts need none

    first = instance.jobs[job].arrival
    return any(first + mode.duration <= last for mode in modes(instance, job))


def scale_back(value: float, power: int) -> float:
    """Return a value divided by 10^k, correctly rounded.

    `value`: on the instance of `scaled_weights`.
    """
    return float(Fraction(value) / 10**power) if power else value


def value_step(instance: ElasticInstance) -> float | None:
    """Return the step of which all objective values are multiples; None if there is none."""
    larger, power = scaled_weights(instance)
    try:
        step = common_step([job.weight for job in larger.jobs], "weights")
    except ScaleError:
        return None
    return float(step / 10**power)


def scale_price(price: float, power: int) -> float:
    """Return a price multiplied by 10^k, rounded to 12 digits as in certificates; 0: as it is."""
    return price if not power else float(f"{float(Fraction(price) * Fraction(10) ** power):.12g}")


def on_scaled_weights(
    run: Callable[..., MethodResult], instance: ElasticInstance, call: RunContext, **options: Any
) -> MethodResult:
    """Run a method on scaled weights, and answer in the instance's own units; the trace says so.

    `run`: from instance, run context and options to result.
    """
    larger, power = scaled_weights(instance)
    if not power:
        return run(instance, call, **options)
    price, value = partial(scale_price, power=-power), partial(scale_back, power=power)
    result = Unscaled(instance, call.progress, price, value).run(run, larger, call, **options)
    return replace(
        result,
        # Its goal counts units of the scaled weights.
        proof=result.proof and replace(result.proof, goal=None),
        trace={**result.trace, "weights": f"times 1e{power}"},
    )
