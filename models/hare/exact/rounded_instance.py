"""`exact` for instances without integer times, by way of times and weights rounded down (ours).

Elementary: if arrivals, times and weights decrease, every schedule stays feasible and costs no
more. So the optimum of the instance rounded down is a lower bound. The order of its schedules,
left-shifted with the true times, gives schedules of the original instance.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from schedgap.errors import ScaleError
from schedgap.instances.hare import HareInstance, arrays
from schedgap.instances.hare.scale import LARGEST_HORIZON, LARGEST_VALUE
from schedgap.instances.records import LARGEST
from schedgap.instances.scaling import as_fraction, common_step
from schedgap.models.hare.bounds.certificates import critical_certificate
from schedgap.models.hare.decode import left_shifted_schedule
from schedgap.models.hare.exact.stages import first_search, lagrangian
from schedgap.models.hare.heuristics.initial import starting_schedules
from schedgap.models.hare.integer_time import Synchronization
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import Relay, SearchState

ROUNDED_SHARE = 0.7  # of the time, for the instance rounded down
CLOSE = 5e-7  # relative; closer values count as equal if there is no grid
FINE_HORIZON = 2**36  # steps of rounded times; the remaining factor up to 2^60 is for the weights
FINEST = 18  # decimals of a step


@dataclass(frozen=True, slots=True, eq=False)
class RoundedInstance:
    """An instance rounded down, in integers."""

    instance: HareInstance
    step: Fraction  # of the times
    weight_step: Fraction  # of the weights

    def bound(self, value: float) -> float:
        """Convert a bound to one on the original instance.

        `value`: lower bound on the rounded instance, in steps times weight steps.

        Returns
        -------
        float
            In the units of the original instance, rounded down.
        """
        return float(Fraction(value) * self.step * self.weight_step) * (1 - 1e-15)


def rounded_down(instance: HareInstance) -> RoundedInstance | None:
    """Return the instance with the finest possible steps; None if a training time would be 0."""
    view = arrays(instance)
    horizon = sum(map(as_fraction, [view.arrival.max(), *view.duration.max(axis=1)]), Fraction(0))
    times = {*view.arrival.tolist(), *view.train.ravel().tolist(), *view.sync.ravel().tolist()}
    longest = min(LARGEST_HORIZON, int(LARGEST))  # the largest number that a file may contain
    step = _step(times, "times", horizon, longest, FINE_HORIZON)
    if step > as_fraction(view.train.min()):
        return None
    weight = sum(map(as_fraction, view.weight), Fraction(0))
    most = min(LARGEST_VALUE // max(1, int(horizon / step) + view.tasks), int(LARGEST))
    weight_step = _step(view.weight.tolist(), "weights", weight, most, most)

    def down(times: dict[str, float]) -> dict[str, int]:
        return {key: int(as_fraction(time) // step) for key, time in times.items()}

    def task(data: dict[str, Any]) -> dict[str, Any]:
        names = ("training_time", "synchronization_time")
        return data | {name: down(data[name]) for name in names if data.get(name)}

    data = instance.to_data()
    jobs = []
    for job in data["jobs"]:
        new = task(job) | {
            "arrival": int(as_fraction(job["arrival"]) // step),
            "weight": int(as_fraction(job["weight"]) // weight_step),
        }
        if "task_rounds" in job:
            new["task_rounds"] = [[task(each) for each in tasks] for tasks in job["task_rounds"]]
        jobs.append(new)
    return RoundedInstance(HareInstance.from_data({**data, "jobs": jobs}), step, weight_step)


def _step(
    numbers: Iterable[float], what: str, total: Fraction, most: int, most_rounded: int
) -> Fraction:
    """Return a common step of the numbers, or the finest power of ten that respects the limits.

    `total / step` may not exceed `most` for a common step, or `most_rounded` for a power of ten.
    """
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


class _Uncertified(Relay):
    """Pass bounds on without their certificates, which belong to the rounded instance."""

    def bound(
        self,
        value: float,
        certificate: Mapping[str, object] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Pass a bound on."""
        super().bound(value, confirmed=confirmed)


def without_grid(
    exact: Callable[[HareInstance, RunContext], MethodResult],
    instance: HareInstance,
    call: RunContext,
    synchronization: Synchronization,
    reason: str,
) -> MethodResult:
    """Solve an instance without integer times; its schedules get the true times.

    `exact`: the method for instances with integer times. `reason`: why there are none.
    """
    state = SearchState(
        call,
        lambda schedule: schedule.value(instance),
        normalise=lambda schedule: left_shifted_schedule(instance, schedule, synchronization),
        tolerance=CLOSE,
    )
    state.checkable_only = True
    state.bound(*critical_certificate(instance))
    for schedule in starting_schedules(instance, synchronization):
        state.incumbent(schedule)
    if not state.closed and synchronization == "relaxed":
        first_search(instance, state)
    down = rounded_down(instance)
    if down is None:
        note = f"{reason}; the finest possible steps are longer than a task"
    else:
        note = (
            f"{reason}; the bound holds for times rounded down to {float(down.step):g} and weights "
            f"rounded down to {float(down.weight_step):g}"
        )
    if not state.closed and down is not None:
        progress = _Uncertified(state, down.bound)
        share = call.budget.share(ROUNDED_SHARE)
        inner = exact(down.instance, replace(call, progress=progress, budget=share))
        state.trace["rounded_down"] = dict(inner.trace)
        if inner.bound is not None:
            progress.bound(inner.bound)
        if "reported_bound" in inner.trace:
            progress.bound(inner.trace["reported_bound"], confirmed=False)
    if not state.closed:
        lagrangian(instance, state, call.budget)
    return state.outcome(note)
