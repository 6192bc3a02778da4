"""The methods `hare*` and the bounds as a user calls them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from schedgap.instances.hare import HareInstance
from schedgap.models.hare import rules
from schedgap.models.hare.certificates import check_certificate
from schedgap.models.hare.run_bounds import METHODS as BOUNDS
from schedgap.models.hare.run_hare import METHODS as ALGORITHMS
from schedgap.models.method import Call, Outcome
from schedgap.solvers.clock import Clock
from strategies.hare import brute_force, hare_instances
from strategies.hare_examples import TOY, UNLIKE_ROUNDS

METHODS = {method.name: method for method in (*BOUNDS, *ALGORITHMS)}


class Silence:
    """Progress that nobody watches."""

    def incumbent(self, schedule: Any, objective: float) -> None: ...

    def bound(self, value: float) -> None: ...

    def phase(self, text: str) -> None: ...


def run(
    name: str,
    instance: HareInstance,
    *,
    engine: str | None = None,
    limit: float | None = None,
    **options: object,
) -> Outcome:
    method = METHODS[name]
    call = Call(
        method.parse(options),
        method.choose_engine(engine),
        Clock(limit),
        seed=0,
        progress=Silence(),
    )
    return method.run(instance, call)


def value(instance: HareInstance, outcome: Outcome) -> float:
    """Return the objective by the rules, which must accept the schedule."""
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def test_the_critical_path_of_the_toy() -> None:
    """J1: 1; J2: 2 rounds of 1.5; J3: 2 rounds of 0.5: 1 + 3 + 1 = 5."""
    assert run("critical-path", TOY).bound == 5


@settings(max_examples=40)
@given(hare_instances(max_total=6))
def test_bounds_of_methods_are_certified_and_below_the_optimum(instance: HareInstance) -> None:
    optimum = brute_force(instance)
    fluid = run("fluid-lp", instance, cells=12)
    assert fluid.bound is not None
    assert fluid.bound <= optimum * (1 + 1e-9)
    assert check_certificate(instance, fluid.certificate or {}) == fluid.bound
    path = run("critical-path", instance).bound
    assert path is not None
    assert path <= fluid.bound + 1e-4 * max(1, optimum)


@settings(max_examples=40)
@given(hare_instances(max_total=14))
def test_hare_fluid_schedules_keep_the_rules(instance: HareInstance) -> None:
    for gpu_rule in ("available", "finish"):
        outcome = run("hare-fluid", instance, gpu_rule=gpu_rule, cells=12)
        assert value(instance, outcome) > 0 or all(job.weight == 0 for job in instance.jobs)
        assert outcome.bound is None


def test_a_stopped_relaxation_leaves_neither_bound_nor_schedule() -> None:
    for name in ("fluid-lp", "hare-fluid"):
        outcome = run(name, TOY, limit=0)
        assert outcome.schedule is None
        assert outcome.bound is None
        assert "not solved" in outcome.note


def test_without_the_order_guard_a_broken_schedule_is_shown_and_not_returned() -> None:
    outcome = run("hare-fluid", UNLIKE_ROUNDS, order_guard=False)
    assert outcome.schedule is None
    assert "V4" in outcome.note
    assert outcome.trace["violations"][0]["rule"] == "V4"
    assert outcome.partial is not None


def test_the_midpoint_on_the_relaxations_own_gpus_changes_the_order() -> None:
    """On UNLIKE_ROUNDS H = x_hat + 10 / 2, or + 1 / 2 on the fast GPU: no guard is needed then."""
    assigned = run("hare-fluid", UNLIKE_ROUNDS, order_guard=False, midpoint="assigned")
    assert assigned.schedule is not None
    assert np.isclose(value(UNLIKE_ROUNDS, assigned), 2)


@pytest.mark.parametrize("name", ["fluid-lp", "hare-fluid"])
def test_the_same_call_gives_the_same_answer(name: str) -> None:
    first, second = run(name, TOY), run(name, TOY)
    assert first.bound == second.bound
    if first.schedule is not None:
        assert first.schedule.to_data(TOY) == second.schedule.to_data(TOY)
