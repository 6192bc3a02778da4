"""The program of `time_indexed` as arrays (ours), over some groups: a search wants thousands.

The same columns, rows, and names as the Pyomo model of the same groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints
from schedgap.models.edge.decisions import Group, Problem
from schedgap.models.edge.placements import Run, schedule_of, sound
from schedgap.models.edge.programs.superadditive_cuts import Held, Shape, during, shape_rows
from schedgap.models.edge.programs.symmetry import equal_jobs, equal_servers
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.rows import Rows


@dataclass(frozen=True, slots=True, eq=False)
class ModeProgram:
    """The program, and what its columns stand for.

    Columns: X1 [group, host], then X [group], w [group, server], q [group, server] of the groups
    that are split, each in the order of `groups`. Counted, w is a column for each number of workers
    on a server with three or more, so that shapes of that number can be rows.
    """

    program: LinearProgram
    groups: tuple[Group, ...]
    group: Ints  # [column] index of its group
    server: Ints  # [column] its server; -1 for X
    kind: Ints  # [column] 0 X1, 1 X, 2 w, 3 q
    count: Ints  # [column] workers that a value of 1 stands for, on the server
    capacity_rows: tuple[tuple[int, Ints], ...]  # (2g), (2h): first row; (server, type, slot) [row]

    def held(self, view: Problem) -> Held:
        """Return what the columns hold of workers."""
        return _held(view, self.groups, self.group, self.server, self.count)

    def runs(self, values: Any) -> list[Run]:
        """Return the runs of a solution; a group without workers or PS has none."""
        chosen: set[int] = set()
        spread: dict[int, dict[int, int]] = {}
        host: dict[int, int] = {}
        for column in np.flatnonzero(np.asarray(values) > 0.5).tolist():
            g, s, kind = int(self.group[column]), int(self.server[column]), self.kind[column]
            if kind <= 1:
                chosen.add(g)
            if kind == 0:
                spread[g], host[g] = {s: self.groups[g].mode.workers}, s
            elif kind == 2:
                count = round(float(values[column])) * int(self.count[column])
                spread.setdefault(g, {})[s] = spread.get(g, {}).get(s, 0) + count
            elif kind == 3:
                host[g] = s
        return [
            Run(self.groups[g], tuple(sorted(counts.items())), host[g])
            for g, counts in spread.items()
            if g in chosen and g in host
        ]

    def schedule(self, instance: EdgeInstance, values: Any) -> EdgeSchedule | None:
        """Return the schedule of a solution, or None where the values stand for none."""
        return sound(instance, schedule_of(instance, self.runs(values)))


def build(
    view: Problem,
    groups: Sequence[Group],
    *,
    most: int | None = None,
    orders: bool = True,
    shapes: Mapping[Shape, Floats] | None = None,
) -> ModeProgram:
    """Return the program over some groups.

    Parameters
    ----------
    most : int or None
        The most that the objective may be: `cut_better`.
    orders : bool
        Put equal jobs and equal servers of (2) in order.
    shapes : mapping or None
        Prices of shapes: `cut_shape` for those that are not 0; w is counted. None: it is not.
    """
    task_of = {task.job: k for k, task in enumerate(view.tasks)}
    J = np.array([task_of[g.job] for g in groups], dtype=np.int64)
    N = np.array([g.mode.workers for g in groups], dtype=np.int64)
    H = np.array([g.start for g in groups], dtype=np.int64)
    D = np.array([g.mode.duration for g in groups], dtype=np.int64)
    xi = np.array([g.mode.together for g in groups], dtype=bool)
    ready = np.array([task.ready for task in view.tasks])[J]  # [g, s]
    room = np.array([view.workers[:, task.worker_type] for task in view.tasks])[J]
    has_ps = np.array([view.ps[:, task.ps_type] >= 1 for task in view.tasks])[J]
    there = ready <= H[:, None]
    parts = [
        np.argwhere(there & has_ps & (room >= N[:, None]) & xi[:, None]),
        np.stack([np.flatnonzero(~xi), np.full((~xi).sum(), -1)], axis=1),
        np.argwhere(there & (room >= 1) & ~xi[:, None]),
        np.argwhere(there & has_ps & ~xi[:, None]),
    ]
    kind = np.repeat(np.arange(4), [len(part) for part in parts])
    group, server = np.concatenate(parts).T
    most_here = np.minimum(N[group], room[group, server])
    times = np.ones(len(kind), dtype=np.int64)
    if shapes is not None:
        counted = (kind == 2) & (room[group, server] >= 3)
        times[counted] = most_here[counted]
    kind, group, server, most_here = (
        np.repeat(each, times) for each in (kind, group, server, most_here)
    )
    single = np.repeat(times == 1, times)
    amount = np.where(single, 1, during(np.ones_like(times), times)[1])
    amount = np.select([kind == 0, kind == 2], [N[group], amount])
    chosen = kind <= 1
    count = len(kind)
    columns = np.arange(count)
    x_of = np.full(len(groups), -1)
    x_of[group[kind == 1]] = columns[kind == 1]

    flow = H + D - 1 - np.array([task.arrival for task in view.tasks], dtype=np.int64)[J]
    cost = np.where(chosen, -1.0 if view.is_batch else flow[group], 0.0)
    most_here = np.where(single, most_here, 1)
    upper = np.where(kind == 2, most_here, 1).astype(float)
    rows = Rows(count)
    once = np.ones(len(view.tasks))
    rows.add(
        "eq_3" if view.is_batch else "eq_4c",
        (J[group[chosen]], columns[chosen], 1.0),
        upper=once,
        **({} if view.is_batch else {"lower": once}),
    )
    split = np.flatnonzero(~xi)
    row_of = np.full(len(groups), -1)
    row_of[split] = np.arange(len(split))
    zero = np.zeros(len(split))
    for name, number, of_mode in (("eq_2e_mode", 2, N[split]), ("eq_2b_mode", 3, 1)):
        mine = kind == number
        rows.add(
            name,
            (row_of[group[mine]], columns[mine], amount[mine] if number == 2 else 1.0),
            (row_of[split], x_of[split], -of_mode),
            lower=zero,
            upper=zero,
        )
    linked = columns[kind == 2]
    pair = group[linked] * len(view.workers) + server[linked]
    first, link = np.unique(pair, return_index=True, return_inverse=True)[1:]
    first = linked[first]
    rows.add(
        "eq_2i_link",
        (link, linked, 1.0),
        (np.arange(len(first)), x_of[group[first]], -most_here[first]),
        upper=np.zeros(len(first)),
    )
    capacity_rows = []
    for name, kinds, types, capacity in (
        ("eq_2g", (0, 2), "worker_type", view.workers),
        ("eq_2h", (0, 3), "ps_type", view.ps),
    ):
        mine = columns[np.isin(kind, kinds)]
        which = np.array([getattr(task, types) for task in view.tasks])[J[group[mine]]]
        taken = amount[mine] if name == "eq_2g" else np.ones(len(mine), dtype=np.int64)
        at, slot = during(H[group[mine]] - view.first, D[group[mine]])
        pair = server[mine] * capacity.shape[1] + which
        cells, row = np.unique(pair[at] * view.slots + slot, return_inverse=True)
        which_cell = np.stack([*divmod(cells // view.slots, capacity.shape[1]), cells % view.slots])
        capacity_rows.append((sum(number for _, number in rows.sets), which_cell.T))
        rows.add(
            name,
            (row, mine[at], taken[at]),
            upper=capacity.ravel()[cells // view.slots],
        )
    if shapes:
        held = _held(view, groups, group, server, amount)
        for shape, price in shapes.items():
            cut = shape_rows(held, shape, view.workers, price > 0)
            rows.add("cut_shape", (cut.row, cut.column, cut.entry), upper=cut.room)
    if orders and not view.is_batch:
        on = columns[(kind == 0) | (kind == 2)]
        for s, r in equal_servers(view):
            here, away = on[server[on] == s], on[server[on] == r]
            rows.add("cut_servers", (0, here, amount[here]), (0, away, -amount[away]), lower=[0])
        for i, j in equal_jobs(view):
            a, b = (columns[chosen & (J[group] == task_of[job])] for job in (i, j))
            rows.add("cut_jobs", (0, a, H[group[a]]), (0, b, -H[group[b]]), upper=[0])
    if most is not None:
        rows.add("cut_better", (0, columns, cost), upper=[most])
    matrix, row_lower, row_upper = rows.arrays()
    program = LinearProgram(
        cost=cost,
        lower=np.zeros(count),
        upper=upper,
        matrix=matrix,
        row_lower=row_lower,
        row_upper=row_upper,
        integer=np.ones(count, dtype=bool),
        row_names=rows.names(),
    )
    return ModeProgram(program, tuple(groups), group, server, kind, amount, tuple(capacity_rows))


def _held(view: Problem, groups: Sequence[Group], group: Ints, server: Ints, count: Ints) -> Held:
    worker_type = {task.job: task.worker_type for task in view.tasks}
    column = np.flatnonzero(count)
    own = [groups[g] for g in group[column]]
    return Held(
        column,
        count[column],
        server[column],
        np.array([worker_type[g.job] for g in own], dtype=np.int64),
        np.array([g.start for g in own], dtype=np.int64) - view.first,
        np.array([g.mode.duration for g in own], dtype=np.int64),
    )
