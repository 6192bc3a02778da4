"""The loops that add rows (9) to the relaxation until none is violated, and its canonical point."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from schedgap.models.hare.programs.relaxation_arrays import (
    Cut,
    Relaxed,
    Separate,
    rows_of,
    with_cuts,
)
from schedgap.solvers import Clock
from schedgap.solvers.engines.results import OnBound
from schedgap.solvers.loops.cutting_planes import Rows as NewRows
from schedgap.solvers.loops.cutting_planes import Solve, cutting_planes
from schedgap.solvers.programs.arrays import Floats, LinearProgram

MOST_ROUNDS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Tightened:
    """Where a loop of cuts ended.

    `values` is the last point, or None. `bound` holds for the whole relaxation, whatever cuts are
    still missing; `closed`: none is. `duals` (rows of `program`) prove the bound of a linear
    program.
    """

    values: Floats | None
    bound: float | None
    closed: bool
    cuts: list[Cut]
    rounds: int
    program: LinearProgram
    duals: Floats | None = None


def tighten(
    relaxed: Relaxed,
    separate: Separate,
    solve: Solve,
    clock: Clock,
    *,
    cuts: Sequence[Cut] = (),
    on_bound: OnBound | None = None,
    most_rounds: int = MOST_ROUNDS,
) -> Tightened:
    """Solve, add the cuts that the point violates, and repeat until there are none."""
    held = list(cuts)

    def missing(values: Floats) -> NewRows | None:
        fresh = separate(relaxed, values)
        held.extend(fresh)
        return rows_of(relaxed, fresh) if fresh else None

    ended = cutting_planes(
        with_cuts(relaxed, cuts), missing, clock=clock, rounds=most_rounds, solve=solve,
        on_bound=on_bound,
    )  # fmt: skip
    values = duals = None
    if ended.last is not None:
        values, duals = np.asarray(ended.last.values), ended.last.duals
    return Tightened(
        values, ended.bound, ended.end == "closed", held, ended.rounds, ended.program, duals
    )


def tighten_binary(
    relaxed: Relaxed,
    separate: Separate,
    solve: Solve,
    clock: Clock,
    *,
    cuts: Sequence[Cut] = (),
    on_bound: OnBound | None = None,
) -> Tightened:
    """Solve with binary y, close the cuts with that y fixed, and repeat until both values meet.

    A program with y fixed is linear: it finds the cuts that this y needs at once, where the binary
    program would answer each cut with another of its many optima. A cut is added for all GPUs that
    equal its own, or the same tasks would move on to the next of them.
    """

    def copies(cut: Cut) -> list[Cut]:
        times = relaxed.items.train, relaxed.items.duration
        equal = [(table == table[:, [cut.machine]]).all(axis=0) for table in times]
        return [replace(cut, machine=int(m)) for m in np.flatnonzero(equal[0] & equal[1])]

    found = Tightened(None, None, False, list(cuts), 0, relaxed.program)
    best = np.inf
    for number in range(1, MOST_ROUNDS + 1):
        result = solve(with_cuts(relaxed, found.cuts))
        if result.bound is not None and (found.bound is None or result.bound > found.bound):
            found = replace(found, bound=result.bound)
            if on_bound is not None:
                on_bound(result.bound)
        if result.values is None:
            break
        values = np.asarray(result.values)
        found = replace(found, rounds=number, values=found.values if best < np.inf else values)
        fixed = replace(relaxed, program=_with_shares(relaxed, values))
        closure = tighten(fixed, separate, solve, clock, cuts=found.cuts)
        if closure.closed and closure.values is not None:
            value = relaxed.program.objective(closure.values)
            if value < best:
                best, found = value, replace(found, values=closure.values)
        fresh = closure.cuts[len(found.cuts) :]
        found = replace(found, cuts=found.cuts + [copy for cut in fresh for copy in copies(cut)])
        if found.bound is not None and best <= found.bound + 1e-7 * max(1.0, abs(best)):
            return replace(found, closed=True)
        if not fresh or result.status != "optimal" or clock.expired():
            break
    return found


def _with_shares(relaxed: Relaxed, values: Floats) -> LinearProgram:
    """Return the linear program with y fixed as in a point."""
    program = relaxed.program
    items, machines = relaxed.items.train.shape
    y = slice(items, items + items * machines)
    fixed = values[y] if program.integer is None else np.round(values[y])
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[y] = upper[y] = fixed.clip(0, 1)
    return replace(program, lower=lower, upper=upper, integer=None)


def canonical(
    relaxed: Relaxed,
    found: Tightened,
    separate: Separate,
    solve: Solve,
    clock: Clock,
) -> Floats:
    """Return the point of least sum of starts with the same y and, within 1e-7, the same value.

    Tasks that do not hold up their job may start anywhere in an optimum (E28); this choice is
    the same for all engines that agree on y. The point itself when the loop does not close.
    """
    assert found.values is not None
    program = _with_shares(relaxed, found.values)
    cost = np.zeros_like(program.cost)
    cost[: len(relaxed.items.count)] = relaxed.items.count
    value = program.objective(found.values)
    narrowed = replace(
        program,
        cost=cost,
        matrix=sparse.vstack([program.matrix, sparse.csr_array(program.cost[None])], format="csr"),
        row_lower=np.append(program.row_lower, -np.inf),
        row_upper=np.append(program.row_upper, value + 1e-7 * max(1.0, abs(value))),
        row_names=[*(program.row_names or ()), "fix_e28_value"],
    )
    best = tighten(replace(relaxed, program=narrowed), separate, solve, clock, cuts=found.cuts)
    return best.values if best.closed and best.values is not None else found.values
