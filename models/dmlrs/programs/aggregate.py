"""DMLRS (3)-(7) with all machines merged (ours): a relaxation, whose slots are packed afterwards.

v_itqn: job i has n workers in slot t, on a single machine (q = 0) or across machines (q = 1).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.models.dmlrs.programs.common_rows import (
    CandidateJob,
    add_completions,
    add_job_order,
    add_work,
    candidate_jobs,
    running,
)
from schedgap.models.dmlrs.throughput import bundles

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


class JobBundle(NamedTuple):
    """n workers of a job with their PSs in one slot, on a single machine or on any machines."""

    job: int
    internal: bool
    workers: int


def size(instance: DmlrsInstance) -> int:
    """Return an upper limit on the number of columns."""
    T = instance.horizon
    return sum(
        (T - p.arrival + 1) * (max(p.internal) + p.external) + T - p.first + 1
        for p in candidate_jobs(instance)
    )


def build(instance: DmlrsInstance) -> "ConcreteModel":
    """Return the program as a Pyomo `ConcreteModel`; it is not solved."""
    import pyomo.core as pyo

    view, jobs, T = arrays(instance), candidate_jobs(instance), instance.horizon
    model = pyo.ConcreteModel(name=instance.name)
    add_completions(model, instance, jobs)
    model.v = pyo.Var(
        [
            (p.index, t, mode, n)
            for p in jobs
            for t in range(p.arrival, T + 1)
            for mode, n in _choices(instance, p)
        ],
        domain=pyo.Binary,
        doc="job i has n workers in slot t, inside some machine (0) or across machines (1)",
    )
    choices_in: dict[tuple[int, int], list[tuple[int, int, Any]]] = {}
    for (i, t, mode, n), var in model.v.items():
        choices_in.setdefault((i, t), []).append((mode, n, var))
    model.eq_6 = pyo.Constraint(
        list(choices_in),
        doc="one choice in a slot, and none after completion",
        rule=lambda model, i, t: (
            sum(var for _, _, var in choices_in[i, t]) <= running(model, instance, i, t)
        ),
    )
    work: dict[int, dict[int, tuple[Any, Any]]] = {}
    for job in jobs:
        for t in range(job.arrival, T + 1):
            own = choices_in.get((job.index, t), ())
            internal, external = (
                sum(n * var for mode, n, var in own if mode == wanted)
                for wanted in (INTERNAL, EXTERNAL)
            )
            work.setdefault(job.index, {})[t] = internal, external
    add_work(model, instance, jobs, work, cuts=True)
    demand = {
        p.index: dict(zip(job_bundles.workers.tolist(), job_bundles.demand, strict=True))
        for p in jobs
        for job_bundles in [bundles(instance, p.index)]
    }
    total = view.capacity_milli.sum(axis=0) / 1000

    def fits(model: "ConcreteModel", t: int, r: int) -> Any:
        terms = [
            float(demand[p.index][n][r]) * var
            for p in jobs
            for _, n, var in choices_in.get((p.index, t), ())
            if demand[p.index][n][r]
        ]
        return pyo.quicksum(terms) <= float(total[r]) if terms else pyo.Constraint.Skip

    model.eq_5_total = pyo.Constraint(
        range(1, T + 1),
        range(len(instance.resources)),
        doc="capacity of all machines together, by slot and resource",
        rule=fits,
    )
    add_job_order(model, instance, jobs)
    return model


def _choices(instance: DmlrsInstance, job: CandidateJob) -> Sequence[tuple[int, int]]:
    """Return the allowed pairs of mode and number of workers."""
    workers = bundles(instance, job.index).workers.tolist()
    limits = (INTERNAL, max(job.internal)), (EXTERNAL, job.external)
    return [(mode, n) for mode, most in limits for n in workers if n <= most]


def chosen(index: tuple[int, int, int, int]) -> tuple[int, JobBundle]:
    """Return the slot and the bundle that a variable stands for.

    `index`: (i, t, q, n), an index of `v`.
    """
    i, t, mode, n = index
    return t, JobBundle(i, mode == INTERNAL, n)
