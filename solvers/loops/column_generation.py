"""Column generation with a restricted master in HiGHS, dual smoothing and Lagrangian bounds.

Each round solves the restricted master, asks the family's pricing for columns of negative reduced
cost, and adds these columns. The pricing uses the master's dual values, or a convex combination of
these and the dual values of the best bound (Wentges smoothing). The best Lagrangian bound is kept.

References
----------
G. B. Dantzig, P. Wolfe, "Decomposition principle for linear programs", Operations Research 8
(1960).
P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming",
International Transactions in Operational Research 4 (1997): smoothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.engines.results import EngineResult, OnBound
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.sparse import sparse

_IMPROVING = 1e-9  # relative: only columns with a reduced cost below -this are added


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """New columns of the master, nonnegative and without upper bounds."""

    cost: ArrayLike  # [k]
    matrix: Any  # sparse or dense [i, k]
    tags: Sequence[Any]  # [k] the meaning of each column


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """Result of the pricing problem at given dual values.

    `bound` is the Lagrangian bound at these dual values, a lower bound on the master over *all*
    columns. Let b_i be the right-hand sides, and let each block have one convexity row. Then the
    bound is sum_i y_i b_i + sum over blocks of min over columns (cost - sum_i y_i entry_i). It does
    not use the dual values of the convexity rows. It must follow from the dual values alone,
    because certificates evaluate it again. It is -inf if the pricing is heuristic.
    """

    columns: Columns | None
    bound: float


Pricing = Callable[[Floats], Priced | None]  # None if the time is up


@dataclass(frozen=True, slots=True, eq=False)
class ColumnGenerationResult:
    """Result of column generation.

    `end` is `closed` if no column improves the master, or if master and bound meet. It is `stopped`
    after the clock or the limit on rounds has stopped the loop. It is `infeasible` if the
    restricted master is infeasible, which artificial columns avoid. `prices` are the dual values
    that certify `bound`. `basis` is HiGHS's basis of the last master.
    """

    end: Literal["closed", "stopped", "infeasible"]
    objective: (
        float | None
    )  # objective of the last master: an upper bound on the optimum over all columns
    bound: float | None
    prices: Floats | None  # [i]
    values: Floats | None  # [j] of the last master: initial columns, then generated ones
    tags: tuple[Any, ...]  # tags of the generated columns, in order
    rounds: int
    history: tuple[tuple[float, float, float], ...] = field(default=())  # (seconds, master, bound)
    basis: Any = None


def generate_columns(
    master: LinearProgram,
    pricing: Pricing,
    *,
    clock: Clock,
    smoothing: float = 0.6,
    gap: float = 1e-6,
    rounds: int | None = None,
    prices: Floats | None = None,
    threads: int = 1,
    seed: int = 0,
    on_bound: OnBound | None = None,
    basis: Any = None,
) -> ColumnGenerationResult:
    """Solve a linear program with too many columns to enumerate.

    `master`: the rows, and columns that make it feasible, such as artificial ones; all are kept.
    `pricing`: takes dual values [i], which are positive where the lower side of a row binds, and
    returns columns and the Lagrangian bound. None ends the loop, because the time is up. `clock`:
    time budget; it stops the loop between two steps, and a solve of the master at any time.
    `smoothing`: weight in [0, 1) of the dual values of the best bound in those at which columns are
    priced. In every third round, and if no column is found, pricing uses the master's dual values.
    `gap`: relative gap between master and bound at which the loop ends. `rounds`: limit on the
    number of rounds. `prices` [i]: good dual values, towards which the first rounds are smoothed.
    `threads`, `seed`: number of threads >= 1 and random seed >= 0 of HiGHS. `on_bound`: called with
    each better bound. `basis`: of the first master, as of a result with the same rows and columns.
    """
    relaxation = Relaxation(master, threads=threads, seed=seed)
    if basis is not None:
        relaxation.basis = basis
    tags: list[Any] = []
    history: list[tuple[float, float, float]] = []
    best = -np.inf
    center = prices  # the prices of the best bound
    last: EngineResult | None = None
    end: Literal["closed", "stopped", "infeasible"] = "stopped"
    done = 0
    if center is not None and not clock.expired():
        first = pricing(center)
        best = -np.inf if first is None else first.bound
        if on_bound is not None and np.isfinite(best):
            on_bound(best)
    while not clock.expired() and (rounds is None or done < rounds):
        result = relaxation.solve(clock)
        if result.status == "infeasible":
            end = "infeasible"
        if result.duals is None or result.objective is None:  # infeasible, or out of time
            break
        last, done, basis = result, done + 1, relaxation.basis
        asked, out_of_time = [result.duals], False
        if done % 3 and center is not None:
            asked.insert(0, smoothing * center + (1 - smoothing) * result.duals)
        for tried in asked:
            priced = pricing(tried)
            if priced is None:
                fresh, out_of_time = None, True
                break
            if priced.bound > best:
                best, center = priced.bound, tried
                if on_bound is not None:
                    on_bound(best)
            fresh = _improving(priced.columns, result.duals)
            if fresh is not None or clock.expired():
                break
        history.append((clock.elapsed(), result.objective, best))
        if out_of_time:
            break
        exhausted = fresh is None and not clock.expired()
        if exhausted or result.objective - best <= gap * max(1.0, abs(result.objective)):
            end = "closed"
            break
        if fresh is not None:
            count = len(fresh.tags)
            relaxation.add_columns(
                fresh.cost, np.zeros(count), np.full(count, np.inf), fresh.matrix
            )
            tags += fresh.tags
    known = np.isfinite(best)
    return ColumnGenerationResult(
        end=end,
        objective=None if last is None else last.objective,
        bound=float(best) if known else None,
        prices=center if known else None,
        values=None if last is None else last.values,
        tags=tuple(tags[: 0 if last is None else len(last.values) - len(master.cost)]),
        rounds=done,
        history=tuple(history),
        basis=basis,
    )


def _improving(columns: Columns | None, duals: Floats) -> Columns | None:
    """Return the columns with negative reduced cost in the master, or None if there are none.

    Pricing at smoothed dual values may return other columns too.
    """
    if columns is None or len(columns.tags) == 0:
        return None
    matrix = sparse.csc_array(columns.matrix, dtype=np.float64)
    cost = np.asarray(columns.cost, dtype=np.float64)
    reduced = cost - matrix.T @ duals
    kept = np.flatnonzero(reduced < -_IMPROVING * np.maximum(1.0, np.abs(cost)))
    if len(kept) == 0:
        return None
    return Columns(cost[kept], matrix[:, kept], [columns.tags[k] for k in kept.tolist()])
