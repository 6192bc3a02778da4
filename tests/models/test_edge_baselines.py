"""The baselines: the toys worked out by hand, the rules kept, and no look ahead."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import FAMILY
from schedgap.models.edge.baselines.batch_sche import batch_sche
from schedgap.models.edge.baselines.drf import drf
from schedgap.models.edge.baselines.fifo import fifo
from schedgap.models.edge.baselines.preemptive import preemptive
from schedgap.models.edge.methods import METHODS
from schedgap.models.edge.rules import check, objective
from schedgap.models.method import Budget, RunContext
from strategies.edge import brute_force, edge_instances, instance_of
from strategies.edge_examples import TOY_A, TOY_B, TOY_C

BY_NAME = {method.name: method for method in METHODS}
ALL = {
    "fifo": fifo,
    "drf": drf,
    "batch-sche": batch_sche,
    "preemptive": preemptive,
    "preemptive-overhead": lambda instance: preemptive(instance, 1),
}


def solved(name, instance, **options):
    method = BY_NAME[name]
    return FAMILY.run(method, instance, RunContext(method.parse(options), None, Budget(), None))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("fifo", (6, 9, 9)),
        ("drf", (8, 9, 9)),
        ("batch-sche", (20, 15, None)),
        ("preemptive", (1, 2, 4)),
        ("preemptive-overhead", (5, 9, 6)),
    ],
)
def test_the_toys(name, values):
    for instance, value in zip((TOY_A, TOY_B, TOY_C), values, strict=True):
        outcome = solved(name, instance)
        if value is None:
            assert outcome.schedule is None and outcome.note == "1 of 2 jobs unplaced"
            continue
        data = outcome.schedule.to_data(instance)
        assert list(check(instance, data, {})) == []
        assert objective(instance, data) == value
        assert outcome.trace["flow_time"] == value + len(instance.jobs)


def runs(schedule):
    """Start, last slot, workers and PS of each run, by job."""
    return {
        job: [
            (run.start, run.completion, dict(run.workers), run.ps_server)
            for run in schedule.segments(job)
        ]
        for job in schedule.placements
    }


def test_fifo_on_the_toy():
    """j1 and j2 take an edge server each from slot 2 on, two slots each; j3 the first free one."""
    assert runs(fifo(TOY_A)) == {
        "j1": [(2, 3, {"edge-1": 2}, "edge-1")],
        "j2": [(2, 3, {"edge-2": 2}, "edge-2")],
        "j3": [(4, 4, {"edge-1": 2}, "edge-1")],
    }


@pytest.mark.parametrize("name", ["fifo", "drf"])
def test_the_last_slot_of_the_horizon_can_be_used(name):
    """Toy-c: j1 in slots 2-5, j2 in 6; with T = 5 it has no place."""
    tight = EdgeInstance.from_data(TOY_C.to_data() | {"horizon": 6})
    assert solved(name, tight).schedule == solved(name, TOY_C).schedule
    late = EdgeInstance.from_data(TOY_C.to_data() | {"horizon": 5})
    assert solved(name, late).schedule is None


def test_fifo_does_not_overtake_within_a_worker_type():
    """j1 needs both workers, one of which j0 has to slot 6; j2 needs one and still waits for j1."""
    servers = [
        {"id": "s", "kind": "edge", "workers": {"a": 2, "b": 1}, "parameter_servers": {"p": 9}}
    ]
    long = {"worker_type": "a", "epochs": 5, "transfer_delay": {"s": 0}}
    short = long | {"epochs": 1}
    jobs = [long, short | {"chunks": 2}, short, short | {"worker_type": "b"}]
    instance = instance_of(jobs, servers=servers, worker_types=["a", "b"], ps_types=["p"])
    found = runs(fifo(instance))
    assert [found[f"j{n}"][0][:2] for n in (1, 2, 3, 4)] == [(1, 5), (6, 6), (7, 7), (1, 1)]


def test_fifo_splits_only_where_no_server_has_both():
    """Workers on a and b, PSs on c: all workers of both, in list order, when all are ready."""
    servers = [
        {"id": "a", "kind": "edge", "workers": {"gpu": 2}, "parameter_servers": {}},
        {"id": "b", "kind": "edge", "workers": {"gpu": 2}, "parameter_servers": {}},
        {"id": "c", "kind": "edge", "workers": {}, "parameter_servers": {"cpu": 1}},
    ]
    delays = {"a": 1, "b": 1, "c": 2}
    jobs = [{"chunks": 3, "transfer_delay": delays}, {"chunks": 4, "transfer_delay": delays}]
    instance = instance_of(jobs, servers=servers)
    assert runs(fifo(instance)) == {
        "j1": [(3, 3, {"a": 2, "b": 1}, "c")],
        "j2": [(4, 4, {"a": 2, "b": 2}, "c")],  # one worker is free in 3, but no PS
    }


def test_drf_shares_workers_evenly_unless_the_parameter_server_weighs_more():
    """Four workers, four PSs: two workers each. With two PSs each job's PS is half of all, as much
    as two workers: at equal shares the first job gets the third worker, and a third job no PS."""
    job = {"chunks": 4, "transfer_delay": {"s": 0}}

    def found(number, ps):
        servers = [
            {"id": "s", "kind": "edge", "workers": {"gpu": 4}, "parameter_servers": {"cpu": ps}}
        ]
        return runs(drf(instance_of([job] * number, servers=servers)))

    assert found(2, 4) == {"j1": [(1, 2, {"s": 2}, "s")], "j2": [(1, 2, {"s": 2}, "s")]}
    assert found(3, 2) == {
        "j1": [(1, 2, {"s": 3}, "s")],
        "j2": [(1, 4, {"s": 1}, "s")],
        "j3": [(3, 4, {"s": 3}, "s")],
    }


def test_drf_gathers_a_job_on_one_server_that_holds_it():
    """The first worker goes to a, where most are free, the second next to its PS; b is left with
    no free worker by both, a would be with one."""
    servers = [
        {"id": "a", "kind": "edge", "workers": {"gpu": 3}, "parameter_servers": {"cpu": 1}},
        {"id": "b", "kind": "edge", "workers": {"gpu": 2}, "parameter_servers": {"cpu": 1}},
    ]
    instance = instance_of([{"chunks": 2}], servers=servers)
    assert runs(drf(instance)) == {"j1": [(2, 2, {"b": 2}, "b")]}


def test_batch_sche_waits_alpha_times_its_batch():
    """alpha = 1: the batch at tau = 1 has the window of slot 2; alpha = 4: windows in slots 5-8."""
    instance = instance_of([{}], horizon=64)
    first = [runs(batch_sche(instance, alpha))["j1"][0][0] for alpha in (1, 2, 4)]
    assert first == [2, 3, 5]


def test_preemption_leaves_transfer_delays_out_and_says_so():
    outcome = solved("preemptive", TOY_C)
    assert outcome.schedule.relaxed == ("2c-2d", "2i")
    # the short job in slot 1, before its data are there; the long one after it
    assert runs(outcome.schedule) == {
        "j1": [(2, 5, {"edge-1": 1}, "edge-1")],
        "j2": [(1, 1, {"edge-1": 1}, "edge-1")],
    }


def test_an_interruption_costs_its_overhead():
    """j1 runs in 2, j2 (shorter than what is left of j1) in 3, j1 again in 4-8 after two slots."""
    jobs = [{"epochs": 4, "transfer_delay": {"s": 1}}, {"arrival": 2, "transfer_delay": {"s": 1}}]
    servers = [{"id": "s", "kind": "edge", "workers": {"gpu": 1}, "parameter_servers": {"cpu": 1}}]
    instance = instance_of(jobs, servers=servers)
    schedule = solved("preemptive-overhead", instance, overhead=2).schedule
    assert schedule.relaxed == ("2c-2d",)
    assert [run[:2] for run in runs(schedule)["j1"]] == [(2, 2), (4, 8)]
    assert [run.overhead for run in schedule.segments("j1")] == [0, 2]
    assert runs(schedule)["j2"] == [(3, 3, {"s": 1}, "s")]
    assert list(check(instance, schedule.to_data(instance), {})) == []


@pytest.mark.parametrize("name", ALL)
def test_a_long_horizon_costs_nothing(name):
    """j1 can run nowhere; the data of j2 take a million slots to come."""
    servers = [{"id": "s", "kind": "edge", "workers": {"a": 1}, "parameter_servers": {"p": 1}}]
    jobs = [{"worker_type": "b"}, {"arrival": 9, "transfer_delay": {"s": 10**6}}]
    types = {"worker_types": ["a", "b"], "ps_types": ["p"]}
    instance = instance_of(jobs, servers=servers, horizon=10**9, **types)
    start = 9 if name == "preemptive" else 9 + 10**6
    assert [run[0] for run in runs(ALL[name](instance))["j2"]] == [start]
    assert set(runs(ALL[name](instance))) == {"j2"}


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=14, deadline=None)
@given(instance=edge_instances(max_jobs=4, horizon=(8, 40)))
def test_schedules_keep_the_rules(name, instance):
    keeps_the_rules(name, instance)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=1000, deadline=None)
@given(instance=edge_instances(max_jobs=7, max_servers=3, horizon=(8, 64)))
def test_schedules_keep_the_rules_at_length(name, instance):
    keeps_the_rules(name, instance)


def keeps_the_rules(name, instance):
    schedule = ALL[name](instance)
    data = schedule.to_data(instance)
    left = {job.id for job in instance.jobs} - set(schedule.placements)
    found = list(check(instance, data, {}))
    assert {violation.where[0] for violation in found} == left
    assert {violation.rule for violation in found} <= {"V1"}
    if not left and not schedule.relaxed and len(instance.jobs) <= 4:
        assert schedule.value(instance) >= brute_force(instance)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=14, deadline=None)
@given(instance=edge_instances(max_jobs=4, horizon=(8, 24)), slot=st.integers(1, 8))
def test_nobody_sees_a_job_before_it_arrives(name, instance, slot):
    """What runs up to a slot is the same when no other job arrives after it.

    The horizon is long: a job that is not complete by then would not be told of at all.
    """
    instance = EdgeInstance.from_data(instance.to_data() | {"horizon": 200})
    early = [job.model_dump(exclude_unset=True) for job in instance.jobs if job.arrival <= slot]
    if not early or len(early) == len(instance.jobs):
        return
    known = EdgeInstance.from_data(instance.to_data() | {"jobs": early})

    def until(schedule):
        return {
            job: [(start, min(end, slot), *rest) for start, end, *rest in parts if start <= slot]
            for job, parts in runs(schedule).items()
            if parts[0][0] <= slot
        }

    assert until(ALL[name](instance)) == until(ALL[name](known))


def test_a_job_too_long_for_the_horizon_is_a_proof_unless_delays_are_left_out():
    short = EdgeInstance.from_data(TOY_C.to_data() | {"horizon": 4})
    outcome = solved("fifo", short)
    assert outcome.infeasible and outcome.note == "job j1 cannot end by slot 4"
    outcome = solved("preemptive", short)
    assert not outcome.infeasible and outcome.note == "1 of 2 jobs unplaced"
