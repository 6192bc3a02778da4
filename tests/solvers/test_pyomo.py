"""Tests of `schedgap.solvers.programs.pyomo`, and of what only Gurobi takes."""

import math
import subprocess
import sys
from typing import Any

import pyomo.environ as pyo
import pytest

from schedgap.errors import UsageError
from schedgap.solvers import Clock, solve
from schedgap.solvers.programs.pyomo import InfeasibleModelError, compile_model
from strategies.engines import needs


def _model() -> Any:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["a", "b"], bounds=(0, 10))
    model.y = pyo.Var(domain=pyo.Binary)
    model.spare = pyo.Var(bounds=(2, 5))
    model.eq_1 = pyo.Constraint(expr=(-1, model.x["a"] - model.x["b"] + 3, 4))
    model.eq_2 = pyo.Constraint(["u"], rule=lambda m, _: m.x["b"] >= 2 + 2 * m.y)
    model.cost = pyo.Objective(expr=model.x["a"] + model.x["b"] - model.y + 7)
    return model


def test_rows_keep_their_names_sides_and_order() -> None:
    arrays = compile_model(_model())
    named = arrays.named()
    assert named.row_names == ["eq_1", "eq_2[u]"]
    assert named.column_names == ["x[a]", "x[b]", "y"]
    # a - b + 3 in [-1, 4] is a - b in [-4, 1]; b >= 2 + 2 y is b - 2 y >= 2, or its negative.
    assert (named.row_lower[0], named.row_upper[0]) == (-4, 1)
    assert named.matrix.toarray()[0].tolist() == [1, -1, 0]
    assert named.offset == 7 and named.integer.tolist() == [False, False, True]


LOADED = """
import sys
import pyomo.environ as pyo
from schedgap.solvers.programs.pyomo import compile_model
model = pyo.ConcreteModel()
model.x = pyo.Var(bounds=(0, 10))
model.row = pyo.Constraint(expr=2 * model.x >= 3)
model.cost = pyo.Objective(expr=model.x)
print(compile_model(model).named().matrix.toarray().tolist())
unwanted = ["scipy.stats", "numpy.f2py"]
print([name for name in unwanted if name in sys.modules])
import numpy as np
names = {}
exec("from numpy import *", names)
print({"f2py", "testing"} <= {*dir(np)} & {*names}, np.testing.assert_equal(1, 1))
from scipy import sparse, stats
print(stats.wilcoxon([1.0, 2.0, -4.0]).pvalue, sparse.eye_array(2).toarray().tolist())
"""


def test_a_new_process_loads_little_of_scipy_and_numpy_and_the_rest_when_it_is_used() -> None:
    command = [sys.executable, "-c", LOADED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[[2.0]]", "[]", "True None", "1.0 [[1.0, 0.0], [0.0, 1.0]]"
    ]  # fmt: skip


def test_scipy_may_be_loaded_before_pyomo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyomo.common.dependencies.scipy_available", True)  # as Pyomo has it then
    assert compile_model(_model()).named().row_names == ["eq_1", "eq_2[u]"]


def test_the_model_holds_the_solution_and_is_otherwise_untouched() -> None:
    # y = 0: b = 2, a = 0: 9. y = 1: b = 4, a = 0, 11 - 1 = 10. The least is 9.
    model = _model()
    before = {v.name: v.bounds for v in model.component_data_objects(pyo.Var)}
    assert solve(model, "highs", clock=Clock(9)).objective == 9
    assert (model.x["a"].value, model.x["b"].value, model.y.value) == (0, 2, 0)
    assert model.spare.value == 2  # in no row: the value nearest to 0
    assert pyo.value(model.cost) == 9
    assert {v.name: v.bounds for v in model.component_data_objects(pyo.Var)} == before


def test_fixed_variables_are_numbers() -> None:
    model = _model()
    model.y.fix(1)
    assert solve(model, "highs", clock=Clock(9)).objective == 10
    model.x["b"].fix(1)  # b >= 4
    assert solve(model, "highs", clock=Clock(9)).status == "infeasible"


def test_a_row_of_numbers_that_does_not_hold_is_infeasible() -> None:
    model = _model()
    model.limit = pyo.Param(initialize=3, mutable=True)
    model.eq_3 = pyo.Constraint(expr=(0, model.limit, 2))
    with pytest.raises(InfeasibleModelError, match="eq_3"):
        compile_model(model)
    assert solve(model, "highs", clock=Clock(9)).status == "infeasible"
    model.limit = 1
    assert solve(model, "highs", clock=Clock(9)).objective == 9


def test_deactivated_parts_do_not_count() -> None:
    model = _model()
    model.eq_2.deactivate()
    assert solve(model, "highs", clock=Clock(9)).objective == 6  # a = b = 0, y = 1
    model.cost.deactivate()
    assert solve(model, "highs", clock=Clock(9)).objective == 0  # any point
    model.cost.activate()
    model.second = pyo.Objective(expr=model.y)
    with pytest.raises(UsageError, match="2 active objectives"):
        compile_model(model)


def test_a_start_is_taken_from_the_values() -> None:
    model = _model()
    assert compile_model(model).start().tolist() == pytest.approx([math.nan] * 3, nan_ok=True)
    model.x["a"], model.x["b"], model.y = 1.0, 5.0, 1
    assert compile_model(model).start().tolist() == [1, 5, 1]
    assert solve(model, "highs", clock=Clock(9), start=True).objective == 9


def test_the_model_holds_each_incumbent_when_it_is_announced() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(12), domain=pyo.Binary)
    weight = [3 + (7 * j) % 11 for j in range(12)]
    model.room = pyo.Constraint(expr=sum(weight[j] * model.x[j] for j in range(12)) <= 31)
    model.worth = pyo.Objective(
        expr=sum((weight[j] + j % 3) * model.x[j] for j in range(12)), sense=pyo.maximize
    )
    seen: list[tuple[float, float]] = []
    result = solve(
        model,
        "highs",
        clock=Clock(9),
        on_incumbent=lambda objective, _: seen.append((objective, pyo.value(model.worth))),
    )
    assert seen and all(said == held for said, held in seen)
    assert seen[-1][0] == result.objective


def test_rows_beyond_an_engine_are_named() -> None:
    model = _model()
    model.eq_9 = pyo.Constraint(expr=model.x["a"] ** 2 <= model.x["b"])
    with pytest.raises(UsageError, match=r"only linear rows.*eq_9"):
        solve(model, "highs", clock=Clock(9))
    model.eq_8 = pyo.Constraint(expr=model.x["a"] ** 3 <= 1)
    with pytest.raises(UsageError, match="degree two: not eq_8"):
        compile_model(model, quadratic=True)
    assert model.eq_9.active and model.eq_8.active


@pytest.fixture
def _gurobi() -> None:
    needs("gurobi")


@pytest.mark.usefixtures("_gurobi")
def test_gurobi_takes_convex_quadratic_rows() -> None:
    # max x + 2 y on the unit disc is sqrt 5, at (1, 2) / sqrt 5; z is in a quadratic row alone.
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(-2, 2)), pyo.Var(bounds=(-2, 2))
    model.z = pyo.Var(bounds=(0, 9))
    model.eq_9 = pyo.Constraint(expr=model.x**2 + model.y**2 + 1 <= 2)
    model.eq_10 = pyo.Constraint(expr=model.z**2 + 2 * model.z + 1 <= 4)
    model.worth = pyo.Objective(expr=model.x + 2 * model.y, sense=pyo.maximize)
    result = solve(model, "gurobi", clock=Clock(9))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(math.sqrt(5), abs=1e-5)
    assert result.bound == pytest.approx(math.sqrt(5), abs=1e-5)
    assert model.x.value == pytest.approx(1 / math.sqrt(5), abs=1e-3)


@pytest.mark.usefixtures("_gurobi")
@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_gurobi_takes_a_quadratic_objective_of_integers(sense: int) -> None:
    # (y - 1.4)^2 + 3 over the integers: y = 1 gives 3.16, y = 2 gives 3.36.
    model = pyo.ConcreteModel()
    model.y = pyo.Var(bounds=(-5, 5), domain=pyo.Integers)
    model.cost = pyo.Objective(expr=sense * ((model.y - 1.4) ** 2 + 3), sense=sense)
    result = solve(model, "gurobi", clock=Clock(9))
    assert result.status == "optimal" and model.y.value == 1
    assert result.objective == pytest.approx(3.16 * sense)
    assert pyo.value(model.cost) == pytest.approx(3.16 * sense)
