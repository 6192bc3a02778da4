"""HiGHS: linear and mixed-integer programs given as arrays."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from schedgap.solvers.availability import claim
from schedgap.solvers.clock import Clock
from schedgap.solvers.engine import (
    INFINITE,
    TOLERANCE,
    EngineResult,
    EngineStatus,
    OnBound,
    OnIncumbent,
    judge,
)
from schedgap.solvers.linear import Floats, LinearProgram

Algorithm = Literal["choose", "simplex", "ipm"]


def solve_arrays(
    program: LinearProgram,
    *,
    clock: Clock,
    threads: int = 1,
    seed: int = 0,
    algorithm: Algorithm = "choose",
    crossover: bool = True,
    start: ArrayLike | None = None,
    grid: float | None = None,
    on_incumbent: OnIncumbent | None = None,
    on_bound: OnBound | None = None,
    options: Mapping[str, Any] | None = None,
) -> EngineResult:
    """Solve a program given as arrays.

    Parameters
    ----------
    program : LinearProgram
        Linear, or mixed-integer when some column is.
    clock : Clock
        The time that is left; nothing is called when it is up.
    threads, seed : int
        Threads >= 1 and random seed >= 0 of HiGHS.
    algorithm, crossover
        For linear programs; without crossover the point of `ipm` is no vertex.
    start : array [j] or None
        A point to start a mixed-integer search from; NaN where a column is left open. No start for
        linear programs: keep a `Relaxation` instead.
    grid : float or None
        A step of which every feasible objective is a multiple.
    on_incumbent, on_bound
        Called in this thread as a mixed-integer search improves.
    options : mapping or None
        Further HiGHS options by name; they win over ours.

    Returns
    -------
    EngineResult
        `values` by column with integers rounded, `duals` by row for a linear program.

    Raises
    ------
    ValueError
        When HiGHS does not know an option or refuses its value.
    EngineUnavailableError
        When this process has loaded CP-SAT.
    """
    claim("highs")
    if clock.expired():
        return EngineResult("unknown", None, None)
    begin = time.monotonic()
    settings: dict[str, Any] = {"threads": threads, "random_seed": seed}
    if program.is_mixed:
        settings |= {
            "mip_rel_gap": 0.0,
            "mip_abs_gap": TOLERANCE if grid is None else 0.999 * grid,
            # HiGHS 1.15.1 can lose the optimum in a restart at the root.
            "mip_allow_restart": False,
        }
    else:
        settings |= {"solver": algorithm, "run_crossover": "on" if crossover else "off"}
    engine = _engine(settings | dict(options or {}))
    _pass(engine, program)
    if start is not None and program.is_mixed:
        _pass_start(engine, program.rounded(start))
    mixed = program if program.is_mixed else None
    watch = _Watch(engine, mixed, clock, on_incumbent, on_bound)
    built = time.monotonic()
    _run(engine, clock, watch)
    solved = time.monotonic()
    timing: dict[str, Any] = {"seconds": solved - built, "build_seconds": built - begin}
    if mixed is None:
        return _read_linear(engine, program, **timing)
    return _read_mixed(engine, program, grid, **timing)


class Relaxation:
    """A linear program that stays in HiGHS: rows and columns are added, and solves start warm.

    Row and column numbers count on from those of the first program. `integer` is ignored.
    """

    def __init__(
        self,
        program: LinearProgram,
        *,
        threads: int = 1,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        claim("highs")
        settings = {"threads": threads, "random_seed": seed, "solver": "simplex"}
        self._engine = _engine(settings | dict(options or {}))
        self._sides = _Sides(
            program.cost,
            program.lower,
            program.upper,
            program.row_lower,
            program.row_upper,
            program.offset,
        )
        _pass(self._engine, program, relaxed=True)

    def add_rows(self, lower: ArrayLike, upper: ArrayLike, matrix: Any) -> None:
        """Add rows: `lower <= matrix @ x <= upper`, matrix [new i, j] over all present columns."""
        rows = sparse.csr_array(matrix, dtype=np.float64)
        _shape(rows.shape[1], self._engine.getNumCol(), "columns")
        low, high = _floats(lower), _floats(upper)
        _shape(len(low), rows.shape[0], "rows")
        _shape(len(high), rows.shape[0], "rows")
        status = self._engine.addRows(
            len(low), low, high, rows.nnz, _ints(rows.indptr[:-1]), _ints(rows.indices), rows.data
        )
        _accept(status, "the new rows")
        sides = self._sides
        self._sides = replace(
            sides,
            row_lower=np.append(sides.row_lower, low),
            row_upper=np.append(sides.row_upper, high),
        )

    def add_columns(self, cost: ArrayLike, lower: ArrayLike, upper: ArrayLike, matrix: Any) -> None:
        """Add columns with their entries, matrix [i, new j] over all present rows."""
        columns = sparse.csc_array(matrix, dtype=np.float64)
        _shape(columns.shape[0], self._engine.getNumRow(), "rows")
        price, low, high = _floats(cost), _floats(lower), _floats(upper)
        for array in (price, low, high):
            _shape(len(array), columns.shape[1], "columns")
        status = self._engine.addCols(
            len(price),
            price,
            low,
            high,
            columns.nnz,
            _ints(columns.indptr[:-1]),
            _ints(columns.indices),
            columns.data,
        )
        _accept(status, "the new columns")
        sides = self._sides
        self._sides = replace(
            sides,
            cost=np.append(sides.cost, price),
            lower=np.append(sides.lower, low),
            upper=np.append(sides.upper, high),
        )

    def change_bounds(self, columns: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Change the bounds of some columns, given by number."""
        chosen, low, high = _ints(columns), _floats(lower), _floats(upper)
        _accept(self._engine.changeColsBounds(len(chosen), chosen, low, high), "the bounds")
        sides = self._sides
        self._sides = replace(
            sides, lower=_put(sides.lower, chosen, low), upper=_put(sides.upper, chosen, high)
        )

    def change_costs(self, columns: ArrayLike, cost: ArrayLike) -> None:
        """Change the costs of some columns, given by number."""
        chosen, price = _ints(columns), _floats(cost)
        _accept(self._engine.changeColsCost(len(chosen), chosen, price), "the costs")
        self._sides = replace(self._sides, cost=_put(self._sides.cost, chosen, price))

    def change_row_bounds(self, rows: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Change the sides of some rows, given by number."""
        chosen, low, high = _ints(rows), _floats(lower), _floats(upper)
        _accept(self._engine.changeRowsBounds(len(chosen), chosen, low, high), "the sides")
        sides = self._sides
        self._sides = replace(
            sides,
            row_lower=_put(sides.row_lower, chosen, low),
            row_upper=_put(sides.row_upper, chosen, high),
        )

    def solve(self, clock: Clock) -> EngineResult:
        """Solve what is there now, from the last basis; as `solve_arrays` for linear programs."""
        if clock.expired():
            return EngineResult("unknown", None, None)
        begin = time.monotonic()
        watch = _Watch(self._engine, None, clock, None, None)
        _run(self._engine, clock, watch)
        watch.leave()
        return _read_linear(self._engine, self._sides, seconds=time.monotonic() - begin)

    @property
    def program(self) -> LinearProgram:
        """The linear program as it is now, without names."""
        lp = self._engine.getLp()
        entries = lp.a_matrix_
        kind = sparse.csc_array if entries.format_.name == "kColwise" else sparse.csr_array
        data = tuple(np.array(part) for part in (entries.value_, entries.index_, entries.start_))
        sides = self._sides
        return LinearProgram(
            sides.cost,
            sides.lower,
            sides.upper,
            kind(data, shape=(lp.num_row_, lp.num_col_)),
            sides.row_lower,
            sides.row_upper,
            offset=sides.offset,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """A linear program but for its matrix."""

    cost: Floats
    lower: Floats
    upper: Floats
    row_lower: Floats
    row_upper: Floats
    offset: float


class _Watch:
    """Callbacks of one solve: they pass on what was found and stop HiGHS when the time is up."""

    def __init__(
        self,
        engine: Any,
        mixed: LinearProgram | None,
        clock: Clock,
        on_incumbent: OnIncumbent | None,
        on_bound: OnBound | None,
    ) -> None:
        self.error: BaseException | None = None
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
        """Take the callbacks off again."""
        self._engine.cbSimplexInterrupt.unsubscribe(self._interrupt)
        self._engine.cbIpmInterrupt.unsubscribe(self._interrupt)

    def _interrupt(self, event: Any) -> None:
        try:
            if self._on_bound is not None and self.error is None:
                bound = event.data_out.mip_dual_bound
                if self._bound < bound < INFINITE and bound > -INFINITE:
                    self._bound = bound
                    self._on_bound(bound)
        except BaseException as error:  # noqa: BLE001 - it may not cross native code; raised after the run
            self.error = error
        # The flag of an earlier run stays set: write it either way.
        event.interrupt(self.error is not None or self._clock.expired())

    def _incumbent(self, event: Any) -> None:
        try:
            if self._on_incumbent and self._program and not self.error:
                values = self._program.rounded(event.data_out.mip_solution)
                self._on_incumbent(self._program.objective(values), values)
        except BaseException as error:  # noqa: BLE001 - it may not cross native code; raised after the run
            self.error = error


def _engine(settings: Mapping[str, Any]) -> Any:
    """Return a silent HiGHS that has accepted every setting."""
    import highspy

    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    for name, value in settings.items():
        _set(engine, name, value)
    return engine


def _set(engine: Any, name: str, value: Any) -> None:
    """Set an option; HiGHS itself would ignore a misspelt one."""
    if engine.setOptionValue(name, value).name != "kOk":
        raise ValueError(f"HiGHS has no option {name}, or refuses {value!r} for it")


def _pass(engine: Any, program: LinearProgram, *, relaxed: bool = False) -> None:
    """Hand the arrays over."""
    import highspy

    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = program.matrix.shape
    lp.offset_ = program.offset
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.cost, program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = program.matrix.indptr
    lp.a_matrix_.index_ = program.matrix.indices
    lp.a_matrix_.value_ = program.matrix.data
    if program.integer is not None and program.is_mixed and not relaxed:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[whole] for whole in program.integer.tolist()]
    # A column whose bounds cross is a warning here and an infeasible program later.
    _accept(engine.passModel(lp), "the model", ("kOk", "kWarning"))


def _pass_start(engine: Any, start: Floats) -> None:
    """Hand over a point, or the part of it that is not NaN."""
    import highspy

    given = ~np.isnan(start)
    if given.all():
        solution = highspy.HighsSolution()
        solution.col_value = start.tolist()
        engine.setSolution(solution)
    else:
        chosen = np.flatnonzero(given).astype(np.int32)
        engine.setSolution(len(chosen), chosen, start[given])


def _run(engine: Any, clock: Clock, watch: _Watch) -> None:
    """Run within the clock; a program that may be infeasible or unbounded is run a second time."""
    import highspy

    for presolve in (None, "off"):
        # A changed thread count in one process makes HiGHS refuse to run without this.
        highspy.Highs.resetGlobalScheduler(True)
        # HiGHS counts the time of all runs of one object towards the limit.
        _set(engine, "time_limit", engine.getRunTime() + clock.remaining())
        if presolve is not None:
            engine.clearSolver()
            _set(engine, "presolve", presolve)
        engine.run()
        if watch.error is not None:
            raise watch.error
        if engine.getModelStatus().name != "kUnboundedOrInfeasible" or clock.expired():
            break


def _read_linear(
    engine: Any, program: LinearProgram | _Sides, *, seconds: float, build_seconds: float = 0.0
) -> EngineResult:
    """Take the result of a linear program out; one that was stopped early has no valid bound."""
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
        bound = _dual_objective(program, duals, np.array(solution.col_dual))
    rest["info"] = {"simplex_iterations": information.simplex_iteration_count}
    return _judged(objective, bound, values, duals, None, rest)


def _read_mixed(
    engine: Any,
    program: LinearProgram,
    grid: float | None,
    *,
    seconds: float,
    build_seconds: float,
) -> EngineResult:
    """Take the result of a mixed-integer program out; its objective is computed anew."""
    rest = _rest(engine, seconds, build_seconds)
    status = engine.getModelStatus().name
    if status in _DECIDED:
        return EngineResult(_DECIDED[status], None, None, **rest)
    information = engine.getInfo()
    objective = values = None
    if information.primal_solution_status == _FEASIBLE:
        values = program.rounded(engine.getSolution().col_value)
        objective = program.objective(values)
    rest["info"] = {"nodes": information.mip_node_count}
    return _judged(objective, information.mip_dual_bound, values, None, grid, rest)


_FEASIBLE = 2  # HiGHS' kSolutionStatusFeasible
_DECIDED: dict[str, EngineStatus] = {"kInfeasible": "infeasible", "kUnbounded": "unbounded"}


def _rest(engine: Any, seconds: float, build_seconds: float) -> dict[str, Any]:
    """Return what every result of this engine carries."""
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


def _read_empty(program: LinearProgram | _Sides, rest: dict[str, Any]) -> EngineResult:
    """Judge a program without columns, whose rows HiGHS does not look at."""
    if (program.row_lower > 0).any() or (program.row_upper < 0).any():
        return EngineResult("infeasible", None, None, **rest)
    zero = np.zeros(len(program.row_lower))
    return EngineResult("optimal", program.offset, program.offset, np.zeros(0), zero, **rest)


def _dual_objective(
    program: LinearProgram | _Sides, duals: Floats, reduced: Floats
) -> float | None:
    """Return the dual's value at HiGHS' prices, its tolerances granted: no certificate.

    `linear.safe_bound` makes a certificate of the same prices.
    """
    total = [program.offset]
    for price, low, high in (
        (duals, program.row_lower, program.row_upper),
        (reduced, program.lower, program.upper),
    ):
        side = np.where(price > 0, low, high)
        if (np.isinf(side) & (np.abs(price) > TOLERANCE)).any():
            return None
        total += (price * np.where(np.isinf(side), 0.0, side)).tolist()
    return math.fsum(total)


def _accept(status: Any, what: str, fine: tuple[str, ...] = ("kOk",)) -> None:
    if status.name not in fine:
        raise ValueError(f"HiGHS refuses {what}")


def _shape(got: int, wanted: int, what: str) -> None:
    if got != wanted:
        raise ValueError(f"{got} {what} given, {wanted} needed")


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _put(array: Floats, chosen: Any, values: Floats) -> Floats:
    """Return a copy with some entries changed."""
    changed = array.copy()
    changed[chosen] = values
    return changed


def _ints(values: ArrayLike) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.asarray(values, dtype=np.int32)
