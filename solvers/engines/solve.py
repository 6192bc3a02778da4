"""One call for all engines: the engine's name and the program's type choose the adapter."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from schedgap.errors import UsageError
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.results import ENGINES, EngineResult, OnBound, OnIncumbent

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
    program: Any,
    engine: str,
    *,
    clock: Clock,
    threads: int = 1,
    seed: int = 0,
    grid: float | None = None,
    start: Any = None,
    on_incumbent: OnIncumbent | None = None,
    on_bound: OnBound | None = None,
    options: Mapping[str, Any] | None = None,
) -> EngineResult:
    """Solve a program in this process.

    Parameters
    ----------
    program : LinearProgram, Pyomo ConcreteModel, cp_model.CpModel or cvxpy.Problem
        What to solve; a Pyomo model and a cvxpy problem hold the solution afterwards.
    engine : str
        `highs` and `gurobi` take arrays and Pyomo, `cp-sat` CP-SAT models, `clarabel` cvxpy.
    clock : Clock
        The time that is left; at zero the result is `unknown` and no engine is called.
    threads, seed : int
        For the engine; one thread repeats a seed's search.
    grid : float or None
        A step of which every feasible objective is a multiple: closes the gap earlier.
    start : array by column, sequence by variable index, or None
        A point to start from; a Pyomo model starts from its variables' values when this is True.
    on_incumbent, on_bound
        Called as the search improves.
    options : mapping or None
        The engine's own options by name; an unknown one is a ValueError.

    Raises
    ------
    UsageError
        When there is no such engine, or it does not take this kind of program.
    EngineUnavailableError
        When the engine is not installed, its licence does not admit the program, or another
        engine that this process has loaded stands in its way.
    """
    if engine not in ENGINES:
        raise UsageError(f"no engine '{engine}': choose one of {', '.join(ENGINES)}")
    adapter = _ADAPTERS.get((engine, _kind(program)))
    if adapter is None:
        raise UsageError(f"engine {engine} cannot take a {_kind(program)} program")
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


def _kind(program: Any) -> str:
    """Name the modelling language, without importing any."""
    for kind in type(program).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in _KINDS:
            return _KINDS[root]
    return type(program).__name__
