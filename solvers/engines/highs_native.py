"""Low-level interface to HiGHS for `highs`: options, models, callbacks and results."""

import math
import os
import re
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from schedgap.errors import ScaleError
from schedgap.solvers.children import meter
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.engine import Request, reject_option
from schedgap.solvers.engines.results import EngineResult, derive_status
from schedgap.solvers.programs.arrays import Floats, LinearProgram, Sides, dual_objective

if TYPE_CHECKING:
    import highspy

_FEASIBLE = 2  # HiGHS' kSolutionStatusFeasible
_PRESOLVED = re.compile(r"Presolve reductions: rows (\d+)\D.*columns (\d+)\D.*nonzeros (\d+)\D")
_DECIDED: dict[str, Literal["infeasible", "unbounded"]] = {
    "kInfeasible": "infeasible",
    "kUnbounded": "unbounded",
}
# HiGHS has one scheduler per process, which is reset before each run.
_ONE_AT_A_TIME = threading.RLock()
_greeted: list[bool] = []  # filled when HiGHS has printed its banner, which goes nowhere
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

    `clock`: time budget. `mixed`: the request if the program is mixed-integer; it receives
    improvements. `statistics`: statistics that HiGHS reports during the search only.
    """

    def __init__(self, engine: "highspy.Highs", clock: Clock, mixed: Request | None = None) -> None:
        self.mixed = mixed
        self.statistics: dict[str, float | None] = {}
        self._engine, self._clock = engine, clock
        if mixed is not None:
            engine.cbMipInterrupt.subscribe(self._interrupt)
            engine.cbMipLogging.subscribe(self._logged)
            if mixed.wants_incumbents:
                engine.cbMipImprovingSolution.subscribe(self._incumbent)
        elif clock.limit is not None:
            engine.cbSimplexInterrupt.subscribe(self._interrupt)
            engine.cbIpmInterrupt.subscribe(self._interrupt)

    @property
    def error(self) -> BaseException | None:
        """What a callback has raised."""
        return None if self.mixed is None else self.mixed.error

    def leave(self) -> None:
        """Remove the callbacks."""
        self._engine.cbSimplexInterrupt.unsubscribe(self._interrupt)
        self._engine.cbIpmInterrupt.unsubscribe(self._interrupt)

    def _interrupt(self, event: "highspy.HighsCallbackEvent") -> None:
        if self.mixed is not None:
            self.mixed.bound(event.data_out.mip_dual_bound)
        # The flag of an earlier run may still be set: always write it.
        event.interrupt(self.error is not None or self._clock.expired())

    def _logged(self, event: "highspy.HighsCallbackEvent") -> None:
        out = event.data_out
        if out.mip_node_count == 0:  # the last such call comes at the end of the root node
            self.statistics["root_seconds"] = out.running_time
            self.statistics["root_bound"] = out.mip_dual_bound
        self._interrupt(event)

    def note(self, event: "highspy.HighsCallbackEvent") -> None:
        """Read the presolved size from a line of the log; HiGHS tells it nowhere else."""
        found = _PRESOLVED.match(event.message)
        if found and "presolved_rows" not in self.statistics:
            for part, size in zip(("rows", "columns", "nonzeros"), found.groups(), strict=True):
                self.statistics[f"presolved_{part}"] = int(size)

    def _incumbent(self, event: "highspy.HighsCallbackEvent") -> None:
        assert self.mixed is not None
        self.mixed.incumbent(event.data_out.mip_solution)


def new_engine(
    settings: Mapping[str, object], *, logs: bool = False, log: Path | None = None
) -> "highspy.Highs":
    """Return a HiGHS solver with options that prints nothing.

    `settings`: values of options by name. `logs`: whether it calls back with the lines of its log.
    `log`: file for its log.
    """
    engine = _made()
    engine.setOptionValue("log_to_console", False)
    engine.setOptionValue("output_flag", logs)
    if log is not None:
        engine.setOptionValue("log_file", str(log))
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
    """Set an option; raise UsageError if HiGHS rejects it."""
    try:
        accepted = engine.setOptionValue(name, value).name == "kOk"
    except TypeError:
        accepted = False
    if not accepted:
        exists = engine.getOptionType(name)[0].name == "kOk"  # not all options have attributes
        raise reject_option("HiGHS", name, value, [*dir(engine.getOptions()), *[name] * exists])


def pass_program(engine: "highspy.Highs", program: LinearProgram, *, relaxed: bool = False) -> None:
    """Pass a program to HiGHS.

    `relaxed`: whether to ignore that columns must be integer.
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

    `start` [j]: the point; NaN for columns without a value.
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

    `clock`: time budget.

    It returns whether both runs found the program infeasible.
    """
    with _ONE_AT_A_TIME:
        return _run_alone(engine, clock, watch)


def run_once(engine: Any, clock: Clock) -> None:
    """Run within the time limit, without checking the outcome; for estimates.

    `clock`: time budget.
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
        doubtful = status == "kInfeasible" and watch.mixed is not None
        if not (pointless or doubtful or status in _UNDECIDED) or clock.expired():
            break
    return said == ["kInfeasible"] * 2


def read_linear(
    engine: "highspy.Highs", program: LinearProgram | Sides, timing: Mapping[str, float]
) -> EngineResult:
    """Return the result of a linear program; it has no bound if the solve was stopped early.

    `timing`: times of the result.
    """
    rest: dict[str, Any] = {**timing, "log": _words(engine)}
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
    verdict = derive_status(objective, bound)
    rest["info"] = {"simplex_iterations": information.simplex_iteration_count, **verdict.info}
    if verdict.objective is None:
        values = None
    return EngineResult(verdict.status, verdict.objective, verdict.bound, values, duals, **rest)


def read_mixed(
    engine: "highspy.Highs",
    program: LinearProgram,
    request: Request,
    watch: Watch,
    *,
    twice: bool = False,
) -> EngineResult:
    """Return the result of a mixed-integer program, with its objective recomputed.

    `twice`: whether two runs, with presolve and without, found it infeasible.
    """
    words, status = _words(engine), engine.getModelStatus().name
    if status in _DECIDED:
        return request.result(
            _DECIDED[status],
            words,
            info={"asked_twice": twice},
            statistics=statistics(engine, watch),
        )
    information = engine.getInfo()
    found = information.primal_solution_status == _FEASIBLE
    return request.result(
        "solved",
        words,
        values=engine.getSolution().col_value if found else None,
        bound=information.mip_dual_bound,
        info={"nodes": information.mip_node_count},
        statistics=statistics(engine, watch),
    )


def statistics(engine: "highspy.Highs", watch: Watch) -> dict[str, float | None]:
    """Return what HiGHS reports of a run; it does not count the cuts."""
    information, known = engine.getInfo(), dict(watch.statistics)
    counts = information.simplex_iteration_count, information.ipm_iteration_count
    known["iterations"] = sum(max(0, count) for count in counts)
    if watch.mixed is not None:
        known["nodes"] = nodes = information.mip_node_count
        if nodes == 0 and engine.getModelStatus().name not in ("kOptimal", "kInfeasible"):
            known["root_seconds"] = known["root_bound"] = None  # stopped in the root node
        if not math.isfinite(known.get("root_bound") or 0.0):
            known["root_seconds"] = known["root_bound"] = None  # the root has solved the program
    return known


def _words(engine: "highspy.Highs") -> str:
    return f"HiGHS: {engine.modelStatusToString(engine.getModelStatus())}"


def _read_empty(program: LinearProgram | Sides, rest: dict[str, Any]) -> EngineResult:
    """Return the result of a program without columns, whose rows HiGHS does not check."""
    if (program.row_lower > 0).any() or (program.row_upper < 0).any():
        return EngineResult("infeasible", None, None, **rest)
    zero = np.zeros(len(program.row_lower))
    return EngineResult("optimal", program.offset, program.offset, np.zeros(0), zero, **rest)


def accept(status: "highspy.HighsStatus", what: str, fine: tuple[str, ...] = ("kOk",)) -> None:
    """Raise ValueError if HiGHS rejected an input.

    `status`: status of the call. `fine`: names of the statuses that mean success.
    """
    if status.name not in fine:
        raise ValueError(f"HiGHS rejects {what}")
