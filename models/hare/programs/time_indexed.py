"""`Hare_Sched` in time-indexed variables (ours): the strongest of the linear relaxations.

Classes g of identical tasks of a round and kinds k of equal GPUs are aggregated, so the size does
not depend on how many of either there are. `u[g, k, t]` counts the tasks of class g that start at
step t on a GPU of kind k; `z[q, t]` is 1 if round q is synchronized by t. Time-indexed programs
have strong relaxations and many columns (Sousa and Wolsey 1992); time windows derived from a known
schedule keep them few.

References
----------
J. P. Sousa, L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.decode import assign_gpus, to_schedule
from schedgap.models.hare.integer_time import Ints, latest_completions, steps
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.builder import ProgramBuilder, Term


@dataclass(frozen=True, slots=True, eq=False)
class TimeIndexedLayout:
    """Columns of the program; every time window is `first <= t < stop`, in steps.

    Order: u by class, kind and t, then z by round and t.
    """

    classes: tuple[tuple[int, ...], ...]  # [g] tasks
    class_round: Ints  # [g] q
    u_first: Ints  # [g, k]
    u_stop: Ints  # [g, k]
    u_column: Ints  # [g, k] column of u_first
    z_first: Ints  # [q]; z is 0 before
    z_stop: Ints  # [q]; z is 1 from here on
    z_column: Ints  # [q] column of z_first
    columns: int
    entries: int  # estimated number of nonzeros
    latest_completions: Ints  # [n]


def layout(instance: HareInstance, upper: int | None = None) -> TimeIndexedLayout:
    """Return the columns that schedules of objective at most `upper` need.

    `upper`: objective in grid steps; None admits all schedules up to the horizon.
    """
    view, whole = arrays(instance), steps(instance)
    ends = latest_completions(whole, upper)
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
    # A column u has an entry in eq_5, one per step of its training and one per z of its round.
    widest = max(1, int((z_stop - z_first).max()))
    covered = np.minimum(whole.train[one], u_stop - u_first)
    entries = int(((u_stop - u_first) * (1 + widest + covered)).sum())
    return TimeIndexedLayout(
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
        latest_completions=ends,
    )


def build(instance: HareInstance, *, upper: int | None = None) -> LinearProgram:
    """Build the program, in time steps and grid steps of the objective.

    `upper`: objective, in grid steps, of a schedule. The program then contains every schedule that
    costs no more; None gives the full horizon.

    Raises
    ------
    ScaleError
        If the times are not multiples of a common step.

    Notes
    -----
    Minimise sum_n w_n C_n with C_n = z_stop - sum_t z[q, t] for the last round q of job n, subject
    to, for classes g of size |g|, kinds k with m_k GPUs and rounds q with D_q tasks:

    - `eq_5`: sum_{k, t} u[g, k, t] = |g|.
    - `eq_8`: the tasks that train on kind k at step s number at most m_k, for every step s at
      which some task can start; the load cannot peak elsewhere.
    - `eq_7_end`: D_q z[q, t] <= number of tasks of round q that end by t.
    - `lin_once`: z[q, t] <= z[q, t + 1].
    - `eq_7_start`: number of tasks of round q + 1 that start by t <= D_{q+1} z[q, t].
    """
    view, whole, place = arrays(instance), steps(instance), layout(instance, upper)
    kinds, classes = range(len(view.class_gpus)), range(len(place.classes))
    times = [[np.arange(place.u_first[g, k], place.u_stop[g, k]) for k in kinds] for g in classes]
    u = [[place.u_column[g, k] + np.arange(len(times[g][k])) for k in kinds] for g in classes]
    size = np.array([len(group) for group in place.classes])
    of_round: list[list[int]] = [[] for _ in range(view.rounds)]
    for g, q in enumerate(place.class_round.tolist()):
        of_round[q].append(g)

    cost, most = np.zeros(place.columns), np.ones(place.columns)
    for g in classes:
        most[np.concatenate(u[g])] = size[g]
    for n in range(view.jobs):
        q = view.job_rounds[n + 1] - 1
        span = place.z_stop[q] - place.z_first[q]
        cost[place.z_column[q] : place.z_column[q] + span] = -whole.weight[n]
    builder = ProgramBuilder()
    builder.columns("uz", place.columns, cost=cost, upper=most, integer=True)
    eq_5 = ((g, u[g][k], 1) for g in classes for k in kinds)
    builder.rows("eq_5", len(size), *eq_5, lower=size, upper=size)
    for k in kinds:
        slots = np.unique(np.concatenate([times[g][k] for g in classes]))
        cover: list[Term] = []
        for g in classes:
            # A start at t covers the slots from t on, before t + T^c: slots[first:stop].
            train = whole.train[place.classes[g][0], k]
            first = np.searchsorted(slots, times[g][k])
            length = np.searchsorted(slots, times[g][k] + train) - first
            which = np.repeat(np.arange(len(first)), length)
            slot = np.arange(len(which)) + np.repeat(first - np.cumsum(length) + length, length)
            cover.append((slot, u[g][k][which], 1))
        builder.rows(f"eq_8[{k}]", len(slots), *cover, upper=len(view.class_gpus[k]))
    tasks = np.diff(view.round_tasks)  # [q] D_q
    for q in range(view.rounds):
        z_times = np.arange(place.z_first[q], place.z_stop[q])
        z, count = place.z_column[q] + np.arange(len(z_times)), len(z_times)
        ended: list[Term] = [(np.arange(count), z, -tasks[q])]
        for g in of_round[q]:
            for k in kinds:
                ends = times[g][k] + whole.duration[place.classes[g][0], k]
                row, which = np.nonzero(ends[None, :] <= z_times[:, None])
                ended.append((row, u[g][k][which], 1))
        builder.rows(f"eq_7_end[{q}]", count, *ended, lower=0.0)
        pairs = np.arange(max(0, count - 1))
        once = (pairs, z[1:], 1), (pairs, z[:-1], -1)
        builder.rows(f"lin_once[{q}]", len(pairs), *once, lower=0.0)
        if q + 1 in view.job_rounds:
            continue
        started: list[Term] = [(np.arange(count), z, tasks[q + 1])]
        for g in of_round[q + 1]:
            for k in kinds:
                row, which = np.nonzero(times[g][k][None, :] <= z_times[:, None])
                started.append((row, u[g][k][which], -1))
        builder.rows(f"eq_7_start[{q}]", count, *started, lower=0.0)

    column_names = [
        *(f"u[{g},{k},{t}]" for g in classes for k in kinds for t in times[g][k].tolist()),
        *(
            f"z[{q},{t}]"
            for q in range(view.rounds)
            for t in range(place.z_first[q], place.z_stop[q])
        ),
    ]
    offset = float(whole.weight @ place.latest_completions)
    return replace(builder.program(offset=offset, names=True), column_names=column_names)


def read(values: ArrayLike, instance: HareInstance, *, upper: int | None = None) -> HareSchedule:
    """Return the schedule of a solution.

    `values` [j]: values of the columns. `upper`: as given to `build`.
    """
    view, place = arrays(instance), layout(instance, upper)
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
    return to_schedule(instance, start, assign_gpus(instance, start, kind))


def start(instance: HareInstance, start: Ints, kind: Ints, *, upper: int | None = None) -> Floats:
    """Return the solution [j] that encodes a schedule.

    `start` [i]: start of each task, in steps. `kind` [i]: class k of its GPU. `upper`: as given to
    `build`.
    """
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


def bound_in_units(instance: HareInstance, upper: int, bound: float) -> float:
    """Return the lower bound on all schedules that a bound of the program proves.

    `upper`: as given to `build`. Schedules outside the program cost more than `upper`. `bound`:
    lower bound on the program, in grid steps.

    Returns
    -------
    float
        min(bound, upper), in the instance's units.
    """
    return steps(instance).to_objective(min(bound, upper))
