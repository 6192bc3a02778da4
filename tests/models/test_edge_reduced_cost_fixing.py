"""Reduced-cost fixing keeps all starts of better schedules; the time-indexed program over them."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.reduced_cost_fixing import (
    RemainingStarts,
    last_slot,
    remaining_starts,
)
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.exact.tightening import tighten
from schedgap.models.edge.placements import runs_from_schedule, schedule_from_runs
from schedgap.models.edge.programs import time_indexed
from schedgap.models.edge.programs.dual import CapacityPrices, rounded
from schedgap.models.edge.rules import check, objective
from schedgap.models.method import Budget
from schedgap.solvers import Clock, solve
from schedgap.solvers.engines.highs import Relaxation
from strategies.edge import best_schedule, brute_force, edge_instances, instance_of, some_shapes
from strategies.edge_examples import TOY_A, TOY_BATCH

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def random_prices(instance: EdgeInstance, slots: int, data: st.DataObject) -> CapacityPrices:
    view = compiled(instance)
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6), label="prices"))
    scale = data.draw(st.sampled_from([0.02, 0.2, 1.0]), label="scale")

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        cells = rng.exponential(scale, (*shape, slots))
        return rounded(cells * (rng.random(cells.shape) < 0.4))

    cut_prices = {
        shape: draw(view.workers.shape) for shape in some_shapes(int(view.workers.max()), rng)
    }
    return CapacityPrices(draw(view.workers.shape), draw(view.ps.shape), cut_prices)


@settings(max_examples=60, **QUIET)
@given(edge_instances(), st.integers(1, 3), st.data())
def test_at_any_prices_better_schedules_survive(
    instance: EdgeInstance, more: int, data: st.DataObject
) -> None:
    optimum, schedule = best_schedule(instance)
    if schedule is None:
        return
    view, upper = compiled(instance), int(optimum) + more
    last = last_slot(view, upper)
    kept = remaining_starts(view, [random_prices(instance, last - view.first + 1, data)], upper)
    mode_starts = {run.mode_start for run in runs_from_schedule(instance, schedule)}
    assert mode_starts <= set(kept.mode_starts) and max(g.end for g in mode_starts) <= last
    assert kept.bound <= optimum and not kept.is_empty


@settings(max_examples=30, **QUIET)
@given(edge_instances(horizon=(5, 9)), st.data())
def test_no_group_is_left_below_the_bound(instance: EdgeInstance, data: st.DataObject) -> None:
    view = compiled(instance)
    prices = random_prices(instance, view.slots, data)
    bound = remaining_starts(view, [prices], 10**6).bound
    assert remaining_starts(view, [prices], math.ceil(min(bound, 1e6))).is_empty
    if math.isfinite(bound):
        kept = remaining_starts(view, [prices], math.ceil(bound) + 1)
        assert kept.bound >= bound and kept.slack == math.ceil(bound) - kept.bound >= 0


@pytest.mark.parametrize(("instance", "optimum"), [(TOY_A, 5), (TOY_BATCH, 3)])
def test_the_arrays_solve_the_examples(instance: EdgeInstance, optimum: int) -> None:
    found = time_indexed.build(instance)
    result = solve(found.program, "highs", clock=Clock(60), grid=1)
    data = schedule_from_runs(instance, found.runs(result.values)).to_data(instance)
    assert list(check(instance, data, {})) == []
    assert objective(instance, data) == optimum


def test_shapes_cut_the_relaxation() -> None:
    """A server of four, jobs of three workers for one slot each: one at a time, not four thirds."""
    servers = [{"id": "s", "kind": "edge", "workers": {"gpu": 4}, "parameter_servers": {"cpu": 3}}]
    job = {"chunks": 3, "transfer_delay": {"s": 0}}
    instance = instance_of([job] * 3, servers=servers, horizon=3)
    view = compiled(instance)
    mode_starts = [g for g in view.mode_starts() if g.mode.colocated and g.mode.workers == 3]
    kept = RemainingStarts(tuple(mode_starts), 0.0, 9.0)
    plain = time_indexed.build(instance, mode_starts, symmetry=False).program
    found = tighten(None, instance, kept, 3, budget=Budget(Clock(60)))
    assert found.trace["relaxation"] == pytest.approx(4 / 3 * 0 + 4 / 3 * 1 + 1 / 3 * 2)
    assert found.trace["cut"] == pytest.approx(0 + 1 + 2)
    assert sum(price.sum() for price in found.value.cut_prices.values()) > 0
    cut = time_indexed.build(
        instance, mode_starts, symmetry=False, cut_prices=found.value.cut_prices
    ).program
    assert Relaxation(plain).solve(Clock(9)).objective == pytest.approx(2)
    assert Relaxation(cut).solve(Clock(9)).objective == pytest.approx(3)


@settings(max_examples=25, **QUIET)
@given(edge_instances(placeable=True, horizon=(5, 9)))
def test_prices_with_shapes_are_no_weaker(instance: EdgeInstance) -> None:
    optimum, schedule = best_schedule(instance)
    if schedule is None:
        return
    view = compiled(instance)
    kept = remaining_starts(view, [zero_prices(instance)], int(optimum) + 3)
    report = tighten(None, instance, kept, view.slots, budget=Budget(Clock(60)))
    cut = remaining_starts(view, [zero_prices(instance), report.value], int(optimum) + 1)
    assert cut.bound <= optimum and not cut.is_empty
    assert {run.mode_start for run in runs_from_schedule(instance, schedule)} <= set(
        cut.mode_starts
    )


@settings(max_examples=25, **QUIET)
@given(edge_instances(horizon=(4, 7), batch=None))
def test_counted_or_not_it_is_one_program(instance: EdgeInstance) -> None:
    """One column for each number of workers: the same relaxation, and the same optimum."""
    view = compiled(instance)
    mode_starts = list(view.mode_starts())
    if not mode_starts or {mode_start.job for mode_start in mode_starts} != {
        task.job for task in view.tasks
    }:
        return
    plain, counted = (
        time_indexed.build(instance, mode_starts, cut_prices=cut_prices)
        for cut_prices in (None, {})
    )
    first, second = (Relaxation(each.program).solve(Clock(60)) for each in (plain, counted))
    assert (first.objective is None) == (second.objective is None)
    if first.objective is not None:
        assert first.objective == pytest.approx(second.objective, abs=1e-6)
    result = solve(counted.program, "highs", clock=Clock(60), grid=1)
    optimum = brute_force(instance)
    if optimum == math.inf:
        assert result.status == "infeasible"
        return
    data = schedule_from_runs(instance, counted.runs(result.values)).to_data(instance)
    assert list(check(instance, data, {})) == [] and objective(instance, data) == optimum


def zero_prices(instance: EdgeInstance) -> CapacityPrices:
    view = compiled(instance)
    cut_prices = [(*array.shape, view.slots) for array in (view.workers, view.ps)]
    return CapacityPrices(np.zeros(cut_prices[0]), np.zeros(cut_prices[1]))


def test_a_target_below_the_optimum_cannot_be_met() -> None:
    found = time_indexed.build(TOY_A, upper=4)
    assert solve(found.program, "highs", clock=Clock(60), grid=1).status == "infeasible"
