"""Tests of `schedgap.solvers.engines.highs`: what it does beyond the contract of all engines."""

import math
import time
from typing import Any

import numpy as np
import pytest
from engine_tasks import program as example
from scipy import sparse

from schedgap.errors import ScaleError
from schedgap.solvers import Clock, solve
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import LinearProgram, safe_bound

INF = math.inf


def _random(seed: int, rows: int = 12, columns: int = 15) -> LinearProgram:
    random = np.random.default_rng(seed)
    matrix = random.random((rows, columns)) * (random.random((rows, columns)) < 0.5)
    return LinearProgram(
        -random.random(columns),
        np.zeros(columns),
        np.full(columns, 5.0),
        matrix,
        np.full(rows, -INF),
        matrix.sum(1),
        offset=2.0,
    )


def _value(program: LinearProgram) -> float:
    result = solve(program, "highs", clock=Clock(20))
    assert result.status == "optimal" and result.objective is not None
    return result.objective


@pytest.mark.parametrize("seed", range(3))
def test_a_relaxation_that_grows_is_worth_what_a_fresh_one_is(seed: int) -> None:
    random = np.random.default_rng(seed)
    kept = Relaxation(_random(seed))
    assert kept.solve(Clock(9)).objective == pytest.approx(_value(_random(seed)))
    kept.add_rows([-INF, 1.0], [2.0, INF], sparse.csr_array(random.random((2, 15))))
    kept.add_columns([-0.5], [0], [INF], sparse.csc_array(random.random((14, 1)) + 0.1))
    kept.change_bounds([0, 15], [0.25, 0.0], [0.25, 3.0])
    kept.change_costs([2], [-2.0])
    kept.change_row_bounds([3], [-INF], [1.5])
    result = kept.solve(Clock(9))
    assert result.objective == pytest.approx(_value(kept.program))
    assert kept.program.matrix.shape == (14, 16) and kept.program.offset == 2.0
    assert safe_bound(kept.program, result.duals) == pytest.approx(result.objective)
    assert result.values is not None and result.values[0] == 0.25


def test_the_clock_counts_per_solve_and_a_stop_leaves_no_trace() -> None:
    kept = Relaxation(_random(5, 900, 900))
    assert kept.solve(Clock(0.05)).status in ("unknown", "feasible")
    assert kept.solve(Clock(0.05)).bound is None
    begin = time.monotonic()
    assert kept.solve(Clock(60)).status == "optimal"
    spent = time.monotonic() - begin  # HiGHS' own clock is past this now
    assert kept.solve(Clock(spent)).status == "optimal"


def test_new_parts_must_fit() -> None:
    kept = Relaxation(_random(0))
    with pytest.raises(ValueError, match="14 columns given, 15 needed"):
        kept.add_rows([0], [1], np.ones((1, 14)))
    with pytest.raises(ValueError, match="11 rows given, 12 needed"):
        kept.add_columns([1], [0], [1], np.ones((11, 1)))


@pytest.mark.parametrize("algorithm", ["choose", "simplex", "ipm"])
@pytest.mark.parametrize("crossover", ["on", "off"])
def test_every_algorithm_finds_one_value(algorithm: str, crossover: str) -> None:
    options = {"solver": algorithm, "run_crossover": crossover}
    result = solve(_random(4), "highs", clock=Clock(9), options=options)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(_value(_random(4)), rel=1e-6)
    assert safe_bound(_random(4), result.duals) == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("given", [90, 45])
def test_a_start_is_the_first_incumbent(given: int) -> None:
    # A point of the first search is handed to the second, whole or in part: HiGHS completes it.
    program = example("long")
    point = solve(program, "highs", clock=Clock(0.5)).values
    start = np.where(np.arange(90) < given, point, np.nan)
    heard: list[Any] = []
    solve(
        program, "highs", clock=Clock(0.5), start=start, on_incumbent=lambda _, v: heard.append(v)
    )
    assert (heard[0][:given] == point[:given]).all()


def test_a_program_that_highs_refuses_is_said_to_be_out_of_scale() -> None:
    with pytest.raises(ScaleError, match="too large or differ too much"):
        solve(LinearProgram([1], [0], [1], [[1e20]], [0], [1]), "highs", clock=Clock(5))
