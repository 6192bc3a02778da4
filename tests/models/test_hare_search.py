"""Rounds placed into free time, and the search for their order."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.generate import generate
from schedgap.models.hare import rules
from schedgap.models.hare.algorithms.list_wspt import list_wspt
from schedgap.models.hare.heuristics.dispatch import (
    CapacityProfile,
    PartialSchedule,
    to_schedule,
    workload,
)
from schedgap.models.hare.heuristics.local_search import PlanSearch, local_search
from schedgap.models.method import Budget
from schedgap.solvers.children.clock import Clock
from strategies.hare import brute_force, hare_instances, instance_of
from strategies.hare_examples import FIGURE_4, THREE_UNIT_TASKS, TOY, TWO_GPUS, UNLIKE_ROUNDS

ENDLESS = Clock(None)


def violations(instance, schedule):
    return list(rules.check(instance, schedule.to_data(instance), {}))


# --- free time ---------------------------------------------------------------------------------


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 15), st.integers(1, 6), st.integers(1, 3)), max_size=12),
)
def test_the_first_fit_is_the_first_start_at_which_a_gpu_stays_free(capacity, wishes):
    line, busy = CapacityProfile(capacity), [0] * 200  # busy[t]: GPUs in use in [t, t + 1)
    for ready, length, number in wishes:
        free = [capacity - max(busy[t : t + length]) for t in range(150)]
        first = next(t for t in range(ready, 150) if free[t] > 0)
        assert line.first_fit(ready, length) == (first, free[first])
        number = min(number, free[first])
        line.reserve(first, first + length, number)
        for t in range(first, first + length):
            busy[t] += number


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 6)), min_size=1, max_size=12))
def test_what_is_freed_again_leaves_no_trace(intervals):
    line = CapacityProfile(99)
    for start, length in intervals:
        line.reserve(start, start + length, 2)
    for start, length in intervals:
        line.reserve(start, start + length, -2)
    assert (line.times, line.busy) == ([0], [0])


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
    work = workload(instance)
    partial = PartialSchedule(work)
    placed = [(b, partial.add(n, b, [0])) for n, b in ((0, 0), (0, 1), (1, 2))]
    assert to_schedule(instance, work, placed).start.tolist() == [0, 3, 1]
    assert partial.ready == [6, 3]


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
    work = workload(instance)
    schedule = to_schedule(instance, work, [(0, PartialSchedule(work).add(0, 0, price))])
    assert instance.gpus[schedule.gpu[0]].id == gpu


@settings(max_examples=40)
@given(hare_instances(max_total=20), st.booleans(), st.randoms(use_true_random=False))
def test_what_is_placed_is_never_below_the_least_value_foreseen(instance, split, rng):
    work = workload(instance, split=split)
    partial = PartialSchedule(work)
    foreseen = []
    order = [
        n for n in range(work.jobs) for _ in range(work.job_batches[n], work.job_batches[n + 1])
    ]
    rng.shuffle(order)
    placed = []
    for n in order:
        foreseen.append(partial.lower_bound())
        b = partial.next_batch[n]
        price = [rng.choice([0, 1, 5]) for _ in work.capacity]
        placed.append((b, partial.add(n, b, price)))
    schedule = to_schedule(instance, work, placed)
    assert violations(instance, schedule) == []
    assert max(foreseen) <= partial.lower_bound() + 1e-9
    completion = schedule.completion(instance)
    assert completion == pytest.approx(np.array(partial.ready) * work.unit[0] / work.unit[1])


# --- search ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance", "optimum"),
    [(THREE_UNIT_TASKS, 6.4), (UNLIKE_ROUNDS, 2), (FIGURE_4, 11), (TWO_GPUS, 807), (TOY, 8)],
)
def test_the_worked_examples_are_solved(instance, optimum):
    schedule = local_search(instance, budget=Budget(ENDLESS), moves=300)
    assert schedule.value(instance) == pytest.approx(optimum)


@settings(max_examples=20)
@given(
    hare_instances(max_total=20, integer=False),
    st.sampled_from(["finish", "available"]),
    st.integers(0, 3),
)
def test_every_improvement_is_valid_and_better_and_the_first_is_the_list_schedule(
    instance, gpu_rule, seed
):
    seen = []
    last = local_search(
        instance,
        budget=Budget(ENDLESS, seed),
        moves=15,
        gpu_rule=gpu_rule,
        on_improvement=lambda *pair: seen.append(pair),
    )
    values = [value for _, value in seen]
    assert values[0] == list_wspt(instance, gpu_rule).value(instance)
    assert all(later < earlier for earlier, later in pairwise(values))
    assert last is seen[-1][0]
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
        value = local_search(instance, budget=Budget(ENDLESS), moves=moves).value(instance)
        assert value >= optimum - 1e-9
        optimal += value <= optimum + 1e-9
    return optimal


def test_nearly_every_tiny_instance_is_solved():
    assert reached(range(40), moves=200) >= 38


@pytest.mark.nightly
def test_with_more_moves_all_of_many_tiny_instances_are_solved():
    assert reached(range(1000, 1500), moves=3000) >= 498


def test_a_seed_repeats_the_search_and_another_one_changes_it():
    instance = generate("hare", preset="medium", seed=3)
    first, again, other = (
        local_search(instance, budget=Budget(ENDLESS, seed), moves=60) for seed in (5, 5, 6)
    )
    assert first.start.tolist() == again.start.tolist() and first.gpu.tolist() == again.gpu.tolist()
    assert first.start.tolist() != other.start.tolist()


def test_more_moves_help():
    instance = generate("hare", preset="medium", seed=3)
    none, many = (local_search(instance, budget=Budget(ENDLESS), moves=moves) for moves in (0, 300))
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
    assert (
        local_search(instance, budget=Budget(ENDLESS)).value(instance) == 10
    )  # moves without limit
    search = PlanSearch(instance, "finish", Budget(ENDLESS))
    decoded = search.decode(next(search.first_plans()))
    for _ in range(50):  # no job loses anything, and still there are neighbors
        assert sorted(search.neighbor(decoded)[0].order) == [0, 1]


def test_times_without_a_common_step_are_placed_all_the_same():
    # Thirds and sevenths have no decimal scale: no integers, no ScaleError.
    jobs = [
        {"rounds": 3, "tasks_per_round": 2, "arrival": n / 3, "weight": 1 + n / 7}
        | {"training_time": {"fast": (n + 1) / 7, "slow": (n + 2) / 3}}
        for n in range(5)
    ]
    instance = instance_of({"g1": "fast", "g2": "slow", "g3": "slow"}, jobs)
    schedule = local_search(instance, budget=Budget(ENDLESS), moves=100)
    assert violations(instance, schedule) == []
    assert schedule.value(instance) <= list_wspt(instance).value(instance)


def first_plan_is_good(**settings):
    """Holes and patience are worth far more than the list rule's order alone (3.2 times at 200)."""
    instance = generate("hare", preset="paper", seed=0, settings=settings)
    schedule = local_search(instance, budget=Budget(ENDLESS), moves=1)
    assert violations(instance, schedule) == []
    assert schedule.value(instance) < 0.5 * list_wspt(instance).value(instance)


def test_the_first_plan_of_many_tasks():
    first_plan_is_good(jobs=40, gpus=40)


@pytest.mark.nightly
def test_the_first_plan_at_full_scale():
    first_plan_is_good()


def test_the_clock_is_respected():
    clock = Clock(0.5)
    local_search(generate("hare", preset="medium", seed=0), budget=Budget(clock))
    assert clock.elapsed() < 30  # a busy machine may stall, a search that never looks takes more


def test_an_expired_clock_leaves_the_list_schedule():
    instance = generate("hare", preset="medium", seed=0)
    schedule = local_search(instance, budget=Budget(Clock(0)))
    assert schedule.start.tolist() == list_wspt(instance).start.tolist()


def test_a_search_in_parts_is_the_same_search():
    instance = generate("hare", preset="medium", seed=3)
    once, parts = (PlanSearch(instance, "finish", Budget(ENDLESS, 5)) for _ in range(2))
    once.improve(ENDLESS, 60)
    for moves in (0, 25, 35):
        parts.improve(ENDLESS, moves)
    assert (once.value, once.best.plan) == (parts.value, parts.best.plan)
    assert once.incumbent.start.tolist() == parts.incumbent.start.tolist()


def test_a_search_that_was_stopped_among_its_first_plans_goes_on():
    instance = generate("hare", preset="medium", seed=3)
    search = PlanSearch(instance, "finish", Budget(ENDLESS, 5))
    search.improve(Clock(0), 60)
    assert search.best is None
    search.improve(ENDLESS, 60)
    other = PlanSearch(instance, "finish", Budget(ENDLESS, 5))
    other.improve(ENDLESS, 60)
    assert search.value == other.value
