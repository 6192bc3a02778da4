"""Bounds by worker type: below every optimum at any prices and any number of slots."""

import itertools
import math
import tracemalloc
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds import worker_types
from schedgap.models.edge.bounds.column_generation import solve_bound
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.bounds.kernel import PRICING, price
from schedgap.models.edge.bounds.type_pricing import (
    CLOUD,
    EDGE,
    FLOW,
    TASK,
    ClassRow,
    TypeRelaxation,
    blocks,
)
from schedgap.models.edge.bounds.worker_types import (
    certificate,
    certified_bound,
    class_cuts,
    solve_type,
    solve_types,
    sum_of_bounds,
    whole_bound,
)
from schedgap.models.edge.decisions import compiled, infeasibility_reason
from schedgap.models.edge.placements import enumerate_runs
from schedgap.models.edge.programs.dual import rounded
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from strategies.edge import brute_force, edge_instances, instance_of
from strategies.edge_examples import TOY_A, TOY_B, TOY_C
from strategies.kernels import compiled_entry, compiled_types

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
CUTS = st.lists(st.builds(ClassRow, st.integers(0, 2), st.integers(1, 4)), max_size=3)


def type_bound(instance: EdgeInstance, block: int = 1) -> float:
    """Solve, and evaluate the certificate."""
    view = compiled(instance)
    found = [
        solve_type(view, u, budget=Budget(Clock(60)), block=block, gap=1e-6) for u in view.of_type
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
            assert exact is not None and bound <= math.ceil(exact - 1e-6) + len(view.of_type)


@settings(max_examples=40, **QUIET)
@given(edge_instances(placeable=True), st.integers(1, 4))
def test_the_bound_is_below_the_optimum(instance: EdgeInstance, block: int) -> None:
    holds(instance, block)


@settings(max_examples=20, **QUIET)
@given(edge_instances(placeable=True), st.sampled_from([2, 4]))
def test_smaller_blocks_raise_the_bound(instance: EdgeInstance, block: int) -> None:
    """From the prices of the larger ones, as long as there is time."""
    if infeasibility_reason(instance) is not None:
        return
    view, reported = compiled(instance), []
    found = solve_types(view, budget=Budget(Clock(60)), block=block, on_better=reported.append)
    once = [
        solve_type(view, bound.worker_type, budget=Budget(Clock(60)), block=block)
        for bound in found
    ]
    for bound, coarse in zip(found, once, strict=True):
        assert bound.block % 2 and bound.bound >= coarse.bound
        stopped = solve_type(
            view, bound.worker_type, budget=Budget(Clock(0.0)), block=block // 2, coarse=coarse
        )
        assert stopped.bound == coarse.bound and stopped.starts == coarse.starts != {}
    assert certified_bound(instance, certificate(instance, found)) <= brute_force(instance)
    values = [whole_bound(view, bounds) for bounds in reported]
    assert values == sorted(values) and values[-1] == sum_of_bounds([each.bound for each in found])


@pytest.mark.nightly
@settings(max_examples=600, **QUIET)
@given(edge_instances(placeable=True), st.integers(1, 4))
def test_the_bound_is_below_the_optimum_at_length(instance: EdgeInstance, block: int) -> None:
    holds(instance, block)


@settings(max_examples=60, **QUIET)
@given(edge_instances(placeable=True), st.data())
def test_any_prices_of_any_slots_prove_a_bound(instance: EdgeInstance, data: st.DataObject) -> None:
    optimum = brute_force(instance)
    view, bounds = compiled(instance), []
    if infeasibility_reason(instance) is not None:
        return
    for u in view.of_type:
        slots = data.draw(st.integers(1, view.slots), label="slots")
        block = data.draw(st.integers(1, slots), label="block")
        types = TypeRelaxation(view, u, blocks(slots, block), data.draw(CUTS))
        rng = np.random.default_rng(data.draw(st.integers(0, 10**6), label="seed"))
        prices = rounded(rng.exponential(0.3, (len(types.rows), len(types.lengths))))
        bound, least, columns = types.bound(prices)
        bounds.append(bound)
        # The columns cost what they say, and what the master's rows say.
        cost = types.cost(columns, types.prefix_sums(prices))
        assert (cost >= least[columns[:, TASK]]).all()
        used = prices[:, None, :] * types.overlap(columns)  # [row, column, block]
        paid = (types.counted(columns[:, EDGE], columns[:, CLOUD]) * used.sum(axis=2)).sum(axis=0)
        assert cost == pytest.approx(columns[:, FLOW] + paid)
    assert sum_of_bounds(bounds) <= optimum


def every_run_pays_at_least_the_least(
    instance: EdgeInstance, cuts: list[ClassRow], seed: int
) -> None:
    """However its workers are divided between edge servers and clouds."""
    view, rng = compiled(instance), np.random.default_rng(seed)
    clouds = [server.kind == "cloud" for server in instance.servers]
    for u in view.of_type:
        types = TypeRelaxation(view, u, blocks(view.slots, 1), cuts)
        prices = rounded(rng.exponential(0.3, (len(types.rows), view.slots)))
        sums, least = types.prefix_sums(prices), types.bound(prices)[1]
        for k, task in enumerate(types.tasks):
            for mode_start in (each for each in view.mode_starts() if each.job == task.job):
                for run in enumerate_runs(view, task, mode_start):
                    cloud = sum(n for s, n in run.workers if clouds[s])
                    start, d, n = run.start - view.first, run.mode.duration, run.mode.workers
                    same = [[k, start, d, n - cloud, cloud, task.flow(mode_start)]]
                    assert least[k] <= types.cost(np.array(same), sums)


@settings(max_examples=60, **QUIET)
@given(edge_instances(placeable=True, max_jobs=2), CUTS, st.integers(0, 10**6))
def test_every_run_pays_at_least_what_the_cheapest_column_does(
    instance: EdgeInstance, cuts: list[ClassRow], seed: int
) -> None:
    if infeasibility_reason(instance) is None:
        every_run_pays_at_least_the_least(instance, cuts, seed)


def by_arrays_and_by_loops(
    instance: EdgeInstance, cuts: list[ClassRow], seed: int, loops: Callable[..., Any]
) -> None:
    """Assert equal costs, starts and workers in the cloud, with limits and in boxes, or without."""
    view, rng = compiled(instance), np.random.default_rng(seed)
    for u in view.of_type:
        types = [TypeRelaxation(view, u, blocks(view.slots, 1), cuts, how) for how in (None, loops)]
        prices = rounded(rng.exponential(0.3, (len(types[0].rows), view.slots)))
        prices[:, rng.random(view.slots) < 0.5] = 0.0
        sums, jobs = types[0].prefix_sums(prices), len(types[0].tasks)
        everything = types[0].everything
        box = np.sort(rng.integers(0, 1 + everything[:, :, 1:], everything.shape), axis=2)
        box[:, 3] = rng.choice([[0, 0], [0, 1], [1, 1]], jobs)
        limits = np.full(jobs, np.inf), rng.uniform(0, view.slots, jobs)
        for limit, own in itertools.product(limits, (everything, box)):
            one, other = (each.cheapest(sums, limit, own) for each in types)
            for mine, its in zip(one, other, strict=True):
                np.testing.assert_array_equal(mine, its)


@settings(max_examples=60, **QUIET)
@given(edge_instances(placeable=True), CUTS, st.integers(0, 10**6))
def test_by_arrays_or_by_loops_the_cheapest_columns_are_the_same(
    instance: EdgeInstance, cuts: list[ClassRow], seed: int
) -> None:
    if infeasibility_reason(instance) is None:
        by_arrays_and_by_loops(instance, cuts, seed, price)


@pytest.fixture(scope="module")
def compiled_price() -> Any:
    return compiled_entry(PRICING)


@pytest.mark.slow
@settings(max_examples=60, **QUIET)
@given(edge_instances(placeable=True, horizon=(8, 30)), CUTS, st.integers(0, 10**6))
def test_compiled_or_not_the_cheapest_columns_are_the_same(
    compiled_price: Any, instance: EdgeInstance, cuts: list[ClassRow], seed: int
) -> None:
    if infeasibility_reason(instance) is None:
        by_arrays_and_by_loops(instance, cuts, seed, compiled_price)
        assert compiled_types(compiled_price) == 1


@pytest.mark.parametrize("cuts", [[(0, 4)], [(1, 4)], [(0, 3), (1, 4), (2, 5)]])
def test_the_workers_of_a_split_job_stay_below_a_jump(cuts: list[tuple[int, int]]) -> None:
    """Eight workers in one slot, of six on an edge server and six in the cloud."""
    servers = [
        {"id": kind, "kind": kind, "workers": {"gpu": 6}, "parameter_servers": {"cpu": 1}}
        for kind in ("edge", "cloud")
    ]
    job = {"chunks": 8, "transfer_delay": {"edge": 0, "cloud": 0}}
    instance = instance_of([job], servers=servers, horizon=2)
    longer = instance_of([job | {"epochs": 3}], servers=servers, horizon=12)
    rows = [ClassRow(*cut) for cut in cuts]
    for seed in range(20):
        every_run_pays_at_least_the_least(instance, rows, seed)
        by_arrays_and_by_loops(longer, rows, seed, price)


def test_of_jobs_with_more_than_half_the_workers_one_runs_at_a_time() -> None:
    """Three jobs of one slot with three of four workers cost 0 + 1 + 2; capacity alone proves 2."""
    server = {"id": "s", "kind": "edge", "workers": {"gpu": 4}, "parameter_servers": {"cpu": 3}}
    jobs = [{"chunks": 3, "transfer_delay": {"s": 0}}] * 3
    instance = instance_of(jobs, servers=[server], horizon=9)
    assert ClassRow(2, 3) in class_cuts(compiled(instance), 0)
    assert type_bound(instance) == brute_force(instance) == 3
    with mock.patch.object(worker_types, "class_cuts", return_value=[]):
        assert type_bound(instance) == 2


def test_cuts_of_a_small_class_are_cheap_to_price_next_to_a_large_one() -> None:
    """A job of 20,000 workers, of which two are on an edge server, whose cut counts in pairs."""
    servers = [
        {"id": kind, "kind": kind, "workers": {"gpu": count}, "parameter_servers": {"cpu": 2}}
        for kind, count in (("edge", 2), ("cloud", 20_000))
    ]
    instance = instance_of([{"chunks": 20_000, "epochs": 2}], servers=servers, horizon=60)
    view = compiled(instance)
    cuts = class_cuts(view, 0)
    assert ClassRow(0, 2) in cuts
    types = TypeRelaxation(view, 0, blocks(40, 1), cuts)
    tracemalloc.start()
    types.bound(np.full((len(types.rows), 40), 2.0**-9))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
