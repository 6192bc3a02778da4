"""Bounds by prices: below every optimum at any prices, tight at the prices of the relaxation."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds import column_generation
from schedgap.models.edge.bounds.column_generation import certified_bound, solve_bound
from schedgap.models.edge.decisions import CompiledJob, ModeStart, compiled
from schedgap.models.edge.exact.cg_bound import last_slot
from schedgap.models.edge.placements import enumerate_runs, runs_from_schedule
from schedgap.models.edge.programs import time_indexed
from schedgap.models.edge.programs.dual import (
    CapacityPrices,
    LagrangianDual,
    from_data,
    rounded,
    to_data,
)
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from schedgap.solvers.engines.highs import Relaxation
from strategies.edge import best_schedule, brute_force, edge_instances
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
EXAMPLES = [(TOY_A, 5), (TOY_B, 9), (TOY_C, 6), (TOY_BATCH, 3)]


def draw_prices(data: st.DataObject, instance: EdgeInstance) -> CapacityPrices:
    """Draw prices, most of them 0, for some first slots of the window."""
    view = compiled(instance)
    slots = data.draw(st.integers(1, view.slots), label="slots")
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6), label="prices"))
    scale = data.draw(st.sampled_from([0.02, 0.3, 3.0]), label="scale")

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        cells = rng.exponential(scale, (*shape, slots))
        return rounded(cells * (rng.random(cells.shape) < 0.5))

    return CapacityPrices(draw(view.workers.shape), draw(view.ps.shape))


def enumerated_bound(instance: EdgeInstance, prices: CapacityPrices) -> float:
    """The same bound from a list of all runs, each priced cell by cell."""
    view = compiled(instance)
    cost_of_capacity = float((prices.workers.sum(axis=2) * view.workers).sum())
    cost_of_capacity += float((prices.ps.sum(axis=2) * view.ps).sum())
    last = view.first + prices.slots - 1
    total = -cost_of_capacity
    for task in view.tasks:
        least = 0.0 if view.is_batch else math.inf
        for mode_start in view.mode_starts():
            if mode_start.job != task.job:
                continue
            for run in enumerate_runs(view, task, mode_start):
                flow = -1.0 if view.is_batch else float(task.flow(mode_start))
                # A run that ends after the last price may use none of the priced slots.
                if mode_start.end <= last:
                    window = slice(mode_start.start - view.first, mode_start.end - view.first + 1)
                    for s, n in run.workers:
                        flow += n * float(prices.workers[s, task.worker_type, window].sum())
                    flow += float(prices.ps[run.host, task.ps_type, window].sum())
                least = min(least, flow)
        total += least
    return total


@settings(max_examples=30, **QUIET)
@given(edge_instances(batch=None, horizon=(5, 9)), st.data())
def test_any_prices_prove_a_bound(instance: EdgeInstance, data: st.DataObject) -> None:
    prices = draw_prices(data, instance)
    view = compiled(instance)
    bound = LagrangianDual(view, prices.slots).bound(prices)
    optimum = brute_force(instance)
    if view.is_batch:
        assert -bound >= optimum
    else:
        assert bound <= optimum
    written = from_data(view, to_data(prices))
    assert (written.workers == prices.workers).all() and (written.ps == prices.ps).all()


@settings(max_examples=40, **QUIET)
@given(edge_instances(), st.integers(1, 3))
def test_better_schedules_end_by_the_last_slot_with_a_price(
    instance: EdgeInstance, more: int
) -> None:
    optimum, schedule = best_schedule(instance)
    if schedule is not None:
        runs = runs_from_schedule(instance, schedule)
        last = last_slot(compiled(instance), int(optimum) + more)
        assert max(run.end for run in runs) <= last


@settings(max_examples=40, **QUIET)
@given(edge_instances(batch=None, horizon=(5, 8)), st.data())
def test_the_bound_is_that_of_all_runs(instance: EdgeInstance, data: st.DataObject) -> None:
    prices = draw_prices(data, instance)
    view = compiled(instance)
    bound = LagrangianDual(view, prices.slots).bound(prices)
    full = enumerated_bound(instance, prices)
    if prices.slots == view.slots:
        # A split mode that lands on one server is not a run, and never cheaper than one.
        assert bound == pytest.approx(full)
    else:
        assert bound <= full + 1e-9


def least_cost(
    instance: EdgeInstance, prices: CapacityPrices, task: CompiledJob, mode_start: ModeStart
) -> float:
    """The least cost of a mode and start over all placements of its workers and its PS."""
    view, mode = compiled(instance), mode_start.mode
    window = slice(mode_start.start - view.first, mode_start.end - view.first + 1)
    u, v, ready = task.worker_type, task.ps_type, task.ready <= mode_start.start
    least = math.inf
    rooms = (view.workers[:, u] * ready).tolist()
    for counts in product(*(range(room + 1) for room in rooms)):
        if sum(counts) != mode.workers:
            continue
        for host in np.flatnonzero((view.ps[:, v] > 0) & ready).tolist():
            if mode.colocated and counts[host] != mode.workers:
                continue
            cost = float(prices.ps[host, v, window].sum())
            for s, n in enumerate(counts):
                cost += n * float(prices.workers[s, u, window].sum())
            least = min(least, cost)
    return least + (-1.0 if view.is_batch else task.flow(mode_start))


@settings(max_examples=40, **QUIET)
@given(edge_instances(batch=None, horizon=(5, 8)), st.data())
def test_every_group_costs_what_enumeration_says(
    instance: EdgeInstance, data: st.DataObject
) -> None:
    prices, view = draw_prices(data, instance), compiled(instance)
    dual = LagrangianDual(view, prices.slots)
    problems = dual.pricing_problems(prices)
    for mode_start in list(view.mode_starts())[:: 1 + len(view.tasks)]:
        task = next(task for task in view.tasks if task.job == mode_start.job)
        if mode_start.end < view.first + prices.slots:
            cost = dual.start_costs(problems, task, mode_start.mode)[mode_start.start - view.first]
            assert cost == pytest.approx(least_cost(instance, prices, task, mode_start))


def relaxation(instance: EdgeInstance) -> float:
    """The linear relaxation of the program over modes and starts."""
    program = time_indexed.build(instance).program
    result = Relaxation(program).solve(Clock(60))
    assert result.objective is not None
    return result.objective


def solved(instance: EdgeInstance) -> column_generation.RelaxationBound:
    view = compiled(instance)
    return solve_bound(view, slots=view.slots, budget=Budget(Clock(60)))


@pytest.mark.parametrize(("instance", "optimum"), EXAMPLES)
def test_the_relaxation_is_tight_on_the_examples(instance: EdgeInstance, optimum: int) -> None:
    found = solved(instance)
    assert found.prices is not None
    assert certified_bound(instance, to_data(found.prices)) == pytest.approx(optimum, abs=1e-5)


def holds(instance: EdgeInstance) -> None:
    """The bound is the optimum of the program's relaxation, and the certificate proves it."""
    optimum, _ = best_schedule(instance)
    view, found = compiled(instance), solved(instance)
    if optimum == math.inf:
        return
    assert found.prices is not None and found.bound is not None and not found.infeasible
    sign = -1 if view.is_batch else 1
    assert sign * certified_bound(instance, to_data(found.prices)) == found.bound
    assert found.bound <= sign * optimum
    assert found.bound == pytest.approx(relaxation(instance), abs=1e-4)
    # With fewer slots, it is a bound all the same.
    fewer = solve_bound(view, slots=max(1, view.slots // 2), budget=Budget(Clock(60)))
    assert fewer.bound is not None and fewer.bound <= sign * optimum


@settings(max_examples=17, **QUIET)
@given(edge_instances(batch=None, horizon=(5, 9)))
def test_the_bound_is_the_relaxation_s(instance: EdgeInstance) -> None:
    holds(instance)


@pytest.mark.nightly
@settings(max_examples=600, **QUIET)
@given(edge_instances(batch=None))
def test_the_bound_is_the_relaxation_s_at_length(instance: EdgeInstance) -> None:
    holds(instance)
