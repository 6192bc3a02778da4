"""Certificates that are none: one line of bad input in every family, and never a wrong bound."""

import math
import warnings
from typing import Any

import pytest

import schedgap as sg
from schedgap.analysis.bounds import on_grid
from schedgap.errors import InputError
from schedgap.instances.families import FAMILIES
from schedgap.models import family

SMALL = {name: sg.generate(name, preset="small", seed=1) for name in FAMILIES}
LARGE, DEEP = 10**400, [[[[[[[[]]]]]]]]
WRONG: list[Any] = [
    None, True, "x", "", -1, 0.5, 1e308, -1e308, math.nan, math.inf, LARGE, [], [1], [[1, 2]],
    [[0, math.nan]], [[True, 1.0]], [[0, 1e308]], [[0, 0, 1e308]], [[1, 0, math.nan]], {}, {"x": 1},
    {"x": []}, DEEP,
]  # fmt: skip


@pytest.fixture(scope="module")
def certified() -> list[tuple[Any, float, dict[str, Any]]]:
    """Every certificate that a bound method of any family writes: (instance, optimum's side)."""
    found = []
    for name, instance in SMALL.items():
        owner = family(name)
        for method in owner.methods:
            if method.kind != "bound" or method.refuses(instance):
                continue
            solution = sg.solve(instance, method.name, time_limit=10)
            if solution.certificate is not None:
                assert solution.bound is not None
                found.append((instance, solution.bound, dict(solution.certificate)))
    return found


def evaluate(instance: Any, certificate: Any) -> float | None:
    """Return what a certificate proves, or None for bad input in one line; no warnings."""
    checker, refused = family(instance.family).check_certificate, None
    assert checker is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            value = checker(instance, certificate)
        except InputError as error:
            refused = error
    if refused is not None:
        assert "\n" not in str(refused) and refused.path.startswith("certificate")
        return None
    assert math.isfinite(value)
    return value


def test_all_families_have_certificates(certified: Any) -> None:
    assert {instance.family for instance, _, _ in certified} == set(FAMILIES)
    for instance, bound, certificate in certified:
        value, owner = evaluate(instance, certificate), family(instance.family)
        assert value is not None
        reached = on_grid(value, owner.grid(instance), owner.sense(instance))
        assert reached == pytest.approx(bound, rel=1e-6)


def test_a_field_of_the_wrong_shape_is_refused_or_harmless(certified: Any) -> None:
    """Whatever a field holds: bad input, or a bound that the optimum admits."""
    best = {name: sg.solve(instance, "exact", time_limit=20) for name, instance in SMALL.items()}
    tried = 0
    for instance, _, certificate in certified:
        sense, optimum = best[instance.family].sense, best[instance.family].objective
        for key in certificate:
            for wrong in WRONG:
                value = evaluate(instance, {**certificate, key: wrong})
                tried += 1
                if value is None:
                    continue
                slack = 1e-6 * abs(optimum)
                past = value - optimum if sense == "min" else optimum - value
                assert past <= slack, (instance.family, certificate["kind"], key, wrong, value)
    assert tried > 300


def test_unknown_and_missing_keys_are_refused(certified: Any) -> None:
    for instance, _, certificate in certified:
        assert evaluate(instance, {**certificate, "unknown": 1}) is None
        for key in set(certificate) - {"value"}:
            left = {name: item for name, item in certificate.items() if name != key}
            evaluate(instance, left)  # some fields have defaults; none ends in a traceback
        assert evaluate(instance, {"kind": certificate["kind"], "unknown": 1}) is None
    for instance in SMALL.values():
        for wrong in ({}, {"kind": None}, {"kind": []}, {"kind": "magic"}, {"value": 3.0}):
            assert evaluate(instance, wrong) is None
