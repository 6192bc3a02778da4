"""What the project needs to know of an engine, and what an engine gets to solve a program."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from schedgap.errors import ContradictionError, UsageError
from schedgap.solvers.children import meter
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.results import (
    EngineResult,
    EngineStatus,
    OnBound,
    OnIncumbent,
    derive_status,
    statistics_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from schedgap.solvers.programs.arrays import Floats, LinearProgram
    from schedgap.solvers.programs.pyomo import Quadratic

# `quadratic` includes quadratic rows and objectives; `constraint` is a CP-SAT model, `conic` a
# cvxpy problem.
Kind = Literal["linear", "mixed-integer", "quadratic", "constraint", "conic"]


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine: how to install, load and call it.

    Attributes
    ----------
    name, title : str
        Name on the command line, and as its authors write it.
    package, module : str
        Distribution that is installed, and module that is imported before a clock starts.
    takes : tuple of str
        Kinds of programs.
    solve : str or callable
        Function (or its name, `module:function`) from a `LinearProgram` and a `Request` to an
        `EngineResult`; empty if the engine takes no linear programs.
    extra : str
        Extra of schedgap that installs the engine; empty if `package` is installed by its name.
    library, conflicts : str
        Module that contains the native library, and a module that must not be loaded before it.
    own_models, solve_own : str
        Root module of the engine's own modelling language, and the function that solves its models.
    max_threads : int or None
        Largest number of threads; None for any number.
    controlled : tuple of str
        Options for threads, seed, time limit and log, which the request sets.
    usual, least : mapping
        Options that set the tolerances for exact programs. The usual ones are tight enough for rows
        with small integers. The least ones are for rows whose values differ by less than 1e-6.
    repeats : tuple of (str, mapping)
        Ways to solve a program again to confirm an answer, each as words and options. Without any,
        HiGHS confirms the answer.
    """

    name: str
    title: str
    package: str
    module: str
    takes: tuple[Kind, ...]
    solve: "str | Callable[[LinearProgram, Request], EngineResult]" = ""
    extra: str = ""
    library: str = ""
    conflicts: str = ""
    own_models: str = ""
    solve_own: str = ""
    max_threads: int | None = None
    controlled: tuple[str, ...] = ()
    usual: Mapping[str, Any] = field(default_factory=dict)
    least: Mapping[str, Any] = field(default_factory=dict)
    repeats: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    def function(self, own: bool = False) -> Callable[..., EngineResult]:
        """Return the function that solves a linear program or one of the engine's own models.

        Parameters
        ----------
        own : bool
            Whether the program is written in the engine's own modelling language.
        """
        called = self.solve_own if own else self.solve
        if not isinstance(called, str):
            return called
        module, _, name = called.partition(":")
        found: Callable[..., EngineResult] = getattr(import_module(module), name)
        return found

    def how_to_install(self) -> str:
        """Return the command that installs the engine."""
        return f"pip install '{f'schedgap[{self.extra}]' if self.extra else self.package}'"

    def fault(self) -> str | None:
        """Return what is wrong with the description of an engine of another package, or None."""
        for name in ("name", "title", "package", "module"):
            if not (isinstance(getattr(self, name), str) and getattr(self, name)):
                return f"its {name} is {getattr(self, name)!r}, not a text"
        if not {"linear", "mixed-integer"} & set(self.takes):
            return "it takes neither linear nor mixed-integer programs"
        if not (callable(self.solve) or (isinstance(self.solve, str) and ":" in self.solve)):
            return f"its solve is {self.solve!r}, neither a function nor module:function"
        return None


class Request:
    """One solve: limits, options and callbacks for the engine, and its result in return.

    Parameters
    ----------
    program : LinearProgram
        The bounds of its integer columns are rounded inward for the engine.
    clock : Clock
        Time budget.
    threads, seed : int
        Number of threads >= 1 and random seed >= 0.
    grid : float or None
        A number > 0 of which every feasible objective is a multiple.
    start : array [j] or None
        Starting point of a mixed-integer search, NaN for columns without a value.
    on_incumbent, on_bound : callable or None
        Receive improvements.
    options : mapping or None
        Options of the engine by name.
    log : path or None
        File that receives the engine's own log.
    quadratics, square
        Quadratic rows, and the quadratic part of the objective, for engines that take them.

    Attributes
    ----------
    program : LinearProgram
        The program; the bounds of integer columns are integers.
    error : exception or None
        What a callback has raised. The engine must stop; the caller of the engine raises it again.
    """

    def __init__(
        self,
        program: "LinearProgram",
        *,
        clock: Clock,
        threads: int = 1,
        seed: int = 0,
        grid: float | None = None,
        start: "Floats | None" = None,
        on_incumbent: OnIncumbent | None = None,
        on_bound: OnBound | None = None,
        options: Mapping[str, Any] | None = None,
        log: Path | None = None,
        quadratics: "Sequence[Quadratic]" = (),
        square: "Quadratic | None" = None,
    ) -> None:
        self.clock, self.threads, self.seed, self.grid = clock, threads, seed, grid
        self.start, self.options, self.log = start, dict(options or {}), log
        self.quadratics, self.square = quadratics, square
        self.error: BaseException | None = None
        self.program, self._on_incumbent, self._on_bound = program, on_incumbent, on_bound
        self._bound = float("-inf")
        self._begin, self._built = time.monotonic(), 0.0
        self.timing = {"seconds": 0.0, "engine_cpu_seconds": 0.0, "build_seconds": 0.0}

    @property
    def wants_incumbents(self) -> bool:
        """Whether somebody listens to better solutions."""
        return self._on_incumbent is not None

    @property
    def wants_bounds(self) -> bool:
        """Whether somebody listens to better bounds."""
        return self._on_bound is not None

    def must_stop(self) -> bool:
        """Return whether the engine must stop: the time is up, or a callback has failed."""
        return self.error is not None or self.clock.expired()

    def incumbent(self, values: "ArrayLike", objective: float | None = None) -> None:
        """Report a better solution; safe to call from native code, since it never raises.

        Parameters
        ----------
        values : array [j]
            Values of the columns; integer columns are rounded.
        objective : float or None
            Its objective, if that is not linear.
        """
        if self._on_incumbent is None or self.error is not None:
            return
        try:
            point = self._point(values)
            value = self.program.objective(point) if objective is None else float(objective)
            if not math.isfinite(value):
                raise ContradictionError(f"an engine's solution has the objective {value}")
            self._on_incumbent(value, point)
        except BaseException as error:  # noqa: BLE001 - must not pass through native code
            self.error = error

    def _point(self, values: "ArrayLike") -> "Floats":
        """Return the values of a solution, with integer columns rounded."""
        import numpy as np

        given = np.asarray(values, dtype=np.float64)
        if given.shape != self.program.cost.shape:
            raise ContradictionError(f"{given.size} values for {self.program.cost.size} columns")
        if not np.isfinite(given).all():
            raise ContradictionError("an engine's solution has values that are no numbers")
        return self.program.rounded(given)

    def bound(self, value: float) -> None:
        """Report a bound; safe to call from native code, and with bounds that are no better.

        Parameters
        ----------
        value : float
            The bound.
        """
        if self._on_bound is None or self.error is not None or not abs(value) < 1e20:
            return
        try:
            if value > self._bound:
                self._bound = float(value)
                self._on_bound(self._bound)
        except BaseException as error:  # noqa: BLE001 - must not pass through native code
            self.error = error

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure the engine's run; the time before it counts as building."""
        self.timing["build_seconds"] = time.monotonic() - self._begin
        spent = meter.Spent()
        try:
            with meter.engine() as spent:
                yield
        finally:
            self.timing["seconds"] = spent.engine
            self.timing["engine_cpu_seconds"] = spent.engine_cpu

    def result(
        self,
        status: Literal["infeasible", "unbounded", "solved"],
        words: str,
        *,
        values: "ArrayLike | None" = None,
        objective: float | None = None,
        bound: float | None = None,
        duals: "ArrayLike | None" = None,
        reduced: "ArrayLike | None" = None,
        info: Mapping[str, Any] | None = None,
        statistics: Mapping[str, float | None] | None = None,
    ) -> EngineResult:
        """Return the result, with the objective computed from the values.

        Parameters
        ----------
        status : {"infeasible", "unbounded", "solved"}
            `solved` for all other ends, early ones included: the numbers decide on the status.
        words : str
            How the engine ended, in one line.
        values : array [j] or None
            The best solution.
        objective : float or None
            Its objective, if that is not linear.
        bound : float or None
            The best bound; for a linear program, `duals` give it.
        duals : array [i] or None
            Dual values of a linear program that was solved to optimality: the change of the minimum
            for each unit of a side.
        reduced : array [j] or None
            Its reduced costs, if the engine has more precise ones than `cost - duals @ matrix`.
        info, statistics : mapping or None
            Further facts, and values for `STATISTICS`.
        """
        import numpy as np

        from schedgap.solvers.programs.arrays import dual_objective

        rest: dict[str, Any] = {"log": words, "statistics": statistics_of(statistics or {})}
        rest |= self.timing
        facts = dict(info or {})
        if status != "solved":
            decided: EngineStatus = status
            return EngineResult(decided, None, None, info=facts, **rest)
        program, point = self.program, None
        if values is not None:
            point = self._point(values)
            objective = program.objective(point) if objective is None else objective
        prices = None if duals is None else np.asarray(duals, dtype=np.float64)
        if prices is not None:
            if reduced is None:
                reduced = program.cost - program.matrix.T @ prices
            bound = dual_objective(program, prices, np.asarray(reduced, dtype=np.float64))
        verdict = derive_status(objective, bound, grid=self.grid if program.is_mixed else None)
        return EngineResult(
            verdict.status,
            verdict.objective,
            verdict.bound,
            None if verdict.objective is None else point,
            prices,
            info=facts | dict(verdict.info),
            **rest,
        )


def reject_option(title: str, name: str, value: object, known: Iterable[str]) -> UsageError:
    """Return the error for an option that an engine does not accept.

    Parameters
    ----------
    title : str
        Name of the engine.
    name, value
        The option and its value.
    known : iterable of str
        All options of the engine.
    """
    names = [option for option in known if not option.startswith("_")]
    if name in names:
        return UsageError(f"{title} rejects the value {value!r} of option {name}")
    near = get_close_matches(name, names, n=1)
    near = near or [option for option in names if option.rpartition("/")[2] == name][:1]
    hint = f": did you mean {near[0]}?" if near else ""
    return UsageError(f"{title} has no option {name}{hint}")
