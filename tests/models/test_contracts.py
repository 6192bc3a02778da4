"""Contracts that every method of every family keeps: held over the registry."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

import schedgap as sg
from schedgap.models import Family, Method, families
from strategies.engines import needs

CASES = [(family, method) for family in families() for method in family.methods]
NAMES = [f"{family.name}-{method.name}" for family, method in CASES]
MEETS = 1e-6


@dataclass(frozen=True)
class Case:
    """A method, the first instance of the quick suite that it takes, and what it makes of it."""

    family: Family
    method: Method
    instance: Any
    solution: sg.Solution


def _solve(method: Method, instance: Any) -> sg.Solution:
    for engine in method.engines if method.runs_children else method.engines[:1]:
        needs(engine)
    few = {option.name: 100 for option in method.options if option.name == "moves"}
    return sg.solve(instance, method.name, time_limit=20, seed=3, **few)


@pytest.fixture(scope="session", params=CASES, ids=NAMES)
def case(request: pytest.FixtureRequest) -> Case:
    """Solve once for all contracts: pytest runs the tests of one parameter together."""
    family, method = request.param
    instance = next(each for each in family.suite() if not method.unsupported_reason(each))
    return Case(family, method, instance, _solve(method, instance))


@cache
def _optimum(instance: Any) -> float:
    best = sg.solve(instance, "exact", time_limit=20)
    assert best.status == "optimal" and best.objective is not None
    return best.objective


def test_a_schedule_is_feasible_and_its_objective_recomputed(case: Case) -> None:
    solution = case.solution
    if solution.schedule is None:
        assert solution.status in ("bound", "infeasible", "unknown")
        assert solution.objective is None
        return
    verdict = sg.verify(case.instance, solution)
    assert verdict, str(verdict)
    assert verdict.objective == pytest.approx(solution.objective, rel=1e-12)


def test_a_kind_keeps_its_word(case: Case) -> None:
    """A bound brings no schedule, an algorithm no bound, an exact method proves a small optimum."""
    solution, kind = case.solution, case.method.kind
    if kind == "bound":
        assert solution.status == "bound"
        assert solution.schedule is None
        assert solution.bound is not None and math.isfinite(solution.bound)
    elif kind == "exact":
        assert solution.status == "optimal"
        assert solution.bound == pytest.approx(solution.objective, rel=MEETS)
    else:
        assert solution.status in ("feasible", "unknown")
        assert solution.bound is None


def test_bounds_and_schedules_lie_on_their_sides_of_the_optimum(case: Case) -> None:
    solution, best = case.solution, _optimum(case.instance)
    sign = 1 if solution.sense == "min" else -1
    slack = MEETS * max(1.0, abs(best))
    if solution.bound is not None:
        assert sign * solution.bound <= sign * best + slack
    if solution.objective is not None and not case.family.omitted_rules(solution.schedule):
        assert sign * solution.objective >= sign * best - slack


def test_a_seed_repeats_an_algorithm(case: Case) -> None:
    if case.method.kind in ("algorithm", "baseline"):
        again = _solve(case.method, case.instance)
        assert again.schedule == case.solution.schedule


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
