"""Jobs inserted into free time, and the search for their order."""

import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.generate import generate
from schedgap.models.hare import rules
from schedgap.models.hare.algorithms.list_wspt import list_wspt
from schedgap.models.hare.heuristics import kernel
from schedgap.models.hare.heuristics.kernel import KERNEL
from schedgap.models.hare.heuristics.local_search import (
    LocalSearch,
    empty_state,
    local_search,
    problem_of,
)
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.search.annealing import anneal, copied, insert_all
from strategies.hare import brute_force, hare_instances, instance_of
from strategies.hare_examples import FIGURE_4, THREE_UNIT_TASKS, TOY, TWO_GPUS, UNLIKE_ROUNDS
from strategies.kernels import compiled_entry, compiled_types
from strategies.toy_kernel import terms_of

ENDLESS = Clock(None)


def violations(instance, schedule):
    return list(rules.check(instance, schedule.to_data(instance), {}))


def searched(instance, moves=None, seed=0, clock=ENDLESS, progress=None):
    call = RunContext({}, None, Budget(clock, seed), progress or NullProgress())
    return local_search(instance, call, moves=moves).schedule


# --- free time ---------------------------------------------------------------------------------


def one_class(capacity, tasks=99):
    """Return a state with one class of GPUs, and room for some tasks."""
    times = {"training_time": {f"kind-g{m}": 1 for m in range(capacity)}}
    job = {"rounds": tasks, "tasks_per_round": 1} | times
    return empty_state(problem_of(instance_of([f"g{m}" for m in range(capacity)], [job]))[0])


def profile(state):
    """Return times and busy GPUs of the only class."""
    size = state.size[0]
    return state.times[0, :size].tolist(), state.busy[0, :size].tolist()


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 15), st.integers(1, 6), st.integers(1, 3)), max_size=12),
)
def test_the_first_fit_is_the_first_start_at_which_a_gpu_stays_free(capacity, wishes):
    state, busy = one_class(capacity), [0] * 200  # busy[t]: GPUs in use in [t, t + 1)
    for ready, length, number in wishes:
        free = [capacity - max(busy[t : t + length]) for t in range(150)]
        first = next(t for t in range(ready, 150) if free[t] > 0)
        row = state.times[0], state.busy[0], state.size[0]
        assert kernel.first_fit(*row, capacity, ready, length) == (first, free[first])
        number = min(number, free[first])
        kernel.reserve(state, 0, first, length, number)
        for t in range(first, first + length):
            busy[t] += number


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 6)), min_size=1, max_size=12))
def test_what_is_freed_again_leaves_no_trace(intervals):
    state = one_class(99)
    for sign in (2, -2):
        for start, length in intervals:
            kernel.reserve(state, 0, start, length, sign)
    assert profile(state) == ([0], [0])


def test_a_profile_without_room_is_an_error_and_no_damage():
    state = one_class(1, tasks=1)
    kernel.reserve(state, 0, 1.0, 1.0, 1)
    with pytest.raises(AssertionError):
        kernel.reserve(state, 0, 5.0, 1.0, 1)


def test_a_length_below_the_precision_of_its_start_takes_time():
    state = one_class(1)
    kernel.reserve(state, 0, 1.0, 1e-20, 1)
    assert profile(state) == ([0.0, 1.0, math.nextafter(1.0, 2.0)], [0, 1, 0])


def inserted(instance, order, genes):
    """Return the schedule of jobs inserted in order, each with its prices, and the state."""
    search = LocalSearch(instance)
    problem, state = search._problem, search._state
    for j, gene in zip(order, genes, strict=True):
        assert kernel.insert(problem, state, j, np.array([*gene, 0.0]), math.inf, None)
    return search._schedule(state.plan), problem, state


def test_a_later_job_moves_into_the_hole_of_an_earlier_one():
    # J1 trains in [0, 1], synchronizes until 3, trains in [3, 4]; J2 needs 2 and fits in [1, 3].
    instance = instance_of(
        ["g1"],
        [
            {"rounds": 2, "tasks_per_round": 1, "training_time": {"g1": 1}}
            | {"synchronization_time": {"g1": 2}},
            {"rounds": 1, "tasks_per_round": 1, "training_time": {"g1": 2}},
        ],
    )
    schedule, _, state = inserted(instance, [0, 1], [[0], [0]])
    assert schedule.start.tolist() == [0, 3, 1]
    assert state.plan.end.tolist() == [6, 3]


@pytest.mark.parametrize(
    ("price", "gpu"),
    [
        ([1, 0.25], "fast"),  # 1 x 2 + 1 x 2 = 4 on fast, 1 x 6 + 0.25 x 6 = 7.5 on slow
        ([4, 0.25], "slow"),  # 1 x 2 + 4 x 2 = 10 on fast, 7.5 on slow
        ([math.inf, 0], "slow"),
        ([0, math.inf], "fast"),
    ],
)
def test_a_batch_waits_for_cheaper_gpus_while_that_saves_more_than_the_delay_costs(price, gpu):
    instance = instance_of(
        ["fast", "slow"],
        [{"rounds": 1, "tasks_per_round": 1, "training_time": {"fast": 2, "slow": 6}}],
    )
    schedule, _, _ = inserted(instance, [0], [price])
    assert instance.gpus[schedule.gpu[0]].id == gpu


@settings(max_examples=40)
@given(hare_instances(max_total=20, integer=False), st.randoms(use_true_random=False))
def test_jobs_in_any_order_at_any_prices_make_a_schedule_of_their_cost(instance, rng):
    order = list(range(len(instance.jobs)))
    rng.shuffle(order)
    kinds = len(problem_of(instance)[0].capacity)
    genes = [[rng.choice([0, 1, 5]) for _ in range(kinds)] for _ in order]
    schedule, problem, state = inserted(instance, order, genes)
    assert violations(instance, schedule) == []
    numerator, denominator = problem_of(instance)[2]
    completion = schedule.completion(instance)
    assert completion == pytest.approx(state.plan.end * numerator / denominator)
    assert (state.plan.cost >= problem.alone - 1e-9 * problem.alone).all()
    again = empty_state(problem)  # the profiles do not depend on the order of the jobs
    for j in reversed(order):
        kernel.copy(state.plan, again.plan, j)
        kernel.apply(problem, again, j, 1)
    for k, size in enumerate(state.size):
        assert again.size[k] == size
        np.testing.assert_array_equal(again.times[k, :size], state.times[k, :size])
        np.testing.assert_array_equal(again.busy[k, :size], state.busy[k, :size])


@settings(max_examples=40)
@given(hare_instances(max_total=20), st.floats(0, 1))
def test_a_job_that_would_cost_too_much_leaves_no_trace(instance, share):
    problem, _, _ = problem_of(instance)
    state, gene = empty_state(problem), np.zeros(len(problem.capacity) + 1)
    for j in range(len(problem.weight)):
        before = [array.copy() for array in (state.times, state.busy, state.size)]
        kernel.insert(problem, state, j, gene, math.inf, None)
        excess = float(state.plan.cost[j] - problem.alone[j])
        if excess > 0:
            kernel.apply(problem, state, j, -1)
            assert not kernel.insert(problem, state, j, gene, share * 0.99 * excess, None)
            for k, size in enumerate(before[2]):
                assert state.size[k] == size
                np.testing.assert_array_equal(state.times[k, :size], before[0][k, :size])
                np.testing.assert_array_equal(state.busy[k, :size], before[1][k, :size])
            assert kernel.insert(problem, state, j, gene, excess * (1 + 1e-9), None)


@pytest.fixture(scope="module")
def compiled() -> Any:
    return compiled_entry(KERNEL)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(hare_instances(max_total=20, integer=False), st.integers(0, 2**31))
def test_compiled_or_not_lists_and_moves_are_the_same(compiled, instance, seed):
    problem, _, _ = problem_of(instance)
    genes = np.random.default_rng(seed).random((4, len(problem.capacity) + 1))
    genes[:2, -1] = 0.0
    found = []
    for run in (KERNEL.plain, compiled):
        state = empty_state(problem)
        order = range(len(problem.weight))
        assert insert_all(run, problem, state, order, genes[0]) == len(order)
        best, _ = anneal(
            run, problem, state, terms_of(state, genes, 4, 0.5, 0.5), hot=0.2, cold=0.01, moves=40,
            seed=seed,
        )  # fmt: skip
        found.append((copied(state.plan), best, state.size))
    for one, other in zip((*found[0][0], *found[0][1]), (*found[1][0], *found[1][1]), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found[0][2], found[1][2])
    assert compiled_types(compiled) == 1


# --- search ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance", "optimum"),
    [(THREE_UNIT_TASKS, 6.4), (UNLIKE_ROUNDS, 2), (FIGURE_4, 11), (TWO_GPUS, 807), (TOY, 8)],
)
def test_the_worked_examples_are_solved(instance, optimum):
    schedule = searched(instance, 300)
    assert schedule.value(instance) == pytest.approx(optimum)


@settings(max_examples=20)
@given(hare_instances(max_total=20, integer=False), st.integers(0, 3))
def test_every_improvement_is_valid_and_better_and_the_first_is_the_list_schedule(instance, seed):
    seen = []
    search = LocalSearch(instance, seed, lambda *pair: seen.append(pair))
    for _ in range(2):
        search.improve(ENDLESS, 15)
    values = [value for _, value in seen]
    assert values[0] == list_wspt(instance).value(instance)
    assert all(later < earlier for earlier, later in pairwise(values))
    assert search.incumbent is seen[-1][0] and search.value == values[-1]
    for schedule, value in seen:
        assert violations(instance, schedule) == []
        assert value == pytest.approx(rules.objective(instance, schedule.to_data(instance)))


def tiny(seed):
    """Return a random instance of at most 7 tasks, with unlike tasks half the time."""
    rng = random.Random(seed)
    kinds = rng.choices(["fast", "slow"], k=rng.randint(1, 3))

    def task():
        times = {"training_time": {kind: rng.randint(1, 6) for kind in kinds}}
        if rng.random() < 0.5:
            times["synchronization_time"] = {kind: rng.randint(0, 6) for kind in kinds}
        return times

    jobs = []
    for left in (4, 3):
        job = {"weight": rng.randint(1, 5), "arrival": rng.randint(0, 5)}
        width = rng.randint(1, left)
        if rng.random() < 0.5:
            sizes = [width] * (left // width)
            job["task_rounds"] = [[task() for _ in range(size)] for size in sizes]
        else:
            job |= {"rounds": left // width, "tasks_per_round": width} | task()
        jobs.append(job)
    return instance_of({f"g{m}": kind for m, kind in enumerate(kinds, 1)}, jobs)


def reached(seeds, moves):
    """Return for how many tiny instances the search ends at the optimum; never below it."""
    optimal = 0
    for seed in seeds:
        instance = tiny(seed)
        optimum = brute_force(instance)
        value = searched(instance, moves).value(instance)
        assert value >= optimum - 1e-9
        optimal += value <= optimum + 1e-9
    return optimal


def test_nearly_every_tiny_instance_is_solved():
    assert reached(range(40), moves=200) >= 38


@pytest.mark.nightly
def test_with_more_moves_nearly_all_of_many_tiny_instances_are_solved():
    """475 of 500; on the first six others, 20,000 moves reach no more.

    In their optima, a task of a round waits longer than a batch is ever delayed. Or unlike tasks of
    a round start in an order in which batches are not placed.
    """
    assert reached(range(1000, 1500), moves=3000) >= 470


def test_a_seed_repeats_the_search_and_another_one_changes_it():
    instance = generate("hare", preset="medium", seed=3)
    first, again, other = (searched(instance, 60, seed) for seed in (5, 5, 6))
    assert first.start.tolist() == again.start.tolist() and first.gpu.tolist() == again.gpu.tolist()
    assert first.start.tolist() != other.start.tolist()


def test_more_moves_help():
    instance = generate("hare", preset="medium", seed=3)
    none, many = (searched(instance, moves) for moves in (0, 300))
    assert many.value(instance) < none.value(instance)


def test_the_search_ends_at_the_critical_path_bound():
    # Each job finds its GPU free: 1 x 2 + 2 x (1 + 3) = 10, which nothing can beat.
    times = {"rounds": 1, "tasks_per_round": 1}
    instance = instance_of(
        ["g1", "g2"],
        [
            times | {"training_time": {"g1": 2, "g2": 5}},
            times | {"training_time": {"g1": 9, "g2": 3}, "arrival": 1, "weight": 2},
        ],
    )
    search = LocalSearch(instance)
    search.improve(ENDLESS)  # moves without limit
    assert search.value == 10


def test_times_without_a_common_step_are_placed_all_the_same():
    # Thirds and sevenths have no decimal scale: no integers, no ScaleError.
    jobs = [
        {"rounds": 3, "tasks_per_round": 2, "arrival": n / 3, "weight": 1 + n / 7}
        | {"training_time": {"fast": (n + 1) / 7, "slow": (n + 2) / 3}}
        for n in range(5)
    ]
    instance = instance_of({"g1": "fast", "g2": "slow", "g3": "slow"}, jobs)
    schedule = searched(instance, 100)
    assert violations(instance, schedule) == []
    assert schedule.value(instance) <= list_wspt(instance).value(instance)


def first_plan_is_good(**settings):
    """Holes and patience are worth far more than the list rule's order alone (3.2 times at 200)."""
    instance = generate("hare", preset="paper", seed=0, settings=settings)
    schedule = searched(instance, 1)
    assert violations(instance, schedule) == []
    assert schedule.value(instance) < 0.5 * list_wspt(instance).value(instance)


def test_the_first_plan_of_many_tasks():
    first_plan_is_good(jobs=40, gpus=40)


@pytest.mark.nightly
def test_the_first_plan_at_full_scale():
    first_plan_is_good()


def test_the_clock_is_respected():
    clock = Clock(0.5)
    searched(generate("hare", preset="medium", seed=0), clock=clock)
    assert clock.elapsed() < 30  # a busy machine may stall, a search that never looks takes more


def test_an_expired_clock_leaves_the_list_schedule():
    instance = generate("hare", preset="medium", seed=0)
    schedule = searched(instance, clock=Clock(0))
    assert schedule.start.tolist() == list_wspt(instance).start.tolist()


def test_a_search_that_was_stopped_among_its_lists_goes_on():
    instance = generate("hare", preset="medium", seed=3)
    search, other = (LocalSearch(instance, 5) for _ in range(2))
    search.improve(Clock(0), 60)
    assert search.value == list_wspt(instance).value(instance)
    for each in (search, other):
        each.improve(ENDLESS, 60)
    assert search.value == other.value
    before, plan = search.value, copied(search._state.plan)
    search.improve(ENDLESS, 60)  # other moves, from the best plan
    assert search.value <= before and plan.cost.sum() == pytest.approx(before)
