"""Cutting planes: solve, separate violated rows, add them, and repeat.

References
----------
G. Dantzig, R. Fulkerson, S. Johnson, "Solution of a large-scale traveling-salesman problem",
Journal of the Operations Research Society of America 2 (1954).
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.engines.results import EngineResult, OnBound
from schedgap.solvers.engines.solve import solve as solve_once
from schedgap.solvers.programs.arrays import Floats, LinearProgram, safe_bound
from schedgap.solvers.programs.sparse import sparse


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
    """Result of the cutting-plane loop.

    `end` is `closed` if the last point is optimal and violates no row. It is `stopped` if clock or
    rounds are used up, or at a point that violates no row but is not proved optimal. Otherwise it
    is `infeasible`. `bound` is the best bound of all rounds; each is valid, because rows are only
    added. For a linear program it is computed from the dual values. `last` is the last result with
    a point, and `program` the program of that round, with which its dual values can be certified.
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
    options: Mapping[str, object] | None = None,
) -> CuttingPlaneResult:
    """Solve a program with too many rows to enumerate.

    `program`: the program with its initial rows. `separate`: takes a point [j] and returns rows
    that it violates, or None if there are none. `clock`: time budget. `rounds`: limit on the number
    of solves. `solve`: solves a program within the time budget. By default HiGHS solves
    mixed-integer programs from scratch and linear programs from the last basis. `threads`, `seed`:
    number of threads >= 1 and random seed >= 0 of HiGHS. `on_bound`: called with each better bound.
    `options`: options of HiGHS by name.
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
            result = solve_once(
                program, "highs", clock=clock, threads=threads, seed=seed, options=options
            )
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
        program = with_rows(program, rows)
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
    """Return the bound of a round, from its dual values if these give a finite bound."""
    if program.is_mixed or result.duals is None:
        return result.bound
    proved = safe_bound(program, result.duals)
    return proved if math.isfinite(proved) else result.bound


def with_rows(program: LinearProgram, rows: Rows) -> LinearProgram:
    """Return the program with more rows and without row names."""
    return replace(
        program,
        matrix=sparse.vstack([program.matrix, sparse.csr_array(rows.matrix)], format="csr"),
        row_lower=np.append(program.row_lower, rows.lower),
        row_upper=np.append(program.row_upper, rows.upper),
        row_names=None,
    )
