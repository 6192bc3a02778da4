"""The linear relaxation over a pool of runs, tightened by cuts until they gain little.

The pool contains every run that a schedule up to some value can use. Two kinds of cuts hold for all
schedules: configurations of one server in one slot (`slot_cuts`), and cliques of runs that exclude
each other pairwise, across servers and slots. The dual values of the tightened relaxation prove a
bound for the schedules of the pool, and give reduced costs; runs whose reduced cost exceeds the
remaining gap leave the pool.

References
----------
M. W. Padberg, "On the facial structure of set packing polyhedra", Mathematical Programming 5
(1973): cliques.
H. Crowder, E. L. Johnson, M. Padberg, "Solving large-scale zero-one linear programming problems",
Operations Research 31 (1983): fixing by reduced cost.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from schedgap.models.elastic.exact.run_pool import Mask, RunPool
from schedgap.models.elastic.exact.slot_cuts import SlotCut, SlotSeparator
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.programs.columns import ElasticRun
from schedgap.models.method import Budget
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.loops.cliques import heavy_cliques
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.sparse import sparse

INTEGRALITY = 1e-6  # tolerance for whole numbers
ROUNDING = 1e-9  # relative to the sum of absolute values
FIRST_COLUMNS = 4000  # of the relaxation; others enter when their reduced cost is negative
MORE_COLUMNS = 1000  # largest number that enters at once
FEW_CUTS = 5  # slot cuts in a round, below which cliques are separated as well
SHRINK_BELOW = 0.8  # share of runs with small reduced cost below which the others are removed
MAX_SUPPORT = 300  # runs with the largest values, among which cliques are searched
MAX_CLIQUES = 60  # in a round
MAX_ADDED = 2000  # runs of least reduced cost by which a clique may be extended
VIOLATION = 0.02  # least violation of a clique cut
PATIENCE, MIN_GAIN = 5, 0.03  # stop if so many rounds close less than this part of the gap


@dataclass(frozen=True, slots=True, eq=False)
class CliqueCut:
    """At most one of given runs, extended by other runs that exclude all of them and each other."""

    runs: tuple[ElasticRun, ...]

    limit = 1.0

    def row(self, pool: RunPool, first: Floats) -> Floats:
        """Return [i] 1 for the runs of the clique in a pool, else 0.

        `first` [i]: the clique is extended greedily in ascending order of these values.
        """
        row = np.zeros(len(pool))
        own = [pool.index[run] for run in self.runs if run in pool.index]
        row[own] = 1.0
        order = np.argsort(first, kind="stable")
        for i in own:
            order = order[pool.excluded(i, order)]
        order = order[:MAX_ADDED]
        while len(order):
            i = int(order[0])
            row[i] = 1.0
            order = order[1:]
            order = order[pool.excluded(i, order)]
        return row


PoolCut = SlotCut | CliqueCut


@dataclass(frozen=True, slots=True, eq=False)
class PoolRows:
    """Rows over a pool: the jobs, the capacities of servers in slots, then the cuts."""

    matrix: Any  # sparse [row, i]
    upper: Floats  # [row]
    cuts: tuple[PoolCut, ...]

    def of(self, kept: Mask) -> "PoolRows":
        """Return the rows over some of the runs.

        `kept` [i]: the runs to keep.
        """
        return PoolRows(self.matrix[:, np.flatnonzero(kept)], self.upper, self.cuts)


@dataclass(frozen=True, slots=True, eq=False)
class TightenedPool:
    """The remaining runs of a pool, for schedules up to the value that was asked for."""

    pool: RunPool
    reduced: Floats  # [i] reduced costs >= 0 under the last dual values
    absent: Floats  # [j] reduced cost of leaving a job out; infinite where it must run
    value: float  # a schedule of the pool costs at least this plus its reduced costs
    margin: float  # rounding error of these
    shares: Floats | None = None  # [i] solution of the last relaxation
    rows: PoolRows | None = None
    rounds: int = 0

    @property
    def bound(self) -> float:
        """Bound on all schedules of the pool, less rounding errors; infinite when none exists."""
        return self.value - self.margin

    @property
    def is_whole(self) -> bool:
        """Whether the solution is integral, so that its runs are a schedule."""
        return self.shares is not None and bool(
            (np.abs(self.shares - np.rint(self.shares)) < INTEGRALITY).all()
        )

    def taken(self) -> list[ElasticRun]:
        """Return the runs of an integral solution."""
        assert self.shares is not None
        return [self.pool.runs[i] for i in np.flatnonzero(self.shares > 0.5)]


def tighten(
    pool: RunPool,
    most: float,
    *,
    budget: Budget,
    near: Floats | None = None,
    rows: PoolRows | None = None,
    cuts: Sequence[PoolCut] = (),
    on_runs: Callable[[list[ElasticRun]], None] | None = None,
) -> TightenedPool:
    """Tighten the relaxation over a pool of runs by cuts.

    `most`: only schedules up to this value matter: runs that they cannot use leave the pool, and
    the bound is infinite when it exceeds the value. `near` [i]: some reduced costs: the relaxation
    starts with the runs of the least ones. `rows`: rows over this pool, with known cuts; None:
    without cuts. `cuts`: more cuts, from another pool. `on_runs`: receives an integral solution of
    the relaxation, which is a schedule up to tolerances.
    """
    near = pool.cost if near is None else near
    master = _PoolMaster(pool, near, most, budget, rows)
    best = TightenedPool(pool, np.zeros(len(pool)), np.zeros(master.jobs), -np.inf, 0.0)
    if master.lacks_a_job():
        return replace(best, value=np.inf)
    master.add(cuts, near)
    separator = SlotSeparator(pool, seed=budget.seed)
    history: list[float] = []
    while (solution := master.solve()) is not None:
        shares, duals = solution
        # The dual values prove a bound on the schedules of the pool, whatever the solution is.
        current = master.prove(shares, duals, len(history))
        if current.bound > best.bound or current.is_whole:
            best = current
        history.append(best.bound)
        if best.bound > most:
            return replace(best, value=np.inf)
        if current.is_whole:
            if on_runs is not None:
                on_runs(current.taken())
            break
        new_cuts: list[PoolCut] = list(separator.separate(pool, shares, budget.clock))
        if len(new_cuts) < FEW_CUTS:
            new_cuts += _cliques(pool, shares)
        if not new_cuts or budget.clock.expired() or _stalls(history, most):
            break
        master.add(new_cuts, current.reduced)
        # A schedule of value <= most has no run whose reduced cost exceeds most - bound.
        promising = current.reduced <= most - current.value + current.margin
        if promising.sum() < SHRINK_BELOW * len(pool):
            master = master.of(promising, duals, current.reduced)
            pool = master.pool
            if master.lacks_a_job():
                return replace(best, value=np.inf)
    return best


def _stalls(history: Sequence[float], most: float) -> bool:
    """Return whether the last rounds have closed too little of the gap."""
    if len(history) <= PATIENCE:
        return False
    return history[-1] - history[-1 - PATIENCE] < MIN_GAIN * (most - history[-1])


def _cliques(pool: RunPool, shares: Floats) -> list[PoolCut]:
    """Return clique cuts that the solution violates."""
    support = np.argsort(-shares, kind="stable")[:MAX_SUPPORT]
    support = support[shares[support] > 1e-6]
    adjacent = np.array([pool.excluded(int(i), support) for i in support])
    cliques = heavy_cliques(adjacent, shares[support], above=1 + VIOLATION)
    return [
        CliqueCut(tuple(pool.runs[support[v]] for v in clique)) for clique in cliques[:MAX_CLIQUES]
    ]


class _PoolMaster:
    """The relaxation: its rows over the pool, and in HiGHS the columns that have entered."""

    def __init__(
        self,
        pool: RunPool,
        near: Floats,
        most: float,
        budget: Budget,
        rows: PoolRows | None,
    ) -> None:
        self.pool, self.jobs = pool, len(pool.instance.jobs)
        self.batch = pool.instance.is_batch
        self._most, self._budget = most, budget
        if rows is None:
            cells, capacities = pool.capacity_rows()
            matrix = sparse.vstack([pool.job_rows(), cells], format="csc")
            rows = PoolRows(matrix, np.append(np.ones(self.jobs), capacities), ())
        self.rows = rows
        self._columns: Ints = np.argsort(near, kind="stable")[:FIRST_COLUMNS]
        self._outside = np.ones(len(pool), dtype=bool)
        self._outside[self._columns] = False
        lower = np.full(len(rows.upper), -np.inf)
        if not self.batch:
            lower[: self.jobs] = 1.0
        penalty = np.full(self.jobs, 10 * max(1.0, abs(most)))  # of artificial columns
        artificial = sparse.eye_array(len(rows.upper), self.jobs, format="csc")
        entries = sparse.hstack([artificial, rows.matrix[:, self._columns]], format="csc")
        self._relaxation = Relaxation(
            LinearProgram.nonnegative(
                np.append(penalty, pool.cost[self._columns]),
                entries,
                row_lower=lower,
                row_upper=rows.upper,
            ),
            seed=budget.seed,
            threads=budget.threads,
        )

    def add(self, cuts: Sequence[PoolCut], first: Floats) -> None:
        """Add cuts; a clique is extended by runs in ascending order of `first` [i]."""
        if not cuts:
            return
        entries = np.array([cut.row(self.pool, first) for cut in cuts])
        limits = np.array([cut.limit for cut in cuts])
        self.rows = PoolRows(
            sparse.vstack([self.rows.matrix, sparse.csc_array(entries)], format="csc"),
            np.append(self.rows.upper, limits),
            (*self.rows.cuts, *cuts),
        )
        entered = np.hstack([np.zeros((len(cuts), self.jobs)), entries[:, self._columns]])
        self._relaxation.add_rows(np.full(len(cuts), -np.inf), limits, entered)

    def of(self, kept: Mask, duals: Floats, near: Floats) -> "_PoolMaster":
        """Return the relaxation over some of the runs; cuts with dual value 0 are dropped."""
        rows = self.rows
        used = np.ones(len(rows.upper), dtype=bool)
        cuts = slice(len(used) - len(rows.cuts), len(duals))
        used[cuts] = duals[cuts] < -1e-9
        chosen = used[len(used) - len(rows.cuts) :].tolist()
        matrix = rows.matrix.tocsr()[np.flatnonzero(used)].tocsc()[:, np.flatnonzero(kept)]
        alive = tuple(cut for cut, use in zip(rows.cuts, chosen, strict=True) if use)
        rows_left = PoolRows(matrix, rows.upper[used], alive)
        return _PoolMaster(self.pool.keep(kept), near[kept], self._most, self._budget, rows_left)

    def solve(self) -> tuple[Floats, Floats] | None:
        """Return a solution [i] and dual values [row], optimal over the pool; None out of time."""
        while True:
            result = self._relaxation.solve(self._budget.clock)
            if result.values is None or result.duals is None:
                return None
            duals = np.asarray(result.duals)
            reduced = self.pool.cost - self.rows.matrix.T @ duals
            entering = np.flatnonzero(self._outside & (reduced < -1e-7))
            if not len(entering):
                break
            entering = entering[np.argsort(reduced[entering], kind="stable")][:MORE_COLUMNS]
            self._relaxation.add_columns(
                self.pool.cost[entering],
                np.zeros(len(entering)),
                np.full(len(entering), np.inf),
                self.rows.matrix[:, entering],
            )
            self._columns = np.append(self._columns, entering)
            self._outside[entering] = False
        shares = np.zeros(len(self.pool))
        shares[self._columns] = np.asarray(result.values)[self.jobs :]
        return shares, duals

    def prove(self, shares: Floats, duals: Floats, rounds: int) -> TightenedPool:
        """Return what dual values prove; those of the wrong sign count as 0."""
        pool, rows = self.pool, self.rows
        price = np.minimum(duals, 0.0)
        price[: self.jobs] = 0.0  # the dual value of a job is the least cost of its runs, below
        # Lagrangian bound: sum_j min over its runs of (cost - price x row) + sum price x upper.
        paid = price * rows.upper
        cost = pool.cost - rows.matrix.T @ price
        least = np.full(self.jobs, 0.0 if self.batch else np.inf)
        np.minimum.at(least, pool.job, cost)
        size = np.abs(least).sum() + np.abs(paid).sum() + np.abs(pool.cost).max(initial=0.0)
        return TightenedPool(
            pool,
            cost - least[pool.job],
            -least if self.batch else np.full(self.jobs, np.inf),
            float(least.sum() + paid.sum()),
            ROUNDING * float(size + 1),
            shares,
            rows,
            rounds,
        )

    def lacks_a_job(self) -> bool:
        """Return whether a job that must run has no run left."""
        return not self.batch and len(set(self.pool.job.tolist())) < self.jobs
