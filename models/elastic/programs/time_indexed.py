"""The time-indexed program (ours): a copy of the placement for each job, mode and start.

It needs no usage by slot and no big-M: the workers and PSs of a copy are 0 unless its start is
chosen. The relaxation is much stronger than that of `linearised`, and the program much larger.

References
----------
J. P. Sousa, L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992).
"""

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import fits, ps_needed
from schedgap.models.elastic.programs.columns import run_at, schedule_of
from schedgap.models.elastic.time_windows import ElasticWindows

if TYPE_CHECKING:
    import pyomo.core as pyo
    from pyomo.core.expr.numeric_expr import NumericExpression


def size(instance: ElasticInstance, span: ElasticWindows) -> int:
    """Return the approximate number of columns of the program.

    `span`: when each job may run.
    """
    per_start = 1 + 3 * len(instance.servers)
    return sum(
        per_start * max(0, span.end[j] - mode.duration - span.first[j] + 1)
        for j in range(len(instance.jobs))
        for mode in modes(instance, j)
    )


def build(instance: ElasticInstance, *, span: ElasticWindows) -> "pyo.ConcreteModel":
    """Build the program; it solves nothing.

    `span`: when each job may run; the windows of a feasible schedule contain an optimal one.

    Notes
    -----
    A copy is a triple (j, k, t). A central copy chooses one server, `c`; a split one has workers
    `Y`, PSs `S` and the server of the PSs, `P`. Amounts are in the units of `modes.ElasticCluster`.
    """
    import pyomo.core as pyo

    view = cluster(instance)
    J, H = range(len(instance.jobs)), range(len(view.servers))
    K = [modes(instance, j) for j in J]
    weight = [job.weight for job in instance.jobs]
    copies = [
        (j, k, t)
        for j in J
        for k, mode in enumerate(K[j])
        for t in range(span.first[j], span.end[j] - mode.duration + 1)  # (2j), (7b)
    ]
    central = [at for at in copies if K[at[0]][at[1]].central]
    split = [at for at in copies if not K[at[0]][at[1]].central]
    with_ps = split if not instance.is_ring else []
    worker_fit = {
        m: fits(view.capacity, view.worker_units[m]) for m in range(len(view.worker_types))
    }
    ps_fit = {p: fits(view.capacity, view.ps_units[p]) for p in range(len(view.ps_types))}

    # Upper limits of the integer variables; the row with x makes them 0 unless the copy is chosen.
    def hosts(j: int, k: int) -> list[int]:
        """Return the servers on which a central mode fits."""
        demand = view.demand(K[j][k])
        needed = demand.workers * demand.worker + (0.0 if demand.ps is None else demand.ps)
        return [h for h in H if (view.capacity[h] >= needed).all()]

    def max_workers(j: int, k: int, h: int) -> int:
        return min(int(worker_fit[K[j][k].worker_type][h]), K[j][k].workers)

    def max_ps(j: int, k: int, h: int) -> int:
        mode, demand = K[j][k], view.demand(K[j][k])
        needed = ps_needed(demand.bandwidth, demand.ps_bandwidth, mode.workers)
        return min(int(ps_fit[mode.ps_type or 0][h]), needed)

    model = pyo.ConcreteModel(name=instance.name)
    model.x = pyo.Var(copies, domain=pyo.Binary, doc="job j starts in slot t in mode k")
    model.c = pyo.Var(
        [(*at, h) for at in central for h in hosts(*at[:2])],
        domain=pyo.Binary,
        doc="all of it on server h",
    )
    model.Y = pyo.Var(
        [(*at, h) for at in split for h in H],
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, j, k, t, h: (0, max_workers(j, k, h)),
        doc="workers on server h",
    )
    model.P = pyo.Var([(*at, h) for at in with_ps for h in H], domain=pyo.Binary, doc="PSs there")
    model.S = pyo.Var(
        [(*at, h) for at in with_ps for h in H],
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, j, k, t, h: (0, max_ps(j, k, h)),
        doc="PSs on server h",
    )
    sense = pyo.maximize if instance.is_batch else pyo.minimize
    model.objective = pyo.Objective(
        expr=sum(
            weight[j] * (1 if instance.is_batch else t + K[j][k].duration) * model.x[j, k, t]
            for j, k, t in copies
        ),
        sense=sense,
        doc="(7) or (2)",
    )
    starts: dict[int, list[NumericExpression]] = {j: [] for j in J}
    for at in copies:
        starts[at[0]].append(model.x[at])
    if instance.is_batch:
        model.eq_7a = pyo.Constraint(
            [j for j in J if starts[j]],
            doc="each job starts at most once",
            rule=lambda model, j: sum(starts[j]) <= 1,
        )
    else:
        model.eq_2a = pyo.Constraint(
            list(J),
            doc="each job starts once",
            rule=lambda model, j: sum(starts[j]) == 1 if starts[j] else pyo.Constraint.Infeasible,
        )
    model.eq_2d = pyo.Constraint(
        central,
        doc="a central mode has one server",
        rule=lambda model, j, k, t: (
            sum(model.c[j, k, t, h] for h in hosts(j, k)) == model.x[j, k, t]
        ),
    )
    model.eq_2b = pyo.Constraint(
        split,
        doc="all workers of the mode",
        rule=lambda model, j, k, t: (
            sum(model.Y[j, k, t, h] for h in H) == K[j][k].workers * model.x[j, k, t]
        ),
    )
    model.lin_on = pyo.Constraint(
        [(*at, h) for at in split for h in H],
        doc="no worker unless the start is chosen",
        rule=lambda model, j, k, t, h: (
            model.Y[j, k, t, h] <= max_workers(j, k, h) * model.x[j, k, t]
        ),
    )
    at_servers = [(*at, h) for at in with_ps for h in H]
    model.eq_2e = pyo.Constraint(
        with_ps,
        doc="PSs are on one server",
        rule=lambda model, j, k, t: sum(model.P[j, k, t, h] for h in H) == model.x[j, k, t],
    )

    def bandwidth(model: pyo.ConcreteModel, j: int, k: int, t: int, h: int) -> "NumericExpression":
        mode, demand = K[j][k], view.demand(K[j][k])
        b, B = demand.bandwidth, demand.ps_bandwidth
        # With the PSs on h: b (N - Y_h) <= B S_h + 1e-6; without, P = S = 0 and it holds.
        needed = (mode.workers * b - 1e-6) * model.P[j, k, t, h]
        return needed - b * model.Y[j, k, t, h] <= B * model.S[j, k, t, h]

    model.eq_2i = pyo.Constraint(
        at_servers, doc="PSs take all workers on other servers", rule=bandwidth
    )
    model.lin_ps_there = pyo.Constraint(
        at_servers,
        doc="at least one PS there",
        rule=lambda model, *at: model.P[at] <= model.S[at],
    )
    model.lin_ps_on = pyo.Constraint(
        at_servers,
        doc="no PS elsewhere",
        rule=lambda model, *at: model.S[at] <= max_ps(at[0], at[1], at[3]) * model.P[at],
    )
    model.eq_2d_split = pyo.Constraint(
        [(*at, h) for at in split for h in H],
        doc="a split mode has two servers",
        rule=lambda model, j, k, t, h: (
            model.Y[j, k, t, h] + (0 if instance.is_ring else model.P[j, k, t, h])
            <= (K[j][k].workers - instance.is_ring) * model.x[j, k, t]
        ),
    )
    # (2h): in each slot, the sum of the usage of all copies that would run in it.
    usage: dict[tuple[int, int, int], list[NumericExpression]] = {}
    for j, k, t in copies:
        demand = view.demand(K[j][k])
        for h in hosts(j, k) if K[j][k].central else H:
            for r in range(len(view.scale)):
                if K[j][k].central:
                    one_ps = 0.0 if demand.ps is None else demand.ps[r]
                    amount = float(demand.workers * demand.worker[r] + one_ps) * model.c[j, k, t, h]
                else:
                    amount = float(demand.worker[r]) * model.Y[j, k, t, h]
                    if demand.ps is not None:
                        amount = amount + float(demand.ps[r]) * model.S[j, k, t, h]
                for slot in range(t, t + K[j][k].duration):
                    usage.setdefault((h, r, slot), []).append(amount)
    model.eq_2h = pyo.Constraint(
        sorted(usage),
        doc="capacity in each slot",
        rule=lambda model, h, r, t: _capacity(pyo, usage[h, r, t], float(view.capacity[h, r])),
    )
    return model


def _capacity(
    pyo: ModuleType, amounts: "list[NumericExpression]", capacity: float
) -> "NumericExpression":
    total = sum(amounts)
    if isinstance(total, (int, float, np.floating)):  # no job needs the resource
        return pyo.Constraint.Feasible
    return total <= capacity


def read(model: "pyo.ConcreteModel", instance: ElasticInstance) -> ElasticSchedule:
    """Return the schedule of a solved model.

    `model`: from `build`, with values.
    """
    H = range(len(instance.servers))
    runs = []
    for at, start in model.x.items():
        if (start.value or 0.0) < 0.5:
            continue
        j, k, t = at
        mode = modes(instance, j)[k]
        if mode.central:
            hosts = [h for h in H if (j, k, t, h) in model.c]
            [h] = [h for h in hosts if (model.c[j, k, t, h].value or 0.0) > 0.5]
            y, s = {h: mode.workers}, {} if instance.is_ring else {h: 1}
        else:
            y = {h: round(model.Y[j, k, t, h].value or 0.0) for h in H}
            s = {} if instance.is_ring else {h: round(model.S[j, k, t, h].value or 0) for h in H}
        runs.append(run_at(j, mode, t, y, s))
    return schedule_of(instance, runs)
