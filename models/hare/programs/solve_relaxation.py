"""Solve Hare_Sched_RL and its repaired version; the bounds and the methods `hare*` start here."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.programs import relaxation
from schedgap.models.hare.programs.relaxation_arrays import (
    BaseRelaxation,
    Separate,
    build,
    disaggregated,
    separate_full_set,
    separate_prefixes,
    separate_release_prefixes,
)
from schedgap.models.hare.programs.relaxation_cuts import (
    CutLoopResult,
    canonical_point,
    solve_binary_with_cuts,
    solve_with_cuts,
)
from schedgap.models.method import RunContext
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.engines.registry import find_engine
from schedgap.solvers.engines.results import OnBound
from schedgap.solvers.programs.arrays import Floats, LinearProgram

INTEGER_CELLS = 400  # tasks x GPUs up to which `relaxed-prefix` keeps y binary by default
MAX_RATIO = 1e6  # of weights, or of times; larger ratios exceed the tolerances of engines
_LINEAR_SHARE = 0.3  # of the time, for cuts on the linear relaxation before the binary one
# U is large: an error of 1e-6 in y moves a start by U / 1e6.
_PRECISE: dict[str, dict[str, Any]] = {
    "highs": {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    "gurobi": {"FeasibilityTol": 1e-9, "OptimalityTol": 1e-9},
}
_PRECISE_INTEGER: dict[str, dict[str, Any]] = {
    "highs": {"mip_feasibility_tolerance": 1e-9, "presolve": "off"},  # its presolve errs at 1e-9
    "gurobi": {"IntFeasTol": 1e-9},
}


@dataclass(frozen=True, slots=True)
class RelaxationSolution:
    """A relaxation, the result of its cutting-plane loop, and the point to start from."""

    relaxed: BaseRelaxation
    loop: CutLoopResult
    point: Floats | None  # [j]

    @property
    def start(self) -> Floats:
        """[i] starts x_hat of the tasks, in the instance's time unit."""
        assert self.point is not None
        x, _, _ = self.relaxed.split(self.point)
        return np.asarray(x[self.relaxed.items.task_item])

    @property
    def gpu(self) -> NDArray[np.int64]:
        """[i] GPU with the largest share y_hat of the task, or one of that class of GPUs."""
        assert self.point is not None
        _, y, _ = self.relaxed.split(self.point)
        return np.asarray(self.relaxed.items.gpu[y.argmax(axis=1)][self.relaxed.items.task_item])

    def trace(self) -> dict[str, object]:
        """Return bound, proof, rounds and cuts of the loop, for the trace of a method."""
        return {
            "relaxation_value": self.loop.bound,
            "relaxation_proved": self.loop.closed,
            "rounds": self.loop.rounds,
            "cuts": len(self.loop.cuts),
        }


def _solve_by_cuts(
    instance: HareInstance,
    call: RunContext,
    separate: Separate,
    *,
    horizon_cap: bool,
    integer: bool,
    choose_point: bool = False,
    on_bound: OnBound | None = None,
) -> RelaxationSolution:
    """Solve Hare_Sched_RL by cutting planes: first with continuous y, then with binary y.

    `separate`: returns the rows (9) that a point violates. `horizon_cap`: bound the starts by the
    horizon, see `relaxation.start_limit`. `integer`: whether y is binary. `choose_point`: end with
    the canonical point among the optima. `on_bound`: called with every improved bound, in the
    instance's units.
    """
    engine = call.engine or "highs"
    limit = relaxation.start_limit(instance, horizon_cap=horizon_cap)

    def solver(clock: Clock) -> Callable[[LinearProgram], EngineResult]:
        def run(program: LinearProgram) -> EngineResult:
            options = _precise(engine, program.is_mixed)
            scale = _cost_scale(program)
            result = solve(
                replace(program, cost=program.cost * scale, offset=program.offset * scale),
                engine,
                clock=clock,
                threads=call.threads,
                seed=call.seed,
                options=options,
            )
            return replace(
                result,
                objective=None if result.objective is None else result.objective / scale,
                bound=None if result.bound is None else result.bound / scale,
                duals=None if result.duals is None else np.asarray(result.duals) / scale,
            )

        return run

    call.progress.phase("adding cuts to the linear relaxation")
    relaxed = build(instance, limit=limit, integer=False)
    clock = call.clock.share(_LINEAR_SHARE) if integer else call.clock
    loop = solve_with_cuts(relaxed, separate, solver(clock), clock, on_bound=on_bound)
    if integer:
        call.progress.phase("adding cuts to the relaxation with binary y")
        weaker, relaxed = loop, build(instance, limit=limit, integer=True)
        cuts = disaggregated(weaker.cuts, arrays(instance))
        badly_scaled = _badly_scaled(instance)
        loop = solve_binary_with_cuts(
            relaxed,
            separate,
            solver(call.clock),
            call.clock,
            cuts=cuts,
            on_bound=None if badly_scaled else on_bound,
        )
        better = weaker.bound is not None and (loop.bound is None or loop.bound < weaker.bound)
        if badly_scaled or better:
            loop = replace(loop, bound=weaker.bound)
    point = loop.values
    if choose_point and point is not None and loop.closed:
        call.progress.phase("choosing the canonical point")
        point = canonical_point(relaxed, loop, separate, solver(call.clock), call.clock)
    return RelaxationSolution(relaxed, loop, point)


def _precise(engine: str, mixed: bool) -> dict[str, Any]:
    """Return the tightest tolerances that are safe for an engine."""
    linear = _PRECISE.get(engine, dict(find_engine(engine).least))
    return linear | (_PRECISE_INTEGER.get(engine, {}) if mixed else {})


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


def solve_literal(
    instance: HareInstance,
    call: RunContext,
    *,
    horizon_cap: bool = False,
    literal: bool = False,
    choose_point: bool = False,
    on_bound: OnBound | None = None,
) -> RelaxationSolution:
    """Solve Hare_Sched_RL as printed: row (9) for the set of all tasks of a GPU only.

    `horizon_cap`: bound the starts by the horizon (E31). `literal`: keep the products (E3).
    `choose_point`: end with the canonical point among the optima. `on_bound`: called with every
    improved bound, in the instance's units.
    """
    if call.engine == "gurobi":
        return _solve_quadratic(instance, call, horizon_cap, literal, choose_point, on_bound)
    return _solve_by_cuts(
        instance,
        call,
        separate_full_set,
        horizon_cap=horizon_cap,
        integer=True,
        choose_point=choose_point,
        on_bound=on_bound,
    )


def _unsafe_unscaled(instance: HareInstance) -> bool:
    """Return whether an engine cannot resolve the program in the instance's own units."""
    largest = float(arrays(instance).weight.max())
    return _badly_scaled(instance) or not 1e-3 <= largest <= MAX_RATIO


def _solve_quadratic(
    instance: HareInstance,
    call: RunContext,
    horizon_cap: bool,
    literal: bool,
    choose_point: bool,
    on_bound: OnBound | None,
) -> RelaxationSolution:
    """Solve the Pyomo program with its quadratic rows by Gurobi."""
    model = relaxation.build(instance, horizon_cap=horizon_cap, literal=literal)
    options = _PRECISE["gurobi"] | _PRECISE_INTEGER["gurobi"]
    call.progress.phase("solving the quadratic program")
    result = solve(
        model,
        "gurobi",
        clock=call.clock,
        threads=call.threads,
        seed=call.seed,
        on_bound=None if _unsafe_unscaled(instance) else on_bound,
        options=options,
    )
    limit = relaxation.start_limit(instance, horizon_cap=horizon_cap)
    relaxed = build(instance, limit=limit, integer=True)
    point = None
    if result.objective is not None:
        x = np.array([model.x[i].value for i in model.D])
        y = np.array([[model.y[i, m].value for m in model.M] for i in model.D]).round()
        barrier = np.array([model.b[q].value for q in model.R])
        point = np.concatenate([x, y.ravel(), (y * x[:, None]).ravel(), barrier])
    closed = result.status == "optimal"
    bound = None if _unsafe_unscaled(instance) else result.bound
    loop = CutLoopResult(point, bound, closed, [], 1, relaxed.program)
    if choose_point and closed:

        def run(program: LinearProgram) -> EngineResult:
            return solve(program, "gurobi", clock=call.clock, options=_PRECISE["gurobi"])

        point = canonical_point(relaxed, loop, separate_full_set, run, call.clock)
    return RelaxationSolution(relaxed, loop, point)


def solve_prefix(
    instance: HareInstance,
    call: RunContext,
    *,
    integer: bool | None = None,
    release_cuts: bool = False,
    choose_point: bool = False,
    on_bound: OnBound | None = None,
) -> RelaxationSolution:
    """Solve Hare_Sched_RL with row (9) for all sets of tasks of a GPU.

    `integer`: whether y is binary; None decides by size. `release_cuts`: also separate rows that
    measure starts from the earliest release of a set. `choose_point`: end with the canonical point
    among the optima. `on_bound`: called with every improved bound, in the instance's units.
    """
    if integer is None:
        integer = instance.number_of_tasks * len(instance.gpus) <= INTEGER_CELLS
    return _solve_by_cuts(
        instance,
        call,
        separate_release_prefixes if release_cuts else separate_prefixes,
        horizon_cap=True,
        integer=integer,
        choose_point=choose_point,
        on_bound=on_bound,
    )
