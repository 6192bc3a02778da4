"""Instances in whole time steps, and the time windows that contain an optimal schedule.

All times are multiples of one step. Hence every start of a left-shifted schedule is a multiple of
the step. All weights are multiples of a weight step, so its objective lies on a grid.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareInstance, arrays
from schedgap.instances.hare.compiled import forbid_changes, grouped, lengths_around
from schedgap.instances.hare.scale import HareScale, scale
from schedgap.instances.scaling import as_fraction

Ints = NDArray[np.int64]
Synchronization = Annotated[
    Literal["relaxed", "fixed"],
    "relaxed: tasks of a round may start apart; fixed: they start together on different GPUs",
]


@dataclass(frozen=True, slots=True, eq=False)
class HareSteps(HareScale):
    """An instance in integers; index letters and order of tasks as in `HareArrays`."""

    arrival: Ints  # [n] steps
    weight: Ints  # [n] in weight steps, without a common divisor
    train: Ints  # [i, k] steps
    duration: Ints  # [i, k] d = T^c + T^s, steps
    head: Ints  # [i] earliest start, steps
    tail: Ints  # [i] minimum length of the later rounds of the job, steps
    critical: Ints  # [n] L_n, critical path of the job, steps

    @property
    def sync(self) -> Ints:
        """Synchronization times T^s [i, k], steps."""
        return self.duration - self.train

    @property
    def critical_path_value(self) -> int:
        """Critical-path bound sum w_n (a_n + L_n), in grid steps."""
        return int(self.weight @ (self.arrival + self.critical))

    def to_objective(self, value: int | float | Fraction) -> float:
        """Convert an objective or a bound from grid steps to the instance's units.

        `value`: in grid steps.

        The unit is weight times the instance's time unit.
        """
        return float(Fraction(value) * self.grid)


@lru_cache(maxsize=64)
def steps(instance: HareInstance) -> HareSteps:
    """Return the instance in integers; cached.

    Raises
    ------
    ScaleError
        If the times need more than a million steps per unit, the horizon exceeds 2^40 steps, or
        the largest objective exceeds 2^60 grid steps.
    """
    view = arrays(instance)
    units = scale(instance)
    step, weight_step = units.step, units.weight_step
    train, sync = _whole(view.train, step), _whole(view.sync, step)
    arrival, weight = _whole(view.arrival, step), _whole(view.weight, weight_step)
    duration = train + sync
    length = np.maximum.reduceat(duration.min(axis=1), view.round_tasks[:-1])  # [q] at least
    before, after = lengths_around(length, view.job_rounds)
    whole = HareSteps(
        step=step,
        weight_step=weight_step,
        horizon=units.horizon,
        arrival=arrival,
        weight=weight,
        train=train,
        duration=duration,
        head=arrival[view.task_job] + before[view.task_round],
        tail=after[view.task_round],
        critical=np.add.reduceat(length, view.job_rounds[:-1]),
    )
    forbid_changes(getattr(whole, name) for name in whole.__slots__)
    return whole


def _whole(numbers: NDArray[np.float64], step: Fraction) -> Ints:
    """Return numbers, each a multiple of the step, as integers.

    `scale` bounds them: by the horizon, and weights by the largest value.
    """
    distinct, place = np.unique(numbers, return_inverse=True)
    whole = [int(as_fraction(number) / step) for number in distinct.tolist()]
    return np.array(whole, dtype=np.int64)[place].reshape(numbers.shape)


def latest_completions(whole: HareSteps, upper: int | None = None) -> Ints:
    """Return [n] the latest completion time of each job in some optimal schedule, in steps.

    `upper`: objective, in grid steps, of a schedule of *this* variant of the problem. Every
    schedule that costs no more meets the deadlines (a job of weight 0 does so once the schedule is
    left-shifted). With None, the deadlines are the horizon.

    Notes
    -----
    No job completes earlier than its critical path allows. So if job n completes at C, the
    objective is at least `critical_path_value` + w_n (C - a_n - L_n). Setting this to `upper` and
    solving for C gives the deadline.
    """
    ends = np.full(len(whole.weight), whole.horizon, dtype=np.int64)
    if upper is not None:
        heavy = whole.weight > 0
        slack = max(0, upper - whole.critical_path_value) // whole.weight[heavy]
        ends[heavy] = np.minimum(
            whole.horizon, whole.arrival[heavy] + whole.critical[heavy] + slack
        )
    return ends


def identical_jobs(instance: HareInstance) -> list[tuple[int, ...]]:
    """Return the groups of two or more jobs with equal data, each in list order."""
    view = arrays(instance)

    def data(n: int) -> tuple[object, ...]:
        first, last = view.job_rounds[n], view.job_rounds[n + 1]
        tasks = slice(view.round_tasks[first], view.round_tasks[last])
        sizes = np.diff(view.round_tasks[first : last + 1])
        tables = sizes.tobytes(), view.train[tasks].tobytes(), view.sync[tasks].tobytes()
        return view.arrival[n], view.weight[n], *tables

    return [group for group in grouped(map(data, range(view.jobs))) if len(group) > 1]


def no_schedule(instance: HareInstance, options: Mapping[str, Any]) -> str | None:
    """Return why no schedule exists; None if there is one.

    `options`: of a method. A round of the variant `synchronization`="fixed" must start together, on
    one GPU for each task; the relaxed variant always has a schedule.
    """
    if options.get("synchronization") != "fixed":
        return None
    view = arrays(instance)
    widest = int(np.diff(view.round_tasks).max())
    if widest <= view.gpus:
        return None
    return f"a round of {widest} tasks cannot start together on {view.gpus} GPUs"
