"""Low-level interface to HiGHS for `highs`: options, models, callbacks and results."""

import math
import os
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from schedgap.errors import ScaleError
from schedgap.solvers.children import meter
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.results import (
    INFINITE,
    EngineResult,
    EngineStatus,
    OnBound,
    OnIncumbent,
    judge,
)
from schedgap.solvers.programs.arrays import Floats, LinearProgram, Sides, dual_objective

if TYPE_CHECKING:
    import highspy

_FEASIBLE = 2  # HiGHS' kSolutionStatusFeasible
_DECIDED: dict[str, EngineStatus] = {"kInfeasible": "infeasible", "kUnbounded": "unbounded"}
# HiGHS has one scheduler per process, which is reset before each run.
_ONE_AT_A_TIME = threading.RLock()
_greeted: list[bool] = []  # not empty once HiGHS has printed its banner into nothing
# With these statuses, the program is solved again from scratch without presolve.
_UNDECIDED = (
    "kUnboundedOrInfeasible",
    "kUnknown",
    "kSolveError",
    "kPresolveError",
    "kPostsolveError",
)


class Watch:
    """Callbacks of one solve: they report improvements and stop HiGHS at the time limit.

    Parameters
    ----------
    engine : highspy.Highs
        The solver.
    mixed : LinearProgram or None
        The program if it is mixed-integer.
    clock : Clock
        Time budget.
    on_incumbent, on_bound
        Called with improvements.
    """

    def __init__(
        self,
        engine: "highspy.Highs",
        mixed: LinearProgram | None,
        clock: Clock,
        on_incumbent: OnIncumbent | None,
        on_bound: OnBound | None,
    ) -> None:
        self.error: BaseException | None = None
        self.mixed = mixed is not None
        self._engine, self._program, self._clock = engine, mixed, clock
        self._on_incumbent, self._on_bound = on_incumbent, on_bound
        self._bound = -math.inf
        if mixed is not None:
            engine.cbMipInterrupt.subscribe(self._interrupt)
            if on_bound is not None:
                engine.cbMipLogging.subscribe(self._interrupt)
            if on_incumbent is not None:
                engine.cbMipImprovingSolution.subscribe(self._incumbent)
        elif clock.limit is not None:
            engine.cbSimplexInterrupt.subscribe(self._interrupt)
            engine.cbIpmInterrupt.subscribe(self._interrupt)

    def leave(self) -> None:
        """Remove the callbacks."""
        self._engine.cbSimplexInterrupt.unsubscribe(self._interrupt)
        self._engine.cbIpmInterrupt.unsubscribe(self._interrupt)

    def _interrupt(self, event: "highspy.HighsCallbackEvent") -> None:
        try:
            if self._on_bound is not None and self.error is None:
                bound = event.data_out.mip_dual_bound
                if self._bound < bound < INFINITE and bound > -INFINITE:
                    self._bound = bound
                    self._on_bound(bound)
        except BaseException as error:  # noqa: BLE001 - must not pass through native code; raised after the run
            self.error = error
        # The flag of an earlier run may still be set: always write it.
        event.interrupt(self.error is not None or self._clock.expired())

    def _incumbent(self, event: "highspy.HighsCallbackEvent") -> None:
        try:
            if self._on_incumbent and self._program and not self.error:
                values = self._program.rounded(event.data_out.mip_solution)
                self._on_incumbent(self._program.objective(values), values)
        except BaseException as error:  # noqa: BLE001 - must not pass through native code; raised after the run
            self.error = error


def new_engine(settings: Mapping[str, object]) -> "highspy.Highs":
    """Return a silent HiGHS solver with options.

    Parameters
    ----------
    settings : mapping
        Values of options by name.
    """
    engine = _made()
    engine.setOptionValue("output_flag", False)
    for name, value in settings.items():
        set_option(engine, name, value)
    return engine


def _made() -> "highspy.Highs":
    """Return a new solver; the first one in a process prints a banner, which no option prevents."""
    import highspy

    if _greeted:
        return highspy.Highs()
    with _ONE_AT_A_TIME, ExitStack() as restored:
        with suppress(OSError):  # a process without standard output
            output = os.dup(1)
            restored.callback(os.close, output)
            restored.callback(os.dup2, output, 1)
            with open(os.devnull, "wb") as nothing:
                os.dup2(nothing.fileno(), 1)
        _greeted.append(True)
        return highspy.Highs()


def set_option(engine: "highspy.Highs", name: str, value: object) -> None:
    """Set an option; raise ValueError if HiGHS rejects it.

    Parameters
    ----------
    engine : highspy.Highs
        The solver.
    name : str
        Name of the option.
    value : bool, int, float or str
        Its value.
    """
    if engine.setOptionValue(name, value).name != "kOk":
        raise ValueError(f"HiGHS has no option {name}, or rejects its value {value!r}")


def pass_program(engine: "highspy.Highs", program: LinearProgram, *, relaxed: bool = False) -> None:
    """Pass a program to HiGHS.

    Parameters
    ----------
    engine : highspy.Highs
        The solver.
    program : LinearProgram
        The program.
    relaxed : bool
        Whether to ignore that columns must be integer.
    """
    import highspy

    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = program.matrix.shape
    lp.offset_ = program.offset
    lower, upper = (program.lower, program.upper) if relaxed else program.whole_bounds()
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.cost, lower, upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = program.matrix.indptr
    lp.a_matrix_.index_ = program.matrix.indices
    lp.a_matrix_.value_ = program.matrix.data
    if program.integer is not None and program.is_mixed and not relaxed:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[whole] for whole in program.integer.tolist()]
    # Crossing column bounds give a warning here and the status infeasible later.
    if engine.passModel(lp).name not in ("kOk", "kWarning"):
        raise ScaleError(
            "HiGHS rejects the program: its coefficients are too large or differ too much"
        )


def pass_start(engine: "highspy.Highs", start: Floats) -> None:
    """Pass a starting point to HiGHS.

    Parameters
    ----------
    engine : highspy.Highs
        The solver.
    start : array [j]
        The point; NaN for columns without a value.
    """
    import highspy

    given = ~np.isnan(start)
    if given.all():
        solution = highspy.HighsSolution()
        solution.col_value = start.tolist()
        engine.setSolution(solution)
    else:
        chosen = np.flatnonzero(given).astype(np.int32)
        engine.setSolution(len(chosen), chosen, start[given])


def run(engine: "highspy.Highs", clock: Clock, watch: Watch) -> bool:
    """Solve within the time limit, a second time without presolve if the status is not reliable.

    Parameters
    ----------
    engine : highspy.Highs
        The solver, with a program.
    clock : Clock
        Time budget.
    watch : Watch
        Its callbacks.

    Returns
    -------
    bool
        Whether both runs found the program infeasible.
    """
    with _ONE_AT_A_TIME:
        return _run_alone(engine, clock, watch)


def run_once(engine: Any, clock: Clock) -> None:
    """Run within the time limit, without checking the outcome; for estimates.

    Parameters
    ----------
    engine : highspy.Highs
        The solver, with a program.
    clock : Clock
        Time budget.
    """
    import highspy

    with _ONE_AT_A_TIME:
        highspy.Highs.resetGlobalScheduler(True)
        set_option(engine, "time_limit", engine.getRunTime() + clock.remaining())
        with meter.engine():
            engine.run()


def _run_alone(engine: "highspy.Highs", clock: Clock, watch: Watch) -> bool:
    import highspy

    said = []
    for presolve in (None, "off"):
        # Without this, HiGHS refuses to run if the number of threads has changed in the process.
        highspy.Highs.resetGlobalScheduler(True)
        # HiGHS counts the time of all runs of an object towards the limit.
        set_option(engine, "time_limit", engine.getRunTime() + clock.remaining())
        if presolve is not None:
            engine.clearSolver()
            set_option(engine, "presolve", presolve)
        with meter.engine():
            engine.run()
        if watch.error is not None:
            raise watch.error
        if presolve is not None:
            set_option(engine, "presolve", "choose")
        status = engine.getModelStatus().name
        said.append(status)
        pointless = status == "kOptimal" and engine.getInfo().primal_solution_status != _FEASIBLE
        # The presolve of HiGHS 1.15.1 can declare a feasible mixed-integer program infeasible.
        doubtful = status == "kInfeasible" and watch.mixed
        if not (pointless or doubtful or status in _UNDECIDED) or clock.expired():
            break
    return said == ["kInfeasible"] * 2


def read_linear(
    engine: "highspy.Highs",
    program: LinearProgram | Sides,
    *,
    seconds: float,
    build_seconds: float = 0.0,
) -> EngineResult:
    """Return the result of a linear program; it has no bound if the solve was stopped early.

    Parameters
    ----------
    engine : highspy.Highs
        The solver after a run.
    program : LinearProgram or Sides
        The program.
    seconds, build_seconds : float
        Times of the solve and of building.
    """
    rest = _rest(engine, seconds, build_seconds)
    status = engine.getModelStatus().name
    if status in _DECIDED:
        return EngineResult(_DECIDED[status], None, None, **rest)
    if status == "kModelEmpty":
        return _read_empty(program, rest)
    solution, information = engine.getSolution(), engine.getInfo()
    objective = values = duals = bound = None
    if information.primal_solution_status == _FEASIBLE and solution.value_valid:
        values = np.array(solution.col_value)
        objective = math.fsum((program.cost * values).tolist()) + program.offset
    if status == "kOptimal" and solution.dual_valid:
        duals = np.array(solution.row_dual)
        bound = dual_objective(program, duals, np.array(solution.col_dual))
    rest["info"] = {"simplex_iterations": information.simplex_iteration_count}
    return _judged(objective, bound, values, duals, None, rest)


def read_mixed(
    engine: "highspy.Highs",
    program: LinearProgram,
    grid: float | None,
    *,
    seconds: float,
    build_seconds: float,
    twice: bool = False,
) -> EngineResult:
    """Return the result of a mixed-integer program, with its objective recomputed.

    Parameters
    ----------
    engine : highspy.Highs
        The solver after a run.
    program : LinearProgram
        The program.
    grid : float or None
        A number > 0 of which every feasible objective is a multiple.
    seconds, build_seconds : float
        Times of the solve and of building.
    twice : bool
        Whether two runs, with presolve and without, found it infeasible.
    """
    rest = _rest(engine, seconds, build_seconds)
    status = engine.getModelStatus().name
    if status in _DECIDED:
        rest["info"] = {"asked_twice": twice}
        return EngineResult(_DECIDED[status], None, None, **rest)
    information = engine.getInfo()
    objective = values = None
    if information.primal_solution_status == _FEASIBLE:
        values = program.rounded(engine.getSolution().col_value)
        objective = program.objective(values)
    rest["info"] = {"nodes": information.mip_node_count}
    return _judged(objective, information.mip_dual_bound, values, None, grid, rest)


def _rest(engine: "highspy.Highs", seconds: float, build_seconds: float) -> dict[str, Any]:
    """Return the fields that all results of this engine have."""
    words = engine.modelStatusToString(engine.getModelStatus())
    return {"seconds": seconds, "build_seconds": build_seconds, "log": f"HiGHS: {words}"}


def _judged(
    objective: float | None,
    bound: float | None,
    values: Floats | None,
    duals: Floats | None,
    grid: float | None,
    rest: dict[str, Any],
) -> EngineResult:
    verdict = judge(objective, bound, grid=grid)
    rest["info"] = rest["info"] | dict(verdict.info)
    if verdict.objective is None:
        values = None
    return EngineResult(verdict.status, verdict.objective, verdict.bound, values, duals, **rest)


def _read_empty(program: LinearProgram | Sides, rest: dict[str, Any]) -> EngineResult:
    """Return the result of a program without columns, whose rows HiGHS does not check."""
    if (program.row_lower > 0).any() or (program.row_upper < 0).any():
        return EngineResult("infeasible", None, None, **rest)
    zero = np.zeros(len(program.row_lower))
    return EngineResult("optimal", program.offset, program.offset, np.zeros(0), zero, **rest)


def accept(status: "highspy.HighsStatus", what: str, fine: tuple[str, ...] = ("kOk",)) -> None:
    """Raise ValueError if HiGHS rejected an input.

    Parameters
    ----------
    status : highspy.HighsStatus
        Status of the call.
    what : str
        The input, for the message.
    fine : tuple of str
        Names of the statuses that mean success.
    """
    if status.name not in fine:
        raise ValueError(f"HiGHS rejects {what}")
