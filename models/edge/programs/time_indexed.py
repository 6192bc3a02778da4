"""Program (2) over modes and starts, or (3) for a batch, as arrays; not in the paper.

The rate (1) depends on xi, so (2e) is a product of variables. It is linear once the number of
workers and xi are fixed, and a mode fixes them: durations and objective coefficients are data.
Columns, for job j in a mode with n workers from slot h on:

- X1[j,h,n,s] in {0, 1}: the job runs colocated, with all workers and its PS on server s;
- X[j,h,n] in {0, 1}: the job runs split over servers;
- w[j,h,n,s] integer: its workers on server s; q[j,h,n,s] in {0, 1}: its PS is there.

Let job, start and mode be fixed. Then (w, q) is an integer point of the polytope
{0 <= w <= W, sum w = n} x {sum q = 1}, whose vertices are integral. So the linear relaxation is as
strong as the relaxation of (4), which has one column for each placement. A split mode may land on
one server and then runs longer than needed, which is feasible and dominated.

References
----------
J. P. Sousa, L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992).
"""

from dataclasses import dataclass

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints
from schedgap.models.edge.decisions import ModeStart, compiled
from schedgap.models.edge.placements import PlacedRun, schedule_from_runs, valid_schedule
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import ProgramBuilder

KINDS = ("X1", "X", "w", "q")
_X1, _X, _W, _Q = range(4)


@dataclass(frozen=True, slots=True, eq=False)
class TimeIndexedProgram:
    """The program and the meaning of its columns.

    Columns are X1, X, w, q, each in the order of `mode_starts`, then of servers.
    """

    program: LinearProgram
    mode_starts: tuple[ModeStart, ...]
    mode_start: Ints  # [column] index into `mode_starts`
    server: Ints  # [column] its server; -1 for X
    kind: Ints  # [column] index into KINDS

    def column_names(self) -> list[str]:
        """Return names such as `X1[j,h,n,s]`."""
        names = []
        for g, s, kind in zip(self.mode_start, self.server, self.kind, strict=True):
            job, mode, start = self.mode_starts[g]
            index = [job, start, mode.workers, *([s] if s >= 0 else [])]
            names.append(f"{KINDS[kind]}[{','.join(map(str, index))}]")
        return names

    def runs(self, values: Floats) -> list[PlacedRun]:
        """Return the runs of a solution; a chosen split mode without workers or PS has none.

        `values` [column]: integral up to an engine's tolerance.
        """
        chosen: set[int] = set()
        workers: dict[int, dict[int, int]] = {}
        host: dict[int, int] = {}
        for column in np.flatnonzero(np.asarray(values) > 0.5).tolist():
            g, s, kind = int(self.mode_start[column]), int(self.server[column]), self.kind[column]
            if kind in (_X1, _X):
                chosen.add(g)
            if kind == _X1:
                workers[g], host[g] = {s: self.mode_starts[g].mode.workers}, s
            elif kind == _W:
                workers.setdefault(g, {})[s] = round(float(values[column]))
            elif kind == _Q:
                host[g] = s
        return [
            PlacedRun(self.mode_starts[g], tuple(sorted(counts.items())), host[g])
            for g, counts in workers.items()
            if g in chosen and g in host
        ]


def size(instance: EdgeInstance) -> int:
    """Return the approximate number of columns."""
    view = compiled(instance)
    servers = len(view.workers)
    return sum(
        len(view.starts(task, k)) * (servers if mode.colocated else 2 * servers + 1)
        for task in view.tasks
        for k, mode in enumerate(task.modes)
    )


def build(instance: EdgeInstance) -> TimeIndexedProgram:
    """Return the program, minimised: sum c_j - a_j, or minus the number of jobs of a batch."""
    view = compiled(instance)
    groups = tuple(view.mode_starts())
    tasks, servers = view.tasks, len(view.workers)
    task_of = {task.job: k for k, task in enumerate(tasks)}
    # By mode start g: task J, workers N, first slot H, duration D, xi; by (g, s): ready, capacity.
    J = np.array([task_of[g.job] for g in groups], dtype=np.int64)
    N = np.array([g.mode.workers for g in groups], dtype=np.int64)
    H = np.array([g.start for g in groups], dtype=np.int64)
    D = np.array([g.mode.duration for g in groups], dtype=np.int64)
    xi = np.array([g.mode.colocated for g in groups], dtype=bool)
    by_server = (len(tasks), servers)
    ready = np.array([task.ready for task in tasks]).reshape(by_server)[J] <= H[:, None]
    capacity = np.array(
        [view.workers[:, task.worker_type] for task in tasks], dtype=np.int64
    ).reshape(by_server)[J]
    has_ps = np.array([view.ps[:, task.ps_type] >= 1 for task in tasks], dtype=bool)
    has_ps = has_ps.reshape(by_server)[J]

    # Columns (g, s) of each kind; (2i) by index set: only servers that are ready at the start.
    parts = [
        np.argwhere(ready & has_ps & (capacity >= N[:, None]) & xi[:, None]),
        np.stack([np.flatnonzero(~xi), np.full((~xi).sum(), -1)], axis=1),
        np.argwhere(ready & (capacity >= 1) & ~xi[:, None]),
        np.argwhere(ready & has_ps & ~xi[:, None]),
    ]
    kind = np.repeat(np.arange(4), [len(part) for part in parts])
    group, server = np.concatenate(parts).T
    limit = np.minimum(N[group], capacity[group, server])  # workers on the server at most
    count = np.where(kind == _X1, N[group], 1)  # workers per unit of the column
    chooses = (kind == _X1) | (kind == _X)
    columns = np.arange(len(kind))
    x_of = np.full(len(groups), -1)  # column X of each split mode start
    x_of[group[kind == _X]] = columns[kind == _X]

    flow = H + D - 1 - np.array([task.arrival for task in tasks], dtype=np.int64)[J]
    cost = np.where(chooses, -1.0 if view.is_batch else flow[group], 0.0)
    builder = ProgramBuilder()
    builder.columns(
        "x", len(columns), cost=cost, upper=np.where(kind == _W, limit, 1), integer=True
    )

    # Each job once: sum over h, n of (sum over s of X1 + X) = 1, or <= 1 in a batch.
    builder.rows(
        "eq_4c",
        len(tasks),
        (J[group[chooses]], columns[chooses], 1.0),
        lower=-np.inf if view.is_batch else 1.0,
        upper=1.0,
    )
    # Split modes: sum over s of w = n X and sum over s of q = X.
    split = np.flatnonzero(~xi)
    row_of = np.full(len(groups), -1)
    row_of[split] = np.arange(len(split))
    for name, of_kind, per_mode in (("eq_2e_mode", _W, N[split]), ("eq_2b_mode", _Q, 1)):
        mine = kind == of_kind
        builder.rows(
            name,
            len(split),
            (row_of[group[mine]], columns[mine], count[mine] if of_kind == _W else 1.0),
            (row_of[split], x_of[split], -per_mode),
            lower=0.0,
            upper=0.0,
        )
    # Linking: w <= min(n, W) X on each server.
    linked = columns[kind == _W]
    builder.rows(
        "lin_link",
        len(linked),
        (np.arange(len(linked)), linked, 1.0),
        (np.arange(len(linked)), x_of[group[linked]], -limit[linked]),
        upper=0.0,
    )
    # (2g), (2h): what runs use on a server in a slot is at most its capacity. Each column gets an
    # entry in every slot of its run; a cell is the flat index of (server, type, slot).
    for name, kinds, types, units in (
        ("eq_2g", (_X1, _W), "worker_type", view.workers),
        ("eq_2h", (_X1, _Q), "ps_type", view.ps),
    ):
        mine = columns[np.isin(kind, kinds)]
        type_of = np.array([getattr(task, types) for task in tasks], dtype=np.int64)
        used = count[mine] if name == "eq_2g" else np.ones(len(mine), dtype=np.int64)
        at, slot = _interval_slots(H[group[mine]] - view.first, D[group[mine]])
        pair = server[mine] * units.shape[1] + type_of[J[group[mine]]]
        cells, row = np.unique(pair[at] * view.slots + slot, return_inverse=True)
        of_cell = units.ravel()[cells // view.slots]
        builder.rows(name, len(cells), (row, mine[at], used[at]), upper=of_cell)
    return TimeIndexedProgram(builder.program(names=True), groups, group, server, kind)


def read(model: TimeIndexedProgram, instance: EdgeInstance, values: Floats) -> EdgeSchedule | None:
    """Return the schedule of a solution, or None if the values give no valid schedule.

    `model`: from `build`. `values` [column]: integral up to an engine's tolerance.
    """
    runs = model.runs(values)
    if len({run.job for run in runs}) < len(runs):
        return None
    return valid_schedule(instance, schedule_from_runs(instance, runs))


def _interval_slots(first: Ints, duration: Ints) -> tuple[Ints, Ints]:
    """Return all slots of some intervals: arrays [i] of interval and slot, interval by interval.

    `first`, `duration` [k]: first slot and length of each interval.
    """
    k = np.repeat(np.arange(len(first)), duration)
    slot = first[k] + np.arange(len(k)) - np.repeat(np.cumsum(duration) - duration, duration)
    return k, slot
