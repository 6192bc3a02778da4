"""The subproblems of PD-ORS as programs, against the algorithms that solve them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, STEP, arrays
from schedgap.models.dmlrs.algorithms import dynamic_program, slot_placements
from schedgap.models.dmlrs.algorithms.best_schedule import best_schedule
from schedgap.models.dmlrs.methods import PROGRAMS
from schedgap.models.dmlrs.programs import across_machines, dual
from schedgap.models.dmlrs.programs.subproblems import (
    JobSubproblem,
    build_15,
    build_16,
    build_19,
    build_22,
    last_to_arrive,
)
from schedgap.solvers import Clock, solve
from schedgap.solvers.programs.export import write_model
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, instance_of, job

CLOSE = {"rel": 1e-6, "abs": 1e-6}


def value(model) -> float:
    """Return the optimum of a least-cost program; inf where there is none."""
    result = solve(model, "highs", clock=Clock())
    return math.inf if result.status == "infeasible" else float(result.objective)


def offers(slot):
    return [*slot_placements.internal(slot), *slot_placements.external_exact(slot)]


@st.composite
def asked_jobs(draw) -> JobSubproblem:
    """Draw the last job of an instance, at prices of any size."""
    instance = draw(dmlrs_instances(max_machines=3, max_slots=3))
    try:
        asked = last_to_arrive(instance)
    except UsageError:
        asked = last_to_arrive(TOY)
    price = asked.cluster.price
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    asked.cluster.price = rng.integers(0, 9, price.shape) / 8.0
    return asked


@settings(max_examples=8, deadline=None)
@given(asked_jobs())
def test_15_is_the_payoff_of_algorithm_2_and_16_the_cost_of_algorithm_3(asked):
    volume = asked.instance.jobs[asked.job.index].volume
    payoff = best_schedule(asked.cluster, asked.job, offers, volume, dp="exact").payoff
    found = solve(build_15(asked), "highs", clock=Clock())
    assert found.objective == pytest.approx(payoff, **CLOSE)
    rows = asked.cluster.options(asked.job, offers)
    assert value(build_16(asked)) == pytest.approx(
        dynamic_program.exact(asked.job, rows).cost[-1], **CLOSE
    )


@settings(max_examples=9, deadline=None)
@given(asked_jobs(), st.data())
def test_19_22_and_23_are_the_slots_of_algorithm_4(asked, data):
    slot = asked.slot(asked.job.arrival)
    n = data.draw(st.sampled_from(asked.job.bundles.workers.tolist()))
    inside = {each.workers: each.cost for each in slot_placements.internal(slot)}
    across = {each.workers: each.cost for each in slot_placements.external_exact(slot)}
    if n <= asked.job.bundles.workers[asked.job.useful_bundles(INTERNAL) - 1]:
        assert value(build_22(slot, n)) == pytest.approx(inside.get(n, math.inf), **CLOSE)
    if (
        len(slot.free) > 1
        and n <= asked.job.bundles.workers[asked.job.useful_bundles(EXTERNAL) - 1]
    ):
        whole = value(across_machines.model(slot, n))
        least = min((cost for k, cost in across.items() if k >= n), default=math.inf)
        if not asked.job.exact_ps:
            assert whole <= across.get(n, math.inf) + 1e-6
        assert value(across_machines.model(slot, n, relax=True)) <= whole + 1e-6
        both = [cost for k, cost in inside.items() if k >= n] + [least]
        found = value(build_19(slot, n, n))
        assert found <= min(both) + 1e-6


def test_a_slot_of_the_toy_by_hand():
    """Prices of 1: 2 workers and a PS take 2 GPUs and 3 CPUs; 3 and 2 take 3 and 5."""
    asked = last_to_arrive(instance_of([job("j1", 1, [9.0] * 4)]))
    asked.cluster.price = np.ones((4, 2, 2))
    slot = asked.slot(1)
    assert value(build_22(slot, 2)) == 5 and value(build_22(slot, 3)) == math.inf
    assert value(across_machines.model(slot, 3)) == 8
    assert value(across_machines.model(slot, 3, relax=True)) == 8
    rows = across_machines.model(slot, 3).eq_25_26
    assert sorted((row.lower(), row.upper()) for row in rows.values()) == [(3, 4)]
    assert value(build_19(slot, 2, 3)) == 5 and value(build_19(slot, 3, 3)) == 8
    # N_int = 4: two slots of 2 inside; utility 9
    assert value(build_16(asked)) == 10
    assert solve(build_15(asked), "highs", clock=Clock()).objective == pytest.approx(0)
    asked.cluster.price /= 2
    assert solve(build_15(asked), "highs", clock=Clock()).objective == pytest.approx(4)


def test_the_last_job_meets_the_prices_that_those_before_have_made():
    """The greedy run puts j1 on m1 and j2 on m2 in slots 1 and 2; j3 arrives in slot 2."""
    asked = last_to_arrive(TOY)
    assert TOY.jobs[asked.job.index].id == "j3"
    full = asked.cluster.load[:, :, 0] == arrays(TOY).capacity_milli[:, 0]
    assert full.tolist() == [[True, True], [True, True], [False, False], [False, False]]
    assert asked.cluster.price[0, 0, 0] == 8 and asked.cluster.price[3, 0, 0] == 0.01
    assert asked.cluster.price[0, 0, 1] == pytest.approx(0.01 * 400 ** (3 * STEP / (4 * STEP)))
    # slot 3 is empty: three workers across, 2 PSs, 3 GPUs and 5 CPUs at 0.01
    assert value(PROGRAMS["sub-23"](TOY)) == pytest.approx(0.08)
    with pytest.raises(UsageError, match="no job can be completed"):
        last_to_arrive(instance_of([]))


@settings(max_examples=25, deadline=None)
@given(dmlrs_instances(max_jobs=2, max_slots=3))
def test_10_bounds_the_optimum(instance):
    found = value(dual.build(instance))
    assert found >= optimum(instance) - 1e-6


def test_10_of_one_machine_by_hand():
    """Two equal jobs of 2 of 2 GPUs and one slot: a price of u / 2 for each GPU, or a payoff."""
    jobs = [job(n, 1, [6.0], epochs=1, batch_size=2, samples=21) for n in ("j1", "j2")]
    one = instance_of(jobs, [{"gpu": 2, "cpu": 9}], horizon=1)
    ways = dual.all_schedules(one)
    assert [(way.job, way.utility) for way in ways] == [(0, 6.0), (1, 6.0)]
    assert value(dual.build(one)) == pytest.approx(6)


def test_what_is_too_large_for_a_row_each_is_refused():
    wide = instance_of([job("j1", 1, [9.0] * 12, batch_size=40, epochs=90)], horizon=12)
    with pytest.raises(UsageError, match="too many schedules"):
        dual.build(wide)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_can_be_written(name, tmp_path):
    write_model(PROGRAMS[name](TOY), tmp_path / "toy.lp")
    assert "End" in (tmp_path / "toy.lp").read_text().title()
