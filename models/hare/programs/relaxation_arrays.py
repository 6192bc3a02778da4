"""The relaxation as arrays: its linear rows, and tangent cuts to (9) for sets of tasks.

With binary y, an item is a task and a machine is a GPU. With continuous y, an item is a class of
identical tasks of a round, a machine is a class of equal GPUs, and y is the share of an item on it.
This loses nothing: the rows are convex and symmetric in the tasks and GPUs of a class. So these may
take the mean of their values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareArrays, HareInstance, arrays
from schedgap.models.hare.integer_time import identical_jobs
from schedgap.solvers.loops.cutting_planes import Rows as NewRows
from schedgap.solvers.loops.cutting_planes import with_rows
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.builder import Block, ProgramBuilder

Ints = NDArray[np.int64]
MAX_CUTS = 200  # most rows that a round of separation adds for a machine
_SLACK = 1e-6  # violation of a row up to which it is not added, relative to A^2
_ZERO_SHARE = 1e-9  # smaller shares count as 0


@dataclass(frozen=True, slots=True, eq=False)
class RelaxationItems:
    """Items and machines of the program; index letters g item, k machine."""

    count: Floats  # [g] number of tasks of the item
    round: Ints  # [g] index over the rounds of all jobs
    head: Floats  # [g] earliest start
    train: Floats  # [g, k] T^c
    duration: Floats  # [g, k] T^c + T^s
    unit: Floats  # [g, k] tasks of an item per GPU of the machine, if the item's share there is 1
    gpu: Ints  # [k] one of its GPUs
    kind: Ints  # [k] class of its GPUs
    task_item: Ints  # [i] item of each task


@dataclass(frozen=True, slots=True, eq=False)
class BaseRelaxation:
    """The relaxation without rows (9); columns x[g], y[g, k], z[g, k] = x y and barriers b[q]."""

    program: LinearProgram
    items: RelaxationItems
    x: Block
    y: Block
    z: Block


@dataclass(frozen=True, slots=True, eq=False)
class LoadCut:
    """Tangent to row (9) for a set of items on a machine, at the load `load`."""

    machine: int
    items: Ints
    load: float


def _items(view: HareArrays, *, integer: bool) -> RelaxationItems:
    """Return one item per task and one machine per GPU, or per class of each for continuous y."""
    groups, machines = view.alike, list(view.class_gpus)
    if integer:
        groups, machines = [(i,) for i in range(view.tasks)], [(m,) for m in range(view.gpus)]
    first, gpu = np.array([group[0] for group in groups]), np.array([gpus[0] for gpus in machines])
    count = np.array([float(len(group)) for group in groups])
    task_item = np.empty(view.tasks, dtype=np.int64)
    for g, group in enumerate(groups):
        task_item[list(group)] = g
    kind = view.gpu_class[gpu]
    return RelaxationItems(
        count=count,
        round=view.task_round[first],
        head=view.head[first],
        train=view.train[first][:, kind],
        duration=view.duration[first][:, kind],
        unit=count[:, None] / [len(gpus) for gpus in machines],
        gpu=gpu,
        kind=kind,
        task_item=task_item,
    )


def build(instance: HareInstance, *, limit: float, integer: bool) -> BaseRelaxation:
    """Build the linear rows of the relaxation.

    `limit`: upper bound U on the starts, in the instance's time unit; see `relaxation.start_limit`.
    `integer`: binary y by task and GPU; else continuous y by classes of both.

    Notes
    -----
    The rows `cut_*` only remove symmetric copies of solutions: identical jobs complete in list
    order. With binary y, identical tasks of a round start in order of their numbers, and equal GPUs
    are ordered by load. With continuous y, the classes already remove the symmetry.
    """
    view = arrays(instance)
    item = _items(view, integer=integer)
    items, machines = item.train.shape
    last = view.job_rounds[1:] - 1  # [n] last round
    is_last = np.isin(item.round, last)
    later = ~np.isin(item.round, view.job_rounds[:-1])  # items that are not in a first round
    builder = ProgramBuilder()
    end = limit + float(item.duration.max())
    barrier_cost = np.zeros(view.rounds)
    barrier_cost[last] = view.weight
    grid = (items, machines)
    starts = builder.columns("x", items, lower=item.head, upper=limit)
    shares = builder.columns("y", grid, upper=1.0, integer=integer)
    products = builder.columns("z", grid, upper=limit)
    x, y, z = starts.positions, shares.positions, products.positions
    b = builder.columns("b", view.rounds, cost=barrier_cost, upper=end).positions
    g = np.arange(items)
    row, pair = g[:, None], np.arange(y.size).reshape(grid)  # rows by item, and by item and machine

    # (5) sum_k y = 1, and z = x y by sum_k z = x and head y <= z <= U y
    builder.rows("eq_5", items, (row, y, 1.0), lower=1.0, upper=1.0)
    builder.rows("lin_start", items, (row, z, 1.0), (g, x, -1.0), lower=0.0, upper=0.0)
    builder.rows("lin_lower", y.size, (pair, z, 1.0), (pair, y, -item.head[:, None]), lower=0.0)
    builder.rows("lin_upper", y.size, (pair, z, 1.0), (pair, y, -limit), upper=0.0)
    # (6), (7) the barrier of a round: b >= x + sum_k d y, and x >= b of the previous round
    for name, chosen in (("eq_6", is_last), ("eq_7_end", ~is_last)):
        at = np.arange(chosen.sum())
        builder.rows(
            name,
            len(at),
            (at, b[item.round[chosen]], 1.0),
            (at, x[chosen], -1.0),
            (at[:, None], y[chosen], -item.duration[chosen]),
            lower=0.0,
        )
    _ordered(builder, "eq_7_start", b[item.round[later] - 1], x[later])
    # symmetry: b of identical jobs, x of identical tasks and loads sum c y of equal GPUs in order
    before, after = _neighbours(identical_jobs(instance))
    _ordered(builder, "cut_alike_jobs", b[last[before]], b[last[after]])
    if integer:
        before, after = _neighbours(view.alike)
        _ordered(builder, "cut_alike_tasks", x[before], x[after])
        before, after = _neighbours(view.class_gpus)
        at = np.arange(len(before))
        builder.rows(
            "cut_load",
            len(at),
            (at, y[:, before], item.train[:, before]),
            (at, y[:, after], -item.train[:, after]),
            lower=0.0,
        )
    column_names = [
        *(f"x[{i}]" for i in range(items)),
        *(f"{letter}[{i},{k}]" for letter in "yz" for i, k in np.ndindex(grid)),
        *(f"b[{q}]" for q in range(view.rounds)),
    ]
    program = replace(builder.program(names=True), column_names=column_names)
    return BaseRelaxation(program, item, starts, shares, products)


def _ordered(builder: ProgramBuilder, name: str, before: Ints, after: Ints) -> None:
    """Add the rows `before <= after` for two arrays of columns."""
    at = np.arange(len(before))
    builder.rows(name, len(at), (at, after, 1.0), (at, before, -1.0), lower=0.0)


def _neighbours(groups: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return the first and the second elements of all consecutive pairs within the groups."""
    pairs = [pair for group in groups for pair in pairwise(group)]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


# --- cuts --------------------------------------------------------------------------------------


def cut_rows(relaxed: BaseRelaxation, cuts: Sequence[LoadCut]) -> NewRows:
    """Return cuts as rows over the columns of the relaxation.

    `relaxed`: the relaxation whose items and machines the cuts refer to. `cuts`: one row each, in
    this order.

    Notes
    -----
    Let S be the items of a cut, and u the tasks of an item per GPU and unit of share. The load is
    A = sum u c y, and the row is A^2 <= sum u (2 c z + c^2 y). It holds for every S in every
    schedule, because the tasks of S on a GPU run one after another. So sum c x is at least the sum
    of c c' over all pairs, which is (A^2 - sum c^2) / 2. The square lies above its tangents:
    A^2 >= 2 A* A - A*^2. So replacing A^2 by the tangent at A* gives a valid linear row.
    """
    item, builder = relaxed.items, ProgramBuilder()
    builder.columns("column", len(relaxed.program.cost))
    terms = []
    for number, cut in enumerate(cuts):
        g, k = cut.items, cut.machine
        weight, train = item.unit[g, k] * item.train[g, k], item.train[g, k]
        terms.append((number, relaxed.y.at(g, k), weight * (2 * cut.load - train)))
        terms.append((number, relaxed.z.at(g, k), -2 * weight))
    builder.rows("eq_9", len(cuts), *terms, upper=[cut.load**2 for cut in cuts])
    rows = builder.program()
    return NewRows(rows.row_lower, rows.row_upper, rows.matrix)


def with_cuts(relaxed: BaseRelaxation, cuts: Sequence[LoadCut]) -> LinearProgram:
    """Return the program with cuts as its last rows.

    `relaxed`: the relaxation without rows (9). `cuts`: its cuts, in the order of the rows.
    """
    return with_rows(relaxed.program, cut_rows(relaxed, cuts)) if cuts else relaxed.program


def disaggregated(cuts: Sequence[LoadCut], view: HareArrays) -> list[LoadCut]:
    """Return cuts over classes as cuts over tasks and GPUs: one for each GPU of the class.

    Their sum over the GPUs is the original cut, so the relaxation over tasks and GPUs is at least
    as strong.

    `cuts`: cuts of the relaxation with continuous y.
    """
    members = [np.array(group) for group in view.alike]
    return [
        replace(cut, machine=m, items=np.sort(np.concatenate([members[g] for g in cut.items])))
        for cut in cuts
        for m in view.class_gpus[cut.machine]
    ]


Separate = Callable[[BaseRelaxation, Floats], list[LoadCut]]


def separate_full_set(relaxed: BaseRelaxation, values: Floats) -> list[LoadCut]:
    """Return the violated rows (9) as printed, for the set of all items of a machine.

    `values` [j]: the point to separate.

    The rows are tangents at the loads of the point, at most one per machine.
    """
    item, y, z = relaxed.items, relaxed.y.extract(values), relaxed.z.extract(values)
    every, cuts = np.arange(len(item.count)), []
    for k in range(y.shape[1]):
        load, excess = _excess(item, k, every, y, z)
        if excess[-1] > 0:
            cuts.append(LoadCut(k, every, float(load[-1])))
    return cuts


def separate_prefixes(relaxed: BaseRelaxation, values: Floats) -> list[LoadCut]:
    """Return violated rows (9) for subsets of the items of a machine, at most MAX_CUTS each.

    `values` [j]: the point to separate.

    The rows are tangents at the loads of the point. There are none only if the rows of all subsets
    hold.

    Notes
    -----
    On each machine the most violated set is a prefix of the items in the order of
    h = z / y + c / 2. Let S with load A maximise the violation. Removing or adding one item shows
    h <= A - u c y / 2 inside S and h >= A + u c y / 2 outside. So only prefixes are checked. This
    is the separation of Queyranne (1993) for the completion-time polyhedron of one machine, with
    fractional assignment.

    References
    ----------
    M. Queyranne, "Structure of a simple scheduling polyhedron", Mathematical Programming 58 (1993).
    """
    item, y, z = relaxed.items, relaxed.y.extract(values), relaxed.z.extract(values)
    cuts = []
    for k in range(y.shape[1]):
        there = np.flatnonzero(y[:, k] > _ZERO_SHARE)
        middle = z[there, k] / y[there, k] + item.train[there, k] / 2
        order = there[np.argsort(middle, kind="stable")]
        load, excess = _excess(item, k, order, y, z)
        violated = np.flatnonzero(excess > 0)
        if len(violated) > MAX_CUTS:
            spread = violated[np.linspace(0, len(violated) - 1, MAX_CUTS).astype(int)]
            violated = np.union1d(spread, violated[np.argmax(excess[violated])])
        cuts += [LoadCut(k, np.sort(order[: p + 1]), float(load[p])) for p in violated]
    return cuts


def _excess(
    item: RelaxationItems, k: int, order: Ints, y: Floats, z: Floats
) -> tuple[Floats, Floats]:
    """Return the load A of each prefix of an order, and A^2 - sum u (2 c z + c^2 y).

    The latter is reduced by the violation up to which no row is added.
    """
    train = item.train[order, k]
    weight = item.unit[order, k] * train
    load = np.cumsum(weight * y[order, k])
    right = np.cumsum(weight * (2 * z[order, k] + train * y[order, k]))
    return load, load**2 - right - _SLACK * (1 + load**2)
