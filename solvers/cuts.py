"""Cutting planes: solve, separate, add rows, repeat. A family supplies the separation."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from schedgap.solvers.clock import Clock
from schedgap.solvers.engine import EngineResult, OnBound
from schedgap.solvers.highs import Relaxation, solve_arrays
from schedgap.solvers.linear import Floats, LinearProgram


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """New rows: `lower <= matrix @ x <= upper`."""

    lower: ArrayLike  # [k]
    upper: ArrayLike  # [k]
    matrix: Any  # sparse or dense [k, j]


Separation = Callable[[Floats], Rows | None]


@dataclass(frozen=True, slots=True, eq=False)
class CuttingPlaneResult:
    """Where the loop stopped.

    `end`: `closed`, the last point breaks no row of the family; `stopped` by clock or rounds;
    `infeasible`, with a valid proof. `bound` is the best of all rounds: every round's is valid, and
    rows are only added. `last` is the last round that gave a point, and `program` what it solved,
    so that its duals can be certified.
    """

    end: Literal["closed", "stopped", "infeasible"]
    bound: float | None
    last: EngineResult | None
    program: LinearProgram
    rounds: int
    seconds: float


def cutting_planes(
    program: LinearProgram,
    separate: Separation,
    *,
    clock: Clock,
    rounds: int | None = None,
    threads: int = 1,
    seed: int = 0,
    on_bound: OnBound | None = None,
    options: dict[str, Any] | None = None,
) -> CuttingPlaneResult:
    """Solve a program whose rows are too many to write down.

    Parameters
    ----------
    program : LinearProgram
        With the rows that are there from the start. A mixed-integer one is solved as such in every
        round, from scratch; a linear one starts from the last basis.
    separate : callable
        From a point [j] to rows that it breaks, or None when there are none.
    clock : Clock
        Stops the loop.
    rounds : int or None
        Most solves.
    on_bound : callable or None
        Called when the bound has become better.
    """
    begin = time.monotonic()
    relaxation = None if program.is_mixed else Relaxation(program, threads=threads, seed=seed)
    best = -np.inf
    last: EngineResult | None = None
    end: Literal["closed", "stopped", "infeasible"] = "stopped"
    solved, done = program, 0
    while not clock.expired() and (rounds is None or done < rounds):
        if relaxation is None:
            result = solve_arrays(program, clock=clock, threads=threads, seed=seed, options=options)
        else:
            result = relaxation.solve(clock)
        done += 1
        if result.bound is not None and result.bound > best:
            best = result.bound
            if on_bound is not None:
                on_bound(best)
        if result.status == "infeasible":
            end = "infeasible"
            break
        if result.values is None:
            break
        last, solved = result, program
        if result.status != "optimal":
            break
        rows = separate(result.values)
        if rows is None:
            end = "closed"
            break
        program = _with_rows(program, rows)
        if relaxation is not None:
            relaxation.add_rows(rows.lower, rows.upper, rows.matrix)
    return CuttingPlaneResult(
        end=end,
        bound=float(best) if np.isfinite(best) else None,
        last=last,
        program=solved,
        rounds=done,
        seconds=time.monotonic() - begin,
    )


def _with_rows(program: LinearProgram, rows: Rows) -> LinearProgram:
    """Return the program with more rows; names are given up."""
    return replace(
        program,
        matrix=sparse.vstack([program.matrix, sparse.csr_array(rows.matrix)], format="csr"),
        row_lower=np.append(program.row_lower, rows.lower),
        row_upper=np.append(program.row_upper, rows.upper),
        row_names=None,
    )
