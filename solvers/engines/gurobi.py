"""Gurobi: linear, mixed-integer and quadratic programs, within the limits of its licence."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from schedgap.errors import EngineLicenceError
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.engine import Request, reject_option
from schedgap.solvers.engines.results import TOLERANCE, EngineResult
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.pyomo import Quadratic

if TYPE_CHECKING:
    import gurobipy


# Gurobi tells the size after presolve in its log only.
_PRESOLVED = re.compile(r"Presolved: (\d+) rows, (\d+) columns, (\d+) nonzeros")
_PARTS = ("rows", "columns", "nonzeros")


def solve_request(program: LinearProgram, request: Request) -> EngineResult:
    """Solve a program; the function of the engine `gurobi`.

    `program`: the program; the request may add quadratic rows, convex or not. `request`: limits,
    options and callbacks.

    Raises
    ------
    EngineLicenceError
        If Gurobi has no licence, or the program is too large for the licence.
    """
    import gurobipy

    settings: dict[str, Any] = {
        "Threads": request.threads,
        "Seed": request.seed,
        "MIPGap": 0.0,
        "MIPGapAbs": TOLERANCE if request.grid is None else 0.999 * request.grid,
    }
    if request.log is not None:
        settings["LogFile"] = str(request.log)
    curved = bool(request.quadratics) or request.square is not None
    try:
        with gurobipy.Env(params={"LogToConsole": 0}) as env, gurobipy.Model(env=env) as model:
            _set(model, settings | request.options)
            columns = _pass(model, program, request.quadratics, request.square)
            if request.start is not None:
                given = np.flatnonzero(~np.isnan(request.start))
                columns[given].Start = request.start[given]
            watch = _Watch(columns, request, request.square is None)
            with request.running():
                _run(model, request.clock, watch)
            return _read(model, program, columns, request, watch.statistics)
    except gurobipy.GurobiError as error:
        _raise_for_licence(error, program, curved)
        return EngineResult("unknown", None, None, log=f"Gurobi: {error}")


class _Watch:
    """Callback of one solve: it reports improvements and stops the solve at the time limit."""

    def __init__(self, columns: "gurobipy.MVar", request: Request, is_linear: bool) -> None:
        self.statistics: dict[str, float | None] = {}
        self.request, self._columns, self._is_linear = request, columns, is_linear

    def __call__(self, model: "gurobipy.Model", where: int) -> None:
        from gurobipy import GRB

        request = self.request
        try:
            if where == GRB.Callback.MIPSOL and request.wants_incumbents:
                objective = None if self._is_linear else model.cbGet(GRB.Callback.MIPSOL_OBJ)
                request.incumbent(model.cbGetSolution(self._columns), objective)
            elif where == GRB.Callback.MIP:
                bound = model.cbGet(GRB.Callback.MIP_OBJBND)
                self.statistics["cuts"] = model.cbGet(GRB.Callback.MIP_CUTCNT)
                if (
                    model.cbGet(GRB.Callback.MIP_NODCNT) == 0
                ):  # the last such call is at the end of the root node
                    self.statistics["root_bound"] = bound
                    self.statistics["root_seconds"] = model.cbGet(GRB.Callback.RUNTIME)
                request.bound(bound)
            elif where == GRB.Callback.MESSAGE:
                found = _PRESOLVED.match(model.cbGet(GRB.Callback.MSG_STRING))
                for part, size in zip(_PARTS, found.groups() if found else (), strict=False):
                    self.statistics[f"presolved_{part}"] = int(size)
        except BaseException as error:  # noqa: BLE001 - must not pass through native code; raised later
            request.error = request.error or error
        if request.must_stop():
            model.terminate()


def _set(model: "gurobipy.Model", settings: Mapping[str, Any]) -> None:
    import gurobipy

    for name, value in settings.items():
        try:
            model.setParam(name, value)
        except (gurobipy.GurobiError, TypeError):
            raise reject_option("Gurobi", name, value, dir(gurobipy.GRB.Param)) from None


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
        model.optimize(watch)
        if watch.request.error is not None:
            raise watch.request.error
        if model.Status != GRB.INF_OR_UNBD or clock.expired():
            break


def _read(
    model: "gurobipy.Model",
    program: LinearProgram,
    columns: "gurobipy.MVar",
    request: Request,
    statistics: dict[str, float | None],
) -> EngineResult:
    """Return the result; a continuous program that was stopped early has no valid bound."""
    from gurobipy import GRB

    names = {GRB.OPTIMAL: "optimal", GRB.TIME_LIMIT: "time limit", GRB.INTERRUPTED: "interrupted"}
    words = f"Gurobi: {names.get(model.Status, f'status {model.Status}')}"
    statistics = {**statistics, "iterations": int(model.IterCount) + model.BarIterCount}
    if model.IsMIP:
        statistics["nodes"] = int(model.NodeCount)
        if not model.NodeCount and model.Status != GRB.OPTIMAL:  # stopped in the root node
            statistics["root_bound"] = statistics["root_seconds"] = None
    if model.Status == GRB.INFEASIBLE:
        return request.result("infeasible", words, statistics=statistics)
    if model.Status == GRB.UNBOUNDED:
        return request.result("unbounded", words, statistics=statistics)
    values = objective = duals = reduced = bound = None
    curved = bool(request.quadratics) or request.square is not None
    if model.SolCount > 0:
        values, objective = columns.X, model.ObjVal if curved else None
    if program.is_mixed or (curved and model.Status == GRB.OPTIMAL):
        bound = model.ObjBound
    elif model.Status == GRB.OPTIMAL:
        duals, reduced = _duals(model, program), columns.RC
    return request.result(
        "solved",
        words,
        values=values,
        objective=objective,
        bound=bound,
        duals=duals,
        reduced=reduced,
        info={"nodes": int(model.NodeCount), "iterations": int(model.IterCount)},
        statistics=statistics,
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
    """Raise EngineLicenceError for a licence problem, and MemoryError for a lack of memory."""
    from gurobipy import GRB

    if error.errno == GRB.Error.SIZE_LIMIT_EXCEEDED:
        rows, columns = program.matrix.shape
        most = "200 columns where there are products" if curved else "2000 of each"
        raise EngineLicenceError(
            f"Gurobi's licence does not admit this program ({rows} linear rows, {columns} columns; "
            f"the bundled licence admits {most}): install a full licence, or use another engine"
        )
    if error.errno == GRB.Error.NO_LICENSE:
        raise EngineLicenceError(
            f"Gurobi has no valid licence ({error}): install one, or use another engine"
        )
    if error.errno == GRB.Error.OUT_OF_MEMORY:
        raise MemoryError(f"Gurobi: {error}")
