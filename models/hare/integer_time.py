"""The integer view of an instance, and the windows in which an optimal schedule lies.

Every time is a whole number of steps. So is every start of a schedule in which nothing can be
moved to the left, and with whole weights its value: the objective has a grid.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from schedgap.errors import ScaleError
from schedgap.instances.hare import HareInstance, arrays
from schedgap.instances.hare.scale import LARGEST_HORIZON as LARGEST_HORIZON
from schedgap.instances.hare.scale import LARGEST_VALUE as LARGEST_VALUE
from schedgap.instances.hare.scale import grid as grid
from schedgap.instances.hare.scale import scale
from schedgap.instances.scaling import decimal

Ints = NDArray[np.int64]
Synchronization = Literal["relaxed", "fixed"]


@dataclass(frozen=True, slots=True, eq=False)
class HareSteps:
    """An instance in whole numbers; index letters and order of tasks as in `HareArrays`."""

    step: Fraction  # length of a step in the instance's time unit
    weight_step: Fraction  # of the weights
    arrival: Ints  # [n] steps
    weight: Ints  # [n] without a common divisor
    train: Ints  # [i, k] steps
    duration: Ints  # [i, k] d = T^c + T^s, steps
    head: Ints  # [i] earliest start, steps
    tail: Ints  # [i] least length of the rounds after, steps
    critical: Ints  # [n] L_n, steps
    horizon: int  # steps: some optimal schedule ends by then

    @property
    def grid(self) -> Fraction:
        """Of the objective, in weight times the instance's time unit."""
        return self.step * self.weight_step

    @property
    def least(self) -> int:
        """sum w_n (a_n + L_n), in grid steps: no schedule has a lower value."""
        return int(self.weight @ (self.arrival + self.critical))

    def real(self, value: int | float | Fraction) -> float:
        """Return an objective or a bound given in grid steps in the instance's units."""
        return float(Fraction(value) * self.grid)


@lru_cache(maxsize=64)
def steps(instance: HareInstance) -> HareSteps:
    """Return the integer view of an instance.

    Raises
    ------
    ScaleError
        When the scale exceeds a million steps per unit, the horizon 2^40 steps, or the greatest
        value 2^60 grid steps.
    """
    view = arrays(instance)
    units = scale(instance)
    step, weight_step = units.step, units.weight_step
    train, sync = _whole(view.train, step), _whole(view.sync, step)
    arrival, weight = _whole(view.arrival, step), _whole(view.weight, weight_step)
    duration = train + sync
    length = np.maximum.reduceat(duration.min(axis=1), view.round_tasks[:-1])
    ends = np.cumsum(length)
    job_first = view.job_rounds[:-1]
    base = (ends - length)[job_first]
    critical = ends[view.job_rounds[1:] - 1] - base
    before = (ends - length - base[view.round_job])[view.task_round]
    tail = critical[view.task_job] - before - length[view.task_round]
    whole = HareSteps(
        step=step,
        weight_step=weight_step,
        arrival=arrival,
        weight=weight,
        train=train,
        duration=duration,
        head=arrival[view.task_job] + before,
        tail=tail,
        critical=critical,
        horizon=units.horizon,
    )
    for name in whole.__slots__:
        value = getattr(whole, name)
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return whole


def _whole(numbers: NDArray[np.float64], step: Fraction) -> Ints:
    distinct, place = np.unique(numbers, return_inverse=True)
    whole = [int(decimal(number) / step) for number in distinct.tolist()]
    if max(whole) > LARGEST_VALUE:
        raise ScaleError(f"{float(distinct[-1]):g} is too large for steps of {float(step):g}")
    return np.array(whole, dtype=np.int64)[place].reshape(numbers.shape)


def latest(whole: HareSteps, upper: int | None = None) -> Ints:
    """Return [n] a time, in steps, by which each job is complete in some optimal schedule.

    Parameters
    ----------
    upper : int or None
        Value, in grid steps, of a schedule of *this* variant of the problem: every schedule that
        costs no more lies in the windows (a job of weight 0 in one that is moved to the left).
        None: only the horizon.

    Notes
    -----
    If job n completes at C and every other no earlier than its critical path allows, the value is
    at least `least` + w_n (C - a_n - L_n).
    """
    ends = np.full(len(whole.weight), whole.horizon, dtype=np.int64)
    if upper is not None:
        heavy = whole.weight > 0
        slack = max(0, upper - whole.least) // whole.weight[heavy]
        ends[heavy] = np.minimum(
            whole.horizon, whole.arrival[heavy] + whole.critical[heavy] + slack
        )
    return ends


def alike_jobs(instance: HareInstance) -> list[tuple[int, ...]]:
    """Return groups of two or more jobs that differ in nothing, each in list order."""
    view = arrays(instance)
    groups: dict[tuple[object, ...], list[int]] = {}
    for n in range(view.jobs):
        first, last = view.job_rounds[n], view.job_rounds[n + 1]
        tasks = slice(view.round_tasks[first], view.round_tasks[last])
        key = (
            view.arrival[n],
            view.weight[n],
            tuple(np.diff(view.round_tasks[first : last + 1]).tolist()),
            view.train[tasks].tobytes(),
            view.sync[tasks].tobytes(),
        )
        groups.setdefault(key, []).append(n)
    return [tuple(group) for group in groups.values() if len(group) > 1]
