"""Cutting planes: solve, separate, add rows, repeat. A family supplies the separation."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.highs import Relaxation, solve_arrays
from schedgap.solvers.engines.results import EngineResult, OnBound
from schedgap.solvers.programs.arrays import Floats, LinearProgram, safe_bound


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """New rows: `lower <= matrix @ x <= upper`."""

    lower: ArrayLike  # [k]
    upper: ArrayLike  # [k]
    matrix: Any  # sparse or dense [k, j]


Separation = Callable[[Floats], Rows | None]
Solve = Callable[[LinearProgram], EngineResult]


@dataclass(frozen=True, slots=True, eq=False)
class CuttingPlaneResult:
    """Where the loop stopped.

    `end`: `closed`, the last point is optimal and breaks no row of the family; `stopped` by clock
    or rounds, or at a point that breaks none but is not proved optimal; `infeasible`, with a valid
    proof. `bound` is the best of all rounds: every round's is valid, and
    rows are only added; that of a linear program is evaluated again from its duals. `last` is the
    last round that gave a point, and `program` what it solved, so that its duals can be certified.
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
    solve: Solve | None = None,
    threads: int = 1,
    seed: int = 0,
    on_bound: OnBound | None = None,
    options: dict[str, Any] | None = None,
) -> CuttingPlaneResult:
    """Solve a program whose rows are too many to write down.

    Parameters
    ----------
    program : LinearProgram
        With the rows that are there from the start.
    separate : callable
        From a point [j] to rows that it breaks, or None when there are none.
    clock : Clock
        Stops the loop.
    rounds : int or None
        Most solves.
    solve : callable or None
        How a program is solved, within the clock. By default HiGHS: a mixed-integer one from
        scratch, a linear one from the last basis.
    on_bound : callable or None
        Called when the bound has become better.
    """
    begin = time.monotonic()
    relaxation = None
    if solve is None and not program.is_mixed:
        relaxation = Relaxation(program, threads=threads, seed=seed, options=options)
    best = -np.inf
    last: EngineResult | None = None
    end: Literal["closed", "stopped", "infeasible"] = "stopped"
    solved, done = program, 0
    while not clock.expired() and (rounds is None or done < rounds):
        if relaxation is not None:
            result = relaxation.solve(clock)
        elif solve is not None:
            result = solve(program)
        else:
            result = solve_arrays(program, clock=clock, threads=threads, seed=seed, options=options)
        done += 1
        bound = _bound(program, result)
        if bound is not None and bound > best:
            best = bound
            if on_bound is not None:
                on_bound(best)
        if result.status == "infeasible":
            end = "infeasible"
            break
        if result.values is None:
            break
        last, solved = result, program
        rows = separate(result.values)
        if rows is None:
            end = "closed" if result.status == "optimal" else "stopped"
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


def _bound(program: LinearProgram, result: EngineResult) -> float | None:
    """Return what a round proves: by its duals where all columns have the bounds for it."""
    if program.is_mixed or result.duals is None:
        return result.bound
    proved = safe_bound(program, result.duals)
    return proved if math.isfinite(proved) else result.bound


def _with_rows(program: LinearProgram, rows: Rows) -> LinearProgram:
    """Return the program with more rows; names are given up."""
    return replace(
        program,
        matrix=sparse.vstack([program.matrix, sparse.csr_array(rows.matrix)], format="csr"),
        row_lower=np.append(program.row_lower, rows.lower),
        row_upper=np.append(program.row_upper, rows.upper),
        row_names=None,
    )
