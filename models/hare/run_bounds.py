"""The methods that return a bound only."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare import relaxation
from schedgap.models.hare.algorithm import algorithm_1, list_wspt
from schedgap.models.hare.bounds import fluid, lagrangian, relaxation_conic
from schedgap.models.hare.bounds.relaxation_linear import build, with_cuts
from schedgap.models.hare.bounds.solve_relaxation import (
    INTEGER_CELLS,
    RelaxationSolution,
    solve_literal,
    solve_prefix,
)
from schedgap.models.hare.certificates import (
    certify,
    critical_certificate,
    cut_certificate,
    lagrangian_certificate,
    priced_certificate,
)
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.linear import Floats

MOST_CELLS = 20_000  # items x machines beyond which no loop of cuts comes to an end
CELLS = Option(
    "cells", "int", 100, "cells of time up to the makespan of a list schedule", least=1
)  # fmt: skip


def critical_path(instance: HareInstance, call: Call) -> Outcome:
    """Return sum w_n (a_n + L_n): every job alone on the fastest GPUs, by (4), (6) and (7)."""
    bound, certificate = critical_certificate(instance)
    return Outcome(bound=bound, certificate=certificate)


@dataclass(frozen=True, slots=True)
class FluidSolution:
    """A solved fluid program; `values` [j] of `model.program`, None when HiGHS was stopped.

    `duals` [i] of its rows are all 0 where HiGHS has none: they too prove a bound.
    """

    model: fluid.Fluid
    result: EngineResult
    values: Floats | None
    duals: Floats


def solve_fluid(instance: HareInstance, call: Call) -> FluidSolution:
    """Solve the fluid program with the options `cells` and `sync_rows` of a call."""
    from schedgap.solvers.highs import solve_arrays

    call.progress.phase("building the fluid program")
    grid = default_grid(instance, call.options["cells"])
    model = fluid.build(instance, grid, sync_rows=call.options.get("sync_rows", False))
    call.progress.phase("solving the fluid program")
    # Weights of any size look alike to the engine.
    size = float(model.program.cost.max()) or 1.0
    scaled = replace(model.program, cost=model.program.cost / size)
    settings: dict[str, Any] = {"clock": call.clock, "threads": call.threads, "seed": call.seed}
    # The interior point is precise enough: prices prove what they prove, and a vertex costs more.
    result = solve_arrays(scaled, algorithm="ipm", crossover=False, **settings)
    if result.duals is None and not call.clock.expired():
        result = solve_arrays(scaled, algorithm="simplex", **settings)
    if result.objective is not None:
        result = replace(result, objective=result.objective * size)
    rows = len(model.program.row_lower)
    duals = np.zeros(rows) if result.duals is None else np.asarray(result.duals) * size
    return FluidSolution(model, result, result.values, duals)


def default_grid(instance: HareInstance, cells: int) -> Floats:
    """Return a grid up to the makespan of the shorter of two list schedules."""
    by_head = algorithm_1(instance, arrays(instance).head, gpu_rule="finish")
    end = min(
        float(schedule.completion(instance).max()) for schedule in (by_head, list_wspt(instance))
    )
    return fluid.power_grid(end, cells)


def fluid_lp(instance: HareInstance, call: Call) -> Outcome:
    """Solve the fluid program and return what its prices prove."""
    solution = solve_fluid(instance, call)
    model, result = solution.model, solution.result
    trace: dict[str, Any] = {
        "rows": len(model.program.row_lower),
        "columns": len(model.program.cost),
        "grid_end": float(model.grid[-1]),
    }
    bound, duals = certify(model.program, solution.duals)
    if solution.values is not None:
        trace |= {
            "engine_value": result.objective,
            "midpoint_value_no_bound": fluid.midpoint_value(instance, model, solution.values),
        }
    return Outcome(
        bound=bound,
        trace=trace,
        certificate={
            "kind": "fluid-lp",
            "grid": model.grid.tolist(),
            "sync_rows": call.options["sync_rows"],
            "duals": duals,
            "value": bound,
        },
        note=_unsolved(result),
    )


def _unsolved(result: EngineResult) -> str:
    """Say that prices are 0 for want of better ones, or nothing."""
    if result.duals is not None:
        return ""
    return f"the fluid program was not solved ({result.status}): prices are 0"


_COARSE = 2  # steps of time in a job's shortest task, while prices are looked for
_SMOOTHING = 0.8
_GAP = 1e-4  # relative, between the master and the bound, below which prices are good enough


def lagrangian_bound(instance: HareInstance, call: Call) -> Outcome:
    """Price GPU time as the fluid program does, then by column generation; return the best bound.

    Every bound on the way is valid; the last word has a finer step of time.
    """
    from schedgap.solvers.column_generation import Priced, generate_columns

    alone, certificate_alone = critical_certificate(instance)
    call.progress.bound(alone, certificate_alone)
    solution = solve_fluid(instance, replace(call, clock=call.clock.share(0.5)))
    view, steps, grid = arrays(instance), call.options["steps"], solution.model.grid
    first = lagrangian.Prices(grid, fluid.capacity_prices(solution.model, solution.duals))
    begin = call.clock.elapsed()
    bound, certificate = lagrangian_certificate(instance, first, steps=steps)
    call.progress.bound(bound, certificate)
    trace: dict[str, Any] = {"fluid_prices": bound, "rounds": 0}
    left = call.clock.remaining() - 3 * (call.clock.elapsed() - begin)  # for the last word
    if call.options["rounds"] and left > 0:
        call.progress.phase("looking for better prices")
        price = lagrangian.pricing(instance, grid, steps=_COARSE)
        asked: list[lagrangian.Prices] = []  # the last prices, those of a bound that is heard

        def pricing(duals: Floats) -> Priced | None:
            asked[:] = [lagrangian.prices_of(view, grid, duals)]
            return None if call.clock.expired() else price(duals)

        def better(value: float) -> None:
            call.progress.bound(value, priced_certificate(asked[0], value, steps=_COARSE))

        result = generate_columns(
            lagrangian.master(instance, first, steps=_COARSE),
            pricing,
            clock=Clock(None if math.isinf(left) else left),
            smoothing=_SMOOTHING,
            gap=_GAP,
            rounds=call.options["rounds"],
            prices=lagrangian.duals_of(view, first),
            threads=call.threads,
            seed=call.seed,
            on_bound=better,
        )
        trace |= {"rounds": result.rounds, "master": result.objective}
        if result.prices is not None:
            last = lagrangian.prices_of(view, grid, result.prices)
            if result.bound is not None and result.bound > bound:
                bound, certificate = (
                    result.bound,
                    priced_certificate(last, result.bound, steps=_COARSE),
                )
            value, rival = lagrangian_certificate(instance, last, steps=steps)
            if value > bound:
                bound, certificate = value, rival
    if alone > bound:
        bound, certificate = alone, certificate_alone
    return Outcome(
        bound=bound, trace=trace, certificate=certificate, note=_unsolved(solution.result)
    )


def _too_large(instance: HareInstance, *, integer: bool) -> str:
    """Why a loop of cuts is not begun, or nothing."""
    view = arrays(instance)
    if integer:
        size, words = view.tasks * view.gpus, "tasks x GPUs"
    else:
        size, words = len(view.alike) * len(view.class_gpus), "classes of tasks x classes of GPUs"
    if size <= MOST_CELLS:
        return ""
    return f"{size} {words} are too many (at most {MOST_CELLS}); take fluid-lp"


def _outcome(solution: RelaxationSolution, **more: Any) -> Outcome:
    note = "" if solution.found.bound is not None else "stopped before the first bound"
    return Outcome(bound=solution.found.bound, trace=solution.trace(), note=note, **more)


def relaxed_miqcp(instance: HareInstance, call: Call) -> Outcome:
    """Solve Hare_Sched_RL as printed; the engine's bound on it is the bound."""
    if reason := _too_large(instance, integer=True):
        return Outcome(note=reason)
    if call.options["literal"] and call.engine != "gurobi":
        raise UsageError("option literal=true is a nonconvex program: it needs --engine gurobi")
    horizon_cap = call.options["horizon_cap"]
    return _outcome(
        solve_literal(instance, call, horizon_cap=horizon_cap, on_bound=call.progress.bound)
    )


def relaxed_prefix(instance: HareInstance, call: Call) -> Outcome:
    """Solve the relaxation with row (9) for all sets; with continuous y its prices prove it."""
    integer = call.options["integer"]
    if integer is None:
        integer = instance.number_of_tasks * len(instance.gpus) <= INTEGER_CELLS
    if reason := _too_large(instance, integer=integer):
        return Outcome(note=reason)
    release_cuts = call.options["release_cuts"]
    solution = solve_prefix(
        instance,
        call,
        integer=integer,
        release_cuts=release_cuts,
        on_bound=call.progress.bound,
    )
    found = solution.found
    if integer or found.duals is None:
        return _outcome(solution)
    bound, certificate = cut_certificate(
        "relaxed-prefix", solution.relaxed, found.program, found.cuts, found.duals
    )
    solution = replace(solution, found=replace(found, bound=bound))
    return _outcome(solution, certificate=certificate)


def relaxed_conic(instance: HareInstance, call: Call) -> Outcome:
    """Solve the relaxation as printed with continuous y, and return what its prices prove."""
    if reason := _too_large(instance, integer=False):
        return Outcome(note=reason)
    most = relaxation.limit(instance, horizon_cap=True)
    relaxed = build(instance, limit=most, integer=False)
    problem = relaxation_conic.build(relaxed)
    call.progress.phase("solving the conic program")
    result = solve(problem, "clarabel", clock=call.clock, threads=call.threads, seed=call.seed)
    if result.duals is None:
        return Outcome(note=f"the conic program was not solved ({result.status})")
    cuts, duals = relaxation_conic.tangents(relaxed, problem, result.duals)
    program = with_cuts(relaxed, cuts)
    bound, certificate = cut_certificate("relaxed-conic", relaxed, program, cuts, duals)
    return Outcome(
        bound=bound,
        trace={"relaxation_value": result.objective},
        certificate=certificate,
    )


METHODS: tuple[Method, ...] = (
    Method(
        "lagrangian",
        "bound",
        lagrangian_bound,
        "priced GPU time, every job scheduled alone; the strongest bound of full scale",
        "Lagrangian relaxation of (8)",
        ours=True,
        engines=("highs",),
        options=(
            CELLS,
            Option("rounds", "int", 40, "rounds of column generation for better prices", least=0),
            Option("steps", "int", 16, "steps of time in a job's shortest task", least=1),
        ),
    ),
    Method(
        "critical-path",
        "bound",
        critical_path,
        "every job alone on the fastest GPUs",
        "(4), (6), (7)",
        ours=True,
    ),
    Method(
        "relaxed-miqcp",
        "bound",
        relaxed_miqcp,
        "the paper's relaxation: row (9) for all tasks of a GPU",
        "Hare_Sched_RL, Section 5.2",
        engines=("highs", "gurobi"),
        options=(
            Option("horizon_cap", "bool", False, "limit starts to the horizon: stronger (E31)"),
            Option("literal", "bool", False, "products as printed, nonconvex: Gurobi only (E3)"),
        ),
    ),
    Method(
        "relaxed-prefix",
        "bound",
        relaxed_prefix,
        "the relaxation that Lemma 2 uses: row (9) for every set of tasks",
        "Hare_Sched_RL, Lemma 2",
        ours=True,
        engines=("highs", "gurobi"),
        options=(
            Option(
                "integer",
                "bool",
                None,
                f"binary y; unless given, when tasks x GPUs <= {INTEGER_CELLS}",
            ),
            Option("release_cuts", "bool", False, "count starts from the earliest head of a set"),
        ),
    ),
    Method(
        "relaxed-conic",
        "bound",
        relaxed_conic,
        "the paper's relaxation with continuous y, as a conic program",
        "Hare_Sched_RL, Section 5.2",
        engines=("clarabel",),
    ),
    Method(
        "fluid-lp",
        "bound",
        fluid_lp,
        "linear program over jobs, classes of GPUs and cells of time; for full scale",
        "mean busy times",
        ours=True,
        engines=("highs",),
        options=(
            CELLS,
            Option("sync_rows", "bool", False, "add rows that pay for long synchronization"),
        ),
    ),
)
