"""Certificates that are none: one line of bad input in every family, and never a wrong bound."""

import math
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import schedgap as sg
from schedgap.analysis.results.bounds import Scale
from schedgap.errors import InputError
from schedgap.instances.families import FAMILIES
from schedgap.models import family

JOBS = {"ring": 4}  # else 3: enough for every kind of certificate
LARGE, DEEP = 10**400, [[[[[[[[]]]]]]]]
WRONG: list[Any] = [
    None, True, "x", "", -1, 0.5, 1e308, -1e308, math.nan, math.inf, LARGE, [], [1], [[1, 2]],
    [[0, math.nan]], [[True, 1.0]], [[0, 1e308]], [[0, 0, 1e308]], [[1, 0, math.nan]], {}, {"x": 1},
    {"x": []}, DEEP,
]  # fmt: skip


def certified(instance: Any) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield the bound and the certificate of every bound method that has one."""
    for method in family(instance.family).methods:
        if method.kind == "bound" and not method.unsupported_reason(instance):
            solution = sg.solve(instance, method.name, time_limit=10)
            if solution.certificate is not None:
                assert solution.bound is not None
                yield solution.bound, dict(solution.certificate)


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


@pytest.mark.parametrize("name", FAMILIES)
def test_certificates_are_evaluated_or_refused(name: str) -> None:
    """Whatever a field holds: bad input, or a bound that the optimum admits."""
    settings = {"jobs": JOBS.get(name, 3)}
    instance = sg.generate(name, preset="small", seed=1, settings=settings)
    best = sg.solve(instance, "exact", time_limit=30)
    assert best.status == "optimal" and best.objective is not None
    sense, tried = best.sense, 0
    for bound, certificate in certified(instance):
        kind = certificate["kind"]
        value = evaluate(instance, certificate)
        assert value is not None
        reached = Scale.of(instance).on_grid(value)
        assert reached == pytest.approx(bound, rel=1e-6)
        for key in certificate:
            for wrong in WRONG:
                value = evaluate(instance, {**certificate, key: wrong})
                tried += 1
                if value is not None:
                    past = value - best.objective if sense == "min" else best.objective - value
                    assert past <= 1e-6 * abs(best.objective), (kind, key, wrong, value)
        assert evaluate(instance, {**certificate, "unknown": 1}) is None
        assert evaluate(instance, {"kind": kind, "unknown": 1}) is None
        for key in set(certificate) - {"value"}:  # some have defaults; none ends in a traceback
            left = {other: item for other, item in certificate.items() if other != key}
            evaluate(instance, left)
            tried += 1
    assert tried > 100
    for nothing in ({}, {"kind": None}, {"kind": []}, {"kind": "magic"}, {"value": 3.0}):
        assert evaluate(instance, nothing) is None
