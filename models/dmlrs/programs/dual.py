"""R-DMLRS (8), (9) and its dual (10), (11), with all schedules enumerated and all machines merged.

On identical machines it has the optimum of (10), otherwise none below it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import STEP, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.throughput import FULL, bundles, mode_limits, progress
from schedgap.solvers.programs.builder import ProgramBuilder
from schedgap.solvers.programs.indices import as_model

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

MAX_STEPS = 100_000  # extensions of schedules that are enumerated
MAX_ROWS = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class AggregateSchedule:
    """A schedule of one job, all machines merged."""

    job: int
    utility: float
    demand: Floats  # [t - 1, r]


def all_schedules(instance: DmlrsInstance) -> list[AggregateSchedule]:
    """Return the minimal schedules of all jobs, all machines merged.

    A schedule is minimal if it no longer does the work with one bundle size less in any slot.

    Raises
    ------
    UsageError
        When there are too many.
    """
    minimal: list[AggregateSchedule] = []
    steps = 0
    for i, job in enumerate(instance.jobs):
        options = [
            (mode, k)
            for mode, limit in enumerate(mode_limits(instance, i))
            for k, n in enumerate(bundles(instance, i).workers.tolist())
            if n <= limit
        ]
        unfinished: list[dict[int, tuple[int, int]]] = [{}]
        for t in range(job.arrival, instance.horizon + 1):
            utility = float(arrays(instance).utility[i, t - job.arrival])
            extended = []
            for plan in unfinished:
                steps += len(options)
                if steps > MAX_STEPS or len(minimal) > MAX_ROWS:
                    raise UsageError("dual-10: too many schedules; for tiny instances only")
                for option in options:
                    extension = {**plan, t: option}
                    if not _is_complete(instance, i, extension):
                        extended.append(extension)
                    elif not any(
                        _is_complete(instance, i, smaller) for smaller in _one_step_less(extension)
                    ):
                        minimal.append(_aggregate(instance, i, utility, extension))
            unfinished += extended
    return minimal


def _is_complete(instance: DmlrsInstance, i: int, plan: dict[int, tuple[int, int]]) -> bool:
    """Return whether the bundles of a schedule, by slot, do the work of job i."""
    totals = [0, 0]
    for mode, k in plan.values():
        totals[mode] += int(bundles(instance, i).workers[k])
    return progress(instance, i, *totals) >= FULL


def _one_step_less(plan: dict[int, tuple[int, int]]) -> Iterator[dict[int, tuple[int, int]]]:
    """Yield the schedules that have the next smaller bundle, or none, in one slot."""
    for t, (mode, k) in plan.items():
        others = {s: option for s, option in plan.items() if s != t}
        yield {**others, t: (mode, k - 1)} if k else others


def _aggregate(
    instance: DmlrsInstance, i: int, utility: float, plan: dict[int, tuple[int, int]]
) -> AggregateSchedule:
    """Return the utility and the demand of a schedule."""
    demand = np.zeros((instance.horizon, len(instance.resources)))
    for t, (_, k) in plan.items():
        demand[t - 1] = bundles(instance, i).demand[k]
    return AggregateSchedule(i, utility, demand)


def build_primal(instance: DmlrsInstance) -> "ConcreteModel":
    """Return (8), (9), of whose linear relaxation `build` is the dual, with its `schedules`.

    Raises
    ------
    UsageError
        When there are too many schedules.
    """
    schedules, job, utility, demand = _columns(instance)
    builder, capacity = ProgramBuilder(), arrays(instance).capacity_milli.sum(axis=0) / STEP
    x = builder.columns("x", len(schedules), cost=-utility, upper=1, integer=True).positions
    place = np.arange(demand[:1].size).reshape(demand[:1].shape)
    builder.rows("capacity", demand.shape[1:], (place, x[:, None, None], demand), upper=capacity)
    builder.rows("once", len(instance.jobs), (job, x, 1), upper=1)
    model = as_model(builder.program(names=True), "primal-8", sense="max")
    model.schedules = dict(enumerate(schedules, 1))
    return model


def build(instance: DmlrsInstance) -> "ConcreteModel":
    """Return the program as a Pyomo `ConcreteModel`, with its `schedules`; it is not solved.

    Raises
    ------
    UsageError
        When there are too many schedules.
    """
    schedules, job, utility, demand = _columns(instance)
    builder, capacity = ProgramBuilder(), arrays(instance).capacity_milli.sum(axis=0) / STEP
    p = builder.columns("p", demand.shape[1:], cost=capacity)
    payoff = builder.columns("payoff", len(instance.jobs), cost=1)
    row = np.arange(len(schedules))
    paid = (row[:, None, None], p.positions, demand)
    builder.rows("eq_11", len(row), (row, payoff.at(job), 1), paid, lower=utility)
    model = as_model(builder.program(names=True), "dual-10")
    model.schedules = dict(enumerate(schedules, 1))
    return model


def _columns(instance: DmlrsInstance) -> tuple[list[AggregateSchedule], Ints, Floats, Floats]:
    """Return all schedules [k], with their jobs, utilities, and demand [k, t - 1, r]."""
    schedules = all_schedules(instance)
    demand = np.array([schedule.demand for schedule in schedules])
    return (
        schedules,
        np.array([schedule.job for schedule in schedules], dtype=np.int64),
        np.array([schedule.utility for schedule in schedules]),
        demand.reshape(-1, instance.horizon, len(instance.resources)),
    )
