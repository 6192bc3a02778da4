"""Certificates of family `dmlrs`: they prove what a method says, and nothing malformed passes."""

import time
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.models.dmlrs.bounds.certificate_data import (
    is_too_fine,
    item_price_certificate,
    price_certificate,
)
from schedgap.models.dmlrs.bounds.certificates import KINDS, check_certificate
from schedgap.models.dmlrs.bounds.machine_patterns import PatternMaster, evaluate_prices
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import METHODS

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}

GOOD = {
    "prices": {"kind": "prices", "prices": [[1, 0, 0.5]]},
    "grid-prices": {"kind": "grid-prices", "grid": 30, "prices": [[1, 0, 0.5]]},
    "item-prices": {"kind": "item-prices", "prices": [[1, 0, 0.5]]},
    "completions": {
        "kind": "completions", "branches": [[0, 2, -1, -2]], "prices": [[0, 1, 0, 0.5]],
    },
    "attained": {"kind": "attained", "of": {"kind": "prices", "prices": [[1, 0, 0.5]]}},
}  # fmt: skip
NO_NUMBERS = [True, None, "1", [], [1], {}, float("nan"), float("inf"), -1, -1e-9]


def malformed(kind):
    """Certificates of a kind, each with one thing wrong."""
    good = GOOD[kind]
    yield {"kind": kind}
    yield good | {"more": 1}
    yield good | {"value": "20"}
    if kind == "attained":
        for of in (None, [], "prices", {}, {"kind": "attained", "of": good["of"]}, {"kind": "x"}):
            yield good | {"of": of}
        for wrong in malformed("prices"):
            yield good | {"of": wrong}
        return
    for prices in (None, 1, "", {}, [1], [[]], [[1]], [None], [good["prices"][0][:-1]]):
        yield good | {"prices": prices}
    yield good | {"prices": [[*good["prices"][0], 1]]}
    *places, price = good["prices"][0]
    for wrong in (*NO_NUMBERS, 1e308, 10**400):
        yield good | {"prices": [[*places, wrong]]}
    for at in range(len(places)):
        for wrong in (*NO_NUMBERS, 1.0, 99, 10**30):
            yield good | {"prices": [[*places[:at], wrong, *places[at + 1 :], price]]}
    if "grid" in good:
        for wrong in (*NO_NUMBERS, 10**9, 1e308):
            yield good | {"grid": wrong}


@pytest.mark.parametrize("kind", GOOD)
def test_a_certificate_that_is_none_is_refused(kind):
    assert set(GOOD) == {*KINDS, "attained"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_certificate(TOY, GOOD[kind]) >= 20
        for wrong in malformed(kind):
            with pytest.raises(InputError) as caught:
                check_certificate(TOY, wrong)
            assert caught.value.path.startswith("certificate")
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [None, True, [], "duals", "Prices"])
def test_an_unknown_kind_is_refused(kind):
    with pytest.raises(InputError, match="need one of prices, grid-prices"):
        check_certificate(TOY, {"kind": kind, "prices": []})


def test_what_would_take_minutes_is_refused():
    long = instance_of(
        [job("j1", 1, [1.0] * 5000, batch_size=50_000)], [{"gpu": 90_000, "cpu": 90_000}] * 2, 5000
    )
    assert is_too_fine(long, 100_000) and not is_too_fine(TOY, 100_000)
    begin = time.process_time()
    with pytest.raises(InputError, match="too fine"):
        check_certificate(long, GOOD["grid-prices"] | {"grid": 100_000})
    with pytest.raises(InputError, match="more than 64 workers"):
        check_certificate(long, GOOD["item-prices"])
    many = instance_of([job(f"j{n}", 1, [1.0] * 900) for n in range(20)], horizon=900)
    with pytest.raises(InputError, match="rows"):
        check_certificate(many, GOOD["item-prices"])
    assert time.process_time() - begin < 5


@settings(max_examples=27, **QUIET)
@given(dmlrs_instances(max_machines=3), st.data())
def test_any_item_prices_prove_a_bound(instance, data):
    made = PatternMaster(instance)
    shape = instance.horizon, len(made.items)
    item_prices = st.sampled_from([0.0, 1e-10, 0.1, 1 / 3, 2.0, 1e9])
    size = shape[0] * shape[1]
    price = np.array(data.draw(st.lists(item_prices, min_size=size, max_size=size)))
    certificate = item_price_certificate(price.reshape(shape))
    found = check_certificate(instance, certificate)
    assert optimum(instance) <= found * (1 + 1e-12)
    assert found == evaluate_prices(made, price.reshape(shape), Clock()).bound
    rounded = check_certificate(instance, {"kind": "attained", "of": certificate})
    assert optimum(instance) * (1 - 1e-12) <= rounded <= found


def test_item_prices_that_close_the_toy():
    """Each of its 3 jobs earns all that it may; with no prices at all each is alone: 8 + 3 + 9."""
    assert check_certificate(TOY, {"kind": "item-prices", "prices": []}) == pytest.approx(20)
    assert check_certificate(TOY_2, {"kind": "item-prices", "prices": []}) == pytest.approx(3 + 9)


def test_prices_are_written_as_they_are():
    prices = np.zeros((4, 2))
    prices[2, 1] = 1 / 3
    assert price_certificate(prices)["prices"] == [[3, 1, 1 / 3]]


class Ear(NullProgress):
    """Keeps all bounds with their certificates."""

    def __init__(self):
        self.heard = []

    def bound(self, value, certificate=None, **more):
        self.heard.append((value, certificate))


def bounded(name, instance):
    """The outcome of a method in this process; its bounds are what their certificates prove."""
    method, ear = METHODS[name], Ear()
    found = method(instance, RunContext(method.parse({}), "highs", Budget(Clock(30)), ear))
    told = [(value, proof) for value, proof in ear.heard if proof is not None]
    if found.certificate is not None:
        told.append((found.bound, found.certificate))
    for value, certificate in told:
        assert check_certificate(instance, certificate) == pytest.approx(value, rel=1e-12, abs=0)
    return found, [proof for _, proof in told]


@pytest.mark.parametrize("instance", [TOY, instance_of([]), instance_of([job("j1", 1, [5.0] * 4)])])
def test_what_bounds_close_has_a_certificate(instance):
    """The jobs do not meet: each alone is the optimum, and its proof."""
    for name in ("exact", "lbbd", "milp-machine"):
        found, _ = bounded(name, instance)
        assert found.certificate is not None
        assert found.bound == pytest.approx(optimum(instance), rel=1e-12)


@settings(max_examples=9, **QUIET)
@given(dmlrs_instances())
def test_every_bound_is_what_its_certificate_proves(instance):
    for name in ("exact", "colgen-heuristic", "colgen", "fluid-lp", "milp-machine"):
        found, proofs = bounded(name, instance)
        assert proofs
        assert METHODS[name].kind != "bound" or found.certificate is not None


def test_sums_that_there_can_be_close_what_prices_leave_open():
    """Two jobs fit, 9 + 8. All machines as one hold two and 2/3; no sum lies between 17 and 24."""
    large = {
        "epochs": 1, "samples": 1, "batch_size": 1, "worker_ps_ratio": 1.0, "gradient_size": 1.0,
        "time_per_sample": 0.5, "internal_bandwidth": 4.0, "external_bandwidth": 4.0,
        "worker_demand": {"gpu": 3, "cpu": 1},
    }  # fmt: skip
    jobs = [job(f"j{u}", 1, [u, 0, 0, 0], **large) for u in (9.0, 8.0, 7.0)]
    crowd = instance_of(jobs, [{"gpu": 4, "cpu": 9}] * 2)
    found, _ = bounded("exact", crowd)
    assert found.bound == pytest.approx(17, rel=1e-9)
    assert found.certificate is not None and found.certificate["kind"] == "attained"


@pytest.mark.parametrize("name", ["colgen", "dual-online", "colgen-heuristic"])
def test_no_certificate_is_finer_than_a_checker_takes(name, monkeypatch):
    """What a checker would refuse is not handed over: other prices are, or none."""
    monkeypatch.setattr("schedgap.models.dmlrs.bounds.certificate_data.MAX_STEPS", 1)
    found = METHODS[name](
        TOY,
        RunContext(METHODS[name].parse({}), "highs", Budget(Clock(30)), NullProgress()),
    )
    if found.certificate is not None:
        assert check_certificate(TOY, found.certificate) == pytest.approx(found.bound, rel=1e-12)
    if name != "colgen-heuristic":
        assert found.certificate["kind"] == "prices" and "too large" in found.note
