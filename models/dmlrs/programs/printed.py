"""DMLRS (3)-(7) as it is printed, by machine: z_ith, e_it, and whole numbers of workers and PSs.

The least bandwidth of (3) becomes two modes: inside machine h (z) or across machines (e). The last
slot with a worker of (6) becomes y_if with no work after f; y may name a later slot, which never
pays. Workers of the mode across machines may all land on one machine: the program counts less for
them than (3) does, so its optimum is still that of DMLRS.
"""

from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, arrays
from schedgap.models.dmlrs.programs.common_rows import (
    add_capacity,
    add_completions,
    add_work,
    admitted,
    parts,
    running,
)
from schedgap.models.dmlrs.programs.integral_rows import ps_slope
from schedgap.models.dmlrs.throughput import bundles, ps_needed


def size(instance: DmlrsInstance) -> int:
    """Return how many columns the program has at most."""
    T, H = instance.horizon, len(instance.machines)
    each = 5 * H + 1 + (0 if instance.ps_rule == "at_least" else H + 1)
    return sum((T - p.arrival + 1) * each + T - p.first + 1 for p in parts(instance))


def build(instance: DmlrsInstance, *, symmetry: bool = True, cuts: bool = True) -> Any:
    """Return the program as a Pyomo `ConcreteModel`; it solves nothing.

    Parameters
    ----------
    symmetry : bool
        Whether equal machines, and equal jobs, are put in order.
    cuts : bool
        Whether rows are added that only tighten the relaxation.
    """
    import pyomo.environ as pyo

    view, among = arrays(instance), parts(instance)
    T, H = instance.horizon, len(instance.machines)
    by_job = {p.job: p for p in among}
    model = pyo.ConcreteModel(name=instance.name)
    add_completions(model, instance, among)
    slots = [(p.job, t) for p in among for t in range(p.arrival, T + 1)]
    one = [(i, t, h) for i, t in slots for h in range(H) if by_job[i].inside[h]]
    split = [(i, t) for i, t in slots if by_job[i].across]
    on = [(i, t, h) for i, t in split for h in range(H)]
    most_ps = {
        (p.job, h): ps_needed(float(view.ratio[p.job]), p.inside[h])
        for p in among
        for h in range(H)
    }
    model.z = pyo.Var(one, domain=pyo.Binary, doc="job i is on machine h alone in slot t")
    model.wI = pyo.Var(
        one,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, i, t, h: (0, by_job[i].inside[h]),
        doc="its workers there",
    )
    model.sI = pyo.Var(
        one,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, i, t, h: (0, most_ps[i, h]),
        doc="its PSs there",
    )
    model.e = pyo.Var(split, domain=pyo.Binary, doc="job i is on several machines in slot t")
    model.wE = pyo.Var(
        on,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, i, t, h: (0, by_job[i].workers[h]),
        doc="its workers on machine h then",
    )
    model.sE = pyo.Var(
        on,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, i, t, h: (0, by_job[i].ps[h]),
        doc="its PSs on machine h then",
    )

    model.eq_4_workers = pyo.Constraint(
        one, rule=lambda model, i, t, h: model.wI[i, t, h] <= by_job[i].inside[h] * model.z[i, t, h]
    )
    model.eq_4_ps = pyo.Constraint(
        one, rule=lambda model, i, t, h: model.sI[i, t, h] <= most_ps[i, h] * model.z[i, t, h]
    )
    model.eq_4_each_worker = pyo.Constraint(
        on, rule=lambda model, i, t, h: model.wE[i, t, h] <= by_job[i].workers[h] * model.e[i, t]
    )
    model.eq_4_each_ps = pyo.Constraint(
        on, rule=lambda model, i, t, h: model.sE[i, t, h] <= by_job[i].ps[h] * model.e[i, t]
    )
    model.eq_4 = pyo.Constraint(
        split,
        doc="at most the batch of workers",
        rule=lambda model, i, t: (
            sum(model.wE[i, t, h] for h in range(H)) <= by_job[i].across * model.e[i, t]
        ),
    )
    inside = {key: (model.wI[key], model.sI[key]) for key in one}
    across = {
        (i, t): tuple(sum(var[i, t, h] for h in range(H)) for var in (model.wE, model.sE))
        for i, t in split
    }
    if instance.ps_rule == "at_least":
        slope = {p.job: ps_slope(instance, p.job) for p in among}
        model.eq_2_inside = pyo.Constraint(
            one,
            doc="PSs enough for the workers",
            rule=lambda model, *key: inside[key][0] <= slope[key[0]] * inside[key][1],
        )
        model.eq_2 = pyo.Constraint(
            split,
            doc="PSs enough for the workers",
            rule=lambda model, *key: across[key][0] <= slope[key[0]] * across[key][1],
        )
    else:
        _add_exact_ratio(model, instance, inside, across)
    model.eq_6 = pyo.Constraint(
        [(i, t) for i, t in slots if by_job[i].across or any(by_job[i].inside)],
        doc="one mode in a slot, and none after completion",
        rule=lambda model, i, t: (
            sum(model.z[i, t, h] for h in range(H) if by_job[i].inside[h])
            + (model.e[i, t] if by_job[i].across else 0)
            <= running(model, instance, i, t)
        ),
    )
    work = {
        p.job: {
            t: (
                sum(model.wI[p.job, t, h] for h in range(H) if p.inside[h]),
                across[p.job, t][0] if p.across else 0,
            )
            for t in range(p.arrival, T + 1)
        }
        for p in among
    }
    add_work(model, instance, among, work, cuts=cuts)

    def demand(i: int, t: int, h: int, r: int) -> Any:
        alpha, beta = float(view.worker_demand[i, r]), float(view.ps_demand[i, r])
        if not alpha and not beta:
            return 0
        pairs = ((model.wI, model.sI), (model.wE, model.sE))
        held = [(w[i, t, h], s[i, t, h]) for w, s in pairs if (i, t, h) in w]
        return sum(alpha * w + beta * s for w, s in held)

    add_capacity(model, instance, among, demand, symmetry=symmetry)
    return model


def _add_exact_ratio(model: Any, instance: DmlrsInstance, inside: Any, across: Any) -> None:
    """Add (2) with equality: v times the least numbers of workers and PSs that it allows.

    All allowed pairs (n, m) with n <= 100,000 have one ratio, as |n / gamma - m| < 1e-9 leaves no
    room for two, and the error grows with n: they are the first multiples of the least pair.
    """
    import pyomo.environ as pyo

    pair = {}
    for i in {key[0] for key in (*inside, *across)}:
        some = bundles(instance, i)
        pair[i] = int(some.workers[0]), int(some.ps[0]), len(some.workers)
    for name, held in (("inside", inside), ("across", across)):
        keys = list(held)
        times = pyo.Var(
            keys,
            domain=pyo.NonNegativeIntegers,
            bounds=lambda model, *key: (0, pair[key[0]][2]),
            doc="how many times the least pair of workers and PSs",
        )
        setattr(model, f"v_{name}", times)
        for k, kind in enumerate(("workers", "ps")):
            row = pyo.Constraint(
                keys,
                doc=f"gamma workers for each PS, exactly: {kind}",
                rule=lambda model, *key, held=held, times=times, k=k: (
                    held[key][k] == pair[key[0]][k] * times[key]
                ),
            )
            setattr(model, f"eq_2_{name}_{kind}", row)


def read(model: Any, instance: DmlrsInstance) -> DmlrsSchedule:
    """Return the schedule of a solved model."""
    plans: dict[int, dict[int, dict[int, tuple[int, int]]]] = {i: {} for i in admitted(model)}
    for workers, ps in ((model.wI, model.sI), (model.wE, model.sE)):
        for (i, t, h), var in workers.items():
            counts = round(var.value or 0.0), round(ps[i, t, h].value or 0.0)
            if any(counts) and i in plans:
                slot = plans[i].setdefault(t, {})
                before = slot.get(h, (0, 0))
                slot[h] = before[0] + counts[0], before[1] + counts[1]
    return DmlrsSchedule.of_plans(instance, plans)
