"""Solve a program of any kind with any engine."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from schedgap.errors import UsageError
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.results import ENGINES, EngineResult, OnBound, OnIncumbent

if TYPE_CHECKING:
    import cvxpy
    import pyomo.environ as pyo
    from ortools.sat.python import cp_model

    from schedgap.solvers.programs.arrays import LinearProgram

Program: TypeAlias = "LinearProgram | pyo.ConcreteModel | cp_model.CpModel | cvxpy.Problem"

# (engine, kind of program) -> (module, function)
_ADAPTERS = {
    ("highs", "array"): ("schedgap.solvers.engines.highs", "solve_arrays"),
    ("highs", "Pyomo"): ("schedgap.solvers.engines.highs", "solve_model"),
    ("gurobi", "array"): ("schedgap.solvers.engines.gurobi", "solve_arrays"),
    ("gurobi", "Pyomo"): ("schedgap.solvers.engines.gurobi", "solve_model"),
    ("cp-sat", "CP-SAT"): ("schedgap.solvers.engines.cp_sat", "solve_model"),
    ("clarabel", "cvxpy"): ("schedgap.solvers.engines.convex", "solve_problem"),
}
_KINDS = {"schedgap": "array", "pyomo": "Pyomo", "ortools": "CP-SAT", "cvxpy": "cvxpy"}


def solve(
    program: Program,
    engine: str,
    *,
    clock: Clock,
    threads: int = 1,
    seed: int = 0,
    grid: float | None = None,
    start: object = None,
    on_incumbent: OnIncumbent | None = None,
    on_bound: OnBound | None = None,
    options: Mapping[str, object] | None = None,
) -> EngineResult:
    """Solve a program in this process.

    Parameters
    ----------
    program : LinearProgram, Pyomo ConcreteModel, cp_model.CpModel or cvxpy.Problem
        What to solve; the solution of a Pyomo model or a cvxpy problem is stored in it.
    engine : str
        `highs` and `gurobi` solve arrays and Pyomo models, `cp-sat` CP-SAT models, `clarabel`
        cvxpy problems.
    clock : Clock
        Time budget; if it has expired, the result is `unknown` and no engine is called.
    threads, seed : int
        Number of threads >= 1 and random seed >= 0; with one thread, the search is deterministic.
    grid : float or None
        A number > 0 of which every feasible objective is a multiple; it closes the gap earlier.
    start : array by column, sequence by variable index, or None
        A starting point; for a Pyomo model, True means the values of its variables.
    on_incumbent, on_bound
        Called with improvements during the search.
    options : mapping or None
        Options of the engine by name.

    Raises
    ------
    UsageError
        If there is no such engine, or it cannot solve this kind of program.
    ValueError
        If the engine rejects an option.
    EngineUnavailableError
        If the engine is not installed, its licence is too small, or it conflicts with an engine
        that this process has loaded.
    """
    if engine not in ENGINES:
        raise UsageError(f"no engine '{engine}': choose one of {', '.join(ENGINES)}")
    adapter = _ADAPTERS.get((engine, _kind(program)))
    if adapter is None:
        raise UsageError(f"engine {engine} cannot solve {_kind(program)} programs")
    function: Callable[..., EngineResult] = getattr(import_module(adapter[0]), adapter[1])
    return function(
        program,
        clock=clock,
        threads=threads,
        seed=seed,
        grid=grid,
        start=start,
        on_incumbent=on_incumbent,
        on_bound=on_bound,
        options=options,
    )


def _kind(program: object) -> str:
    """Return the kind of a program, without importing any engine."""
    for kind in type(program).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in _KINDS:
            return _KINDS[root]
    return type(program).__name__
