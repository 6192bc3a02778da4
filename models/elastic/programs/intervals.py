"""Programs (2)/(15) and (7)/(16) as an interval model for CP-SAT, one interval per job (ours).

Time is not indexed: a job is one interval. Every server and resource is a cumulative constraint
with the job's usage as a variable demand. The model is small, and finds schedules at any size.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.modes import MAX_WORKERS, ElasticCluster, Mode, cluster, modes
from schedgap.models.elastic.placement import fits, workers_served
from schedgap.models.elastic.programs.columns import (
    ElasticRun,
    run_at,
    runs_from,
    schedule_of,
)
from schedgap.models.elastic.programs.whole_numbers import IntegerData, exact_integers
from schedgap.models.elastic.time_windows import ElasticWindows

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

TypedVars = list[list[tuple[int, "cp_model.IntVar"]]]  # [h] pairs of a type and a variable


def build(
    instance: ElasticInstance,
    *,
    span: ElasticWindows,
    least: int | None = None,
    most: int | None = None,
) -> "cp_model.CpModel":
    """Build the interval model, in slots and whole units.

    `span`: when each job may run; the windows of a feasible schedule contain an optimal one.
    `least`, `most`: bounds on the objective, in steps of the weights; of a batch problem on its
    negative.

    The variables of each job in turn are z [k], start, duration, end; workers [h]; then with PSs
    psat [h] and s [h]; finally usage and auxiliary variables. The model minimises the weighted
    completion time or minus the scheduled weight, in steps of the weights.

    Raises
    ------
    ScaleError
        When weights or amounts are not multiples of a step that is not too small.
    """
    whole = exact_integers(instance, span)  # may raise, before CP-SAT is loaded
    from ortools.sat.python import cp_model

    view, weight = cluster(instance), whole.weight
    H, R = range(len(view.servers)), range(len(view.scale))
    model = cp_model.CpModel()
    tasks: dict[tuple[int, int], list[tuple[cp_model.IntervalVar, cp_model.IntVar]]] = {}
    value: cp_model.LinearExprT = 0
    for j in range(len(instance.jobs)):
        options = modes(instance, j)
        first, last = span.first[j], span.end[j]
        z = [model.new_bool_var(f"z[{j},{k}]") for k in range(len(options))]
        for k, mode in enumerate(options):
            if first + mode.duration > last:
                model.add(z[k] == 0)
        if instance.is_batch:
            present = model.new_bool_var(f"present[{j}]")
            model.add(sum(z) == present)
        else:
            model.add_exactly_one(z)
        # The interval of the job has the duration of the mode that is chosen, z_k = 1.
        durations = [mode.duration for mode in options] or [1]
        shortest = min(durations)
        start = model.new_int_var(first, max(first, last - shortest), f"start[{j}]")
        duration = model.new_int_var(shortest, max(durations), f"duration[{j}]")
        end = model.new_int_var(first, max(first + shortest, last), f"end[{j}]")
        for k, mode in enumerate(options):
            model.add(duration == mode.duration).only_enforce_if(z[k])
        if instance.is_batch:
            run = model.new_optional_interval_var(start, duration, end, present, f"run[{j}]")
            value -= weight[j] * present
        else:
            run = model.new_interval_var(start, duration, end, f"run[{j}]")
            value += weight[j] * end
        # used_hr = sum_m e_mr y_hm + sum_p z_pr s_hp is the demand of the interval on server h.
        y, s = _placement(model, instance, j, z)
        for h in H:
            for r in R:
                terms = [int(whole.worker[m, r]) * var for m, var in y[h]]
                terms += [int(whole.ps[p, r]) * var for p, var in s[h]]
                used = model.new_int_var(0, int(whole.capacity[h, r]), f"used[{j},{h},{r}]")
                model.add(used == sum(terms))
                tasks.setdefault((h, r), []).append((run, used))
        for r in R:
            least_use = [_least_use(whole, mode, r) for mode in options]
            if any(least_use):
                used = model.new_int_var(0, max(least_use), f"all[{j},{r}]")
                model.add(used == sum(a * var for a, var in zip(least_use, z, strict=True)))
                tasks.setdefault((len(H), r), []).append((run, used))
    # The last row is cut_pool, a valid inequality: all servers together hold what all jobs use.
    capacity = np.vstack([whole.capacity, whole.capacity.sum(axis=0)])
    for (h, r), members in sorted(tasks.items()):
        model.add_cumulative(
            [run for run, _ in members], [used for _, used in members], int(capacity[h, r])
        )
    if least is not None:
        model.add(value >= least)
    if most is not None:
        model.add(value <= most)
    model.minimize(value)
    return model


def _least_use(whole: IntegerData, mode: Mode, r: int) -> int:
    """Return the least usage of a mode on all servers together: its workers and one PS."""
    ps = 0 if mode.ps_type is None else int(whole.ps[mode.ps_type, r])
    return mode.workers * int(whole.worker[mode.worker_type, r]) + ps


def _placement(
    model: "cp_model.CpModel", instance: ElasticInstance, j: int, z: "Sequence[cp_model.IntVar]"
) -> tuple[TypedVars, TypedVars]:
    """Add the placement of a job; return by server the numbers of workers and of PSs, by type."""
    view, options = cluster(instance), modes(instance, j)
    H = range(len(view.servers))
    workers: TypedVars = [[] for _ in H]
    for m in sorted({mode.worker_type for mode in options}):
        most = max(mode.workers for mode in options if mode.worker_type == m)
        fit = np.minimum(fits(view.capacity, view.worker_units[m]), most).tolist()
        for h in H:
            workers[h].append((m, model.new_int_var(0, fit[h], f"y[{j},{h},{m}]")))
        of_type = [mode.workers * (mode.worker_type == m) for mode in options]
        chosen = sum(n * var for n, var in zip(of_type, z, strict=True))
        model.add(sum(var for h in H for kind, var in workers[h] if kind == m) == chosen)  # (2b)
    cen = [model.new_bool_var(f"cen[{j},{h}]") for h in H]
    central = [var for mode, var in zip(options, z, strict=True) if mode.central]
    model.add(sum(cen) == sum(central))  # (2d)
    for h in H:
        for k in H:
            if k != h:
                for _, var in workers[k]:
                    model.add(var == 0).only_enforce_if(cen[h])
    ps: TypedVars = [[] for _ in H]
    if instance.is_ring or not options:
        return workers, ps
    psat = [model.new_bool_var(f"psat[{j},{h}]") for h in H]
    model.add(sum(psat) == sum(z))  # (2e)
    for h in H:
        model.add_implication(cen[h], psat[h])
    for p in sorted({mode.ps_type for mode in options if mode.ps_type is not None}):
        chosen_ps = [(mode, var) for mode, var in zip(options, z, strict=True) if mode.ps_type == p]
        needed = max(view.demand(mode).most_ps() for mode, _ in chosen_ps)
        room = np.minimum(fits(view.capacity, view.ps_units[p]), needed).tolist()
        here = sum(var for _, var in chosen_ps)
        for h in H:
            number = model.new_int_var(0, room[h], f"s[{j},{h},{p}]")
            ps[h].append((p, number))
            model.add(number <= room[h] * psat[h])
            model.add(number <= room[h] * here)
            model.add(number >= psat[h] + here - 1)
            for m in sorted({mode.worker_type for mode, _ in chosen_ps}):
                both = [(mode, var) for mode, var in chosen_ps if mode.worker_type == m]
                total = sum(mode.workers * var for mode, var in both)
                [own] = [var for kind, var in workers[h] if kind == m]
                when = ([var for _, var in both], psat[h])
                _serve(model, view, (m, p), (number, room[h]), total - own, when)
    return workers, ps


def _serve(
    model: "cp_model.CpModel",
    view: ElasticCluster,
    types: tuple[int, int],
    ps: "tuple[cp_model.IntVar, int]",  # number of PSs, and its upper limit
    away: "cp_model.LinearExpr",
    when: "tuple[Sequence[cp_model.IntVar], cp_model.IntVar]",  # modes of these types; PSs here
) -> None:
    """Add (2i) for one server: its PSs serve the workers on other servers, if these types are used.

    The number of workers that 1, 2, ... PSs serve is tabulated: rounding is then as in the
    rules.
    """
    (m, p), (number, most), (kinds, there) = types, ps, when
    b, B = float(view.worker_bandwidth[m]), float(view.ps_bandwidth[p])
    served = [0] + [min(workers_served(b, B, s), MAX_WORKERS) for s in range(1, most + 1)]
    step = served[1] if most else 0
    active = model.new_bool_var("")
    model.add(sum(kinds) + there <= 1 + active)
    if all(value == s * step for s, value in enumerate(served)):
        model.add(away <= step * number).only_enforce_if(active)
        return
    at = model.new_int_var(0, served[-1], "")
    model.add_element(number, served, at)
    model.add(away <= at).only_enforce_if(active)


def read(
    model: "cp_model.CpModel", instance: ElasticInstance, values: Sequence[float]
) -> ElasticSchedule:
    """Return the schedule of a solution.

    `model`: from `build`. `values`: values of all variables of the model, by index.
    """
    named = {
        variable.name: int(value)
        for variable, value in zip(model.proto.variables, values, strict=True)
        if variable.name and variable.name[0] in "zsy"
    }
    view, runs = cluster(instance), []
    H, M, P = (range(len(n)) for n in (view.servers, view.worker_types, view.ps_types))
    for j in range(len(instance.jobs)):
        for k, mode in enumerate(modes(instance, j)):
            if not named[f"z[{j},{k}]"]:
                continue
            workers = {h: sum(named.get(f"y[{j},{h},{m}]", 0) for m in M) for h in H}
            ps = {h: sum(named.get(f"s[{j},{h},{p}]", 0) for p in P) for h in H}
            run = run_at(j, mode, named[f"start[{j}]"], workers, ps)
            runs.append(run if mode.central else _central(instance, run))
    return schedule_of(instance, runs)


def _central(instance: ElasticInstance, run: ElasticRun) -> ElasticRun:
    """Return a split run in a central mode if all is on one server, which the model allows.

    The mode has no more workers, and is no longer.
    """
    servers = {h for h, _ in (*run.workers, *run.ps)}
    if len(servers) > 1:
        return run
    mode = max(
        (
            mode
            for mode in modes(instance, run.job)
            if mode.central and mode[:2] == run.mode[:2] and mode.workers <= run.mode.workers
        ),
        key=lambda mode: mode.workers,
        default=run.mode,
    )
    return run_at(run.job, mode, run.start, dict.fromkeys(servers, mode.workers), dict(run.ps))


def start(
    model: "cp_model.CpModel", instance: ElasticInstance, schedule: ElasticSchedule
) -> list[int | None]:
    """Return a warm start from a schedule: hints by variable index, None for auxiliary variables.

    `model`: from `build`.
    """
    view, value_of = cluster(instance), dict[str, int]()
    H, M, P = (range(len(n)) for n in (view.servers, view.worker_types, view.ps_types))
    for run in runs_from(instance, schedule):
        j, (m, p, *_) = run.job, run.mode
        value_of |= {f"z[{j},{k}]": mode == run.mode for k, mode in enumerate(modes(instance, j))}
        value_of |= {f"start[{j}]": run.start, f"end[{j}]": run.end}
        value_of |= dict.fromkeys((f"y[{j},{h},{kind}]" for h in H for kind in M), 0)
        value_of |= dict.fromkeys((f"s[{j},{h},{kind}]" for h in H for kind in P), 0)
        value_of |= {f"y[{j},{h},{m}]": count for h, count in run.workers}
        value_of |= {f"s[{j},{h},{p}]": count for h, count in run.ps}
    return [value_of.get(variable.name) for variable in model.proto.variables]
