"""The bound `type-bound`: one relaxation for each worker type, with merged servers and no PSs.

Without the capacities (2h) of the PSs, worker types are independent, so their bounds add up. For
each type, all edge servers are merged into one class and all clouds into another. A class offers
the workers of its ready servers; a colocated job may use as many workers as one ready server with a
PS has. The workers of a class are interchangeable, and runs are intervals of time, so merging
relaxes only that a worker stays on a ready server and that a colocated job needs a single one.
Every schedule, reduced to modes, is feasible for the merged classes with the same c_j - a_j.

The relaxation (4) over classes is solved by column generation, with prices by class and block of
slots: the capacity rows of the slots of a block are added up, which weakens the bound and makes the
master small. All sums are exact, as in `programs.dual`.

References
----------
J. P. Sousa, L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992): the relaxation over start times.
J. M. van den Akker, C. A. J. Hurkens, M. W. P. Savelsbergh, "Time-indexed formulations for machine
scheduling problems: column generation", INFORMS Journal on Computing 12 (2000).
F. Glover, "Surrogate constraint duality in mathematical programming", Operations Research (1975):
sums of rows as a relaxation.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints
from schedgap.models.edge.decisions import CompiledInstance, CompiledJob, compiled
from schedgap.models.edge.programs.dual import LARGEST, rounded
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster
from schedgap.models.method import Budget
from schedgap.solvers.programs.builder import Entries

KIND = "type-bound"
CLASSES = ("edge", "cloud")
BLOCK = 4  # slots that share a price
GAP = 0.002  # relative difference between master and bound at which a type ends
MAX_COLUMNS = 10  # new ones of each job in a round
MAX_SLOTS = 20_000  # with prices
MAX_STARTS = 3_000_000  # modes of one job x slots

Bools = NDArray[np.bool_]


class MergedColumn(NamedTuple):
    """A mode of a job from a start on, with its workers in each class."""

    task: int  # index among the tasks of the type
    start: int  # from 0, the window's first slot
    duration: int
    workers: tuple[int, int]  # by class
    flow: int  # c_j - a_j


@dataclass(frozen=True, slots=True, eq=False)
class _JobClasses:
    """Modes k of a job, and what the classes offer it over time.

    The set of ready servers changes in few slots, `since` [e]. From then on `capacity` workers are
    ready in each class, and `one_server` is the largest number on one ready server with a PS.
    """

    workers: Ints  # [k] n
    duration: Ints  # [k] d
    colocated: Bools  # [k]
    earliest: Ints  # [k] first start, from 0
    since: Ints  # [e] ascending, from 0
    capacity: Ints  # [e, class]
    one_server: Ints  # [e, class]
    arrival: int  # a_j, from 0
    alone: int  # least c_j - a_j alone on the network


def _job_classes(view: CompiledInstance, task: CompiledJob, is_cloud: Bools) -> _JobClasses:
    able = [k for k, slot in enumerate(task.earliest) if slot is not None]
    modes = [task.modes[k] for k in able]
    since = np.unique(task.ready)
    ready = task.ready[None, :] <= since[:, None]  # [e, s]
    W = view.workers[:, task.worker_type]
    with_ps = np.where(view.ps[:, task.ps_type] >= 1, W, 0)
    classes = [~is_cloud, is_cloud]
    alone = view.minimum_flow(task)
    assert alone is not None
    return _JobClasses(
        workers=np.array([mode.workers for mode in modes]),
        duration=np.array([mode.duration for mode in modes]),
        colocated=np.array([mode.colocated for mode in modes]),
        earliest=np.array([task.earliest[k] for k in able], dtype=np.int64) - view.first,
        since=since - view.first,
        capacity=np.stack([np.where(ready & c, W, 0).sum(axis=1) for c in classes], axis=1),
        one_server=np.stack([np.where(ready & c, with_ps, 0).max(axis=1) for c in classes], axis=1),
        arrival=task.arrival - view.first,
        alone=alone,
    )


class TypeRelaxation:
    """The jobs of one worker type, and their cheapest columns under prices [class, block].

    `slots`: number H of slots with prices. Columns that end later cost only their c_j - a_j, which
    is at least H + 1 - a_j; so the bound is valid for every H. `block`: number of slots that share
    a price.

    Attributes
    ----------
    capacity : array [class]
        Workers of the type.
    lengths : array [block]
        Numbers of slots.
    late_costs : list of float
        Least cost of each job if it ends after slot H; inf if it cannot.
    """

    def __init__(self, view: CompiledInstance, worker_type: int, slots: int, block: int) -> None:
        self.slots, self.block = slots, block
        self.tasks = [task for task in view.tasks if task.worker_type == worker_type]
        is_cloud = arrays(view.instance).is_cloud
        self._jobs = [_job_classes(view, task, is_cloud) for task in self.tasks]
        W = view.workers[:, worker_type]
        self.capacity = np.array([W[~is_cloud].sum(), W[is_cloud].sum()])
        ends = np.minimum(slots, block * (1 + np.arange(-(-slots // block))))
        self.lengths = np.diff(ends, prepend=0)
        self.late_costs = [
            math.inf if slots >= view.slots else float(max(job.alone, slots - job.arrival))
            for job in self._jobs
        ]
        self._last: list[list[MergedColumn]] = [[] for _ in self.tasks]  # columns of the last round

    def prefix_sums(self, prices: Floats) -> Floats:
        """Return the sums of prices [class, slot] over all slots before each slot.

        `prices` [class, block]: price of one worker for one slot.
        """
        cells = np.repeat(prices, self.lengths, axis=1)
        return np.concatenate([np.zeros((2, 1)), np.cumsum(cells, axis=1)], axis=1)

    def cost(self, column: MergedColumn, sums: Floats) -> float:
        """Return c_j - a_j of a column plus the prices of its workers.

        `column`: of any job of the type. `sums` [class, slot]: from `prefix_sums`.
        """
        end = column.start + column.duration
        window = sums[:, end] - sums[:, column.start]
        return column.flow + float(window @ np.array(column.workers))

    def cheapest(
        self, task: int, sums: Floats, upper: float = math.inf
    ) -> tuple[float, list[MergedColumn]]:
        """Return the least cost of a job, and its cheapest columns, at most one of each mode.

        `task`: index into `tasks`. `sums` [class, slot]: from `prefix_sums`. `upper`: cost of some
        column: costlier columns need not be considered.
        """
        job, late = self._jobs[task], self.late_costs[task]
        limit = min(late, upper)
        lo = job.earliest
        hi = np.full(len(lo), self.slots) - job.duration  # last start of each mode
        if math.isfinite(limit):  # prices are >= 0, so c_j - a_j <= limit
            hi = np.minimum(hi, math.floor(limit) + job.arrival - job.duration + 1)
        use = np.flatnonzero(hi >= lo)
        if not len(use):
            return late, []
        # All modes k at once, h = 0, 1, ... starts after the earliest; arrays [k, h].
        lo, hi = lo[use], hi[use]
        n, d = job.workers[use, None], job.duration[use, None]
        start = lo[:, None] + np.arange(int((hi - lo).max()) + 1)
        inside = start <= hi[:, None]
        start = np.minimum(start, hi[:, None])
        window = sums[:, start + d] - sums[:, start]  # [class, k, h] price of one worker
        epoch = np.searchsorted(job.since, start, side="right") - 1
        capacity, one_server = job.capacity[epoch], job.one_server[epoch]  # [k, h, class]
        # Colocated: the cheaper class among those with a server that is large enough.
        fits = one_server >= n[:, :, None]
        by_class = np.where(fits, np.moveaxis(window, 0, 2) * n[:, :, None], np.inf)
        # Split: as many workers as possible in the cheaper class, the others in the other one.
        cheaper = (window[1] < window[0]).astype(np.int64)
        first = np.minimum(n, np.where(cheaper == 1, capacity[:, :, 1], capacity[:, :, 0]))
        low, high = np.minimum(window[0], window[1]), np.maximum(window[0], window[1])
        split_cost = first * low + (n - first) * high
        cost = np.where(job.colocated[use, None], by_class.min(axis=2), split_cost)
        cost = np.where(inside, cost + (start + d - 1 - job.arrival), np.inf)
        best = cost.argmin(axis=1)
        value = cost[np.arange(len(use)), best]
        columns = []
        for k in np.argsort(value, kind="stable")[:MAX_COLUMNS].tolist():
            h = int(best[k])
            if not math.isfinite(value[k]):
                continue
            number, at = int(n[k, 0]), int(start[k, h])
            in_cheaper = number if job.colocated[use[k]] else int(first[k, h])
            which = int(by_class[k, h].argmin() if job.colocated[use[k]] else cheaper[k, h])
            rest = number - in_cheaper
            workers = (rest, in_cheaper) if which else (in_cheaper, rest)
            length = int(d[k, 0])
            columns.append(MergedColumn(task, at, length, workers, at + length - 1 - job.arrival))
        return min(late, float(value.min())), columns

    def bound(self, prices: Floats) -> tuple[float, list[float], list[list[MergedColumn]]]:
        """Return the Lagrangian bound of prices, the least cost and cheapest columns of each job.

        `prices` [class, block]: multiples of `programs.dual.STEP`. If they are too large to be
        summed exactly, the bound is -inf.
        """
        sums = self.prefix_sums(prices)
        charge = float((prices * self.lengths).sum(axis=1) @ self.capacity)
        if not charge < LARGEST:
            return -math.inf, [], []
        least, columns = [], []
        for task in range(len(self.tasks)):
            upper = min((self.cost(column, sums) for column in self._last[task]), default=math.inf)
            value, cheapest = self.cheapest(task, sums, upper)
            self._last[task] = cheapest or self._last[task]
            least.append(min(value, upper))
            columns.append(cheapest)
        return math.fsum(least) - charge, least, columns

    def block_overlap(self, column: MergedColumn) -> tuple[Ints, Ints]:
        """Return the blocks that a column runs in, and the number of its slots in each of them.

        `column`: of any job of the type.
        """
        end = column.start + column.duration
        blocks = np.arange(column.start // self.block, (end - 1) // self.block + 1)
        begins = blocks * self.block
        overlap = np.minimum(end, begins + self.block) - np.maximum(column.start, begins)
        return blocks, overlap


@dataclass(frozen=True, slots=True, eq=False)
class TypeBound:
    """Prices of one worker type, the bound that they prove, and the last master."""

    worker_type: int
    slots: int
    block: int
    prices: Floats  # [class, block]
    bound: float
    master: float | None  # objective
    rounds: int
    starts: Mapping[int, float]  # mean start in the master by job (index in the instance)


def priced_slots(view: CompiledInstance, worker_type: int) -> int:
    """Return the number of slots to price: after them there is little contention."""
    tasks = [task for task in view.tasks if task.worker_type == worker_type]
    ready = max(max(slot for slot in task.earliest if slot is not None) for task in tasks)
    shortest = max(min(mode.duration for mode in task.modes) for task in tasks)
    slots = ready - view.first + math.ceil(_load_per_worker(view, worker_type)) + shortest
    return max(1, min(view.slots, slots, _max_priced_slots(tasks)))


def _max_priced_slots(tasks: Sequence[CompiledJob]) -> int:
    """Return the limit on slots with prices for which the arrays of `cheapest` fit into memory."""
    return min(MAX_SLOTS, MAX_STARTS // max(len(task.modes) for task in tasks))


def solve_type(
    view: CompiledInstance,
    worker_type: int,
    *,
    budget: Budget,
    block: int = BLOCK,
    gap: float = GAP,
    on_better: Callable[[TypeBound], None] = lambda better: None,
) -> TypeBound:
    """Bound the jobs of one worker type by column generation.

    `view`: the instance; every job of the type fits on the empty network. `block`: number of slots
    that share a price. `gap`: relative difference between master and bound at which to stop.
    `on_better`: called with every bound whose next integer is larger than before.
    """
    slots = priced_slots(view, worker_type)
    block = max(1, min(block, slots))
    types = TypeRelaxation(view, worker_type, slots, block)
    blocks = len(types.lengths)
    master: RestrictedMaster[MergedColumn] = RestrictedMaster()
    jobs = master.rows("job", len(types.tasks), lower=1.0, upper=1.0)
    # In units of whole blocks: sum of workers x slots / block <= capacity x length / block.
    capacity = master.rows(
        "capacity", (2, blocks), upper=np.outer(types.capacity, types.lengths / block)
    )
    # More than every schedule costs, for an artificial column of each job that cannot end late.
    ceiling = 1.0 + sum(view.last - task.arrival for task in types.tasks)
    master.begin(master.artificial(jobs, np.minimum(types.late_costs, ceiling)))

    def entries(column: MergedColumn) -> Entries:
        in_blocks, overlap = types.block_overlap(column)
        return [
            (jobs.at(column.task), 1.0),
            *(
                (capacity.at(c, in_blocks), number * overlap / block)
                for c, number in enumerate(column.workers)
                if number
            ),
        ]

    def prices_of(duals: Floats) -> Floats:
        return rounded(-capacity.extract(duals) / block)

    def pricing(duals: Floats) -> Priced:
        bound, least, columns = types.bound(prices_of(duals))
        fresh = [
            column
            for task in range(len(least))
            if least[task] < duals[task] - 1e-9
            for column in columns[task]
        ]
        if not fresh:
            return Priced(None, bound)
        costs = [column.flow for column in fresh]
        return Priced(master.columns(costs, [entries(column) for column in fresh], fresh), bound)

    reported = -math.inf

    def report(bound: float, duals: Floats) -> None:
        nonlocal reported
        if math.ceil(bound) > reported:
            reported = math.ceil(bound)
            on_better(TypeBound(worker_type, slots, block, prices_of(duals), bound, None, 0, {}))

    solution = master.solve(
        pricing,
        clock=budget.clock,
        gap=gap,
        seed=budget.seed,
        threads=budget.threads,
        duals=np.zeros(master.height),  # the first bound is the sum over all jobs alone
        on_bound=report,
    )
    best = np.zeros((2, blocks)) if solution.duals is None else prices_of(solution.duals)
    starts: dict[int, float] = {}
    for column, share in solution.support:
        job = types.tasks[column.task].job
        starts[job] = starts.get(job, 0.0) + share * (column.start + view.first)
    bound = solution.bound if solution.bound is not None else types.bound(best)[0]
    master_value, rounds = solution.result.objective, solution.result.rounds
    return TypeBound(worker_type, slots, block, best, bound, master_value, rounds, starts)


def solve_types(
    view: CompiledInstance,
    *,
    budget: Budget,
    block: int = BLOCK,
    on_better: Callable[[Sequence[TypeBound]], None] = lambda better: None,
) -> list[TypeBound]:
    """Bound all worker types, that with the highest load last, which gets the remaining time.

    `view`: the instance; every job fits on the empty network. `block`: number of slots that share a
    price. `on_better`: called with the bounds of all types so far whenever one of them improves.
    """
    types = used_types(view)
    load = {u: _load_per_worker(view, u) for u in types}
    bounds: list[TypeBound] = []
    for k, worker_type in enumerate(sorted(types, key=load.__getitem__)):
        done = tuple(bounds)
        bound = solve_type(
            view,
            worker_type,
            budget=budget.share(1.0 / (len(types) - k)),
            block=block,
            on_better=lambda better, done=done: on_better(_by_type([*done, better])),  # type: ignore[misc]
        )
        bounds = _by_type([*bounds, bound])
    return bounds


def _by_type(bounds: Sequence[TypeBound]) -> list[TypeBound]:
    return sorted(bounds, key=lambda bound: bound.worker_type)


def _load_per_worker(view: CompiledInstance, worker_type: int) -> float:
    """Return the least worker-slots of all jobs of a type, per worker."""
    tasks = [task for task in view.tasks if task.worker_type == worker_type]
    work = sum(min(mode.workers * mode.duration for mode in task.modes) for task in tasks)
    return work / max(1, int(view.workers[:, worker_type].sum()))


def used_types(view: CompiledInstance) -> list[int]:
    """Return the worker types that have jobs."""
    return sorted({task.worker_type for task in view.tasks})


def sum_of_bounds(bounds: Sequence[float]) -> float:
    """Return the sum of the bounds of types, each rounded up, as sums of c_j - a_j are integers.

    `bounds`: one for each type.
    """
    return float(sum(math.ceil(bound) for bound in bounds))


def whole_bound(view: CompiledInstance, bounds: Sequence[TypeBound]) -> float:
    """Return the bound on all jobs from bounds of some types; other jobs count as alone.

    `bounds`: of different types.
    """
    bounded = {bound.worker_type for bound in bounds}
    others = [task for task in view.tasks if task.worker_type not in bounded]
    alone = sum(view.minimum_flow(task) or 0 for task in others)
    return sum_of_bounds([bound.bound for bound in bounds]) + alone


def certificate(instance: EdgeInstance, bounds: Sequence[TypeBound]) -> dict[str, object]:
    """Return the prices as plain JSON data; blocks count from 1.

    `bounds`: of different types.
    """
    return {
        "kind": KIND,
        "types": [
            {
                "worker_type": instance.worker_types[bound.worker_type],
                "slots": bound.slots,
                "block": bound.block,
                "prices": {
                    name: [[int(b) + 1, float(row[b])] for b in np.flatnonzero(row)]
                    for name, row in zip(CLASSES, bound.prices, strict=True)
                },
            }
            for bound in bounds
        ],
    }


def certified_bound(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that a certificate proves; types that it leaves out have no prices.

    `data`: as `certificate` returns it.

    Raises
    ------
    ValueError
        If the certificate does not fit the instance.
    """
    view, bounds = compiled(instance), []
    given = {entry["worker_type"]: entry for entry in data["types"]}
    for name in given:
        if name not in instance.worker_types:
            raise ValueError(f"no worker type {name}")
    for worker_type in used_types(view):
        entry = given.get(instance.worker_types[worker_type])
        slots, block = (1, 1) if entry is None else (entry["slots"], entry["block"])
        own = [task for task in view.tasks if task.worker_type == worker_type]
        limit = min(view.slots, max(1, _max_priced_slots(own)))
        if not (1 <= slots <= limit and 1 <= block <= slots):
            raise ValueError("slots, block: need numbers >= 1 within the horizon, and not too many")
        types = TypeRelaxation(view, worker_type, slots, block)
        prices = np.zeros((2, len(types.lengths)))
        for c, kind in enumerate(CLASSES):
            for b, price in [] if entry is None else entry["prices"][kind]:
                if not (1 <= b <= prices.shape[1] and 0 <= price < LARGEST):
                    raise ValueError("prices: need numbers >= 0 of blocks that there are")
                prices[c, b - 1] = price
        bounds.append(types.bound(rounded(prices))[0])
    return sum_of_bounds(bounds)
