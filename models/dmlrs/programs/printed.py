"""DMLRS (3)-(7) as printed, by machine: z_ith, e_it, and integer numbers of workers and PSs.

The least bandwidth of (3) becomes two modes: on machine h alone (z) or across machines (e). The
last slot with a worker of (6) becomes y_if with no work after f; y may name a later slot, which
never increases the utility. Workers of the mode across machines may all be on one machine. The
program then counts less work for them than (3) does, so both have the same optimum.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, arrays
from schedgap.models.dmlrs.programs.integral_rows import ps_slope, work_rows
from schedgap.models.dmlrs.throughput import (
    bundles,
    first_completions,
    machine_limits,
    max_external_workers,
    ps_needed,
)

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


def _candidates(instance: DmlrsInstance) -> dict[int, int]:
    """Return f0, the earliest possible completion, of each job that some schedule completes."""
    first = enumerate(first_completions(instance))
    return {i: f0 for i, f0 in first if f0 <= instance.horizon}


def size(instance: DmlrsInstance) -> int:
    """Return an upper limit on the number of columns."""
    T, H = instance.horizon, len(instance.machines)
    each = 5 * H + 1 + (0 if instance.ps_rule == "at_least" else H + 1)
    first = _candidates(instance)
    return sum((T - instance.jobs[i].arrival + 1) * each + T - f0 + 1 for i, f0 in first.items())


def build(instance: DmlrsInstance, *, cuts: bool = True) -> "ConcreteModel":
    """Return the program as a Pyomo `ConcreteModel`; it is not solved.

    `cuts`: whether to add rows that only tighten the relaxation.
    """
    import pyomo.core as pyo

    view, limits, first = arrays(instance), machine_limits(instance), _candidates(instance)
    T, H, R = instance.horizon, len(instance.machines), len(instance.resources)
    arrival = {i: instance.jobs[i].arrival for i in first}
    single, workers, ps = (
        each.tolist() for each in (limits.internal, limits.workers, limits.ps)
    )  # [i][h] most workers with their PSs, workers, PSs
    several = {i: max_external_workers(instance, i) for i in first}
    model = pyo.ConcreteModel(name=instance.name)
    model.y = pyo.Var(
        [(i, f) for i, f0 in first.items() for f in range(f0, T + 1)],
        domain=pyo.Binary,
        doc="job i is complete by slot f",
    )
    model.objective = pyo.Objective(
        expr=pyo.quicksum(
            float(view.utility[i, f - arrival[i]]) * y for (i, f), y in model.y.items()
        ),
        sense=pyo.maximize,
        doc="sum of utilities of the admitted jobs",
    )

    def running(i: int, t: int) -> Any:
        """Return sum_{f >= t} y_if, which is 1 if job i may run in slot t."""
        return sum(model.y[i, f] for f in range(max(t, first[i]), T + 1))

    model.lin_once = pyo.Constraint(
        list(first),
        doc="a job is admitted at most once",
        rule=lambda model, i: running(i, 1) <= 1,
    )
    slots = [(i, t) for i in first for t in range(arrival[i], T + 1)]
    one = [(i, t, h) for i, t in slots for h in range(H) if single[i][h]]
    split = [(i, t) for i, t in slots if several[i]]
    on = [(i, t, h) for i, t in split for h in range(H)]
    model.z = pyo.Var(one, domain=pyo.Binary, doc="job i is on machine h alone in slot t")
    model.e = pyo.Var(split, domain=pyo.Binary, doc="job i is on several machines in slot t")

    def add_units(
        name: str, row: str, doc: str, keys: list[Any], most: Callable[[int, int], int]
    ) -> None:
        """Add workers or PSs [i, t, h], up to most(i, h), and the row (4) that allows a mode."""
        bounds = {(i, t, h): (0, most(i, h)) for i, t, h in keys}
        units = pyo.Var(keys, domain=pyo.NonNegativeIntegers, bounds=bounds, doc=doc)
        model.add_component(name, units)
        rows = pyo.Constraint(
            keys,
            rule=lambda model, i, t, h: (
                units[i, t, h] <= most(i, h) * (model.z[i, t, h] if keys is one else model.e[i, t])
            ),
        )
        model.add_component(row, rows)

    add_units("wI", "eq_4_workers", "its workers there", one, lambda i, h: single[i][h])
    add_units(
        "sI", "eq_4_ps", "its PSs there", one,
        lambda i, h: ps_needed(float(view.ratio[i]), single[i][h]),
    )  # fmt: skip
    add_units(
        "wE", "eq_4_each_worker", "its workers on machine h then", on, lambda i, h: workers[i][h]
    )
    add_units("sE", "eq_4_each_ps", "its PSs on machine h then", on, lambda i, h: ps[i][h])
    model.eq_4 = pyo.Constraint(
        split,
        doc="at most the batch of workers",
        rule=lambda model, i, t: (
            sum(model.wE[i, t, h] for h in range(H)) <= several[i] * model.e[i, t]
        ),
    )
    inside = {key: (model.wI[key], model.sI[key]) for key in one}
    across = {
        (i, t): tuple(sum(var[i, t, h] for h in range(H)) for var in (model.wE, model.sE))
        for i, t in split
    }
    if instance.ps_rule == "at_least":
        slope = {i: ps_slope(instance, i) for i in first}
        for name, units in (("eq_2_inside", inside), ("eq_2", across)):
            row = pyo.Constraint(
                list(units),
                doc="PSs enough for the workers",
                rule=lambda model, *key, units=units: (
                    units[key][0] <= slope[key[0]] * units[key][1]
                ),
            )
            model.add_component(name, row)
    else:
        _add_exact_ratio(model, instance, inside, across)
    model.eq_6 = pyo.Constraint(
        slots,
        doc="one mode in a slot, and none after completion",
        rule=lambda model, i, t: (
            sum(model.z[i, t, h] for h in range(H) if single[i][h])
            + (model.e[i, t] if several[i] else 0)
            <= running(i, t)
        ),
    )
    work = {  # worker-slots on a single machine, and across machines
        (i, t): (
            sum(model.wI[i, t, h] for h in range(H) if single[i][h]),
            across[i, t][0] if several[i] else 0,
        )
        for i, t in slots
    }
    rows = {i: work_rows(instance, i) for i in first}

    def enough(model: "ConcreteModel", i: int, t: int, k: int) -> Any:
        internal, external, least = rows[i][k]
        done = pyo.quicksum(
            internal * work[i, s][0] + external * work[i, s][1] for s in range(arrival[i], t + 1)
        )
        return done >= least * sum(model.y[i, f] for f in range(first[i], t + 1))

    model.eq_3 = pyo.Constraint(  # the rows of slot T are the printed one
        [
            (i, t, k)
            for i in first
            for t in range(first[i] if cuts else T, T + 1)
            for k in range(len(rows[i]))
        ],
        rule=enough,
        doc="a complete job has done its work",
    )
    uses = {}
    alpha, beta = view.worker_demand.tolist(), view.ps_demand.tolist()
    for t, h, r in product(range(1, T + 1), range(H), range(R)):
        held = [
            alpha[i][r] * w[i, t, h] + beta[i][r] * s[i, t, h]
            for i in first
            for w, s in ((model.wI, model.sI), (model.wE, model.sE))
            if (i, t, h) in w and (alpha[i][r] or beta[i][r])
        ]
        if held:
            uses[h, t, r] = sum(held)
    model.eq_5 = pyo.Constraint(
        list(uses),
        doc="capacity of each machine, slot and resource",
        rule=lambda model, h, t, r: uses[h, t, r] <= float(view.capacity[h, r]),
    )
    return model


def _add_exact_ratio(
    model: "ConcreteModel",
    instance: DmlrsInstance,
    inside: Mapping[tuple[int, int, int], tuple[Any, Any]],
    across: Mapping[tuple[int, int], tuple[Any, Any]],
) -> None:
    """Add (2) with equality: v times the smallest allowed numbers of workers and PSs.

    All allowed pairs (n, m) with n <= 100,000 have the same ratio. The reason is that
    |n / gamma - m| < 1e-9 leaves no room for two ratios, and the error grows with n. They are the
    first multiples of the smallest pair.
    """
    import pyomo.core as pyo

    pair = {}
    for i in {key[0] for key in (*inside, *across)}:
        job_bundles = bundles(instance, i)
        pair[i] = int(job_bundles.workers[0]), int(job_bundles.ps[0]), len(job_bundles.workers)
    for name, held in (("inside", inside), ("across", across)):
        keys = list(held)
        times = pyo.Var(
            keys,
            domain=pyo.NonNegativeIntegers,
            bounds=lambda model, *key: (0, pair[key[0]][2]),
            doc="multiple of the smallest pair of workers and PSs",
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


def read(model: "ConcreteModel", instance: DmlrsInstance) -> DmlrsSchedule:
    """Return the schedule of a solved model.

    `model`: as `build` returns it, with values.
    """
    admitted = sorted({i for (i, _), y in model.y.items() if (y.value or 0.0) > 0.5})
    plans: dict[int, dict[int, dict[int, tuple[int, int]]]] = {i: {} for i in admitted}
    for workers, ps in ((model.wI, model.sI), (model.wE, model.sE)):
        for (i, t, h), var in workers.items():
            counts = round(var.value or 0.0), round(ps[i, t, h].value or 0.0)
            if any(counts) and i in plans:
                slot = plans[i].setdefault(t, {})
                before = slot.get(h, (0, 0))
                slot[h] = before[0] + counts[0], before[1] + counts[1]
    return DmlrsSchedule.of_plans(instance, plans)
