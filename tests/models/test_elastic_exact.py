"""`exact` of family `elastic`, and its programs, against enumeration."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import FAMILY, rules
from schedgap.models.elastic.bounds.certificates import check_certificate
from schedgap.models.elastic.exact import exact
from schedgap.models.elastic.methods import METHODS as ALL
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock
from strategies.clocks import StopAt
from strategies.elastic import brute_force, elastic_instances, instance_of
from strategies.elastic_examples import BATCH, J1, RING, TOY
from strategies.elastic_stops import STOPPED, Heard
from strategies.engines import needs

METHODS = {method.name: method for method in ALL if method.kind == "exact"}


class Silence:
    """Progress that nobody watches."""

    def incumbent(self, schedule: Any, objective: float) -> None: ...

    def bound(self, value: float, certificate: object = None, **more: object) -> None: ...

    def phase(self, text: str) -> None: ...


def run(
    name: str, instance: ElasticInstance, engine: str | None = None, limit: float = 60
) -> MethodResult:
    method = METHODS[name]
    call = RunContext(
        method.parse({}), method.choose_engine(engine), Budget(Clock(limit)), Silence()
    )
    return FAMILY.run(method, instance, call)


def check(instance: ElasticInstance, outcome: MethodResult) -> None:
    """The outcome is the optimum with its proof."""
    optimum = brute_force(instance)
    if outcome.infeasible:
        assert optimum == math.inf
        return
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    assert rules.objective(instance, data) == pytest.approx(optimum)
    assert outcome.bound == pytest.approx(optimum, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("instance", "optimum"), [(TOY, 27), (BATCH, 5), (RING, 5)])
def test_exact_proves_the_examples(instance: ElasticInstance, optimum: float) -> None:
    outcome = run("exact", instance)
    assert outcome.bound == pytest.approx(optimum)
    check(instance, outcome)


@pytest.mark.parametrize("name", ["compact-exponential", "paper-milp"])
@pytest.mark.parametrize("engine", ["highs", "gurobi"])
def test_methods_prove_the_examples(name: str, engine: str) -> None:
    needs(engine)
    for instance in (TOY, BATCH, RING):
        check(instance, run(name, instance, engine))


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.booleans().flatmap(lambda whole: elastic_instances(max_jobs=3, integer=whole)))
def test_exact_agrees_with_enumeration(instance: ElasticInstance) -> None:
    check(instance, run("exact", instance))


@pytest.mark.nightly
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.booleans().flatmap(lambda whole: elastic_instances(max_jobs=3, integer=whole)))
def test_exact_agrees_with_enumeration_at_length(instance: ElasticInstance) -> None:
    check(instance, run("exact", instance))


def test_a_stopped_search_keeps_schedule_and_bound() -> None:
    instance = instance_of([J1] * 6)
    outcome = run("exact", instance, limit=0.01)
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    assert outcome.bound is not None
    assert outcome.bound <= rules.objective(instance, data)


def test_too_many_columns_are_refused_with_a_schedule() -> None:
    method = METHODS["paper-milp"]
    options = method.parse({"max_columns": 5})
    outcome = FAMILY.run(method, BATCH, RunContext(options, "highs", Budget(Clock(60)), Silence()))
    assert "too large" in outcome.note
    assert outcome.schedule is not None


def test_a_closed_horizon_without_a_schedule_is_proved_empty() -> None:
    """Each of two jobs needs 3 slots with all GPUs of a server, or 4 on both: 3 slots hold two jobs
    on two servers, not three."""
    two = instance_of([J1, J1], horizon=3, horizon_policy="closed")
    check(two, run("exact", two))
    three = instance_of([J1, J1, J1], horizon=3, horizon_policy="closed")
    assert run("exact", three).infeasible


def test_a_closed_horizon_in_which_nothing_is_found_has_no_local_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No stage answers here; the prices come in time, but there is no schedule to improve."""
    monkeypatch.setattr(SearchState, "child", lambda *args, **more: None)
    monkeypatch.setattr(exact, "KERNEL", SimpleNamespace(compiled=lambda instance: True))
    three = instance_of([J1, J1, J1], horizon=3, horizon_policy="closed")
    outcome = run("exact", three)
    assert outcome.schedule is None and not outcome.infeasible
    assert outcome.trace["search"]["moves"] == 0


def test_light_weights_are_weighed() -> None:
    """Five jobs of weights 2e-9 to 9e-9: a list loses 2 % of 4.86e-7."""
    kinds = [
        {"id": "w1", "demand": {"gpu": 2, "bandwidth": 1}},
        {"id": "w2", "demand": {"gpu": 1, "bandwidth": 1}},
    ]
    rows = [(1, 2, 2, 3), (2, 5, 5, 2), (5, 1, 3, 4), (6, 7, 9, 3), (5, 8, 9, 3)]
    jobs = [
        {"train_time": {"w1": a, "w2": b}, "update_time": 0.3, "weight": w * 1e-9, "chunks": 3,
         "gradient_size": 0.5, "arrival": t}
        for a, b, w, t in rows
    ]  # fmt: skip
    server = [{"id": "s1", "capacity": {"gpu": 3, "cpu": 8, "bandwidth": 9}}]
    fields = {"architecture": "ring_allreduce", "servers": server, "worker_types": kinds}
    instance = instance_of(jobs, **fields)
    outcome = run("exact", instance)
    assert brute_force(instance) == pytest.approx(4.86e-7, rel=1e-9)
    assert outcome.schedule.value(instance) == pytest.approx(4.86e-7, rel=1e-6, abs=0)
    assert outcome.bound == pytest.approx(4.86e-7, rel=1e-6, abs=0)


def test_amounts_of_more_than_40_bits_are_refused_or_rounded() -> None:
    """1e12 GPUs in steps of 0.1; the second job runs at the same time: 2 x 5 + 3 x 2."""
    kinds = [
        {"id": "w1", "demand": {"gpu": 6e11, "bandwidth": 1}},
        {"id": "w2", "demand": {"gpu": 0.1, "bandwidth": 1}},
    ]
    jobs = [
        {"train_time": {"w1": 4}, "update_time": 0, "weight": 2},
        {"train_time": {"w1": 1, "w2": 1}, "update_time": 0, "weight": 3},
    ]
    server = [{"id": "s1", "capacity": {"gpu": 1e12, "cpu": 8, "bandwidth": 9}}]
    fields = {"architecture": "ring_allreduce", "servers": server, "worker_types": kinds}
    instance = instance_of(jobs, **fields)
    assert brute_force(instance) == 16
    check(instance, run("exact", instance))
    jobs[1]["train_time"] = {"w1": 2}  # not with the first any more: no bound meets a list
    with pytest.raises(ScaleError, match="40 bits"):
        run("cp-sat", instance_of(jobs, **fields))


# Two jobs of 6,000,000 slots on a server each, 3 x 6,000,001 twice; with three workers on both
# servers a job takes 4,000,002, and the two one after the other 3 x 4,000,003 + 3 x 8,000,005.
LONG = instance_of([{**J1, "train_time": {"w1": 1e6}}] * 2)


def test_many_slots_are_not_too_many_for_intervals() -> None:
    outcome = run("exact", LONG, limit=15)
    assert outcome.bound == outcome.schedule.value(LONG) == 36_000_006
    assert outcome.note == ""


def test_what_is_too_large_has_a_schedule_and_a_coarse_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each job alone costs 3 x 4,000,003."""
    monkeypatch.setattr(exact, "FIRST_SIZE", 0)
    monkeypatch.setattr(exact, "MAX_SIZE", 0)
    outcome = run("exact", LONG, limit=3)
    assert "too large" in outcome.note
    assert outcome.schedule.value(LONG) <= 3 * 4_000_003 + 3 * 8_000_005
    assert 6 * 4_000_003 <= outcome.bound <= outcome.schedule.value(LONG)
    assert check_certificate(LONG, outcome.certificate) == pytest.approx(outcome.bound)


def test_prices_bound_before_any_search_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """No child answers: the bound is from the relaxation, and the schedule from a list."""
    heard, instance, kinds = Heard(), STOPPED["ring"], []

    def child(state: Any, *arguments: Any, **more: Any) -> None:
        kinds.append(state.certificate["kind"])

    monkeypatch.setattr(SearchState, "child", child)
    call = RunContext({}, "highs", Budget(), heard)
    outcome = FAMILY.run(METHODS["exact"], instance, call)
    assert outcome.bound == 38 and outcome.certificate is not None
    assert outcome.certificate["kind"] == kinds[0] == "configuration-lp"
    assert outcome.schedule.value(instance) == min(heard.values)


@pytest.mark.parametrize("name", ["ring on two servers", "batch"])
def test_a_large_instance_is_lp_guided_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MAX_SERVERS", 0)
    monkeypatch.setattr(exact, "MAX_SIZE", 10)
    monkeypatch.setattr(SearchState, "child", None)  # no stage is run
    call = RunContext({}, "highs", Budget(StopAt(300)), Heard())
    outcome = FAMILY.run(METHODS["exact"], STOPPED[name], call)
    assert outcome.schedule is not None and outcome.bound is not None
