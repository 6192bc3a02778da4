"""The bound `type-bound` (ours): edge servers as one, clouds as one, worker type by worker type.

Without the rows of the PSs the worker types have nothing in common. All edge servers are merged
into one class, all clouds into another: a class holds at most the workers of its servers that are
ready, and a job together with its PS as many as one ready server with a PS has. Workers of the same
type fill the units of a class interval by interval, so that merging loses only that a worker stays
where it is ready, and that a job together needs one server. Every schedule, cut to modes, is one of
classes with the same c_j - a_j. Prices are for a class and a block of slots; all sums are exact.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints
from schedgap.models.edge.decisions import Problem, Task, problem
from schedgap.models.edge.programs.dual import LARGEST, Prices, rounded
from schedgap.solvers import Clock
from schedgap.solvers.loops.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.programs.arrays import LinearProgram

KIND = "type-bound"
CLASSES = ("edge", "cloud")
BLOCK = 4  # slots that share a price
GAP = 0.002  # relative, between master and bound of a type
MOST_COLUMNS = 10  # new ones of each job in a round
MOST_SLOTS = 20_000  # with prices
MOST_STARTS = 3_000_000  # modes of one job x slots


class Column(NamedTuple):
    """A mode of a job from a start on, with its workers in each class."""

    task: int  # index among the tasks of the type
    start: int  # from 0, the window's first slot
    duration: int
    workers: tuple[int, int]  # by class
    flow: int  # c_j - a_j


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """The modes of a job and what the classes have for them as time goes on.

    What is ready changes at few times: `since` [e], and from then on `room` workers are ready in
    each class and `beside` is the most that one ready server with a PS has.
    """

    workers: Ints  # [k] n
    duration: Ints  # [k] d
    together: Any  # [k] bool
    earliest: Ints  # [k] first start, from 0
    since: Ints  # [e] ascending, from 0
    room: Ints  # [e, class]
    beside: Ints  # [e, class]
    arrival: int  # a_j - 1 slots before the window's first
    least: int  # least c_j - a_j alone


def _choice(view: Problem, task: Task, is_cloud: Any) -> _Choice:
    able = [k for k, slot in enumerate(task.earliest) if slot is not None]
    modes = [task.modes[k] for k in able]
    since = np.unique(task.ready)
    here = task.ready[None, :] <= since[:, None]  # [e, s]
    W = view.workers[:, task.worker_type]
    with_ps = np.where(view.ps[:, task.ps_type] >= 1, W, 0)
    sides = [~is_cloud, is_cloud]
    least = view.least_flow(task)
    assert least is not None
    return _Choice(
        workers=np.array([mode.workers for mode in modes]),
        duration=np.array([mode.duration for mode in modes]),
        together=np.array([mode.together for mode in modes]),
        earliest=np.array([task.earliest[k] for k in able], dtype=np.int64) - view.first,
        since=since - view.first,
        room=np.stack([np.where(here & side, W, 0).sum(axis=1) for side in sides], axis=1),
        beside=np.stack([np.where(here & side, with_ps, 0).max(axis=1) for side in sides], axis=1),
        arrival=task.arrival - view.first,
        least=least,
    )


class TypeProblem:
    """The jobs of one worker type, and the cheapest columns of each under prices [class, block].

    Parameters
    ----------
    slots, block : int
        Number H of slots with prices, and how many of them share one. Columns that end later are
        free of charge, with a c_j - a_j of at least H + 1 - a_j; so any H is valid.
    """

    def __init__(self, view: Problem, worker_type: int, slots: int, block: int) -> None:
        self.slots, self.block = slots, block
        self.tasks = [task for task in view.tasks if task.worker_type == worker_type]
        is_cloud = arrays(view.instance).is_cloud
        self.choices = [_choice(view, task, is_cloud) for task in self.tasks]
        W = view.workers[:, worker_type]
        self.capacity = np.array([W[~is_cloud].sum(), W[is_cloud].sum()])  # [class]
        ends = np.minimum(slots, block * (1 + np.arange(-(-slots // block))))
        self.lengths = np.diff(ends, prepend=0)  # [block] slots
        late = [slots - choice.arrival for choice in self.choices]
        closed = slots >= view.slots
        self.late = [
            math.inf if closed else float(max(choice.least, flow))
            for choice, flow in zip(self.choices, late, strict=True)
        ]
        self._last: list[list[Column]] = [[] for _ in self.tasks]

    def sums(self, prices: Floats) -> Floats:
        """Return the sums of prices [class, slot] before each slot."""
        cells = np.repeat(prices, self.lengths, axis=1)
        return np.concatenate([np.zeros((2, 1)), np.cumsum(cells, axis=1)], axis=1)

    def cost(self, column: Column, sums: Floats) -> float:
        """Return the cost of a column under prices."""
        end = column.start + column.duration
        window = sums[:, end] - sums[:, column.start]
        return column.flow + float(window @ np.array(column.workers))

    def cheapest(
        self, task: int, sums: Floats, known: float = math.inf
    ) -> tuple[float, list[Column]]:
        """Return the least cost of a job, and its cheapest columns, one of each mode at most.

        `known`: the cost of some column; dearer ones need not be looked at.
        """
        choice, late = self.choices[task], self.late[task]
        most = min(late, known)
        lo = choice.earliest
        hi = np.full(len(lo), self.slots) - choice.duration  # last start
        if math.isfinite(most):  # c_j - a_j alone must not exceed it
            hi = np.minimum(hi, math.floor(most) + choice.arrival - choice.duration + 1)
        use = np.flatnonzero(hi >= lo)
        if not len(use):
            return late, []
        lo, hi = lo[use], hi[use]
        n, d = choice.workers[use, None], choice.duration[use, None]
        start = lo[:, None] + np.arange(int((hi - lo).max()) + 1)
        inside = start <= hi[:, None]
        start = np.minimum(start, hi[:, None])
        window = sums[:, start + d] - sums[:, start]  # [class, k, h]
        epoch = np.searchsorted(choice.since, start, side="right") - 1
        room, beside = choice.room[epoch], choice.beside[epoch]  # [k, h, class]
        # Together: in the class where it fits and is cheaper.
        fits = beside >= n[:, :, None]
        alone = np.where(fits, np.moveaxis(window, 0, 2) * n[:, :, None], np.inf)
        # Split: as many as there is room for in the cheaper class, the rest in the other.
        cheaper = (window[1] < window[0]).astype(np.int64)
        first = np.minimum(n, np.where(cheaper == 1, room[:, :, 1], room[:, :, 0]))
        low, high = np.minimum(window[0], window[1]), np.maximum(window[0], window[1])
        spread = first * low + (n - first) * high
        cost = np.where(choice.together[use, None], alone.min(axis=2), spread)
        cost = np.where(inside, cost + (start + d - 1 - choice.arrival), np.inf)
        best = cost.argmin(axis=1)
        value = cost[np.arange(len(use)), best]
        columns = []
        for k in np.argsort(value, kind="stable")[:MOST_COLUMNS].tolist():
            h = int(best[k])
            if not math.isfinite(value[k]):
                continue
            number, at = int(n[k, 0]), int(start[k, h])
            if choice.together[use[k]]:
                where = int(alone[k, h].argmin())
                spread_over = (number, 0) if where == 0 else (0, number)
            else:
                some = int(first[k, h])
                spread_over = (number - some, some) if cheaper[k, h] else (some, number - some)
            length = int(d[k, 0])
            flow = at + length - 1 - choice.arrival
            columns.append(Column(task, at, length, spread_over, flow))
        return min(late, float(value.min())), columns

    def bound(self, prices: Floats) -> tuple[float, list[float], list[list[Column]]]:
        """Return the bound that prices prove, each job's least cost, and its cheapest columns."""
        sums = self.sums(prices)
        paid = float((prices * self.lengths).sum(axis=1) @ self.capacity)
        if not paid < LARGEST:
            return -math.inf, [], []
        least, columns = [], []
        for task in range(len(self.tasks)):
            known = min((self.cost(column, sums) for column in self._last[task]), default=math.inf)
            value, found = self.cheapest(task, sums, known)
            self._last[task] = found or self._last[task]
            least.append(min(value, known))
            columns.append(found)
        return math.fsum(least) - paid, least, columns

    def entries(self, columns: Sequence[Column]) -> Any:
        """Return the entries of columns, sparse [i, l]: jobs, then classes x blocks in slots."""
        rows, cols, values = [], [], []
        jobs, blocks = len(self.tasks), len(self.lengths)
        for at, column in enumerate(columns):
            rows.append(np.array([column.task]))
            cols.append(np.array([at]))
            values.append(np.ones(1))
            end = column.start + column.duration
            touched = np.arange(column.start // self.block, (end - 1) // self.block + 1)
            begins = touched * self.block
            overlap = np.minimum(end, begins + self.block) - np.maximum(column.start, begins)
            for which, number in enumerate(column.workers):
                if number:
                    rows.append(jobs + which * blocks + touched)
                    cols.append(np.full(len(touched), at))
                    values.append(number * overlap / self.block)
        shape = (jobs + 2 * blocks, len(columns))
        if not columns:
            return sparse.csc_array(shape)
        index = (np.concatenate(rows), np.concatenate(cols))
        return sparse.csc_array((np.concatenate(values), index), shape=shape)


@dataclass(frozen=True, slots=True, eq=False)
class TypeBound:
    """Prices [class, block] of one worker type, the bound they prove, and the master's value.

    `starts`: the mean start of each job (by index in the instance) in the last master.
    """

    worker_type: int
    slots: int
    block: int
    prices: Floats
    bound: float
    master: float | None
    rounds: int
    starts: Mapping[int, float]


def horizon(view: Problem, worker_type: int) -> int:
    """Return a number of slots after which little is contended, for prices; any is valid."""
    tasks = [task for task in view.tasks if task.worker_type == worker_type]
    ready = max(max(slot for slot in task.earliest if slot is not None) for task in tasks)
    shortest = max(min(mode.duration for mode in task.modes) for task in tasks)
    slots = ready - view.first + math.ceil(crowded(view, worker_type)) + shortest
    return max(1, min(view.slots, slots, most_slots(tasks)))


def most_slots(tasks: Sequence[Task]) -> int:
    """Return how many slots may have prices: what is asked of each start fits into memory."""
    return min(MOST_SLOTS, MOST_STARTS // max(len(task.modes) for task in tasks))


def solve_type(
    view: Problem,
    worker_type: int,
    *,
    clock: Clock,
    block: int = BLOCK,
    gap: float = GAP,
    seed: int = 0,
    threads: int = 1,
    on_better: Callable[[TypeBound], None] = lambda found: None,
) -> TypeBound:
    """Bound the jobs of one worker type by column generation; needs that each has a schedule.

    `on_better` hears of every bound that is higher by one, with the prices that prove it.
    """
    slots = horizon(view, worker_type)
    block = max(1, min(block, slots))
    types = TypeProblem(view, worker_type, slots, block)
    jobs, blocks = len(types.tasks), len(types.lengths)
    ceiling = 1.0 + sum(view.last - task.arrival for task in types.tasks)
    spare = np.minimum(types.late, ceiling)
    room = np.outer(types.capacity, types.lengths / block).ravel()
    master = LinearProgram.nonnegative(
        spare,
        sparse.eye_array(jobs + 2 * blocks, jobs, format="csc"),
        row_lower=np.concatenate([np.ones(jobs), np.full(2 * blocks, -np.inf)]),
        row_upper=np.concatenate([np.ones(jobs), room]),
    )

    def prices(duals: Floats) -> Floats:
        return rounded(-duals[jobs:].reshape(2, blocks) / block)

    at, told = np.zeros((2, blocks)), -math.inf

    def pricing(duals: Floats) -> Priced:
        nonlocal at
        at = prices(duals)
        bound, least, columns = types.bound(at)
        fresh = [
            column
            for task in range(len(least))
            if least[task] < duals[task] - 1e-9
            for column in columns[task]
        ]
        if not fresh:
            return Priced(None, bound)
        flows = [column.flow for column in fresh]
        return Priced(Columns(flows, types.entries(fresh), fresh), bound)

    def better(bound: float) -> None:  # comes right after the pricing that has proved it
        nonlocal told
        if math.ceil(bound) > told:
            told = math.ceil(bound)
            on_better(TypeBound(worker_type, slots, block, at, bound, None, 0, {}))

    result = generate_columns(
        master,
        pricing,
        clock=clock,
        gap=gap,
        seed=seed,
        threads=threads,
        prices=np.zeros(jobs + 2 * blocks),  # so never below the jobs alone
        on_bound=better,
    )
    best = np.zeros((2, blocks)) if result.prices is None else prices(result.prices)
    starts: dict[int, float] = {}
    if result.values is not None:
        for column, share in zip(result.tags, result.values[jobs:].tolist(), strict=True):
            job = types.tasks[column.task].job
            starts[job] = starts.get(job, 0.0) + share * (column.start + view.first)
    bound = result.bound if result.bound is not None else types.bound(best)[0]
    return TypeBound(
        worker_type, slots, block, best, bound, result.objective, result.rounds, starts
    )


def solve_types(
    view: Problem,
    *,
    clock: Clock,
    block: int = BLOCK,
    seed: int = 0,
    threads: int = 1,
    on_better: Callable[[Sequence[TypeBound]], None] = lambda found: None,
) -> list[TypeBound]:
    """Bound all worker types, the hardest last: what the others leave of their time is theirs.

    `on_better` hears of what is known of all that are done or begun, each time that is more.
    """
    types = used_types(view)
    work = {u: crowded(view, u) for u in types}
    found: list[TypeBound] = []
    for k, worker_type in enumerate(sorted(types, key=work.__getitem__)):
        done = tuple(found)
        one = solve_type(
            view,
            worker_type,
            clock=clock.share(1.0 / (len(types) - k)),
            block=block,
            seed=seed,
            threads=threads,
            on_better=lambda begun, done=done: on_better(_in_order([*done, begun])),  # type: ignore[misc]
        )
        found = _in_order([*found, one])
    return found


def _in_order(found: Sequence[TypeBound]) -> list[TypeBound]:
    return sorted(found, key=lambda each: each.worker_type)


def crowded(view: Problem, worker_type: int) -> float:
    """Return the worker-slots that jobs of a type ask for, per worker."""
    tasks = [task for task in view.tasks if task.worker_type == worker_type]
    work = sum(min(mode.workers * mode.duration for mode in task.modes) for task in tasks)
    return work / max(1, int(view.workers[:, worker_type].sum()))


def used_types(view: Problem) -> list[int]:
    """Return the worker types that jobs ask for."""
    return sorted({task.worker_type for task in view.tasks})


def total(bounds: Sequence[float]) -> float:
    """Return the sum over the types: each type's c_j - a_j sum up to a whole number."""
    return float(sum(math.ceil(bound) for bound in bounds))


def bound_of(view: Problem, found: Sequence[TypeBound]) -> float:
    """Return what some types prove for all jobs: those of the others count as if alone."""
    known = {each.worker_type for each in found}
    rest = [task for task in view.tasks if task.worker_type not in known]
    alone = sum(view.least_flow(task) or 0 for task in rest)
    return total([each.bound for each in found]) + alone


def server_prices(view: Problem, found: Sequence[TypeBound], slots: int) -> Prices:
    """Return the prices of classes by server, for the first so many slots.

    By server a job has fewer ways to run, so that they tend to prove more.
    """
    workers = np.zeros((*view.workers.shape, slots))
    which = arrays(view.instance).is_cloud.astype(np.int64)
    for each in found:
        cells = np.repeat(each.prices, each.block, axis=1)[:, : min(slots, each.slots)]
        workers[:, each.worker_type, : cells.shape[1]] = cells[which]
    return Prices(workers, np.zeros((*view.ps.shape, slots)))


def certificate(instance: EdgeInstance, found: Sequence[TypeBound]) -> dict[str, Any]:
    """Return the prices as plain JSON data; slots and blocks count from 1."""
    return {
        "kind": KIND,
        "types": [
            {
                "worker_type": instance.worker_types[each.worker_type],
                "slots": each.slots,
                "block": each.block,
                "prices": {
                    name: [[int(b) + 1, float(each.prices[c, b])] for b in np.flatnonzero(row)]
                    for c, (name, row) in enumerate(zip(CLASSES, each.prices, strict=True))
                },
            }
            for each in found
        ],
    }


def certified(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that a certificate proves; a type that it leaves out has no prices."""
    view, bounds = problem(instance), []
    given = {each["worker_type"]: each for each in data["types"]}
    for name in given:
        if name not in instance.worker_types:
            raise ValueError(f"no worker type {name}")
    for worker_type in used_types(view):
        each = given.get(instance.worker_types[worker_type])
        slots, block = (1, 1) if each is None else (each["slots"], each["block"])
        own = [task for task in view.tasks if task.worker_type == worker_type]
        if not (1 <= slots <= min(view.slots, max(1, most_slots(own))) and 1 <= block <= slots):
            raise ValueError("slots, block: need numbers >= 1 within the horizon, and not too many")
        types = TypeProblem(view, worker_type, slots, block)
        prices = np.zeros((2, len(types.lengths)))
        for c, kind in enumerate(CLASSES):
            for b, price in [] if each is None else each["prices"][kind]:
                if not (1 <= b <= prices.shape[1] and 0 <= price < LARGEST):
                    raise ValueError("prices: need numbers >= 0 of blocks that there are")
                prices[c, b - 1] = price
        bounds.append(types.bound(rounded(prices))[0])
    return total(bounds)
