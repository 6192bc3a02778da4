"""The choice from a pool of schedules of family `ring`, and limits on loads."""

import math
from itertools import combinations, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import UsageError
from schedgap.instances.ring import RingInstance
from schedgap.models.ring import rules
from schedgap.models.ring.algorithms.sjf_bco import sjf_bco
from schedgap.models.ring.exact import all_schedules
from schedgap.models.ring.exact.gpu_numbers import StoppedError, least_load, overlaps
from schedgap.models.ring.methods import METHODS
from schedgap.models.ring.programs import load_limit, schedule_pool
from schedgap.models.ring.rates import no_schedule, rate_table
from schedgap.models.ring.simulator import schedule_of
from schedgap.solvers import Clock, solve
from strategies.clocks import StopAt
from strategies.ring import optimum, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job
from strategies.ring_methods import Heard, apart, run

BY_NAME = {method.name: method for method in METHODS}
POOL = {"form": "pool"}
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def of_sjf_bco(instance: RingInstance):
    found = sjf_bco(instance).schedule
    assert found is not None
    return found


def solved(model):
    return solve(model, "highs", clock=Clock(30)).objective


# --- complete-pool -------------------------------------------------------------------------------


def test_the_best_of_a_pool_is_chosen():
    # W1: both at once end in 8; b from slot 4 in 7; one after the other in 8
    pool = [
        schedule_of(W1, [1, 1], [{0: 3, 1: 1}, {1: 2, 2: 2}]),
        schedule_of(W1, [1, 4], [{0: 3, 1: 1}, {1: 2, 2: 2}]),
        schedule_of(W1, [1, 5], [{0: 3, 1: 1}, {1: 2, 2: 2}]),
    ]
    model = schedule_pool.build(W1, pool)
    assert solved(model) == pytest.approx(7)
    assert schedule_pool.read(model, W1) == pool[1]


def test_the_relaxation_mixes_schedules():
    # a ends in 4 or 8, b in 8 or 4: half of each is 6
    pool = [
        schedule_of(W1, [1, 5], [{0: 3, 1: 1}, {1: 2, 2: 2}]),
        schedule_of(W1, [5, 1], [{0: 3, 1: 1}, {1: 2, 2: 2}]),
    ]
    assert solved(schedule_pool.build(W1, pool, relaxed=True)) == pytest.approx(6)
    assert solved(schedule_pool.build(W1, pool)) == pytest.approx(8)


def test_a_complete_pool_holds_the_optimum_and_proves_it():
    outcome = run(BY_NAME["complete-pool"], W1)
    assert outcome.schedule.makespan == 7 and outcome.bound == 7
    assert outcome.trace["lp_value"] <= 7 and outcome.trace["makespan_eq9"] == 8


@settings(max_examples=10, **QUIET)
@given(ring_instances(max_jobs=2, max_servers=2, max_slots=3, placeable=True))
def test_a_complete_pool_agrees_with_enumeration(instance):
    if no_schedule(instance) is not None:
        return
    outcome = run(BY_NAME["complete-pool"], instance)
    best = optimum(instance)
    assert outcome.infeasible == (best is None)
    assert best is None or outcome.schedule.makespan == outcome.bound == best


def test_too_large_a_pool_is_refused():
    with pytest.raises(UsageError, match=r"complete pool: more than 200000.*: take fewer"):
        all_schedules.latest_end(W3)


def test_cp_sat_chooses_alike():
    found = apart("complete-pool", W1, "cp-sat")
    assert found.schedule.makespan == found.bound == 7


def test_plans_are_counted():
    # 4 workers on three servers of 3: 15 ways in all, less 3 with all on one; 3 slots, two jobs
    assert all_schedules.count_plans(W1, 3) == (3 * 12) ** 2
    assert all_schedules.unsupported_reason(W1) is None
    assert "for tiny instances only" in str(all_schedules.unsupported_reason(W3))


# --- theta-feasible ------------------------------------------------------------------------------


def least_limit(instance: RingInstance, loads) -> float:
    """Return the least limit by trying all choices of GPUs, by index."""
    N = instance.gpus
    choices = [list(combinations(range(N), job.gpus)) for job in instance.jobs]
    best = math.inf
    for chosen in product(*choices):
        load = [0.0] * N
        for gpus, more in zip(chosen, loads, strict=True):
            for g in gpus:
                load[g] += more
        best = min(best, max(load))
    return best


def test_w2_has_theta_star_6_where_sjf_bco_has_7():
    assert run(BY_NAME["theta-feasible"], W2, form="pool").bound == 6
    limit = run(BY_NAME["theta-feasible"], W2)
    assert limit.bound == 6 and limit.trace["exact"] is True
    sjf = of_sjf_bco(W2)
    assert sjf.makespan == 7
    assert solved(schedule_pool.build_limit(W2, [sjf])) == pytest.approx(7)  # no bound on 6


def test_equal_jobs_and_the_two_gpus_of_one_are_all_dealt_out():
    # three jobs of 3 slots on two GPUs: some GPU has two of them, 6, where 9 / 2 rounds up to 5
    equal = instance_of([job(name, 1, 42) for name in "abc"], [2])
    assert run(BY_NAME["theta-feasible"], equal).bound == 6
    # a job of 2 GPUs and a slot uses both, beside one of 10 slots: 11, where 12 / 2 = 6
    wide = instance_of([job("a", 2, 14), job("b", 1, 140)], [2])
    assert run(BY_NAME["theta-feasible"], wide).bound == 11


def test_a_limit_of_a_complete_pool_is_not_below_the_compact_one():
    pool = all_schedules.complete_pool(W1, 8)
    assert pool is not None
    # 3.36 for a job, and some GPU of s1, s2 or s3 has both: 4 + 4 of 9 GPUs need not share
    limit = solved(schedule_pool.build_limit(W1, pool))
    assert limit == pytest.approx(3.36)
    assert load_limit.estimated_loads(rate_table(W1)) == pytest.approx((3.36, 3.36))  # d = 4
    assert run(BY_NAME["theta-feasible"], W1).bound == math.ceil(limit)
    assert run(BY_NAME["theta-feasible"], W1, form="pool").bound == math.ceil(limit)


def test_the_limit_is_the_least_over_gpu_numbers_too():
    """Jobs of 2 GPUs and load 1, of 1 and 1, of 1 and 0.5 on 3 GPUs; all take 2 slots.

    One after the other on the lowest numbers GPU 0 has all of them; side by side 1 is enough.
    """
    passes = {"batch_size": 1, "forward_time_per_sample": 0.5, "backward_time": 0.25}
    jobs = [
        job(name, gpus, 2, **passes, estimated_slots=slots)
        for name, gpus, slots in (("a", 2, 3), ("b", 1, 2), ("c", 1, 1))
    ]
    instance = instance_of(jobs, [3], horizon=12, overhead_per_server=0.25)
    assert load_limit.estimated_loads(rate_table(instance)) == pytest.approx((2, 4 / 3, 2 / 3))
    lowest = all_schedules.complete_pool(instance, 4)
    assert lowest is not None
    assert solved(schedule_pool.build_limit(instance, lowest)) == pytest.approx(8 / 3)
    pool, limit = all_schedules.limit_pool(instance, 4)
    assert limit == pytest.approx(2)
    assert solved(schedule_pool.build_limit(instance, pool)) == pytest.approx(2)
    assert run(BY_NAME["theta-feasible"], instance, form="pool").bound == 2
    for kept in pool:
        assert list(rules.check(instance, kept.to_data(instance), {})) == []


@st.composite
def shared_servers(draw):
    """Draw one server's GPUs, and jobs on it that fit: workers, first and last slots, loads."""
    room = draw(st.integers(1, 4))
    spans, counts, loads = [], [], []
    for first in sorted(draw(st.lists(st.integers(1, 4), max_size=4))):
        last = first + draw(st.integers(0, 2))
        count = draw(st.integers(1, room))
        busy = sum(n for n, (_, end) in zip(counts, spans, strict=True) if end >= first)
        if busy + count <= room:
            spans.append((first, last))
            counts.append(count)
            loads.append(draw(st.sampled_from([1 / 3, 0.5, 1.0, 1 + 1e-6, 2.0, 1e6])))
    return room, spans, counts, loads


@settings(max_examples=75, **QUIET)
@given(shared_servers())
def test_numbers_of_the_least_load_agree_with_trying_all(server):
    room, spans, counts, loads = server
    jobs = range(len(spans))
    meets = overlaps(spans)
    found = least_load(room, [(j, counts[j]) for j in jobs], meets, loads)
    best = math.inf
    for chosen in product(*(combinations(range(room), counts[j]) for j in jobs)):
        if any(meets[j] >> k & 1 and set(chosen[j]) & set(chosen[k]) for j in jobs for k in jobs):
            continue
        best = min(best, _largest(room, chosen, loads))
    assert found.load == pytest.approx(best, rel=1e-9)
    assert [len(set(gpus)) for gpus in found.gpus] == counts
    assert _largest(room, found.gpus, loads) == pytest.approx(found.load, rel=1e-9)
    for j in jobs:
        for k in jobs:
            assert not meets[j] >> k & 1 or not set(found.gpus[j]) & set(found.gpus[k])


def _largest(room, chosen, loads):
    return max(sum(loads[j] for j in range(len(loads)) if g in chosen[j]) for g in range(room))


def test_a_pool_that_is_stopped_proves_nothing():
    for k in range(0, 60, 3):
        outcome = run(BY_NAME["theta-feasible"], W2, clock=StopAt(k), form="pool")
        assert outcome.bound in (None, 6)
        outcome = run(BY_NAME["complete-pool"], W1, clock=StopAt(k))
        assert outcome.bound in (None, 7) and not outcome.infeasible
    many = all_schedules.limit_pool(W1, 8, iter([*[False] * 30, *[True] * 10**6]).__next__)
    assert many is None
    with pytest.raises(StoppedError):
        least_load(60, [(0, 20), (1, 25), (2, 25)], (0, 0, 0), (1.0, 1.1, 1.2), lambda: True)


@settings(max_examples=20, **QUIET)
@given(ring_instances(max_jobs=3, max_servers=2, max_slots=3, placeable=True))
def test_limits_agree_with_trying_all_choices(instance):
    if no_schedule(instance) is not None or instance.gpus > 6:
        return
    loads = load_limit.estimated_loads(rate_table(instance))
    heard = Heard()
    outcome = run(BY_NAME["theta-feasible"], instance, heard=heard)
    expected = math.ceil(least_limit(instance, loads) - 1e-6)
    if expected > instance.horizon:
        assert outcome.infeasible
    else:
        assert outcome.bound == expected
    assert all(bound <= expected for bound in heard.bounds)


@settings(max_examples=20, **QUIET)
@given(ring_instances(max_jobs=3, max_servers=2, max_slots=3, placeable=True))
def test_limits_are_bounds(instance):
    if no_schedule(instance) is not None:
        return
    best = optimum(instance)
    tiny = all_schedules.count_plans(instance, instance.horizon) <= 2000
    for options in ({}, POOL):
        if options and not tiny:
            continue
        outcome = run(BY_NAME["theta-feasible"], instance, **options)
        if outcome.infeasible:
            assert best is None
        elif best is not None:
            assert outcome.bound <= best


def test_kinds_of_jobs_share_columns():
    # three kinds by size and length on 5 GPUs, and theta
    jobs = [job("a", 1, 70), job("b", 1, 70), job("c", 2, 70), job("d", 1, 28)]
    table = rate_table(instance_of(jobs, [5]))
    assert load_limit.build(table, table.best_slots).matrix.shape[1] == 3 * 5 + 1
