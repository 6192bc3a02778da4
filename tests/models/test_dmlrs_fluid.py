"""The fluid programs and what their prices prove: never below the optimum."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.instances.generate import generate
from schedgap.models.dmlrs.bounds.certificate_data import price_certificate
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.bounds.fluid import build
from schedgap.models.dmlrs.bounds.pricing import (
    REQUIRED_WORK,
    best_completion,
    least_costs,
    priced_bound,
)
from schedgap.models.dmlrs.throughput import first_completions
from schedgap.solvers import Clock, solve
from strategies.dmlrs import dmlrs_instances, optimum, utility
from strategies.dmlrs_examples import TOY, TOY_2, instance_of

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def fluid(instance):
    """The program's value, and the bound that its prices prove."""
    made = build(instance)
    result = solve(made.program, "highs", clock=Clock(30))
    assert result.status == "optimal"
    prices = made.prices(result.duals)
    return -result.objective, priced_bound(instance, prices)


@pytest.mark.parametrize(("instance", "best"), [(TOY, 20), (TOY_2, 10)])
def test_toys_are_almost_tight(instance, best):
    """The optimum of each toy, worked out by hand, is little less than the bound."""
    assert best <= fluid(instance)[1] <= best + 1.5


@settings(max_examples=27, **QUIET)
@given(dmlrs_instances())
def test_bounds_hold(instance):
    best = optimum(instance)
    value, bound = fluid(instance)
    assert best <= bound + 1e-6 and best <= value + 1e-5
    assert bound <= value + 1e-5  # bundles with whole PSs cost no less than the program's own


@settings(max_examples=27, **QUIET)
@given(dmlrs_instances(), st.data())
def test_any_prices_prove_a_bound(instance, data):
    size = instance.horizon, len(instance.resources)
    count = size[0] * size[1]
    drawn = data.draw(st.lists(st.sampled_from([0, 0.1, 1, 3, 20]), min_size=count, max_size=count))
    certificate = price_certificate(np.array(drawn, dtype=float).reshape(size))
    assert optimum(instance) <= check_certificate(instance, certificate)


@settings(max_examples=30, **QUIET)
@given(dmlrs_instances())
def test_no_prices_prove_the_sum_of_the_jobs_alone(instance):
    alone = math.fsum(
        utility(instance, i, first - instance.jobs[i].arrival)
        for i, first in enumerate(first_completions(instance))
        if first <= instance.horizon
    )
    assert check_certificate(instance, {"kind": "prices", "prices": []}) == pytest.approx(alone)


def test_a_narrow_cheap_bundle_does_not_block_its_slot():
    """Advance 1/4 for 1 or 1 for 10, two slots: 10 for the whole; half of each slot's step else.

    Cheapest first would take both cheap ones, half of the work for 2, and find no room for more.
    The steps cost 4 for each unit up to 1/4, then 12: 1/2 for 2, 1/2 more for 6, together 8.
    """
    advance = np.array([0.25, 1.0])
    costs = np.array([[1.0, 10.0]] * 2)
    steps = np.array([[(4.0, 0.25), (12.0, 0.75)]] * 2)
    both, one = np.array([1, 2]), np.array([1])
    assert least_costs(advance, costs, steps, both) == pytest.approx([10, 8], abs=1e-6)
    # any slope is valid: with 4 for all, 4 D; with 40, 40 D - 2 x 30
    low, high = (np.array([[(slope, 1.0)]] * 2) for slope in (4.0, 40.0))
    assert least_costs(advance, costs, low, both[1:]) == pytest.approx(4 * REQUIRED_WORK)
    assert least_costs(advance, costs, high, both[1:]) == 0
    assert least_costs(advance[:1], costs[:, :1], steps[:, :1], one) == math.inf


def test_payoff_by_hand():
    """TOY's j1 needs two slots of 2 workers and a PS (2 GPU, 3 CPU): 3 for each GPU costs 12.

    Across both machines 4 workers and 2 PSs do 4 / 7.2 of it: dearer for each part. u = 8 at 2.
    """
    prices = np.zeros((4, 2))
    prices[:, 0] = 0.5
    assert best_completion(TOY, 0, prices)[0] == pytest.approx(8 - 4 * 0.5)
    prices[:, 0] = 3
    assert best_completion(TOY, 0, prices)[0] == 0


def test_certificates_that_do_not_fit():
    for rows in ([[0, 0, 1]], [[1, 2, 1]], [[1, 0, -1]], [[1, 0, math.nan]], [[1]], [["a", 0, 1]]):
        with pytest.raises(InputError, match="certificate"):
            check_certificate(TOY, {"kind": "prices", "prices": rows})
    with pytest.raises(InputError, match="need one of"):
        check_certificate(TOY, {"kind": "duals"})
    assert check_certificate(instance_of([]), {"kind": "prices", "prices": []}) == 0


def test_a_generated_instance():
    """Without an order of its Y_t the program would be looser by 0.07 %."""
    instance = generate("dmlrs", preset="medium", seed=0)
    value, bound = fluid(instance)
    assert bound <= value + 1e-5
    assert value == pytest.approx(257.31971013599883, rel=1e-6)
