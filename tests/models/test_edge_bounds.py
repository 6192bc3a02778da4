"""The bounds of family `edge` as they are called: below the optimum, evaluated again afterwards."""

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings

from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.certificates import KINDS, check_certificate
from schedgap.models.edge.methods import METHODS
from strategies.edge import brute_force, edge_instances
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C
from strategies.edge_methods import outcome

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
VALUES = {  # by hand for job-alone; the relaxations of the toys are tight
    "job-alone": (4, 6, 5),
    "cg-bound": (5, 9, 6),
}


@pytest.mark.parametrize("name", VALUES)
def test_the_examples_have_these_bounds(name: str) -> None:
    for instance, value in zip((TOY_A, TOY_B, TOY_C), VALUES[name], strict=True):
        assert outcome(None, name, instance).bound == value


def test_a_batch_is_bounded_by_its_dual() -> None:
    assert outcome(None, "cg-bound", TOY_BATCH).bound == 3


def holds(instance: EdgeInstance) -> None:
    optimum = brute_force(instance)
    for method in METHODS:
        if method.kind != "bound" or method.unsupported_reason(instance):
            continue
        found = outcome(None, method.name, instance)
        if found.infeasible:
            assert optimum == math.inf
            continue
        assert found.bound is not None and found.certificate is not None
        assert found.certificate["kind"] in KINDS
        written = json.loads(json.dumps(found.certificate))
        assert check_certificate(instance, written) == found.bound, method.name
        if instance.is_batch:
            assert found.bound >= optimum
        else:
            assert found.bound <= optimum, method.name


@settings(max_examples=18, **QUIET)
@given(edge_instances(batch=None, placeable=True))
def test_bounds_hold_and_are_evaluated_again(instance: EdgeInstance) -> None:
    holds(instance)


@settings(max_examples=15, **QUIET)
@given(edge_instances(batch=None, placeable=True, nasty=True))
def test_bounds_hold_on_nasty_data(instance: EdgeInstance) -> None:
    holds(instance)


@pytest.mark.nightly
@settings(max_examples=2000, **QUIET)
@given(edge_instances(batch=None, placeable=True, nasty=True))
def test_bounds_hold_on_nasty_data_at_length(instance: EdgeInstance) -> None:
    holds(instance)


@pytest.mark.nightly
@settings(max_examples=500, **QUIET)
@given(edge_instances(batch=None))
def test_bounds_hold_and_are_evaluated_again_at_length(instance: EdgeInstance) -> None:
    holds(instance)


@pytest.mark.parametrize(
    ("certificate", "word"),
    [
        ({}, "one of"),
        ({"kind": "batch-dual", "slots": 1, "worker_prices": [], "ps_prices": []}, "other"),
        ({"kind": "cg-bound", "slots": 99, "worker_prices": [], "ps_prices": []}, "slots"),
        ({"kind": "cg-bound", "slots": 2, "worker_prices": [[9, 0, 1, 1.0]], "ps_prices": []}, "9"),
        ({"kind": "cg-bound", "slots": 2, "worker_prices": [[0, 0, 1, -1]], "ps_prices": []}, ">="),
        (
            {
                "kind": "type-bound",
                "types": [
                    {
                        "worker_type": "x",
                        "slots": 1,
                        "block": 1,
                        "prices": {"edge": [], "cloud": []},
                    }
                ],
            },
            "no worker type",
        ),
        ({"kind": "fixing", "upper": 6, "prices": []}, "one of"),
        ({"kind": "cg-bound"}, "slots"),
    ],
)
def test_wrong_certificates_are_refused(certificate: dict[str, object], word: str) -> None:
    with pytest.raises(InputError, match=word):
        check_certificate(TOY_A, certificate)


def test_prices_of_nothing_prove_the_jobs_alone() -> None:
    free = {"kind": "cg-bound", "slots": 1, "worker_prices": [], "ps_prices": []}
    assert check_certificate(TOY_A, free) == 4
    assert check_certificate(TOY_A, {"kind": "type-bound", "types": []}) == 4
    assert check_certificate(TOY_BATCH, free | {"kind": "batch-dual"}) == 3
