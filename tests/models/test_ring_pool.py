"""The choice from a pool of schedules of family `ring`, and limits on loads."""

import math
from itertools import combinations, product

import pyomo.environ as pyo
import pytest
from hypothesis import HealthCheck, given, settings

from schedgap.errors import UsageError
from schedgap.instances.ring import RingInstance
from schedgap.models.ring.algorithms.sjf_bco import sjf_bco
from schedgap.models.ring.exact import all_schedules
from schedgap.models.ring.methods import METHODS
from schedgap.models.ring.programs import load_limit, schedule_pool
from schedgap.models.ring.rates import no_schedule, rate_table
from schedgap.models.ring.simulator import schedule_of
from schedgap.solvers import Clock, solve
from strategies.ring import optimum, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job
from strategies.ring_methods import Heard, run

BY_NAME = {method.name: method for method in METHODS}
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
    model = schedule_pool.build(W1, pool)
    assert solved(model) == pytest.approx(8)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    assert solved(model) == pytest.approx(6)


def test_a_complete_pool_holds_the_optimum_and_proves_it():
    outcome = run(BY_NAME["complete-pool"], W1)
    assert outcome.schedule.makespan == 7 and outcome.bound == 7
    assert outcome.schedule.makespan == 7 and list(outcome.trace["proof"]) == ["complete search"]


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
        all_schedules.complete_pool(W3, 8)


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
    limit = run(BY_NAME["theta-feasible"], W2)
    assert limit.bound == 6 and limit.trace["exact"] is True
    sjf = of_sjf_bco(W2)
    assert sjf.makespan == 7
    assert solved(schedule_pool.build_limit(W2, [sjf])) == pytest.approx(7)  # no bound on 6


def test_equal_jobs_and_the_two_gpus_of_one_are_all_dealt_out():
    # three jobs of 3 slots on two GPUs: some GPU has two of them, 6, where 9 / 2 rounds up to 5
    equal = instance_of([job(name, 1, 42) for name in "abc"], [2])
    assert run(BY_NAME["theta-feasible"], equal).bound == 6
    # a job of 2 GPUs and a slot uses both, and another takes 10 slots: 11, where 12 / 2 = 6
    wide = instance_of([job("a", 2, 14), job("b", 1, 140)], [2])
    assert run(BY_NAME["theta-feasible"], wide).bound == 11


def test_the_printed_limit_is_that_of_the_compact_form():
    """4 + 4 of 9 GPUs need not share: 3.36 slots of one job, below its 4 slots."""
    limit = solved(schedule_pool.build_limit(W1, all_schedules.complete_pool(W1, 8)))
    assert limit == pytest.approx(3.36)
    assert load_limit.estimated_loads(rate_table(W1)) == pytest.approx((3.36, 3.36))
    assert run(BY_NAME["theta-feasible"], W1).bound == 4
    assert run(BY_NAME["theta-feasible"], W1, form="pool").bound == 4  # a former name


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
    outcome = run(BY_NAME["theta-feasible"], instance)
    if outcome.infeasible:
        assert best is None
    elif best is not None:
        assert outcome.bound <= best


def test_kinds_of_jobs_share_columns():
    # three kinds by size and length on 5 GPUs, and theta
    jobs = [job("a", 1, 70), job("b", 1, 70), job("c", 2, 70), job("d", 1, 28)]
    table = rate_table(instance_of(jobs, [5]))
    assert load_limit.build(table, table.best_slots).matrix.shape[1] == 3 * 5 + 1
