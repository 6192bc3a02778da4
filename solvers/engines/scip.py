"""SCIP through PySCIPOpt: linear and mixed-integer programs of any size, with one thread."""

from typing import TYPE_CHECKING, Any

import numpy as np

from schedgap.solvers.engines.engine import Request, reject_option
from schedgap.solvers.engines.results import INFINITE, TOLERANCE, EngineResult
from schedgap.solvers.programs.arrays import LinearProgram

if TYPE_CHECKING:
    import pyscipopt

_NO_PRESOLVE = {"presolving/maxrounds": 0, "presolving/maxrestarts": 0}
# For duals of a linear program, nothing may change the program before it reaches the LP solver.
_PLAIN = _NO_PRESOLVE | {"propagating/maxrounds": 0, "propagating/maxroundsroot": 0}
_NO_DUAL_REDUCTIONS = {"misc/allowstrongdualreds": False, "misc/allowweakdualreds": False}


def solve_request(program: LinearProgram, request: Request) -> EngineResult:
    """Solve a program; the function of the engine `scip`.

    `request`: limits, options and callbacks.
    """
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()  # hides the terminal's output, but not the log file
    if request.log is not None:
        model.setLogfile(str(request.log))
    if not program.is_mixed:
        _set(model, _PLAIN)
        model.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)
    _set(model, {"limits/absgap": TOLERANCE if request.grid is None else 0.999 * request.grid})
    _set(model, {"randomization/randomseedshift": request.seed, "misc/catchctrlc": False})
    _set(model, request.options)
    columns, rows = _pass(model, program)
    if request.start is not None:
        partial = np.isnan(request.start).any()
        point = model.createPartialSol() if partial else model.createSol()
        for j in np.flatnonzero(~np.isnan(request.start)):
            model.setSolVal(point, columns[j], request.start[j])
        model.addSol(point)
    known = _watch(model, columns, request)
    with request.running():
        for settings in ({}, _NO_PRESOLVE | _NO_DUAL_REDUCTIONS):
            model.freeTransform()
            left = min(request.clock.remaining(), INFINITE)
            _set(model, settings | {"limits/time": left})
            model.optimizeNogil()
            if model.getStatus() != "inforunbd" or request.must_stop():
                break
    status, words = model.getStatus(), f"SCIP: {model.getStatus()}"
    mixed = {"nodes": model.getNTotalNodes(), "cuts": model.getNCutsApplied(), **known}
    known = {**(mixed if program.is_mixed else {}), "iterations": model.getNLPIterations()}
    if status in ("infeasible", "unbounded"):
        return request.result(status, words, statistics=known)
    facts: dict[str, Any] = {"bound": model.getDualbound()} if program.is_mixed else {}
    if model.getNSols() and status != "inforunbd":
        best = model.getBestSol()
        facts["values"] = [model.getSolVal(best, column) for column in columns]
    if status == "optimal" and not program.is_mixed:
        facts["duals"] = [model.getDualsolLinear(row) for row in rows]
    return request.result("solved", words, statistics=known, **facts)


def _set(model: "pyscipopt.Model", options: dict[str, Any]) -> None:
    for name, value in options.items():
        try:
            model.setParam(name, value)
        except Exception:  # noqa: BLE001 - PySCIPOpt raises errors of several kinds
            raise reject_option("SCIP", name, value, model.getParams()) from None


def _pass(model: "pyscipopt.Model", program: LinearProgram) -> tuple[list[Any], list[Any]]:
    """Build the model and return its columns and rows."""
    from pyscipopt.scip import Expr, ExprCons, Term

    model.addObjoffset(program.offset)
    sides = (program.lower, program.upper, program.row_lower, program.row_upper)
    lower, upper, low, high = (side.clip(-INFINITE, INFINITE).tolist() for side in sides)
    whole = [False] * len(lower) if program.integer is None else program.integer.tolist()
    columns = [
        model.addVar(lb=a, ub=b, obj=cost, vtype="C" if not w else "B" if (a, b) == (0, 1) else "I")
        for a, b, cost, w in zip(lower, upper, program.cost.tolist(), whole, strict=True)
    ]
    matrix = program.matrix
    start, place, entry = (p.tolist() for p in (matrix.indptr, matrix.indices, matrix.data))
    rows, kept = [], not program.is_mixed  # modifiable rows of one entry do not turn into bounds
    for i, both in enumerate(zip(low, high, strict=True)):
        # Entries one by one take a third of the time of an expression that has all of them.
        row = model.addCons(ExprCons(Expr({Term(columns[0]): 0.0}), *both), modifiable=kept)
        for k in range(start[i], start[i + 1]):
            model.addCoefLinear(row, columns[place[k]], entry[k])
        rows.append(row)
    return columns, rows


def _watch(model: "pyscipopt.Model", columns: list[Any], request: Request) -> dict[str, Any]:
    """Report improvements during the search; return the statistics of its root node."""
    from pyscipopt import SCIP_EVENTTYPE as KIND
    from pyscipopt import Eventhdlr

    known: dict[str, Any] = {}

    class Events(Eventhdlr):  # type: ignore[misc]  # untyped base
        def eventinit(self) -> None:
            for kind in (KIND.BESTSOLFOUND, KIND.NODESOLVED, KIND.LPEVENT):
                self.model.catchEvent(kind, self)

        def eventexec(self, event: Any) -> None:
            kind, scip = event.getType(), self.model
            if kind == KIND.BESTSOLFOUND and request.wants_incumbents:
                best = scip.getBestSol()
                request.incumbent([scip.getSolVal(best, column) for column in columns])
            elif kind == KIND.FIRSTLPSOLVED and "presolved_rows" not in known:
                known["presolved_rows"] = scip.getNConss()
                known["presolved_columns"] = scip.getNVars()
            elif kind & KIND.NODESOLVED and "root_bound" not in known:
                known["root_seconds"] = scip.getSolvingTime()
                known["root_bound"] = scip.getDualboundRoot()
            request.bound(scip.getDualbound())
            if request.must_stop():
                scip.interruptSolve()

    model.includeEventhdlr(Events(), "schedgap", "reports improvements")
    return known
