"""The kernel of family `ring`: plans end as simulated, moves are undone, compiled or not."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.ring import RingInstance
from schedgap.models.ring.heuristics import kernel
from schedgap.models.ring.heuristics.kernel import ANY, KERNEL, SHARED, Problem, State, Terms
from schedgap.models.ring.heuristics.local_search import first_plan, placed, problem_of, state_of
from schedgap.models.ring.rates import no_schedule, rate_table
from schedgap.models.ring.simulator import feasible_ends
from schedgap.solvers.search.annealing import anneal
from strategies.kernels import compiled_entry, compiled_types
from strategies.ring import ring_instances
from strategies.ring_examples import W1, instance_of, job

PLACEABLE = ring_instances(max_jobs=7, placeable=True, max_slots=9).filter(
    lambda instance: no_schedule(instance) is None
)


def moved(instance: RingInstance, seed: int, moves: int, run: Any, convert: Any) -> Any:
    """Return problem, state and best plan after some moves, from the first plan."""
    lists, target = problem_of(rate_table(instance)), int(rate_table(instance).longest)
    plan = first_plan(lists, target)
    problem = Problem(*map(convert, lists))
    state = state_of(problem, plan.order, plan.block, convert)
    kernel.run_all(problem, state, target)
    best, _ = anneal(
        run, problem, state, Terms(target, 0.1), hot=9.0, cold=1.0, moves=moves, seed=seed,
        target=0.0,
    )  # fmt: skip
    return lists, state, best


def as_lists(state: State) -> list[list[int]]:
    return [list(map(int, row)) for row in (*state.plan, *state[1:3])]


@settings(max_examples=40, deadline=None)
@given(PLACEABLE, st.integers(0, 99))
def test_moves_leave_what_the_plan_says(instance: RingInstance, seed: int) -> None:
    """Frontiers, costs, ranks and links agree with the plan, computed from scratch."""
    lists, state, _ = moved(instance, seed, 60, KERNEL.plain, list)
    again = state_of(lists, state.plan.order, state.plan.block)
    kernel.run_all(lists, again, int(rate_table(instance).longest))
    for each in (state, again):
        for j, block in enumerate(state.plan.block):
            if block < 0:
                each.next[j] = -1  # where it was linked before
    assert as_lists(state) == as_lists(again)


@settings(max_examples=40, deadline=None)
@given(PLACEABLE, st.integers(0, 99))
def test_a_plan_is_what_happens(instance: RingInstance, seed: int) -> None:
    """Every job ends as planned or earlier: earlier where a ring meets fewer others."""
    lists, state, _ = moved(instance, seed, 30, KERNEL.plain, list)
    table = rate_table(instance)
    found = placed(table, lists, state.plan)
    ends = feasible_ends(table, found.starts, found.placements, 10**6)
    assert ends is not None and max(ends) == found.makespan <= max(state.plan.free)
    assert [sum(servers.values()) for servers in found.placements] == list(table.size)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(PLACEABLE, st.integers(0, 99))
def test_compiled_or_not_moves_are_the_same(
    compiled: Any, instance: RingInstance, seed: int
) -> None:
    found = [
        (as_lists(state), [list(map(int, row)) for row in best])
        for _, state, best in (
            moved(instance, seed, 80, KERNEL.plain, list),
            moved(instance, seed, 80, compiled, lambda row: np.array(row, dtype=np.int64)),
        )
    ]
    assert found[0] == found[1]
    assert compiled_types(compiled) == 1


@pytest.fixture(scope="module")
def compiled() -> Any:
    return compiled_entry(KERNEL)


def plan_of(instance: RingInstance, order: list[int], block: list[int]) -> list[int]:
    """Return the slots until each GPU is free."""
    problem = problem_of(rate_table(instance))
    state = state_of(problem, order, block)
    kernel.run_all(problem, state, 0)
    assert state.plan.cost == [sum(state.plan.free[a:b]) for a, b in pairwise(problem.first)]
    return list(state.plan.free)


def test_rings_that_slow_each_other_are_kept_apart() -> None:
    """W1: any two rings share a server of 3, so b waits for a, 4 slots each.

    If a has time for b, they run side by side for 8 slots.
    """
    assert sorted(plan_of(W1, [0, 1], [ANY, ANY])) == [0] * 5 + [8] * 4
    assert sorted(plan_of(W1, [0, 1], [SHARED, ANY])) == [0] + [8] * 8


def test_at_most_two_rings_share_a_server() -> None:
    """Servers of 3, 3, 3 and 1: 3 + 1 for 5 slots, 1 + 3 for 9, both on the second server.

    A ring of 1 + 1 on the second and the last one waits for the first of them.
    """
    first, server = [0, 3, 6, 9, 10], [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    problem = Problem(
        [4, 4, 2], [0, 0, 0], [0, 1, 2, 3], [2, 2, 2], [5, 9, 4], [1, 1, 1], first, server
    )
    state = state_of(problem, [0, 1, 2], [SHARED] * 3)
    assert [kernel.run_free(problem, state, j) for j in range(3)] == [0, 0, 5]


def test_jobs_are_exchanged_for_one_on_each_gpu() -> None:
    """A job of 2 GPUs for two of the three on its new block, the last of which shares a GPU."""
    jobs = [job("a", 2, 14), *(job(name, 1, 14) for name in "bcd")]
    problem = problem_of(rate_table(instance_of(jobs, [2, 2])))
    for seed in range(9):
        state = state_of(problem, [0, 1, 2, 3], [0, 2, 3, 3])
        number = kernel.exchange(problem, state, 0, 2, np.random.default_rng(seed))
        assert number == 2 and sorted(state.plan.block[1:])[:2] == [0, 1]
        assert state.plan.block[1] == 0 and state.plan.block.count(3) == 1


def test_a_job_that_is_let_free_may_be_inside_the_tightest_server() -> None:
    instance = instance_of([job("a", 2, 14)], [4, 2, 3])
    assert plan_of(instance, [0], [ANY]) == [0, 0, 0, 0, 1, 1, 0, 0, 0]


def test_a_block_waits_for_all_of_its_gpus() -> None:
    """One server of 3: a for 2 slots on GPU 0, b for 1 on GPUs 0 and 1, c in slot 1 on GPU 2."""
    instance = instance_of([job("a", 1, 28), job("b", 2, 14), job("c", 1, 14)], [3])
    assert plan_of(instance, [0, 1, 2], [0, 0, 2]) == [3, 3, 1]


def test_jobs_begin_longest_first_where_they_fit_best() -> None:
    """One GPU each: 6 slots alone, 3 behind 3; the last 2 behind 3 + 3 would be 8, behind 6 too."""
    jobs = [job(f"j{n}", 1, 14 * slots) for n, slots in enumerate((6, 3, 3, 2))]
    problem = problem_of(rate_table(instance_of(jobs, [1, 1])))
    assert first_plan(problem, 6).block == [0, 1, 1, 0]


def test_large_instances_wait_for_the_compiler() -> None:
    assert not KERNEL.large(W1)
    jobs = [job(f"j{n}", 1, 14) for n in range(20)]
    assert KERNEL.large(instance_of(jobs, [4] * 5))
