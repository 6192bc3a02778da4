"""The methods of the paper's algorithms as a user calls them."""

from typing import Any

import pytest

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import FAMILY, rules
from schedgap.models.elastic.methods import METHODS
from schedgap.models.method import Budget, MethodResult, RunContext, check_instance
from strategies.elastic import instance_of
from strategies.elastic_examples import BATCH, J1, RING, TOY

BY_NAME = {method.name: method for method in METHODS if method.kind == "algorithm"}


class Silence:
    """Progress that nobody watches."""

    def incumbent(self, schedule: Any, objective: float) -> None: ...

    def bound(self, value: float, certificate: object = None, **more: object) -> None: ...

    def phase(self, text: str) -> None: ...


def run(name: str, instance: ElasticInstance, **options: object) -> MethodResult:
    method = BY_NAME[name]
    check_instance(instance, method)
    return FAMILY.run(
        method, instance, RunContext(method.parse(options), None, Budget(), Silence())
    )


def value(instance: ElasticInstance, outcome: MethodResult) -> float:
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("a-online", {}, 110),
        ("a-online", {"alpha": "1"}, 44),
        ("a-online", {"alpha": "theory"}, 462),
        ("a-online", {"alpha": "theory-repaired"}, 484),
        ("a-online", {"compact": "true"}, 44),
        ("a-online", {"placement": "repaired", "F": "1"}, 110),
        ("a-online-compact", {}, 44),
    ],
)
def test_the_toy(name: str, options: dict[str, str], expected: float) -> None:
    """Worked out in test_elastic_a_online."""
    assert value(TOY, run(name, TOY, **options)) == expected


def test_the_batch() -> None:
    assert value(BATCH, run("a-maxweight", BATCH)) == 3
    assert value(BATCH, run("a-maxweight", BATCH, order="density")) == 5


def test_ties_go_to_the_first_type_or_to_the_least_volume() -> None:
    """At zero prices all costs are 0. w1 is twice w2, and no faster."""
    kinds = [
        {"id": name, "demand": {"gpu": size, "bandwidth": size}}
        for name, size in (("w1", 2), ("w2", 1))
    ]
    job = {"train_time": {"w1": 1, "w2": 1}, "update_time": {"p1": 0}}
    instance = instance_of([job], worker_types=kinds)
    for tie, chosen in (("order", "w1"), ("volume", "w2")):
        outcome = run("a-online", instance, tie=tie)
        assert outcome.schedule.placements["j1"].worker_type == chosen
    # In the ring's order one worker comes before two, and its volume is 6 < 2 x 4 as well.
    assert value(RING, run("a-online", RING)) == value(RING, run("a-online", RING, tie="volume"))


def test_the_trace_says_what_was_decided_when() -> None:
    trace = run("a-online", TOY).trace
    assert trace["alpha"] == 4
    assert trace["kappa"] == pytest.approx(15.5 / 3)
    assert trace["lemma_1"] == {"certified": True, "factor": 16, "short": []}
    assert [each["windows"] for each in trace["rounds"]] == [[["j2"]], [["j1"]]]
    # (6) with w(J_i): log2(8/3) / log2(20.46/19.46) = 19.57, then log2(3/3) = 0.
    assert [each["alpha_needed"] for each in trace["rounds"]] == [20, 1]


@pytest.mark.parametrize("name", ["a-online", "a-online-compact"])
def test_a_job_that_fits_nowhere_proves_that_there_is_no_schedule(name: str) -> None:
    servers = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 3, "bandwidth": 6}}]
    outcome = run(name, instance_of([J1], servers=servers))
    assert outcome.infeasible and outcome.schedule is None
    assert outcome.note == "job j1 fits on no servers"


def test_a_closed_horizon_that_a_job_cannot_keep_is_infeasible() -> None:
    outcome = run("a-online", instance_of([J1], horizon=2, horizon_policy="closed"))
    assert outcome.infeasible and outcome.note == "job j1 cannot end by slot 2"


def test_a_schedule_beyond_a_closed_horizon_is_not_returned() -> None:
    """Alone, j1 starts in slot 17 of 10; compact it starts in slot 5 and ends with slot 7."""
    instance = instance_of([J1], horizon=10, horizon_policy="closed")
    outcome = run("a-online", instance)
    assert outcome.schedule is None and not outcome.infeasible
    assert outcome.note.startswith("the schedule ends after the closed horizon: j1")
    assert value(instance, run("a-online-compact", instance)) == 3 * 8


@pytest.mark.parametrize(
    ("name", "instance", "needed"),
    [
        ("a-online", BATCH, "weighted_completion"),
        ("a-online-compact", BATCH, "weighted_completion"),
        ("a-maxweight", TOY, "scheduled_weight"),
    ],
)
def test_the_other_objective_is_refused(name: str, instance: ElasticInstance, needed: str) -> None:
    with pytest.raises(UsageError, match=f"{name}: needs objective {needed}"):
        run(name, instance)


@pytest.mark.parametrize("options", [{"alpha": "0"}, {"alpha": "best"}, {"placement": "literal"}])
def test_settings_outside_their_domain_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"option (alpha|placement)="):
        run("a-online", TOY, **options)
