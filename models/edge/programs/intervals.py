"""Programs (2) and (3) as an interval model for CP-SAT: one interval for each job (ours).

No index of time: each job is one interval, and each server a cumulative constraint in which the
job's workers there are a variable demand. Good at finding schedules, and at proving small ones.
"""

from collections.abc import Iterable
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.decisions import Group, Problem, Task, problem
from schedgap.models.edge.placements import Run, runs_from, schedule_of
from schedgap.models.edge.programs.symmetry import equal_jobs, equal_servers, in_order


def build(
    instance: EdgeInstance,
    *,
    groups: Iterable[Group] | None = None,
    fixed: Iterable[Run] = (),
    orders: bool = True,
    least: int | None = None,
    most: int | None = None,
) -> Any:
    """Return a `cp_model.CpModel` of the problem.

    Parameters
    ----------
    groups : iterable of Group or None
        Those that may be chosen; None takes all.
    fixed : iterable of Run
        Runs of jobs that are no part of the choice: what they hold is taken.
    orders : bool
        Put equal jobs and equal servers of (2) in order.
    least, most : int or None
        Bounds on the objective that hold for the schedules of interest.

    Returns
    -------
    CpModel
        Variables of each job j: start, duration, end, workers; mode [j, k], y [j, s] and
        host [j, s]. Minimises sum c_j - a_j; of a batch, maximises the number of jobs.
    """
    from ortools.sat.python import cp_model

    view = problem(instance)
    starts = _starts(view, groups)
    model = cp_model.CpModel()
    ends, present, total_workers = {}, {}, {}
    start_of: dict[int, Any] = {}
    y: dict[int, list[Any]] = {}
    tasks: dict[tuple[str, int, int], list[tuple[Any, Any]]] = {}
    settled = {run.group.job: run for run in fixed}
    for task in view.tasks:
        j = task.job
        if j in settled:
            _hold(model, task, settled[j], tasks)
            continue
        allowed = [(k, slots) for k, slots in enumerate(starts[j]) if slots]
        mode = {k: model.new_bool_var(f"mode[{j},{k}]") for k, _ in allowed}
        if view.is_batch:
            present[j] = model.new_bool_var(f"present[{j}]")
            model.add(sum(mode.values()) == present[j])
        else:
            model.add_exactly_one(mode.values())
        if not allowed:
            continue
        lengths = {k: task.modes[k].duration for k, _ in allowed}
        first = min(slots[0] for _, slots in allowed)
        final = max(slots[-1] for _, slots in allowed)
        done = [slots[i] + lengths[k] - 1 for k, slots in allowed for i in (0, -1)]
        start = model.new_int_var(first, final, f"start[{j}]")
        duration = model.new_int_var_from_domain(
            cp_model.Domain.from_values(sorted(set(lengths.values()))), f"duration[{j}]"
        )
        end = model.new_int_var(min(done) + 1, max(done) + 1, f"end[{j}]")  # c_j + 1
        n = model.new_int_var_from_domain(
            cp_model.Domain.from_values(sorted({task.modes[k].workers for k, _ in allowed})),
            f"workers[{j}]",
        )
        for k, slots in allowed:
            model.add(duration == lengths[k]).only_enforce_if(mode[k])
            model.add(n == task.modes[k].workers).only_enforce_if(mode[k])
            if isinstance(slots, range):
                domain = cp_model.Domain(slots[0], slots[-1])
            else:
                domain = cp_model.Domain.from_values(slots)
            model.add_linear_expression_in_domain(start, domain).only_enforce_if(mode[k])
        start_of[j], ends[j], total_workers[j] = start, end, n
        interval = _interval(model, view, start, duration, end, present.get(j), f"run[{j}]")
        tasks.setdefault(("workers", -1, task.worker_type), []).append((interval, n))
        tasks.setdefault(("ps", -1, task.ps_type), []).append((interval, 1))
        y[j] = _place(model, view, task, mode, (start, duration, end), n, tasks)
        if view.is_batch:  # (3b): y > 0 only where x_j = 1
            model.add(sum(y[j]) == n).only_enforce_if(present[j])
            model.add(sum(y[j]) == 0).only_enforce_if(present[j].negated())
        else:
            model.add(sum(y[j]) == n)
    for (kind, s, which), members in sorted(tasks.items()):  # (2g), (2h); s = -1: cut_pool
        capacity = view.workers if kind == "workers" else view.ps
        room = int(capacity[:, which].sum() if s < 0 else capacity[s, which])
        model.add_cumulative(
            [interval for interval, _ in members], [demand for _, demand in members], room
        )
    if view.is_batch:
        value: Any = sum(present.values()) + len(settled)
    else:
        value = sum(ends[task.job] - 1 - task.arrival for task in view.tasks if task.job in ends)
        value += sum(t.flow(settled[t.job].group) for t in view.tasks if t.job in settled)
    if orders and not view.is_batch:
        for s, r in equal_servers(view):
            model.add(sum(y[j][s] for j in y) >= sum(y[j][r] for j in y))
        for i, j in equal_jobs(view):
            if i in start_of and j in start_of:
                model.add(start_of[i] <= start_of[j])
    if least is not None:
        model.add(value >= least)
    if most is not None:
        model.add(value <= most)
    if view.is_batch:
        model.maximize(value)
    else:
        model.minimize(value)
    return model


def _hold(
    model: Any, task: Task, run: Run, tasks: dict[tuple[str, int, int], list[tuple[Any, Any]]]
) -> None:
    """Add what the run of a settled job takes."""
    n, d = run.group.mode.workers, run.group.mode.duration
    held = [(("workers", s, task.worker_type), count) for s, count in run.workers]
    held += [(("workers", -1, task.worker_type), n)]
    held += [(("ps", s, task.ps_type), 1) for s in (run.host, -1)]
    for key, amount in held:
        interval = model.new_fixed_size_interval_var(run.group.start, d, f"held[{task.job}]")
        tasks.setdefault(key, []).append((interval, amount))


def _starts(
    view: Problem, groups: Iterable[Group] | None
) -> dict[int, list[range] | list[list[int]]]:
    """Return for each job and mode the starts that may be chosen, ascending."""
    if groups is None:
        return {
            task.job: [view.starts(task, k) for k in range(len(task.modes))] for task in view.tasks
        }
    chosen: dict[tuple[int, Any], list[int]] = {}
    for group in groups:
        chosen.setdefault((group.job, group.mode), []).append(group.start)
    return {
        task.job: [sorted(chosen.get((task.job, mode), ())) for mode in task.modes]
        for task in view.tasks
    }


def _interval(
    model: Any, view: Problem, start: Any, duration: Any, end: Any, present: Any, name: str
) -> Any:
    if view.is_batch:
        return model.new_optional_interval_var(start, duration, end, present, name)
    return model.new_interval_var(start, duration, end, name)


def _place(
    model: Any,
    view: Problem,
    task: Task,
    mode: dict[int, Any],
    times: tuple[Any, Any, Any],
    n: Any,
    tasks: dict[tuple[str, int, int], list[tuple[Any, Any]]],
) -> list[Any]:
    """Add workers and PS of a job by server; return the workers [s]."""
    j, S = task.job, range(len(view.workers))
    start = times[0]
    largest = max(task.modes[k].workers for k in mode)
    together = [var for k, var in mode.items() if task.modes[k].together]
    xi = model.new_bool_var(f"xi[{j}]")
    model.add(sum(together) == xi)
    y, hosts = [], []
    for s in S:
        room = min(int(view.workers[s, task.worker_type]), largest)
        count = model.new_int_var(0, room, f"y[{j},{s}]")
        on = model.new_bool_var(f"on[{j},{s}]")
        host = model.new_bool_var(f"host[{j},{s}]")
        y.append(count)
        hosts.append(host)
        if room == 0:
            model.add(on == 0)
        if view.ps[s, task.ps_type] < 1:
            model.add(host == 0)
        model.add(count >= 1).only_enforce_if(on)
        model.add(count == 0).only_enforce_if(on.negated())
        for there in (on, host):  # (2i)
            model.add(start >= int(task.ready[s])).only_enforce_if(there)
        model.add_bool_or(host, on.negated(), xi.negated())  # (2f)
        if room:
            interval = model.new_optional_interval_var(*times, on, f"at[{j},{s}]")
            tasks.setdefault(("workers", s, task.worker_type), []).append((interval, count))
        if view.ps[s, task.ps_type]:
            interval = model.new_optional_interval_var(*times, host, f"ps[{j},{s}]")
            tasks.setdefault(("ps", s, task.ps_type), []).append((interval, 1))
    model.add(sum(hosts) == sum(mode.values()))  # (2b)
    return y


def read(model: Any, instance: EdgeInstance, values: Any) -> EdgeSchedule:
    """Return the schedule of a solution: the values of all variables of the model by index.

    Jobs that the model holds fixed are no part of it.
    """
    named = {
        variable.name: int(value)
        for variable, value in zip(model.proto.variables, values, strict=True)
    }
    runs = []
    for task in problem(instance).tasks:
        j = task.job
        for k, mode in enumerate(task.modes):
            if named.get(f"mode[{j},{k}]"):
                S = range(len(instance.servers))
                spread = tuple((s, named[f"y[{j},{s}]"]) for s in S if named[f"y[{j},{s}]"])
                [host] = [s for s in S if named[f"host[{j},{s}]"]]
                runs.append(Run(Group(j, mode, named[f"start[{j}]"]), spread, host))
    return schedule_of(instance, runs)


def start(model: Any, instance: EdgeInstance, schedule: EdgeSchedule) -> list[Any]:
    """Return hints by variable index for a schedule; variables that follow are left open."""
    view = problem(instance)
    task_of = {task.job: task for task in view.tasks}
    known: dict[str, int] = {f"present[{task.job}]": 0 for task in view.tasks}
    runs = runs_from(instance, schedule)
    for run in runs if view.is_batch else in_order(view, runs):
        j, mode = run.group.job, run.group.mode
        known[f"present[{j}]"] = 1
        known[f"start[{j}]"], known[f"end[{j}]"] = run.group.start, run.group.end + 1
        known[f"duration[{j}]"], known[f"workers[{j}]"] = mode.duration, mode.workers
        known[f"xi[{j}]"] = int(mode.together)
        for k, other in enumerate(task_of[j].modes):
            known[f"mode[{j},{k}]"] = int(other == mode)
        counts = dict(run.workers)
        for s in range(len(instance.servers)):
            known[f"y[{j},{s}]"] = counts.get(s, 0)
            known[f"on[{j},{s}]"] = int(s in counts)
            known[f"host[{j},{s}]"] = int(s == run.host)
    return [known.get(variable.name) for variable in model.proto.variables]
