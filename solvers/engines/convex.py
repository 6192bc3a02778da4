"""Clarabel through cvxpy: conic programs."""

import math
import time
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedgap.errors import EngineUnavailableError, UsageError
from schedgap.solvers.children import meter
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.availability import require_loadable
from schedgap.solvers.engines.engine import reject_option
from schedgap.solvers.engines.results import (
    EngineResult,
    EngineStatus,
    OnBound,
    OnIncumbent,
    derive_status,
    statistics_of,
)

if TYPE_CHECKING:
    import cvxpy


def solve_problem(
    problem: "cvxpy.Problem",
    *,
    clock: Clock,
    threads: int = 1,
    seed: int = 0,
    grid: float | None = None,
    start: object = None,
    on_incumbent: OnIncumbent | None = None,
    on_bound: OnBound | None = None,
    options: Mapping[str, object] | None = None,
    log: Path | None = None,
) -> EngineResult:
    """Solve a convex, continuous `cvxpy.Problem`; the solution is stored in the problem.

    `problem`: its variables and the duals of its constraints are set if there is a solution.
    `clock`: time budget; if it has expired, nothing is solved. `threads`: number of threads, >= 1.
    `seed`, `grid`, `start`, `on_incumbent`, `on_bound`: not used; accepted because all engines have
    the same interface. `options`: settings of Clarabel by name; they override ours. `log`: file for
    the log.

    `duals` is a tuple in the order of `problem.constraints` with cvxpy's signs (>= 0 for an
    inequality). It is returned even if the solve was stopped, because any dual values give a
    certificate. `bound` is Clarabel's dual objective, valid only within its tolerance.

    Raises
    ------
    UsageError
        If the problem has integer variables or is not convex, or Clarabel rejects an option.
    EngineUnavailableError
        If cvxpy or Clarabel is not installed.
    """
    require_loadable("clarabel")
    if clock.expired():
        return EngineResult("unknown", None, None)
    import cvxpy

    if cvxpy.CLARABEL not in cvxpy.installed_solvers():
        raise EngineUnavailableError(
            "engine clarabel is not installed: pip install 'schedgap[convex]'"
        )
    if problem.is_mixed_integer():
        raise UsageError("engine clarabel takes no integer variables")
    if not problem.is_dcp():
        raise UsageError("engine clarabel takes convex problems only (cvxpy's rules)")
    begin = time.monotonic()
    # Compile for Clarabel explicitly; otherwise cvxpy might choose another solver.
    settings: dict[str, Any] = {"max_threads": threads}
    data, chain, inverse = problem.get_problem_data(cvxpy.CLARABEL, solver_opts=settings)
    left = clock.remaining()
    if math.isfinite(left):
        settings["time_limit"] = left
    _check(options or {})
    settings |= dict(options or {})
    with ExitStack() as running:
        if log is not None:
            stream = running.enter_context(open(log, "w", buffering=1, encoding="utf-8"))
            running.enter_context(redirect_stdout(stream))  # Clarabel prints through Python
        built = time.monotonic()
        spent = running.enter_context(meter.engine())
        raw = chain.solve_via_data(
            problem, data, warm_start=False, verbose=log is not None, solver_opts=settings
        )
    timing: dict[str, Any] = {
        "seconds": spent.engine,
        "engine_cpu_seconds": spent.engine_cpu,
        "build_seconds": built - begin,
        "log": f"Clarabel: {raw.status}",
        "statistics": statistics_of({"iterations": raw.iterations}),
    }
    with warnings.catch_warnings():  # the status says the same
        warnings.simplefilter("ignore", UserWarning)
        try:
            problem.unpack_results(raw, chain, inverse)
        except cvxpy.SolverError:  # Clarabel failed; its status is in the log
            return EngineResult("unknown", None, None, **timing)
    decided = _DECIDED.get(problem.status)
    if decided is not None:
        return EngineResult(decided, None, None, **timing)
    duals = tuple(constraint.dual_value for constraint in problem.constraints)
    if problem.status != cvxpy.OPTIMAL:
        kept = duals if all(dual is not None for dual in duals) else None
        return EngineResult("unknown", None, None, duals=kept, **timing)
    # Clarabel minimizes without the constant: only its gap applies to the problem's objective.
    gap = raw.obj_val - raw.obj_val_dual
    sense = "min" if isinstance(problem.objective, cvxpy.Minimize) else "max"
    objective = float(problem.value)
    bound = objective - gap if sense == "min" else objective + gap
    verdict = derive_status(objective, bound, sense="min" if sense == "min" else "max")
    return EngineResult(
        verdict.status,
        verdict.objective,
        verdict.bound,
        duals=duals,
        info={"iterations": raw.iterations, **verdict.info},
        **timing,
    )


def _check(options: Mapping[str, object]) -> None:
    """Raise UsageError for a setting that Clarabel does not accept."""
    import clarabel

    settings = clarabel.DefaultSettings()
    known = [name for name in dir(settings) if not name.startswith("_")]
    for name, value in options.items():
        try:
            if name not in known:
                raise TypeError
            setattr(settings, name, value)
        except (TypeError, ValueError, OverflowError):
            raise reject_option("Clarabel", name, value, known) from None


_DECIDED: dict[str, EngineStatus] = {"infeasible": "infeasible", "unbounded": "unbounded"}
