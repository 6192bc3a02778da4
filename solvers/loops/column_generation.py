"""Column generation: a restricted master in HiGHS, prices out, columns in, and the best bound.

A family supplies the pricing and the rows; this is the loop around them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.engines.results import EngineResult, OnBound
from schedgap.solvers.programs.arrays import Floats, LinearProgram

_IMPROVING = 1e-9  # relative: a reduced cost above minus this does not lower the master


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """New columns of the master, >= 0 and without an upper bound."""

    cost: ArrayLike  # [k]
    matrix: Any  # sparse or dense [i, k]
    tags: Sequence[Any]  # [k] what each column stands for


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """What a family finds at given prices.

    `bound`: the Lagrangian bound at these very prices, a lower bound on the master over *all*
    columns. With rows b and one convexity row per block it is sum_i y_i b_i + sum over blocks of
    the least cost less priced entries of a column, the block's own price left out; the family
    computes it, so that it can be computed again from the prices alone. -inf where only columns
    were looked for (a heuristic pricing).
    """

    columns: Columns | None
    bound: float


Pricing = Callable[[Floats], Priced | None]  # None: it ran out of time


@dataclass(frozen=True, slots=True, eq=False)
class ColumnGenerationResult:
    """Where the loop stopped.

    `end`: `closed`, no column improves, or master and bound meet; `stopped` by clock or rounds;
    `infeasible`, the master over all known columns (give it artificial ones).
    `bound` and `prices` belong together: the certificate is the prices.
    """

    end: Literal["closed", "stopped", "infeasible"]
    objective: float | None  # of the last master: an upper bound on that over all columns
    bound: float | None
    prices: Floats | None  # [i]
    values: Floats | None  # [j] of the last master: first its own columns, then the new ones
    tags: tuple[Any, ...]  # of the new columns, in order
    rounds: int
    history: tuple[tuple[float, float, float], ...] = field(default=())  # (seconds, master, bound)


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
) -> ColumnGenerationResult:
    """Solve a linear program with too many columns.

    Parameters
    ----------
    master : LinearProgram
        The rows, and enough columns to be feasible (artificial ones, say); all of them stay.
    pricing : callable
        From prices [i] to columns and the Lagrangian bound, or None when it ran out of time, which
        ends the loop; prices are positive where a row's lower side binds.
    clock : Clock
        Stops the loop between two steps, and the master at any time.
    smoothing : float
        Weight in [0, 1) of the best bound's prices against the master's where pricing is asked;
        every third round, and when the smoothed prices find nothing, asks at the master's.
    gap : float
        Relative gap between master and bound at which the loop is closed.
    rounds : int or None
        Most rounds.
    prices : array [i] or None
        Good prices to smooth towards from the first round on, instead of the first master's.
    on_bound : callable or None
        Called when the bound has become better.
    """
    relaxation = Relaxation(master, threads=threads, seed=seed)
    tags: list[Any] = []
    history: list[tuple[float, float, float]] = []
    best = -np.inf
    center = prices  # of the best bound
    last: EngineResult | None = None
    end: Literal["closed", "stopped", "infeasible"] = "stopped"
    done = 0
    if center is not None and not clock.expired():
        first = pricing(center)
        best = -np.inf if first is None else first.bound
    while not clock.expired() and (rounds is None or done < rounds):
        result = relaxation.solve(clock)
        if result.status == "infeasible":
            end = "infeasible"
        if result.duals is None or result.objective is None:  # infeasible, or out of time
            break
        last, done = result, done + 1
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
    )


def _improving(columns: Columns | None, duals: Floats) -> Columns | None:
    """Return the columns that lower the master, or None: smoothed prices also find others."""
    if columns is None or len(columns.tags) == 0:
        return None
    matrix = sparse.csc_array(columns.matrix, dtype=np.float64)
    cost = np.asarray(columns.cost, dtype=np.float64)
    reduced = cost - matrix.T @ duals
    kept = np.flatnonzero(reduced < -_IMPROVING * np.maximum(1.0, np.abs(cost)))
    if len(kept) == 0:
        return None
    return Columns(cost[kept], matrix[:, kept], [columns.tags[k] for k in kept.tolist()])
