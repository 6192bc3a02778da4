"""Solve a formulation in a child process: build, permute, solve, and read the schedule."""

import contextlib
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from schedgap.analysis.benchmarks.answers import Checks, Reports
from schedgap.analysis.benchmarks.formulation import Formulation
from schedgap.analysis.programs.models import build_program
from schedgap.errors import (
    ContradictionError,
    EngineLicenceError,
    EngineUnavailableError,
    UsageError,
)
from schedgap.instances.instance import Instance
from schedgap.models.family import Family, family_of
from schedgap.models.method import MethodResult
from schedgap.solvers.children import meter, worker
from schedgap.solvers.children.clock import Clock, now
from schedgap.solvers.programs.arrays import Floats, LinearProgram

if TYPE_CHECKING:
    from schedgap.solvers.engines.results import EngineResult
    from schedgap.solvers.programs.pyomo import Quadratic

Send = Callable[[object], None]


@dataclass(frozen=True, slots=True)
class Built:
    """A program as arrays, always to be minimised.

    `factor` times the objective of the arrays is the objective of the instance. `read` returns the
    schedule that the values of the columns give, or None.
    """

    program: LinearProgram
    factor: float
    read: Callable[[Floats], Any]
    quadratics: "tuple[Quadratic, ...]" = ()
    square: "Quadratic | None" = None

    def stated(self, value: float | None) -> float | None:
        """Return an objective or a bound of the arrays in units of the instance."""
        return None if value is None or not math.isfinite(value) else self.factor * value

    def checks(self, engine: str) -> Checks:
        """Return the checks of an engine's values."""
        return Checks(self.program, self.factor, self.square is None, engine)


def built(owner: Family, instance: Instance, key: str, *, narrow: bool) -> Built:
    """Build a program and return it as arrays.

    `narrow`: whether jobs may run only in a heuristic's time windows.

    Raises
    ------
    InfeasibleModelError
        If a row without variables is violated.
    """
    from schedgap.solvers.programs.pyomo import compile_model

    found = build_program(instance, key, narrow=narrow)
    if isinstance(found.model, LinearProgram):
        unit = owner.programs[key].unit(instance)
        factor = unit if owner.sense(instance) == "min" else -unit
        return Built(found.model, factor, found.read)
    arrays = compile_model(found.model, quadratic=True)

    def read(values: Floats) -> Any:
        arrays.load(values)
        return found.read(values)

    factor = -1.0 if arrays.sense == "max" else 1.0
    return Built(arrays.program, factor, read, arrays.quadratics, arrays.square)


@dataclass(frozen=True, slots=True)
class Order:
    """Another order of rows and columns: place k of the new program is `columns[k]` of the old."""

    columns: Any
    rows: Any

    @classmethod
    def of(cls, program: LinearProgram, number: int) -> "Order":
        """Return the order with a number; 0 is the order of the program.

        `number`: seed of the order.
        """
        rows, columns = program.matrix.shape
        if not number:
            return cls(np.arange(columns), np.arange(rows))
        random = np.random.default_rng(number)
        return cls(random.permutation(columns), random.permutation(rows))

    def apply(self, program: LinearProgram) -> LinearProgram:
        """Return the program in this order, without names."""
        columns, rows = self.columns, self.rows
        return replace(
            program,
            cost=program.cost[columns],
            lower=program.lower[columns],
            upper=program.upper[columns],
            integer=None if program.integer is None else program.integer[columns],
            matrix=program.matrix[rows][:, columns],
            row_lower=program.row_lower[rows],
            row_upper=program.row_upper[rows],
            column_names=None,
            row_names=None,
        )

    def quadratic(self, row: "Quadratic") -> "Quadratic":
        """Return a quadratic row with the columns of this order."""
        place = np.empty(len(self.columns), int)
        place[self.columns] = np.arange(len(self.columns))
        moved: dict[str, Any] = {
            name: tuple(place[list(getattr(row, name))].tolist()) if getattr(row, name) else ()
            for name in ("first", "second", "columns")
        }
        return replace(row, **moved)

    def back(self, values: Any) -> Floats:
        """Return the values of the columns in the order of the program.

        `values`: by column of this order.
        """
        found = np.empty(len(self.columns))
        found[self.columns] = np.asarray(values, float)
        return found


def solve_formulation(
    send: Send,
    module: str,
    instance: Instance,
    key: str,
    formulation: Formulation,
    limit: float | None,
    log: str,
    cores: tuple[int, ...],
) -> tuple[MethodResult, float]:
    """Solve a formulation in this (child) process; return the result and its seconds.

    `send`: sends a message to the parent process. `formulation`: how to solve it. `limit`: time
    limit in wall-clock seconds, model building included. `log`: file for the engine's log. `cores`:
    cores to which this process is bound meanwhile; empty if it is not.

    Raises
    ------
    ContradictionError
        If the engine's answer is wrong by itself.
    EngineUnavailableError
        If the engine cannot be loaded, or its licence does not accept the program.
    """
    owner = family_of(module)
    threads = threading.active_count()
    with _bound_to(cores):
        try:
            return _solved(send, owner, instance, key, formulation, Clock(limit), Path(log))
        finally:
            if threading.active_count() > threads or psutil.Process().children():
                worker.retire()  # the engine's leftovers would run during the next task


@contextlib.contextmanager
def _bound_to(cores: tuple[int, ...]) -> Iterator[None]:
    """Bind this process to cores; where that fails, the task runs on any."""
    before: set[int] | None = None
    if cores and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        if before is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, before)


def _solved(
    send: Send,
    owner: Family,
    instance: Instance,
    key: str,
    formulation: Formulation,
    clock: Clock,
    log: Path,
) -> tuple[MethodResult, float]:
    from schedgap.solvers.programs.pyomo import InfeasibleModelError

    begun = now()
    try:
        made = built(owner, instance, key, narrow=formulation.narrow)
    except InfeasibleModelError as error:
        seconds = now() - begun
        send(("facts", seconds, {"build_seconds": seconds, "engine_seconds": 0.0}))
        return MethodResult(infeasible=True, note=f"infeasible as built: {error}"), seconds
    build = now() - begun
    sizes = _sizes(made)
    send(("facts", build, {"build_seconds": build, "statistics": sizes}))
    order = Order.of(made.program, formulation.permutation)
    program = order.apply(made.program)
    reports, started = Reports(), now()

    def found(value: float, values: Any) -> None:
        seconds, point = build + now() - started, order.back(values)
        reports.add(value, point)
        send(("incumbent", seconds, made.stated(value), point))

    def proved(value: float) -> None:
        bound, reports.bound = made.stated(value), max(reports.bound, value)
        if bound is not None:
            # The bound counts as not confirmed: if the engine is killed, it proves no optimum.
            send(("bound", build + now() - started, bound, None, False))

    result = _by_engine(
        formulation, program, made, order, clock=clock, log=log,
        on_incumbent=found, on_bound=proved,
    )  # fmt: skip
    if "contradiction" in result.info:
        raise ContradictionError(f"{formulation.engine}: {result.info['contradiction']}")
    checks = made.checks(formulation.engine)
    checks.reports(reports, result.objective)
    confirmed, text = _confirmed(formulation, program, result, clock)
    build, seconds = build + result.build_seconds, result.seconds
    facts = {
        "build_seconds": build,
        "engine_seconds": seconds,
        "engine_cpu_seconds": result.engine_cpu_seconds,
        "stated": made.stated(confirmed.objective),
        "statistics": sizes | _statistics(made, result) | ({"confirm": text} if text else {}),
    }
    send(("facts", build + seconds, facts))
    answer = _answer(checks, made, order, confirmed)
    return answer, build + seconds + meter.total().confirm


def _by_engine(
    formulation: Formulation,
    program: LinearProgram,
    made: Built,
    order: Order,
    **rest: Any,
) -> "EngineResult":
    """Call the engine."""
    from schedgap.solvers.engines.registry import find_engine
    from schedgap.solvers.engines.solve import solve_arrays

    engine = find_engine(formulation.engine)
    if made.quadratics or made.square is not None:
        if "quadratic" not in engine.takes:
            raise UsageError(f"refused: quadratic rows, which {engine.title} does not take")
        rest["square"] = None if made.square is None else order.quadratic(made.square)
        rest["quadratics"] = tuple(map(order.quadratic, made.quadratics))
    if engine.max_threads is not None and formulation.threads > engine.max_threads:
        raise UsageError(f"refused: {engine.title} uses {engine.max_threads} thread at most")
    try:
        return solve_arrays(
            program,
            engine,
            threads=formulation.threads,
            seed=formulation.seed,
            options=formulation.all_options,
            **rest,
        )
    except EngineLicenceError as error:
        raise EngineUnavailableError(f"refused: licence: {error}") from None
    except EngineUnavailableError as error:
        fault = str(error).removeprefix(f"engine {engine.name} ")
        raise EngineUnavailableError(f"refused: {fault}") from None
    except UsageError as error:
        raise UsageError(f"refused: {error}") from None


def _confirmed(
    formulation: Formulation, program: LinearProgram, result: "EngineResult", clock: Clock
) -> "tuple[EngineResult, str]":
    """Return the result, and what a second solve said of it, if one was asked for."""
    if not formulation.confirm or result.status not in ("optimal", "infeasible"):
        return result, ""
    from schedgap.solvers.engines.confirm import confirm

    return confirm(
        program,
        formulation.engine,
        result,
        clock=clock,
        threads=formulation.threads,
        seed=formulation.seed,
        options=formulation.all_options,
    )


def _answer(checks: Checks, made: Built, order: Order, result: "EngineResult") -> MethodResult:
    """Return what the engine's result says of the instance.

    Raises
    ------
    ContradictionError
        If the values break a row, or are no schedule, or the program is said to be unbounded.
    """
    name, bound = checks.engine, made.stated(result.bound)
    if result.status == "unbounded":
        raise ContradictionError(f"{name} says that the program is unbounded")
    if result.status == "infeasible":
        return MethodResult(infeasible=True)
    if result.values is None:
        if result.status == "optimal":
            raise ContradictionError(f"{name} states an optimum, but gives no values")
        return MethodResult(bound=bound)
    values = order.back(result.values)
    checks.values(values, result.objective)
    schedule = made.read(made.program.rounded(values))
    if schedule is None:
        raise ContradictionError(f"the values of {name} give no schedule")
    return MethodResult(schedule, bound)


def read_values(
    send: Send,
    module: str,
    instance: Instance,
    key: str,
    formulation: Formulation,
    reports: Reports,
    place: int,
) -> Any:
    """Return, in this (child) process, the schedule of an incumbent of a killed engine.

    `send`: not used. `reports`: what the engine has reported, objectives in units of the instance.
    `place`: of the incumbent.

    Raises
    ------
    ContradictionError
        If the values of any incumbent break a row or do not have its objective.
    """
    owner = family_of(module)
    made = built(owner, instance, key, narrow=formulation.narrow)
    own = [(value / made.factor, places, entries) for value, places, entries in reports.incumbents]
    made.checks(formulation.engine).incumbents(Reports(own))
    return made.read(made.program.rounded(reports.values(place, len(made.program.cost))))


def _sizes(made: Built) -> dict[str, Any]:
    """Return the size of the program as the engine gets it."""
    program = made.program
    rows, columns = program.matrix.shape
    return {
        "rows": rows + len(made.quadratics),
        "columns": columns,
        "integers": 0 if program.integer is None else int(program.integer.sum()),
        "nonzeros": int(program.matrix.nnz),
    }


def _statistics(made: Built, result: "EngineResult") -> dict[str, Any]:
    """Return what the engine reports of its search; the bound is in units of the instance."""
    told: dict[str, Any] = {
        key: value for key, value in result.statistics.items() if value is not None
    }
    if "root_bound" in told:
        told["root_bound"] = made.stated(told["root_bound"])
    return told | {"said": result.log} if result.log else told


def try_options(send: Send, engine: str, options: Mapping[str, object], threads: int) -> None:
    """Solve a tiny program with options and threads.

    `send`: not used. `options`: options of the engine by name. `threads`: threads of the engine.

    Raises
    ------
    UsageError
        If the engine rejects an option or the number of threads.
    """
    from schedgap.solvers.engines.solve import solve

    one = np.ones(1)
    tiny = LinearProgram(one, 0 * one, one, [[1.0]], 0 * one, one, integer=np.array([True]))
    solve(tiny, engine, clock=Clock(10.0), threads=threads, options=options)
