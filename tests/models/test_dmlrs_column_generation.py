"""Column generation: its bounds hold, and whole bundles bound better than fluid workers."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.models.dmlrs.bounds.certificate_data import price_certificate
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.bounds.column_generation import generate, price_all, resource_prices
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import run

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=40, **QUIET)
@given(dmlrs_instances(), st.sampled_from([3, 20, 3000]))
def test_bounds_hold_and_meet_the_master(instance, grid):
    found = generate(instance, grid=grid, budget=Budget(Clock(30)))
    assert found.end == "closed" and -found.bound >= optimum(instance) - 1e-6
    assert found.bound == pytest.approx(found.objective, rel=1e-5, abs=1e-5)
    again, _ = price_all(instance, resource_prices(instance, found.prices), grid, Clock())
    assert again == pytest.approx(-found.bound)


@settings(max_examples=40, **QUIET)
@given(dmlrs_instances(), st.data())
def test_any_prices_prove_a_bound(instance, data):
    size = instance.horizon, len(instance.resources)
    count = size[0] * size[1]
    drawn = data.draw(st.lists(st.sampled_from([0, 0.1, 1, 3, 20]), min_size=count, max_size=count))
    grid = data.draw(st.sampled_from([1, 7, 3000]))
    certificate = price_certificate(np.array(drawn, dtype=float).reshape(size), grid)
    assert optimum(instance) <= check_certificate(instance, certificate)


def test_whole_bundles_bound_better_than_fluid_workers():
    """Jobs of 3 worker-slots in pairs of workers: 4 of the 6 that slots 1 and 2 have.

    One job fits: 9. Fluid workers do both, 9 + 8; bundles one and a half, 9 + 4.
    """
    paired = {"time_per_sample": 0.05 - 8 / 300, "external_bandwidth": 300.0}
    jobs = [job(name, 1, [u, u, 0, 0], **paired) for name, u in (("j1", 9), ("j2", 8))]
    instance = instance_of(jobs, [{"gpu": 3, "cpu": 9}], ps_rule="exact")
    found = run("colgen", instance)
    assert optimum(instance) == 9
    assert found.trace["fluid"] == pytest.approx(17)
    assert found.bound == pytest.approx(13, rel=1e-5)
    assert found.bound == check_certificate(instance, found.certificate)


@pytest.mark.parametrize(("instance", "best"), [(TOY, 20), (TOY_2, 10), (instance_of([]), 0)])
def test_the_method(instance, best):
    found = run("colgen", instance)
    assert best <= found.bound <= best + 1.5
    assert check_certificate(instance, found.certificate) == found.bound


def test_grids_that_do_not_fit():
    for grid in (0, -1, 1.5, True, 10**9, None):
        with pytest.raises(InputError, match="certificate"):
            check_certificate(TOY, {"kind": "grid-prices", "grid": grid, "prices": []})
