"""Solve Hare_Sched_RL and its repaired version; the bounds and the methods `hare*` start here.

Rows (9) are added by cutting planes where a point violates them.

References
----------
J. E. Kelley, "The cutting-plane method for solving convex programs", Journal of the Society for
Industrial and Applied Mathematics 8 (1960).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.programs import relaxation
from schedgap.models.hare.programs.relaxation_arrays import (
    BaseRelaxation,
    LoadCut,
    Separate,
    build,
    cut_rows,
    disaggregated,
    with_cuts,
)
from schedgap.models.method import RunContext
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.engines.registry import find_engine
from schedgap.solvers.engines.results import OnBound
from schedgap.solvers.loops.cutting_planes import Rows as NewRows
from schedgap.solvers.loops.cutting_planes import Solve, cutting_planes, with_rows
from schedgap.solvers.programs.arrays import Floats, LinearProgram

INTEGER_CELLS = 400  # tasks x GPUs up to which y is binary by default
MAX_RATIO = 1e6  # largest ratio of weights, or of times, that engines resolve
MAX_ROUNDS = 400  # programs that a cutting-plane loop solves
TOLERANCE = 1e-7  # relative; values that differ by less are equal
_LINEAR_SHARE = 0.3  # share of the time for cuts on the linear relaxation, before the binary one
# U is large: an error of 1e-6 in y moves a start by U / 1e6.
_PRECISE: dict[str, dict[str, Any]] = {
    "highs": {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    "gurobi": {"FeasibilityTol": 1e-9, "OptimalityTol": 1e-9},
}
_PRECISE_INTEGER: dict[str, dict[str, Any]] = {
    "highs": {"mip_feasibility_tolerance": 1e-9, "presolve": "off"},  # its presolve errs at 1e-9
    "gurobi": {"IntFeasTol": 1e-9},
}


@dataclass(frozen=True, slots=True, eq=False)
class RelaxationSolution:
    """Result of a cutting-plane loop.

    `relaxed` is the relaxation without rows (9). `values` is the last point, or None. `bound` is a
    lower bound on the relaxation even if cuts are still missing; `closed` says that none is
    violated.
    """

    relaxed: BaseRelaxation
    cuts: list[LoadCut]
    values: Floats | None = None
    bound: float | None = None
    closed: bool = False
    rounds: int = 0

    @property
    def start(self) -> Floats:
        """[i] starts x_hat of the tasks, in the instance's time unit."""
        assert self.values is not None
        return self.relaxed.x.extract(self.values)[self.relaxed.items.task_item]

    @property
    def gpu(self) -> NDArray[np.int64]:
        """[i] GPU with the largest share y_hat of the task, or one of that class of GPUs."""
        assert self.values is not None
        items, share = self.relaxed.items, self.relaxed.y.extract(self.values)
        return np.asarray(items.gpu[share.argmax(axis=1)][items.task_item])

    def trace(self) -> dict[str, object]:
        """Return bound, proof, rounds and cuts of the loop, for the trace of a method."""
        return {
            "relaxation_value": self.bound,
            "relaxation_proved": self.closed,
            "rounds": self.rounds,
            "cuts": len(self.cuts),
        }


def has_few_cells(instance: HareInstance) -> bool:
    """Return whether y is binary by default."""
    return instance.number_of_tasks * len(instance.gpus) <= INTEGER_CELLS


def solve_relaxation(
    instance: HareInstance,
    call: RunContext,
    separate: Separate,
    *,
    integer: bool,
    horizon_cap: bool = True,
    canonical: bool = False,
    on_bound: OnBound | None = None,
) -> RelaxationSolution:
    """Solve Hare_Sched_RL by cutting planes: first with continuous y, then with binary y.

    `separate`: returns the rows (9) that a point violates. `integer`: whether y is binary.
    `horizon_cap`: bound the starts by the horizon, see `relaxation.start_limit`. `canonical`: end
    with the canonical point among the optima. `on_bound`: called with every improved bound, in the
    instance's units.
    """
    limit = relaxation.start_limit(instance, horizon_cap=horizon_cap)
    call.progress.phase("adding cuts to the linear relaxation")
    clock = call.clock.share(_LINEAR_SHARE) if integer else call.clock
    relaxed = build(instance, limit=limit, integer=False)
    found = solve_with_cuts(relaxed, separate, _solver(call, clock), clock, on_bound=on_bound)
    solver = _solver(call, call.clock)
    if integer:
        call.progress.phase("adding cuts to the relaxation with binary y")
        weaker = found
        found = solve_with_cuts(
            build(instance, limit=limit, integer=True),
            separate,
            solver,
            call.clock,
            cuts=disaggregated(weaker.cuts, arrays(instance)),
            on_bound=None if _badly_scaled(instance) else on_bound,
        )
        worse = weaker.bound is not None and (found.bound is None or found.bound < weaker.bound)
        if _badly_scaled(instance) or worse:
            found = replace(found, bound=weaker.bound)
    if canonical and found.closed:
        call.progress.phase("choosing the canonical point")
        found = replace(found, values=canonical_point(found, separate, solver, call.clock))
    return found


def _solver(call: RunContext, clock: Clock) -> Solve:
    """Return the engine of a call with tight tolerances, for costs of any size."""
    engine = call.engine or "highs"
    precise = _PRECISE.get(engine, dict(find_engine(engine).least))

    def run(program: LinearProgram) -> EngineResult:
        scale = _cost_scale(program)
        result = solve(
            replace(program, cost=program.cost * scale, offset=program.offset * scale),
            engine,
            clock=clock,
            threads=call.threads,
            seed=call.seed,
            options=precise | (_PRECISE_INTEGER.get(engine, {}) if program.is_mixed else {}),
        )
        return replace(
            result,
            objective=None if result.objective is None else result.objective / scale,
            bound=None if result.bound is None else result.bound / scale,
            duals=None if result.duals is None else np.asarray(result.duals) / scale,
        )

    return run


def _cost_scale(program: LinearProgram) -> float:
    """Return the power of two that brings the largest cost into [512, 1024)."""
    largest = float(np.abs(program.cost).max(initial=0.0))
    return 2.0 ** (10 - math.frexp(largest)[1]) if largest > 0 else 1.0


def _badly_scaled(instance: HareInstance) -> bool:
    """Return whether weights or times differ by more than engines can resolve.

    The bound of an integer program is then not trusted: engines have reported bounds above the
    optimum.
    """
    view = arrays(instance)
    parts = (view.weight, np.concatenate([view.duration.ravel(), view.train.ravel(), view.arrival]))
    positive = (part[part > 0] for part in parts)
    return any(len(part) and part.max() > MAX_RATIO * part.min() for part in positive)


def solve_with_cuts(
    relaxed: BaseRelaxation,
    separate: Separate,
    solve: Solve,
    clock: Clock,
    *,
    cuts: Sequence[LoadCut] = (),
    on_bound: OnBound | None = None,
) -> RelaxationSolution:
    """Solve, add the cuts that the solution violates, and repeat until there are none.

    `relaxed`: the relaxation without rows (9). `separate`: returns the cuts that a point violates.
    `solve`: solves a program. `cuts`: cuts to start with. `on_bound`: called with every improved
    bound.

    Notes
    -----
    If y is binary, each cut is added for all GPUs equal to its own; otherwise the same tasks would
    move to the next of them.
    """
    kind, all_cuts, mixed = relaxed.items.kind, list(cuts), relaxed.program.is_mixed

    def violated_rows(values: Floats) -> NewRows | None:
        new = separate(relaxed, values)
        if mixed:
            new = [
                replace(cut, machine=int(m))
                for cut in new
                for m in np.flatnonzero(kind == kind[cut.machine])
            ]
        all_cuts.extend(new)
        return cut_rows(relaxed, new) if new else None

    loop = cutting_planes(
        with_cuts(relaxed, cuts), violated_rows, clock=clock, rounds=MAX_ROUNDS, solve=solve,
        on_bound=on_bound,
    )  # fmt: skip
    values = None if loop.last is None else loop.last.values
    closed = loop.end == "closed"
    if mixed and closed:  # no row is violated, but the point may not be optimal
        value = math.inf if values is None else relaxed.program.objective(values)
        closed = loop.bound is not None and value <= loop.bound + TOLERANCE * max(1.0, abs(value))
    return RelaxationSolution(relaxed, all_cuts, values, loop.bound, closed, loop.rounds)


def _with_shares(relaxed: BaseRelaxation, values: Floats) -> LinearProgram:
    """Return the linear program with y fixed to its values in a point."""
    program = relaxed.program
    shares = relaxed.y.extract(values)
    fixed = shares.clip(0, 1) if program.integer is None else shares.round().clip(0, 1)
    lower, upper = program.lower.copy(), program.upper.copy()
    relaxed.y.extract(lower)[...] = relaxed.y.extract(upper)[...] = fixed
    return replace(program, lower=lower, upper=upper, integer=None)


def canonical_point(
    found: RelaxationSolution, separate: Separate, solve: Solve, clock: Clock
) -> Floats:
    """Return the point of least sum of starts with the same y and, within 1e-7, the same value.

    In an optimum, tasks that do not delay their job may start at many times (E28). This choice is
    the same for all engines that agree on y.

    `found`: a solution with a point. `separate`: returns the cuts that a point violates. `solve`:
    solves a program.

    If the loop does not close in time, it is the point of `found`.
    """
    assert found.values is not None
    relaxed = found.relaxed
    program = _with_shares(relaxed, found.values)
    cost = np.zeros_like(program.cost)
    relaxed.x.extract(cost)[...] = relaxed.items.count
    value = program.objective(found.values)
    most = value + TOLERANCE * max(1.0, abs(value))
    narrowed = replace(
        with_rows(program, NewRows([-np.inf], [most], program.cost[None])), cost=cost
    )
    best = solve_with_cuts(
        replace(relaxed, program=narrowed), separate, solve, clock, cuts=found.cuts
    )
    return best.values if best.closed and best.values is not None else found.values
