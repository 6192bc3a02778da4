"""The steps of which all times and weights of a `hare` instance are whole multiples.

Plain Python: verifying a solution rounds its bound to the objective's grid, and loads no NumPy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from schedgap.errors import ScaleError
from schedgap.instances.hare.instance import Gpu, HareInstance, Task, time_on
from schedgap.instances.scaling import as_fraction, common_step

LARGEST_HORIZON = 2**40  # steps
LARGEST_VALUE = 2**60  # steps times whole weights


@dataclass(frozen=True, slots=True, eq=False)
class HareScale:
    """Whole units of an instance."""

    step: Fraction  # length of a step in the instance's time unit
    weight_step: Fraction  # largest step of which every weight is a multiple
    horizon: int  # steps: some optimal schedule ends by then

    @property
    def grid(self) -> Fraction:
        """Grid of the objective, in weight times the instance's time unit."""
        return self.step * self.weight_step


@lru_cache(maxsize=64)
def scale(instance: HareInstance) -> HareScale:
    """Return the steps of an instance.

    The horizon is the last arrival and all tasks one after another, each at its slowest. A task
    that waits longer than that could have gone first on an idle GPU.

    Raises
    ------
    ScaleError
        When the scale exceeds a million steps per unit, the horizon 2^40 steps, or the greatest
        value 2^60 grid steps.
    """
    arrivals = [job.arrival for job in instance.jobs]
    weights = [job.weight for job in instance.jobs]
    tasks = [
        (number, _times(task, instance.gpus))
        for job in instance.jobs
        for _, task, number in job.times()
    ]
    step = common_step({*arrivals, *(t for _, own in tasks for pair in own for t in pair)}, "times")
    weight_step = common_step(weights, "weights")
    slowest = (number * max(sum(map(as_fraction, pair)) for pair in own) for number, own in tasks)
    horizon = int((as_fraction(max(arrivals)) + sum(slowest)) / step)
    if horizon > LARGEST_HORIZON:
        raise ScaleError(
            f"all tasks one after another take {horizon} steps of {float(step):g}, at most 2^40 "
            "are possible"
        )
    weight = int(sum(as_fraction(weight) / weight_step for weight in weights))
    if weight * horizon > LARGEST_VALUE:
        raise ScaleError(
            f"weights that add up to {weight} steps of {float(weight_step):g}, times a horizon of "
            f"{horizon} steps, exceed 2^60"
        )
    return HareScale(step, weight_step, horizon)


def _times(task: Task, gpus: Sequence[Gpu]) -> set[tuple[float, float]]:
    """Return the distinct pairs of training and synchronisation time that a task has on GPUs."""
    train, sync = task.training_time, task.synchronization_time
    return {(time_on(train, gpu), time_on(sync, gpu) if sync else 0.0) for gpu in gpus}


def grid(instance: HareInstance) -> float | None:
    """Return the step on which the values of left-shifted schedules lie, or None without one."""
    try:
        return float(scale(instance).grid)
    except ScaleError:
        return None
