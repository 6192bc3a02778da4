"""PD-ORS of family `dmlrs`: worked examples, validity, what it may know."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors
from schedgap.models.dmlrs.algorithms.prices import final_prices
from schedgap.models.dmlrs.rules import check, objective
from schedgap.models.method import AlgorithmRun
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job

Options = dict[str, Any]
VARIANTS: list[Options] = [
    {"across": across, "dp": dp}
    for across in ("round", "round-hull", "greedy", "exact")
    for dp in ("exact", "grid", "literal")
]


def value(instance: DmlrsInstance, run: AlgorithmRun) -> float:
    """Return what a schedule is worth, after the rules have passed it."""
    data = run.schedule.to_data(instance)
    assert not list(check(instance, data, {}))
    return objective(instance, data)


def ends(run: AlgorithmRun) -> dict[str, int]:
    """Return the last slot of each admitted job."""
    found: dict[str, int] = {}
    for row in run.schedule.allocations:
        found[row.job] = max(row.slot, found.get(row.job, 0))
    return found


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(v.values()))
def test_the_worked_examples(variant):
    # U = (8, 4), L = 0.01. An empty machine asks 0.01 for each GPU and CPU: 2 workers and their PS
    # take 2 GPUs and 3 CPUs, 0.05 in each of two slots: j1 8 - 0.1.
    run = pd_ors(TOY, **variant)
    assert value(TOY, run) == 8 + 3 + 1
    assert ends(run) == {"j1": 2, "j2": 2, "j3": 4}
    assert list(run.trace["payoffs"].values()) == pytest.approx([7.9, 2.9, 0.9])
    run = pd_ors(TOY_2, **variant)
    assert value(TOY_2, run) == 3
    assert ends(run) == {"j1": 2}
    assert list(run.trace["payoffs"].values()) == pytest.approx([2.9, 0])


@settings(max_examples=40)
@given(dmlrs_instances(), st.sampled_from(VARIANTS), st.integers(0, 9))
def test_every_schedule_is_valid_and_at_most_the_optimum(instance, variant, seed):
    run = pd_ors(instance, **variant, seed=seed)
    assert value(instance, run) <= optimum(instance) + 1e-6
    assert sum(payoff > 0 for payoff in run.trace["payoffs"].values()) == len(run.schedule.admitted)


@settings(max_examples=30)
@given(dmlrs_instances(min_jobs=2), st.sampled_from(VARIANTS))
def test_a_decision_does_not_depend_on_later_jobs(instance, variant):
    run = pd_ors(instance, **variant)
    decided = list(run.trace["payoffs"].items())
    last = decided[-1][0]
    data = instance.to_data()
    data["jobs"] = [each for each in data["jobs"] if each["id"] != last]
    before = pd_ors(DmlrsInstance.from_data(data), **variant)
    assert list(before.trace["payoffs"].items()) == decided[:-1]
    assert ends(before) == {name: end for name, end in ends(run).items() if name != last}


def test_only_the_oracle_knows_jobs_to_come():
    """j2, worth a hundredth of j1, lowers the L that j1 pays; nobody else may know (E8)."""
    jobs = [job("j1", 1, [9.0] * 4), job("j2", 2, [0.09] * 4)]
    alone, both = instance_of(jobs[:1]), instance_of(jobs)
    for prices, same in (("running", True), (None, True), ("oracle", False)):
        one, two = (pd_ors(each, prices=prices).trace["payoffs"]["j1"] for each in (alone, both))
        assert (one == two) == same


@settings(max_examples=40)
@given(dmlrs_instances(), st.sampled_from(VARIANTS))
def test_a_seed_repeats_a_run(instance, variant):
    first, second = (pd_ors(instance, **variant, seed=3) for _ in range(2))
    assert first.schedule == second.schedule


@settings(max_examples=45)
@given(dmlrs_instances(max_jobs=1, max_machines=3))
def test_one_job_alone_loses_no_more_than_its_best_schedule_costs(instance):
    run = pd_ors(instance, across="exact", dp="exact", prices="running")
    view = arrays(instance)
    held = instance.horizon * int(view.batch[0])  # workers, and as many PSs, at the least price
    cost = held * (view.worker_demand[0] + view.ps_demand[0]).sum() * run.trace["min_unit_utility"]
    assert value(instance, run) >= optimum(instance) - cost - 1e-6


def test_without_the_row_for_parameter_servers_nothing_is_placed_across():
    # The least cost takes s = 0, which (2) refuses; both machines are needed.
    one = instance_of([job("j1", 1, [9.0, 9.0], batch_size=4)], horizon=2)
    one = DmlrsInstance.from_data(
        one.to_data() | {"machines": [{"id": m, "capacity": {"gpu": 1, "cpu": 4}} for m in "abcd"]}
    )
    assert value(one, pd_ors(one)) == 9  # 4 workers across in each slot: 8 / 7.2
    literal = pd_ors(one, ps_row=False)
    assert value(one, literal) == 0
    assert literal.trace["rounding"]["draws_failed"] == literal.trace["rounding"]["draws"] > 0


def test_a_job_that_nothing_completes_moves_no_price():
    """Were it known, j2 of utility 90 would raise the U that j1 pays."""
    jobs = [job("j1", 1, [9.0] * 4), job("j2", 2, [90.0] * 4, epochs=1000)]
    alone, both = (pd_ors(instance_of(some), prices="oracle").trace for some in (jobs[:1], jobs))
    assert both["max_unit_utility"] == alone["max_unit_utility"] == {"gpu": 9.0, "cpu": 4.5}
    assert both["min_unit_utility"] == alone["min_unit_utility"]


def test_declared_prices_are_taken_unless_others_are_asked_for():
    """(13) of the jobs seen: u(0) = 10 at most, over a GPU and over 2 CPUs."""
    trace = pd_ors(TOY).trace
    assert trace["max_unit_utility"] == {"gpu": 8, "cpu": 4} and trace["min_unit_utility"] == 0.01
    running = pd_ors(TOY, prices="running").trace
    assert running["max_unit_utility"] == {"gpu": 10, "cpu": 5}


def test_a_part_of_a_quantum_is_a_quantum():
    """Of 60 samples two workers train 30 in a slot, 4 quanta of 7; 60 are 9 quanta: 3 slots."""
    run = pd_ors(TOY, dp="literal", quantum=7)
    assert ends(run)["j1"] == 3


def test_quanta_that_are_too_small_are_refused():
    one = instance_of([job("j1", 1, [9.0, 9.0, 9.0, 9.0], epochs=1000)])
    big = instance_of([job("j1", 1, [9.0] * 4, epochs=1000, time_per_sample=1e-5,
                           gradient_size=0.01)])  # fmt: skip
    assert pd_ors(one, dp="literal", quantum=1).schedule.admitted == ()
    with pytest.raises(ScaleError, match="at most 20000 quanta"):
        pd_ors(big, dp="literal", quantum=1)
    for quantum in (3, None):  # 10,000 quanta; 2,000
        assert pd_ors(big, dp="literal", quantum=quantum).schedule.admitted == ("j1",)


def test_no_jobs_and_no_use():
    empty = instance_of([])
    assert pd_ors(empty).schedule.admitted == ()
    useless = instance_of([job("j1", 1, [0.0] * 4)])
    run = pd_ors(useless)
    assert run.schedule.admitted == ()
    assert np.all(final_prices(useless, run) == 0)
