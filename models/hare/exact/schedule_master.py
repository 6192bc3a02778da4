"""Restricted master of branch and price: schedules of single jobs within the GPU capacities.

Rows: in each step, at most as many GPUs of each kind are in use as there are. The shares of each
job's schedules sum to 1. Columns are kept in one pool per job; those that a node of the search does
not admit get the upper bound 0.

References
----------
C. Barnhart, E. L. Johnson, G. L. Nemhauser, M. W. P. Savelsbergh, P. H. Vance, "Branch-and-price:
column generation for solving huge integer programs", Operations Research 46 (1998).
"""

from collections.abc import Sequence

import numpy as np

from schedgap.models.hare.exact.job_pricing import JobData, ScheduleColumn
from schedgap.models.hare.exact.kernel import Floats, JobWindows
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
        self._upper = np.full(count, np.inf)  # [j]
        self._columns: list[dict[ScheduleColumn, int]] = [{} for _ in jobs]  # [n] with their j
        self._cells: list[list[list[int]]] = [[] for _ in jobs]  # [n] of each column, see `add`
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
        return item in self._columns[n]

    def add(self, new: Sequence[tuple[int, ScheduleColumn]]) -> None:
        """Add columns, open at the current node.

        The barriers and starts of a column are cells of the windows of its job, all in one row.

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
            job, rounds = self._jobs[n], len(item.barrier)
            cost.append(float(job.steps.weight * (job.steps.arrival + item.barrier[-1])))
            places = (rounds + j * self._kinds + k for j, k in enumerate(item.kind))
            cells = (*enumerate(item.barrier), *zip(places, item.start, strict=True))
            self._cells[n].append([place * (job.span + 1) + t for place, t in cells])
            self._columns[n][item] = len(self._upper)
            self._upper = np.append(self._upper, np.inf)
        matrix = columns_matrix(entries, rows + len(self._jobs))
        self._program.add_columns(cost, np.zeros(len(new)), np.full(len(new), np.inf), matrix)

    def usage(self, n: int, item: ScheduleColumn) -> Floats:
        """Return [k * horizon + t] the number of GPUs that a schedule occupies."""
        job = self._jobs[n].steps
        change = np.zeros((self._kinds, self._horizon + 1))
        for j, (k, t) in enumerate(zip(item.kind, item.start, strict=True)):
            change[k, job.arrival + t] += 1
            change[k, job.arrival + t + job.train[j, k]] -= 1
        return np.cumsum(change, axis=1)[:, :-1].ravel()

    def restrict(self, windows: Sequence[JobWindows]) -> None:
        """Close the columns that a node does not admit, and open all others.

        `windows` [n]: windows of each job at the node.
        """
        upper = self._upper.copy()
        for own, cells, columns in zip(windows, self._cells, self._columns, strict=True):
            if columns:
                mask = np.concatenate([own.barrier.ravel(), own.start.ravel()])
                inside = mask[np.array(cells)].all(axis=1)
                upper[list(columns.values())] = np.where(inside, np.inf, 0.0)
        changed = np.flatnonzero(upper != self._upper)
        if len(changed):
            self._program.change_bounds(changed, np.zeros(len(changed)), upper[changed])
            self._upper = upper

    def support(self, shares: Floats) -> Support:
        """Return the columns in use of each job.

        `shares` [j]: solution of the master.
        """
        return [
            [(float(shares[j]), item) for item, j in columns.items() if shares[j] > IN_USE]
            for columns in self._columns
        ]
