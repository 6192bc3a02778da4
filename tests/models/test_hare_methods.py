"""The methods `hare*` and the bounds as a user calls them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.hare import HareInstance
from schedgap.models.hare import FAMILY, rules
from schedgap.models.hare.bounds.certificates import check_certificate
from schedgap.models.hare.methods import METHODS as ALL
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.solvers.children.clock import Clock
from strategies.engines import needs
from strategies.hare import brute_force, hare_instances
from strategies.hare_examples import FIGURE_4, TOY, TWO_GPUS, UNLIKE_ROUNDS, lights_and_sponge

METHODS = {
    method.name: method
    for method in ALL
    if (method.kind == "bound" and method.name != "time-indexed-lp")
    or method.source[:11] == "Algorithm 1"
}


class Silence:
    """Progress that nobody watches."""

    def incumbent(self, schedule: Any, objective: float) -> None: ...

    def bound(self, value: float, certificate: object = None, **more: object) -> None: ...

    def phase(self, text: str) -> None: ...


def run(
    name: str,
    instance: HareInstance,
    *,
    engine: str | None = None,
    limit: float | None = None,
    **options: object,
) -> MethodResult:
    method = METHODS[name]
    call = RunContext(
        method.parse(options), method.choose_engine(engine), Budget(Clock(limit)), Silence()
    )
    return FAMILY.run(method, instance, call)


def value(instance: HareInstance, outcome: MethodResult) -> float:
    """Return the objective by the rules, which must accept the schedule."""
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def test_the_critical_path_of_the_toy() -> None:
    """J1: 1; J2: 2 rounds of 1.5; J3: 2 rounds of 0.5: 1 + 3 + 1 = 5."""
    assert run("job-alone", TOY).bound == 5


CERTIFIED = [
    ("fluid-lp", {"cells": 12}),
    ("fluid-lp", {"cells": 1}),
    ("lagrangian", {"cells": 12, "rounds": 0, "steps": 4}),
    ("lagrangian", {"cells": 4, "rounds": 3, "steps": 2}),
]


@settings(max_examples=12, deadline=None)
@given(hare_instances(max_total=6))
def test_bounds_of_methods_are_certified_and_below_the_optimum(instance: HareInstance) -> None:
    optimum, path = brute_force(instance), run("job-alone", instance).bound
    assert path is not None
    for name, options in CERTIFIED:
        outcome = run(name, instance, **options)
        assert outcome.bound is not None
        assert outcome.bound <= optimum * (1 + 1e-9) + 1e-12
        if name != "lagrangian":  # its steps of time are coarse here
            assert outcome.bound >= path - 1e-3 * max(1, optimum)
        assert check_certificate(instance, outcome.certificate or {}) == outcome.bound


@pytest.mark.parametrize(
    ("name", "options", "bound"),
    [
        ("relaxed-miqcp", {}, 11881),
        ("relaxed-miqcp", {"horizon_cap": True}, 12431),
        ("hare-prefix", {}, 12441),
    ],
)
def test_bounds_of_ce2(name: str, options: dict[str, object], bound: float) -> None:
    found = run(name, lights_and_sponge(), **options).trace["relaxation_value"]
    assert found == pytest.approx(bound, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "instance", "gpu_rule", "expected"),
    [
        # E5: the printed rule spreads the toy over slow GPUs; by `finish` it is optimal.
        ("hare-prefix", TOY, "finish", 8),
        ("hare", lights_and_sponge(), "available", 112221),
        ("hare-prefix", lights_and_sponge(), "available", 12441),
        ("hare-prefix", lights_and_sponge(20), "available", 15861),
        ("hare", TWO_GPUS, "available", 1104),
        ("hare-prefix", TWO_GPUS, "finish", 1104),
        ("hare", FIGURE_4, "available", 11),
        ("hare-prefix", FIGURE_4, "finish", 11),
    ],
)
def test_hare_on_the_worked_examples(
    name: str, instance: HareInstance, gpu_rule: str, expected: float
) -> None:
    outcome = run(name, instance, gpu_rule=gpu_rule)
    assert value(instance, outcome) == pytest.approx(expected)
    assert outcome.trace["relaxation_proved"]


def test_the_engines_agree_on_the_canonical_point() -> None:
    needs("gurobi")
    for name in ("hare", "hare-prefix"):
        values = [
            value(instance, run(name, instance, engine=engine))
            for instance in (lights_and_sponge(), TWO_GPUS, FIGURE_4)
            for engine in ("highs", "gurobi")
        ]
        assert values[::2] == values[1::2]


def test_a_relaxation_beyond_the_limit_is_refused_with_its_size() -> None:
    for name in ("hare", "hare-prefix"):
        outcome = run(name, TOY, max_relaxation=23)
        assert outcome.schedule is None
        assert "24 tasks x GPUs" in outcome.note
        assert run(name, TOY, max_relaxation=24).schedule is not None


@settings(max_examples=8, deadline=None)
@given(hare_instances(max_total=7))
def test_hare_schedules_keep_the_rules(instance: HareInstance) -> None:
    for name in ("hare", "hare-prefix"):
        outcome = run(name, instance, midpoint="assigned", canonical=False)
        assert value(instance, outcome) >= 0
        assert outcome.trace["lemmas"]["lemma_3_holds"] in (True, False, None)


@settings(max_examples=20)
@given(hare_instances(max_total=14))
def test_hare_fluid_schedules_keep_the_rules(instance: HareInstance) -> None:
    for gpu_rule in ("available", "finish"):
        outcome = run("hare-fluid", instance, gpu_rule=gpu_rule, cells=12)
        assert value(instance, outcome) > 0 or all(job.weight == 0 for job in instance.jobs)
        assert outcome.bound is None


def test_a_stopped_relaxation_leaves_no_schedule_and_no_bound_without_proof() -> None:
    for name in METHODS:
        if name == "job-alone":
            continue
        outcome = run(name, TOY, limit=0)
        assert outcome.schedule is None
        if outcome.bound is not None:
            assert outcome.certificate is not None
            assert check_certificate(TOY, outcome.certificate) == outcome.bound <= 8
        assert "not solved" in outcome.note or "stopped" in outcome.note


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


@pytest.mark.nightly
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(hare_instances(max_total=7), st.sampled_from([1, 3, 12, 40]), st.booleans())
def test_no_bound_passes_the_optimum_and_no_algorithm_beats_it(
    instance: HareInstance, cells: int, switch: bool
) -> None:
    optimum = brute_force(instance)
    bounds: list[tuple[str, dict[str, object]]] = [
        ("job-alone", {}),
        ("fluid-lp", {"cells": cells}),
        ("lagrangian", {"cells": cells, "rounds": 5 * switch, "steps": 1 + cells % 8}),
        ("relaxed-miqcp", {"horizon_cap": switch}),
    ]
    for name, options in bounds:
        outcome = run(name, instance, **options)
        assert outcome.bound is not None
        # 1e-6: a binary program has the engine's bound, within its tolerances
        slack = 1e-9 if outcome.certificate else 1e-6
        assert outcome.bound <= optimum * (1 + slack) + 1e-12, name
        if outcome.certificate:
            assert check_certificate(instance, outcome.certificate) == outcome.bound
    for name in ("hare", "hare-prefix", "hare-fluid"):
        for gpu_rule in ("available", "finish"):
            found = value(instance, run(name, instance, gpu_rule=gpu_rule))
            assert found >= optimum * (1 - 1e-9)
