"""The methods of the paper's algorithms as a user calls them."""

import pytest
from hypothesis import HealthCheck, given, settings

from schedgap.errors import UsageError
from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import rules
from schedgap.models.edge.methods import METHODS
from schedgap.models.method import MethodResult
from strategies.edge import brute_force, edge_instances, instance_of
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C
from strategies.edge_methods import run

ONLINE = [
    method.name
    for method in METHODS
    if method.kind == "algorithm" and method.online and not method.engines
]
VALUES = {  # toy-a, toy-b, toy-c; None: a job is left over. Worked out in test_edge_algorithm
    "a-online": (21, 29, None),
    "a-online-printed": (21, 29, None),
    "a-online-earliest": (17, 22, None),
    "a-online-model": (9, 17, 9),
    "a-online-any": (9, 10, 9),
    "a-online-no-price": (17, 22, None),
}


def value(instance: EdgeInstance, outcome: MethodResult) -> float:
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


@pytest.mark.parametrize("name", ONLINE)
def test_the_toys(name: str) -> None:
    for instance, expected in zip((TOY_A, TOY_B, TOY_C), VALUES[name], strict=True):
        outcome = run(name, instance)
        assert outcome.bound is None and not outcome.infeasible
        if expected is None:
            assert outcome.schedule is None
            assert outcome.note == "1 of 2 jobs unplaced"
            assert outcome.trace["left"] == ["j2"]
            assert list(outcome.partial["jobs"]) == ["j1"]
        else:
            assert value(instance, outcome) == expected
            assert outcome.trace["flow_time"] == expected + len(instance.jobs)


def test_the_trace_says_what_was_decided_when() -> None:
    assert run("a-online", TOY_A).trace["rounds"] == [
        {"tau": 2, "batch": ["j1", "j2"], "served": []},
        {"tau": 4, "batch": ["j1", "j2", "j3"], "served": ["j1", "j2"]},
        {"tau": 8, "batch": ["j3"], "served": ["j3"]},
    ]


def test_a_batch() -> None:
    """toy-b's jobs: one server is closed by j1's worker, the cloud is not ready before tau = 4."""
    outcome = run("a-maxsche", TOY_BATCH)
    assert value(TOY_BATCH, outcome) == 1
    assert outcome.trace["jobs"] == 3 and outcome.trace["dual_value"] == 3


def test_jobs_of_a_batch_that_arrive_later_take_no_part() -> None:
    late = TOY_BATCH.to_data()
    late["jobs"][0]["arrival"] = 4
    instance = EdgeInstance.from_data(late)
    outcome = run("a-maxsche", instance)
    assert list(outcome.schedule.placements) == ["j2"] and outcome.trace["jobs"] == 2


def test_exact_batches_on_the_toys() -> None:
    """Toy-a: rounds of 2 slots and on run all that are there: as `a-online-any`, 9.

    Toy-b: j1, j2 in 3-4, and j3 could end by 4 only on the cloud, which j2 has: 10. Toy-c: at tau
    = 2 only j2 fits, j1 follows in 5-8.
    """
    for instance, expected in ((TOY_A, 9), (TOY_B, 10), (TOY_C, 9)):
        outcome = run("a-online-exact-batch", instance)
        assert value(instance, outcome) == expected
        assert outcome.trace["proved"]
        assert outcome.trace["guarantee"].startswith("sum c_j <= 4 times that of any schedule")
        assert all(each["proved"] for each in outcome.trace["rounds"])


def test_exact_batches_run_more_jobs_than_prices_let_in() -> None:
    """One worker and PS, slots 3-4 and 5-8 of T = 8: j1 takes 3 slots, j2 and j3 two each.

    In round 4 prices take j1, the first: one job. The most are j2 and j3, and j1 is left over.
    """
    server = {"id": "s", "kind": "edge", "workers": {"gpu": 1}, "parameter_servers": {"cpu": 1}}
    jobs = [{"arrival": 2, "minibatches_per_chunk": n} for n in (3, 2, 2)]
    instance = instance_of(jobs, servers=[server], horizon=8)
    greedy = run("a-online-any", instance)
    assert list(greedy.partial["jobs"]) == ["j1"]
    exact = run("a-online-exact-batch", instance)
    assert list(exact.partial["jobs"]) == ["j2", "j3"] and exact.note == "1 of 3 jobs unplaced"
    assert exact.trace["rounds"][-1] == {
        "tau": 4, "batch": ["j1", "j2", "j3"], "served": ["j2", "j3"], "proved": True, "bound": 2,
    }  # fmt: skip


def test_without_time_a_round_is_that_of_the_greedy_algorithm() -> None:
    server = {"id": "s", "kind": "edge", "workers": {"gpu": 1}, "parameter_servers": {"cpu": 1}}
    jobs = [{"arrival": 2, "minibatches_per_chunk": n} for n in (3, 2, 2)]
    instance = instance_of(jobs, servers=[server], horizon=8)
    exact = run("a-online-exact-batch", instance, limit=1e-6)
    assert list(exact.partial["jobs"]) == ["j1"]
    assert not exact.trace["proved"] and "guarantee" not in exact.trace


@pytest.mark.parametrize("name", [*ONLINE, "a-online-exact-batch"])
def test_a_job_that_can_never_run_proves_that_there_is_no_schedule(name: str) -> None:
    outcome = run(name, instance_of([{}, {"epochs": 3}], horizon=3))
    assert outcome.infeasible and outcome.schedule is None and "j2" in outcome.note


@pytest.mark.parametrize(
    ("name", "instance", "needed"),
    [
        *((name, TOY_BATCH, "without batch_round") for name in (*ONLINE, "a-online-exact-batch")),
        ("a-maxsche", TOY_A, "with batch_round"),
    ],
)
def test_the_other_problem_is_refused(name: str, instance: EdgeInstance, needed: str) -> None:
    with pytest.raises(UsageError, match=f"{name}: needs an instance {needed}"):
        run(name, instance)


@given(edge_instances(max_jobs=3, horizon=(8, 20)))
@settings(max_examples=27, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_schedules_keep_the_rules_and_are_no_better_than_the_optimum(
    instance: EdgeInstance,
) -> None:
    optimum = brute_force(instance)
    for name in ONLINE:
        outcome = run(name, instance)
        if outcome.infeasible:
            assert optimum == float("inf")
        elif outcome.schedule is not None:
            assert value(instance, outcome) >= optimum
        else:
            assert outcome.note.endswith("jobs unplaced")


@given(edge_instances(max_jobs=4, batch=True))
@settings(max_examples=35, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_batches_keep_the_rules_and_run_no_more_than_the_most(instance: EdgeInstance) -> None:
    outcome = run("a-maxsche", instance)
    most = brute_force(instance)
    assert value(instance, outcome) <= most
    dual = outcome.trace["dual_value"]
    assert dual is None or dual >= most - 1e-9
