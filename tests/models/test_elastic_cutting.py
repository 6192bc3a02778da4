"""Cuts over runs, and the tree over what they leave: nothing that is optimal gets lost."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.exact import cutting_planes
from schedgap.models.elastic.exact.branch_and_cut import branch_and_cut, value_of
from schedgap.models.elastic.exact.cutting_planes import CliqueCut, TightenedPool, tighten
from schedgap.models.elastic.exact.enumeration import next_better_value
from schedgap.models.elastic.exact.run_pool import RunPool
from schedgap.models.elastic.exact.slot_cuts import SlotSeparator
from schedgap.models.elastic.heuristics.initial import known_windows
from schedgap.models.elastic.programs.columns import ElasticRun, fits_together, run_from
from schedgap.models.elastic.programs.compact import enumerate_runs
from schedgap.models.elastic.programs.weights import value_step
from schedgap.models.elastic.time_windows import no_schedule
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from strategies.elastic import best_schedule, elastic_instances, instance_of

# One job is one slot of one worker with both of its GPUs; a server of three GPUs runs one at once.
TWO_GPUS = [{"id": "w1", "demand": {"gpu": 2, "bandwidth": 1}}]
THREE = [{"id": "s1", "capacity": {"gpu": 3, "cpu": 8, "bandwidth": 9}}]
ONE_SLOT = {"train_time": {"w1": 1}, "update_time": 0}


def ring(count: int) -> ElasticInstance:
    return instance_of(
        [ONE_SLOT] * count, architecture="ring_allreduce", servers=THREE, worker_types=TWO_GPUS
    )


def pool_of(instance: ElasticInstance) -> RunPool:
    runs = enumerate_runs(instance, known_windows(instance), 5000)
    assert runs is not None
    return RunPool(instance, runs)


def test_two_jobs_on_a_server_for_one_and_a_half_are_cut_apart() -> None:
    """Values 1 x 2 + 1 x 3 = 5; with 3/2 jobs in the first slot the relaxation says 4.5."""
    instance = ring(2)
    pool = pool_of(instance)
    first = np.flatnonzero(pool.start == 1)
    shares = np.zeros(len(pool))
    shares[first] = 0.75  # 2 x 0.75 workers of two GPUs hold all three
    [cut] = SlotSeparator(pool).separate(pool, shares, Clock())
    clique = CliqueCut(tuple(pool.runs[i] for i in first))
    for each in (cut, clique):
        assert each.row(pool, pool.cost) @ shares == pytest.approx(1.5 * each.limit)
    found = tighten(pool, 10, budget=Budget(Clock(60)))
    assert found.bound == pytest.approx(5)


def test_a_server_of_three_runs_one_of_two_and_one_of_one() -> None:
    """One job can use a worker of one GPU or one of two: a cut over both kinds."""
    kinds = [*TWO_GPUS, {"id": "w2", "demand": {"gpu": 1, "bandwidth": 1}}]
    job = {"train_time": {"w1": 1, "w2": 2}, "update_time": 0}
    instance = instance_of(
        [job] * 2, architecture="ring_allreduce", servers=THREE, worker_types=kinds
    )
    pool = pool_of(instance)
    large = (pool.start == 1) & (pool.end == 2)
    shares = np.where(large, 0.75, 0.0)
    [cut] = SlotSeparator(pool).separate(pool, shares, Clock())
    row = cut.row(pool, pool.cost)
    assert row @ shares > cut.limit + 0.1
    assert cut.slot == 1
    assert not row[pool.start > 1].any()


@settings(max_examples=18, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances(max_jobs=3), st.data())
def test_no_cut_takes_a_schedule_away(instance: ElasticInstance, data: st.DataObject) -> None:
    """Cuts for random fractions, against all sets of runs that fit together."""
    if no_schedule(instance) is not None:
        return
    pool = pool_of(instance)
    if not len(pool):
        return
    picked = sorted(
        data.draw(st.sets(st.integers(0, len(pool) - 1), min_size=1, max_size=9), "runs")
    )
    pool = RunPool(instance, [pool.runs[i] for i in picked])
    shares = np.array([data.draw(st.integers(0, 4)) / 4 for _ in picked])
    cuts = [*SlotSeparator(pool).separate(pool, shares, Clock())]
    for i in range(len(pool)):
        for other in np.flatnonzero(pool.excluded(i)):
            pair = [pool.runs[i], pool.runs[other]]
            assert pool.job[i] == pool.job[other] or not fits_together(instance, pair)
            cuts.append(CliqueCut(tuple(pair)))
    rows = [cut.row(pool, pool.cost) for cut in cuts]
    for taken in product((0, 1), repeat=len(pool)):
        chosen = [run for run, take in zip(pool.runs, taken, strict=True) if take]
        if len({run.job for run in chosen}) < len(chosen) or not fits_together(instance, chosen):
            continue
        for cut, row in zip(cuts, rows, strict=True):
            assert row @ np.array(taken) <= cut.limit * (1 + 1e-12)


def holds_an_optimum(instance: ElasticInstance) -> None:
    """The bound is below the optimum, and the runs of an optimal schedule are left."""
    value, schedule = best_schedule(instance)
    if schedule is None:
        return
    sign = -1 if instance.is_batch else 1
    optimum = sign * value
    runs = enumerate_runs(instance, known_windows(instance), 5000)
    if not runs:
        return
    told: list[list[ElasticRun]] = []
    found = tighten(
        RunPool(instance, runs), optimum + 1e-6, budget=Budget(Clock(60)), on_runs=told.append
    )
    assert found.bound <= optimum + 1e-9 * max(1, abs(optimum))
    index = {run: i for i, run in enumerate(found.pool.runs)}
    placed = [
        run_from(instance, j, schedule.segments(job.id)[0])
        for j, job in enumerate(instance.jobs)
        if job.id in schedule.placements
    ]
    known = [run for run in placed if run in set(runs)]
    if len(known) == len(placed):  # no job has PSs on several servers, or idle ones
        assert set(known) <= set(index)
        present = {run.job for run in known}
        paid = sum(found.reduced[index[run]] for run in known)
        paid += sum(cost for j, cost in enumerate(found.absent.tolist()) if j not in present)
        assert found.value + paid <= optimum + 1e-6 * max(1, abs(optimum))
    for whole in told:
        gained = sum(
            -instance.jobs[run.job].weight
            if instance.is_batch
            else instance.jobs[run.job].weight * run.end
            for run in whole
        )
        assert fits_together(instance, whole)
        assert gained == pytest.approx(optimum)


@settings(max_examples=18, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.booleans().flatmap(lambda whole: elastic_instances(integer=whole)))
def test_what_is_left_holds_an_optimal_schedule(instance: ElasticInstance) -> None:
    if no_schedule(instance) is None:
        holds_an_optimum(instance)


def branched(instance: ElasticInstance) -> int:
    """Branch and cut finds the optimum over all runs, and proves it; returns its nodes."""
    if no_schedule(instance) is not None:
        return 0
    runs = enumerate_runs(instance, known_windows(instance), 5000)
    value, _ = best_schedule(instance)
    optimum = -value if instance.is_batch else value
    if not runs or value == math.inf:
        return 0
    pool = RunPool(instance, runs)
    none = np.zeros(len(instance.jobs))
    floor = float(np.minimum(pool.cost, 0).sum())  # any bound will do
    left = TightenedPool(pool, np.zeros(len(pool)), none, floor, 0.0)
    most = float(np.abs(pool.cost).sum())
    step = value_step(instance)
    better = partial(next_better_value, step=step)
    bounds: list[float] = []
    found = branch_and_cut(
        left,
        most,
        next_better=better,
        budget=Budget(Clock(60)),
        on_bound=bounds.append,
    )
    assert found.complete
    assert found.runs is not None
    assert fits_together(instance, found.runs)
    assert value_of(instance, found.runs) == pytest.approx(optimum)
    assert found.lower == pytest.approx(optimum, rel=1e-6, abs=1e-6)
    assert all(bound <= optimum + 1e-6 for bound in bounds)
    best = next_better_value(optimum, step)
    nothing = branch_and_cut(left, best, next_better=better, budget=Budget(Clock(60)))
    assert nothing.complete
    assert nothing.runs is None
    return found.nodes


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.booleans().flatmap(lambda whole: elastic_instances(integer=whole)))
def test_branch_and_cut_finds_the_optimum(instance: ElasticInstance) -> None:
    branched(instance)


def without_cuts(instances: list[ElasticInstance]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting_planes, "MAX_CLIQUES", 0)
        patch.setattr(SlotSeparator, "separate", lambda self, pool, shares, clock: [])
        nodes = [branched(instance) for instance in instances]
    assert max(nodes) > 1


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(elastic_instances(max_jobs=2), min_size=4, max_size=4))
def test_a_tree_without_cuts_finds_the_optimum_too(instances: list[ElasticInstance]) -> None:
    """Without cuts even tiny instances branch: three jobs that exclude each other, among others."""
    without_cuts([ring(3), *instances])


@pytest.mark.nightly
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(elastic_instances(max_jobs=2), min_size=6, max_size=6))
def test_a_tree_without_cuts_finds_the_optimum_too_at_length(
    instances: list[ElasticInstance],
) -> None:
    without_cuts([ring(3), *instances])


@pytest.mark.nightly
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.booleans().flatmap(lambda whole: elastic_instances(integer=whole)))
def test_what_is_left_holds_an_optimal_schedule_at_length(instance: ElasticInstance) -> None:
    if no_schedule(instance) is None:
        holds_an_optimum(instance)
