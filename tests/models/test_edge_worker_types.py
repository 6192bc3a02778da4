"""Bounds by worker type: below every optimum at any prices and any number of slots."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.column_generation import solve_bound
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.bounds.worker_types import (
    MergedColumn,
    TypeRelaxation,
    certificate,
    certified_bound,
    solve_type,
    sum_of_bounds,
    used_types,
)
from schedgap.models.edge.decisions import compiled, infeasibility_reason
from schedgap.models.edge.placements import runs_from_schedule
from schedgap.models.edge.programs.dual import rounded
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from strategies.edge import best_schedule, brute_force, edge_instances
from strategies.edge_examples import TOY_A, TOY_B, TOY_C

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def type_bound(instance: EdgeInstance, block: int = 1) -> float:
    """Solve, and evaluate the certificate."""
    view = compiled(instance)
    found = [
        solve_type(view, u, budget=Budget(Clock(60)), block=block, gap=1e-6)
        for u in used_types(view)
    ]
    bound = sum_of_bounds([each.bound for each in found])
    assert certified_bound(instance, certificate(instance, found)) == bound
    return bound


@pytest.mark.parametrize(("instance", "optimum"), [(TOY_A, 5), (TOY_B, 9), (TOY_C, 6)])
def test_the_examples_are_bounded(instance: EdgeInstance, optimum: int) -> None:
    assert job_bound(compiled(instance)) <= type_bound(instance) <= optimum


def test_one_server_is_a_class_of_its_own() -> None:
    """toy-c has one server: nothing is merged, and the bound is the optimum."""
    assert type_bound(TOY_C) == 6


def holds(instance: EdgeInstance, block: int) -> None:
    optimum, view = brute_force(instance), compiled(instance)
    if infeasibility_reason(instance) is None:
        bound = type_bound(instance, block)
        assert job_bound(view) <= bound <= optimum
        if optimum < math.inf:
            exact = solve_bound(view, slots=view.slots, budget=Budget(Clock(60))).bound
            assert exact is not None and bound <= math.ceil(exact - 1e-6) + len(used_types(view))


@settings(max_examples=40, **QUIET)
@given(edge_instances(placeable=True), st.integers(1, 4))
def test_the_bound_is_below_the_optimum(instance: EdgeInstance, block: int) -> None:
    holds(instance, block)


@pytest.mark.nightly
@settings(max_examples=600, **QUIET)
@given(edge_instances(placeable=True), st.integers(1, 4))
def test_the_bound_is_below_the_optimum_at_length(instance: EdgeInstance, block: int) -> None:
    holds(instance, block)


@settings(max_examples=60, **QUIET)
@given(edge_instances(placeable=True), st.data())
def test_any_prices_of_any_slots_prove_a_bound(instance: EdgeInstance, data: st.DataObject) -> None:
    optimum, schedule = best_schedule(instance)
    view, bounds = compiled(instance), []
    if infeasibility_reason(instance) is not None:
        return
    for u in used_types(view):
        slots = data.draw(st.integers(1, view.slots), label="slots")
        types = TypeRelaxation(view, u, slots, data.draw(st.integers(1, slots), label="block"))
        rng = np.random.default_rng(data.draw(st.integers(0, 10**6), label="seed"))
        prices = rounded(rng.exponential(0.3, (2, len(types.lengths))))
        bound, least, columns = types.bound(prices)
        bounds.append(bound)
        # The columns cost what they say, and what the master's rows say.
        sums = types.prefix_sums(prices)
        for cost, own in zip(least, columns, strict=True):
            for column in own:
                assert types.cost(column, sums) >= cost
                blocks, overlap = types.block_overlap(column)
                paid = np.array(column.workers) @ (prices[:, blocks] * overlap).sum(axis=1)
                assert types.cost(column, sums) == pytest.approx(column.flow + paid)
    assert sum_of_bounds(bounds) <= optimum
    if schedule is not None:
        every_run_is_a_column(instance, schedule_runs(instance, schedule), data)


def schedule_runs(instance: EdgeInstance, schedule: object) -> list[object]:
    return list(runs_from_schedule(instance, schedule))  # type: ignore[arg-type]


def every_run_is_a_column(instance: EdgeInstance, runs: list[object], data: st.DataObject) -> None:
    """What a job pays in its class column is never more than what its run would pay."""
    view = compiled(instance)
    clouds = [server.kind == "cloud" for server in instance.servers]
    for u in used_types(view):
        types = TypeRelaxation(view, u, view.slots, 1)
        rng = np.random.default_rng(data.draw(st.integers(0, 10**6), label="seed"))
        prices = rounded(rng.exponential(0.3, (2, view.slots)))
        sums = types.prefix_sums(prices)
        index = {task.job: k for k, task in enumerate(types.tasks)}
        for run in runs:
            mode_start = run.mode_start
            if mode_start.job not in index:
                continue
            counts = [0, 0]
            for s, n in run.workers:
                counts[clouds[s]] += n
            task = types.tasks[index[mode_start.job]]
            start = mode_start.start - view.first
            flow = task.flow(mode_start)
            same = MergedColumn(
                index[mode_start.job], start, mode_start.mode.duration, (counts[0], counts[1]), flow
            )
            least, _ = types.cheapest(index[mode_start.job], sums)
            assert least <= types.cost(same, sums)
