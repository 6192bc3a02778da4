"""Weights: the step that values have, and weights of a common size.

Tolerances, ours and those of engines, are for values above 1.
"""

from fractions import Fraction
from functools import lru_cache

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.scaling import common_step, decimal

VALUE_TOLERANCE = (
    1e-7  # relative: values that differ by less are one where they have no common step
)
LEAST, WANTED = 1, 100  # of the largest weight


@lru_cache(maxsize=64)
def scaled_weights(instance: ElasticInstance) -> tuple[ElasticInstance, int]:
    """Return the instance with weights times 10^k, and k: 0 unless all weights are below 1.

    Weights of jobs that are never in a schedule of a batch do not count, nor matter: they become
    the largest of the others.
    """
    counts = [_can_run(instance, j) for j in range(len(instance.jobs))]
    weights = [job.weight for job, can in zip(instance.jobs, counts, strict=True) if can]
    largest, power = decimal(max(weights, default=LEAST)), 0
    if largest >= LEAST:
        return instance, 0
    while largest * 10**power < WANTED:
        power += 1
    data = instance.to_data()
    jobs = [
        job | {"weight": float((decimal(job["weight"]) if can else largest) * 10**power)}
        for job, can in zip(data["jobs"], counts, strict=True)
    ]
    return ElasticInstance.from_data(data | {"jobs": jobs}), power


def _can_run(instance: ElasticInstance, job: int) -> bool:
    last = instance.last_end
    if not instance.is_batch or last is None:
        return True
    from schedgap.models.elastic.modes import modes  # loads NumPy; most verdicts need none

    first = instance.jobs[job].arrival
    return any(first + mode.duration <= last for mode in modes(instance, job))


def scale_back(value: float, power: int) -> float:
    """Return a value over 10^k, as near as can be."""
    return float(Fraction(value) / 10**power) if power else value


def value_step(instance: ElasticInstance) -> float | None:
    """Return the step of which all objectives are multiples: that of the weights; None without."""
    larger, power = scaled_weights(instance)
    try:
        step = common_step([job.weight for job in larger.jobs], "weights")
    except ScaleError:
        return None
    return float(step / 10**power)
