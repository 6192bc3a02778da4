"""Exported programs: HiGHS reads back what is written, with the same optimum."""

import math
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schedgap.errors import UsageError
from schedgap.solvers import Clock, solve
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.export import write_model


def _read(file: Path) -> Any:
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.setOptionValue("mip_rel_gap", 0.0)
    engine.setOptionValue("presolve", "off")  # in HiGHS 1.15.1, it loses optima of such programs
    assert engine.readModel(str(file)) == highspy.HighsStatus.kOk
    engine.run()
    return engine


def _knapsack(sense: int) -> pyo.ConcreteModel:
    """Values 10, 13, 7, 8 and weights 3, 4, 2, 3 for capacity 7; plus 5, plus an integer z <= -1.5.

    Items 1 and 2 fill the sack: 23. z = -2. The optimum is 23 + 5 - 2 = 26.
    """
    value, weight = {1: 10, 2: 13, 3: 7, 4: 8}, {1: 3, 2: 4, 3: 2, 4: 3}
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(1, 5), ["a"], domain=pyo.Binary)
    model.z = pyo.Var(domain=pyo.Integers, bounds=(None, -1.5))
    model.eq_5 = pyo.Constraint(expr=(0, sum(weight[i] * model.x[i, "a"] for i in weight), 7))
    model.lin_free = pyo.Constraint([1, 2], rule=lambda m, i: m.z <= 3 - m.x[i, "a"])
    worth = sum(value[i] * model.x[i, "a"] for i in value) + 5 + model.z
    model.objective = pyo.Objective(expr=sense * -1 * worth, sense=sense)
    return model


@pytest.mark.parametrize("suffix", ["lp", "mps"])
@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_a_model_is_read_back_with_its_names_and_optimum(
    tmp_path: Path, suffix: str, sense: int
) -> None:
    file = tmp_path / f"model.{suffix}"
    write_model(_knapsack(sense), file)
    engine = _read(file)
    assert engine.getInfo().objective_function_value == pytest.approx(-26 * sense)
    rows = engine.getLp().row_names_
    assert [name for name in rows if name.startswith("lin_")] == ["lin_free(1)", "lin_free(2)"]
    assert {name.removesuffix(".low").removesuffix(".high") for name in rows} == {
        "eq_5",
        "lin_free(1)",
        "lin_free(2)",
    }
    assert "x(1,a)" in engine.getLp().col_names_


def test_a_quadratic_row_is_written_in_lp_and_refused_in_mps(tmp_path: Path) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.y = pyo.Var(bounds=(0, 1))
    model.eq_9 = pyo.Constraint(expr=model.x**2 + 2 * model.x * model.y + model.y <= 1)
    model.objective = pyo.Objective(expr=model.x)
    write_model(model, tmp_path / "m.lp")
    text = " ".join((tmp_path / "m.lp").read_text().split())
    assert "eq_9: + 1 y + [ + 1 x ^ 2 + 2 x * y ] <= 1" in text
    with pytest.raises(UsageError, match=r"\.lp only"):
        write_model(model, tmp_path / "m.mps")
    with pytest.raises(UsageError, match=r"end in \.lp or \.mps"):
        write_model(model, tmp_path / "m.txt")


def test_names_that_clash_after_cleaning_stay_different(tmp_path: Path) -> None:
    program = LinearProgram(
        [1, 1, 1], [1, 2, 3], [9, 9, 9], [[1, 1, 1]], [0], [math.inf],
        column_names=["a b", "a_b", "3rd"], row_names=["größe"],
    )  # fmt: skip
    write_model(program, tmp_path / "m.lp")
    engine = _read(tmp_path / "m.lp")
    assert list(engine.getLp().col_names_) == ["a_b", "a_b_2", "_3rd"]
    assert list(engine.getLp().row_names_) == ["gr__e"]
    assert engine.getInfo().objective_function_value == 6


@given(
    seed=st.integers(0, 10**6),
    suffix=st.sampled_from(["lp", "mps"]),
    offset=st.sampled_from([0.0, 2.5]),
)
@settings(max_examples=15, deadline=None)
@example(seed=613951, suffix="lp", offset=0.0)  # HiGHS errs on a fractional bound in a file
@example(seed=26667, suffix="lp", offset=0.0)  # -6.125; with presolve it says -5.5
def test_random_programs_survive(
    tmp_path_factory: pytest.TempPathFactory, seed: int, suffix: str, offset: float
) -> None:
    random = np.random.default_rng(seed)
    rows, columns = 3, 4
    matrix = random.integers(-3, 4, (rows, columns))
    inside = matrix @ random.integers(0, 3, columns)  # so that a point exists
    low = np.where(random.random(rows) < 0.4, -math.inf, inside - random.integers(0, 3, rows))
    high = np.where(random.random(rows) < 0.4, math.inf, inside + random.integers(0, 3, rows))
    program = LinearProgram(
        random.integers(-5, 6, columns) / 4,
        [0, 0, -1, 0],
        [2, 3, 2.5, 2],
        matrix,
        low,
        high,
        integer=random.random(columns) < 0.5,
        offset=offset,
    )
    file = tmp_path_factory.mktemp("export") / f"m.{suffix}"
    write_model(program, file)
    expected = solve(program, "highs", clock=Clock(10))
    assert expected.status == "optimal"
    read = _read(file).getInfo().objective_function_value
    assert read == pytest.approx(expected.objective, abs=1e-6)
