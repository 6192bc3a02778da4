"""Reduced-cost fixing keeps all starts of better schedules; the time-indexed program over them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.reduced_cost_fixing import (
    PricedStarts,
    fix,
    last_slot,
    remaining_starts,
)
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.placements import runs_from_schedule, schedule_from_runs
from schedgap.models.edge.programs import time_indexed
from schedgap.models.edge.programs.dual import CapacityPrices, rounded
from schedgap.models.edge.rules import check, objective
from schedgap.solvers import Clock, solve
from strategies.edge import best_schedule, brute_force, edge_instances, some_shapes
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
        assert bound <= kept.bound <= math.ceil(bound)


@pytest.mark.parametrize(("instance", "optimum"), [(TOY_A, 5), (TOY_BATCH, 3)])
def test_the_arrays_solve_the_examples(instance: EdgeInstance, optimum: int) -> None:
    found = time_indexed.build(instance)
    result = solve(found.program, "highs", clock=Clock(60), grid=1)
    data = schedule_from_runs(instance, found.runs(result.values)).to_data(instance)
    assert list(check(instance, data, {})) == []
    assert objective(instance, data) == optimum


@settings(max_examples=25, **QUIET)
@given(edge_instances(horizon=(4, 7), batch=None))
def test_the_arrays_have_the_optimum_by_enumeration(instance: EdgeInstance) -> None:
    if {start.job for start in compiled(instance).mode_starts()} != {
        task.job for task in compiled(instance).tasks
    }:
        return
    found, optimum = time_indexed.build(instance), brute_force(instance)
    result = solve(found.program, "highs", clock=Clock(60), grid=1)
    if optimum == math.inf:
        assert result.status == "infeasible"
        return
    data = schedule_from_runs(instance, found.runs(result.values)).to_data(instance)
    assert list(check(instance, data, {})) == [] and objective(instance, data) == optimum


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4),
    st.integers(0, 6),
    st.integers(0, 30),
    st.randoms(use_true_random=False),
)
def test_fixing_keeps_every_option_of_a_schedule_within_the_value(
    costs: list[list[int]], paid: int, at_most: int, random: object
) -> None:
    draw = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    owner = np.repeat(np.arange(len(costs)), [len(own) for own in costs])
    first = np.array([c for own in costs for c in own], dtype=float)
    second = first + draw.integers(-2, 3, len(first))
    vectors = [
        PricedStarts(first, owner, len(costs), float(paid)),
        PricedStarts(second, owner, len(costs), float(paid)),
    ]
    remaining, bound = fix(vectors, at_most)
    places = np.split(np.arange(len(first)), np.cumsum([len(own) for own in costs])[:-1])
    for some in itertools.product(*places):
        # A schedule may have any value that no price vector refutes.
        value = max(vector.cost[list(some)].sum() - paid for vector in vectors)
        if value <= at_most:
            assert remaining[list(some)].all()
            assert bound <= at_most


def test_prices_that_prove_nothing_fix_nothing() -> None:
    options = PricedStarts(np.array([1.0, 9.0]), np.array([0, 0]), 1, math.inf)
    remaining, bound = fix([options], 2)
    assert remaining.all()
    assert bound == -math.inf
