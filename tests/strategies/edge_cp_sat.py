"""Optima of `edge` instances by CP-SAT, for a child process: HiGHS and CP-SAT cannot share one."""

from collections.abc import Callable
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.programs import intervals
from schedgap.solvers import Clock, solve


def schedules(
    send: Callable[[Any], None], instances: list[EdgeInstance]
) -> list[EdgeSchedule | None]:
    """Return an optimal schedule of each instance; None where there is none."""
    return [_best(instance) for instance in instances]


def _best(instance: EdgeInstance) -> EdgeSchedule | None:
    model = intervals.build(instance)
    result = solve(model, "cp-sat", clock=Clock(60), grid=1)
    if result.status == "infeasible":
        return None
    assert result.status == "optimal"
    schedule = intervals.read(model, instance, result.values)
    assert schedule.value(instance) == round(result.objective or 0)
    start = intervals.start(model, instance, schedule)
    options = {"fix_variables_to_their_hinted_value": True}
    again = solve(model, "cp-sat", clock=Clock(60), start=start, options=options)
    assert again.status == "optimal"  # the hint is a solution
    return schedule
