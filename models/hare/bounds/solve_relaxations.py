"""The bounds from the paper's relaxation: as printed, with cuts for all sets, and conic.

Joins `programs.solve_relaxation` and `relaxation_conic` to the certificates.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from schedgap.errors import UsageError
from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.bounds import relaxation_conic
from schedgap.models.hare.bounds.certificates import (
    cut_certificate,
)
from schedgap.models.hare.programs import relaxation
from schedgap.models.hare.programs.relaxation_arrays import build, with_cuts
from schedgap.models.hare.programs.solve_relaxation import (
    INTEGER_CELLS,
    RelaxationSolution,
    solve_literal,
    solve_prefix,
)
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import solve

MAX_CELLS = 20_000  # items x machines; beyond it, no cutting-plane loop ends in useful time


def _too_large(instance: HareInstance, *, integer: bool) -> str:
    """Return why the relaxation is too large for cutting planes, or an empty string."""
    view = arrays(instance)
    if integer:
        size, words = view.tasks * view.gpus, "tasks x GPUs"
    else:
        size, words = len(view.alike) * len(view.class_gpus), "classes of tasks x classes of GPUs"
    if size <= MAX_CELLS:
        return ""
    return f"{size} {words} are too many (at most {MAX_CELLS}); use fluid-lp"


def _result(
    solution: RelaxationSolution, certificate: Mapping[str, object] | None = None
) -> MethodResult:
    """Return the bound of a relaxation as the result of a method."""
    note = "" if solution.loop.bound is not None else "stopped before the first bound"
    return MethodResult(
        bound=solution.loop.bound, trace=solution.trace(), note=note, certificate=certificate
    )


def relaxed_miqcp(
    instance: HareInstance,
    call: RunContext,
    *,
    horizon_cap: Annotated[
        bool, "bound the starts by the horizon: a stronger relaxation (E31)"
    ] = False,
    literal: Annotated[bool, "keep the products as printed: nonconvex, Gurobi only (E3)"] = False,
) -> MethodResult:
    """Return the engine's bound on Hare_Sched_RL as printed."""
    if reason := _too_large(instance, integer=True):
        return MethodResult(note=reason)
    if literal and call.engine != "gurobi":
        raise UsageError("option literal=true is a nonconvex program: it needs --engine gurobi")
    return _result(
        solve_literal(
            instance,
            call,
            horizon_cap=horizon_cap,
            literal=literal,
            on_bound=call.progress.bound,
        )
    )


def relaxed_prefix(
    instance: HareInstance,
    call: RunContext,
    *,
    integer: Annotated[bool | None, "keep y binary; by default if tasks x GPUs <= 400"] = None,
    release_cuts: Annotated[
        bool, "measure starts from the earliest release in the set: stronger rows"
    ] = False,
) -> MethodResult:
    """Return the bound with row (9) for all sets of tasks, certified if y is continuous."""
    if integer is None:
        integer = instance.number_of_tasks * len(instance.gpus) <= INTEGER_CELLS
    if reason := _too_large(instance, integer=integer):
        return MethodResult(note=reason)
    solution = solve_prefix(
        instance,
        call,
        integer=integer,
        release_cuts=release_cuts,
        on_bound=call.progress.bound,
    )
    loop = solution.loop
    if integer or loop.duals is None:
        return _result(solution)
    bound, certificate = cut_certificate(
        "relaxed-prefix", solution.relaxed, loop.program, loop.cuts, loop.duals
    )
    solution = replace(solution, loop=replace(loop, bound=bound))
    return _result(solution, certificate=certificate)


def relaxed_conic(instance: HareInstance, call: RunContext) -> MethodResult:
    """Return the bound that duals of the printed relaxation with continuous y prove."""
    if reason := _too_large(instance, integer=False):
        return MethodResult(note=reason)
    limit = relaxation.start_limit(instance, horizon_cap=True)
    relaxed = build(instance, limit=limit, integer=False)
    problem = relaxation_conic.build(relaxed)
    call.progress.phase("solving the conic program")
    result = solve(problem, "clarabel", clock=call.clock, threads=call.threads, seed=call.seed)
    if result.duals is None:
        return MethodResult(note=f"the conic program was not solved ({result.status})")
    cuts, duals = relaxation_conic.tangents(relaxed, problem, result.duals)
    program = with_cuts(relaxed, cuts)
    bound, certificate = cut_certificate("relaxed-conic", relaxed, program, cuts, duals)
    return MethodResult(
        bound=bound,
        trace={"relaxation_value": result.objective},
        certificate=certificate,
    )
