"""The rounding of Algorithm 4, measured: relaxation, integer optimum, failed draws."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import arrays
from schedgap.models.dmlrs.algorithms import slot_placements
from schedgap.models.dmlrs.algorithms.lp_rounding import lp_rounding, summary, theta
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors
from schedgap.models.dmlrs.algorithms.rounding import Rounding
from schedgap.models.dmlrs.slot_options import SlotState, job_at_arrival
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock, solve
from strategies.dmlrs import dmlrs_instances
from strategies.dmlrs_examples import TOY, instance_of, job
from strategies.dmlrs_methods import METHODS


def optimum(program):
    result = solve(program, "highs", clock=Clock(20))
    return result.objective if result.status == "optimal" else None


def problems_of(slot, **options):
    seen = []
    Rounding(np.random.default_rng(0), observe=seen.append, **options)(slot)
    return seen


@settings(max_examples=25, deadline=None)
@given(
    dmlrs_instances(max_jobs=1, max_machines=3, max_workers=5),
    st.integers(0, 10**6),
    st.integers(-12, 3),
)
def test_the_relaxation_is_below_theta_and_theta_is_that_of_all_placements(instance, seed, power):
    """At prices of any size, and of many sizes on one machine."""
    room = arrays(instance).capacity_milli
    rng = np.random.default_rng(seed)
    price = 10.0 ** (power + rng.integers(-3, 4, room.shape)) * rng.integers(1, 9, room.shape)
    slot = SlotState(job_at_arrival(instance, 0), room, price)
    exact = {option.workers: option.cost for option in slot_placements.external_exact(slot)}
    for problem in problems_of(slot):
        assert problem.packing_failed <= problem.failed <= problem.draws <= 20
        assert problem.cost is None or problem.cost >= problem.lp * (1 - 1e-6)
        if problem.workers in exact:
            assert problem.lp <= exact[problem.workers] * (1 + 1e-6)
        found = theta(problem, optimum)
        if found is not None and instance.ps_rule == "at_least":
            assert found == pytest.approx(exact[problem.workers], rel=1e-5)


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0])
def test_the_relaxation_is_optimal_at_prices_below_the_tolerance_of_an_engine(size):
    """Three machines for 3 workers and 2 PSs: all fits on the two that are cheap.

    A machine of 2 GPUs and 4 CPUs holds 2 workers and 2 PSs. 3 GPUs and 5 CPUs cost 8 on cheap
    machines.
    """
    instance = instance_of([job("j1", 1, [9.0] * 4)], [{"gpu": 2, "cpu": 4}] * 3)
    price = size * np.array([[1e4, 1e4], [1.0, 1.0], [1.0, 1.0]])
    slot = SlotState(job_at_arrival(instance, 0), arrays(instance).capacity_milli, price)
    found = {problem.workers: problem.lp for problem in problems_of(slot)}
    assert found[3] == pytest.approx(8 * size, rel=1e-9)


def test_draws_that_fail_are_told_by_the_rows_that_they_break():
    """1.4 times 3 workers is 4 or 5 of at most 4; 0.25 times n is at most half of them."""
    slot = SlotState(job_at_arrival(TOY, 0), arrays(TOY).capacity_milli, np.ones((2, 2)))
    few = {problem.workers: problem for problem in problems_of(slot, gain=0.25)}
    assert few[4].cover_failed == few[4].failed == few[4].draws and few[4].packing_failed == 0
    assert few[4].cost is None and few[4].bound == 0.75
    many = {problem.workers: problem for problem in problems_of(slot, gain=3.0, delta=0.5)}
    assert many[4].packing_failed == many[4].failed == many[4].draws and many[4].cover_failed == 0
    assert many[4].bound == 18 and many[4].above_bound == 0


@settings(max_examples=20, deadline=None)
@given(dmlrs_instances(max_machines=3), st.integers(0, 99))
def test_the_measured_run_is_the_run(instance, seed):
    measured = lp_rounding(instance, optimum, seed=seed, problems=3)
    run = pd_ors(instance, seed=seed)
    assert measured.run.schedule == run.schedule
    assert measured.run.trace == run.trace
    assert len(measured.thetas) == min(3, len(measured.problems))


def test_the_method_reports_its_problems_as_plain_data():
    method = METHODS["lp-rounding"]
    call = RunContext(
        method.parse({"problems": "5"}), "highs", Budget(Clock(60), 0), NullProgress()
    )
    outcome = method(TOY, call)
    told = json.loads(json.dumps(outcome.trace["lp_rounding"]))
    assert told["problems"] == len(lp_rounding(TOY, optimum, problems=0).problems) > 0
    assert told["theta_known"] == 5 and told["theta_to_lp"]["mean"] >= 1 - 1e-9
    assert told["bound"] == {"mean": 3.0, "max": 3.0} and 0 <= told["failed"] <= 1


def test_a_run_without_problems_has_no_numbers():
    one = instance_of([job("j1", 1, [9.0] * 4)], [{"gpu": 2, "cpu": 4}])
    told = summary(lp_rounding(one, optimum))
    assert told["problems"] == 0 and told["failed"] is None
    assert told["cost_to_lp"] == {"mean": None, "max": None}
