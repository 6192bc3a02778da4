"""Program (2) over starts and modes (ours): X1_jhns, X_jhn, w_jhns, q_jhns; (3) for a batch.

The rate (1) depends on xi, and (2e) multiplies it with the workers: linear once number of workers
and xi are fixed. A mode fixes them, so run time and objective are data. For a fixed job, start and
mode the placements are {0 <= w <= W, sum w = n} x {one PS server}, whose corners are whole: the
linear relaxation is as strong as that of (4) with a column for every placement.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.decisions import Group, Task, problem
from schedgap.models.edge.placements import Run, schedule_of, sound
from schedgap.models.edge.programs.symmetry import equal_jobs, equal_servers

Key = tuple[int, int, int]  # job j, start h, workers n; with xi this is a group


def size(instance: EdgeInstance) -> int:
    """Return about how many columns the program has."""
    view = problem(instance)
    servers = len(view.workers)
    return sum(
        len(view.starts(task, k)) * (servers if mode.together else 2 * servers + 1)
        for task in view.tasks
        for k, mode in enumerate(task.modes)
    )


def build(instance: EdgeInstance, *, groups: Iterable[Group] | None = None) -> Any:
    """Return the program as a Pyomo `ConcreteModel`; it solves nothing.

    Parameters
    ----------
    groups : iterable of Group or None
        Those that may be chosen; None takes all.

    Notes
    -----
    A split mode that lands on one server runs longer than it needs to: allowed, and dominated.
    """
    import pyomo.environ as pyo

    view = problem(instance)
    task_of = {task.job: task for task in view.tasks}
    chosen = list(view.groups() if groups is None else groups)
    S = range(len(instance.servers))
    W, P = view.workers, view.ps
    one = {(g.job, g.start, g.mode.workers): g for g in chosen if g.mode.together}
    split = {(g.job, g.start, g.mode.workers): g for g in chosen if not g.mode.together}
    hosts = {key: view.hosts(task_of[g.job], g) for key, g in one.items()}
    open_to = {
        key: [s for s in S if task_of[g.job].ready[s] <= g.start] for key, g in split.items()
    }

    model = pyo.ConcreteModel(name=instance.name)
    model.X1 = pyo.Var(
        [(*key, s) for key in one for s in hosts[key]], domain=pyo.Binary,
        doc="job j runs from slot h with n workers and its PS on server s",
    )  # fmt: skip
    model.X = pyo.Var(
        list(split), domain=pyo.Binary, doc="job j runs from slot h with n workers, spread"
    )
    model.w = pyo.Var(
        [
            (*key, s)
            for key, g in split.items()
            for s in open_to[key]
            if W[s, task_of[g.job].worker_type] >= 1
        ],
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, j, h, n, s: (0, min(n, int(W[s, task_of[j].worker_type]))),
        doc="of these workers on server s",
    )
    model.q = pyo.Var(
        [
            (*key, s)
            for key, g in split.items()
            for s in open_to[key]
            if P[s, task_of[g.job].ps_type] >= 1
        ],
        domain=pyo.Binary,
        doc="their PS is on server s",
    )

    at_one: dict[Key, list[Any]] = {key: [] for key in one}
    for (*key, _), var in model.X1.items():
        at_one[tuple(key)].append(var)
    workers, servers = _by_group(model.w), _by_group(model.q)
    taken = [(g, var) for key, g in one.items() for var in at_one[key]]
    taken += [(g, model.X[key]) for key, g in split.items()]

    if view.is_batch:
        model.objective = pyo.Objective(
            expr=sum(var for _, var in taken), sense=pyo.maximize, doc="(3): jobs that run"
        )
    else:
        model.objective = pyo.Objective(
            expr=sum(task_of[g.job].flow(g) * var for g, var in taken),
            doc="(2): sum of c_j - a_j",
        )
    own: dict[int, list[Any]] = {task.job: [] for task in view.tasks}
    for g, var in taken:
        own[g.job].append(var)
    once = pyo.Constraint(
        list(own),
        doc="each job runs in one mode from one slot" if not view.is_batch else "at most once",
        rule=lambda model, j: _row(pyo, sum(own[j]) <= 1 if view.is_batch else sum(own[j]) == 1),
    )
    setattr(model, "eq_3" if view.is_batch else "eq_4c", once)
    model.eq_2e_mode = pyo.Constraint(
        list(split),
        doc="so many workers as the mode has",
        rule=lambda model, j, h, n: sum(workers.get((j, h, n), ())) == n * model.X[j, h, n],
    )
    model.eq_2b_mode = pyo.Constraint(
        list(split),
        doc="one PS",
        rule=lambda model, j, h, n: sum(servers.get((j, h, n), ())) == model.X[j, h, n],
    )
    model.eq_2i_link = pyo.Constraint(
        list(model.w),
        doc="workers where the mode is chosen, on servers that are ready",
        rule=lambda model, j, h, n, s: (
            model.w[j, h, n, s] <= model.w[j, h, n, s].ub * model.X[j, h, n]
        ),
    )
    held_workers: dict[tuple[int, int, int], list[Any]] = {}  # server, type, slot
    held_ps: dict[tuple[int, int, int], list[Any]] = {}
    for (j, h, n, s), var in model.X1.items():
        for t in range(h, one[j, h, n].end + 1):
            held_workers.setdefault((s, task_of[j].worker_type, t), []).append(n * var)
            held_ps.setdefault((s, task_of[j].ps_type, t), []).append(var)
    for variables, held, kind in (
        (model.w, held_workers, "worker_type"),
        (model.q, held_ps, "ps_type"),
    ):
        for (j, h, n, s), var in variables.items():
            for t in range(h, split[j, h, n].end + 1):
                held.setdefault((s, getattr(task_of[j], kind), t), []).append(var)
    model.eq_2g = pyo.Constraint(
        sorted(held_workers),
        doc="workers of each server, type and slot",
        rule=lambda model, s, u, t: sum(held_workers[s, u, t]) <= int(W[s, u]),
    )
    model.eq_2h = pyo.Constraint(
        sorted(held_ps),
        doc="PSs of each server, type and slot",
        rule=lambda model, s, v, t: sum(held_ps[s, v, t]) <= int(P[s, v]),
    )
    if not view.is_batch:
        used: list[list[Any]] = [[] for _ in S]  # workers on each server
        for variables, many in ((model.X1, True), (model.w, False)):
            for (_, _, n, s), var in variables.items():
                used[s].append(n * var if many else var)
        model.cut_servers = pyo.Constraint(
            equal_servers(view),
            doc="of two equal servers the first has no fewer workers",
            rule=lambda model, s, r: _row(pyo, sum(used[s]) >= sum(used[r])),
        )
        starts: dict[int, list[Any]] = {task.job: [] for task in view.tasks}
        for g, var in taken:
            starts[g.job].append(g.start * var)
        model.cut_jobs = pyo.Constraint(
            equal_jobs(view),
            doc="of two equal jobs the first starts no later",
            rule=lambda model, i, j: _row(pyo, sum(starts[i]) <= sum(starts[j])),
        )
    return model


def _by_group(variables: Any) -> dict[Key, list[Any]]:
    found: dict[Key, list[Any]] = {}
    for (j, h, n, _), var in variables.items():
        found.setdefault((j, h, n), []).append(var)
    return found


def _row(pyo: Any, relation: Any) -> Any:
    """Return a row; Pyomo refuses relations between constants."""
    if isinstance(relation, bool):
        return pyo.Constraint.Feasible if relation else pyo.Constraint.Infeasible
    return relation


def read(model: Any, instance: EdgeInstance) -> EdgeSchedule | None:
    """Return the schedule of a solved model; None where its values stand for none."""
    task_of: dict[int, Task] = {task.job: task for task in problem(instance).tasks}
    runs: list[Run] = []

    def mode(j: int, n: int, together: bool) -> Any:
        return next(m for m in task_of[j].modes if m.workers == n and m.together == together)

    for (j, h, n, s), var in model.X1.items():
        if _on(var):
            runs.append(Run(Group(j, mode(j, n, True), h), ((s, n),), s))
    workers, ps = _by_server(model.w), _by_server(model.q)
    for (j, h, n), var in model.X.items():
        if _on(var):
            spread = tuple((s, round(w.value)) for s, w in workers.get((j, h, n), ()) if _on(w))
            hosts = [s for s, q in ps.get((j, h, n), ()) if _on(q)]
            if not spread or len(hosts) != 1:
                return None
            runs.append(Run(Group(j, mode(j, n, False), h), spread, hosts[0]))
    if len({run.group.job for run in runs}) < len(runs):
        return None
    return sound(instance, schedule_of(instance, runs))


def _on(var: Any) -> bool:
    return (var.value or 0.0) > 0.5


def _by_server(variables: Any) -> dict[Key, Sequence[tuple[int, Any]]]:
    found: dict[Key, list[tuple[int, Any]]] = {}
    for (j, h, n, s), var in variables.items():
        found.setdefault((j, h, n), []).append((s, var))
    return dict(found)
