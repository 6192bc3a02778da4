"""Programs (2) and (3) as an interval model for CP-SAT; not in the paper.

There is no time index. Each job is one interval with a variable duration. Each server is a
cumulative constraint, in which the job's workers on it are a variable demand. Works well for
finding schedules, and for proving optimality on small networks.

References
----------
A. Aggoun, N. Beldiceanu, "Extending CHIP in order to solve complex scheduling and placement
problems", Mathematical and Computer Modelling 17 (1993): the cumulative constraint.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.decisions import CompiledInstance, CompiledJob, ModeStart, compiled
from schedgap.models.edge.placements import PlacedRun, runs_from_schedule, schedule_from_runs

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

# Intervals with their demands, by resource ("workers" or "ps"), server and type; server -1 stands
# for all servers together, the redundant constraint `cut_pool`.
_Demands = dict[tuple[str, int, int], list[tuple[Any, Any]]]


def build(
    instance: EdgeInstance,
    *,
    fixed: Sequence[PlacedRun] = (),
    lower: int | None = None,
    upper: int | None = None,
) -> "cp_model.CpModel":
    """Return the interval model, with the objective of (2) or (3).

    `fixed`: runs of jobs of (2) that are not decided: they only use capacity. `lower`, `upper`:
    limits on the objective, imposed as constraints.

    The variables of each job j are start, duration, end, workers; mode [j, k], y [j, s] and host
    [j, s]. The model minimises sum c_j - a_j; for a batch, it maximises the number of jobs.
    """
    from ortools.sat.python import cp_model

    view = compiled(instance)
    model = cp_model.CpModel()
    ends, present = {}, {}
    demands: _Demands = {}
    fixed_runs = {run.job: run for run in fixed}
    for task in view.tasks:
        j = task.job
        if j in fixed_runs:
            _add_fixed(model, task, fixed_runs[j], demands)
            continue
        starts = [view.starts(task, k) for k in range(len(task.modes))]
        allowed = [(k, slots) for k, slots in enumerate(starts) if slots]
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
        last = max(slots[-1] for _, slots in allowed)
        completions = [slots[i] + lengths[k] - 1 for k, slots in allowed for i in (0, -1)]
        start = model.new_int_var(first, last, f"start[{j}]")
        duration = model.new_int_var_from_domain(
            cp_model.Domain.from_values(sorted(set(lengths.values()))), f"duration[{j}]"
        )
        end = model.new_int_var(min(completions) + 1, max(completions) + 1, f"end[{j}]")  # c_j + 1
        n = model.new_int_var_from_domain(
            cp_model.Domain.from_values(sorted({task.modes[k].workers for k, _ in allowed})),
            f"workers[{j}]",
        )
        for k, slots in allowed:
            model.add(duration == lengths[k]).only_enforce_if(mode[k])
            model.add(n == task.modes[k].workers).only_enforce_if(mode[k])
            domain = cp_model.Domain(slots[0], slots[-1])
            model.add_linear_expression_in_domain(start, domain).only_enforce_if(mode[k])
        ends[j] = end
        times = start, duration, end
        if view.is_batch:
            interval = model.new_optional_interval_var(*times, present[j], f"run[{j}]")
        else:
            interval = model.new_interval_var(*times, f"run[{j}]")
        demands.setdefault(("workers", -1, task.worker_type), []).append((interval, n))
        demands.setdefault(("ps", -1, task.ps_type), []).append((interval, 1))
        y = sum(_place(model, view, task, mode, times, demands))
        if view.is_batch:  # (3b): y > 0 only where x_j = 1
            model.add(y == n).only_enforce_if(present[j])
            model.add(y == 0).only_enforce_if(present[j].negated())
        else:
            model.add(y == n)
    for (resource, s, which), members in sorted(demands.items()):  # (2g), (2h); s = -1: cut_pool
        units = view.workers if resource == "workers" else view.ps
        capacity = int(units[:, which].sum() if s < 0 else units[s, which])
        model.add_cumulative(
            [interval for interval, _ in members], [demand for _, demand in members], capacity
        )
    if view.is_batch:
        value: Any = sum(present.values())
    else:
        value = sum(ends[task.job] - 1 - task.arrival for task in view.tasks if task.job in ends)
        value += sum(
            t.flow(fixed_runs[t.job].mode_start) for t in view.tasks if t.job in fixed_runs
        )
    if lower is not None:
        model.add(value >= lower)
    if upper is not None:
        model.add(value <= upper)
    if view.is_batch:
        model.maximize(value)
    else:
        model.minimize(value)
    return model


def _add_fixed(
    model: "cp_model.CpModel", task: CompiledJob, run: PlacedRun, demands: _Demands
) -> None:
    """Add the demands of a fixed run."""
    n, d = run.mode.workers, run.mode.duration
    used = [(("workers", s, task.worker_type), count) for s, count in run.workers]
    used += [(("workers", -1, task.worker_type), n)]
    used += [(("ps", s, task.ps_type), 1) for s in (run.host, -1)]
    for key, units in used:
        interval = model.new_fixed_size_interval_var(run.start, d, f"held[{task.job}]")
        demands.setdefault(key, []).append((interval, units))


def _place(
    model: "cp_model.CpModel",
    view: CompiledInstance,
    task: CompiledJob,
    mode: Mapping[int, "cp_model.IntVar"],
    times: tuple["cp_model.IntVar", "cp_model.IntVar", "cp_model.IntVar"],
    demands: _Demands,
) -> list["cp_model.IntVar"]:
    """Add the servers of a job and its demands there; return its workers [s].

    `mode` has the variables of its modes, `times` are start, duration and end.
    """
    j = task.job
    largest = max(task.modes[k].workers for k in mode)
    colocated = [var for k, var in mode.items() if task.modes[k].colocated]
    xi = model.new_bool_var(f"xi[{j}]")
    model.add(sum(colocated) == xi)
    y, hosts = [], []
    for s in range(len(view.workers)):
        limit = min(int(view.workers[s, task.worker_type]), largest)
        count = model.new_int_var(0, limit, f"y[{j},{s}]")
        on = model.new_bool_var(f"on[{j},{s}]")
        host = model.new_bool_var(f"host[{j},{s}]")
        y.append(count)
        hosts.append(host)
        if limit == 0:
            model.add(on == 0)
        if view.ps[s, task.ps_type] < 1:
            model.add(host == 0)
        model.add(count >= 1).only_enforce_if(on)
        model.add(count == 0).only_enforce_if(on.negated())
        for uses in (on, host):  # (2i)
            model.add(times[0] >= int(task.ready[s])).only_enforce_if(uses)
        model.add_bool_or(host, on.negated(), xi.negated())  # (2f)
        if limit:
            interval = model.new_optional_interval_var(*times, on, f"at[{j},{s}]")
            demands.setdefault(("workers", s, task.worker_type), []).append((interval, count))
        if view.ps[s, task.ps_type]:
            interval = model.new_optional_interval_var(*times, host, f"ps[{j},{s}]")
            demands.setdefault(("ps", s, task.ps_type), []).append((interval, 1))
    model.add(sum(hosts) == sum(mode.values()))  # (2b)
    return y


def read(
    model: "cp_model.CpModel", instance: EdgeInstance, values: Sequence[float]
) -> EdgeSchedule:
    """Return the schedule of a solution.

    `model`: from `build`. `values`: values of all variables of the model, by index.
    """
    named = {
        variable.name: int(value)
        for variable, value in zip(model.proto.variables, values, strict=True)
    }
    servers, runs = range(len(instance.servers)), []
    for task in compiled(instance).tasks:
        j = task.job
        for k, mode in enumerate(task.modes):
            if named.get(f"mode[{j},{k}]"):
                workers = tuple((s, named[f"y[{j},{s}]"]) for s in servers if named[f"y[{j},{s}]"])
                [host] = [s for s in servers if named[f"host[{j},{s}]"]]
                runs.append(PlacedRun(ModeStart(j, mode, named[f"start[{j}]"]), workers, host))
    return schedule_from_runs(instance, runs)


def start(
    model: "cp_model.CpModel", instance: EdgeInstance, schedule: EdgeSchedule
) -> list[int | None]:
    """Return a starting point: a hint for each variable by index, None where there is none.

    `model`: from `build`. `schedule`: feasible.
    """
    view = compiled(instance)
    hints: dict[str, int] = {f"present[{task.job}]": 0 for task in view.tasks}
    for run in runs_from_schedule(instance, schedule):
        j, mode = run.job, run.mode
        hints[f"present[{j}]"] = 1
        hints[f"start[{j}]"], hints[f"end[{j}]"] = run.start, run.end + 1
        hints[f"duration[{j}]"], hints[f"workers[{j}]"] = mode.duration, mode.workers
        hints[f"xi[{j}]"] = int(mode.colocated)
        for k, other in enumerate(view.task_of[j].modes):
            hints[f"mode[{j},{k}]"] = int(other == mode)
        counts = dict(run.workers)
        for s in range(len(instance.servers)):
            hints[f"y[{j},{s}]"] = counts.get(s, 0)
            hints[f"on[{j},{s}]"] = int(s in counts)
            hints[f"host[{j},{s}]"] = int(s == run.host)
    return [hints.get(variable.name) for variable in model.proto.variables]
