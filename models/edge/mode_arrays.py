"""The program of `program_mode` as arrays, over some groups: what a search wants thousands of.

The same columns, rows, and names as the Pyomo model of the same groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedgap.models.edge.bundles import bundle_rows
from schedgap.models.edge.cost import Floats, Ints
from schedgap.models.edge.placements import Run
from schedgap.models.edge.problem import Group, Problem
from schedgap.models.edge.symmetry import equal_jobs, equal_servers
from schedgap.models.rows import Rows
from schedgap.solvers.linear import LinearProgram


@dataclass(frozen=True, slots=True, eq=False)
class ModeProgram:
    """The program, and what its columns stand for.

    Columns: X1 [group, host], then X [group], w [group, server], q [group, server] of the groups
    that are split, each in the order of `groups`.
    """

    program: LinearProgram
    groups: tuple[Group, ...]
    group: Ints  # [column] index of its group
    server: Ints  # [column] its server; -1 for X
    kind: Ints  # [column] 0 X1, 1 X, 2 w, 3 q
    capacity_rows: tuple[tuple[int, Ints], ...]  # (2g), (2h): first row; (server, type, slot) [row]

    def runs(self, values: Any) -> list[Run]:
        """Return the runs of a solution."""
        spread: dict[int, dict[int, int]] = {}
        host: dict[int, int] = {}
        for column in np.flatnonzero(np.asarray(values) > 0.5).tolist():
            g, s, kind = int(self.group[column]), int(self.server[column]), self.kind[column]
            if kind == 0:
                spread[g], host[g] = {s: self.groups[g].mode.workers}, s
            elif kind == 2:
                spread.setdefault(g, {})[s] = round(float(values[column]))
            elif kind == 3:
                host[g] = s
        return [
            Run(self.groups[g], tuple(sorted(counts.items())), host[g])
            for g, counts in spread.items()
        ]


def build(
    view: Problem,
    groups: Sequence[Group],
    *,
    most: int | None = None,
    orders: bool = True,
    bundles: Mapping[int, Floats] | None = None,
) -> ModeProgram:
    """Return the program over some groups.

    Parameters
    ----------
    most : int or None
        The most that the objective may be: `cut_better`.
    orders : bool
        Put equal jobs and equal servers of (2) in order.
    bundles : mapping or None
        Prices of bundles by their size: `cut_bundle` for those that are not 0.
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
    chosen = kind <= 1
    count = len(kind)
    columns = np.arange(count)
    x_of = np.full(len(groups), -1)
    x_of[group[kind == 1]] = columns[kind == 1]

    flow = H + D - 1 - np.array([task.arrival for task in view.tasks], dtype=np.int64)[J]
    cost = np.where(chosen, -1.0 if view.is_batch else flow[group], 0.0)
    most_here = np.minimum(N[group], room[group, server])
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
            (row_of[group[mine]], columns[mine], 1.0),
            (row_of[split], x_of[split], -of_mode),
            lower=zero,
            upper=zero,
        )
    linked = columns[kind == 2]
    links = np.arange(len(linked))
    rows.add(
        "eq_2i_link",
        (links, linked, 1.0),
        (links, x_of[group[linked]], -most_here[linked]),
        upper=np.zeros(len(linked)),
    )
    capacity_rows = []
    for name, kinds, types, capacity in (
        ("eq_2g", (0, 2), "worker_type", view.workers),
        ("eq_2h", (0, 3), "ps_type", view.ps),
    ):
        mine = columns[np.isin(kind, kinds)]
        which = np.array([getattr(task, types) for task in view.tasks])[J[group[mine]]]
        amount = np.where((kind[mine] == 0) & (name == "eq_2g"), N[group[mine]], 1)
        d = D[group[mine]]
        first = np.repeat(H[group[mine]] - view.first, d)
        slot = first + np.arange(d.sum()) - np.repeat(np.cumsum(d) - d, d)
        pair = np.repeat(server[mine] * capacity.shape[1] + which, d)
        cells, row = np.unique(pair * view.slots + slot, return_inverse=True)
        which_cell = np.stack([*divmod(cells // view.slots, capacity.shape[1]), cells % view.slots])
        capacity_rows.append((sum(number for _, number in rows.sets), which_cell.T))
        rows.add(
            name,
            (row, np.repeat(mine, d), np.repeat(amount, d)),
            upper=capacity.ravel()[cells // view.slots],
        )
    if bundles:
        own = np.flatnonzero(kind == 0)
        for k, price in bundles.items():
            cut = bundle_rows(view, groups, group[own], server[own], k, price > 0)
            rows.add("cut_bundle", (cut.row, own[cut.column], cut.entry), upper=cut.room)
    if orders and not view.is_batch:
        workers = np.where(kind == 0, N[group], 1)
        on = columns[(kind == 0) | (kind == 2)]
        for s, r in equal_servers(view):
            here, away = on[server[on] == s], on[server[on] == r]
            rows.add("cut_servers", (0, here, workers[here]), (0, away, -workers[away]), lower=[0])
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
    return ModeProgram(program, tuple(groups), group, server, kind, tuple(capacity_rows))
