"""The paper's programs (2)/(15) and (7)/(16), linearised: x_jkt, y_jhm, s_jhp, usage by slot.

The rate (1)/(14) depends on types, number of workers and centrality, so (2f) is linear only when
these are fixed. A mode k fixes them, and x_jt, d_j, q_j become x[j, k, t]. A job's usage counts
only while it runs: one big-M row, with M the capacity, for each job, server, resource and slot.
Rows have the numbers of the paper's, as in `printed`; rows `lin_` belong to the linearisation.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.modes import Mode, cluster, modes
from schedgap.models.elastic.placement import fits, ps_needed
from schedgap.models.elastic.programs.columns import run_at, schedule_of
from schedgap.models.elastic.time_windows import ElasticWindows

if TYPE_CHECKING:
    import pyomo.core as pyo
    from pyomo.core.expr.numeric_expr import NumericExpression


def size(instance: ElasticInstance, span: ElasticWindows) -> int:
    """Return the approximate number of columns of the program: starts and usage by slot.

    `span`: when each job may run.
    """
    cells = len(instance.servers) * len(instance.resources)
    return sum(
        (span.end[j] - span.first[j])
        * (cells + len(modes(instance, j)))
        for j in range(len(instance.jobs))
    )  # fmt: skip


def build(instance: ElasticInstance, *, span: ElasticWindows) -> "pyo.ConcreteModel":
    """Build the program; it solves nothing.

    `span`: when each job may run; the windows of a feasible schedule contain an optimal one.

    Notes
    -----
    Amounts are in the units of `modes.ElasticCluster`. A solution may have the workers of a split
    mode on one server, with the PSs. The run is then central by the rules, and longer than it has
    to be.
    """
    import pyomo.core as pyo

    view = cluster(instance)
    J, H = range(len(instance.jobs)), range(len(view.servers))
    M, P, R = (range(len(names)) for names in (view.worker_types, view.ps_types, view.scale))
    e, z, C = view.worker_units, view.ps_units, view.capacity
    b, B = view.worker_bandwidth, view.ps_bandwidth
    K = [modes(instance, j) for j in J]
    D = [job.chunks for job in instance.jobs]
    weight = [job.weight for job in instance.jobs]
    worker_fit = np.stack([fits(C, e[m]) for m in M], axis=1)  # [h, m]
    ps_fit = [fits(C, z[p]) for p in P]  # [p][h]
    max_ps = {
        (j, h, p): min(int(ps_fit[p][h]), max(ps_needed(b[m], B[p], D[j]) for m in M))
        for j in J for h in H for p in P
    }  # fmt: skip

    model = pyo.ConcreteModel(name=instance.name)
    model.X = pyo.Set(
        dimen=3,
        initialize=[
            (j, k, t)
            for j in J
            for k, mode in enumerate(K[j])
            for t in range(span.first[j], span.end[j] - mode.duration + 1)  # (2j), (7b)
        ],
    )
    model.x = pyo.Var(model.X, domain=pyo.Binary, doc="job j starts in slot t in mode k")
    model.y = pyo.Var(
        J, H, M, domain=pyo.NonNegativeIntegers, doc="workers of type m of job j on server h",
        bounds=lambda model, j, h, m: (0, min(int(worker_fit[h, m]), D[j])),
    )  # fmt: skip
    model.s = pyo.Var(
        J, H, P, domain=pyo.NonNegativeIntegers, doc="PSs of type p of job j on server h",
        bounds=lambda model, j, h, p: (0, max_ps[j, h, p]),
    )  # fmt: skip
    model.psat = pyo.Var(J, H, domain=pyo.Binary, doc="job j has its PSs on server h")
    model.cen = pyo.Var(J, H, domain=pyo.Binary, doc="all of job j is on server h")

    starts: dict[tuple[int, int], list[int]] = {}
    runs_at: dict[tuple[int, int], list[tuple[int, int]]] = {}  # (j, slot) -> (k, t) that run
    for j, k, t in model.X:
        starts.setdefault((j, k), []).append(t)
        for slot in range(t, t + K[j][k].duration):
            runs_at.setdefault((j, slot), []).append((k, t))

    def chosen(j: int, value: Callable[[Mode], int | float]) -> "NumericExpression":
        """The sum over modes k of value(k) z_k, where z_k = sum_t x[j, k, t]."""
        return sum(
            value(mode) * model.x[j, k, t]
            for k, mode in enumerate(K[j])
            if value(mode)
            for t in starts.get((j, k), ())
        )

    def end(j: int, k: int, t: int) -> int:
        return t + K[j][k].duration

    if instance.is_batch:
        model.objective = pyo.Objective(
            expr=sum(weight[j] * model.x[j, k, t] for j, k, t in model.X),
            sense=pyo.maximize,
            doc="(7): weight that completes by the deadline",
        )
    else:
        model.objective = pyo.Objective(
            expr=sum(weight[j] * end(j, k, t) * model.x[j, k, t] for j, k, t in model.X),
            doc="(2): total weighted completion time",
        )

    def rows(
        index: "Sequence[object] | pyo.Set", rule: Callable[..., object], doc: str
    ) -> "pyo.Constraint":
        """A set of rows; a row without variables is trivially feasible or infeasible."""
        return pyo.Constraint(index, doc=doc, rule=lambda model, *at: _row(pyo, rule(*at)))

    starts_once = rows(
        list(J),
        lambda j: (
            chosen(j, lambda mode: 1) <= 1 if instance.is_batch else chosen(j, lambda mode: 1) == 1
        ),
        "each job starts once" if not instance.is_batch else "each job starts at most once",
    )
    setattr(model, "eq_7a" if instance.is_batch else "eq_2a", starts_once)
    model.eq_2b = rows(
        [(j, m) for j in J for m in M],
        lambda j, m: (
            sum(model.y[j, h, m] for h in H)
            == chosen(j, lambda mode: mode.workers * (mode.worker_type == m))
        ),
        "workers of the mode's type only, as many as it has",
    )
    model.eq_2d = rows(
        list(J),
        lambda j: sum(model.cen[j, h] for h in H) == chosen(j, lambda mode: int(mode.central)),
        "a central mode has one server",
    )
    model.eq_2d_all = rows(
        [(j, h) for j in J for h in H],
        lambda j, h: (
            sum(model.y[j, h, m] for m in M)
            >= chosen(j, lambda mode: mode.workers) - D[j] * (1 - model.cen[j, h])
        ),
        "with all of its workers",
    )
    if not instance.is_ring:
        model.eq_2c = rows(
            [(j, h, p) for j in J for h in H for p in P],
            lambda j, h, p: (
                model.s[j, h, p] <= max_ps[j, h, p] * chosen(j, lambda mode: int(mode.ps_type == p))
            ),
            "PSs of the mode's type only",
        )
        model.eq_2d_ps = rows(
            [(j, h) for j in J for h in H],
            lambda j, h: model.cen[j, h] <= model.psat[j, h],
            "and its PS",
        )
        model.eq_2e = rows(
            list(J),
            lambda j: sum(model.psat[j, h] for h in H) == chosen(j, lambda mode: 1),
            "PSs are on one server; >= 1 would let a central mode keep one elsewhere",
        )
        model.lin_ps_on = rows(
            [(j, h, p) for j in J for h in H for p in P],
            lambda j, h, p: model.s[j, h, p] <= max_ps[j, h, p] * model.psat[j, h],
            "no PS elsewhere",
        )
        model.lin_ps_there = rows(
            [(j, h) for j in J for h in H],
            lambda j, h: sum(model.s[j, h, p] for p in P) >= model.psat[j, h],
            "at least one PS there",
        )

        def bandwidth(j: int, h: int) -> "NumericExpression | bool":
            if not K[j]:
                return True
            big_m = max(float(b[mode.worker_type]) * mode.workers for mode in K[j])
            needed = chosen(j, lambda mode: float(b[mode.worker_type]) * mode.workers)
            needed_here = sum(float(b[m]) * model.y[j, h, m] for m in M)
            served = sum(float(B[p]) * model.s[j, h, p] for p in P)
            return needed - needed_here <= served + big_m * (1 - model.psat[j, h]) + 1e-6

        model.eq_2i = rows(
            [(j, h) for j in J for h in H], bandwidth, "PSs take all workers on other servers"
        )
    model.USED = pyo.Set(
        dimen=4, initialize=[(j, h, r, t) for j, t in sorted(runs_at) for h in H for r in R]
    )
    model.u = pyo.Var(model.USED, domain=pyo.NonNegativeReals, doc="usage of job j in slot t")

    def used(j: int, h: int, r: int) -> "NumericExpression":
        workers = sum(float(e[m, r]) * model.y[j, h, m] for m in M)
        return workers + sum(float(z[p, r]) * model.s[j, h, p] for p in P)

    model.lin_usage = rows(
        model.USED,
        lambda j, h, r, t: (
            model.u[j, h, r, t]
            >= used(j, h, r)
            - float(C[h, r]) * (1 - sum(model.x[j, k, at] for k, at in runs_at[j, t]))
        ),
        "usage counts while the job runs",
    )
    by_slot: dict[int, list[int]] = {}
    for j, t in sorted(runs_at):
        by_slot.setdefault(t, []).append(j)
    model.eq_2h = rows(
        [(h, r, t) for t in sorted(by_slot) for h in H for r in R],
        lambda h, r, t: sum(model.u[j, h, r, t] for j in by_slot[t]) <= float(C[h, r]),
        "capacity in each slot",
    )
    model.cut_alone = rows(
        [(j, h, r) for j in J for h in H for r in R],
        lambda j, h, r: used(j, h, r) <= float(C[h, r]),
        "a job fits by itself",
    )
    return model


def _row(pyo: ModuleType, relation: object) -> object:
    """Return a relation that Pyomo accepts as a row; it refuses relations between constants."""
    if relation is True or relation is np.True_:
        return pyo.Constraint.Feasible
    if relation is False or relation is np.False_:
        return pyo.Constraint.Infeasible
    return relation


def read(model: "pyo.ConcreteModel", instance: ElasticInstance) -> ElasticSchedule:
    """Return the schedule of a solved model.

    `model`: from `build`, with values.
    """
    view = cluster(instance)
    H, M, P = (range(len(n)) for n in (view.servers, view.worker_types, view.ps_types))
    runs = []
    for j, k, t in model.X:
        if (model.x[j, k, t].value or 0.0) < 0.5:
            continue
        mode = modes(instance, j)[k]
        y = {h: round(sum(model.y[j, h, m].value or 0.0 for m in M)) for h in H}
        s = {h: round(sum(model.s[j, h, p].value or 0.0 for p in P)) for h in H}
        runs.append(run_at(j, mode, t, y, s))
    return schedule_of(instance, runs)
