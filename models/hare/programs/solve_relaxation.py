"""Hare_Sched_RL and its repair solved by an engine: what the bounds and `hare*` start from."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.programs import relaxation
from schedgap.models.hare.programs.relaxation_arrays import (
    Relaxed,
    Separate,
    build,
    full_set,
    prefixes,
    prefixes_from_release,
    single,
)
from schedgap.models.hare.programs.relaxation_cuts import (
    Tightened,
    canonical,
    tighten,
    tighten_binary,
)
from schedgap.models.method import RunContext
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.engines.results import OnBound
from schedgap.solvers.programs.arrays import Floats, LinearProgram

INTEGER_CELLS = 400  # tasks x GPUs up to which `relaxed-prefix` keeps y binary by default
FARTHEST = 1e6  # of weights, or of times: what lies farther apart is beyond engines' tolerances
_LINEAR_SHARE = 0.3  # of the time, for cuts on the linear relaxation before the binary one
_PRECISE: dict[str, dict[str, Any]] = {  # U is large: y = 1e-6 would free a start by U x 1e-6
    "highs": {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    "gurobi": {"FeasibilityTol": 1e-9, "OptimalityTol": 1e-9},
}
_PRECISE_INTEGER: dict[str, dict[str, Any]] = {
    "highs": {"mip_feasibility_tolerance": 1e-9, "presolve": "off"},  # it errs at 1e-9
    "gurobi": {"IntFeasTol": 1e-9},
}


@dataclass(frozen=True, slots=True)
class RelaxationSolution:
    """A relaxation with its cuts, and where the loop ended; `point` is [j] or None."""

    relaxed: Relaxed
    found: Tightened
    point: Floats | None

    @property
    def start(self) -> Floats:
        """[i] x_hat."""
        assert self.point is not None
        x, _, _ = self.relaxed.split(self.point)
        return np.asarray(x[self.relaxed.items.task_item])

    @property
    def gpu(self) -> Any:
        """[i] the GPU of y_hat, or one of the class that has most of the task."""
        assert self.point is not None
        _, y, _ = self.relaxed.split(self.point)
        return self.relaxed.items.gpu[y.argmax(axis=1)][self.relaxed.items.task_item]

    def trace(self) -> dict[str, Any]:
        """What the loop did."""
        return {
            "relaxation_value": self.found.bound,
            "relaxation_proved": self.found.closed,
            "rounds": self.found.rounds,
            "cuts": len(self.found.cuts),
        }


def solve_relaxation(
    instance: HareInstance,
    call: RunContext,
    separate: Separate,
    *,
    horizon_cap: bool,
    integer: bool,
    choose_point: bool = False,
    on_bound: OnBound | None = None,
) -> RelaxationSolution:
    """Solve Hare_Sched_RL by a loop of cuts: of linear programs, then with binary y.

    `choose_point`: end with the canonical point. `on_bound` hears each better bound.
    """
    engine = call.engine or "highs"
    most = relaxation.limit(instance, horizon_cap=horizon_cap)

    def solver(clock: Clock) -> Callable[[LinearProgram], EngineResult]:
        def run(program: LinearProgram) -> EngineResult:
            options = _PRECISE[engine] | (_PRECISE_INTEGER[engine] if program.is_mixed else {})
            unit = _unit(program)
            result = solve(
                replace(program, cost=program.cost * unit, offset=program.offset * unit),
                engine,
                clock=clock,
                threads=call.threads,
                seed=call.seed,
                options=options,
            )
            return replace(
                result,
                objective=None if result.objective is None else result.objective / unit,
                bound=None if result.bound is None else result.bound / unit,
                duals=None if result.duals is None else np.asarray(result.duals) / unit,
            )

        return run

    call.progress.phase("adding cuts to the linear relaxation")
    relaxed = build(instance, limit=most, integer=False)
    clock = call.clock.share(_LINEAR_SHARE) if integer else call.clock
    found = tighten(relaxed, separate, solver(clock), clock, on_bound=on_bound)
    if integer:
        call.progress.phase("adding cuts to the relaxation with binary y")
        weaker, relaxed = found, build(instance, limit=most, integer=True)
        cuts = single(weaker.cuts, arrays(instance))
        apart = far_apart(instance)
        found = tighten_binary(
            relaxed,
            separate,
            solver(call.clock),
            call.clock,
            cuts=cuts,
            on_bound=None if apart else on_bound,
        )
        better = weaker.bound is not None and (found.bound is None or found.bound < weaker.bound)
        if apart or better:
            found = replace(found, bound=weaker.bound)
    point = found.values
    if choose_point and point is not None and found.closed:
        call.progress.phase("choosing the canonical point")
        point = canonical(relaxed, found, separate, solver(call.clock), call.clock)
    return RelaxationSolution(relaxed, found, point)


def _unit(program: LinearProgram) -> float:
    """Return a power of two that brings the largest cost to 512 or more, below 1024."""
    largest = float(np.abs(program.cost).max(initial=0.0))
    return 2.0 ** (10 - math.frexp(largest)[1]) if largest > 0 else 1.0


def far_apart(instance: HareInstance) -> bool:
    """Whether weights or times differ so much that an engine's tolerances can hide some of them.

    Then an integer program's bound is no proof: engines have reported some above the optimum.
    """
    view = arrays(instance)
    parts = (view.weight, np.concatenate([view.duration.ravel(), view.train.ravel(), view.arrival]))
    positive = (part[part > 0] for part in parts)
    return any(len(part) and part.max() > FARTHEST * part.min() for part in positive)


def solve_literal(
    instance: HareInstance,
    call: RunContext,
    *,
    horizon_cap: bool = False,
    choose_point: bool = False,
    on_bound: OnBound | None = None,
) -> RelaxationSolution:
    """Solve Hare_Sched_RL as printed: row (9) for all tasks of a GPU only."""
    if call.engine == "gurobi":
        return _solve_quadratic(instance, call, horizon_cap, choose_point, on_bound)
    return solve_relaxation(
        instance,
        call,
        full_set,
        horizon_cap=horizon_cap,
        integer=True,
        choose_point=choose_point,
        on_bound=on_bound,
    )


def _without_unit(instance: HareInstance) -> bool:
    """Whether a program in the instance's own numbers is beyond an engine's tolerances."""
    largest = float(arrays(instance).weight.max())
    return far_apart(instance) or not 1e-3 <= largest <= FARTHEST


def _solve_quadratic(
    instance: HareInstance,
    call: RunContext,
    horizon_cap: bool,
    choose_point: bool,
    on_bound: OnBound | None,
) -> RelaxationSolution:
    """Hand the quadratic rows to Gurobi."""
    literal = bool(call.options.get("literal", False))
    model = relaxation.build(instance, horizon_cap=horizon_cap, literal=literal)
    options = _PRECISE["gurobi"] | _PRECISE_INTEGER["gurobi"]
    call.progress.phase("solving the quadratic program")
    result = solve(
        model,
        "gurobi",
        clock=call.clock,
        threads=call.threads,
        seed=call.seed,
        on_bound=None if _without_unit(instance) else on_bound,
        options=options,
    )
    most = relaxation.limit(instance, horizon_cap=horizon_cap)
    relaxed = build(instance, limit=most, integer=True)
    point = None
    if result.objective is not None:
        x = np.array([model.x[i].value for i in model.D])
        y = np.array([[model.y[i, m].value for m in model.M] for i in model.D]).round()
        barrier = np.array([model.b[q].value for q in model.R])
        point = np.concatenate([x, y.ravel(), (y * x[:, None]).ravel(), barrier])
    closed = result.status == "optimal"
    bound = None if _without_unit(instance) else result.bound
    found = Tightened(point, bound, closed, [], 1, relaxed.program)
    if choose_point and closed:

        def run(program: LinearProgram) -> EngineResult:
            return solve(program, "gurobi", clock=call.clock, options=_PRECISE["gurobi"])

        point = canonical(relaxed, found, full_set, run, call.clock)
    return RelaxationSolution(relaxed, found, point)


def solve_prefix(
    instance: HareInstance,
    call: RunContext,
    *,
    integer: bool | None = None,
    release_cuts: bool = False,
    choose_point: bool = False,
    on_bound: OnBound | None = None,
) -> RelaxationSolution:
    """Solve Hare_Sched_RL with row (9) for all sets of tasks; `integer` None decides by size."""
    if integer is None:
        integer = instance.number_of_tasks * len(instance.gpus) <= INTEGER_CELLS
    return solve_relaxation(
        instance,
        call,
        prefixes_from_release if release_cuts else prefixes,
        horizon_cap=True,
        integer=integer,
        choose_point=choose_point,
        on_bound=on_bound,
    )
