"""The relaxation as arrays: linear rows, and (9) of sets of tasks as tangents where violated.

With binary y an item is a task and a machine a GPU. With continuous y, alike tasks of a round and
equal GPUs can take the mean of their values, since the rows are convex and treat them alike: an
item is then a class of tasks, and a machine a class of GPUs, so that y is an item's share on it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from schedgap.instances.hare import HareArrays, HareInstance, arrays
from schedgap.solvers.loops.cutting_planes import Rows as NewRows
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.rows import Rows

Ints = NDArray[np.int64]
MOST_CUTS = 200  # of one machine in one round of separation, spread over all that are violated
_EMPTY = 1e-9  # shares below are none


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """What the program is written over; index letters g item, k machine."""

    count: Floats  # [g] tasks of the item
    job: Ints  # [g]
    round: Ints  # [g] over all jobs
    head: Floats  # [g] earliest start
    train: Floats  # [g, k] T^c
    duration: Floats  # [g, k] T^c + T^s
    size: Floats  # [k] GPUs of the machine
    gpu: Ints  # [k] one of its GPUs
    task_item: Ints  # [i]

    @property
    def unit(self) -> Floats:
        """[g, k] tasks that one GPU of the machine trains of an item whose share there is 1."""
        return self.count[:, None] / self.size


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """The program without any row (9); columns x[g], y[g, k], z[g, k] and barriers b[q]."""

    program: LinearProgram
    items: Items

    def split(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Return x [g], y [g, k] and z [g, k]."""
        items, machines = self.items.train.shape
        x, y, z = np.split(
            values[: items + 2 * items * machines], [items, items + items * machines]
        )
        return x, y.reshape(items, machines), z.reshape(items, machines)


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Row (9) for a set of items on a machine, by its tangent where the load is `load`.

    `release` (ours): starts count from the earliest head of the set on.
    """

    machine: int
    items: Ints
    load: float
    release: bool = False


def items_of(view: HareArrays, *, integer: bool) -> Items:
    """Return tasks and GPUs, or for continuous y their classes."""
    groups: list[tuple[int, ...]] = [(i,) for i in range(view.tasks)]
    machines: list[tuple[int, ...]] = [(m,) for m in range(view.gpus)]
    if not integer:
        groups, machines = view.alike, list(view.class_gpus)
    first = np.array([group[0] for group in groups])
    gpu = np.array([group[0] for group in machines])
    count = np.array([len(group) for group in groups])
    task_item = np.empty(view.tasks, dtype=np.int64)
    task_item[np.concatenate(groups)] = np.repeat(np.arange(len(groups)), count)
    kind = view.gpu_class[gpu]
    return Items(
        count=count.astype(float),
        job=view.task_job[first],
        round=view.task_round[first],
        head=view.head[first],
        train=view.train[first][:, kind],
        duration=view.duration[first][:, kind],
        size=np.array([float(len(group)) for group in machines]),
        gpu=gpu,
        task_item=task_item,
    )


def build(instance: HareInstance, *, limit: float, integer: bool) -> Relaxed:
    """Return the linear rows of the relaxation; solves nothing.

    Parameters
    ----------
    limit : float
        U of `relaxation.limit`, in the instance's time unit.
    integer : bool
        y binary, by task and GPU; or continuous, by classes of both.

    Notes
    -----
    The rows `cut_` take away symmetric copies only: jobs that are alike complete in list order,
    and for binary y alike tasks of a round start in number order and equal GPUs are ordered by
    load. For continuous y that is done by the classes.
    """
    view = arrays(instance)
    item = items_of(view, integer=integer)
    items, machines = item.train.shape
    g = np.arange(items)
    grid = g[:, None] * machines + np.arange(machines)  # [g, k] numbers 0, 1, ...
    x, y, z = g, items + grid, items + grid.size + grid
    b = items + 2 * grid.size + np.arange(view.rounds)
    row = np.broadcast_to(g[:, None], grid.shape)
    last = view.job_rounds[1:] - 1
    is_last = np.isin(item.round, last)
    later = ~np.isin(item.round, view.job_rounds[:-1])

    rows = Rows(items + 2 * grid.size + view.rounds)
    rows.add("eq_5", (row, y, 1.0), lower=np.ones(items), upper=np.ones(items))
    rows.add("lin_start", (row, z, 1.0), (g, x, -1.0), lower=np.zeros(items), upper=np.zeros(items))
    rows.add("lin_lower", (grid, z, 1.0), (grid, y, -item.head[:, None]), lower=np.zeros(grid.size))
    rows.add("lin_upper", (grid, z, 1.0), (grid, y, -limit), upper=np.zeros(grid.size))
    for name, chosen in (("eq_6", is_last), ("eq_7_end", ~is_last)):
        at = np.arange(chosen.sum())
        rows.add(
            name,
            (at, b[item.round[chosen]], 1.0),
            (at, x[chosen], -1.0),
            (at[:, None], y[chosen], -item.duration[chosen]),
            lower=np.zeros(len(at)),
        )
    at = np.arange(later.sum())
    rows.add(
        "eq_7_start",
        (at, x[later], 1.0),
        (at, b[item.round[later] - 1], -1.0),
        lower=np.zeros(len(at)),
    )
    before, after = _neighbours(_alike_jobs(view))
    at = np.arange(len(before))
    rows.add(
        "cut_alike_jobs",
        (at, b[last[after]], 1.0),
        (at, b[last[before]], -1.0),
        lower=np.zeros(len(at)),
    )
    if integer:
        before, after = _neighbours(view.alike)
        at = np.arange(len(before))
        rows.add(
            "cut_alike_tasks", (at, x[after], 1.0), (at, x[before], -1.0), lower=np.zeros(len(at))
        )
        before, after = _neighbours(view.class_gpus)
        at = np.broadcast_to(np.arange(len(before)), (items, len(before)))
        rows.add(
            "cut_load",
            (at, y[:, before], item.train[:, before]),
            (at, y[:, after], -item.train[:, after]),
            lower=np.zeros(len(before)),
        )
    end = limit + float(item.duration.max())
    cost = np.zeros(rows.columns)
    cost[b[last]] = view.weight
    lower, upper = np.zeros(rows.columns), np.full(rows.columns, end)
    lower[x], upper[x], upper[y], upper[z] = item.head, limit, 1.0, limit
    kinds = np.zeros(rows.columns, dtype=bool)
    kinds[y] = integer
    matrix, row_lower, row_upper = rows.arrays()
    program = LinearProgram(
        cost, lower, upper, matrix, row_lower, row_upper, kinds if integer else None,
        row_names=rows.names(),
        column_names=[
            *(f"x[{i}]" for i in range(items)),
            *(f"{letter}[{i},{k}]" for letter in "yz" for i, k in np.ndindex(grid.shape)),
            *(f"b[{q}]" for q in range(view.rounds)),
        ],
    )  # fmt: skip
    return Relaxed(program, item)


def _neighbours(groups: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return the first and the second of all pairs that follow each other in a group."""
    pairs = [pair for group in groups for pair in pairwise(group)]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _alike_jobs(view: HareArrays) -> list[list[int]]:
    """Classes of jobs with equal arrival, weight, rounds and times, in list order."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for n in range(view.jobs):
        rounds = slice(view.job_rounds[n], view.job_rounds[n + 1] + 1)
        ends = view.round_tasks[rounds]
        tasks = slice(ends[0], ends[-1])
        key = (
            view.arrival[n],
            view.weight[n],
            (ends - ends[0]).tobytes(),
            view.train[tasks].tobytes(),
            view.sync[tasks].tobytes(),
        )
        groups.setdefault(key, []).append(n)
    return list(groups.values())


# --- cuts --------------------------------------------------------------------------------------


def rows_of(relaxed: Relaxed, cuts: Sequence[Cut]) -> NewRows:
    """Return cuts as rows over the columns of the program.

    Notes
    -----
    For the items S of a cut, u tasks of an item on one GPU per share, A = sum u c y the load:
    A^2 <= sum u (2 c z - 2 rho c y + c^2 y), with rho = 0, or the least head in S. It holds for any
    S in any schedule: if the tasks of S on the GPU start at rho or later, one after another, then
    sum c (x - rho) is at least sum over pairs of c c' = (A^2 - sum c^2) / 2. The square lies above
    its tangent, A^2 >= 2 A* A - A*^2.
    """
    item = relaxed.items
    items, machines = item.train.shape
    rows = Rows(len(relaxed.program.cost))
    terms = []
    for number, cut in enumerate(cuts):
        g, k = cut.items, cut.machine
        weight, train = item.unit[g, k] * item.train[g, k], item.train[g, k]
        rho = float(item.head[g].min()) if cut.release else 0.0
        y = items + g * machines + k
        z = y + items * machines
        terms.append((number, y, weight * (2 * cut.load + 2 * rho - train)))
        terms.append((number, z, -2 * weight))
    rows.add("eq_9", *terms, upper=[cut.load**2 for cut in cuts])
    matrix, row_lower, row_upper = rows.arrays()
    return NewRows(row_lower, row_upper, matrix)


def with_cuts(relaxed: Relaxed, cuts: Sequence[Cut]) -> LinearProgram:
    """Return the program with cuts as its last rows."""
    if not cuts:
        return relaxed.program
    program, rows = relaxed.program, rows_of(relaxed, cuts)
    return replace(
        program,
        matrix=sparse.vstack([program.matrix, rows.matrix], format="csr"),
        row_lower=np.append(program.row_lower, rows.lower),
        row_upper=np.append(program.row_upper, rows.upper),
        row_names=[
            *(program.row_names or ()),
            *(f"eq_9[{number}]" for number in range(1, len(cuts) + 1)),
        ],
    )


def single(cuts: Sequence[Cut], view: HareArrays) -> list[Cut]:
    """Return cuts over classes as cuts over tasks and GPUs: one for each GPU of the class.

    Their sum over the GPUs is the cut, so the linear relaxation over tasks and GPUs is as strong.
    """
    members = [np.array(group) for group in view.alike]
    return [
        replace(cut, machine=m, items=np.sort(np.concatenate([members[g] for g in cut.items])))
        for cut in cuts
        for m in view.class_gpus[cut.machine]
    ]


Separate = Callable[[Relaxed, Floats], list[Cut]]


def full_set(relaxed: Relaxed, values: Floats) -> list[Cut]:
    """Return the tangent to each machine's row (9) as printed, for all items, if violated."""
    every = np.arange(len(relaxed.items.count))
    _, y, z = relaxed.split(values)
    cuts = []
    for k in range(y.shape[1]):
        load, excess = _excess(relaxed.items, k, every, y, z, 0.0)
        if excess[-1] > _tolerance(load[-1]):
            cuts.append(Cut(k, every, float(load[-1])))
    return cuts


def prefixes(relaxed: Relaxed, values: Floats) -> list[Cut]:
    """Return cuts for the subsets of items whose row (9) is violated (ours).

    On each machine the most violated set is a prefix of the items by h = z / y + c / 2: if S, with
    load A, is a maximiser, taking an item out or in shows h <= A - u c y / 2 inside and
    h >= A + u c y / 2 outside. So the rows of all subsets hold as soon as those of prefixes do.
    """
    _, y, z = relaxed.split(values)
    cuts = []
    for k in range(y.shape[1]):
        order = _by_middle(relaxed.items, k, y, z, 0.0)
        cuts += _violated(relaxed.items, k, order, y, z, release=False)
    return cuts


def prefixes_from_release(relaxed: Relaxed, values: Floats) -> list[Cut]:
    """Return violated cuts for prefixes of the items with a head of rho or later, for every rho."""
    _, y, z = relaxed.split(values)
    item, cuts = relaxed.items, prefixes(relaxed, values)
    for k in range(y.shape[1]):
        for rho in np.unique(item.head[item.head > 0]):
            order = _by_middle(item, k, y, z, rho)
            cuts += _violated(item, k, order, y, z, release=True)
    return cuts


def _by_middle(item: Items, k: int, y: Floats, z: Floats, rho: float) -> Ints:
    """Items with a share on machine k and a head of rho or later, by h."""
    there = np.flatnonzero((y[:, k] > _EMPTY) & (item.head >= rho))
    middle = z[there, k] / y[there, k] + item.train[there, k] / 2
    return there[np.argsort(middle, kind="stable")]


def _violated(
    item: Items, k: int, order: Ints, y: Floats, z: Floats, *, release: bool
) -> list[Cut]:
    """Cuts of the violated prefixes of an order, at most MOST_CUTS."""
    if not len(order):
        return []
    rho = np.minimum.accumulate(item.head[order]) if release else 0.0
    load, excess = _excess(item, k, order, y, z, rho)
    found = np.flatnonzero(excess > _tolerance(load))
    if len(found) > MOST_CUTS:
        spread = found[np.linspace(0, len(found) - 1, MOST_CUTS).astype(int)]
        found = np.union1d(spread, found[np.argmax(excess[found])])
    return [Cut(k, np.sort(order[: place + 1]), float(load[place]), release) for place in found]


def _excess(
    item: Items, k: int, order: Ints, y: Floats, z: Floats, rho: Floats | float
) -> tuple[Floats, Floats]:
    """Load A of each prefix of an order, and A^2 less the right side of its row."""
    train = item.train[order, k]
    weight = item.unit[order, k] * train
    load = np.cumsum(weight * y[order, k])
    right = np.cumsum(weight * (2 * z[order, k] + train * y[order, k])) - 2 * rho * load
    return load, load**2 - right


def _tolerance(load: Floats) -> Floats:
    return np.asarray(1e-6 * (1 + load**2))
