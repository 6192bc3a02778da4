"""Gurobi: linear, mixed-integer and quadratic programs, within the limits of its licence."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedgap.errors import EngineUnavailableError
from schedgap.solvers.children import meter
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.availability import claim
from schedgap.solvers.engines.results import (
    TOLERANCE,
    EngineResult,
    EngineStatus,
    OnBound,
    OnIncumbent,
    judge,
)
from schedgap.solvers.programs.arrays import Floats, LinearProgram, dual_objective
from schedgap.solvers.programs.pyomo import (
    InfeasibleModelError,
    Quadratic,
    compile_model,
    solve_compiled,
)

if TYPE_CHECKING:
    import gurobipy
    import pyomo.environ as pyo


def solve_arrays(
    program: LinearProgram,
    *,
    clock: Clock,
    threads: int = 1,
    seed: int = 0,
    start: ArrayLike | None = None,
    grid: float | None = None,
    on_incumbent: OnIncumbent | None = None,
    on_bound: OnBound | None = None,
    options: Mapping[str, object] | None = None,
    quadratics: Sequence[Quadratic] = (),
    square: Quadratic | None = None,
) -> EngineResult:
    """Solve a program given as arrays; parameters and result are those of `highs.solve_arrays`.

    Parameters
    ----------
    options : mapping or None
        Gurobi parameters by name; they override ours.
    quadratics, square
        Quadratic rows, convex or not, and the quadratic part of the objective.

    Raises
    ------
    ValueError
        If Gurobi rejects an option.
    EngineUnavailableError
        If Gurobi is not installed or has no licence, or the program is too large for the licence.
    """
    claim("gurobi")
    if clock.expired():
        return EngineResult("unknown", None, None)
    import gurobipy

    begin = time.monotonic()
    settings: dict[str, Any] = {
        "Threads": threads,
        "Seed": seed,
        "MIPGap": 0.0,
        "MIPGapAbs": TOLERANCE if grid is None else 0.999 * grid,
    }
    try:
        with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
            _set(model, settings | dict(options or {}))
            columns = _pass(model, program, quadratics, square)
            if start is not None and program.is_mixed:
                first = program.rounded(start)
                given = np.flatnonzero(~np.isnan(first))
                columns[given].Start = first[given]
            watch = _Watch(program, columns, clock, on_incumbent, on_bound, square is None)
            built = time.monotonic()
            _run(model, clock, watch)
            timing: dict[str, Any] = {
                "seconds": time.monotonic() - built,
                "build_seconds": built - begin,
            }
            curved = bool(quadratics) or square is not None
            return _read(model, program, columns, grid, curved, timing)
    except gurobipy.GurobiError as error:
        _raise_for_licence(error, program, bool(quadratics) or square is not None)
        return EngineResult("unknown", None, None, log=f"Gurobi: {error}")


def solve_model(
    model: "pyo.ConcreteModel",
    *,
    clock: Clock,
    start: bool | None = None,
    on_incumbent: OnIncumbent | None = None,
    on_bound: OnBound | None = None,
    **rest: Any,
) -> EngineResult:
    """Solve a linear or quadratic Pyomo model; parameters and result as for `highs.solve_model`.

    Parameters
    ----------
    model : ConcreteModel
        Only the values of its variables are changed.
    start : bool or None
        Whether to start from the values of the variables.
    on_incumbent, on_bound
        Called with improvements; the model then has the values of the better solution.
    **rest
        As for `solve_arrays`.
    """
    claim("gurobi")
    if clock.expired():
        return EngineResult("unknown", None, None)
    begin = time.monotonic()
    try:
        arrays = compile_model(model, quadratic=True)
    except InfeasibleModelError as error:
        return EngineResult("infeasible", None, None, log=str(error))
    return solve_compiled(
        arrays,
        solve_arrays,
        start=start,
        on_incumbent=on_incumbent,
        on_bound=on_bound,
        build_seconds=time.monotonic() - begin,
        clock=clock,
        quadratics=arrays.quadratics,
        square=arrays.square,
        **rest,
    )


class _Watch:
    """Callback of one solve: it reports improvements and stops the solve at the time limit."""

    def __init__(
        self,
        program: LinearProgram,
        columns: "gurobipy.MVar",
        clock: Clock,
        on_incumbent: OnIncumbent | None,
        on_bound: OnBound | None,
        is_linear: bool,
    ) -> None:
        self.error: BaseException | None = None
        self._program, self._columns, self._clock = program, columns, clock
        self._on_incumbent, self._on_bound = on_incumbent, on_bound
        self._is_linear, self._bound = is_linear, -math.inf

    def __call__(self, model: "gurobipy.Model", where: int) -> None:
        from gurobipy import GRB

        try:
            if self.error is None and where == GRB.Callback.MIPSOL and self._on_incumbent:
                values = self._program.rounded(model.cbGetSolution(self._columns))
                objective = self._program.objective(values)
                if not self._is_linear:
                    objective = model.cbGet(GRB.Callback.MIPSOL_OBJ)
                self._on_incumbent(objective, values)
            elif self.error is None and where == GRB.Callback.MIP and self._on_bound:
                bound = model.cbGet(GRB.Callback.MIP_OBJBND)
                if self._bound < bound < GRB.INFINITY:
                    self._bound = bound
                    self._on_bound(bound)
        except BaseException as error:  # noqa: BLE001 - must not pass through native code; raised later
            self.error = error
        if self.error is not None or self._clock.expired():
            model.terminate()


def _set(model: "gurobipy.Model", settings: Mapping[str, Any]) -> None:
    import gurobipy

    for name, value in settings.items():
        try:
            model.setParam(name, value)
        except (gurobipy.GurobiError, TypeError):
            raise ValueError(
                f"Gurobi has no parameter {name}, or rejects its value {value!r}"
            ) from None


def _pass(
    model: "gurobipy.Model",
    program: LinearProgram,
    quadratics: Sequence[Quadratic],
    square: Quadratic | None,
) -> Any:
    """Build the model and return its columns; a row with two finite sides becomes two rows."""
    from gurobipy import GRB

    count = len(program.cost)
    integer = np.zeros(count, dtype=bool) if program.integer is None else program.integer
    kinds = np.where(integer, GRB.INTEGER, GRB.CONTINUOUS)
    columns = model.addMVar(count, lb=program.lower, ub=program.upper, vtype=kinds)
    linear = program.cost @ columns + program.offset
    model.setObjective(linear if square is None else linear + _expression(square, columns))
    for relation, rows in _sides(program).items():
        side = (
            program.row_lower if relation in (GRB.EQUAL, GRB.GREATER_EQUAL) else program.row_upper
        )
        model.addMConstr(program.matrix[rows], columns, relation, side[rows])
    for row in quadratics:
        body = _expression(row, columns)
        if not math.isinf(row.upper):
            model.addConstr(body <= row.upper)
        if not math.isinf(row.lower):
            model.addConstr(body >= row.lower)
    model.update()
    return columns


def _sides(program: LinearProgram) -> dict[str, NDArray[np.int64]]:
    """Return the rows [i] of each block by relation, in the order of the blocks."""
    from gurobipy import GRB

    equal = program.row_lower == program.row_upper
    return {
        GRB.EQUAL: np.flatnonzero(equal),
        GRB.GREATER_EQUAL: np.flatnonzero(~equal & (program.row_lower > -math.inf)),
        GRB.LESS_EQUAL: np.flatnonzero(~equal & (program.row_upper < math.inf)),
    }


def _expression(row: Quadratic, columns: "gurobipy.MVar") -> Any:
    """Return the left-hand side of a quadratic row."""
    from gurobipy import LinExpr, QuadExpr

    single = columns.tolist()
    body = QuadExpr(LinExpr(list(row.linear), [single[j] for j in row.columns]))
    body.addTerms(
        list(row.coefficient), [single[j] for j in row.first], [single[j] for j in row.second]
    )
    return body


def _run(model: "gurobipy.Model", clock: Clock, watch: _Watch) -> None:
    """Solve within the time limit, again without dual reductions if the status is ambiguous."""
    from gurobipy import GRB

    for reductions in (1, 0):
        left = clock.remaining()
        model.Params.TimeLimit = left if math.isfinite(left) else GRB.INFINITY
        model.Params.DualReductions = reductions
        with meter.engine():
            model.optimize(watch)
        if watch.error is not None:
            raise watch.error
        if model.Status != GRB.INF_OR_UNBD or clock.expired():
            break


def _read(
    model: "gurobipy.Model",
    program: LinearProgram,
    columns: "gurobipy.MVar",
    grid: float | None,
    curved: bool,
    timing: dict[str, Any],
) -> EngineResult:
    """Return the result, with the status that follows from the numbers."""
    from gurobipy import GRB

    words = {GRB.OPTIMAL: "optimal", GRB.TIME_LIMIT: "time limit", GRB.INTERRUPTED: "interrupted"}
    log = f"Gurobi: {words.get(model.Status, f'status {model.Status}')}"
    decided: dict[int, EngineStatus] = {
        GRB.INFEASIBLE: "infeasible",
        GRB.UNBOUNDED: "unbounded",
    }
    if model.Status in decided:
        return EngineResult(decided[model.Status], None, None, log=log, **timing)
    values = objective = duals = bound = None
    if model.SolCount > 0:
        values = program.rounded(columns.X)
        objective = model.ObjVal if curved else program.objective(values)
    if program.is_mixed:
        bound = model.ObjBound
    elif (
        model.Status == GRB.OPTIMAL
    ):  # if it was stopped early, a continuous program has no valid bound
        if curved:
            bound = model.ObjBound
        else:
            duals = _duals(model, program)
            bound = dual_objective(program, duals, np.array(columns.RC))
    verdict = judge(objective, bound, grid=grid)
    info = {"nodes": int(model.NodeCount), "iterations": int(model.IterCount)}
    return EngineResult(
        verdict.status,
        verdict.objective,
        verdict.bound,
        values,
        duals,
        log=log,
        info=info | dict(verdict.info),
        **timing,
    )


def _duals(model: "gurobipy.Model", program: LinearProgram) -> Floats:
    """Return the dual values by row [i]; they add up for a row that became two."""
    prices = np.array(model.getAttr("Pi"))
    duals = np.zeros(len(program.row_lower))
    first = 0
    for rows in _sides(program).values():
        duals[rows] += prices[first : first + len(rows)]
        first += len(rows)
    return duals


def _raise_for_licence(error: "gurobipy.GurobiError", program: LinearProgram, curved: bool) -> None:
    """Raise EngineUnavailableError for a licence problem, and MemoryError for a lack of memory."""
    from gurobipy import GRB

    if error.errno == GRB.Error.SIZE_LIMIT_EXCEEDED:
        rows, columns = program.matrix.shape
        most = "200 columns where there are products" if curved else "2000 of each"
        raise EngineUnavailableError(
            f"Gurobi's licence does not admit this program ({rows} linear rows, {columns} columns; "
            f"the bundled licence admits {most}): install a full licence, or use another engine"
        )
    if error.errno == GRB.Error.NO_LICENSE:
        raise EngineUnavailableError(
            f"Gurobi has no valid licence ({error}): install one, or use another engine"
        )
    if error.errno == GRB.Error.OUT_OF_MEMORY:
        raise MemoryError(f"Gurobi: {error}")
