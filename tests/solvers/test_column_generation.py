"""Column generation on generalised assignment, against all columns."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from schedgap.solvers import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.engines.solve import solve
from schedgap.solvers.loops.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.programs.arrays import LinearProgram


class Assignment:
    """Each job once, on one machine; a column is a set of jobs that one machine can hold.

    Rows: jobs (= 1), then machines (<= 1). `artificial` columns of cost 1000 make it feasible.
    """

    def __init__(self, seed: int, jobs: int = 7, machines: int = 3) -> None:
        random = np.random.default_rng(seed)
        self.jobs, self.machines = jobs, machines
        self.cost = random.integers(5, 30, (machines, jobs))
        self.size = random.integers(2, 9, (machines, jobs))
        self.room = np.maximum(self.size.max(1), (self.size.sum(1) * 0.5).astype(int))
        self.asked: list[Any] = []

    def patterns(self, m: int) -> list[tuple[int, ...]]:
        sets = [s for k in range(self.jobs + 1) for s in combinations(range(self.jobs), k)]
        return [s for s in sets if self.size[m, list(s)].sum() <= self.room[m]]

    def column(self, m: int, jobs: tuple[int, ...]) -> tuple[float, np.ndarray[Any, Any]]:
        entries = np.zeros(self.jobs + self.machines)
        entries[list(jobs)] = 1
        entries[self.jobs + m] = 1
        return float(self.cost[m, list(jobs)].sum()), entries

    def master(self, columns: list[tuple[float, np.ndarray[Any, Any]]]) -> LinearProgram:
        artificial = [(1000.0, np.eye(self.jobs + self.machines)[j]) for j in range(self.jobs)]
        both = artificial + columns
        rows_high = np.ones(self.jobs + self.machines)
        rows_low = np.where(np.arange(len(rows_high)) < self.jobs, 1.0, -np.inf)
        return LinearProgram(
            [cost for cost, _ in both],
            np.zeros(len(both)),
            np.full(len(both), np.inf),
            np.array([entries for _, entries in both]).T,
            rows_low,
            rows_high,
        )

    def price(self, prices: np.ndarray[Any, Any]) -> Priced:
        """The best pattern of each machine; the bound leaves the machines' own prices out."""
        self.asked.append(prices.copy())
        best, bound = [], float(prices[: self.jobs].sum())
        for m in range(self.machines):
            value = {
                s: (self.cost[m] - prices[: self.jobs])[list(s)].sum() for s in self.patterns(m)
            }
            least = min(value, key=lambda s: (value[s], s))
            bound += min(0.0, value[least])
            best.append((m, least))
        made = [self.column(m, s) for m, s in best]
        matrix = np.array([entries for _, entries in made]).T
        return Priced(Columns([cost for cost, _ in made], matrix, best), bound)


@pytest.mark.parametrize("smoothing", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_the_loop_closes_at_the_value_over_all_columns(seed: int, smoothing: float) -> None:
    problem = Assignment(seed)
    everything = [problem.column(m, s) for m in range(3) for s in problem.patterns(m)]
    full = solve(problem.master(everything), "highs", clock=Clock(20))
    bounds: list[float] = []
    result = generate_columns(
        problem.master([]),
        problem.price,
        clock=Clock(20),
        smoothing=smoothing,
        on_bound=bounds.append,
    )
    assert result.end == "closed" and full.objective is not None
    assert result.objective == pytest.approx(full.objective, abs=1e-6)
    assert result.bound == pytest.approx(full.objective, abs=1e-4)
    assert bounds == sorted(bounds) and bounds[-1] == result.bound
    assert all(bound <= full.objective + 1e-6 for bound in bounds)


def test_the_prices_are_a_certificate_of_the_bound_and_tags_tell_the_columns() -> None:
    problem = Assignment(7)
    result = generate_columns(problem.master([]), problem.price, clock=Clock(20), rounds=4)
    assert result.end == "stopped" and result.rounds == 4 and result.prices is not None
    assert problem.price(result.prices).bound == result.bound
    assert result.values is not None and result.objective is not None
    assert len(result.values) == problem.jobs + len(result.tags)
    worth = 1000 * result.values[: problem.jobs].sum()
    worth += sum(
        problem.column(*tag)[0] * value
        for tag, value in zip(result.tags, result.values[problem.jobs :], strict=True)
    )
    assert worth == pytest.approx(result.objective)
    assert result.bound is not None and result.bound <= result.objective


def test_a_basis_starts_the_master_where_another_one_ended() -> None:
    problem = Assignment(7)
    first = generate_columns(problem.master([]), problem.price, clock=Clock(20))
    again = Relaxation(problem.master([problem.column(*tag) for tag in first.tags]))
    again.basis = first.basis
    assert again.trial(Clock(20), iterations=0) == pytest.approx(first.objective)


def test_a_pricing_that_runs_out_of_time_ends_the_loop_with_what_it_had() -> None:
    problem = Assignment(1)

    def twice(prices: np.ndarray[Any, Any]) -> Priced | None:
        return None if len(problem.asked) == 2 else problem.price(prices)

    result = generate_columns(problem.master([]), twice, clock=Clock(20))
    assert result.end == "stopped" and result.objective is not None
    assert result.prices is not None and result.bound == problem.price(result.prices).bound


def test_no_time_and_no_columns_have_their_own_ends() -> None:
    problem = Assignment(1)
    nothing = generate_columns(problem.master([]), problem.price, clock=Clock(0))
    assert (nothing.end, nothing.bound, nothing.objective) == ("stopped", None, None)
    assert problem.asked == []
    impossible = LinearProgram([1], [0], [1], [[1]], [2], [np.inf])
    result = generate_columns(impossible, lambda prices: Priced(None, -np.inf), clock=Clock(5))
    assert (result.end, result.bound) == ("infeasible", None)
    lonely = LinearProgram([3], [0], [9], [[1]], [2], [np.inf])
    result = generate_columns(lonely, lambda prices: Priced(None, -np.inf), clock=Clock(5))
    assert (result.end, result.objective, result.bound) == ("closed", 6.0, None)
