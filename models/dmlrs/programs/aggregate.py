"""DMLRS (3)-(7) with all machines as one (ours): a relaxation, whose slots are packed afterwards.

v_itqn: job i has n workers in slot t, inside some machine (q = 0) or across machines (q = 1).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.models.dmlrs.programs.common_rows import (
    Part,
    add_completions,
    add_job_order,
    add_work,
    parts,
    running,
)
from schedgap.models.dmlrs.throughput import bundles


class Item(NamedTuple):
    """n workers of a job, with their PSs on one machine, or wherever there is room."""

    job: int
    internal: bool
    workers: int


def size(instance: DmlrsInstance) -> int:
    """Return how many columns the program has at most."""
    T = instance.horizon
    return sum(
        (T - p.arrival + 1) * (max(p.inside) + p.across) + T - p.first + 1 for p in parts(instance)
    )


def build(instance: DmlrsInstance) -> Any:
    """Return the program as a Pyomo `ConcreteModel`; it solves nothing."""
    import pyomo.environ as pyo

    view, among, T = arrays(instance), parts(instance), instance.horizon
    model = pyo.ConcreteModel(name=instance.name)
    add_completions(model, instance, among)
    model.v = pyo.Var(
        [
            (p.job, t, mode, n)
            for p in among
            for t in range(p.arrival, T + 1)
            for mode, n in _choices(instance, p)
        ],
        domain=pyo.Binary,
        doc="job i has n workers in slot t, inside some machine (0) or across machines (1)",
    )
    here: dict[tuple[int, int], list[tuple[int, int, Any]]] = {}
    for (i, t, mode, n), var in model.v.items():
        here.setdefault((i, t), []).append((mode, n, var))
    model.eq_6 = pyo.Constraint(
        list(here),
        doc="one choice in a slot, and none after completion",
        rule=lambda model, i, t: (
            sum(var for _, _, var in here[i, t]) <= running(model, instance, i, t)
        ),
    )
    work: dict[int, dict[int, tuple[Any, Any]]] = {}
    for part in among:
        for t in range(part.arrival, T + 1):
            own = here.get((part.job, t), ())
            inside, across = (
                sum(n * var for mode, n, var in own if mode == wanted)
                for wanted in (INTERNAL, EXTERNAL)
            )
            work.setdefault(part.job, {})[t] = inside, across
    add_work(model, instance, among, work, cuts=True)
    demand = {
        p.job: dict(zip(own.workers.tolist(), own.demand, strict=True))
        for p in among
        for own in [bundles(instance, p.job)]
    }
    total = view.capacity_milli.sum(axis=0) / 1000

    def fits(model: Any, t: int, r: int) -> Any:
        terms = [
            float(demand[p.job][n][r]) * var
            for p in among
            for _, n, var in here.get((p.job, t), ())
            if demand[p.job][n][r]
        ]
        return pyo.quicksum(terms) <= float(total[r]) if terms else pyo.Constraint.Skip

    model.eq_5_total = pyo.Constraint(
        range(1, T + 1),
        range(len(instance.resources)),
        doc="capacity of all machines together, by slot and resource",
        rule=fits,
    )
    add_job_order(model, instance, among)
    return model


def _choices(instance: DmlrsInstance, part: Part) -> Sequence[tuple[int, int]]:
    workers = bundles(instance, part.job).workers.tolist()
    widest = (INTERNAL, max(part.inside)), (EXTERNAL, part.across)
    return [(mode, n) for mode, most in widest for n in workers if n <= most]


def chosen(index: tuple[int, int, int, int]) -> tuple[int, Item]:
    """Return slot and item of an index of v."""
    i, t, mode, n = index
    return t, Item(i, mode == INTERNAL, n)
