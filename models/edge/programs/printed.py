"""The paper's program (2), made linear constraint by constraint; the names are the paper's.

Three of its rows are not linear or not meant as printed. (2c), (2d) hold y and z for slots h_j to
c_j, the last included, which would force work in slot c_j + 1 (E1); (2f) does not forbid xi = 1
elsewhere (E2); (2e) multiplies y with the rate, which depends on xi (E6). The last is linear again
because E D M / p_j has two values, and whole because the left side is: with k_j =
ceil(worker-slots) no tolerance of an engine can tell a job that is done from one that is almost
done.
"""

from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement, arrays
from schedgap.models.edge.decisions import problem
from schedgap.models.edge.placements import sound


def size(instance: EdgeInstance) -> int:
    """Return about how many columns the program has."""
    view = problem(instance)
    return len(view.tasks) * (3 * view.slots + 2 * len(view.workers) * (view.slots + 1))


def build(instance: EdgeInstance) -> Any:
    """Return the program as a Pyomo `ConcreteModel`; it solves nothing.

    Notes
    -----
    run_t and beg_t, end_t say in which slots a job runs, begins and ends; y_s and z_s what it holds
    on a server, yt_st and zt_st what of it counts in slot t. Work in slot t is on server s only
    from a_j + Delta_js on, so y_s > 0 keeps the job from running before.
    """
    import pyomo.environ as pyo

    view, given = problem(instance), arrays(instance)
    J = [task.job for task in view.tasks]
    S, T = range(len(instance.servers)), range(view.first, view.last + 1)
    task_of = {task.job: task for task in view.tasks}
    C = {
        (j, s): int(min(view.workers[s, task_of[j].worker_type], given.chunks[j]))
        for j in J
        for s in S
    }
    has_ps = {(j, s): bool(view.ps[s, task_of[j].ps_type] >= 1) for j in J for s in S}
    ready = {(j, s): int(task_of[j].ready[s]) for j in J for s in S}
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
            expr=sum((t - task_of[j].arrival) * model.end[j, t] for j in J for t in T),
            doc="(2): sum of c_j - a_j",
        )

    def accepted(j: int) -> Any:
        return model.x[j] if view.is_batch else 1

    def rows(index: Any, rule: Any, doc: str) -> Any:
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
        "a job runs from h_j to c_j without a break",
    )
    model.eq_2c_last = rows(
        J, lambda j: model.run[j, view.last] == model.end[j, view.last], "and not beyond"
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
        usable, lambda j, s, t: model.yt[j, s, t] <= model.y[j, s], "no more than it has"
    )
    model.eq_2c_all = rows(
        usable,
        lambda j, s, t: model.yt[j, s, t] >= model.y[j, s] - C[j, s] * (1 - model.run[j, t]),
        "and all of them",
    )
    model.eq_2d = rows(
        usable,
        lambda j, s, t: model.zt[j, s, t] >= model.z[j, s] + model.run[j, t] - 1,
        "the PS counts while the job runs",
    )
    # Worker-slots that are out of reach are cut to just that: huge coefficients help nobody.
    beyond = {j: int(given.chunks[j]) * len(T) + 1 for j in J}
    k = {(j, xi): min(beyond[j], int(given.needed[j, xi])) for j in J for xi in (0, 1)}
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
        "xi = 1 only if no worker is off the PS's server; xi = 0 beside it never pays",
    )
    model.eq_2i = rows(
        early,
        lambda j, s, t: model.y[j, s] <= C[j, s] * (1 - model.run[j, t]),
        "no worker before the data are there",
    )
    model.eq_2i_ps = rows(early, lambda j, s, t: model.z[j, s] + model.run[j, t] <= 1, "nor the PS")
    by_worker, by_ps = _by_type(view)
    model.eq_2g = rows(
        [(s, u, t) for u in by_worker for s in S for t in T],
        lambda s, u, t: _row(
            pyo, sum(model.yt[j, s, t] for j in by_worker[u] if t >= ready[j, s]),
            int(view.workers[s, u]),
        ),
        "workers of each server, type and slot",
    )  # fmt: skip
    model.eq_2h = rows(
        [(s, v, t) for v in by_ps for s in S for t in T],
        lambda s, v, t: _row(
            pyo, sum(model.zt[j, s, t] for j in by_ps[v] if t >= ready[j, s]),
            int(view.ps[s, v]),
        ),
        "PSs of each server, type and slot",
    )  # fmt: skip
    return model


def _by_type(view: Any) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the jobs of each worker type and of each PS type."""
    by_worker: dict[int, list[int]] = {}
    by_ps: dict[int, list[int]] = {}
    for task in view.tasks:
        by_worker.setdefault(task.worker_type, []).append(task.job)
        by_ps.setdefault(task.ps_type, []).append(task.job)
    return by_worker, by_ps


def _row(pyo: Any, held: Any, most: int) -> Any:
    """Return a capacity row; Pyomo refuses relations between constants."""
    return pyo.Constraint.Feasible if isinstance(held, int) else held <= most


def read(model: Any, instance: EdgeInstance) -> EdgeSchedule | None:
    """Return the schedule of a solved model, or None where its values stand for none.

    xi follows from the servers.
    """
    names = [server.id for server in instance.servers]
    S, T = range(len(names)), sorted({t for _, t in model.run})
    placements = {}
    for j in sorted({j for j, _ in model.run}):
        slots = [t for t in T if _whole(model.run[j, t])]
        if not slots:
            continue
        workers = {names[s]: count for s in S if (count := _whole(model.y[j, s]))}
        hosts = [s for s in S if _whole(model.z[j, s])]
        if len(hosts) != 1:
            return None
        placements[instance.jobs[j].id] = Placement(slots[0], slots[-1], workers, names[hosts[0]])
    return sound(instance, EdgeSchedule(placements))


def _whole(var: Any) -> int:
    return round(var.value or 0.0)
