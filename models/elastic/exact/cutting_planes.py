"""The linear relaxation over a pool of runs, tightened by cuts until it says little more.

The pool holds every run that a schedule up to some value can use. Two kinds of cuts, both valid for
all schedules: what one server can run together in one slot (`slot_cuts`), and cliques of runs that
exclude each other in pairs, across servers and slots. The duals of the tightened relaxation prove a
bound for the schedules of the pool, and reduced costs; runs beyond the value leave the pool.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.models.elastic.exact.run_pool import Mask, RunPool
from schedgap.models.elastic.exact.slot_cuts import SlotCut, SlotSeparator
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.programs.columns import ElasticRun
from schedgap.solvers import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.loops.cliques import heavy_cliques
from schedgap.solvers.programs.arrays import LinearProgram

WHOLE = 1e-6  # by which a share may miss a whole number
ROUNDING = 1e-9  # relative to all that is summed up
FIRST_COLUMNS = 4000  # of the relaxation; the others join when they would lower it
MORE_COLUMNS = 1000
FEW_CUTS = 5  # of servers in slots, below which cliques are looked for
WORTH_WHILE = 0.8  # of the runs, at most, are kept where the others are dropped
MAX_SUPPORT = 300  # runs with shares, of which cliques are made
MAX_CLIQUES = 60  # in a round
MAX_ADDED = 2000  # runs that may join a clique, those of least reduced cost
BROKEN = 0.02  # by which shares must break a clique
PATIENCE, LEAST_GAIN = 5, 0.03  # stop: so many rounds gained less than this part of the way


@dataclass(frozen=True, slots=True, eq=False)
class CliqueCut:
    """At most one of these runs, nor of those that exclude them all and each other."""

    runs: tuple[ElasticRun, ...]

    limit = 1.0

    def row(self, pool: RunPool, first: Floats) -> Floats:
        """Return [i] 1 for the runs of a clique: these, and others, the least in `first` first."""
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
    """Rows over a pool: the jobs, the cells, then the cuts."""

    matrix: Any  # sparse [row, i]
    upper: Floats  # [row]
    cuts: tuple[PoolCut, ...]

    def of(self, kept: Mask) -> "PoolRows":
        """Return the rows over some of the runs."""
        return PoolRows(self.matrix[:, np.flatnonzero(kept)], self.upper, self.cuts)


@dataclass(frozen=True, slots=True, eq=False)
class TightenedPool:
    """What is left of a pool for schedules up to the value that was asked for."""

    pool: RunPool
    reduced: Floats  # [i] reduced costs >= 0 under the last duals
    absent: Floats  # [j] that of leaving a job out; infinite where it must run
    value: float  # a schedule of the pool costs this and its reduced costs, or more
    margin: float  # what these may be off by
    shares: Floats | None = None  # [i] of the last relaxation
    rows: PoolRows | None = None
    rounds: int = 0

    @property
    def bound(self) -> float:
        """On all schedules of the pool, rounding taken off; infinite when there are none."""
        return self.value - self.margin

    @property
    def is_whole(self) -> bool:
        """Whether the shares have no fractions: the runs with a share are a schedule."""
        return self.shares is not None and bool(
            (np.abs(self.shares - np.rint(self.shares)) < WHOLE).all()
        )

    def taken(self) -> list[ElasticRun]:
        """Return the runs with most of a share."""
        assert self.shares is not None
        return [self.pool.runs[i] for i in np.flatnonzero(self.shares > 0.5)]


def tighten(
    pool: RunPool,
    most: float,
    *,
    clock: Clock,
    near: Floats | None = None,
    rows: PoolRows | None = None,
    cuts: Sequence[PoolCut] = (),
    seed: int = 0,
    threads: int = 1,
    on_runs: Callable[[list[ElasticRun]], None] | None = None,
) -> TightenedPool:
    """Cut the relaxation over a pool of runs.

    Parameters
    ----------
    most : float
        Only schedules up to this value matter: runs that they cannot use leave the pool, and the
        bound is infinite when it exceeds the value.
    near : array [i] or None
        Some reduced costs: the runs with the least ones start.
    rows : Rows or None
        Over this pool, with cuts that are known; None: without cuts.
    cuts : sequence of Cut
        Further ones, from a smaller pool.
    on_runs : callable or None
        Told of a solution of the relaxation without fractions, which is a schedule.
    """
    near = pool.cost if near is None else near
    program = _PoolMaster(pool, near, most, seed, threads, rows)
    best = TightenedPool(pool, np.zeros(len(pool)), np.zeros(program.jobs), -np.inf, 0.0)
    if program.lacks_a_job():
        return replace(best, value=np.inf)
    program.add(cuts, near)
    separator = SlotSeparator(pool, seed=seed)
    history: list[float] = []
    while (solved := program.solve(clock)) is not None:
        shares, duals = solved
        found = program.prove(shares, duals, len(history))
        if found.bound > best.bound or found.is_whole:
            best = found
        history.append(best.bound)
        if best.bound > most:
            return replace(best, value=np.inf)
        if found.is_whole:
            if on_runs is not None:
                on_runs(found.taken())
            break
        fresh: list[PoolCut] = list(separator.separate(pool, shares, clock))
        if len(fresh) < FEW_CUTS:
            fresh += _cliques(pool, shares)
        if not fresh or clock.expired() or _stalls(history, most):
            break
        program.add(fresh, found.reduced)
        kept = found.reduced <= most - found.value + found.margin
        if kept.sum() < WORTH_WHILE * len(pool):
            program = program.of(kept, duals, found.reduced)
            pool = program.pool
            if program.lacks_a_job():
                return replace(best, value=np.inf)
    return best


def _stalls(history: Sequence[float], most: float) -> bool:
    """Whether the last rounds have gained too little of the way that is left."""
    if len(history) <= PATIENCE:
        return False
    return history[-1] - history[-1 - PATIENCE] < LEAST_GAIN * (most - history[-1])


def _cliques(pool: RunPool, shares: Floats) -> list[PoolCut]:
    """Return cliques that the shares break."""
    support = np.argsort(-shares, kind="stable")[:MAX_SUPPORT]
    support = support[shares[support] > 1e-6]
    adjacent = np.array([pool.excluded(int(i), support) for i in support])
    found = heavy_cliques(adjacent, shares[support], above=1 + BROKEN)
    return [
        CliqueCut(tuple(pool.runs[support[v]] for v in clique)) for clique in found[:MAX_CLIQUES]
    ]


class _PoolMaster:
    """The relaxation: its rows over the pool, and in HiGHS the columns that matter so far."""

    def __init__(
        self,
        pool: RunPool,
        near: Floats,
        most: float,
        seed: int,
        threads: int,
        rows: PoolRows | None,
    ) -> None:
        self.pool, self.jobs = pool, len(pool.instance.jobs)
        self.batch = pool.instance.is_batch
        self._settings = most, seed, threads
        if rows is None:
            cells, room = pool.capacity_rows()
            matrix = sparse.vstack([pool.job_rows(), cells], format="csc")
            rows = PoolRows(matrix, np.append(np.ones(self.jobs), room), ())
        self.rows = rows
        self._columns: Ints = np.argsort(near, kind="stable")[:FIRST_COLUMNS]
        self._outside = np.ones(len(pool), dtype=bool)
        self._outside[self._columns] = False
        lower = np.full(len(rows.upper), -np.inf)
        if not self.batch:
            lower[: self.jobs] = 1.0
        dear = np.full(self.jobs, 10 * max(1.0, abs(most)))  # so that there is a solution
        artificial = sparse.eye_array(len(rows.upper), self.jobs, format="csc")
        entries = sparse.hstack([artificial, rows.matrix[:, self._columns]], format="csc")
        self._relaxation = Relaxation(
            LinearProgram.nonnegative(
                np.append(dear, pool.cost[self._columns]),
                entries,
                row_lower=lower,
                row_upper=rows.upper,
            ),
            seed=seed,
            threads=threads,
        )

    def add(self, cuts: Sequence[PoolCut], first: Floats) -> None:
        """Add cuts; runs with the least `first` [i] are added to cliques first."""
        if not cuts:
            return
        entries = np.array([cut.row(self.pool, first) for cut in cuts])
        limits = np.array([cut.limit for cut in cuts])
        self.rows = PoolRows(
            sparse.vstack([self.rows.matrix, sparse.csc_array(entries)], format="csc"),
            np.append(self.rows.upper, limits),
            (*self.rows.cuts, *cuts),
        )
        held = np.hstack([np.zeros((len(cuts), self.jobs)), entries[:, self._columns]])
        self._relaxation.add_rows(np.full(len(cuts), -np.inf), limits, held)

    def of(self, kept: Mask, duals: Floats, near: Floats) -> "_PoolMaster":
        """Return the program over some of the runs, with the cuts that the duals use or lack."""
        rows = self.rows
        used = np.ones(len(rows.upper), dtype=bool)
        cuts = slice(len(used) - len(rows.cuts), len(duals))
        used[cuts] = duals[cuts] < -1e-9
        chosen = used[len(used) - len(rows.cuts) :].tolist()
        matrix = rows.matrix.tocsr()[np.flatnonzero(used)].tocsc()[:, np.flatnonzero(kept)]
        alive = tuple(cut for cut, use in zip(rows.cuts, chosen, strict=True) if use)
        left = PoolRows(matrix, rows.upper[used], alive)
        return _PoolMaster(self.pool.keep(kept), near[kept], *self._settings, left)

    def solve(self, clock: Clock) -> tuple[Floats, Floats] | None:
        """Return shares [i] and duals [row], optimal over the whole pool; None out of time."""
        while True:
            result = self._relaxation.solve(clock)
            if result.values is None or result.duals is None:
                return None
            duals = np.asarray(result.duals)
            prices = self.pool.cost - self.rows.matrix.T @ duals
            late = np.flatnonzero(self._outside & (prices < -1e-7))
            if not len(late):
                break
            late = late[np.argsort(prices[late], kind="stable")][:MORE_COLUMNS]
            self._relaxation.add_columns(
                self.pool.cost[late],
                np.zeros(len(late)),
                np.full(len(late), np.inf),
                self.rows.matrix[:, late],
            )
            self._columns = np.append(self._columns, late)
            self._outside[late] = False
        shares = np.zeros(len(self.pool))
        shares[self._columns] = np.asarray(result.values)[self.jobs :]
        return shares, duals

    def prove(self, shares: Floats, duals: Floats, rounds: int) -> TightenedPool:
        """Return what duals prove; those of the wrong sign count as 0."""
        pool, rows = self.pool, self.rows
        price = np.minimum(duals, 0.0)
        price[: self.jobs] = 0.0  # what a job is worth follows from its runs
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
        """Whether a job that must run has no run left."""
        return not self.batch and len(set(self.pool.job.tolist())) < self.jobs
