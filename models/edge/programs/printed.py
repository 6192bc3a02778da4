"""The paper's program (2), and (3) for a batch, linearised constraint by constraint.

Names are the paper's. Three sets of rows are nonlinear or wrong as printed. (2c) and (2d) fix y and
z in the slots h_j to c_j inclusive, which would force work in slot c_j + 1 (E1). (2f) does not
forbid xi = 1 for split jobs (E2). (2e) multiplies y by the rate, which depends on xi (E6); it
becomes linear because E D M / p_j has only two values. The two values are rounded up to integer
worker-slots, as the left side is an integer. So no engine tolerance can accept a job that is almost
done.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement, arrays
from schedgap.models.edge.decisions import CompiledInstance, compiled
from schedgap.models.edge.placements import valid_schedule

if TYPE_CHECKING:
    import pyomo.core as pyo


def size(instance: EdgeInstance) -> int:
    """Return the approximate number of columns."""
    view = compiled(instance)
    return len(view.tasks) * (3 * view.slots + 2 * len(view.workers) * (view.slots + 1))


def build(instance: EdgeInstance) -> "pyo.ConcreteModel":
    """Return the program as a Pyomo model.

    Notes
    -----
    run_t, beg_t and end_t are 1 in the slots in which a job runs, begins and ends. y_s and z_s are
    its workers and its PS on server s; yt_st and zt_st are those in use in slot t. The latter exist
    only from slot a_j + Delta_js on, and y_s > 0 forbids the job to run before (2i).
    """
    import pyomo.core as pyo

    view, given = compiled(instance), arrays(instance)
    J = [task.job for task in view.tasks]
    S, T = range(len(instance.servers)), range(view.first, view.last + 1)
    C = {
        (j, s): int(min(view.workers[s, view.task_of[j].worker_type], given.chunks[j]))
        for j in J
        for s in S
    }
    has_ps = {(j, s): bool(view.ps[s, view.task_of[j].ps_type] >= 1) for j in J for s in S}
    ready = {(j, s): int(view.task_of[j].ready[s]) for j in J for s in S}
    usable = [(j, s, t) for j in J for s in S for t in T if t >= ready[j, s]]
    early = [(j, s, t) for j in J for s in S for t in T if t < ready[j, s]]

    model = pyo.ConcreteModel(name=instance.name)
    model.run = pyo.Var(J, T, domain=pyo.Binary, doc="job j runs in slot t")
    model.beg = pyo.Var(J, T, domain=pyo.Binary, doc="h_j = t")
    model.end = pyo.Var(J, T, domain=pyo.Binary, doc="c_j = t")
    model.y = pyo.Var(
        J, S, domain=pyo.NonNegativeIntegers, bounds=lambda model, j, s: (0, C[j, s]),
        doc="workers of job j on server s",
    )  # fmt: skip
    model.z = pyo.Var(
        J, S, domain=pyo.Binary, bounds=lambda model, j, s: (0, int(has_ps[j, s])),
        doc="the PS of job j is on server s",
    )  # fmt: skip
    model.xi = pyo.Var(J, domain=pyo.Binary, doc="job j is all on one server")
    model.yt = pyo.Var(
        usable, domain=pyo.NonNegativeIntegers, bounds=lambda model, j, s, t: (0, C[j, s]),
        doc="workers of job j on server s in slot t",
    )  # fmt: skip
    model.zt = pyo.Var(usable, domain=pyo.Binary, doc="the PS of job j on server s in slot t")

    if view.is_batch:
        model.x = pyo.Var(J, domain=pyo.Binary, doc="job j is accepted")
        model.objective = pyo.Objective(
            expr=sum(model.x[j] for j in J), sense=pyo.maximize, doc="(3)"
        )
    else:
        model.objective = pyo.Objective(
            expr=sum((t - view.task_of[j].arrival) * model.end[j, t] for j in J for t in T),
            doc="(2): sum of c_j - a_j",
        )

    def accepted(j: int) -> Any:
        return model.x[j] if view.is_batch else 1

    def rows(index: Iterable[Any], rule: Callable[..., Any], doc: str) -> "pyo.Constraint":
        return pyo.Constraint(index, doc=doc, rule=lambda model, *at: rule(*at))

    model.eq_2j = rows(
        J, lambda j: sum(model.beg[j, t] for t in T) == accepted(j), "h_j is one slot"
    )
    model.eq_2k = rows(
        J, lambda j: sum(model.end[j, t] for t in T) == accepted(j), "c_j is one slot"
    )
    model.eq_2c_run = rows(
        [(j, t) for j in J for t in T],
        lambda j, t: (
            model.run[j, t]
            == model.beg[j, t]
            + (model.run[j, t - 1] - model.end[j, t - 1] if t > view.first else 0)
        ),
        "a job runs from h_j to c_j without interruption",
    )
    model.eq_2c_last = rows(
        J,
        lambda j: model.run[j, view.last] == model.end[j, view.last],
        "a job that runs in the last slot ends there",
    )
    model.eq_2a = rows(
        J,
        lambda j: sum(model.y[j, s] for s in S) <= int(given.chunks[j]) * accepted(j),
        "no more workers than chunks",
    )
    model.eq_2a_some = rows(
        J, lambda j: sum(model.y[j, s] for s in S) >= accepted(j), "at least one worker"
    )
    model.eq_2b = rows(J, lambda j: sum(model.z[j, s] for s in S) == accepted(j), "one PS")
    model.eq_2c = rows(
        usable, lambda j, s, t: model.yt[j, s, t] <= C[j, s] * model.run[j, t],
        "workers count only while the job runs",
    )  # fmt: skip
    model.eq_2c_most = rows(
        usable, lambda j, s, t: model.yt[j, s, t] <= model.y[j, s], "at most the workers of the job"
    )
    model.eq_2c_all = rows(
        usable,
        lambda j, s, t: model.yt[j, s, t] >= model.y[j, s] - C[j, s] * (1 - model.run[j, t]),
        "all workers of the job while it runs",
    )
    model.eq_2d = rows(
        usable,
        lambda j, s, t: model.zt[j, s, t] >= model.z[j, s] + model.run[j, t] - 1,
        "the PS counts while the job runs",
    )
    # More worker-slots than D_j |T| cannot be reached; capping them keeps the coefficients small.
    unreachable = {j: int(given.chunks[j]) * len(T) + 1 for j in J}
    k = {(j, xi): min(unreachable[j], int(given.needed[j, xi])) for j in J for xi in (0, 1)}
    model.eq_2e = rows(
        J,
        lambda j: (
            sum(model.yt[j, s, t] for s in S for t in T if t >= ready[j, s])
            + (k[j, 0] - k[j, 1]) * model.xi[j]
            >= k[j, 0] * accepted(j)
        ),
        "all mini-batches are trained",
    )
    model.eq_2f = rows(
        [(j, s) for j in J for s in S],
        lambda j, s: model.y[j, s] <= C[j, s] * (model.z[j, s] + 1 - model.xi[j]),
        "xi = 1 only if all workers are on the PS's server; xi = 0 there is never better",
    )
    model.eq_2i = rows(
        early,
        lambda j, s, t: model.y[j, s] <= C[j, s] * (1 - model.run[j, t]),
        "no worker before the data are there",
    )
    model.eq_2i_ps = rows(
        early,
        lambda j, s, t: model.z[j, s] + model.run[j, t] <= 1,
        "no PS before the data are there",
    )
    by_worker, by_ps = _by_type(view)
    model.eq_2g = rows(
        [(s, u, t) for u in by_worker for s in S for t in T],
        lambda s, u, t: _row(
            sum(model.yt[j, s, t] for j in by_worker[u] if t >= ready[j, s]),
            int(view.workers[s, u]),
        ),
        "workers of each server, type and slot",
    )  # fmt: skip
    model.eq_2h = rows(
        [(s, v, t) for v in by_ps for s in S for t in T],
        lambda s, v, t: _row(
            sum(model.zt[j, s, t] for j in by_ps[v] if t >= ready[j, s]),
            int(view.ps[s, v]),
        ),
        "PSs of each server, type and slot",
    )  # fmt: skip
    return model


def _by_type(view: CompiledInstance) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the jobs of each worker type and of each PS type."""
    by_worker: dict[int, list[int]] = {}
    by_ps: dict[int, list[int]] = {}
    for task in view.tasks:
        by_worker.setdefault(task.worker_type, []).append(task.job)
        by_ps.setdefault(task.ps_type, []).append(task.job)
    return by_worker, by_ps


def _row(used: Any, capacity: int) -> Any:
    """Return a capacity row; an empty sum needs none, and Pyomo refuses constant relations."""
    import pyomo.core as pyo

    return pyo.Constraint.Feasible if isinstance(used, int) else used <= capacity


def read(model: "pyo.ConcreteModel", instance: EdgeInstance) -> EdgeSchedule | None:
    """Return the schedule of a solved model, or None if its values give no valid schedule.

    `model`: from `build`, with values.
    """
    found = literal(model, instance)
    return None if found is None else valid_schedule(instance, found)


def literal(model: "pyo.ConcreteModel", instance: EdgeInstance) -> EdgeSchedule | None:
    """Return the schedule of a solved model, valid or not; None unless each job has one PS.

    xi is not read: it follows from the servers.

    `model`: from `build`, with values.
    """
    names = [server.id for server in instance.servers]
    S, T = range(len(names)), sorted({t for _, t in model.run})
    placements = {}
    for j in sorted({j for j, _ in model.run}):
        slots = [t for t in T if _integer(model.run[j, t])]
        if not slots:
            continue
        workers = {names[s]: count for s in S if (count := _integer(model.y[j, s]))}
        hosts = [s for s in S if _integer(model.z[j, s])]
        if len(hosts) != 1:
            return None
        placements[instance.jobs[j].id] = Placement(slots[0], slots[-1], workers, names[hosts[0]])
    return EdgeSchedule(placements)


def _integer(var: "pyo.Var") -> int:
    return round(var.value or 0.0)
