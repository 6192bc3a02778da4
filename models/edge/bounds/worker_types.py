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

Lemma (cut). Let the jobs that run in a slot have w_j workers in a class of C workers, or in both
classes, and let an integer u >= 1 be given. Then sum floor(w_j / u) <= floor(C / u): the left side
is an integer, and at most sum w_j / u. With u = floor(C / k) + 1, at most k - 1 jobs have u workers
or more at a time, which fractional columns need not respect. Capacity is the case u = 1.

References
----------
J. P. Sousa, L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992): the relaxation over start times.
J. M. van den Akker, C. A. J. Hurkens, M. W. P. Savelsbergh, "Time-indexed formulations for machine
scheduling problems: column generation", INFORMS Journal on Computing 12 (2000).
V. Chvatal, "Edmonds polytopes and a hierarchy of combinatorial problems", Discrete Mathematics 4
(1973): rounding of a row.
F. Glover, "Surrogate constraint duality in mathematical programming", Operations Research (1975):
sums of rows as a relaxation.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints
from schedgap.models.edge.decisions import CompiledInstance, CompiledJob, compiled
from schedgap.models.edge.programs.dual import LARGEST, rounded
from schedgap.models.mechanisms.restricted_master import MasterSolution, Priced, RestrictedMaster
from schedgap.models.method import Budget
from schedgap.solvers.loops.column_generation import Columns
from schedgap.solvers.programs.builder import Entries

KIND = "type-bound"
CLASSES = ("edge", "cloud", "all")
BLOCK = 4  # slots that share a price at first
# The blocks of a type are halved again as long as it has taken less of its time.
REFINE_SHARE, REFINE_SECONDS = 0.3, 2.0
GAP = 0.0005  # relative difference between master and bound at which a type ends
PARTS = 2, 3, 4, 5  # k of the lemma, of the cuts that are tried
VIOLATED = 0.01  # relative: a cut that the master violates by more gets a row
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


class ClassRow(NamedTuple):
    """A row of the master in each block: a job with w workers there counts as floor(w / unit)."""

    where: int  # index of `CLASSES`
    unit: int


CAPACITY = ClassRow(0, 1), ClassRow(1, 1)
NO_PRICES = {"slots": 1, "block": 1, "prices": {"edge": [], "cloud": []}, "cuts": []}


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


def _class_workers(view: CompiledInstance, worker_type: int) -> tuple[int, int]:
    """Return the workers of a type in each class."""
    W, is_cloud = view.workers[:, worker_type], arrays(view.instance).is_cloud
    return int(W[~is_cloud].sum()), int(W[is_cloud].sum())


def class_cuts(view: CompiledInstance, worker_type: int) -> list[ClassRow]:
    """Return the cuts of the lemma that some job can count in."""
    edge, cloud = _class_workers(view, worker_type)
    tasks = [task for task in view.tasks if task.worker_type == worker_type]
    widest = max(mode.workers for task in tasks for mode in task.modes)
    cuts = {
        ClassRow(where, workers // k + 1)
        for where, workers in enumerate((edge, cloud, edge + cloud))
        for k in PARTS
        if 1 < workers // k + 1 <= min(widest, workers)
    }
    return sorted(cuts)


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
    """The jobs of one worker type, and their cheapest columns under prices [row, block].

    `slots`: number H of slots with prices. Columns that end later cost only their c_j - a_j, which
    is at least H + 1 - a_j; so the bound is valid for every H. `block`: number of slots that share
    a price. `cuts`: rows after the two of `CAPACITY`.

    Attributes
    ----------
    rows : tuple of ClassRow
    capacity : array [row]
        What the jobs that run in a slot may count together.
    lengths : array [block]
        Numbers of slots.
    late_costs : list of float
        Least cost of each job if it ends after slot H; inf if it cannot.
    ceiling : float
        More than the jobs cost in any schedule.
    """

    def __init__(
        self,
        view: CompiledInstance,
        worker_type: int,
        slots: int,
        block: int,
        cuts: Sequence[ClassRow] = (),
    ) -> None:
        self.slots, self.block = slots, block
        self.tasks = [task for task in view.tasks if task.worker_type == worker_type]
        is_cloud = arrays(view.instance).is_cloud
        self._jobs = [_job_classes(view, task, is_cloud) for task in self.tasks]
        self.rows = (*CAPACITY, *cuts)
        self.capacity = self.counted(*_class_workers(view, worker_type))
        ends = np.minimum(slots, block * (1 + np.arange(-(-slots // block))))
        self.lengths = np.diff(ends, prepend=0)
        self.late_costs = [
            math.inf if slots >= view.slots else float(max(job.alone, slots - job.arrival))
            for job in self._jobs
        ]
        self.ceiling = 1.0 + sum(view.last - task.arrival for task in self.tasks)
        self._last: list[list[MergedColumn]] = [[] for _ in self.tasks]  # columns of the last round

    def counted(self, edge: int, cloud: int) -> Ints:
        """Return what workers in the two classes count as [row]."""
        workers = edge, cloud, edge + cloud
        return np.array([workers[row.where] // row.unit for row in self.rows])

    def prefix_sums(self, prices: Floats) -> Floats:
        """Return the sums of prices [row, slot] over all slots before each slot.

        `prices` [row, block]: price of a unit for one slot.
        """
        cells = np.repeat(prices, self.lengths, axis=1)
        return np.concatenate([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)], axis=1)

    def cost(self, column: MergedColumn, sums: Floats) -> float:
        """Return c_j - a_j of a column plus the prices of its workers.

        `column`: of any job of the type. `sums` [row, slot]: from `prefix_sums`.
        """
        end = column.start + column.duration
        window = sums[:, end] - sums[:, column.start]
        return column.flow + float(window @ self.counted(*column.workers))

    def cheapest(
        self, task: int, sums: Floats, upper: float = math.inf
    ) -> tuple[float, list[MergedColumn]]:
        """Return the least cost of a job, and its cheapest columns, at most one of each mode.

        `task`: index into `tasks`. `sums` [row, slot]: from `prefix_sums`. `upper`: cost of some
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
        priced = [(row, own) for row, own in zip(self.rows, sums, strict=True) if own[-1]]
        window = [(row, own[start + d] - own[start]) for row, own in priced]  # [k, h]

        def paid(cloud: Ints | int) -> Floats:
            """Return the prices of the workers, so many of them in the cloud."""
            workers = n - cloud, cloud, n
            total = np.zeros(start.shape)
            for row, price in window:
                total += workers[row.where] // row.unit * price
            return total

        epoch = np.searchsorted(job.since, start, side="right") - 1
        capacity, one_server = job.capacity[epoch], job.one_server[epoch]  # [k, h, class]
        together = job.colocated[use, None]
        # Colocated: one of the classes, if it has a server that is large enough.
        fits = (one_server >= n[:, :, None]) & together[:, :, None]
        cloud = np.where(fits[:, :, 0], 0, n)
        cost = np.where(fits[:, :, 0], paid(0), np.inf)
        # Split: between two numbers of workers in the cloud. Prices are linear in it but for jumps:
        # just below a jump upwards, or at the ends, they are least.
        least = np.maximum(0, n - capacity[:, :, 0])
        most = np.minimum(n, capacity[:, :, 1])
        jumps = [
            (where, below)
            for where, unit in (row for row, _ in priced if row.unit > 1 and row.where < 2)
            for below in range(unit - 1, min(int(n.max()), int(self.capacity[where])), unit)
        ]
        numbers = chain(
            (least, most),
            (np.clip(below if where else n - below, least, most) for where, below in jumps),
        )
        split = ((~together, number) for number in numbers)
        for allowed, number in chain([(fits[:, :, 1], n)], split):
            other = np.where(allowed, paid(number), np.inf)
            cloud, cost = np.where(other < cost, number, cloud), np.minimum(cost, other)
        cost = np.where(inside, cost + (start + d - 1 - job.arrival), np.inf)
        best = cost.argmin(axis=1)
        value = cost[np.arange(len(use)), best]
        columns = []
        for k in np.argsort(value, kind="stable")[:MAX_COLUMNS].tolist():
            h = int(best[k])
            if not math.isfinite(value[k]):
                continue
            at, in_cloud = int(start[k, h]), int(cloud[k, h])
            workers = int(n[k, 0]) - in_cloud, in_cloud
            length = int(d[k, 0])
            columns.append(MergedColumn(task, at, length, workers, at + length - 1 - job.arrival))
        return min(late, float(value.min())), columns

    def bound(self, prices: Floats) -> tuple[float, list[float], list[list[MergedColumn]]]:
        """Return the Lagrangian bound of prices, the least cost and cheapest columns of each job.

        `prices` [row, block]: multiples of `programs.dual.STEP`. If they are too large to be
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
    rows: tuple[ClassRow, ...]
    prices: Floats  # [row, block]
    bound: float
    master: float | None = None  # objective
    rounds: int = 0
    starts: Mapping[int, float] = field(default_factory=dict)
    """Mean start in the master by job (index in the instance)."""


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
    coarse: TypeBound | None = None,
    on_better: Callable[[TypeBound], None] = lambda better: None,
) -> TypeBound:
    """Bound the jobs of one worker type by column generation and cutting planes.

    `view`: the instance; every job of the type fits on the empty network. `block`: number of slots
    that share a price. `gap`: relative difference between master and bound at which to stop.
    `coarse`: known prices for blocks of twice this size.
    `on_better`: called with every bound whose next integer is larger than before.
    """
    slots = priced_slots(view, worker_type)
    block = max(1, min(block, slots))
    types = TypeRelaxation(view, worker_type, slots, block, class_cuts(view, worker_type))
    capacity = np.outer(types.capacity, types.lengths)  # [row, block]
    prices = np.zeros(capacity.shape)
    if coarse is not None:
        prices = np.repeat(coarse.prices, 2, axis=1)[:, : len(types.lengths)]
    present = prices > 0
    present[: len(CAPACITY)] = True
    bound = types.bound(prices)[0]  # without prices, of all jobs alone
    best = TypeBound(worker_type, slots, block, types.rows, prices, bound)
    if coarse is not None:
        best = replace(best, starts=coarse.starts)
    on_better(best)
    columns: list[MergedColumn] = []

    def report(bound: float, prices: Floats) -> None:
        nonlocal best
        if bound > best.bound:
            before, best = best.bound, replace(best, bound=bound, prices=prices)
            if math.ceil(bound) > math.ceil(before):
                on_better(best)

    while True:
        before = best.bound
        solution = _generate(types, present, columns, best.prices, budget, gap, report)
        columns += solution.result.tags
        starts: dict[int, float] = {}
        usage = np.zeros(capacity.shape)
        for column, share in solution.support:
            job = types.tasks[column.task].job
            starts[job] = starts.get(job, 0.0) + share * (column.start + view.first)
            blocks, overlap = types.block_overlap(column)
            usage[:, blocks] += share * np.outer(types.counted(*column.workers), overlap)
        result, rounds = solution.result, best.rounds + solution.result.rounds
        if result.end != "closed" and best.starts:  # a stopped master has worse ones
            starts = dict(best.starts)
        best = replace(best, master=result.objective, rounds=rounds, starts=starts)
        violated = (usage > (1 + VIOLATED) * capacity) & ~present
        gained = best.bound - before > gap * best.bound
        if budget.clock.expired() or not (gained and violated.any()):
            return best
        present |= violated


def _generate(
    types: TypeRelaxation,
    present: Bools,
    columns: Sequence[MergedColumn],
    prices: Floats,
    budget: Budget,
    gap: float,
    on_bound: Callable[[float, Floats], None],
) -> MasterSolution[MergedColumn]:
    """Generate columns for a master with some rows.

    `present` [row, block]: whether the master has a row. `columns`, `prices` [row, block]: to begin
    with. `gap`: as for `solve_type`. `on_bound`: called with every better bound, and its prices.
    """
    master: RestrictedMaster[MergedColumn] = RestrictedMaster()
    jobs = master.rows("job", len(types.tasks), lower=1.0, upper=1.0)
    # In units of whole blocks: sum of workers x slots / block <= capacity x length / block.
    upper = np.outer(types.capacity, types.lengths / types.block)[present]
    rows = master.rows("capacity", len(upper), upper=upper)
    position = np.full(present.shape, -1)
    position[present] = rows.positions

    def in_master(fresh: Sequence[MergedColumn]) -> Columns:
        entries: list[Entries] = []
        for column in fresh:
            blocks, overlap = types.block_overlap(column)
            parts: list[tuple[Any, Any]] = [(jobs.at(column.task), 1.0)]
            for row, count in enumerate(types.counted(*column.workers).tolist()):
                at = position[row, blocks]
                if count:
                    parts.append((at[at >= 0], count * overlap[at >= 0] / types.block))
            entries.append(parts)
        return master.columns([column.flow for column in fresh], entries, fresh)

    def prices_of(duals: Floats) -> Floats:
        found = np.zeros(present.shape)
        found[present] = rounded(-rows.extract(duals) / types.block)
        return found

    def pricing(duals: Floats) -> Priced:
        bound, least, cheapest = types.bound(prices_of(duals))
        fresh = [
            column
            for task in range(len(least))
            if least[task] < duals[task] - 1e-9
            for column in cheapest[task]
        ]
        return Priced(in_master(fresh) if fresh else None, bound)

    # An artificial column of each job that cannot end late costs more than every schedule.
    master.begin(master.artificial(jobs, np.minimum(types.late_costs, types.ceiling)))
    master.begin(in_master(columns))
    return master.solve(
        pricing,
        clock=budget.clock,
        gap=gap,
        seed=budget.seed,
        threads=budget.threads,
        duals=master.duals({rows: -prices[present] * types.block}),
        on_bound=lambda bound, duals: on_bound(bound, prices_of(duals)),
    )


def solve_types(
    view: CompiledInstance,
    *,
    budget: Budget,
    block: int = BLOCK,
    on_better: Callable[[Sequence[TypeBound]], None] = lambda better: None,
) -> list[TypeBound]:
    """Bound all worker types, that with the highest load last, which gets the remaining time.

    `view`: the instance; every job fits on the empty network. `block`: number of slots that share a
    price at first; it is halved while enough time is left. `on_better`: called with the bounds of
    all types so far whenever one of them improves.
    """
    types = used_types(view)
    load = {u: _load_per_worker(view, u) for u in types}
    bounds: list[TypeBound] = []

    def report(others: Sequence[TypeBound], better: TypeBound) -> None:
        on_better(_by_type([*others, better]))

    for k, worker_type in enumerate(sorted(types, key=load.__getitem__)):
        own = budget.share(1.0 / (len(types) - k))
        refining = own.clock.share(REFINE_SHARE, most=REFINE_SECONDS)
        solve = partial(
            solve_type, view, worker_type, budget=own, on_better=partial(report, bounds)
        )
        bound = solve(block=block)
        while bound.block % 2 == 0 and not refining.expired():
            bound = solve(block=bound.block // 2, coarse=bound)
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
                    CLASSES[row.where]: _block_prices(own)
                    for row, own in zip(CAPACITY, bound.prices[: len(CAPACITY)], strict=True)
                },
                "cuts": [
                    {"workers": CLASSES[row.where], "unit": row.unit, "prices": _block_prices(own)}
                    for row, own in zip(bound.rows, bound.prices, strict=True)
                    if row not in CAPACITY and own.any()
                ],
            }
            for bound in bounds
        ],
    }


def _block_prices(prices: Floats) -> list[list[float]]:
    return [[int(b) + 1, float(prices[b])] for b in np.flatnonzero(prices)]


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
        entry = given.get(instance.worker_types[worker_type], NO_PRICES)
        slots, block, cuts = entry["slots"], entry["block"], entry["cuts"]
        tasks = [task for task in view.tasks if task.worker_type == worker_type]
        limit = min(view.slots, max(1, _max_priced_slots(tasks)))
        if not (1 <= slots <= limit and 1 <= block <= slots):
            raise ValueError("slots, block: need numbers >= 1 within the horizon, and not too many")
        rows = [ClassRow(CLASSES.index(cut["workers"]), cut["unit"]) for cut in cuts]
        types = TypeRelaxation(view, worker_type, slots, block, rows)
        if not all(1 <= count < max(PARTS) for count in types.capacity[len(CAPACITY) :]):
            raise ValueError("cuts: need units of which few fit into the workers")
        prices = np.zeros((len(types.rows), len(types.lengths)))
        of_classes = (entry["prices"][CLASSES[row.where]] for row in CAPACITY)
        for row, own in enumerate([*of_classes, *(cut["prices"] for cut in cuts)]):
            for b, price in own:
                if not (1 <= b <= prices.shape[1] and 0 <= price < LARGEST):
                    raise ValueError("prices: need numbers >= 0 of blocks that there are")
                prices[row, b - 1] = price
        bounds.append(types.bound(rounded(prices))[0])
    return sum_of_bounds(bounds)
