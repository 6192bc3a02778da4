"""Jobs that negotiate for GPU time by prices."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.generate import generate
from schedgap.models.hare import rules
from schedgap.models.hare.bounds.lagrangian import GpuPrices
from schedgap.models.hare.bounds.solve_fluid import solve_fluid
from schedgap.models.hare.heuristics import local_search, negotiation
from schedgap.models.hare.heuristics.local_search import LocalSearch, empty_state, problem_of
from schedgap.models.hare.heuristics.negotiation import NEGOTIATION, cells_of
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers.children.clock import Clock
from strategies.hare import instance_of
from strategies.kernels import compiled_entry, compiled_types

ENDLESS = Clock(None)
SYNC = {"synchronization_time": {"fast": 1, "slow": 2}}
JOB = {"rounds": 2, "tasks_per_round": 2, "training_time": {"fast": 2, "slow": 3}} | SYNC


def flat(kinds, end, price=1.0):
    return GpuPrices(np.array([0.0, end / 2, end]), np.full((kinds, 2), price))


@settings(max_examples=20)
@given(st.integers(0, 2**20), st.sampled_from([0.0, 0.5, 3.0]), st.sampled_from([0, 1e-300, 1]))
def test_a_plan_is_the_cheapest_of_all(seed, factor, weight):
    rng = np.random.default_rng(seed)
    kinds = {"a": "fast", "b": "fast", "c": "slow"}
    problem = problem_of(instance_of(kinds, [JOB | {"arrival": 1, "weight": weight}]))[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(negotiation, "CELLS", 12)
        cells = cells_of(problem, flat(2, 10.0, rng.random()))
    capacity = problem.capacity[:, None]

    def cost(kinds, starts):
        ready, paid = 1, 0.0
        for p, (k, q) in enumerate(zip(kinds, starts, strict=True)):
            end = q + cells.duration[p, k]
            if q < ready or end > 12:
                return np.inf
            paid += 2 * price[k, q : q + cells.train[p, k]].sum()
            ready = end
        return paid + problem.weight[0] * ready

    for _ in range(2):  # the second time, the last plan bounds the end
        cells.used[:] = rng.integers(0, 3, cells.used.shape)
        shortage = np.clip((cells.used + 2 - capacity) / 2, 0, 1)
        price = cells.price + factor * cells.beyond[:, None] * shortage
        plans = product(product(range(2), repeat=2), product(range(1, 12), repeat=2))
        least = min(cost(kinds, starts) for kinds, starts in plans)
        assert negotiation.plan_job(problem, cells, 0, factor)
        assert cost(cells.kind, cells.start) == pytest.approx(least)


def test_a_job_that_does_not_fit_into_the_cells_has_no_plan():
    instance = instance_of({"a": "fast", "b": "slow"}, [JOB, JOB | {"arrival": 99}])
    problem = problem_of(instance)[0]
    cells = cells_of(problem, flat(2, 5.0))
    assert [negotiation.plan_job(problem, cells, j, 1.0) for j in (0, 1)] == [True, False]
    cells = cells_of(problem, flat(2, 2.0))
    assert not negotiation.plan_job(problem, cells, 0, 1.0)


def test_prices_rise_where_gpus_are_short_and_fall_where_they_are_idle():
    problem = problem_of(instance_of({"a": "fast", "b": "fast", "c": "slow"}, [JOB]))[0]
    cells = cells_of(problem, flat(2, 10.0))
    cells.used[:] = problem.capacity[:, None]
    cells.used[0, :4] = 2, 3, 4, 9  # there are 2 GPUs, and a batch has 2 tasks
    cells.used[1, :2] = 1, 0  # there is 1 GPU
    cells.price[1, 1] *= 1.01
    before, move = cells.price.copy(), np.zeros_like(cells.price)
    move[0, :4] = 0.0, 0.25, 0.5, 0.5
    move[1, 1] = -negotiation.FALL * 0.25
    negotiation.move_prices(problem, cells, 0.5)
    np.testing.assert_allclose(cells.price - before, move * cells.beyond[:, None], atol=1e-12)
    cells.used[:] = 0
    negotiation.move_prices(problem, cells, 99.0)
    assert (cells.price == 0.0).all()


def test_durations_are_rounded_up_to_cells():
    problem = problem_of(instance_of({"a": "fast", "b": "slow"}, [JOB]))[0]
    cells = cells_of(problem, flat(2, 10.0))
    for length, own in ((cells.train, problem.train), (cells.duration, problem.duration)):
        assert (length * cells.step >= own).all() and ((length - 1) * cells.step < own).all()


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_class_that_takes_longer_than_all_cells_is_not_planned(rounds):
    """In cells, 10^12 is beyond integers of 64 bits here."""
    times = {
        "training_time": {"fast": 1e-6, "slow": 1e12},
        "synchronization_time": {"fast": 0, "slow": 0},
    }
    job = JOB | {"rounds": rounds} | times
    problem = problem_of(instance_of({"a": "fast", "b": "fast", "c": "slow"}, [job]))[0]
    cells = cells_of(problem, flat(2, 1000 * problem.train.min()))
    assert problem.duration.max() / cells.step > 2.0**63
    assert negotiation.plan_job(problem, cells, 0, 1.0)
    fast = problem.train[0].argmin()
    assert (cells.kind == fast).all()
    assert cells.start.tolist() == [x * cells.duration[0, fast] for x in range(rounds)]


def test_compiled_and_plain_sweeps_are_equal(monkeypatch):
    monkeypatch.setattr(negotiation, "CELLS", 200)
    fast = compiled_entry(NEGOTIATION)
    jobs = [JOB | {"arrival": n, "weight": 1 + n % 3} for n in range(8)]
    problem = problem_of(instance_of({"a": "fast", "b": "fast", "c": "slow"}, jobs))[0]
    order, owner, found = np.arange(8), np.repeat(np.arange(8), 2), []
    for run in (NEGOTIATION.plain, fast):
        cells, state = cells_of(problem, flat(2, 60.0)), empty_state(problem)
        for factor in (0.1, 9.0):
            assert run(problem, state, cells, order, factor, order[:0], owner)
        batches = np.argsort(cells.start, kind="stable")
        run(problem, state, cells, order[:0], 1.0, batches, owner)
        found.append((*state.plan, cells.used, cells.kind, cells.start))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    planned = cells.train[np.arange(16), cells.kind] @ problem.tasks
    assert cells.used.sum() == planned
    plan = state.plan  # rounds run on the planned classes, one after another
    for j in range(8):
        slots = slice(plan.first[j], plan.first[j] + plan.used[j])
        batch, kind = plan.slot_batch[slots], plan.slot_class[slots]
        assert set(batch) == {2 * j, 2 * j + 1} and (kind == cells.kind[batch]).all()
    assert set(cells.kind) == {0, 1}
    assert compiled_types(fast) == 1


def test_negotiated_schedules_are_feasible_and_continued(monkeypatch):
    monkeypatch.setattr(local_search, "SWEEPS", 3)
    compiled_entry(NEGOTIATION)
    instance = generate("hare", preset="paper", seed=1, settings={"jobs": 20, "gpus": 48})
    prices = solve_fluid(instance, RunContext({}, "highs", Budget(), NullProgress()), 10).prices
    values = []
    search = LocalSearch(instance, 0, lambda schedule, value: values.append(value))
    search.negotiate(prices, Clock(0.0))
    assert len(values) == 1  # no time: only the list schedule
    search.negotiate(prices, ENDLESS)
    assert search.value == values[-1] < values[0]
    assert list(rules.check(instance, search.incumbent.to_data(instance), {})) == []
    search.improve(ENDLESS, 5)
    assert search.value <= min(values)
