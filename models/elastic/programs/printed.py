"""The paper's programs (2)/(15) and (7)/(16) as printed, with their products and variables.

x_jt, d_j, y_jhm, s_jhp, q_j: duration, workers and rate are variables. (2f) multiplies duration and
workers, (2h) usage and the indicator of running. The result is a nonconvex quadratic program, which
only Gurobi among our engines solves, and only for tiny instances. `linearised` has the same optimum
without products.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.modes import Mode, cluster, durations
from schedgap.models.elastic.placement import TOLERANCE, Floats, fits, ps_needed
from schedgap.models.elastic.programs.columns import run_at, schedule_of
from schedgap.models.elastic.time_windows import ElasticWindows

if TYPE_CHECKING:
    import pyomo.core as pyo
    from pyomo.core.expr.numeric_expr import NumericExpression


def size(instance: ElasticInstance, span: ElasticWindows) -> int:
    """Return the approximate number of columns of the program.

    `span`: when each job may run.
    """
    types = len(instance.worker_types) + len(instance.ps_types)
    per_job = (len(instance.servers) + 1) * (types + 2)
    return sum(
        per_job + 3 * max(0, end - first) for first, end in zip(span.first, span.end, strict=True)
    )


def build(instance: ElasticInstance, *, span: ElasticWindows) -> "pyo.ConcreteModel":
    """Build the program; it solves nothing.

    `span`: when each job may run; the windows of a feasible schedule contain an optimal one.

    Notes
    -----
    In (2f) the product of `1 / rho` and the number of workers N is quadratic, as the exchange
    depends on q. The row is d N >= E D K / rho with PSs. In the ring, 1 / rho has N in the
    denominator (14), so the row is N d N >= E D K (N / rho).
    """
    import pyomo.core as pyo

    view, jobs = cluster(instance), instance.jobs
    J, H = range(len(instance.jobs)), range(len(view.servers))
    M, P, R = (range(len(names)) for names in (view.worker_types, view.ps_types, view.scale))
    e, z, C = view.worker_units, view.ps_units, view.capacity
    b, B = view.worker_bandwidth, view.ps_bandwidth
    D = [job.chunks for job in jobs]
    workers_of = [[m for m in M if view.worker_types[m] in job.train_time] for job in jobs]
    v = [{m: jobs[j].train_time[view.worker_types[m]] for m in workers_of[j]} for j in J]
    U = [job.update_time for job in jobs]  # one number in the ring
    times = [time if isinstance(time, dict) else {} for time in U]
    ps_of = [[p for p in P if view.ps_types[p] in times[j]] for j in J]
    worker_fit = [fits(C, e[m]) for m in M]  # [m][h]
    ps_fit = [fits(C, z[p]) for p in P]  # [p][h]
    max_workers_at = {
        (j, h, m): min(int(worker_fit[m][h]), D[j]) for j in J for h in H for m in workers_of[j]
    }
    max_ps_at = {
        (j, h, p): min(int(ps_fit[p][h]), max(ps_needed(b[m], B[p], D[j]) for m in workers_of[j]))
        for j in J for h in H for p in ps_of[j]
    }  # fmt: skip
    slots = [(j, t) for j in J for t in range(span.first[j], span.end[j])]

    model = pyo.ConcreteModel(name=instance.name)
    model.x = pyo.Var(slots, domain=pyo.Binary, doc="job j starts in slot t")  # (2j)
    model.d = pyo.Var(
        J, domain=pyo.NonNegativeIntegers, doc="slots that job j runs",
        bounds=lambda model, j: (0, span.end[j] - span.first[j]),
    )  # fmt: skip
    model.y = pyo.Var(
        list(max_workers_at), domain=pyo.NonNegativeIntegers, doc="workers of type m of j on h",
        bounds=lambda model, *at: (0, max_workers_at[at]),
    )  # fmt: skip
    model.s = pyo.Var(
        list(max_ps_at), domain=pyo.NonNegativeIntegers, doc="PSs of type p of job j on server h",
        bounds=lambda model, *at: (0, max_ps_at[at]),
    )  # fmt: skip
    model.q = pyo.Var(J, domain=pyo.Binary, doc="all of job j is on one server")
    model.cen = pyo.Var(J, H, domain=pyo.Binary, doc="and this is it")
    model.some = pyo.Var(
        J, domain=pyo.Binary, doc="job j is scheduled",
        bounds=(0 if instance.is_batch else 1, 1),
    )  # fmt: skip
    model.of_type = pyo.Var(
        [(j, m) for j in J for m in workers_of[j]], domain=pyo.Binary, doc="job j has workers m"
    )
    model.of_ps = pyo.Var(
        [(j, p) for j in J for p in ps_of[j]], domain=pyo.Binary, doc="job j has PSs p"
    )
    model.psat = pyo.Var(J, H, domain=pyo.Binary, doc="job j has PSs on server h")
    model.runs = pyo.Var(slots, domain=pyo.Binary, doc="x_jt' = 1 for a t' in (t - d_j, t]")

    def workers(
        j: int, h: int | None = None, scale: Floats | Mapping[int, float] | None = None
    ) -> "NumericExpression":
        """Sum of y over types m, weighted by `scale` [m], on one server or on all."""
        return sum(
            (1.0 if scale is None else float(scale[m])) * model.y[j, at, m]
            for at in (H if h is None else [h])
            for m in workers_of[j]
        )

    def ps(j: int, h: int, scale: Floats | None = None) -> "NumericExpression":
        return sum((1.0 if scale is None else float(scale[p])) * model.s[j, h, p] for p in ps_of[j])

    def start(j: int) -> "NumericExpression":
        return sum(t * model.x[j, t] for t in range(span.first[j], span.end[j]))

    def ended(j: int, t: int) -> "NumericExpression":
        """1 if job j has started by slot t but does not run in it."""
        return sum(model.x[j, at] for at in range(span.first[j], t + 1)) - model.runs[j, t]

    if instance.is_batch:
        model.objective = pyo.Objective(
            expr=sum(jobs[j].weight * model.some[j] for j in J),
            sense=pyo.maximize,
            doc="(7): weight that completes by the deadline",
        )
    else:
        model.objective = pyo.Objective(
            expr=sum(jobs[j].weight * (start(j) + model.d[j]) for j in J),
            doc="(2): total weighted completion time",
        )
    once = pyo.Constraint(
        J,
        doc="each job starts once, or not at all in a batch",
        rule=lambda model, j: (
            sum(model.x[j, t] for t in range(span.first[j], span.end[j])) == model.some[j]
        ),
    )
    setattr(model, "eq_7a" if instance.is_batch else "eq_2a", once)
    model.eq_7b = pyo.Constraint(
        J,
        doc="it ends in its window",
        rule=lambda model, j: start(j) + model.d[j] <= span.end[j],
    )
    model.eq_2b = pyo.Constraint(
        J,
        doc="one type of workers",
        rule=lambda model, j: sum(model.of_type[j, m] for m in workers_of[j]) == model.some[j],
    )
    model.eq_2b_only = pyo.Constraint(
        list(max_workers_at),
        doc="no workers of another type",
        rule=lambda model, j, h, m: (
            model.y[j, h, m] <= max_workers_at[j, h, m] * model.of_type[j, m]
        ),
    )
    model.eq_2d = pyo.Constraint(
        J,
        doc="q = 1: on one server",
        rule=lambda model, j: sum(model.cen[j, h] for h in H) == model.q[j],
    )
    model.eq_2d_all = pyo.Constraint(
        J,
        H,
        doc="with all workers",
        rule=lambda model, j, h: workers(j) - workers(j, h) <= D[j] * (1 - model.cen[j, h]),
    )
    model.eq_2g = pyo.Constraint(
        J, doc="a chunk for each worker", rule=lambda model, j: workers(j) <= D[j] * model.some[j]
    )
    if not instance.is_ring:
        model.eq_2c = pyo.Constraint(
            J,
            doc="one type of PSs",
            rule=lambda model, j: sum(model.of_ps[j, p] for p in ps_of[j]) == model.some[j],
        )
        model.eq_2c_only = pyo.Constraint(
            list(max_ps_at),
            doc="no PSs of another type",
            rule=lambda model, j, h, p: model.s[j, h, p] <= max_ps_at[j, h, p] * model.of_ps[j, p],
        )
        model.lin_ps_on = pyo.Constraint(
            list(max_ps_at),
            doc="whether there is a PS",
            rule=lambda model, j, h, p: model.s[j, h, p] <= max_ps_at[j, h, p] * model.psat[j, h],
        )
        model.eq_2d_ps = pyo.Constraint(
            J,
            H,
            H,
            doc="and with all PSs",
            rule=lambda model, j, h, k: (
                pyo.Constraint.Skip if h == k else model.cen[j, h] + model.psat[j, k] <= 1
            ),
        )
        model.eq_2e = pyo.Constraint(
            J,
            doc="at least one PS",
            rule=lambda model, j: sum(ps(j, h) for h in H) >= model.some[j],
        )
        model.eq_2i = pyo.Constraint(
            J,
            H,
            doc="a server with PSs takes the bandwidth of all workers elsewhere",
            rule=lambda model, j, h: (
                model.psat[j, h] * (workers(j, scale=b) - workers(j, h, b))
                <= ps(j, h, B) + TOLERANCE
            ),
        )

    def exchange(j: int, count: "Callable[[int], NumericExpression]") -> "NumericExpression":
        """Sum over types of 2 pi / b_m times `count(m)`; 0 when q = 1."""
        return (1 - model.q[j]) * sum(
            2 * jobs[j].gradient_size / float(b[m]) * count(m) for m in workers_of[j]
        )

    def of_worker_type(j: int, m: int) -> "NumericExpression":
        return sum(model.y[j, h, m] for h in H)

    if instance.is_ring:
        model.work = pyo.Var(J, domain=pyo.NonNegativeReals, doc="d_j times workers")
        model.lin_work = pyo.Constraint(
            J, rule=lambda model, j: model.work[j] == model.d[j] * workers(j)
        )
        model.eq_2f = pyo.Constraint(
            J,
            doc="slots times workers suffice for all mini-batches, rate (14)",
            rule=lambda model, j: (
                workers(j) * (model.work[j] + TOLERANCE)
                >= jobs[j].work
                * (
                    workers(j, scale=v[j])
                    + U[j] * (workers(j) - model.some[j])
                    + exchange(j, lambda m: of_worker_type(j, m) - model.of_type[j, m])
                )
            ),
        )
    else:
        model.eq_2f = pyo.Constraint(
            J,
            doc="slots times workers suffice for all mini-batches, rate (1)",
            rule=lambda model, j: (
                model.d[j] * workers(j) + TOLERANCE
                >= jobs[j].work
                * (
                    sum(v[j][m] * model.of_type[j, m] for m in workers_of[j])
                    + sum(times[j][view.ps_types[p]] * model.of_ps[j, p] for p in ps_of[j])
                    + exchange(j, lambda m: model.of_type[j, m])
                )
            ),
        )
    model.eq_2m = pyo.Constraint(
        J, doc="a slot at least", rule=lambda model, j: model.d[j] >= model.some[j]
    )
    model.eq_2k = pyo.Constraint(
        J, doc="a worker at least", rule=lambda model, j: workers(j) >= model.some[j]
    )
    model.lin_started = pyo.Constraint(
        slots, doc="a job that runs has started", rule=lambda model, j, t: ended(j, t) >= 0
    )
    model.lin_ended = pyo.Constraint(
        slots,
        doc="a job has ended only after all of its slots",
        rule=lambda model, j, t: start(j) + model.d[j] <= t + (span.end[j] - t) * (1 - ended(j, t)),
    )
    by_slot: dict[int, list[int]] = {}
    for j, t in slots:
        by_slot.setdefault(t, []).append(j)
    model.eq_2h = pyo.Constraint(
        [(h, r, t) for t in sorted(by_slot) for h in H for r in R],
        doc="capacity in each slot",
        rule=lambda model, h, r, t: (
            sum(model.runs[j, t] * (workers(j, h, e[:, r]) + ps(j, h, z[:, r])) for j in by_slot[t])
            <= float(C[h, r])
        ),
    )
    return model


def read(model: "pyo.ConcreteModel", instance: ElasticInstance) -> ElasticSchedule:
    """Return the schedule of a solved model.

    `model`: from `build`, with values.
    """
    return _schedule(model, instance, repair=True)


def literal(model: "pyo.ConcreteModel", instance: ElasticInstance) -> ElasticSchedule:
    """Return the schedule of a solved model with the durations of its values, valid or not.

    `model`: from `build`, with values.
    """
    return _schedule(model, instance, repair=False)


def _schedule(
    model: "pyo.ConcreteModel", instance: ElasticInstance, *, repair: bool
) -> ElasticSchedule:
    """Return the schedule of a solved model; `repair` makes each run as long as its work takes."""
    view = cluster(instance)
    runs = []
    for j, job in enumerate(instance.jobs):
        starts = [t for i, t in model.x if i == j and (model.x[i, t].value or 0.0) > 0.5]
        if not starts:
            continue
        y, s = (
            {at[1:]: round(item.value or 0.0) for at, item in variable.items() if at[0] == j}
            for variable in (model.y, model.s)
        )
        workers, ps = ({h: count for (h, _), count in counts.items() if count} for counts in (y, s))
        m = next(m for (_, m), count in y.items() if count)
        p = None if instance.is_ring else next(p for (_, p), count in s.items() if count)
        number, central = sum(workers.values()), len({*workers, *ps}) == 1
        least = int(durations(view, job, m, p, np.array([number]), central)[0]) if repair else 1
        length = max(least, round(model.d[j].value))  # an engine's tolerance may cut a slot off
        mode = Mode(m, p, number, central, length)
        runs.append(run_at(j, mode, starts[0], workers, ps))
    return schedule_of(instance, runs)
