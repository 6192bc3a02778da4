"""The exact methods of family `edge` as they are called: optima with their proofs."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import schedgap as sg
from schedgap.instances.edge import EdgeInstance
from schedgap.instances.generate import generate
from schedgap.models.edge import FAMILY, rules
from schedgap.models.edge.exact import components, exact
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.search_state import StageResult
from schedgap.solvers import Clock
from schedgap.solvers.proofs.checker import RefusedError
from schedgap.solvers.proofs.prover import Proved
from strategies.clocks import StopAt
from strategies.edge import brute_force, edge_instances, instance_of
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C
from strategies.edge_methods import METHODS, Silence, outcome, run
from strategies.edge_stops import stopped
from strategies.engines import needs

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
OPTIMA = [(TOY_A, 5), (TOY_B, 9), (TOY_C, 6), (TOY_BATCH, 3)]
CASES = [
    (name, instance, optimum)
    for name, method in METHODS.items()
    for instance, optimum in OPTIMA
    if method.kind == "exact" and not method.unsupported_reason(instance)
]


def check(instance: EdgeInstance, outcome: MethodResult, optimum: float) -> None:
    """The outcome is the optimum with its proof."""
    if optimum == math.inf:
        assert outcome.infeasible and outcome.note
        return
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    assert rules.objective(instance, data) == optimum
    assert outcome.bound == optimum
    flow_time = None if instance.is_batch else optimum + len(instance.jobs)
    assert outcome.trace.get("flow_time") == flow_time


@pytest.mark.parametrize(("name", "instance", "optimum"), CASES)
def test_methods_prove_the_examples(name: str, instance: EdgeInstance, optimum: int) -> None:
    check(instance, run(name, instance), optimum)


@pytest.mark.parametrize("name", ["milp-mode", "milp-literal", "set-packing"])
def test_gurobi_proves_a_toy(name: str) -> None:
    needs("gurobi")
    check(TOY_C, run(name, TOY_C, "gurobi"), 6)


def test_a_job_that_never_fits_is_named() -> None:
    """Three slots of work for one worker; T = 3 and the data need one slot."""
    instance = instance_of([{}, {"epochs": 3}], horizon=3)
    for name, method in METHODS.items():
        if not method.unsupported_reason(instance):
            outcome = run(name, instance)
            assert outcome.infeasible and "j2" in outcome.note


def test_a_batch_may_be_empty() -> None:
    """The only job arrives in slot 2, with the round's begin; or it is too long for the round."""
    for job in ({"arrival": 2}, {"epochs": 3}):
        instance = instance_of([job], batch_round=2)
        for name, method in METHODS.items():
            if not method.unsupported_reason(instance):
                outcome = run(name, instance)
                assert outcome.bound == 0
                assert method.kind == "bound" or outcome.schedule.placements == {}


def test_too_many_columns_are_refused() -> None:
    outcome = run("set-packing", TOY_A, max_columns=10)
    assert outcome.schedule is not None and "runs of the jobs" in outcome.note
    outcome = run("milp-mode", TOY_A, max_columns=10)
    assert outcome.schedule is not None and "max_columns=10" in outcome.note  # a list
    assert outcome.bound == 4  # every job alone
    outcome = run("cp-sat", TOY_A, max_intervals=10)  # 3 jobs on 3 servers: 18
    assert outcome.schedule is not None and "18 intervals" in outcome.note


def test_building_stops_at_the_limit() -> None:
    """2,000 and more runs are hardly built and solved in a second; the list is kept."""
    instance = generate("edge", preset="small", seed=2)
    method = METHODS["set-packing"]
    call = RunContext(method.parse({}), "highs", Budget(Clock(1.0)), Silence())
    outcome = FAMILY.run(method, instance, call)
    assert "limit" in outcome.trace["complete search"]
    assert outcome.schedule is not None and outcome.bound is not None


def test_programs_serve_both_problems_under_one_name() -> None:
    """Names of methods that are gone stand for those that run the same program."""
    for old, name in (("batch-milp", "milp-mode"), ("batch-dual", "cg-bound")):
        assert FAMILY.method(old) is FAMILY.method(name)
    assert not METHODS["milp-literal"].unsupported_reason(TOY_BATCH)
    assert METHODS["type-bound"].unsupported_reason(TOY_BATCH)


def prove(instance: EdgeInstance) -> None:
    """`exact` is the enumeration's optimum, on one problem and the other."""
    check(instance, run("exact", instance), brute_force(instance))


@settings(max_examples=20, **QUIET)
@given(edge_instances(batch=None, placeable=True))
def test_exact_agrees_with_enumeration(instance: EdgeInstance) -> None:
    prove(instance)


@settings(max_examples=8, **QUIET)
@given(edge_instances(batch=None, placeable=True, nasty=True))
def test_exact_agrees_with_enumeration_on_nasty_data(instance: EdgeInstance) -> None:
    prove(instance)


@pytest.mark.nightly
@settings(max_examples=1000, **QUIET)
@given(edge_instances(batch=None, placeable=True, nasty=True))
def test_exact_agrees_with_enumeration_on_nasty_data_at_length(instance: EdgeInstance) -> None:
    prove(instance)


@pytest.mark.nightly
@settings(max_examples=500, **QUIET)
@given(st.booleans().flatmap(lambda placeable: edge_instances(batch=None, placeable=placeable)))
def test_exact_agrees_with_enumeration_at_length(instance: EdgeInstance) -> None:
    prove(instance)


def refused(*args: object, **more: object) -> Proved:
    raise RefusedError("/model", "the program is too large to be written down")


def test_exact_is_never_below_the_bound_by_worker_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four jobs of 2 to 5 slots on one worker, where all but that bound comes to nothing."""
    servers = [{"id": "s", "kind": "edge", "workers": {"gpu": 1}, "parameter_servers": {"cpu": 4}}]
    jobs = [{"epochs": 2 + k, "transfer_delay": {"s": 0}} for k in range(4)]
    instance = instance_of(jobs, servers=servers, horizon=20)
    monkeypatch.setattr(components, "GoalSearch", refused)
    monkeypatch.setattr(exact, "prove_goal", refused)
    least = outcome(None, "type-bound", instance).bound
    found, _ = stopped(instance, "exact", StopAt(10**9))
    alone = outcome(None, "job-alone", instance).bound
    assert least is not None and alone is not None and alone < least == found.bound
    assert found.certificate is not None and found.certificate["kind"] == "type-bound"


@pytest.mark.parametrize(("seconds", "first"), [(10.0, 4.0), (60.0, 7.2)])
def test_bounds_at_full_scale_leave_most_of_the_time_to_the_lists(
    seconds: float, first: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    def bounds(state: object, instance: object, *others: object, budget: Budget) -> StageResult:
        assert budget.clock.limit is not None
        given.append(budget.clock.limit)
        return StageResult(value=[])

    monkeypatch.setattr(exact, "MAX_PLACES", 0)
    monkeypatch.setattr(exact, "type_stage", bounds)
    monkeypatch.setattr(exact, "tree_stage", bounds)
    monkeypatch.setattr(exact, "search_lists", lambda *arguments: None)
    call = RunContext({}, None, Budget(Clock(seconds)), Silence())
    exact.exact(generate("edge", preset="small", seed=2), call)
    assert given == pytest.approx([first, 0.4 * seconds], rel=0.1)


def test_what_a_search_proves_is_refuted_afterwards() -> None:
    """CP-SAT closes the gap; the proof needs no engine."""
    found = sg.solve(generate("edge", preset="medium", seed=1), "exact", time_limit=300)
    assert found.objective == found.bound == 120
    assert found.proof is not None and found.proof.kind == "tree"
