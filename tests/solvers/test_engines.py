"""Engines with other kinds of models, and what the contract of engines leaves out."""

import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_tasks import OWN, program
from scipy import sparse

from schedgap.errors import EngineLicenceError, UsageError
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.children.processes import ChildResult, run_child
from schedgap.solvers.engines.contract import enumerated, random_program
from schedgap.solvers.engines.results import derive_status
from schedgap.solvers.programs.arrays import LinearProgram
from strategies.engines import needs

LINEAR, MIXED = [("clarabel", "cvxpy")], [("cp-sat", "cp-sat")]
ARRAYS = [(engine, "array") for engine in ("highs", "gurobi", "scip", "cp-sat")]


def _child(task: str, engine: str, *args: Any, **kwargs: Any) -> ChildResult:
    needs(engine)
    return run_child(f"engine_tasks:{task}", engine, *args, engine=engine, **kwargs)


def _solve(
    engine: str, kind: str, case: str, limit: float = 20, **options: Any
) -> tuple[EngineResult, list[float] | None]:
    result: tuple[EngineResult, list[float] | None]
    result = _child("run", engine, kind, case, limit, **options).result()
    return result


@pytest.mark.parametrize("maximise", [False, True])
@pytest.mark.parametrize(("engine", "kind"), LINEAR)
def test_a_linear_program(engine: str, kind: str, maximise: bool) -> None:
    # min 1 - 3 x - 2 y, x + y <= 4, x + 3 y <= 6, x <= 3: at (3, 1), 1 - 9 - 2 = -10.
    sign = -1 if maximise and kind != "array" else 1
    result, values = _solve(engine, kind, "lp", maximise=maximise)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(-10 * sign, abs=1e-5)
    assert result.bound == pytest.approx(-10 * sign, abs=1e-5)
    assert values == pytest.approx([3, 1], abs=1e-5)


@pytest.mark.parametrize("maximise", [False, True])
@pytest.mark.parametrize(("engine", "kind"), MIXED)
def test_a_mixed_integer_program(engine: str, kind: str, maximise: bool) -> None:
    # Knapsack 7: items 1 and 2 (weights 3 + 4) are worth 23, every other pair or triple less.
    sign = -1 if maximise and kind != "array" else 1
    heard: list[tuple[str, float]] = []
    result, values = _solve(engine, kind, "mip", maximise=maximise, on_message=heard.append)
    assert result.status == "optimal" and result.duals is None
    assert result.objective == -22 * sign == result.bound
    assert values == [1, 1, 0, 0]
    assert [content for word, content in heard if word == "incumbent"][-1] == -22 * sign
    for word, content in heard:
        assert (content - -22 * sign) * sign >= -1e-6 if word == "incumbent" else True
        assert (-22 * sign - content) * sign >= -1e-6 if word == "bound" else True


@pytest.mark.parametrize(("engine", "kind"), OWN)
def test_an_infeasible_program(engine: str, kind: str) -> None:
    cases = ["infeasible"] if kind == "cp-sat" else ["infeasible-lp"]
    for case in cases:
        result, _ = _solve(engine, kind, case)
        assert (result.status, result.objective, result.bound) == ("infeasible", None, None)


@pytest.mark.parametrize(("engine", "kind"), LINEAR)
def test_an_unbounded_program(engine: str, kind: str) -> None:
    for case in ("unbounded", "unbounded-mip") if kind != "cvxpy" else ("unbounded",):
        result, _ = _solve(engine, kind, case)
        assert (result.status, result.objective, result.bound) == ("unbounded", None, None)


@pytest.mark.parametrize(("engine", "kind"), MIXED)
def test_a_limit_leaves_the_incumbent_and_the_bound(engine: str, kind: str) -> None:
    heard: list[tuple[str, float]] = []
    begin = time.monotonic()
    result, values = _solve(engine, kind, "long", limit=1.0, on_message=heard.append)
    assert time.monotonic() - begin < 6
    assert result.status == "feasible" and values is not None
    assert result.objective is not None and result.bound is not None
    assert result.bound < result.objective < 0
    incumbents = [content for word, content in heard if word == "incumbent"]
    bounds = [content for word, content in heard if word == "bound"]
    assert incumbents[-1] == pytest.approx(result.objective)
    assert bounds and max(bounds) <= result.bound + 1e-6
    arrays = program("long")  # the point is one, and is worth what they say
    assert (arrays.matrix @ np.array(values) <= arrays.row_upper + 1e-6).all()
    assert arrays.cost @ np.array(values) == pytest.approx(result.objective)


@pytest.mark.parametrize(("engine", "kind"), MIXED + ARRAYS)
def test_a_limit_without_an_incumbent_is_unknown(engine: str, kind: str) -> None:
    result, _ = _solve(engine, kind, "barren", limit=0.5)
    assert result.status == "unknown" and result.objective is None
    assert result.bound is None or 0 <= result.bound <= 60


@pytest.mark.parametrize(("engine", "kind"), [*ARRAYS[:3], ("clarabel", "cvxpy")])
def test_a_linear_program_that_is_stopped_has_no_bound(engine: str, kind: str) -> None:
    options = {"max_iter": 2} if engine == "clarabel" else {}
    case = "lp" if engine == "clarabel" else "long-lp"
    result, _ = _solve(engine, kind, case, limit=0.1 if case == "long-lp" else 9, options=options)
    assert result.status in ("unknown", "feasible") and result.bound is None


@pytest.mark.parametrize(("engine", "kind"), OWN)
def test_no_time_means_no_call(engine: str, kind: str) -> None:
    case = "lp" if kind == "cvxpy" else "mip"
    heard: list[Any] = []
    result, _ = _solve(engine, kind, case, limit=0.0, on_message=heard.append)
    assert result == EngineResult("unknown", None, None) and heard == []


@pytest.mark.parametrize(("engine", "kind"), MIXED)
def test_one_process_may_solve_often_and_change_its_threads(engine: str, kind: str) -> None:
    results = _child("again", engine, kind, [10, 10], limit=60).result()
    assert [result.objective for result in results] == [-22] * 4


@pytest.mark.parametrize(("engine", "kind"), OWN)
def test_an_unknown_option_is_an_error(engine: str, kind: str) -> None:
    case = "lp" if kind == "cvxpy" else "mip"
    reply = _child("run", engine, kind, case, 9, options={"mip_rel_gapp": 0.0})
    assert reply.outcome == "error" and "mip_rel_gapp" in str(reply.error)


@pytest.mark.parametrize("kind", ["array", "pyomo"])
def test_a_program_beyond_gurobis_licence_says_what_to_do(kind: str) -> None:
    needs("gurobi", licence="limited licence")
    reply = _child("run", "gurobi", kind, "large", 9)
    assert isinstance(reply.error, EngineLicenceError) and reply.error.exit_code == 5
    assert "licence" in str(reply.error) and "use another engine" in str(reply.error)


@pytest.mark.parametrize(("engine", "kind"), [*OWN, ("highs", "array")])
@pytest.mark.parametrize("how", ["hang", "crash", "hog"])
def test_an_engine_that_goes_wrong_is_contained(engine: str, kind: str, how: str) -> None:
    heard: list[str] = []
    reply = _child(
        "go_wrong", engine, kind, how, limit=0.5 if how == "hang" else 15,
        memory_mb=700 if how == "hog" else None,  # a worker that has served others may hold 400
        on_message=heard.append,
    )  # fmt: skip
    outcomes = {"hang": "timeout", "crash": "crash", "hog": "memory"}
    assert reply.outcome == outcomes[how] and heard == ["in the callback"]
    assert reply.seconds < 10


@pytest.mark.parametrize(("engine", "kind"), MIXED)
def test_an_exception_in_a_callback_comes_out(engine: str, kind: str) -> None:
    assert _child("raise_in_callback", engine, kind).result() == "KeyError('mine')"


@pytest.mark.parametrize(
    ("engine", "kind", "second", "said"),
    [
        ("highs", "array", "cp-sat", "cp-sat cannot be loaded into a process that has loaded high"),
        ("cp-sat", "cp-sat", "highs", "highs cannot be loaded into a process that has loaded ort"),
        ("highs", "array", "gurobi", "admitted"),
    ],
)
def test_engines_that_clash_refuse_to_share_a_process(
    engine: str, kind: str, second: str, said: str
) -> None:
    needs(second)
    assert said in _child("then_claim", engine, kind, second).result()


@pytest.mark.parametrize(
    ("engine", "kind", "seeds"),
    [
        ("cp-sat", "cp-sat", range(25)),
        *(
            pytest.param(*pair, range(1000, 4000), marks=pytest.mark.nightly)
            for pair in MIXED + ARRAYS
        ),
    ],
)
def test_engines_agree_with_enumeration(engine: str, kind: str, seeds: range) -> None:
    found = _child("random_optima", engine, kind, seeds).result()
    for seed, (_, objective) in zip(seeds, found, strict=True):
        assert objective == pytest.approx(enumerated(random_program(seed))), f"seed {seed}"


def test_two_threads_may_solve_with_highs_in_one_process() -> None:
    with ThreadPoolExecutor(2) as pool:
        results = list(
            pool.map(lambda k: solve(random_program(k), "highs", clock=Clock(20)), range(40))
        )
    assert [r.objective for r in results] == [enumerated(random_program(k)) for k in range(40)]


def test_cp_sat_takes_hints_and_any_objective() -> None:
    told = _child("cp_sat_extras", "cp-sat").result()
    objective, values = told["first"]
    assert values == told["point"]
    assert objective == program("long").objective(np.array(values, dtype=float))
    assert told["hints left in the model"] == 0
    assert told["feasible"] == ("optimal", 0.0, True)
    assert told["fractional"] == pytest.approx(("optimal", 0.75, 0.75))
    assert told["partial"] == ("optimal", 3.0)


def test_clarabel_solves_cones_and_gives_duals_in_order() -> None:
    # max y + 3 on the unit disc with x >= 0.6: (0.6, 0.8). Stationarity of
    # y - u (|(x, y)| - 1) + v (x - 0.6): 1 = 0.8 u, 0.6 u = v, so u = 1.25 and v = 0.75.
    told = _child("clarabel_extras", "clarabel").result()
    assert told["objective"] == pytest.approx(3.8, abs=1e-6)
    assert told["bound"] == pytest.approx(3.8, abs=1e-6)
    assert told["x"] == pytest.approx([0.6, 0.8], abs=1e-5)
    assert told["duals"] == pytest.approx([1.25, 0.75], abs=1e-4)
    assert "no integer variables" in told["refused"][0] and "convex" in told["refused"][1]


def test_an_engine_gets_only_what_it_takes() -> None:
    program = LinearProgram([1], [0], [1], [[1]], [0], [1])
    with pytest.raises(UsageError, match="engine cp-sat cannot solve linear programs"):
        solve(program, "cp-sat", clock=Clock(1))
    with pytest.raises(UsageError, match="engine clarabel cannot solve array programs"):
        solve(program, "clarabel", clock=Clock(1))
    with pytest.raises(UsageError, match="no engine 'cplex'"):
        solve(program, "cplex", clock=Clock(1))


def test_highs_keeps_the_optimum_that_a_restart_at_the_root_loses() -> None:
    # A program on which HiGHS 1.15.1 says 96.598 is optimal, with an equal bound, when it may
    # restart; 97.06293412846047 is the optimum (Gurobi and a dynamic program agree).
    data = json.loads((Path(__file__).parent / "data" / "lost_optimum.json").read_text())
    columns, rows = len(data["value"]), len(data["row_lower"])
    ends = np.searchsorted(data["rows"], np.arange(rows + 1))  # keep the order of the entries
    matrix = sparse.csr_array((data["entries"], data["columns"], ends), shape=(rows, columns))
    program = LinearProgram(
        -np.array(data["value"], dtype=float),
        np.zeros(columns),
        data["upper"],
        matrix,
        [-math.inf if value is None else value for value in data["row_lower"]],
        [math.inf if value is None else value for value in data["row_upper"]],
        np.ones(columns, dtype=bool),
    )
    result = solve(program, "highs", clock=Clock(60))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(-97.06293412846047, abs=1e-9)


def test_highs_does_not_believe_a_presolve_that_finds_no_solution() -> None:
    # HiGHS 1.15.1 calls this program infeasible; without presolve it finds the optimum, -2.
    data = json.loads((Path(__file__).parent / "data" / "false_infeasible.json").read_text())
    rows, columns, values = zip(*data["entries"], strict=True)
    program = LinearProgram(
        data["cost"],
        [-math.inf if value is None else value for value in data["lower"]],
        [math.inf if value is None else value for value in data["upper"]],
        sparse.csr_array((values, (rows, columns)), shape=(59, 35)),
        [-math.inf if value is None else value for value in data["row_lower"]],
        [math.inf if value is None else value for value in data["row_upper"]],
        data["integer"],
    )
    result = solve(program, "highs", clock=Clock(60))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(-2)


@pytest.mark.parametrize("engine", ["highs", "gurobi", "scip"])
def test_the_presolved_size_is_what_presolve_leaves(engine: str) -> None:
    """Six rows limit ten columns; five more rows never do, and two columns are fixed."""
    needs(engine)
    random = np.random.default_rng(1)
    matrix = np.vstack([random.integers(1, 60, (6, 12)), np.ones((5, 12))])
    upper, side = np.append(np.ones(10), [0, 0]), np.append(matrix[:6].sum(axis=1) // 3, [99] * 5)
    arrays = LinearProgram(
        -random.integers(1, 60, 12), np.zeros(12), upper, matrix, np.full(11, -math.inf), side,
        np.ones(12, dtype=bool),
    )  # fmt: skip
    known = run_child("engine_tasks:solve_program", arrays, engine, engine=engine).result()
    assert known.status == "optimal"
    assert 0 < known.statistics["presolved_rows"] <= 6
    assert 0 < known.statistics["presolved_columns"] <= 10


@pytest.mark.parametrize(
    ("objective", "bound", "sense", "grid", "expected"),
    [
        (10.0, 10.0, "min", None, ("optimal", 10.0)),
        (10.0, 9.99999, "min", None, ("optimal", 9.99999)),  # 1e-6 relative
        (10.0, 9.9999, "min", None, ("feasible", 9.9999)),
        (10.0, 10.000005, "min", None, ("optimal", 10.0)),  # past by round-off: clipped
        (10.0, 10.1, "min", None, ("feasible", None)),  # a contradiction: told in `info`
        (10.0, 10.1, "max", None, ("feasible", 10.1)),
        (10.0, 9.2, "min", 1.0, ("optimal", 10.0)),  # 9.2 rounds up to 10
        (10.0, 8.7, "min", 1.0, ("feasible", 9.0)),
        (10.0, 9.0000001, "min", 1.0, ("feasible", 9.0)),  # round-off is not a step
        (10.0, 10.8, "max", 1.0, ("optimal", 10.0)),
        (10.5, 10.2, "min", 0.5, ("optimal", 10.5)),
        (10.0, -math.inf, "min", None, ("feasible", None)),
        (10.0, 1e30, "max", None, ("feasible", None)),
        (10.0, math.nan, "min", None, ("feasible", None)),
        (None, 3.0, "min", None, ("unknown", 3.0)),
        (math.inf, 3.0, "min", None, ("unknown", 3.0)),
        (None, None, "max", 1.0, ("unknown", None)),
    ],
)
def test_the_status_follows_from_the_numbers(
    objective: float | None, bound: float | None, sense: Any, grid: float | None, expected: Any
) -> None:
    verdict = derive_status(objective, bound, sense=sense, grid=grid)
    assert (verdict.status, verdict.bound) == expected
    assert ("contradiction" in verdict.info) == (
        objective == 10.0 and bound == 10.1 and sense == "min"
    )
