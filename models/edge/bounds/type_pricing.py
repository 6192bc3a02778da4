"""The jobs of one worker type on merged servers, and their cheapest columns under given prices.

All edge servers are merged into one class and all clouds into another, as `worker_types` explains.
Prices are by row of the master and block of slots. All sums are exact, as in `programs.dual`.
"""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.edge import arrays
from schedgap.instances.edge.compiled import Floats, Ints
from schedgap.models.edge.bounds.kernel import JobModes
from schedgap.models.edge.decisions import CompiledInstance, CompiledJob
from schedgap.models.edge.programs.dual import LARGEST

MAX_COLUMNS = 10  # new ones of each job in a round

Bools = NDArray[np.bool_]
# The entries of a column, which is a mode of a job from a start on: index among the tasks of the
# type; slot from 0, the window's first; d; workers in each class; c_j - a_j; xi. Boxes limit the
# attributes; the end is a slot from 0, too.
TASK, START, DURATION, EDGE, CLOUD, FLOW, COLOCATED = range(7)
NO_COLUMNS = np.zeros((0, 7), np.int64)
ATTRIBUTES = ("start", "end", "workers", "colocated")


class ClassRow(NamedTuple):
    """A row of the master in each block: a job with w workers there counts as floor(w / unit)."""

    where: int  # 0 edge servers, 1 clouds, 2 both
    unit: int


CAPACITY = ClassRow(0, 1), ClassRow(1, 1)


def class_workers(view: CompiledInstance, worker_type: int) -> tuple[int, int]:
    """Return the workers of a type in each class."""
    W, is_cloud = view.workers[:, worker_type], arrays(view.instance).is_cloud
    return int(W[~is_cloud].sum()), int(W[is_cloud].sum())


def _job_modes(view: CompiledInstance, tasks: Sequence[CompiledJob]) -> JobModes:
    """Return the modes of jobs of one worker type, which all fit on the empty network."""
    is_cloud = arrays(view.instance).is_cloud
    classes, W = (~is_cloud, is_cloud), view.workers[:, tasks[0].worker_type]
    modes, changes, capacity, one_server = [], [], [], []
    for task in tasks:
        fitting = zip(task.modes, task.earliest, strict=True)
        modes.append([(*mode, slot - view.first) for mode, slot in fitting if slot is not None])
        changes.append(np.unique(task.ready))
        with_ps = np.where(view.ps[:, task.ps_type] >= 1, W, 0)
        for slot in changes[-1]:
            ready = [(task.ready <= slot) & own for own in classes]
            capacity.append([W[own].sum() for own in ready])
            one_server.append([with_ps[own].max(initial=0) for own in ready])
    workers, duration, colocated, earliest = np.array(list(chain(*modes)), dtype=np.int64).T.copy()
    return JobModes(
        first=np.append(0, np.cumsum([len(own) for own in modes])),
        workers=workers,
        duration=duration,
        colocated=colocated,
        earliest=earliest,
        change=np.append(0, np.cumsum([len(own) for own in changes])),
        since=np.concatenate(changes) - view.first,
        capacity=np.array(capacity),
        one_server=np.array(one_server),
        arrival=np.array([task.arrival for task in tasks]) - view.first,
    )


def blocks(slots: int, length: int) -> Ints:
    """Return the ends of blocks of equal lengths; the last one may be shorter."""
    return np.minimum(slots, length * (1 + np.arange(-(-slots // length))))


class TypeRelaxation:
    """The jobs of one worker type, and their cheapest columns under prices [row, block].

    `ends`: of the blocks of slots that share a price, ascending; the last one is the number H of
    slots with prices. Columns that end later cost only their c_j - a_j, which is at least H + 1 -
    a_j; so the bound is valid for every H. `cuts`: rows after the two of `CAPACITY`. `price`:
    `kernel.price`, compiled; without it, the same by arrays. `capacity`: what the jobs that run in
    a slot may count together. `lengths`: numbers of slots. `late_costs`: least cost of each job if
    it ends after slot H; inf if it cannot. `ceiling`: more than the jobs cost in any schedule.
    """

    def __init__(
        self,
        view: CompiledInstance,
        worker_type: int,
        ends: Ints,
        cuts: Sequence[ClassRow] = (),
        price: Callable[..., Any] | None = None,
    ) -> None:
        self.view, self.ends, self._price = view, ends, price
        self.slots = slots = int(ends[-1])
        self.tasks = view.of_type[worker_type]
        self._jobs = _job_modes(view, self.tasks)
        self.rows = (*CAPACITY, *cuts)
        self._where, self._unit = np.array(self.rows).T.copy()
        self.capacity = self.counted(*np.array(class_workers(view, worker_type)))
        self._begins = np.append(0, ends[:-1])
        self.lengths = ends - self._begins
        alone = np.array([task.alone for task in self.tasks], dtype=float)
        late = np.maximum(alone, slots - self._jobs.arrival)
        self.late_costs = np.where(slots < view.slots, late, np.inf)
        self.ceiling = 1.0 + sum(view.last - task.arrival for task in self.tasks)
        self.everything = np.zeros((len(self.tasks), len(ATTRIBUTES), 2), np.int64)
        self.everything[:, :, 1] = max(view.slots, int(self._jobs.workers.max()))
        self._best = NO_COLUMNS  # cheapest columns of the last round

    def counted(self, edge: Any, cloud: Any) -> Ints:
        """Return what workers in the two classes count as; [row] before the shape of these."""
        workers = np.stack([edge, cloud, edge + cloud])[self._where]
        units = self._unit.reshape(-1, *(1 for _ in range(workers.ndim - 1)))
        return np.asarray(workers // units)

    def prefix_sums(self, prices: Floats) -> Floats:
        """Return the sums of prices [row, slot] over all slots before each slot.

        `prices` [row, block]: price of a unit for one slot.
        """
        cells = np.repeat(prices, self.lengths, axis=1)
        return np.concatenate([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)], axis=1)

    def cost(self, columns: Ints, sums: Floats) -> Floats:
        """Return c_j - a_j of columns [column, entry] plus the prices of their workers.

        `sums` [row, slot]: from `prefix_sums`.
        """
        start = columns[:, START]
        window = sums[:, start + columns[:, DURATION]] - sums[:, start]
        used = (window * self.counted(columns[:, EDGE], columns[:, CLOUD])).sum(axis=0)
        return np.asarray(columns[:, FLOW] + used)

    def attributes(self, columns: Ints) -> Ints:
        """Return what boxes are about, [column, attribute], of columns [column, entry]."""
        start, workers = columns[:, START], columns[:, EDGE] + columns[:, CLOUD]
        end = start + columns[:, DURATION] - 1
        return np.stack([start, end, workers, columns[:, COLOCATED]], axis=1)

    def inside(self, columns: Ints, box: Ints) -> Bools:
        """Return which columns lie in the boxes [task, attribute, side] of their jobs."""
        own, found = box[columns[:, TASK]], self.attributes(columns)
        return np.asarray(((own[:, :, 0] <= found) & (found <= own[:, :, 1])).all(axis=1))

    def late(self, box: Ints) -> Floats:
        """Return the least cost [task] of the jobs that end in their boxes, but after slot H."""
        ends = box[:, ATTRIBUTES.index("end")]
        late = np.maximum(self.late_costs, ends[:, 0] - self._jobs.arrival)
        return np.where(ends[:, 1] >= self.slots, late, np.inf)

    def cheapest(self, sums: Floats, limit: Floats, box: Ints) -> tuple[Floats, Ints, Ints]:
        """Return the least cost of each mode with its start and its workers in the cloud.

        `sums` [row, slot]: from `prefix_sums`. `limit` [task]: most c_j - a_j. `box` [task,
        attribute, side]: least and greatest attributes. The cost is inf without a start. Of equal
        starts the first one counts.
        """
        size = len(self._jobs.workers)
        found = np.full(size, np.inf), np.zeros(size, np.int64), np.zeros(size, np.int64)
        priced = np.flatnonzero(sums[:, -1] > 0)
        prices = self._where[priced], self._unit[priced], sums[priced]
        (self._price or self._price_by_arrays)(self._jobs, prices, limit, box, found)
        return found

    def _price_by_arrays(
        self, jobs: JobModes, prices: Any, limit: Floats, box: Ints, found: Any
    ) -> None:
        """Do what `kernel.price` does."""
        for j, most in enumerate(limit.tolist()):
            modes, *own = self._price_job(jobs, j, prices, most, box[j])
            for array, values in zip(found, own, strict=True):
                array[modes] = values

    def _price_job(
        self, jobs: JobModes, j: int, prices: tuple[Ints, Ints, Floats], limit: float, box: Ints
    ) -> tuple[Ints, Floats, Ints, Ints]:
        """Return modes k of a job with their least costs, starts and workers in the cloud."""
        where, unit, sums = prices
        modes = np.arange(jobs.first[j], jobs.first[j + 1])
        d, arrival = jobs.duration[modes], int(jobs.arrival[j])
        (first, last), (soonest, latest), (least, most), (split, colocated) = box.tolist()
        lo = np.maximum(np.maximum(jobs.earliest[modes], first), soonest - d + 1)
        # Last start of each mode.
        hi = np.minimum(np.minimum(self.slots - d, last), latest - d + 1)
        if math.isfinite(limit):  # prices are >= 0, so c_j - a_j <= limit
            hi = np.minimum(hi, math.floor(limit) + arrival - d + 1)
        able = (hi >= lo) & (least <= jobs.workers[modes]) & (jobs.workers[modes] <= most)
        able &= (split <= jobs.colocated[modes]) & (jobs.colocated[modes] <= colocated)
        if not able.any():
            return modes[able], np.zeros(0), lo[able], lo[able]
        # All modes k at once, h = 0, 1, ... starts after the earliest; arrays [k, h].
        modes, lo, hi, d = modes[able], lo[able], hi[able], d[able][:, None]
        n, colocated = jobs.workers[modes][:, None], jobs.colocated[modes][:, None] > 0
        at = lo[:, None] + np.arange(int((hi - lo).max()) + 1)
        inside = at <= hi[:, None]
        at = np.minimum(at, hi[:, None])
        window = [own[at + d] - own[at] for own in sums]
        changes = slice(jobs.change[j], jobs.change[j + 1])
        epoch = np.searchsorted(jobs.since[changes], at, side="right") - 1
        capacity, one_server = jobs.capacity[changes][epoch], jobs.one_server[changes][epoch]
        cost, cloud = np.full(at.shape, np.inf), np.zeros(at.shape, np.int64)

        def consider(allowed: Bools, number: Ints) -> None:
            """Let so many workers be in the cloud where that is cheaper."""
            total, workers = np.zeros(at.shape), (n - number, number, n)
            for kind, size, price in zip(where, unit, window, strict=True):
                total += workers[kind] // size * price
            cheaper = allowed & (total < cost)
            np.copyto(cost, total, where=cheaper)
            np.copyto(cloud, number, where=cheaper)

        # Colocated: one of the classes, if it has a server that is large enough.
        fits = (one_server >= n[:, :, None]) & colocated[:, :, None]
        consider(fits[:, :, 0], 0 * n)
        consider(fits[:, :, 1], n)
        # Split: between two numbers of workers in the cloud. Prices are linear in it but for jumps:
        # just below a jump upwards, or at the ends, they are least.
        least = np.maximum(0, n - capacity[:, :, 0])
        most = np.minimum(n, capacity[:, :, 1])
        consider(~colocated, least)
        consider(~colocated, most)
        for kind, size in zip(where.tolist(), unit.tolist(), strict=True):
            if size > 1 and kind < 2:
                for below in range(size - 1, min(int(n.max()), self.capacity[kind]), size):
                    consider(~colocated, np.clip(below if kind else n - below, least, most))
        cost = np.where(inside, cost + (at + d - 1 - arrival), np.inf)
        best = np.arange(len(modes)), cost.argmin(axis=1)
        return modes, cost[best], at[best], cloud[best]

    def bound(self, prices: Floats, box: Ints | None = None) -> tuple[float, Floats, Ints]:
        """Return the Lagrangian bound of prices, and the least cost [task] of each job.

        The third is an array of cheap columns [column, entry], at most one of each mode.

        `prices` [row, block]: multiples of `programs.dual.STEP`. If they are too large to be
        summed exactly, the bound is -inf. `box` [task, attribute, side]: least and greatest
        attributes of columns; if a job has none, the bound is the ceiling.
        """
        sums, jobs = self.prefix_sums(prices), self._jobs
        charge = float((prices * self.lengths).sum(axis=1) @ self.capacity)
        if not charge < LARGEST:
            return -math.inf, np.zeros(0), self._best[:0]
        if box is None:
            box = self.everything
        known, least = self._best[self.inside(self._best, box)], self.late(box)
        np.minimum.at(least, known[:, TASK], self.cost(known, sums))
        value, start, cloud = self.cheapest(sums, least, box)
        chosen = []
        for j in range(len(self.tasks)):
            own = slice(jobs.first[j], jobs.first[j + 1])
            order = jobs.first[j] + np.argsort(value[own], kind="stable")[:MAX_COLUMNS]
            chosen.append(order[np.isfinite(value[order])])
            least[j] = min(least[j], value[own].min())
        at = np.concatenate(chosen)
        task = np.repeat(np.arange(len(self.tasks)), [len(own) for own in chosen])
        start, d, cloud = start[at], jobs.duration[at], cloud[at]
        flow = start + d - 1 - jobs.arrival[task]
        edge, colocated = jobs.workers[at] - cloud, jobs.colocated[at]
        columns = np.stack([task, start, d, edge, cloud, flow, colocated], axis=1)
        if len(columns):
            self._best = columns[np.unique(task, return_index=True)[1]]
        bound = math.fsum(least) - charge
        return bound if math.isfinite(bound) else self.ceiling, least, columns

    def overlap(self, columns: Ints) -> Ints:
        """Return the number of slots of columns [column, entry] in each block, [column, block]."""
        start = columns[:, START, None]
        end = np.minimum(start + columns[:, DURATION, None], self._begins + self.lengths)
        return np.asarray(np.maximum(0, end - np.maximum(start, self._begins)))
