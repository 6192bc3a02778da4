"""Instances that whole steps cannot hold: a bound from times and weights rounded down (ours).

A schedule stays one when arrivals and lengths become shorter, and no job of it completes later; so
the optimum of the instance rounded down is a lower bound. Its schedules, with the true times put
in and moved to the left, are schedules of the instance itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.instances.records import LARGEST
from schedgap.instances.scaling import common_step, decimal
from schedgap.models.hare.integer_time import LARGEST_HORIZON, LARGEST_VALUE, Synchronization

FINE_HORIZON = 2**36  # steps of rounded times; what is left up to 2^60 is for the weights
FINEST = 18  # decimals


@dataclass(frozen=True, slots=True, eq=False)
class RoundedInstance:
    """An instance in whole steps of the times and weights that it was rounded down to."""

    instance: HareInstance
    step: Fraction
    weight_step: Fraction

    def bound(self, value: float) -> float:
        """Return a bound on the instance that was rounded, in its units."""
        return float(Fraction(value) * self.step * self.weight_step) * (1 - 1e-15)


def rounded_down(instance: HareInstance) -> RoundedInstance | None:
    """Return the instance with the finest steps possible; None where a training would vanish."""
    view = arrays(instance)
    total = sum(map(decimal, [view.arrival.max(), *view.duration.max(axis=1)]), Fraction(0))
    times = {*view.arrival.tolist(), *view.train.ravel().tolist(), *view.sync.ravel().tolist()}
    longest = min(LARGEST_HORIZON, int(LARGEST))  # a file has no larger number
    step = _step(times, "times", total, longest, FINE_HORIZON)
    if step > decimal(view.train.min()):
        return None
    weight = sum(map(decimal, view.weight), Fraction(0))
    most = min(LARGEST_VALUE // max(1, int(total / step) + view.tasks), int(LARGEST))
    weight_step = _step(view.weight.tolist(), "weights", weight, most, most)

    def down(times: dict[str, float]) -> dict[str, int]:
        return {key: int(decimal(time) // step) for key, time in times.items()}

    def task(data: dict[str, Any]) -> dict[str, Any]:
        names = ("training_time", "synchronization_time")
        return data | {name: down(data[name]) for name in names if data.get(name)}

    data = instance.to_data()
    jobs = []
    for job in data["jobs"]:
        new = task(job) | {
            "arrival": int(decimal(job["arrival"]) // step),
            "weight": int(decimal(job["weight"]) // weight_step),
        }
        if "task_rounds" in job:
            new["task_rounds"] = [[task(each) for each in own] for own in job["task_rounds"]]
        jobs.append(new)
    return RoundedInstance(HareInstance.from_data({**data, "jobs": jobs}), step, weight_step)


def _step(
    numbers: Iterable[float], what: str, total: Fraction, most: int, most_rounded: int
) -> Fraction:
    """Return a step that holds the numbers exactly, or else the finest decimal one that fits."""
    try:
        step = common_step(numbers, what)
        if total / step <= most:
            return step
    except ScaleError:
        pass
    return next(
        step
        for digits in range(FINEST, -FINEST - 1, -1)
        if total / (step := Fraction(10) ** -digits) <= most_rounded
    )


def left_shifted(
    instance: HareInstance, schedule: HareSchedule, synchronization: Synchronization
) -> HareSchedule:
    """Return a schedule with every task as early as its order allows, in the true times.

    Only the order of the starts counts. With `fixed`, rounds move as a whole.
    """
    view = arrays(instance)
    order = np.lexsort((np.arange(view.tasks), schedule.start)).tolist()
    groups: list[list[int]] = [[i] for i in order]
    if synchronization == "fixed":
        rounds: dict[int, list[int]] = {}
        for i in order:
            rounds.setdefault(int(view.task_round[i]), []).append(i)
        groups = list(rounds.values())
    start, free, barrier = np.zeros(view.tasks), np.zeros(view.gpus), np.zeros(view.rounds)
    first = set(view.job_rounds.tolist())
    for tasks in groups:
        q = int(view.task_round[tasks[0]])
        ready = view.arrival[view.round_job[q]] if q in first else barrier[q - 1]
        begin = max(ready, free[schedule.gpu[tasks]].max())
        for i in tasks:
            m = schedule.gpu[i]
            k = view.gpu_class[m]
            start[i], free[m] = begin, begin + view.train[i, k]
            barrier[q] = max(barrier[q], free[m] + view.sync[i, k])
    return HareSchedule(schedule.gpu, start)
