"""The bound from the prices of a run on family `dmlrs`, and PD-ORS as methods."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.instances.dmlrs import arrays
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors
from schedgap.models.dmlrs.algorithms.prices import final_prices
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.bounds.dual_price_bound import dense_prices, dual_bound, machine_prices
from schedgap.models.dmlrs.bounds.job_alone import alone_bound
from schedgap.models.dmlrs.rules import check
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers.children.clock import Clock
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, instance_of, job
from strategies.dmlrs_methods import METHODS

OF_PD_ORS = ("pd-ors", "pd-ors-greedy", "dual-online", "dual-10")


@settings(max_examples=30)
@given(
    dmlrs_instances(max_machines=3), st.sampled_from(["round", "greedy"]), st.sampled_from([3, 200])
)
def test_the_prices_of_a_run_bound_the_optimum(instance, across, grid):
    run = pd_ors(instance, across=across)
    bound = dual_bound(instance, final_prices(instance, run), grid=grid)
    assert bound is not None
    assert bound >= optimum(instance) - 1e-9


@settings(max_examples=40)
@given(dmlrs_instances(max_machines=3), st.integers(0, 10**6))
def test_any_prices_bound_the_optimum(instance, seed):
    shape = instance.horizon, *arrays(instance).capacity.shape
    rng = np.random.default_rng(seed)
    price = rng.integers(0, 8, shape) * rng.integers(0, 2, shape)
    bound = dual_bound(instance, price.astype(float))
    assert bound is not None
    assert bound >= optimum(instance) - 1e-9


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


def test_prices_by_machine_are_told_in_rows():
    """Nothing but what differs from L is written, and a file's own prices are checked."""
    price = final_prices(TOY, pd_ors(TOY))
    told = machine_prices(TOY, price, 0.01)
    assert len(told["prices"]) == int((price != 0.01).sum()) == 12
    again = dense_prices(TOY, told["base"], told["prices"])
    assert again == pytest.approx(price, rel=1e-11)
    assert check_certificate(TOY, told) == pytest.approx(dual_bound(TOY, price), rel=1e-9)
    for wrong in ([[0, 0, 0, 1]], [[1, 2, 0, 1]], [[1, 0, 2, 1]], [[1, 0, 0, -1]], [[1, 0, 1]]):
        with pytest.raises(InputError, match="certificate"):
            check_certificate(TOY, told | {"prices": wrong})
    for wrong in ({"base": -1}, {"base": math.nan}, {"grid": 0}, {"grid": 2.5}):
        with pytest.raises(InputError, match="certificate"):
            check_certificate(TOY, told | wrong)


def test_prices_of_nothing_bound_by_each_job_alone():
    # j1 10 -> 8 (2 slots inside a machine; 4 workers across in each slot, 8 / 7.2, need 2 as well),
    # j2 3, j3 9: with delay 1 each
    assert dual_bound(TOY, np.zeros((4, 2, 2))) == pytest.approx(8 + 3 + 9)
    assert dual_bound(TOY, np.zeros((4, 2, 2)), clock=Clock(0.0)) is None
    # any part of the work is all of it in a grid of one part: no delay
    assert dual_bound(TOY, np.zeros((4, 2, 2)), grid=1) == pytest.approx(10 + 3 + 9)


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
