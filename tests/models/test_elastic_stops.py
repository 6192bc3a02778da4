"""Exact methods of family `elastic`, stopped at any reading of the clock, claim nothing false."""

import math
from collections.abc import Callable
from itertools import takewhile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import FAMILY
from schedgap.models.method import Budget, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.children.processes import run_child
from schedgap.solvers.proofs import prover
from strategies.elastic import brute_force, elastic_instances, instance_of
from strategies.elastic_stops import (
    EXACT,
    STOPPED,
    WAYS,
    Heard,
    judge,
    optimum_of,
    stopped,
    stops,
    switched,
)

NAMES = sorted(STOPPED)
PROGRAMS = ("compact-exponential", "paper-milp")


def tried(
    name: str, way: tuple[str, ...], *, first: int, spread: int, most: int,
    method: str = "exact",
) -> int:  # fmt: skip
    """Stop a method at many readings, until it ends by itself; returns how many."""
    optimum, engine = optimum_of(name), None if method == "exact" else "highs"
    number = 0
    with switched(way):
        for k in takewhile(lambda k: k <= most, stops(first, spread)):
            number += 1
            if stopped(method, STOPPED[name], optimum, k, engine):
                break
    return number


@pytest.mark.parametrize("name", NAMES)
def test_exact_stopped_anywhere_claims_nothing_false(name: str) -> None:
    way = WAYS[1 + NAMES.index(name) % 5]
    assert tried(name, way, first=4, spread=3, most=800) >= 4


@pytest.mark.parametrize("name", ["thirds", "closed"])
@pytest.mark.parametrize("method", PROGRAMS)
def test_programs_stopped_anywhere_claim_nothing_false(method: str, name: str) -> None:
    assert tried(name, ("bad start",), first=3, spread=2, most=60, method=method) >= 3


@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS, ids=", ".join)
@pytest.mark.parametrize("name", NAMES)
def test_exact_stopped_anywhere_claims_nothing_false_at_length(
    name: str, way: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    record_property("stops", tried(name, way, first=150, spread=60, most=1500))


@pytest.mark.nightly
@pytest.mark.parametrize("method", PROGRAMS)
@pytest.mark.parametrize("name", NAMES)
def test_programs_stopped_anywhere_claim_nothing_false_at_length(
    method: str, name: str, record_property: Callable[[str, object], None]
) -> None:
    number = tried(name, ("bad start",), first=40, spread=20, most=1000, method=method)
    record_property("stops", number)


def honest(instance: ElasticInstance, way: tuple[str, ...], k: int) -> None:
    with switched(way):
        stopped("exact", instance, brute_force(instance), k)


@settings(max_examples=9, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances(nasty=True), st.sampled_from(WAYS[:3]), st.integers(1, 600))
def test_nasty_numbers_make_no_claim_false(
    instance: ElasticInstance, way: tuple[str, ...], k: int
) -> None:
    honest(instance, way, k)


@pytest.mark.nightly
@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances(nasty=True), st.sampled_from(WAYS), st.integers(1, 1500))
def test_nasty_numbers_make_no_claim_false_at_length(
    instance: ElasticInstance, way: tuple[str, ...], k: int
) -> None:
    honest(instance, way, k)


def test_weights_of_jobs_that_never_run_do_not_set_the_size() -> None:
    """The heavy job has no time to end by the deadline; the light ones take turns in one slot."""
    light = {"train_time": {"w1": 1}, "update_time": {"p1": 0}, "weight": 2e-9}
    heavy = light | {"train_time": {"w1": 9}, "weight": 1e9}
    one = [{"id": "s1", "capacity": {"gpu": 1, "cpu": 8, "bandwidth": 6}}]
    jobs = [heavy, light | {"weight": 1e-9}, light]
    instance = instance_of(jobs, servers=one, objective="scheduled_weight", deadline=2)
    assert brute_force(instance) == 2e-9
    honest(instance, (), 1)
    honest(instance, ("bad start",), 2000)


@pytest.mark.parametrize("method", PROGRAMS)
def test_amounts_far_apart_are_not_for_floating_point(method: str) -> None:
    """HiGHS proves a bound above the optimum of the paper's program where 6e11 meets 0.01."""
    name = "huge amounts"
    instance, heard = STOPPED[name], Heard()
    call = RunContext(EXACT[method].parse({}), "highs", Budget(Clock(60)), heard)
    outcome = FAMILY.run(EXACT[method], instance, call)
    assert "too far apart" in outcome.note
    judge(instance, optimum_of(name), outcome, heard)


def test_cp_sat_stopped_claims_nothing_false() -> None:
    """In a separate child, where all numbers are multiples of a step."""
    names = [
        name for name in NAMES if name not in ("huge amounts", "nearly equal", "thirds", "wide")
    ]
    reply = run_child(
        "strategies.elastic_cp_sat:stopped",
        [STOPPED[name] for name in names],
        limit=60,
        engine="cp-sat",
    )
    for name, ends in zip(names, reply.result(), strict=True):
        instance, optimum = STOPPED[name], optimum_of(name)
        sign = -1 if instance.is_batch else 1
        near = 1e-6 * abs(optimum) if math.isfinite(optimum) else 0.0
        for schedules, bounds, infeasible in ends:
            assert not infeasible or optimum == math.inf
            assert all(bound <= sign * optimum + near for bound in bounds)
            for schedule in schedules:
                assert sign * schedule.value(instance) >= sign * optimum - near
        *_, (schedules, bounds, infeasible) = ends
        assert infeasible or max(bounds) == pytest.approx(sign * optimum, rel=1e-6)
        assert infeasible or schedules[-1].value(instance) == pytest.approx(optimum)


def test_a_tree_that_loses_nodes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same search, with a tree that forgets its children."""
    branch = prover.Prover._branch
    monkeypatch.setattr(prover.Prover, "_branch", lambda self, *node: branch(self, *node)[:1])
    with switched(WAYS[2]), pytest.raises(AssertionError):
        stopped("exact", STOPPED["batch"], optimum_of("batch"), 2000)
