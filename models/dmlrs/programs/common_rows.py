"""What all integer programs of DMLRS share: who may be admitted, completion slots, symmetry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.programs.integral_rows import Cover, cover, least_external
from schedgap.models.dmlrs.throughput import external_width, first_completions, widths

Work = Mapping[int, tuple[Any, Any]]  # by slot: worker-slots inside a machine, and across


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One job that some schedule may complete."""

    job: int
    arrival: int
    first: int  # the first slot in which it may be complete
    inside: tuple[int, ...]  # [h] the most workers with their PSs on a machine
    across: int  # the most workers on several machines; 0 if it never runs so
    workers: tuple[int, ...]  # [h] the most workers of it
    ps: tuple[int, ...]  # [h] the most PSs of it
    cover: Cover


def parts(instance: DmlrsInstance) -> list[Part]:
    """Return the jobs that may be admitted."""
    view, most = arrays(instance), widths(instance)
    return [
        Part(
            i,
            int(view.arrival[i]),
            first,
            tuple(most.internal[i].tolist()),
            external_width(instance, i),
            tuple(most.workers[i].tolist()),
            tuple(most.ps[i].tolist()),
            cover(instance, i),
        )
        for i, first in enumerate(first_completions(instance))
        if first <= instance.horizon
    ]


def least_workers(instance: DmlrsInstance, i: int) -> int:
    """Return how many worker-slots job i needs at least, of both modes together."""
    if external_width(instance, i) == 0:
        return cover(instance, i).least
    need = least_external(instance, i)
    return int((np.arange(len(need)) + need).min())


def equal_machines(instance: DmlrsInstance) -> list[tuple[int, int]]:
    """Return pairs of neighbors in each group of machines of the same capacities."""
    return _neighbors([tuple(row) for row in arrays(instance).capacity_milli.tolist()])


def equal_jobs(instance: DmlrsInstance, among: list[Part]) -> list[tuple[int, int]]:
    """Return pairs of neighbors in each group of jobs that are equal but for their ids."""
    keys = [instance.jobs[part.job].model_dump_json(exclude={"id"}) for part in among]
    return [(among[a].job, among[b].job) for a, b in _neighbors(keys)]


def _neighbors(keys: list[Any]) -> list[tuple[int, int]]:
    groups: dict[Any, list[int]] = {}
    for k, key in enumerate(keys):
        groups.setdefault(key, []).append(k)
    return [pair for group in groups.values() for pair in pairwise(group)]


def add_completions(model: Any, instance: DmlrsInstance, among: list[Part]) -> None:
    """Add y_if, the objective, and at most one completion of each job."""
    import pyomo.environ as pyo

    T, view = instance.horizon, arrays(instance)
    model.y = pyo.Var(
        [(part.job, f) for part in among for f in range(part.first, T + 1)],
        domain=pyo.Binary,
        doc="job i is complete in slot f, or before",
    )
    model.objective = pyo.Objective(
        expr=pyo.quicksum(
            float(view.utility[i, f - view.arrival[i]]) * y for (i, f), y in model.y.items()
        ),
        sense=pyo.maximize,
        doc="sum of utilities of the admitted jobs",
    )
    model.lin_once = pyo.Constraint(
        [part.job for part in among],
        doc="a job is admitted at most once",
        rule=lambda model, i: running(model, instance, i, 1) <= 1,
    )


def running(model: Any, instance: DmlrsInstance, i: int, t: int) -> Any:
    """Return sum_{f >= t} y_if: whether job i may run in slot t."""
    return sum(model.y[i, f] for f in range(t, instance.horizon + 1) if (i, f) in model.y)


def add_work(
    model: Any,
    instance: DmlrsInstance,
    among: list[Part],
    work: Mapping[int, Work],
    *,
    cuts: bool,
) -> None:
    """Add (3), for each slot in which a job may be complete; the last one alone is literal."""
    import pyomo.environ as pyo

    T = instance.horizon
    by_job = {part.job: part for part in among}

    def enough(model: Any, i: int, t: int) -> Any:
        part = by_job[i]
        done = pyo.quicksum(
            part.cover.inside * work[i][s][0] + part.cover.across * work[i][s][1]
            for s in range(part.arrival, t + 1)
        )
        complete = sum(model.y[i, f] for f in range(part.first, t + 1))
        return done >= part.cover.least * complete

    slots = [(part.job, t) for part in among for t in range(part.first if cuts else T, T + 1)]
    model.eq_3 = pyo.Constraint(slots, rule=enough, doc="the work of a complete job is done")
    if cuts:
        least = {part.job: least_workers(instance, part.job) for part in among}
        model.cut_cover = pyo.Constraint(
            list(least),
            doc="an admitted job has so many worker-slots at least, in both modes together",
            rule=lambda model, i: (
                pyo.quicksum(a + b for a, b in work[i].values())
                >= least[i] * running(model, instance, i, 1)
            ),
        )


def add_capacity(
    model: Any,
    instance: DmlrsInstance,
    among: list[Part],
    demand: Callable[[int, int, int, int], Any],
    *,
    symmetry: bool,
) -> None:
    """Add (5) and, on request, an order of equal machines and of equal jobs.

    `demand(i, t, h, r)` is what job i demands of a resource there: an expression, or 0.
    """
    import pyomo.environ as pyo

    T, H, R = instance.horizon, len(instance.machines), len(instance.resources)
    capacity = arrays(instance).capacity
    uses: dict[tuple[int, int, int], Any] = {}
    for t in range(1, T + 1):
        for h in range(H):
            for r in range(R):
                terms = [demand(part.job, t, h, r) for part in among if t >= part.arrival]
                uses[h, t, r] = sum(term for term in terms if not isinstance(term, int))
    rows = [key for key, used in uses.items() if not isinstance(used, int)]
    model.eq_5 = pyo.Constraint(
        rows,
        doc="capacity of each machine, slot and resource",
        rule=lambda model, h, t, r: uses[h, t, r] <= float(capacity[h, r]),
    )
    if not symmetry:
        return

    def busier(model: Any, h: int, k: int, t: int) -> Any:
        found = uses[h, t, 0] >= uses[k, t, 0]
        return pyo.Constraint.Skip if isinstance(found, bool) else found

    model.cut_machines = pyo.Constraint(
        [(h, k, t) for h, k in equal_machines(instance) for t in range(1, T + 1)],
        doc="of two equal machines the first gives no less of the first resource",
        rule=busier,
    )
    add_job_order(model, instance, among)


def add_job_order(model: Any, instance: DmlrsInstance, among: list[Part]) -> None:
    """Put equal jobs in order."""
    import pyomo.environ as pyo

    T = instance.horizon
    first = {part.job: part.first for part in among}
    model.cut_jobs = pyo.Constraint(
        [(i, j, t) for i, j in equal_jobs(instance, among) for t in range(first[i], T + 1)],
        doc="of two equal jobs the first is complete no later",
        rule=lambda model, i, j, t: (
            sum(model.y[i, f] for f in range(first[i], t + 1))
            >= sum(model.y[j, f] for f in range(first[j], t + 1))
        ),
    )


def admitted(model: Any) -> list[int]:
    """Return the jobs that a solved model admits."""
    return sorted({i for (i, _), y in model.y.items() if (y.value or 0.0) > 0.5})
