"""Cutting-plane loops that add violated rows (9) to the relaxation, and its canonical point.

References
----------
J. E. Kelley, "The cutting-plane method for solving convex programs", Journal of the Society for
Industrial and Applied Mathematics 8 (1960).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from schedgap.models.hare.programs.relaxation_arrays import (
    BaseRelaxation,
    LoadCut,
    Separate,
    cut_rows,
    with_cuts,
)
from schedgap.solvers import Clock
from schedgap.solvers.engines.results import OnBound
from schedgap.solvers.loops.cutting_planes import Rows as NewRows
from schedgap.solvers.loops.cutting_planes import Solve, cutting_planes
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.sparse import sparse

MAX_ROUNDS = 400


@dataclass(frozen=True, slots=True, eq=False)
class CutLoopResult:
    """Result of a cutting-plane loop.

    `values` is the last point, or None. `bound` is a lower bound on the relaxation even if cuts are
    still missing; `closed` says that none is violated. `duals` belong to the rows of `program` and
    prove the bound if it is linear.
    """

    values: Floats | None
    bound: float | None
    closed: bool
    cuts: list[LoadCut]
    rounds: int
    program: LinearProgram
    duals: Floats | None = None


def solve_with_cuts(
    relaxed: BaseRelaxation,
    separate: Separate,
    solve: Solve,
    clock: Clock,
    *,
    cuts: Sequence[LoadCut] = (),
    on_bound: OnBound | None = None,
    max_rounds: int = MAX_ROUNDS,
) -> CutLoopResult:
    """Solve, add the cuts that the solution violates, and repeat until there are none.

    `relaxed`: the relaxation without rows (9). `separate`: returns the cuts that a point violates.
    `solve`: solves a program. `cuts`: cuts to start with. `on_bound`: called with every improved
    bound. `max_rounds`: maximum number of programs to solve, >= 1.
    """
    all_cuts = list(cuts)

    def violated_rows(values: Floats) -> NewRows | None:
        new = separate(relaxed, values)
        all_cuts.extend(new)
        return cut_rows(relaxed, new) if new else None

    loop = cutting_planes(
        with_cuts(relaxed, cuts), violated_rows, clock=clock, rounds=max_rounds, solve=solve,
        on_bound=on_bound,
    )  # fmt: skip
    values = duals = None
    if loop.last is not None:
        values, duals = np.asarray(loop.last.values), loop.last.duals
    return CutLoopResult(
        values, loop.bound, loop.end == "closed", all_cuts, loop.rounds, loop.program, duals
    )


def solve_binary_with_cuts(
    relaxed: BaseRelaxation,
    separate: Separate,
    solve: Solve,
    clock: Clock,
    *,
    cuts: Sequence[LoadCut] = (),
    on_bound: OnBound | None = None,
) -> CutLoopResult:
    """Alternate between the program with binary y and cuts for its y, until both values meet.

    `relaxed`: the relaxation without rows (9), with binary y. `separate`: returns the cuts that a
    point violates. `solve`: solves a program. `cuts`: cuts to start with. `on_bound`: called with
    every improved bound.

    Notes
    -----
    With y fixed the program is linear, and its own loop finds all cuts that this y needs; the
    binary program would answer each single cut with another of its many optima. Each cut is added
    for all GPUs equal to its own; otherwise the same tasks would move to the next of them.
    """

    def copies(cut: LoadCut) -> list[LoadCut]:
        times = relaxed.items.train, relaxed.items.duration
        equal = [(table == table[:, [cut.machine]]).all(axis=0) for table in times]
        return [replace(cut, machine=int(m)) for m in np.flatnonzero(equal[0] & equal[1])]

    state = CutLoopResult(None, None, False, list(cuts), 0, relaxed.program)
    best = np.inf
    for number in range(1, MAX_ROUNDS + 1):
        result = solve(with_cuts(relaxed, state.cuts))
        if result.bound is not None and (state.bound is None or result.bound > state.bound):
            state = replace(state, bound=result.bound)
            if on_bound is not None:
                on_bound(result.bound)
        if result.values is None:
            break
        values = np.asarray(result.values)
        state = replace(state, rounds=number, values=state.values if best < np.inf else values)
        fixed = replace(relaxed, program=_with_shares(relaxed, values))
        closure = solve_with_cuts(fixed, separate, solve, clock, cuts=state.cuts)
        if closure.closed and closure.values is not None:
            value = relaxed.program.objective(closure.values)
            if value < best:
                best, state = value, replace(state, values=closure.values)
        new = closure.cuts[len(state.cuts) :]
        state = replace(state, cuts=state.cuts + [copy for cut in new for copy in copies(cut)])
        if state.bound is not None and best <= state.bound + 1e-7 * max(1.0, abs(best)):
            return replace(state, closed=True)
        if not new or result.status != "optimal" or clock.expired():
            break
    return state


def _with_shares(relaxed: BaseRelaxation, values: Floats) -> LinearProgram:
    """Return the linear program with y fixed to its values in a point."""
    program = relaxed.program
    items, machines = relaxed.items.train.shape
    y = slice(items, items + items * machines)
    fixed = values[y] if program.integer is None else np.round(values[y])
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[y] = upper[y] = fixed.clip(0, 1)
    return replace(program, lower=lower, upper=upper, integer=None)


def canonical_point(
    relaxed: BaseRelaxation,
    loop: CutLoopResult,
    separate: Separate,
    solve: Solve,
    clock: Clock,
) -> Floats:
    """Return the point of least sum of starts with the same y and, within 1e-7, the same value.

    In an optimum, tasks that do not delay their job may start at many times (E28); this choice is
    the same for all engines that agree on y.

    `relaxed`: the relaxation without rows (9). `loop`: result of its cutting-plane loop, with a
    point. `separate`: returns the cuts that a point violates. `solve`: solves a program.

    Returns
    -------
    array [j]
        The canonical point, or that of `loop` if the loop does not close in time.
    """
    assert loop.values is not None
    program = _with_shares(relaxed, loop.values)
    cost = np.zeros_like(program.cost)
    cost[: len(relaxed.items.count)] = relaxed.items.count
    value = program.objective(loop.values)
    narrowed = replace(
        program,
        cost=cost,
        matrix=sparse.vstack([program.matrix, sparse.csr_array(program.cost[None])], format="csr"),
        row_lower=np.append(program.row_lower, -np.inf),
        row_upper=np.append(program.row_upper, value + 1e-7 * max(1.0, abs(value))),
        row_names=[*(program.row_names or ()), "fix_e28_value"],
    )
    best = solve_with_cuts(
        replace(relaxed, program=narrowed), separate, solve, clock, cuts=loop.cuts
    )
    return best.values if best.closed and best.values is not None else loop.values
