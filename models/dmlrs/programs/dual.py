"""The dual (10), (11) of R-DMLRS with a row for every schedule, all machines as one.

With machines that are alike it has the optimum of (10), else no smaller one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, STEP, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.throughput import FULL, bundles, external_width, progress, widths

MOST_STEPS = 100_000  # ways to go on with a schedule that are looked at
MOST_ROWS = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A schedule of one job, all machines as one."""

    job: int
    utility: float
    demand: Floats  # [t - 1, r]


def every_way(instance: DmlrsInstance) -> list[Way]:
    """Return the schedules of all jobs, on all machines as one, that no smaller one undercuts.

    Raises
    ------
    UsageError
        When there are too many to look at.
    """
    found: list[Way] = []
    steps = 0
    for i, job in enumerate(instance.jobs):
        some, fits = bundles(instance, i), widths(instance).internal[i].max()
        offers = [(INTERNAL, k) for k in range(len(some.workers)) if some.workers[k] <= fits]
        across = external_width(instance, i)
        offers += [(EXTERNAL, k) for k in range(len(some.workers)) if some.workers[k] <= across]
        begun: list[dict[int, tuple[int, int]]] = [{}]
        for t in range(job.arrival, instance.horizon + 1):
            worth = float(arrays(instance).utility[i, t - job.arrival])
            longer = []
            for way in begun:
                steps += len(offers)
                if steps > MOST_STEPS or len(found) > MOST_ROWS:
                    raise UsageError("dual-10: too many schedules; for tiny instances only")
                for offer in offers:
                    more = {**way, t: offer}
                    if not _done(instance, i, more):
                        longer.append(more)
                    elif not any(_done(instance, i, less) for less in _smaller(more)):
                        found.append(_way(instance, i, worth, more))
            begun += longer
    return found


def _done(instance: DmlrsInstance, i: int, way: dict[int, tuple[int, int]]) -> bool:
    totals = [0, 0]
    for mode, k in way.values():
        totals[mode] += int(bundles(instance, i).workers[k])
    return progress(instance, i, *totals) >= FULL


def _smaller(way: dict[int, tuple[int, int]]) -> Iterator[dict[int, tuple[int, int]]]:
    """Yield the schedules with one step fewer workers in one slot."""
    for t, (mode, k) in way.items():
        rest = {s: offer for s, offer in way.items() if s != t}
        yield {**rest, t: (mode, k - 1)} if k else rest


def _way(instance: DmlrsInstance, i: int, worth: float, way: dict[int, tuple[int, int]]) -> Way:
    demand = np.zeros((instance.horizon, len(instance.resources)))
    for t, (_, k) in way.items():
        demand[t - 1] = bundles(instance, i).demand[k]
    return Way(i, worth, demand)


def build(instance: DmlrsInstance) -> Any:
    """Return the program as a Pyomo `ConcreteModel`; it solves nothing."""
    import pyomo.environ as pyo

    ways, total = every_way(instance), arrays(instance).capacity_milli.sum(axis=0) / STEP
    model = pyo.ConcreteModel(name="dual-10")
    T, R = instance.horizon, len(instance.resources)
    model.p = pyo.Var(range(1, T + 1), range(R), domain=pyo.NonNegativeReals, doc="price")
    model.payoff = pyo.Var(range(len(instance.jobs)), domain=pyo.NonNegativeReals, doc="lambda_i")
    model.objective = pyo.Objective(
        expr=sum(model.payoff.values()) + sum(float(total[r]) * p for (_, r), p in model.p.items())
    )
    model.eq_11 = pyo.Constraint(
        range(len(ways)),
        doc="no schedule pays more than lambda_i",
        rule=lambda model, k: (
            model.payoff[ways[k].job]
            + sum(
                float(ways[k].demand[t - 1, r]) * p
                for (t, r), p in model.p.items()
                if ways[k].demand[t - 1, r]
            )
            >= ways[k].utility
        ),
    )
    return model
