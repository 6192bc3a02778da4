"""Claims of all families: a forged optimum is never called checked, an honest one can be."""

from typing import Any

import pytest

import schedgap as sg
from schedgap.instances.families import FAMILIES
from schedgap.models import family


@pytest.fixture(scope="module", params=FAMILIES)
def small(request: pytest.FixtureRequest) -> Any:
    return sg.generate(request.param, preset="small", seed=1, settings={"jobs": 4})


def forged(instance: Any) -> dict[str, Any]:
    """Return a poor schedule that says of itself that it is optimal."""
    poor = None
    for method in family(instance.family).methods:
        if method.kind != "baseline" or method.engines or method.unsupported_reason(instance):
            continue
        found = sg.solve(instance, method.name, time_limit=2)
        if found.objective is None or found.outside:
            continue
        sign = 1 if found.sense == "min" else -1
        if poor is None or sign * found.objective > sign * poor.objective:
            poor = found
    assert poor is not None
    claims = {"status": "optimal", "bound": poor.objective, "kind": "exact"}
    return poor.to_data() | claims


def test_a_forged_optimum_is_unchecked_or_refuted(small: Any) -> None:
    claim = forged(small)
    plain = sg.verify(small, claim)
    assert plain and not plain.complete
    assert (plain.bound_status, plain.optimality_status) == ("unchecked", "unchecked")
    refuted = 0
    for method in family(small.family).methods:
        if method.kind != "bound" or method.unsupported_reason(small):
            continue
        evidence = sg.solve(small, method.name, time_limit=3).certificate
        if evidence is not None:
            verdict = sg.verify(small, claim, evidence)
            assert not verdict and verdict.optimality_status == "refuted"
            refuted += 1
    assert refuted
