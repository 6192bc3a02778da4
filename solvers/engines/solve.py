"""Solve a program of any kind with any engine."""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, get_args

from schedgap.errors import ContradictionError, UsageError
from schedgap.solvers.children import meter
from schedgap.solvers.children.clock import Clock, now
from schedgap.solvers.engines.availability import require_loadable
from schedgap.solvers.engines.engine import Engine, Request
from schedgap.solvers.engines.registry import find_engine
from schedgap.solvers.engines.results import (
    STATISTICS,
    TOLERANCE,
    EngineResult,
    EngineStatus,
    OnBound,
    OnIncumbent,
)

if TYPE_CHECKING:
    import cvxpy
    import pyomo.core as pyo
    from ortools.sat.python import cp_model

    from schedgap.solvers.programs.arrays import LinearProgram

Program: TypeAlias = "LinearProgram | pyo.ConcreteModel | cp_model.CpModel | cvxpy.Problem"

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
    log: Path | None = None,
) -> EngineResult:
    """Solve a program in this process.

    Parameters
    ----------
    program : LinearProgram, Pyomo ConcreteModel, cp_model.CpModel or cvxpy.Problem
        What to solve; the solution of a Pyomo model or a cvxpy problem is stored in it.
    engine : str
        One of `ENGINES`; its `takes` lists the kinds of programs.
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
        Options of the engine by name; they override ours.
    log : path or None
        File for the engine's own log, which is written during the search.

    Raises
    ------
    UsageError
        If there is no such engine, it cannot solve this kind of program, or it rejects an option.
    EngineUnavailableError
        If the engine is not installed, its licence is too small, or it conflicts with an engine
        that this process has loaded.
    """
    chosen, kind = find_engine(engine), _kind(program)
    if chosen.max_threads is not None and threads > chosen.max_threads:
        most = f"{chosen.max_threads} thread{'s' * (chosen.max_threads > 1)}"
        raise UsageError(f"engine {engine} can use {most} at most, not {threads}")
    settings: dict[str, Any] = {"clock": clock, "threads": threads, "seed": seed, "grid": grid}
    settings |= {"on_incumbent": on_incumbent, "on_bound": on_bound}
    settings |= {"options": options, "log": log, "start": start}
    if kind == _KINDS.get(chosen.own_models):
        return chosen.function(own=True)(program, **settings)
    if kind not in ("array", "Pyomo") or not chosen.solve:
        raise UsageError(f"engine {engine} cannot solve {kind} programs")
    return (_solve_model if kind == "Pyomo" else solve_arrays)(program, chosen, **settings)


def solve_arrays(
    program: "LinearProgram",
    engine: Engine,
    *,
    clock: Clock,
    start: object = None,
    **settings: Any,
) -> EngineResult:
    """Solve a program given as arrays.

    `program`: linear, or mixed-integer if it has an integer column. `engine`: the engine. A program
    without columns, or with crossing bounds, does not reach it. `clock`, `start`, `**settings`: as
    for `Request`.
    """
    import numpy as np  # verification imports this module, but solves nothing

    kind = "mixed-integer" if program.is_mixed else "linear"
    if len(program.cost) and kind not in engine.takes:
        raise UsageError(f"engine {engine.name} cannot solve {kind} programs")
    require_loadable(engine.name)
    if clock.expired():
        return EngineResult("unknown", None, None)
    lower, upper = program.whole_bounds()
    first = None
    if start is not None and program.is_mixed:
        given = np.asarray(start, dtype=np.float64)
        if given.shape != program.cost.shape:
            raise ValueError(f"a start of {given.size} values for {program.cost.size} columns")
        first = program.rounded(given)
    request = Request(
        replace(program, lower=lower, upper=upper) if program.is_mixed else program,
        clock=clock,
        start=None if first is None or np.isnan(first).all() else first,
        **settings,
    )
    for low, high in ((lower, upper), (program.row_lower, program.row_upper)):
        if ((low > high + TOLERANCE) | np.isposinf(low) | np.isneginf(high)).any():
            return request.result("infeasible", "bounds cross")
    if not (len(program.cost) or request.quadratics or request.square):
        if (program.row_lower > 0).any() or (program.row_upper < 0).any():
            return request.result("infeasible", "no columns")
        duals = None if program.is_mixed else np.zeros(len(program.row_lower))
        bound = program.offset if program.is_mixed else None
        return request.result("solved", "no columns", values=[], bound=bound, duals=duals)
    begun, before = now(), meter.total().engine
    result = engine.function()(request.program, request)
    seconds, run = now() - begun, meter.total().engine - before
    if request.error is not None:
        raise request.error
    return _checked(result, request.program, engine, seconds, run)


def _checked(
    result: EngineResult, program: "LinearProgram", engine: Engine, seconds: float, run: float
) -> EngineResult:
    """Return what an engine has returned, with measured times; its types and shapes are checked.

    `seconds`: of the call. `run`: of the engine's run in it, 0 if the engine has not said when that
    was: then it is the whole call.

    Raises
    ------
    ContradictionError
        If something is not what an engine returns.
    """
    import numpy as np

    if not isinstance(result, EngineResult):
        raise ContradictionError(f"{engine.title} returned {type(result).__name__}")
    if result.status not in get_args(EngineStatus):
        raise ContradictionError(f"{engine.title} returned the status {result.status!r}")
    for name, number in (("objective", result.objective), ("bound", result.bound)):
        if number is not None and not _is_finite(number):
            raise ContradictionError(f"{engine.title} returned the {name} {number!r}")
    if result.values is not None:
        values = np.asarray(result.values, dtype=np.float64)
        if values.shape != program.cost.shape:
            columns = len(program.cost)
            raise ContradictionError(f"{engine.title}: {values.size} values for {columns} columns")
        if not np.isfinite(values).all():
            raise ContradictionError(f"{engine.title} returned values that are no numbers")
    told = {name: float(value) for name, value in result.statistics.items() if _is_finite(value)}
    cpu = result.engine_cpu_seconds
    run = run or seconds
    return replace(
        result,
        objective=None if result.objective is None else float(result.objective),
        bound=None if result.bound is None else float(result.bound),
        seconds=run,
        build_seconds=max(0.0, seconds - run),
        engine_cpu_seconds=float(cpu) if _is_finite(cpu) else 0.0,
        statistics={name: told.get(name) for name in STATISTICS},
        log=str(result.log).encode("utf-8", "replace").decode(),
    )


def _is_finite(number: object) -> TypeGuard[float]:
    with suppress(OverflowError):  # an integer that no float holds
        return isinstance(number, Real) and math.isfinite(number)
    return False


def _solve_model(
    model: "pyo.ConcreteModel",
    engine: Engine,
    *,
    clock: Clock,
    start: object = None,
    **settings: Any,
) -> EngineResult:
    """Solve a Pyomo model; the solution is stored in the model, the duals have names of rows."""
    from schedgap.solvers.programs.pyomo import InfeasibleModelError, compile_model, solve_compiled

    require_loadable(engine.name)
    if clock.expired():
        return EngineResult("unknown", None, None)
    begin = time.monotonic()
    try:
        arrays = compile_model(model, quadratic="quadratic" in engine.takes)
    except InfeasibleModelError as error:
        return EngineResult("infeasible", None, None, log=str(error))
    if arrays.quadratics or arrays.square is not None:
        settings |= {"quadratics": arrays.quadratics, "square": arrays.square}
    named = replace(arrays.program, column_names=_Names(arrays.variables))
    return solve_compiled(
        replace(arrays, program=named),
        lambda program, **rest: solve_arrays(program, engine, **rest),
        start=bool(start),
        build_seconds=time.monotonic() - begin,
        clock=clock,
        **settings,
    )


class _Names(Sequence[str]):
    """The names of Pyomo variables, which are slow to compute: only those that are asked for."""

    def __init__(self, variables: Sequence[Any]) -> None:
        self._variables = variables

    def __len__(self) -> int:
        return len(self._variables)

    def __getitem__(self, j: Any) -> Any:
        return self._variables[j].name


def _kind(program: object) -> str:
    """Return the kind of a program, without importing any engine."""
    for kind in type(program).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in _KINDS:
            return _KINDS[root]
    return type(program).__name__
