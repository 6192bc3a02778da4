"""`Hare_Sched` by the steps in which tasks start (ours): the strongest linear relaxation.

Classes g of alike tasks of a round and kinds k of alike GPUs are aggregated, so the size does not
depend on how many of either there are. `u[g, k, t]` tasks of a class start at t on a kind;
`z[q, t]` says that round q is synchronized by t. `program` builds arrays for solving, `build` the
same program in Pyomo for reading.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.decode import on_gpus, to_schedule
from schedgap.models.hare.integer_time import Ints, latest, steps
from schedgap.solvers.programs.arrays import LinearProgram


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the variables stand; every range of t is `first <= t < stop`, in steps.

    Columns: u class by class and kind by kind, then z round by round, each in order of t.
    """

    classes: tuple[tuple[int, ...], ...]  # [g] tasks
    class_round: Ints  # [g] q
    u_first: Ints  # [g, k]
    u_stop: Ints  # [g, k]
    u_column: Ints  # [g, k] column of u_first
    z_first: Ints  # [q]; z is 0 before
    z_stop: Ints  # [q]; z is 1 from here on
    z_column: Ints  # [q]
    columns: int
    entries: int  # about as many nonzeros
    latest: Ints  # [n]


def layout(instance: HareInstance, upper: int | None = None) -> Layout:
    """Return the variables for schedules of value <= `upper` in grid steps (None: all)."""
    view, whole = arrays(instance), steps(instance)
    ends = latest(whole, upper)
    classes = tuple(view.alike)
    one = np.array([group[0] for group in classes])
    stop = (ends[view.task_job] - whole.tail)[:, None] - whole.duration + 1
    u_first = np.repeat(whole.head[one][:, None], len(view.class_gpus), axis=1)
    u_stop = np.maximum(stop[one], u_first)
    z_first = np.maximum.reduceat(whole.head + whole.duration.min(axis=1), view.round_tasks[:-1])
    z_stop = (ends[view.task_job] - whole.tail)[view.round_tasks[:-1]]
    sizes = np.concatenate([(u_stop - u_first).ravel(), z_stop - z_first])
    column = np.cumsum(sizes) - sizes
    count = u_first.size
    widest = max(1, int((z_stop - z_first).max()))
    covered = np.minimum(whole.train[one], u_stop - u_first)
    entries = int(((u_stop - u_first) * (1 + widest + covered)).sum())
    return Layout(
        classes=classes,
        class_round=view.task_round[one],
        u_first=u_first,
        u_stop=u_stop,
        u_column=column[:count].reshape(u_first.shape),
        z_first=z_first,
        z_stop=z_stop,
        z_column=column[count:],
        columns=int(sizes.sum()),
        entries=entries,
        latest=ends,
    )


def program(instance: HareInstance, upper: int | None = None) -> LinearProgram:
    """Return the program as arrays, in steps and grid steps.

    Parameters
    ----------
    upper : int or None
        Value of a schedule in grid steps; it narrows the windows.

    Raises
    ------
    ScaleError
        When whole steps cannot hold the times.
    """
    view, whole, place = arrays(instance), steps(instance), layout(instance, upper)
    kinds = range(len(view.class_gpus))
    rows: list[Ints] = []
    columns: list[Ints] = []
    entries: list[Ints] = []
    low: list[float] = []
    high: list[float] = []

    def add(new: list[tuple[Any, Any, Any]], count: int, least: float, most: float) -> None:
        """Add `count` rows with entries (row from 0, column, value) that broadcast."""
        for row, column, value in new:
            for part, given in zip((rows, columns, entries), (row, column, value), strict=True):
                part.append(np.broadcast_to(given, np.broadcast(row, column, value).shape).ravel())
            rows[-1] = rows[-1] + len(low)
        low.extend([least] * count)
        high.extend([most] * count)

    times = [
        [np.arange(place.u_first[g, k], place.u_stop[g, k]) for k in kinds]
        for g in range(len(place.classes))
    ]
    cols = [
        [place.u_column[g, k] + np.arange(len(times[g][k])) for k in kinds]
        for g in range(len(place.classes))
    ]
    of_round: dict[int, list[int]] = {}
    for g, q in enumerate(place.class_round.tolist()):
        of_round.setdefault(q, []).append(g)

    for g, group in enumerate(place.classes):  # eq_5
        add([(0, cols[g][k], 1) for k in kinds], 1, len(group), len(group))
    for k in kinds:  # eq_8: the load is greatest where a task starts
        slots = np.unique(np.concatenate([times[g][k] for g in range(len(place.classes))]))
        cover = []
        for g, group in enumerate(place.classes):
            first = np.searchsorted(slots, times[g][k])
            stop = np.searchsorted(slots, times[g][k] + whole.train[group[0], k])
            length = stop - first
            which = np.repeat(np.arange(len(first)), length)
            slot = np.arange(len(which)) + np.repeat(first - np.cumsum(length) + length, length)
            cover.append((slot, cols[g][k][which], 1))
        add(cover, len(slots), -np.inf, len(view.class_gpus[k]))
    for q, classes in of_round.items():
        size = int(view.round_tasks[q + 1] - view.round_tasks[q])
        z_times = np.arange(place.z_first[q], place.z_stop[q])
        z_cols = place.z_column[q] + np.arange(len(z_times))
        count = len(z_times)
        done = [(np.arange(count), z_cols, -size)]  # eq_7_end: all tasks end before z is 1
        for g in classes:
            for k in kinds:
                ends = times[g][k] + whole.duration[place.classes[g][0], k]
                row, which = np.nonzero(ends[None, :] <= z_times[:, None])
                done.append((row, cols[g][k][which], 1))
        add(done, count, 0, np.inf)
        add(  # lin_once: what is synchronized stays so
            [(np.arange(count - 1), z_cols[1:], 1), (np.arange(count - 1), z_cols[:-1], -1)],
            max(0, count - 1), 0, np.inf,
        )  # fmt: skip
        if q + 1 in view.job_rounds:
            continue
        after = int(view.round_tasks[q + 2] - view.round_tasks[q + 1])
        begun = [(np.arange(count), z_cols, after)]  # eq_7_start: none starts before z is 1
        for g in of_round[q + 1]:
            for k in kinds:
                row, which = np.nonzero(times[g][k][None, :] <= z_times[:, None])
                begun.append((row, cols[g][k][which], -1))
        add(begun, count, 0, np.inf)

    cost = np.zeros(place.columns)
    most = np.ones(place.columns)
    for g, group in enumerate(place.classes):
        for k in kinds:
            most[cols[g][k]] = len(group)
    for n in range(view.jobs):
        q = view.job_rounds[n + 1] - 1
        span = place.z_stop[q] - place.z_first[q]
        cost[place.z_column[q] : place.z_column[q] + span] = -whole.weight[n]
    # int32 indices are what HiGHS takes
    matrix = sparse.coo_array(
        (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(low), place.columns),
    )
    return LinearProgram(
        cost, np.zeros(place.columns), most, matrix.tocsr(), np.array(low), np.array(high),
        integer=np.ones(place.columns, dtype=bool), offset=float(whole.weight @ place.latest),
    )  # fmt: skip


def build(instance: HareInstance, *, upper: int | None = None) -> Any:
    """Return the same program as a Pyomo `ConcreteModel`; it solves nothing.

    Parameters
    ----------
    upper : int or None
        Value of a schedule in grid steps; it narrows the windows.
    """
    import pyomo.environ as pyo

    view, whole, place = arrays(instance), steps(instance), layout(instance, upper)
    model = pyo.ConcreteModel(name=instance.name)
    kinds = range(len(view.class_gpus))
    u_index = [
        (g, k, t)
        for g in range(len(place.classes))
        for k in kinds
        for t in range(place.u_first[g, k], place.u_stop[g, k])
    ]
    z_index = [(q, t) for q in range(view.rounds) for t in range(place.z_first[q], place.z_stop[q])]
    model.u = pyo.Var(
        u_index,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda model, g, k, t: (0, len(place.classes[g])),
        doc="tasks of class g that start at t on a GPU of kind k",
    )
    model.z = pyo.Var(z_index, domain=pyo.Binary, doc="round q is synchronized by t")
    of_round: dict[int, list[tuple[int, int, int]]] = {}
    starts = sorted({(k, t) for g, k, t in u_index})  # the load is greatest where a task starts
    cover: dict[tuple[int, int], list[tuple[int, int, int]]] = {start: [] for start in starts}
    for g, k, t in u_index:
        of_round.setdefault(int(place.class_round[g]), []).append((g, k, t))
        for slot in range(t, t + whole.train[place.classes[g][0], k]):
            if (k, slot) in cover:
                cover[k, slot].append((g, k, t))
    size = np.diff(view.round_tasks).tolist()

    def end(g: int, k: int, t: int) -> int:
        return int(t + whole.duration[place.classes[g][0], k])

    def value(n: int) -> Any:
        q = int(view.job_rounds[n + 1]) - 1
        late = sum(1 - model.z[q, t] for t in range(place.z_first[q], place.z_stop[q]))
        return int(whole.weight[n]) * (int(place.z_first[q]) + late)

    model.objective = pyo.Objective(
        expr=sum(value(n) for n in range(view.jobs)), doc="sum of w_n C_n in grid steps"
    )
    model.eq_5 = pyo.Constraint(
        range(len(place.classes)),
        doc="every task starts once, on one kind",
        rule=lambda model, g: (
            sum(model.u[key] for key in of_round[int(place.class_round[g])] if key[0] == g)
            == len(place.classes[g])
        ),
    )
    model.eq_8 = pyo.Constraint(
        starts,
        doc="no more tasks train on a kind than it has GPUs",
        rule=lambda model, k, slot: (
            sum(model.u[key] for key in cover[k, slot]) <= len(view.class_gpus[k])
        ),
    )
    model.eq_7_end = pyo.Constraint(
        z_index,
        doc="a round is synchronized when all its tasks are",
        rule=lambda model, q, t: (
            size[q] * model.z[q, t] <= sum(model.u[key] for key in of_round[q] if end(*key) <= t)
        ),
    )
    model.eq_7_start = pyo.Constraint(
        [(q, t) for q, t in z_index if q + 1 not in view.job_rounds],
        doc="the next round starts when this one is synchronized",
        rule=lambda model, q, t: (
            sum(model.u[key] for key in of_round[q + 1] if key[2] <= t)
            <= size[q + 1] * model.z[q, t]
        ),
    )
    model.lin_once = pyo.Constraint(
        [(q, t) for q, t in z_index if t + 1 < place.z_stop[q]],
        doc="what is synchronized stays so",
        rule=lambda model, q, t: model.z[q, t] <= model.z[q, t + 1],
    )
    return model


def read(values: Any, instance: HareInstance, *, upper: int | None = None) -> HareSchedule:
    """Return the schedule of a solution: values [column], or the Pyomo model after solving."""
    view, place = arrays(instance), layout(instance, upper)
    if hasattr(values, "u"):
        values = np.array([var.value for var in (*values.u.values(), *values.z.values())])
    count = np.round(np.asarray(values)).astype(np.int64)
    start = np.zeros(view.tasks, dtype=np.int64)
    kind = np.zeros(view.tasks, dtype=np.int64)
    for g, group in enumerate(place.classes):
        starts = sorted(
            (int(place.u_first[g, k]) + t, k)
            for k in range(len(view.class_gpus))
            for t in range(place.u_stop[g, k] - place.u_first[g, k])
            for _ in range(count[place.u_column[g, k] + t])
        )
        for i, (t, k) in zip(group, starts, strict=True):
            start[i], kind[i] = t, k
    return to_schedule(instance, start, on_gpus(instance, start, kind))


def start(instance: HareInstance, start: Ints, kind: Ints, *, upper: int | None = None) -> Any:
    """Return values [column] of a schedule: starts [i] in steps, classes k [i] of its GPUs."""
    view, whole, place = arrays(instance), steps(instance), layout(instance, upper)
    values = np.zeros(place.columns)
    end = start + whole.duration[np.arange(view.tasks), kind]
    for g, group in enumerate(place.classes):
        for i in group:
            k = kind[i]
            values[place.u_column[g, k] + start[i] - place.u_first[g, k]] += 1
    barrier = np.maximum.reduceat(end, view.round_tasks[:-1])
    for q in range(view.rounds):
        span = place.z_stop[q] - place.z_first[q]
        values[place.z_column[q] : place.z_column[q] + span] = (
            np.arange(place.z_first[q], place.z_stop[q]) >= barrier[q]
        )
    return values


def to_cp_sat(program: LinearProgram) -> Any:
    """Return a `cp_model.CpModel` of a program whose columns and numbers are all whole."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [model.new_int_var(0, int(most), f"x[{j}]") for j, most in enumerate(program.upper)]
    matrix = program.matrix
    for i, (low, high) in enumerate(zip(program.row_lower, program.row_upper, strict=True)):
        own = slice(matrix.indptr[i], matrix.indptr[i + 1])
        row = cp_model.LinearExpr.weighted_sum(
            [x[j] for j in matrix.indices[own]], matrix.data[own].astype(np.int64).tolist()
        )
        if low == high:
            model.add(row == int(low))
        elif np.isfinite(low):
            model.add(row >= int(low))
        else:
            model.add(row <= int(high))
    cost = cp_model.LinearExpr.weighted_sum(x, program.cost.astype(np.int64).tolist())
    model.minimize(cost + int(program.offset))
    return model


def real_bound(instance: HareInstance, upper: int, bound: float) -> float:
    """Return a bound of `program(instance, upper)`, in the instance's units, on all schedules.

    The program holds those of value <= `upper`; the others have a higher one.
    """
    return steps(instance).real(min(bound, upper))
