"""Lanes of family `ring`: how servers are divided, and moves of jobs between lanes."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.ring import RingInstance
from schedgap.models.ring.heuristics.large_jobs_first import large_jobs_schedules
from schedgap.models.ring.heuristics.server_lanes import LaneAssignment, lane_widths
from schedgap.models.ring.rates import no_schedule, rate_table
from schedgap.models.ring.simulator import schedule_of
from strategies.ring import ring_instances
from strategies.ring_examples import instance_of, job


def lanes_of(instance: RingInstance, target: int = 1) -> LaneAssignment:
    table = rate_table(instance)
    return LaneAssignment(table, large_jobs_schedules(table, Random(0))[0], target)


def test_lanes_are_as_wide_as_the_jobs_with_the_most_work() -> None:
    """Slots at 14 or 10 a slot; work 3, 2 * 2, 3 * 4 and 4 * 5: 1 | 2 | 4 beats 1 | 3."""
    jobs = [job("a", 1, 42), job("b", 2, 20), job("c", 3, 40), job("d", 4, 50)]
    assert lane_widths(rate_table(instance_of(jobs, [8]))) == [1, 2, 4]
    assert lane_widths(rate_table(instance_of(jobs[:3], [8]))) == [1, 3]
    assert lane_widths(rate_table(instance_of(jobs, [3]))) == [1, 3]  # no server holds d


def test_a_server_is_cut_into_lanes_and_what_is_left_over() -> None:
    """7 GPUs for jobs of 4 and 1: a lane of 4 and three of 1; the lane of 4 into four of 1."""
    plan = lanes_of(instance_of([job("a", 4, 50), job("b", 1, 42), job("c", 3, 10)], [7]))
    assert plan.width == [7, 4, 1, 1, 1, 1, 1, 1, 1]
    assert plan.parent == [-1, 0, 1, 1, 1, 1, 0, 0, 0]
    assert plan.subtree_end == [9, 6, 3, 4, 5, 6, 7, 8, 9]
    assert [plan.width[plan.lane[j]] for j in range(3)] == [4, 1, 4]


def test_jobs_begin_longest_first_where_they_fit_best() -> None:
    """One GPU each: 6 slots alone, 3 behind 3; the last 2 behind 3 + 3 would be 8, behind 6 too."""
    jobs = [job(f"j{n}", 1, 14 * slots) for n, slots in enumerate((6, 3, 3, 2))]
    plan = lanes_of(instance_of(jobs, [1, 1]), 6)
    assert sorted(map(sorted, plan.jobs_in)) == [[0, 3], [1, 2]]
    assert plan.set_target(6) == 2 and plan.set_target(8) == 0


def test_lanes_wait_for_the_jobs_that_run_before() -> None:
    """A ring of 4 on 3 + 3 GPUs until slot 4 leaves two GPUs of the second server."""
    jobs = [job("a", 4, 24, 4 / 3), job("c", 1, 14), job("d", 3, 14)]
    plan = lanes_of(instance_of(jobs, [3, 3]), 5)
    assert plan.ready == [4, 4, 4, 4, 4, 4, 0, 0]
    found = plan.schedule()
    assert found.makespan == 5 and found.starts[0] == 1 and found.starts[2] == 5


@given(ring_instances(max_jobs=7, placeable=True, max_slots=9), st.integers(0, 99))
@settings(max_examples=35, deadline=None)
def test_the_plan_is_what_happens(instance: RingInstance, seed: int) -> None:
    """After any moves the schedule is feasible, and the excess is that computed from scratch."""
    if no_schedule(instance) or not large_jobs_schedules(rate_table(instance), Random(0)):
        return  # the jobs that no server holds may not end within the horizon
    plan = lanes_of(instance)
    rng = Random(seed)
    total = plan.set_target(max(1, plan.large_jobs.makespan + rng.randrange(9)))
    for _ in range(40 if plan.jobs else 0):
        before = state(plan)
        change = plan.try_move(rng)
        if change is not None and rng.random() < 0.5:
            plan.accept()
            total += change
        elif change is not None:
            plan.reject()
            assert state(plan) == before
    assert sum(plan.excess) == plan.set_target(plan.target) == total
    says = plan.schedule()
    assert (total == 0) == (says.makespan <= plan.target) or not plan.jobs
    found = schedule_of(instance, says.starts, says.placements)
    if says.makespan > instance.horizon:
        assert found is None
    else:
        assert found is not None
        assert tuple(found.runs[each.id].end for each in instance.jobs) == says.ends


def state(plan: LaneAssignment) -> Any:
    return [list(part) for part in (plan.end, plan.load, plan.excess, plan.lane, *plan.jobs_in)]
