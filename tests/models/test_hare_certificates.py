"""Certificates of family `hare`: what each kind proves, and what is refused."""

import json
import math
import warnings
from collections.abc import Mapping
from typing import Any

import pytest

import schedgap as sg
from schedgap.errors import InputError
from schedgap.instances.hare import HareInstance
from schedgap.models.hare import FAMILY
from schedgap.models.hare.bounds.certificates import check_certificate
from schedgap.models.hare.methods import METHODS
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.hare import brute_force, instance_of

INSTANCE = instance_of(
    {"g1": "k", "g2": "l"},
    [
        {"rounds": 2, "tasks_per_round": 2, "training_time": {"k": 3, "l": 5}, "weight": 2},
        {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 1, "l": 2}, "arrival": 1},
    ],
)
METHODS = {
    method.name: method
    for method in METHODS
    if method.kind == "bound" and method.name != "relaxed-miqcp"
}


def certificate_of(name: str, instance: HareInstance = INSTANCE) -> dict[str, Any]:
    """Return the certificate of a method, as a file holds it."""
    method = METHODS[name]
    options = method.parse({})
    if "cells" in options:
        options["cells"] = 6
    engine = next(iter(method.engines), None)
    outcome = FAMILY.run(
        method, instance, RunContext(options, engine, Budget(Clock(60)), NullProgress())
    )
    assert outcome.certificate is not None
    certificate: dict[str, Any] = json.loads(json.dumps(outcome.certificate))
    assert check_certificate(instance, certificate) == outcome.bound
    return certificate


@pytest.fixture(scope="module")
def certificates() -> Mapping[str, dict[str, Any]]:
    """One of each kind."""
    return {name: certificate_of(name) for name in METHODS}


def test_every_kind_of_certificate_proves_a_bound(
    certificates: Mapping[str, dict[str, Any]],
) -> None:
    optimum = brute_force(INSTANCE)
    kinds = {certificate["kind"] for certificate in certificates.values()}
    assert kinds == set(METHODS) - {"job-alone"} | {"critical-path"}
    for certificate in certificates.values():
        proved = check_certificate(INSTANCE, certificate | {"value": 1e9})
        assert 0.5 * optimum < proved <= optimum + 1e-9
        assert proved == check_certificate(
            INSTANCE, {key: value for key, value in certificate.items() if key != "value"}
        )


NONSENSE = (
    None, True, -1, 0.5, 1e308, -1e308, math.nan, math.inf, 10**30, "1", [], {}, [[]], [True],
    [None], ["1"], [1e308], [-1], [[0, True]], [[0, 1, 2]], [["0", 1]], [[-1, 1.0]], [[10**9, 1.0]],
    [[0, math.nan]], [[0, 1e308], [1, -1e308]], [0, 1, 1], [1, 2], [0, 1e308], [{}],
    [list(range(2000))], [0.0, *range(1, 2000)],
)  # fmt: skip


def test_a_certificate_that_is_tampered_with_is_refused_or_proves_nothing_false(
    certificates: Mapping[str, dict[str, Any]],
) -> None:
    optimum, refused, kept = brute_force(INSTANCE), 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for certificate in certificates.values():
            for key in (*certificate, "colour"):
                for value in NONSENSE:
                    if key == "value":
                        continue
                    try:
                        proved = check_certificate(INSTANCE, certificate | {key: value})
                    except InputError as error:
                        said, path = str(error), error.path or ""
                    else:
                        kept += 1
                        assert proved <= optimum + 1e-6, (certificate["kind"], key, value)
                        continue
                    refused += 1
                    assert path.startswith("certificate") and "\n" not in said
    assert refused > 20 * kept > 0


@pytest.mark.parametrize(
    ("certificate", "limit"),
    [
        ({"kind": "fluid-lp", "grid": [*range(10**6)], "duals": []}, "MB of"),
        ({"kind": "time-indexed-lp", "upper": 2**59, "duals": []}, "MB of memory"),
        ({"kind": "lagrangian", "grid": [0, 1e9], "prices": [[1], [1]], "steps": 200_000}, "seco"),
    ],
)
def test_what_takes_too_much_time_or_memory_to_evaluate_is_refused(
    certificate: dict[str, Any], limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, megabytes = (0.5, 4096.0) if limit == "seco" else (60.0, 400.0)
    monkeypatch.setattr("schedgap.analysis.results.verifying.SECONDS", seconds)
    monkeypatch.setattr("schedgap.analysis.results.verifying.MEMORY_MB", megabytes)
    many = instance_of(
        {"g1": "k", "g2": "l"},
        [{"rounds": 1200, "tasks_per_round": 1, "training_time": {"k": 3, "l": 5}}] * 4,
    )
    bound = sg.solve(many, "job-alone")
    with pytest.raises(InputError, match=f"^certificate: not checked within .* {limit}"):
        sg.verify(many, bound, certificate)


def test_weights_far_apart_leave_no_method_without_a_bound() -> None:
    instance = instance_of(
        {"g1": "k"},
        [
            {"rounds": 30, "tasks_per_round": 1, "training_time": {"k": 2}, "weight": 1e9},
            {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 1}, "weight": 1e-6},
            {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 3}, "weight": 1},
        ],
    )
    optimum = 60e9 + 63 + 61e-6  # by weight over length
    for name in ("fluid-lp", "lagrangian", "job-alone"):
        proved = check_certificate(instance, certificate_of(name, instance))
        assert 60e9 * (1 - 1e-6) <= proved <= optimum * (1 + 1e-12)  # an engine's dual solution


@pytest.mark.parametrize("name", ["fluid-lp", "lagrangian"])
def test_a_bound_without_time_has_prices_of_0(name: str) -> None:
    method = METHODS[name]
    call = RunContext(method.parse({}), "highs", Budget(Clock(0)), NullProgress())
    outcome = FAMILY.run(method, INSTANCE, call)
    assert outcome.bound == pytest.approx(2 * 6 + 2) and "prices are 0" in outcome.note
    assert check_certificate(INSTANCE, outcome.certificate or {}) == outcome.bound
