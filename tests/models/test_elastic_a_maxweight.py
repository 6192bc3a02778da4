"""A_maxweight: by hand, by the rules, and what its constants and prices are."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import rules
from schedgap.models.elastic.algorithms.a_maxweight import (
    ServedBatch,
    batch_of,
    constants,
    schedule_of,
    serve_batch,
)
from strategies.elastic import brute_force, elastic_instances, instance_of
from strategies.elastic_examples import BATCH, TOY


def run(instance: ElasticInstance, **options: object) -> ServedBatch:
    view, jobs = batch_of(instance)
    names = ("F", "normalise")
    const = constants(instance, **{key: options.pop(key) for key in names if key in options})
    assert instance.deadline is not None
    return serve_batch(view, jobs, instance.deadline, const, **options)  # type: ignore[arg-type]


def names(batch: ServedBatch) -> list[str]:
    return [arrived_job.job.id for arrived_job, _ in batch.served]


def test_the_toy_s_constants() -> None:
    """A worker is 1/2 + 2/8 + 1/6 = 11/12 of a mean server, a PS 2/8 + 3/6 = 3/4.

    j1, modes within T = 10: (2 x 11/12 + 3/4) 3 = 7.75; (11/12 + 3/4) 6 = 10; split N = 3:
    (2.75 + 0.75) 4 = 14; N = 2: 2.58333 x 6 = 15.5. kappa = 15.5 / 3. j2: least 2.58333.
    F = max(kappa 3 / 7.75, kappa 5 / 2.58333) = max(2, 10). lambda = 2 x 10 x 2 x 3 x 10 + 1.
    """
    const = constants(TOY)
    assert const.kappa == pytest.approx(15.5 / 3)
    assert pytest.approx(10) == const.F
    assert const.lam == pytest.approx(1201)
    assert constants(TOY, F=2).lam == pytest.approx(241)


def test_constants_without_scales_are_sums_of_unlike_units() -> None:
    """j2, N = 2, d = 1: 2 (1 + 2 + 1) + 5 = 13, so F = 5 / 13; j1: 3 / 39."""
    const = constants(TOY, normalise=False)
    assert (const.kappa, const.F) == (1.0, pytest.approx(5 / 13))


def test_the_first_job_of_a_batch_takes_the_server_for_nothing() -> None:
    """At zero prices j1 costs 0; then j2 does not fit: 3 where 5 is the optimum (E15)."""
    found = run(BATCH)
    assert (found.weight, names(found)) == (3.0, ["j1"])
    assert brute_force(BATCH) == 5.0


def test_by_density_the_batch_is_served_as_well_as_can_be() -> None:
    """3 / 7.75 x 2 < 5 / 2.58333: j2 comes first; after it j1 would end too late."""
    found = run(BATCH, order="density")
    assert (found.weight, names(found)) == (5.0, ["j2"])


def test_prices_rise_exponentially_with_use() -> None:
    """j1 holds both GPUs, 4 + 2 of 8 CPUs and 2 + 3 of 6 bandwidth of s1 in slots 1-3."""
    found, const = run(BATCH), constants(BATCH)
    share = np.array([1, 6 / 8, 5 / 6])
    delta = const.lam**share - 1
    mean = np.array([2, 8, 6])
    expected = np.repeat((delta / mean / const.kappa)[:, None], 3, axis=1)
    assert found.prices[0] == pytest.approx(expected)


def test_a_job_that_costs_more_than_it_weighs_is_refused() -> None:
    """Two GPUs, each job one of them for the only slot. Equal jobs; a price of lambda^(1/2) - 1.

    One server: after j1, gpu and cpu are half used. F = 10^6 makes the price 10^3 and more for a
    weight of kappa = volume / weight; with F = 1 the second job is served.
    """
    job = {"train_time": {"w1": 1}, "update_time": {"p1": 0}}
    instance = instance_of(
        [job, job],
        objective="scheduled_weight",
        deadline=2,
        horizon=1,
        servers=[{"id": "s", "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 8}}],
    )
    assert names(run(instance, F=1e6)) == ["j1"]
    assert names(run(instance, F=0.01)) == ["j1", "j2"]


def test_a_job_without_a_mode_stays_out() -> None:
    big = {"train_time": {"w2": 1}, "update_time": {"p1": 0}}
    small = {"train_time": {"w1": 1}, "update_time": {"p1": 0}}
    kinds = [
        {"id": "w1", "demand": {"gpu": 1, "bandwidth": 1}},
        {"id": "w2", "demand": {"gpu": 9, "bandwidth": 1}},
    ]
    instance = instance_of(
        [big, small], objective="scheduled_weight", deadline=3, worker_types=kinds
    )
    assert names(run(instance)) == names(run(instance, order="density")) == ["j2"]


@given(elastic_instances(max_jobs=4, max_servers=2, objective="scheduled_weight", integer=False))
@settings(max_examples=25, deadline=None)
def test_schedules_are_valid_and_no_better_than_the_optimum(instance: ElasticInstance) -> None:
    optimum = brute_force(instance)
    for options in ({}, {"rule": "repaired"}, {"order": "density", "tie": "volume"}):
        found = run(instance, **options)
        view, _ = batch_of(instance)
        data = schedule_of(view, found).to_data(instance)
        assert list(rules.check(instance, data, {})) == []
        assert rules.objective(instance, data) == pytest.approx(found.weight)
        assert found.weight <= optimum + 1e-9
        # The first job of the loop finds an empty cluster: something is served if anything can be.
        assert (found.weight > 0) == (optimum > 0)
        assert (found.prices >= 0).all() and all(math.isfinite(x) for x in found.prices.ravel())
