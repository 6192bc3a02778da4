"""The bound from the prices of a run on family `dmlrs`, and PD-ORS as methods."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.generate import generate
from schedgap.models.dmlrs.algorithms.prices import final_prices
from schedgap.models.dmlrs.baselines.oasis import oasis
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.bounds.job_alone import alone_bound
from schedgap.models.dmlrs.bounds.solve_duals import merged_prices
from schedgap.models.dmlrs.rules import check
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers.children.clock import Clock
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, instance_of, job
from strategies.dmlrs_methods import METHODS

OF_PD_ORS = ("pd-ors", "pd-ors-hull", "pd-ors-greedy", "dual-online", "dual-10")


@settings(max_examples=18)
@given(dmlrs_instances(max_machines=3), st.sampled_from(["pd-ors", "pd-ors-greedy", "oasis"]))
def test_dual_online_bounds_the_optimum_whoever_made_the_prices(instance, of):
    method = METHODS["dual-online"]
    found = method(
        instance, RunContext(method.parse({"of": of}), "highs", Budget(), NullProgress())
    )
    assert found.bound >= optimum(instance) - 1e-9
    assert check_certificate(instance, found.certificate) == found.certificate["value"]
    assert found.bound <= alone_bound(instance)


def test_the_prices_of_a_run_are_those_of_the_cheapest_machine():
    instance = generate("dmlrs", preset="medium", seed=1)  # below the jobs alone, if by little
    call = RunContext({"of": "oasis"}, "highs", Budget(), NullProgress())
    found = METHODS["dual-online"](instance, call)
    assert found.bound < alone_bound(instance) and found.certificate["kind"] == "grid-prices"
    least = final_prices(instance, oasis(instance)).min(axis=1)
    assert {(t, r): p for t, r, p in found.certificate["prices"]} == {
        (t + 1, r): price for (t, r), price in np.ndenumerate(least) if price
    }


def test_a_machine_without_a_resource_has_no_price_for_it():
    """m2 has no GPU, and no machine has CPUs."""
    instance = instance_of([], [{"gpu": 2, "cpu": 0}, {"gpu": 0, "cpu": 0}])
    by_machine = np.tile([[3.0, 1.0], [0.0, 1.0]], (4, 1, 1))
    assert merged_prices(instance, by_machine).tolist() == [[3.0, 0.0]] * 4


@pytest.mark.parametrize("name", OF_PD_ORS)
def test_methods_on_the_toy(name):
    method = METHODS[name]
    call = RunContext(
        method.parse({}), method.choose_engine(None), Budget(Clock(30.0)), NullProgress()
    )
    found = method(TOY, call)
    if method.kind == "bound":
        assert found.schedule is None
        assert found.bound >= 20
    else:
        assert not list(check(TOY, found.schedule.to_data(TOY), {}))
        assert found.schedule.value(TOY) == 12
        assert found.trace["payoffs"]["j1"] == pytest.approx(7.9)


@pytest.mark.parametrize("name", OF_PD_ORS)
def test_methods_stop_in_time_and_know_empty_instances(name):
    method = METHODS[name]
    stopped = RunContext(
        method.parse({}), method.choose_engine(None), Budget(Clock(0.0)), NullProgress()
    )
    found = method(TOY, stopped)
    if method.kind == "bound":
        assert found.bound == pytest.approx(20) and found.note == "stopped: every job alone"
    else:
        assert found.bound is None
        assert found.schedule.admitted == ()
        assert found.note == "stopped: 3 of 3 jobs not looked at"
    call = RunContext(method.parse({}), method.choose_engine(None), Budget(), NullProgress())
    nothing = method(instance_of([]), call)
    if method.kind == "bound":
        assert nothing.bound == 0
    else:
        assert nothing.schedule.admitted == ()


@pytest.mark.parametrize("dp", ["exact", "grid", "literal"])
@pytest.mark.parametrize("gain", ["one", "packing", "cover", "1.5"])
def test_options_of_pd_ors(dp, gain):
    method = METHODS["pd-ors"]
    options = method.parse({"dp": dp, "gain": gain, "prices": "running", "delta": 0.5})
    found = method(TOY, RunContext(options, "highs", Budget(seed=1), NullProgress()))
    assert not list(check(TOY, found.schedule.to_data(TOY), {}))
    one = instance_of([job("j1", 1, [9.0] * 4)])
    assert (
        method(one, RunContext(options, "highs", Budget(seed=1), NullProgress())).schedule.value(
            one
        )
        == 9
    )
