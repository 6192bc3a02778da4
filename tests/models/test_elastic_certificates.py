"""Certificates of family `elastic`: malformed ones are refused, others prove no false bound."""

import math
import time
import warnings
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import FAMILY
from schedgap.models.elastic.bounds.certificates import KINDS, check_certificate
from schedgap.models.elastic.programs.weights import (
    scale_back,
    scale_price,
    scaled_weights,
    value_step,
)
from schedgap.models.elastic.time_windows import no_schedule
from schedgap.models.method import Budget, RunContext
from schedgap.models.scaled_values import converted
from schedgap.solvers import Clock
from strategies.elastic import brute_force, elastic_instances, instance_of
from strategies.elastic_examples import J1, TOY
from strategies.elastic_stops import EXACT, STOPPED, Heard, switched

WHOLE: dict[str, dict[str, Any]] = {
    "no-contention": {},
    "schedule-lp": {"slots": 3, "prices": [[0, 0, 1, 0.5]]},
    "dual-lp": {"slots": 3, "prices": [[0, 0, 1, 0.5]]},
    "dual-prices": {"slots": 3, "prices": [[0, 0, 1, 0.5]]},
    "pooled-lp": {"slots": 3, "prices": [[0, 0, 1, 0.5]]},
    "configuration-lp": {"block": 2, "slots": 3, "prices": [[0, 1, 0.5]]},
}
WRONG: list[Any] = [
    None, True, "1", [], {}, [[]], [[0]], [[0, 0, 0, 0, 0]], [True], math.nan, math.inf, 1e308,
    10**400, -1, 0.5, [[0, 0, 1, math.nan]], [[0, 0, 1, 1e308]], [[0, 0, 1, True]],
    [[0, 0, 10**18, 1.0]], [[0.0, 0, 1, 1.0]], [0, -1], [10**9, 0],
]  # fmt: skip


def refused(certificate: dict[str, Any], instance: ElasticInstance = TOY) -> None:
    """It is refused in one line, without a warning, and soon."""
    begin = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError) as told:
            check_certificate(instance, certificate)
    assert str(told.value.path).startswith("certificate")
    assert "\n" not in told.value.message
    assert time.monotonic() - begin < 20


def test_every_kind_is_here_and_proves_something() -> None:
    assert set(WHOLE) == set(KINDS)
    for kind, fields in WHOLE.items():
        assert check_certificate(TOY, {"kind": kind, "value": 1e9} | fields) <= 27


@pytest.mark.parametrize("kind", sorted(WHOLE))
def test_malformed_certificates_are_refused(kind: str) -> None:
    good = {"kind": kind} | WHOLE[kind]
    refused(good | {"extra": 1})
    refused(good | {"value": "much"})
    for key in WHOLE[kind]:
        refused({name: value for name, value in good.items() if name != key})
        for wrong in WRONG:
            if key == "prices" and wrong == []:
                continue  # no prices are prices
            refused(good | {key: wrong})


def test_an_unknown_kind_is_refused() -> None:
    for kind in ("fluid-lp", None, [], 1):
        refused({"kind": kind})


@pytest.mark.parametrize(
    "huge",
    [
        {"kind": "schedule-lp", "slots": 10**9, "prices": [[0, 0, 10**9, 1.0]]},
        {"kind": "pooled-lp", "slots": 400_000, "prices": [[0, 0, 400_000, 1.0]]},
        {"kind": "configuration-lp", "block": 1, "slots": 10**9, "prices": []},
    ],
)
def test_what_would_take_too_long_is_refused(huge: dict[str, Any]) -> None:
    refused(huge, LONG)


LONG = instance_of([{**J1, "train_time": {"w1": 1e6}}] * 2)


def test_slots_without_prices_cost_nothing() -> None:
    assert check_certificate(LONG, {"kind": "pooled-lp", "slots": 10**9, "prices": []}) > 0


def test_no_kind_serves_an_instance_without_a_schedule() -> None:
    empty = instance_of([J1], horizon=2, horizon_policy="closed")
    for kind, fields in WHOLE.items():
        refused({"kind": kind} | fields, empty)


@settings(max_examples=21, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances(nasty=True), st.data())
def test_any_prices_of_nasty_numbers_prove_a_bound(
    instance: ElasticInstance, data: st.DataObject
) -> None:
    """Or nothing; sizes of prices are drawn from 1e-9 to 1e9."""
    if no_schedule(instance) is not None:
        return
    sign, optimum = (-1 if instance.is_batch else 1), brute_force(instance)
    price = st.sampled_from([0.0, 1 / 3, 1.0, 1e-9, 1e9, 1e30])
    slot, place = st.integers(1, 6), st.integers(0, 1)
    cells = st.lists(st.tuples(st.just(0), st.integers(0, 2), slot, price).map(list), max_size=4)
    held = st.lists(st.tuples(st.just(0), place, price).map(list), max_size=4)
    sizes = {"block": 3, "slots": 6}
    several: list[dict[str, Any]] = [
        {"kind": "no-contention"},
        {"kind": data.draw(st.sampled_from(["schedule-lp", "pooled-lp"])), "slots": 6,
         "prices": data.draw(cells)},
        {"kind": "configuration-lp", **sizes, "prices": data.draw(held)},
    ]  # fmt: skip
    for certificate in several:
        try:
            bound = check_certificate(instance, certificate)
        except InputError:
            continue
        assert sign * bound <= sign * optimum + 1e-9 * abs(optimum)


def test_weights_below_1_come_to_a_common_size() -> None:
    instance = STOPPED["tiny"]
    larger, power = scaled_weights(instance)
    assert [job.weight for job in larger.jobs] == [300, 200, 200]
    assert power == 11
    assert scale_back(2900, power) == 2.9e-8
    assert value_step(instance) == 1e-9
    assert scaled_weights(TOY) == (TOY, 0)
    assert scale_price(2e-10, power) == 20.0
    assert scale_price(scale_price(2.3e-10, power), -power) == 2.3e-10
    prices = {"kind": "pooled-lp", "value": 2900.0, "prices": [[0, 0, 1, 20.0]]}
    found = converted(prices, partial(scale_price, power=-power), partial(scale_back, power=power))
    assert found == {"kind": "pooled-lp", "value": 2.9e-8, "prices": [[0, 0, 1, 2e-10]]}


@pytest.mark.parametrize("name", ["ring on two servers", "parameter servers", "tiny"])
def test_exact_closed_by_bounds_alone_has_a_certificate(name: str) -> None:
    """The bound of the relaxation meets the schedules that its prices lead to."""
    instance, heard = STOPPED[name], Heard()
    method = EXACT["exact"]
    with switched(("no refutation",)):
        call = RunContext(method.parse({}), method.choose_engine(None), Budget(Clock(60)), heard)
        outcome = FAMILY.run(method, instance, call)
    assert outcome.trace["proof"] == ["bounds meet"]
    assert outcome.certificate is not None
    optimum, step = brute_force(instance), value_step(instance)
    assert step is not None
    proved = check_certificate(instance, outcome.certificate)
    assert math.ceil(proved / step - 1e-6) * step == pytest.approx(optimum)
    assert outcome.bound == pytest.approx(optimum)
