"""DMLRS (3)-(7) with one binary for each number of workers (ours): vI_ithn, vE_itn, w_ith, s_ith.

The number of a job's workers in a slot and its mode are one choice, so that its PSs (2) and its
progress (3) are data, and no big-M is needed.
"""

from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, arrays
from schedgap.models.dmlrs.programs.common_rows import (
    CandidateJob,
    add_capacity,
    add_completions,
    add_work,
    admitted,
    candidate_jobs,
    running,
)
from schedgap.models.dmlrs.throughput import bundles


def size(instance: DmlrsInstance) -> int:
    """Return an upper limit on the number of columns."""
    T, H = instance.horizon, len(instance.machines)
    total = 0
    for job in candidate_jobs(instance):
        across = job.external + 2 * H if job.external else 0
        total += (T - job.arrival + 1) * (sum(job.internal) + across) + T - job.first + 1
    return total


def build(instance: DmlrsInstance, *, symmetry: bool = True, cuts: bool = True) -> Any:
    """Return the program as a Pyomo `ConcreteModel`; it is not solved.

    Parameters
    ----------
    symmetry : bool
        Whether to order equal machines and equal jobs.
    cuts : bool
        Whether to add rows that only tighten the relaxation.
    """
    import pyomo.environ as pyo

    view, jobs = arrays(instance), candidate_jobs(instance)
    T, H = instance.horizon, len(instance.machines)
    needs = {p.index: _ps(instance, p) for p in jobs}  # m(n) by allowed n
    slots = {p.index: range(p.arrival, T + 1) for p in jobs}
    model = pyo.ConcreteModel(name=instance.name)
    add_completions(model, instance, jobs)
    model.vI = pyo.Var(
        [
            (p.index, t, h, n)
            for p in jobs
            for t in slots[p.index]
            for h in range(H)
            for n in needs[p.index]
            if n <= p.internal[h]
        ],
        domain=pyo.Binary,
        doc="job i has n workers and their PSs on machine h in slot t, and nothing elsewhere",
    )
    external_jobs = [p for p in jobs if p.external]
    model.vE = pyo.Var(
        [
            (p.index, t, n)
            for p in external_jobs
            for t in slots[p.index]
            for n in needs[p.index]
            if n <= p.external
        ],
        domain=pyo.Binary,
        doc="job i has n workers on several machines in slot t",
    )
    slot_machines = [
        (p.index, t, h) for p in external_jobs for t in slots[p.index] for h in range(H)
    ]
    max_workers = {p.index: p.workers for p in jobs}
    max_ps = {p.index: p.ps for p in jobs}
    model.w = pyo.Var(
        slot_machines,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, i, t, h: (0, max_workers[i][h]),
        doc="of these workers on machine h",
    )
    model.s = pyo.Var(
        slot_machines,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, i, t, h: (0, max_ps[i][h]),
        doc="of their PSs on machine h",
    )
    inside: dict[tuple[int, int], dict[int, list[tuple[int, Any]]]] = {}
    for (i, t, h, n), var in model.vI.items():
        inside.setdefault((i, t), {}).setdefault(h, []).append((n, var))
    across: dict[tuple[int, int], list[tuple[int, Any]]] = {}
    for (i, t, n), var in model.vE.items():
        across.setdefault((i, t), []).append((n, var))

    model.eq_4 = pyo.Constraint(
        [(p.index, t) for p in external_jobs for t in slots[p.index]],
        doc="workers of the choice, over the machines",
        rule=lambda model, i, t: (
            sum(model.w[i, t, h] for h in range(H)) == sum(n * v for n, v in across[i, t])
        ),
    )
    model.eq_2 = pyo.Constraint(
        [(p.index, t) for p in external_jobs for t in slots[p.index]],
        doc="their PSs, over the machines",
        rule=lambda model, i, t: (
            sum(model.s[i, t, h] for h in range(H)) == sum(needs[i][n] * v for n, v in across[i, t])
        ),
    )
    here = {
        (p.index, t): [v for own in inside.get((p.index, t), {}).values() for _, v in own]
        + [v for _, v in across.get((p.index, t), ())]
        for p in jobs
        for t in slots[p.index]
    }
    model.eq_6 = pyo.Constraint(
        [key for key, own in here.items() if own],
        doc="one choice in a slot, and none after completion",
        rule=lambda model, i, t: sum(here[i, t]) <= running(model, instance, i, t),
    )
    work = {
        p.index: {
            t: (
                sum(n * v for own in inside.get((p.index, t), {}).values() for n, v in own),
                sum(n * v for n, v in across.get((p.index, t), ())),
            )
            for t in slots[p.index]
        }
        for p in jobs
    }
    add_work(model, instance, jobs, work, cuts=cuts)

    def demand(i: int, t: int, h: int, r: int) -> Any:
        alpha, beta = float(view.worker_demand[i, r]), float(view.ps_demand[i, r])
        if not alpha and not beta:
            return 0
        used = sum(
            (alpha * n + beta * needs[i][n]) * v for n, v in inside.get((i, t), {}).get(h, ())
        )
        if (i, t, h) in model.w:
            used += alpha * model.w[i, t, h] + beta * model.s[i, t, h]
        return used

    add_capacity(model, instance, jobs, demand, symmetry=symmetry)
    return model


def _ps(instance: DmlrsInstance, job: CandidateJob) -> dict[int, int]:
    """Return m(n) of the numbers of workers that fit the cluster."""
    job_bundles, most = bundles(instance, job.index), max(*job.internal, job.external)
    pairs = zip(job_bundles.workers.tolist(), job_bundles.ps.tolist(), strict=True)
    return {n: m for n, m in pairs if n <= most}


def read(model: Any, instance: DmlrsInstance) -> DmlrsSchedule:
    """Return the schedule of a solved model.

    Parameters
    ----------
    model : ConcreteModel
        As `build` returns it, with values.
    """
    plans: dict[int, dict[int, dict[int, tuple[int, int]]]] = {i: {} for i in admitted(model)}
    needs = {p.index: _ps(instance, p) for p in candidate_jobs(instance)}
    for (i, t, h, n), var in model.vI.items():
        if (var.value or 0.0) > 0.5 and i in plans:
            plans[i].setdefault(t, {})[h] = n, needs[i][n]
    for (i, t, h), var in model.w.items():
        counts = round(var.value or 0.0), round(model.s[i, t, h].value or 0.0)
        if any(counts) and i in plans:
            plans[i].setdefault(t, {})[h] = counts
    return DmlrsSchedule.of_plans(instance, plans)
