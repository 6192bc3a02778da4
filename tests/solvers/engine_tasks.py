"""What the contract tests of the engines run in child processes: models, and ways to go wrong."""

import ctypes
import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

from schedgap.errors import EngineUnavailableError, UsageError
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.engines.availability import require_loadable
from schedgap.solvers.engines.contract import long_program, random_program
from schedgap.solvers.programs.arrays import LinearProgram

INF = float("inf")
# engine, and the kind of its models; tests/solvers/test_engine_contract.py has arrays and Pyomo
OWN = (("cp-sat", "cp-sat"), ("clarabel", "cvxpy"))


def program(case: str) -> LinearProgram:
    """The models of the tests, as arrays; what they are worth stands with the tests."""
    match case:
        case "lp":
            return LinearProgram(
                [-3, -2], [0, 0], [3, INF], [[1, 1], [1, 3]], [-INF, -INF], [4, 6], offset=1
            )
        case "mip":
            weights = [[3, 4, 2, 3]]
            return LinearProgram(
                [-10, -13, -7, -8], [0] * 4, [1] * 4, weights, [-INF], [7], [True] * 4, offset=1
            )
        case "infeasible":  # 2 x + 2 y = 3 has no integer solution, x + y = 1.5 no one in [0, 0.7]
            return LinearProgram([1, 1], [0, 0], [3, 3], [[2, 2]], [3], [3], [True, True])
        case "infeasible-lp":
            return LinearProgram([1, 1], [0, 0], [0.7, 0.7], [[2, 2]], [3], [3])
        case "unbounded":
            return LinearProgram([-1, 0], [0, 0], [INF, INF], [[1, -1]], [-INF], [1])
        case "unbounded-mip":
            return replace(program("unbounded"), integer=np.array([True, True]))
        case "long":  # easy to find a point for, hard to prove
            return long_program()
        case "barren":  # market split: hard to find a point for
            random = np.random.default_rng(1)
            matrix = random.integers(0, 100, (7, 60))
            side = matrix.sum(1) // 2
            return LinearProgram(
                np.ones(60), np.zeros(60), np.ones(60), matrix, side, side, np.ones(60, dtype=bool)
            )
        case "long-lp":
            random = np.random.default_rng(2)
            matrix = random.random((1500, 1500))
            cost, side = -random.random(1500), matrix.sum(1) / 2
            return LinearProgram(
                cost, np.zeros(1500), np.full(1500, INF), matrix, np.full(1500, -INF), side
            )
        case "large":  # beyond Gurobi's bundled licence
            return LinearProgram(
                np.ones(2500), np.ones(2500), np.full(2500, 9.0), np.ones((1, 2500)), [0], [INF]
            )
    raise KeyError(case)


def model(case: str | LinearProgram, kind: str, *, maximise: bool = False) -> Any:
    """The same model in a modelling language, perhaps maximising minus its objective."""
    arrays = program(case) if isinstance(case, str) else case
    if kind == "array":
        return arrays
    matrix = arrays.matrix.toarray()
    columns = range(len(arrays.cost))
    whole = [False] * len(columns) if arrays.integer is None else arrays.integer.tolist()
    sign = -1 if maximise else 1
    if kind == "pyomo":
        import pyomo.environ as pyo

        made = pyo.ConcreteModel()
        made.x = pyo.Var(
            columns,
            domain=lambda _, j: pyo.Integers if whole[j] else pyo.Reals,
            bounds=lambda _, j: (_finite(arrays.lower[j]), _finite(arrays.upper[j])),
        )
        sides = zip(arrays.row_lower.tolist(), arrays.row_upper.tolist(), strict=True)
        bound = {i: side for i, side in enumerate(sides) if side != (-INF, INF)}
        made.eq_1 = pyo.Constraint(
            list(bound),
            rule=lambda m, i: (
                _finite(bound[i][0]),
                sum(float(matrix[i, j]) * m.x[j] for j in columns),
                _finite(bound[i][1]),
            ),
        )
        worth = sum(float(arrays.cost[j]) * made.x[j] for j in columns) + arrays.offset
        sense = pyo.maximize if maximise else pyo.minimize
        made.objective = pyo.Objective(expr=sign * worth, sense=sense)
        return made
    if kind == "cp-sat":
        from ortools.sat.python import cp_model

        made = cp_model.CpModel()
        x = [made.new_int_var(int(arrays.lower[j]), int(arrays.upper[j]), f"x{j}") for j in columns]
        for i, row in enumerate(matrix.astype(int).tolist()):
            body = sum(a * v for a, v in zip(row, x, strict=True) if a)
            if arrays.row_lower[i] > -INF:
                made.add(body >= int(arrays.row_lower[i]))
            if arrays.row_upper[i] < INF:
                made.add(body <= int(arrays.row_upper[i]))
        worth = sum(int(c) * v for c, v in zip(arrays.cost, x, strict=True)) + int(arrays.offset)
        (made.maximize if maximise else made.minimize)(sign * worth)
        return made
    import cvxpy

    x = cvxpy.Variable(len(columns))
    low, high = arrays.row_lower, arrays.row_upper
    rows = [matrix[i] @ x <= high[i] for i in range(len(matrix)) if high[i] < INF]
    rows += [matrix[i] @ x >= low[i] for i in range(len(matrix)) if low[i] > -INF]
    rows += [x[j] >= arrays.lower[j] for j in columns if arrays.lower[j] > -INF]
    rows += [x[j] <= arrays.upper[j] for j in columns if arrays.upper[j] < INF]
    worth = arrays.cost @ x + arrays.offset
    goal = cvxpy.Maximize(-worth) if maximise else cvxpy.Minimize(worth)
    return cvxpy.Problem(goal, rows)


def random_optima(
    send: Any, engine: str, kind: str, seeds: range
) -> list[tuple[str, float | None]]:
    """Return status and objective of each random program."""
    found = []
    for seed in seeds:
        result = solve(model(random_program(seed), kind), engine, clock=Clock(30))
        found.append((result.status, result.objective))
    return found


def values_of(made: Any, result: EngineResult) -> list[float] | None:
    """Return the solution by column, from the result or out of the model."""
    if result.values is not None:
        return [float(value) for value in result.values]
    if hasattr(made, "eq_1"):
        return [made.x[j].value for j in made.x]
    if hasattr(made, "variables"):
        value = made.variables()[0].value
        return None if value is None else value.tolist()
    return None


def run(
    send: Any,
    engine: str,
    kind: str,
    case: str,
    limit: float,
    maximise: bool = False,
    **options: Any,
) -> tuple[EngineResult, list[float] | None]:
    """Solve one model; bounds and incumbents are sent."""
    made = model(case, kind, maximise=maximise)
    result = solve(
        made,
        engine,
        clock=Clock(limit),
        on_incumbent=lambda objective, _: send(("incumbent", objective)),
        on_bound=lambda bound: send(("bound", bound)),
        **options,
    )
    return replace(result, values=None), values_of(made, result)


def again(send: Any, engine: str, kind: str, limits: list[float]) -> list[EngineResult]:
    """Solve the same model several times in one process, with one thread and with two."""
    return [
        replace(solve(model("mip", kind), engine, clock=Clock(limit), threads=threads), values=None)
        for limit in limits
        for threads in (1, 2)
    ]


def go_wrong(send: Any, engine: str, kind: str, how: str) -> None:
    """Solve, and hang, crash or eat the memory where the engine calls back, inside native code."""

    def wrong(*_: Any) -> None:
        send("in the callback")
        if how == "hang":
            ctypes.PyDLL(None).sleep(60)
        elif how == "crash":
            ctypes.string_at(0)
        hoard = []
        while True:
            hoard.append(bytearray(os.urandom(1)) * (60 << 20))
            time.sleep(0.05)

    made = model("lp" if kind == "cvxpy" else "mip", kind)
    if kind == "cvxpy":  # no callbacks: the error comes from elsewhere
        solve(made, engine, clock=Clock(10))
        wrong()
    solve(made, engine, clock=Clock(10), on_incumbent=wrong)


def cp_sat_extras(send: Any, engine: str) -> dict[str, Any]:
    """What only CP-SAT has: hints, and models without an objective or with a fractional one."""
    from ortools.sat.python import cp_model

    long = model("long", "cp-sat")
    point = [1 if j in (3, 7, 11) else 0 for j in range(90)]
    heard: list[tuple[float, list[int]]] = []
    solve(
        long,
        engine,
        clock=Clock(0.3),
        start=point,
        on_incumbent=lambda objective, values: heard.append((objective, values.tolist())),
    )
    plain = cp_model.CpModel()
    x = plain.new_int_var(0, 5, "x")
    plain.add(x >= 3)
    feasible = solve(plain, engine, clock=Clock(9))
    plain.maximize(0.1 * x + 0.25)
    fractional = solve(plain, engine, clock=Clock(9))
    plain.minimize(x)
    partial = solve(plain, engine, clock=Clock(9), start=[None])
    return {
        "first": heard[0],
        "point": point,
        "hints left in the model": len(long.proto.solution_hint.vars),
        "feasible": (feasible.status, feasible.objective, feasible.values[0] >= 3),
        "fractional": (fractional.status, fractional.objective, fractional.bound),
        "partial": (partial.status, partial.objective),
    }


def clarabel_extras(send: Any, engine: str) -> dict[str, Any]:
    """What only cvxpy has: cones, duals in the order of the constraints, and its refusals."""
    import cvxpy

    x = cvxpy.Variable(2)
    rows = [cvxpy.norm(x) <= 1, x[0] >= 0.6]
    problem = cvxpy.Problem(cvxpy.Maximize(x[1] + 3), rows)
    result = solve(problem, engine, clock=Clock(9))
    said = []
    whole = cvxpy.Variable(integer=True)
    for refused in (
        cvxpy.Problem(cvxpy.Minimize(whole), [whole >= 0.5]),
        cvxpy.Problem(cvxpy.Maximize(cvxpy.norm(x)), [x <= 1]),
    ):
        try:
            solve(refused, engine, clock=Clock(9))
        except UsageError as error:
            said.append(str(error))
    return {
        "objective": result.objective,
        "bound": result.bound,
        "x": x.value.tolist(),
        "duals": [float(dual) for dual in result.duals],
        "refused": said,
    }


def raise_in_callback(send: Any, engine: str, kind: str) -> str:
    """Tell what becomes of an exception in a callback."""

    def wrong(*_: Any) -> None:
        raise KeyError("mine")

    try:
        solve(model("mip", kind), engine, clock=Clock(10), on_incumbent=wrong)
    except KeyError as error:
        return repr(error)
    return "lost"


def then_claim(send: Any, engine: str, kind: str, second: str) -> str:
    """Solve with one engine, then ask for another in the same process."""
    solve(model("mip", kind), engine, clock=Clock(10))
    require_loadable(engine)
    try:
        require_loadable(second)
    except EngineUnavailableError as error:
        return str(error)
    return "admitted"


def _finite(value: float) -> float | None:
    return None if np.isinf(value) else float(value)


def solve_program(send: Any, arrays: LinearProgram, engine: str = "cp-sat") -> EngineResult:
    """Solve arrays."""
    return solve(arrays, engine, clock=Clock(20))
