"""DMLRS (3)-(7) with the number of workers one-hot (ours): vI_ithn, vE_itn, w_ith, s_ith.

A job's number of workers in a slot, and whether they share a machine, is one choice: its PSs (2)
and its advance (3) are then data, without any big M.
"""

from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, arrays
from schedgap.models.dmlrs.programs.common_rows import (
    Part,
    add_capacity,
    add_completions,
    add_work,
    admitted,
    parts,
    running,
)
from schedgap.models.dmlrs.throughput import bundles


def size(instance: DmlrsInstance) -> int:
    """Return how many columns the program has."""
    T, H = instance.horizon, len(instance.machines)
    total = 0
    for part in parts(instance):
        across = part.across + 2 * H if part.across else 0
        total += (T - part.arrival + 1) * (sum(part.inside) + across) + T - part.first + 1
    return total


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
    needs = {p.job: _ps(instance, p) for p in among}  # m(n) by allowed n
    slots = {p.job: range(p.arrival, T + 1) for p in among}
    model = pyo.ConcreteModel(name=instance.name)
    add_completions(model, instance, among)
    model.vI = pyo.Var(
        [
            (p.job, t, h, n)
            for p in among
            for t in slots[p.job]
            for h in range(H)
            for n in needs[p.job]
            if n <= p.inside[h]
        ],
        domain=pyo.Binary,
        doc="job i has n workers and their PSs on machine h in slot t, and nothing elsewhere",
    )
    spread = [p for p in among if p.across]
    model.vE = pyo.Var(
        [
            (p.job, t, n)
            for p in spread
            for t in slots[p.job]
            for n in needs[p.job]
            if n <= p.across
        ],
        domain=pyo.Binary,
        doc="job i has n workers on several machines in slot t",
    )
    places = [(p.job, t, h) for p in spread for t in slots[p.job] for h in range(H)]
    most_w = {p.job: p.workers for p in among}
    most_s = {p.job: p.ps for p in among}
    model.w = pyo.Var(
        places,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, i, t, h: (0, most_w[i][h]),
        doc="of these workers on machine h",
    )
    model.s = pyo.Var(
        places,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, i, t, h: (0, most_s[i][h]),
        doc="of their PSs on machine h",
    )
    inside: dict[tuple[int, int], dict[int, list[tuple[int, Any]]]] = {}
    for (i, t, h, n), var in model.vI.items():
        inside.setdefault((i, t), {}).setdefault(h, []).append((n, var))
    across: dict[tuple[int, int], list[tuple[int, Any]]] = {}
    for (i, t, n), var in model.vE.items():
        across.setdefault((i, t), []).append((n, var))

    model.eq_4 = pyo.Constraint(
        [(p.job, t) for p in spread for t in slots[p.job]],
        doc="workers of the choice, over the machines",
        rule=lambda model, i, t: (
            sum(model.w[i, t, h] for h in range(H)) == sum(n * v for n, v in across[i, t])
        ),
    )
    model.eq_2 = pyo.Constraint(
        [(p.job, t) for p in spread for t in slots[p.job]],
        doc="their PSs, over the machines",
        rule=lambda model, i, t: (
            sum(model.s[i, t, h] for h in range(H)) == sum(needs[i][n] * v for n, v in across[i, t])
        ),
    )
    here = {
        (p.job, t): [v for own in inside.get((p.job, t), {}).values() for _, v in own]
        + [v for _, v in across.get((p.job, t), ())]
        for p in among
        for t in slots[p.job]
    }
    model.eq_6 = pyo.Constraint(
        [key for key, own in here.items() if own],
        doc="one choice in a slot, and none after completion",
        rule=lambda model, i, t: sum(here[i, t]) <= running(model, instance, i, t),
    )
    work = {
        p.job: {
            t: (
                sum(n * v for own in inside.get((p.job, t), {}).values() for n, v in own),
                sum(n * v for n, v in across.get((p.job, t), ())),
            )
            for t in slots[p.job]
        }
        for p in among
    }
    add_work(model, instance, among, work, cuts=cuts)

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

    add_capacity(model, instance, among, demand, symmetry=symmetry)
    return model


def _ps(instance: DmlrsInstance, part: Part) -> dict[int, int]:
    some, most = bundles(instance, part.job), max(*part.inside, part.across)
    pairs = zip(some.workers.tolist(), some.ps.tolist(), strict=True)
    return {n: m for n, m in pairs if n <= most}


def read(model: Any, instance: DmlrsInstance) -> DmlrsSchedule:
    """Return the schedule of a solved model."""
    plans: dict[int, dict[int, dict[int, tuple[int, int]]]] = {i: {} for i in admitted(model)}
    needs = {p.job: _ps(instance, p) for p in parts(instance)}
    for (i, t, h, n), var in model.vI.items():
        if (var.value or 0.0) > 0.5 and i in plans:
            plans[i].setdefault(t, {})[h] = n, needs[i][n]
    for (i, t, h), var in model.w.items():
        counts = round(var.value or 0.0), round(model.s[i, t, h].value or 0.0)
        if any(counts) and i in plans:
            plans[i].setdefault(t, {})[h] = counts
    return DmlrsSchedule.of_plans(instance, plans)
