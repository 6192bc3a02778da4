"""Contracts that every method of every family keeps: held over the registry."""

import math
from typing import Any

import pytest

import schedgap as sg
from schedgap.models import Family, Method, families
from strategies.engines import needs

CASES = [(family, method) for family in families() for method in family.methods]
NAMES = [f"{family.name}-{method.name}" for family, method in CASES]
MEETS = 1e-6


def _solve(family: Family, method: Method, instance: Any, **settings: Any) -> sg.Solution:
    for engine in method.engines if method.drives else method.engines[:1]:
        needs(engine)
    return sg.solve(instance, method.name, time_limit=20, seed=3, **settings)


def _tiny(family: Family, method: Method) -> Any:
    """Return the first instance of the quick suite that the method takes."""
    return next(instance for instance in family.suite() if not method.refuses(instance))


@pytest.mark.parametrize(("family", "method"), CASES, ids=NAMES)
def test_a_schedule_is_feasible_and_its_objective_recomputed(
    family: Family, method: Method
) -> None:
    instance = _tiny(family, method)
    solution = _solve(family, method, instance)
    if solution.schedule is None:
        assert solution.status in ("bound", "infeasible", "unknown")
        assert solution.objective is None
        return
    verdict = sg.verify(instance, solution)
    assert verdict, str(verdict)
    assert verdict.objective == pytest.approx(solution.objective, rel=1e-12)


@pytest.mark.parametrize(("family", "method"), CASES, ids=NAMES)
def test_a_kind_keeps_its_word(family: Family, method: Method) -> None:
    """A bound brings no schedule, an algorithm no bound, an exact method proves a small optimum."""
    instance = _tiny(family, method)
    solution = _solve(family, method, instance)
    if method.kind == "bound":
        assert solution.status == "bound"
        assert solution.schedule is None
        assert solution.bound is not None and math.isfinite(solution.bound)
    elif method.kind == "exact":
        assert solution.status == "optimal"
        assert solution.bound == pytest.approx(solution.objective, rel=MEETS)
    else:
        assert solution.status in ("feasible", "unknown")
        assert solution.bound is None


@pytest.mark.parametrize(("family", "method"), CASES, ids=NAMES)
def test_bounds_and_schedules_lie_on_their_sides_of_the_optimum(
    family: Family, method: Method
) -> None:
    instance = _tiny(family, method)
    best = sg.solve(instance, "exact", time_limit=20)
    assert best.status == "optimal" and best.objective is not None
    solution = _solve(family, method, instance)
    sign = 1 if best.sense == "min" else -1
    slack = MEETS * max(1.0, abs(best.objective))
    if solution.bound is not None:
        assert sign * solution.bound <= sign * best.objective + slack
    if solution.objective is not None and not family.relaxed(solution.schedule):
        assert sign * solution.objective >= sign * best.objective - slack


@pytest.mark.parametrize(("family", "method"), CASES, ids=NAMES)
def test_a_seed_repeats_an_algorithm(family: Family, method: Method) -> None:
    if method.kind not in ("algorithm", "baseline"):
        return
    instance = _tiny(family, method)
    first, second = _solve(family, method, instance), _solve(family, method, instance)
    assert first.schedule == second.schedule


@pytest.mark.parametrize(("family", "method"), CASES, ids=NAMES)
def test_a_method_is_described(family: Family, method: Method) -> None:
    assert method.summary and method.source
    assert method.name == method.name.lower() and "_" not in method.name
    for option in method.options:
        assert option.help
        assert option.default is None or option.parse(option.default) == option.default


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_every_family_has_an_exact_method(family: Family) -> None:
    assert family.method("exact").kind == "exact"
    names = [method.name for method in family.methods]
    assert len(set(names)) == len(names)
    assert not set(names) & set(family.aliases)
