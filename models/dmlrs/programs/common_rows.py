"""Rows that all integer programs of DMLRS share: completion, work (3), capacity (5), symmetry."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.programs.integral_rows import CoverRow, cover_row, min_external
from schedgap.models.dmlrs.throughput import first_completions, machine_limits, max_external_workers

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

Work = Mapping[int, tuple[Any, Any]]  # by slot: worker-slots on a single machine, and across


@dataclass(frozen=True, slots=True, eq=False)
class CandidateJob:
    """A job that some schedule may complete, with limits on its workers and PSs in a slot."""

    index: int
    arrival: int
    first: int  # f0, its earliest possible completion
    internal: tuple[int, ...]  # [h] most workers with their PSs on the machine
    external: int  # most workers across machines; 0 if impossible
    workers: tuple[int, ...]  # [h] most workers on the machine
    ps: tuple[int, ...]  # [h] most PSs on the machine
    cover_row: CoverRow


def candidate_jobs(instance: DmlrsInstance) -> list[CandidateJob]:
    """Return the jobs that may be admitted."""
    view, limits = arrays(instance), machine_limits(instance)
    return [
        CandidateJob(
            i,
            int(view.arrival[i]),
            first,
            tuple(limits.internal[i].tolist()),
            max_external_workers(instance, i),
            tuple(limits.workers[i].tolist()),
            tuple(limits.ps[i].tolist()),
            cover_row(instance, i),
        )
        for i, first in enumerate(first_completions(instance))
        if first <= instance.horizon
    ]


def min_workers(instance: DmlrsInstance, i: int) -> int:
    """Return a lower bound on the worker-slots of job i, both modes together."""
    if max_external_workers(instance, i) == 0:
        return cover_row(instance, i).least
    need = min_external(instance, i)
    return int((np.arange(len(need)) + need).min())


def equal_machines(instance: DmlrsInstance) -> list[tuple[int, int]]:
    """Return pairs of consecutive machines in each group of machines with the same capacities."""
    return _neighbors([tuple(row) for row in arrays(instance).capacity_milli.tolist()])


def equal_jobs(instance: DmlrsInstance, jobs: list[CandidateJob]) -> list[tuple[int, int]]:
    """Return pairs of consecutive jobs in each group of jobs that differ in their ids only."""
    keys = [instance.jobs[job.index].model_dump_json(exclude={"id"}) for job in jobs]
    return [(jobs[a].index, jobs[b].index) for a, b in _neighbors(keys)]


def _neighbors(keys: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the consecutive positions of each group of equal keys."""
    groups: dict[Hashable, list[int]] = {}
    for k, key in enumerate(keys):
        groups.setdefault(key, []).append(k)
    return [pair for group in groups.values() for pair in pairwise(group)]


def add_completions(
    model: "ConcreteModel", instance: DmlrsInstance, jobs: list[CandidateJob]
) -> None:
    """Add y_if, the objective, and the rows of at most one completion for each job.

    `model`: gets `y`, `objective` and `lin_once`.
    """
    import pyomo.core as pyo

    T, view = instance.horizon, arrays(instance)
    model.y = pyo.Var(
        [(job.index, f) for job in jobs for f in range(job.first, T + 1)],
        domain=pyo.Binary,
        doc="job i is complete by slot f",
    )
    model.objective = pyo.Objective(
        expr=pyo.quicksum(
            float(view.utility[i, f - view.arrival[i]]) * y for (i, f), y in model.y.items()
        ),
        sense=pyo.maximize,
        doc="sum of utilities of the admitted jobs",
    )
    model.lin_once = pyo.Constraint(
        [job.index for job in jobs],
        doc="a job is admitted at most once",
        rule=lambda model, i: running(model, instance, i, 1) <= 1,
    )


def running(model: "ConcreteModel", instance: DmlrsInstance, i: int, t: int) -> Any:
    """Return sum_{f >= t} y_if, which is 1 if job i may run in slot t.

    `model`: with `y`.
    """
    return sum(model.y[i, f] for f in range(t, instance.horizon + 1) if (i, f) in model.y)


def add_work(
    model: "ConcreteModel",
    instance: DmlrsInstance,
    jobs: list[CandidateJob],
    work: Mapping[int, Work],
    *,
    cuts: bool,
) -> None:
    """Add (3) for each slot in which a job may be complete; the row of slot T is the printed one.

    `model`: with `y`; gets `eq_3` and `cut_cover`. `work`: by job and slot, the worker-slots on a
    single machine and across machines, as expressions. `cuts`: whether to add the rows of slots
    before T, and a row on the sum of both modes.
    """
    import pyomo.core as pyo

    T = instance.horizon
    by_job = {job.index: job for job in jobs}

    def enough(model: "ConcreteModel", i: int, t: int) -> Any:
        job = by_job[i]
        done = pyo.quicksum(
            job.cover_row.internal * work[i][s][0] + job.cover_row.external * work[i][s][1]
            for s in range(job.arrival, t + 1)
        )
        complete = sum(model.y[i, f] for f in range(job.first, t + 1))
        return done >= job.cover_row.least * complete

    slots = [(job.index, t) for job in jobs for t in range(job.first if cuts else T, T + 1)]
    model.eq_3 = pyo.Constraint(slots, rule=enough, doc="a complete job has done its work")
    if cuts:
        least = {job.index: min_workers(instance, job.index) for job in jobs}
        model.cut_cover = pyo.Constraint(
            list(least),
            doc="least worker-slots of an admitted job, both modes together",
            rule=lambda model, i: (
                pyo.quicksum(a + b for a, b in work[i].values())
                >= least[i] * running(model, instance, i, 1)
            ),
        )


def add_capacity(
    model: "ConcreteModel",
    instance: DmlrsInstance,
    jobs: list[CandidateJob],
    demand: Callable[[int, int, int, int], Any],
    *,
    symmetry: bool,
) -> None:
    """Add (5) and, on request, rows that order equal machines and equal jobs.

    `model`: with `y`; gets `eq_5`, `cut_machines` and `cut_jobs`. `demand`: from job i, slot t,
    machine h and resource r to the demand there: an expression, or 0. `symmetry`: whether to break
    the symmetry of equal machines and of equal jobs.
    """
    import pyomo.core as pyo

    T, H, R = instance.horizon, len(instance.machines), len(instance.resources)
    capacity = arrays(instance).capacity
    uses: dict[tuple[int, int, int], Any] = {}
    for t in range(1, T + 1):
        for h in range(H):
            for r in range(R):
                terms = [demand(job.index, t, h, r) for job in jobs if t >= job.arrival]
                uses[h, t, r] = sum(term for term in terms if not isinstance(term, int))
    rows = [key for key, used in uses.items() if not isinstance(used, int)]
    model.eq_5 = pyo.Constraint(
        rows,
        doc="capacity of each machine, slot and resource",
        rule=lambda model, h, t, r: uses[h, t, r] <= float(capacity[h, r]),
    )
    if not symmetry:
        return

    def busier(model: "ConcreteModel", h: int, k: int, t: int) -> Any:
        found = uses[h, t, 0] >= uses[k, t, 0]
        return pyo.Constraint.Skip if isinstance(found, bool) else found

    model.cut_machines = pyo.Constraint(
        [(h, k, t) for h, k in equal_machines(instance) for t in range(1, T + 1)],
        doc="of two equal machines the first has no less load of the first resource",
        rule=busier,
    )
    first = {job.index: job.first for job in jobs}
    model.cut_jobs = pyo.Constraint(
        [(i, j, t) for i, j in equal_jobs(instance, jobs) for t in range(first[i], T + 1)],
        doc="of two equal jobs the first completes no later",
        rule=lambda model, i, j, t: (
            sum(model.y[i, f] for f in range(first[i], t + 1))
            >= sum(model.y[j, f] for f in range(first[j], t + 1))
        ),
    )


def admitted(model: "ConcreteModel") -> list[int]:
    """Return the jobs that a solved model admits.

    `model`: with values of `y`.
    """
    return sorted({i for (i, _), y in model.y.items() if (y.value or 0.0) > 0.5})
