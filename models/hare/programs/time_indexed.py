"""`Hare_Sched` in time-indexed variables (ours): the strongest of the linear relaxations.

Classes g of identical tasks of a round and kinds k of equal GPUs are aggregated. So the size does
not depend on how many of either there are. `u[g, k, t]` counts the tasks of class g that start at
step t on a GPU of kind k. `z[q, t]` is 1 if round q is synchronized by t. Time-indexed programs
have strong relaxations and many columns (Sousa and Wolsey 1992); time windows derived from a known
schedule keep them few.

References
----------
J. P. Sousa, L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992).
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from schedgap.instances.hare import HareArrays, HareInstance, HareSchedule, arrays
from schedgap.models.hare.decode import assign_gpus, to_schedule
from schedgap.models.hare.integer_time import Ints, latest_completions, steps
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.builder import ProgramBuilder


@dataclass(frozen=True, slots=True, eq=False)
class TimeIndexedLayout:
    """Columns of the program; every time window is `first <= t < stop`, in steps.

    Order: u by class, kind and t, then z by round and t.
    """

    u_first: Ints  # [g, k]
    u_stop: Ints  # [g, k]
    z_first: Ints  # [q]; z is 0 before
    z_stop: Ints  # [q]; z is 1 from here on
    columns: int
    entries: int  # estimated number of nonzeros

    def starts(self) -> tuple[Ints, Ints, Ints]:
        """Return class, kind and t of every column u."""
        which, t = _members(self.u_first.ravel(), self.u_stop.ravel())
        g, k = np.unravel_index(which, self.u_first.shape)
        return g, k, t

    def barriers(self) -> tuple[Ints, Ints]:
        """Return round and t of every column z."""
        return _members(self.z_first, self.z_stop)


def _members(first: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """Return the members of the ranges `first <= t < stop`: the index of the range, and t."""
    which = np.repeat(np.arange(len(first)), stop - first)
    return which, np.arange(len(which)) + np.repeat(stop - np.cumsum(stop - first), stop - first)


def layout(instance: HareInstance, upper: int | None = None) -> TimeIndexedLayout:
    """Return the columns that schedules of objective at most `upper` need.

    `upper`: objective in grid steps; None admits all schedules up to the horizon.
    """
    view, whole = arrays(instance), steps(instance)
    ends = latest_completions(whole, upper)
    one = np.array([group[0] for group in view.alike])
    stop = (ends[view.task_job] - whole.tail)[:, None] - whole.duration + 1
    u_first = np.repeat(whole.head[one][:, None], len(view.class_gpus), axis=1)
    u_stop = np.maximum(stop[one], u_first)
    z_first = np.maximum.reduceat(whole.head + whole.duration.min(axis=1), view.round_tasks[:-1])
    z_stop = (ends[view.task_job] - whole.tail)[view.round_tasks[:-1]]
    # A column u has an entry in eq_5, one per step of its training and one per z of its round.
    widest = max(1, int((z_stop - z_first).max()))
    covered = np.minimum(whole.train[one], u_stop - u_first)
    entries = int(((u_stop - u_first) * (1 + widest + covered)).sum())
    return TimeIndexedLayout(
        u_first=u_first,
        u_stop=u_stop,
        z_first=z_first,
        z_stop=z_stop,
        columns=int((u_stop - u_first).sum() + (z_stop - z_first).sum()),
        entries=entries,
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
    Minimise sum_n w_n C_n with C_n = z_stop - sum_t z[q, t] for the last round q of job n. The rows
    are for classes g of size |g|, kinds k with m_k GPUs and rounds q with D_q tasks:

    - `eq_5`: sum_{k, t} u[g, k, t] = |g|.
    - `eq_8`: the tasks that train on kind k at step s number at most m_k, for every step s at
      which some task can start. The load cannot peak elsewhere.
    - `eq_7_end`: D_q z[q, t] <= number of tasks of round q that end by t.
    - `lin_once`: z[q, t] <= z[q, t + 1].
    - `eq_7_start`: number of tasks of round q + 1 that start by t <= D_{q+1} z[q, t].
    """
    view, whole, place = arrays(instance), steps(instance), layout(instance, upper)
    (g, k, t), (q, s) = place.starts(), place.barriers()
    u, z = np.arange(len(t)), len(t) + np.arange(len(s))
    one = np.array([group[0] for group in view.alike])  # [g]
    size = np.array([len(group) for group in view.alike])  # [g]
    task, tasks = one[g], np.diff(view.round_tasks)  # [q] D_q
    end, round_of = t + whole.duration[task, k], view.task_round[task]  # [u]
    is_last = np.isin(q, view.job_rounds[1:] - 1)
    cost = np.zeros(place.columns)
    cost[z[is_last]] = -whole.weight[view.round_job[q[is_last]]]
    builder = ProgramBuilder()
    most = np.concatenate([size[g], np.ones(len(z))])
    builder.columns("uz", place.columns, cost=cost, upper=most, integer=True)
    builder.rows("eq_5", len(size), (g, u, 1), lower=size, upper=size)
    for kind, gpus in enumerate(view.class_gpus):
        own = k == kind
        slots = np.unique(t[own])
        # A start at t covers the slots from t on, before t + T^c.
        stop = np.searchsorted(slots, t[own] + whole.train[task[own], kind])
        which, slot = _members(np.searchsorted(slots, t[own]), stop)
        builder.rows(f"eq_8[{kind}]", len(slots), (slot, u[own][which], 1), upper=len(gpus))
    for r in range(view.rounds):
        times, barrier = s[q == r], z[q == r]
        at, own, later = np.arange(len(times)), round_of == r, round_of == r + 1
        row, which = np.nonzero(end[own] <= times[:, None])
        ended = (at, barrier, -tasks[r]), (row, u[own][which], 1)
        builder.rows(f"eq_7_end[{r}]", len(at), *ended, lower=0.0)
        once = (at[:-1], barrier[1:], 1), (at[:-1], barrier[:-1], -1)
        builder.rows(f"lin_once[{r}]", max(0, len(at) - 1), *once, lower=0.0)
        if r + 1 not in view.job_rounds:
            row, which = np.nonzero(t[later] <= times[:, None])
            started = (at, barrier, tasks[r + 1]), (row, u[later][which], -1)
            builder.rows(f"eq_7_start[{r}]", len(at), *started, lower=0.0)

    names = [f"u[{','.join(map(str, key))}]" for key in np.stack([g, k, t], axis=1).tolist()]
    names += [f"z[{r},{time}]" for r, time in np.stack([q, s], axis=1).tolist()]
    offset = float(whole.weight @ latest_completions(whole, upper))
    return replace(builder.program(offset=offset, names=True), column_names=names)


def _by_class(view: HareArrays) -> tuple[Ints, Ints]:
    """Return the tasks class by class, and the class of each."""
    sizes = [len(group) for group in view.alike]
    return np.concatenate(view.alike), np.repeat(np.arange(len(sizes)), sizes)


def read(values: ArrayLike, instance: HareInstance, *, upper: int | None = None) -> HareSchedule:
    """Return the schedule of a solution.

    `values` [j]: values of the columns. `upper`: as given to `build`.
    """
    view, place = arrays(instance), layout(instance, upper)
    g, k, t = place.starts()
    order = np.lexsort((k, t, g))
    number = np.round(np.asarray(values)[order]).astype(np.int64)
    used = np.repeat(order, number)  # sorted by class, then by start
    tasks, group = _by_class(view)
    if not np.array_equal(g[used], group):
        raise ValueError("the solution does not start every task once")
    start, kind = np.zeros((2, view.tasks), dtype=np.int64)
    start[tasks], kind[tasks] = t[used], k[used]
    return to_schedule(instance, start, assign_gpus(instance, start, kind))


def start(instance: HareInstance, start: Ints, kind: Ints, *, upper: int | None = None) -> Floats:
    """Return the solution [j] that encodes a schedule.

    `start` [i]: start of each task, in steps. `kind` [i]: class k of its GPU. `upper`: as given to
    `build`.
    """
    view, whole, place = arrays(instance), steps(instance), layout(instance, upper)
    (g, k, t), (q, s) = place.starts(), place.barriers()
    end = start + whole.duration[np.arange(view.tasks), kind]
    barrier = np.maximum.reduceat(end, view.round_tasks[:-1])
    tasks, group = _by_class(view)
    number = Counter(zip(group.tolist(), kind[tasks].tolist(), start[tasks].tolist(), strict=True))
    u = [number[key] for key in zip(g.tolist(), k.tolist(), t.tolist(), strict=True)]
    return np.concatenate([u, s >= barrier[q]]).astype(float)


def bound_in_units(instance: HareInstance, upper: int, bound: float) -> float:
    """Return the lower bound on all schedules that a bound of the program proves.

    `upper`: as given to `build`. Schedules outside the program cost more than `upper`. `bound`:
    lower bound on the program, in grid steps.

    It is min(bound, upper), in the instance's units.
    """
    return steps(instance).to_objective(min(bound, upper))
