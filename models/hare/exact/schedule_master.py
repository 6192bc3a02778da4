"""Restricted master of branch and price: schedules of single jobs within the GPU capacities.

Rows: at most as many GPUs of each kind are in use in each step as there are; the shares of each
job's schedules sum to 1. Columns are kept in one pool per job; those that a node of the search does
not admit get the upper bound 0.

References
----------
C. Barnhart, E. L. Johnson, G. L. Nemhauser, M. W. P. Savelsbergh, P. H. Vance, "Branch-and-price:
column generation for solving huge integer programs", Operations Research 46 (1998).
"""

import math
from collections.abc import Sequence

import numpy as np

from schedgap.models.hare.exact.job_pricing import Floats, JobData, JobWindows, ScheduleColumn
from schedgap.models.hare.integer_time import Ints
from schedgap.solvers import Clock, EngineResult
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import Entries, columns_matrix

IN_USE = 1e-6  # share above which a column counts as used

Support = list[list[tuple[float, ScheduleColumn]]]  # [n] columns in use, with their shares


class ScheduleMaster:
    """Restricted master in HiGHS, with pools of columns.

    `jobs`: the jobs, each with its windows. `class_size` [k]: number of GPUs of each kind.
    `horizon`: number of steps from time 0. `dear`: cost of the artificial column of each job, above
    any schedule of interest.
    """

    def __init__(
        self, jobs: Sequence[JobData], class_size: Ints, horizon: int, *, dear: float
    ) -> None:
        self.capacity: Floats = np.repeat(class_size, horizon).astype(float)  # [k * horizon + t]
        self._jobs, self._kinds, self._horizon = jobs, len(class_size), horizon
        count, rows = len(jobs), len(self.capacity)
        self._upper = [math.inf] * count  # [j]
        self._pools = [_ColumnPool(job.span, self._kinds) for job in jobs]
        artificial = [{rows + n: 1.0} for n in range(count)]  # so the master is always feasible
        self._program = Relaxation(
            LinearProgram.nonnegative(
                np.full(count, dear),
                columns_matrix(artificial, rows + count),
                row_lower=np.append(np.full(rows, -np.inf), np.ones(count)),
                row_upper=np.append(self.capacity, np.ones(count)),
            ),
            options={"presolve": "off", "dual_simplex_cost_perturbation_multiplier": 0.0},
        )

    @property
    def generated(self) -> int:
        """Number of columns in the master, without the artificial ones."""
        return len(self._upper) - len(self._jobs)

    def solve(self, clock: Clock) -> EngineResult:
        """Solve the master over the open columns."""
        return self._program.solve(clock)

    def contains(self, n: int, item: ScheduleColumn) -> bool:
        """Return whether a schedule of job n is in the master."""
        return item in self._pools[n].items

    def add(self, new: Sequence[tuple[int, ScheduleColumn]]) -> None:
        """Add columns, open at the current node.

        `new`: job and schedule of each column; none of them is in the master.
        """
        if not new:
            return
        rows, cost = len(self.capacity), []
        entries: list[Entries] = []
        for n, item in new:
            usage = self.usage(n, item)
            used = np.flatnonzero(usage)
            entries.append([(used, usage[used]), (rows + n, 1.0)])
            cost.append(float(self._jobs[n].weight * (self._jobs[n].arrival + item.barrier[-1])))
            self._pools[n].put(item, len(self._upper))
            self._upper.append(math.inf)
        matrix = columns_matrix(entries, rows + len(self._jobs))
        self._program.add_columns(cost, np.zeros(len(new)), np.full(len(new), np.inf), matrix)

    def usage(self, n: int, item: ScheduleColumn) -> Floats:
        """Return [k * horizon + t] the number of GPUs that a schedule occupies."""
        job = self._jobs[n]
        change = np.zeros((self._kinds, self._horizon + 1))
        for j, (k, t) in enumerate(zip(item.kind, item.start, strict=True)):
            change[k, job.arrival + t] += 1
            change[k, job.arrival + t + job.train[j, k]] -= 1
        return np.cumsum(change, axis=1)[:, :-1].ravel()

    def restrict(self, windows: Sequence[JobWindows]) -> None:
        """Close the columns that a node does not admit, and open all others.

        `windows` [n]: windows of each job at the node.
        """
        changed, upper = [], []
        for pool, own in zip(self._pools, windows, strict=True):
            for number, inside in zip(pool.numbers, pool.inside(own), strict=True):
                limit = math.inf if inside else 0.0
                if self._upper[number] != limit:
                    self._upper[number] = limit
                    changed.append(number)
                    upper.append(limit)
        if changed:
            self._program.change_bounds(changed, np.zeros(len(changed)), upper)

    def support(self, shares: Floats) -> Support:
        """Return the columns in use of each job.

        `shares` [j]: solution of the master.
        """
        support: Support = []
        for pool in self._pools:
            own = zip(shares[pool.numbers].tolist(), pool.items, strict=True)
            support.append([(share, item) for share, item in own if share > IN_USE])
        return support


class _ColumnPool:
    """Columns of one job that are in the master.

    The barriers and starts of a column are cells of its job's windows, all in one row.
    """

    def __init__(self, span: int, kinds: int) -> None:
        self.items: dict[ScheduleColumn, None] = {}  # an ordered set
        self.numbers: list[int] = []  # column of the master
        self._length, self._kinds = span + 1, kinds
        self._cells: list[list[int]] = []

    def put(self, item: ScheduleColumn, number: int) -> None:
        """Add a column."""
        rounds = len(item.barrier)
        rows = (rounds + j * self._kinds + k for j, k in enumerate(item.kind))
        places = (*enumerate(item.barrier), *zip(rows, item.start, strict=True))
        self.items[item] = None
        self.numbers.append(number)
        self._cells.append([row * self._length + t for row, t in places])

    def inside(self, windows: JobWindows) -> list[bool]:
        """Return for each column whether it lies within the windows.

        `windows`: windows of the job.
        """
        if not self.items:
            return []
        mask = np.concatenate([*windows.barrier, *map(np.ravel, windows.start)])
        return list((mask[np.array(self._cells)] == 0).all(axis=1))
