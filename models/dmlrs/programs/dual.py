"""R-DMLRS (8), (9) and its dual (10), (11), with all schedules enumerated and all machines merged.

On identical machines it has the optimum of (10), otherwise none below it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import STEP, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.throughput import FULL, bundles, mode_limits, progress

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
    import pyomo.core as pyo

    schedules = all_schedules(instance)
    capacity = arrays(instance).capacity_milli.sum(axis=0) / STEP
    model = pyo.ConcreteModel(name="primal-8")
    model.schedules = schedules
    model.x = pyo.Var(range(len(schedules)), domain=pyo.Binary, doc="schedule pi is chosen")
    model.objective = pyo.Objective(
        expr=pyo.quicksum(each.utility * model.x[k] for k, each in enumerate(schedules)),
        sense=pyo.maximize,
        doc="sum of utilities of the admitted jobs",
    )
    used: dict[tuple[int, int], list[Any]] = {}
    own: dict[int, list[Any]] = {}
    for k, each in enumerate(schedules):
        own.setdefault(each.job, []).append(model.x[k])
        for t, r in zip(*np.nonzero(each.demand), strict=True):
            amount = float(each.demand[t, r]) * model.x[k]
            used.setdefault((int(t) + 1, int(r)), []).append(amount)
    model.capacity = pyo.Constraint(
        sorted(used),
        doc="capacity of all machines together, by slot and resource",
        rule=lambda model, t, r: pyo.quicksum(used[t, r]) <= float(capacity[r]),
    )
    model.once = pyo.Constraint(
        list(own),
        doc="at most one schedule of each job",
        rule=lambda model, i: pyo.quicksum(own[i]) <= 1,
    )
    return model


def build(instance: DmlrsInstance) -> "ConcreteModel":
    """Return the program as a Pyomo `ConcreteModel`, with its `schedules`; it is not solved.

    Raises
    ------
    UsageError
        When there are too many schedules.
    """
    import pyomo.core as pyo

    schedules = all_schedules(instance)
    capacity = arrays(instance).capacity_milli.sum(axis=0) / STEP
    model = pyo.ConcreteModel(name="dual-10")
    model.schedules = schedules
    T, R = instance.horizon, len(instance.resources)
    model.p = pyo.Var(range(1, T + 1), range(R), domain=pyo.NonNegativeReals, doc="price")
    model.payoff = pyo.Var(range(len(instance.jobs)), domain=pyo.NonNegativeReals, doc="lambda_i")
    model.objective = pyo.Objective(
        expr=sum(model.payoff.values())
        + sum(float(capacity[r]) * p for (_, r), p in model.p.items())
    )
    model.eq_11 = pyo.Constraint(
        range(len(schedules)),
        doc="no schedule has a larger payoff than lambda_i",
        rule=lambda model, k: (
            model.payoff[schedules[k].job]
            + sum(
                float(schedules[k].demand[t - 1, r]) * p
                for (t, r), p in model.p.items()
                if schedules[k].demand[t - 1, r]
            )
            >= schedules[k].utility
        ),
    )
    return model
