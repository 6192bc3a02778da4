"""Every rule of family `elastic` has a schedule that breaks it and no other."""

import copy
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedgap as sg
from schedgap.errors import InputError
from schedgap.instances.elastic import ElasticSchedule
from schedgap.models.elastic import FAMILY
from schedgap.models.elastic.rules import check, metrics, objective, omitted_rules
from strategies.elastic import (
    best_schedule,
    brute_force,
    elastic_instances,
    instance_of,
    placements,
    usage,
)
from strategies.elastic_examples import BATCH, J1, RING, RING_JOB, TOY, TOY_SCHEDULE


def broken(instance, schedule):
    return [violation.rule for violation in check(instance, schedule, {})]


def toy(job="j1", **values):
    schedule = copy.deepcopy(TOY_SCHEDULE)
    schedule["jobs"][job] |= values
    return schedule


def without(schedule, *path):
    schedule = copy.deepcopy(schedule)
    target = schedule
    for key in path[:-1]:
        target = target[key]
    del target[path[-1]]
    return schedule


def in_segments(*runs, restart=1, instance=TOY, **more):
    """The toy's schedule with j1 in segments (start, duration) of two workers on s1."""
    first = TOY_SCHEDULE["jobs"]["j1"]
    segments = [first | {"start": start, "duration": duration} for start, duration in runs]
    second = {"segments": [TOY_SCHEDULE["jobs"]["j2"]]}
    jobs = {"j1": {"segments": segments}, "j2": second}
    return {"mode": "preemptive", "restart_slots": restart, "jobs": jobs} | more


def test_a_valid_schedule_breaks_no_rule_and_has_its_value():
    assert broken(TOY, TOY_SCHEDULE) == []
    assert objective(TOY, TOY_SCHEDULE) == 27
    assert broken(TOY, without(TOY_SCHEDULE, "mode")) == []
    assert omitted_rules(TOY_SCHEDULE) == ()


def test_the_true_completion_time_is_told_beside_the_objective():
    """j1 ends at time 3, j2 at time 2: 3 x 3 + 5 x 2 = 19 = 27 - (3 + 5), and 2.5 on average."""
    assert metrics(TOY, TOY_SCHEDULE) == {"true completion": 19, "mean completion": 2.5}
    only_j2 = {"jobs": {"j2": toy("j2", start=1, workers={"s1": 2}, ps={"s1": 1})["jobs"]["j2"]}}
    assert metrics(BATCH, only_j2) == {"scheduled jobs": 1}
    found = sg.solve(TOY, "wspt-list")
    assert found.metrics["true completion"] == found.objective - 8
    assert "true completion 19" in str(sg.solve(TOY, "exact", time_limit=20))


def test_a_wasteful_schedule_is_valid():
    # one slot more than needed: 3 x (1 + 4) + 15; then one PS more, 12 slots: 3 x (4 + 13) + 15
    assert broken(TOY, toy(duration=4)) == [] and objective(TOY, toy(duration=4)) == 30
    schedule = toy(start=4, duration=13, workers={"s1": 1}, ps={"s1": 1, "s2": 1})
    assert broken(TOY, schedule) == [] and objective(TOY, schedule) == 66


def ring_run(**values):
    run = {"start": 1, "duration": 4, "worker_type": "w1", "workers": {"s1": 2}}
    return {"jobs": {"j1": run | values}}


def test_a_batch_schedule_may_leave_jobs_out():
    only_j2 = {"jobs": {"j2": toy("j2", start=1, workers={"s1": 2}, ps={"s1": 1})["jobs"]["j2"]}}
    assert broken(BATCH, only_j2) == [] and objective(BATCH, only_j2) == 5
    assert broken(BATCH, {"jobs": {}}) == [] and objective(BATCH, {"jobs": {}}) == 0


def test_a_ring_schedule_is_valid_without_parameter_servers():
    assert broken(RING, ring_run()) == [] and objective(RING, ring_run()) == 5
    split = ring_run(duration=5, workers={"s1": 2, "s2": 2})
    assert broken(RING, split) == [] and objective(RING, split) == 6


@pytest.mark.parametrize(
    ("rule", "schedule"),
    [
        ("V0", toy() | {"mode": "Preemptive"}),
        ("V0", in_segments((1, 3), restart=-1)),
        ("V0", in_segments((1, 3), restart=0.5)),
        ("V1", without(TOY_SCHEDULE, "jobs", "j2")),
        ("V1", {"jobs": TOY_SCHEDULE["jobs"] | {"j3": TOY_SCHEDULE["jobs"]["j1"]}}),
        ("V2", toy(start=0)),
        ("V2", toy(start=1.5)),
        ("V2", toy(start=1.0)),
        ("V2", toy(duration=0)),
        ("V2", toy(duration=10**61)),
        ("V3", toy("j2", start=1)),
        ("V5", toy(worker_type="w2")),
        ("V5", toy(workers={})),
        ("V6", toy(ps_type="p2")),
        ("V7", toy(workers={"s1": 2, "s3": 1})),
        ("V7", toy(workers={"s1": 0})),
        ("V7", toy(workers={"s1": 1.5})),
        ("V7", toy(ps={"s1": -1})),
        ("V7", toy(ps={"s3": 1})),
        ("V8", toy(ps={})),
        ("V9", toy("j2", workers={"s2": 3})),
        ("V10", toy(duration=2)),
        ("V10", toy(workers={"s1": 1}, duration=5)),
        ("V10", toy(workers={"s1": 1}, ps={"s2": 1}, duration=6)),  # split: 12 slots
        ("V12", toy() | {"jobs": toy()["jobs"] | {"j1": {"segments": [toy()["jobs"]["j1"]]}}}),
        ("V12", in_segments((1, 3)) | {"jobs": {"j1": {"segments": []}}}),
        ("V12", in_segments((1, 2), (2, 3))),
        ("V12", in_segments((4, 2), (1, 3))),
        ("V13", toy("j2", workers={"s1": 2}, ps={"s1": 1})),  # 4 GPUs of 2
    ],
)  # fmt: skip
def test_a_schedule_breaks_one_rule(rule, schedule):
    instance = roomy(gpu=2 if rule == "V13" else 4)
    if schedule["jobs"].get("j1") == {"segments": []}:
        instance = instance_of([J1])
    assert broken(instance, schedule) == [rule]


def roomy(gpu):
    """The toy with the GPU as the only scarce resource."""
    capacity = {"gpu": gpu, "cpu": 80, "bandwidth": 60}
    servers = [{"id": name, "capacity": capacity} for name in ("s1", "s2")]
    return instance_of(jobs_of(TOY), servers=servers)


def jobs_of(instance):
    return instance.to_data()["jobs"]


def test_v4_a_closed_horizon_ends_the_last_slot():
    late = toy(start=8, duration=3)  # slots 8-10, horizon 10
    closed = instance_of(jobs_of(TOY), horizon_policy="closed")
    assert broken(closed, late) == []
    assert broken(closed, toy(start=9)) == ["V4"]
    assert broken(TOY, toy(start=9)) == []


def test_v4_start_plus_duration_is_at_most_the_deadline():
    run = TOY_SCHEDULE["jobs"]["j1"]
    assert broken(BATCH, {"jobs": {"j1": run}}) == []  # slots 1-3, 1 + 3 = 4
    (found,) = check(BATCH, {"jobs": {"j1": run | {"start": 2}}}, {})
    assert (found.rule, found.amount) == ("V4", 1)


def test_v5_and_v6_a_type_without_a_time_is_barred():
    fields = {
        "worker_types": [*TOY.to_data()["worker_types"], {"id": "w2", "demand": {"bandwidth": 1}}],
        "ps_types": [*TOY.to_data()["ps_types"], {"id": "p2", "demand": {"bandwidth": 3}}],
    }
    instance = instance_of(jobs_of(TOY), **fields)
    assert broken(instance, toy(worker_type="w2")) == ["V5"]
    assert broken(instance, toy(ps_type="p2")) == ["V6"]


@pytest.mark.parametrize("extra", [{"ps_type": "p1"}, {"ps": {}}, {"ps": {"s1": 1}}])
def test_v6_a_ring_has_no_parameter_servers(extra):
    assert broken(RING, ring_run(**extra)) == ["V6"]


def test_v10_a_ring_gets_slower_with_more_workers():
    assert broken(RING, ring_run(duration=3)) == ["V10"]
    assert broken(RING, ring_run(duration=4, workers={"s1": 2, "s2": 1})) == ["V10"]
    assert broken(RING, ring_run(duration=6, workers={"s1": 2, "s2": 1})) == []


def test_v10_counts_a_millionth_of_a_worker_slot_as_done():
    # work 6 at 0.5 + d: 6 worker-slots and 1e-6 more or 2e-6 more, one worker
    for more, rules in ((0.9e-6, []), (2e-6, ["V10"])):
        job = {"epochs": 6, "train_time": {"w1": 1 + more / 6}, "update_time": {"p1": 0}}
        run = TOY_SCHEDULE["jobs"]["j1"] | {"workers": {"s1": 1}, "duration": 6}
        assert broken(instance_of([job]), {"jobs": {"j1": run}}) == rules


def test_v11_parameter_servers_take_the_bandwidth_of_workers_elsewhere():
    job = jobs_of(TOY)[0] | {"chunks": 4}
    instance = instance_of([job])
    # 4 workers: 16 mini-batches at 1 slot, d = 4; a PS takes 3 workers' bandwidth
    run = {
        "start": 1,
        "duration": 4,
        "worker_type": "w1",
        "ps_type": "p1",
        "workers": {"s1": 2, "s2": 2},
    }
    assert broken(instance, {"jobs": {"j1": run | {"ps": {"s1": 1}}}}) == []
    third = [
        {"id": s, "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 6}} for s in ("s1", "s2", "s3")
    ]
    wider = instance_of([job], servers=third)
    (found,) = check(wider, {"jobs": {"j1": run | {"ps": {"s3": 1}}}}, {})
    assert (found.rule, found.where, found.amount) == ("V11", ("j1", "s3"), 1)
    assert broken(wider, {"jobs": {"j1": run | {"ps": {"s3": 2}}}}) == []
    # each server with PSs has to take them alone
    assert broken(wider, {"jobs": {"j1": run | {"ps": {"s1": 1, "s3": 1}}}}) == ["V11"]


def test_v12_segments_lose_the_slots_of_a_restart():
    # j1 needs 3 slots of two workers: 2 and 1, one more for the restart
    assert broken(TOY, in_segments((1, 2), (5, 2))) == []
    assert objective(TOY, in_segments((1, 2), (5, 2))) == 3 * 7 + 15
    assert broken(TOY, in_segments((1, 2), (5, 1))) == ["V10"]
    assert broken(TOY, in_segments((1, 2), (5, 1), restart=0)) == []
    assert broken(TOY, in_segments((1, 2), (3, 2))) == []  # a changed placement restarts as well
    assert omitted_rules(in_segments((1, 3))) == ("V12, one uninterrupted run",)


def test_v5_v6_segments_keep_the_types_of_the_first():
    """w1, w2, w1 in three segments break (2b) once; so do PS types (2c); servers may change."""
    kinds = [{"id": w, "demand": {"gpu": 1, "cpu": 2, "bandwidth": 1}} for w in ("w1", "w2")]
    parts = [{"id": p, "demand": {"cpu": 2, "bandwidth": 3}} for p in ("p1", "p2")]
    j1 = J1 | {"train_time": {"w1": 0.5, "w2": 0.5}, "update_time": {"p1": 0, "p2": 0}}
    instance = instance_of([j1], worker_types=kinds, ps_types=parts)

    def changed(**middle):
        schedule = in_segments((1, 1), (2, 2), (4, 2))
        schedule["jobs"].pop("j2")
        schedule["jobs"]["j1"]["segments"][1] |= middle
        return schedule

    assert broken(instance, changed()) == []
    assert broken(instance, changed(workers={"s2": 2}, ps={"s2": 1})) == []
    assert broken(instance, changed(worker_type="w2")) == ["V5"]
    assert broken(instance, changed(ps_type="p2")) == ["V6"]
    (found,) = check(instance, changed(worker_type="w2"), {})
    assert found.message == "j1 segment 2: worker type w2, before w1"


def test_v10_every_part_of_a_mini_batch_counts_in_segments():
    # 2 slots of 1 / 0.3 mini-batches: 6.667
    job = {"train_time": {"w1": 0.3}, "update_time": {"p1": 0}}
    run = toy(workers={"s1": 1}, duration=1)["jobs"]["j1"]
    schedule = in_segments() | {"jobs": {"j1": {"segments": [run, run | {"start": 3}]}}}
    schedule["restart_slots"] = 0
    assert broken(instance_of([{**job, "epochs": 6}]), schedule) == []
    (found,) = check(instance_of([{**job, "epochs": 7}]), schedule, {})
    assert found.rule == "V10" and found.amount == pytest.approx(1 / 3)


def test_v4_holds_for_the_last_segment():
    closed = instance_of(jobs_of(TOY), horizon_policy="closed")
    assert broken(closed, in_segments((1, 2), (9, 2))) == []  # slots 9 and 10 of 10
    assert broken(closed, in_segments((1, 2), (9, 3))) == ["V4"]


def test_v13_holds_in_every_slot_and_names_the_worst():
    # j1 in 1-3 and j2 in 3: two GPUs and two on s1 in slot 3 only
    shared = toy("j2", start=3, workers={"s1": 2}, ps={"s1": 1})
    (found,) = check(roomy(gpu=2), shared, {})
    assert (found.rule, found.where, found.amount) == ("V13", ("s1", "gpu", "3"), 2)
    assert found.message == "s1, slot 3: 4 of 2 gpu"
    assert broken(TOY, shared) == ["V13"] * 3  # 12 of 8 CPUs, 10 of 6 bandwidth as well
    after = toy("j2", start=4, workers={"s1": 2}, ps={"s1": 1})
    assert broken(TOY, after) == []


def test_v13_allows_a_millionth():
    for demand, rules in ((0.3333334, []), (0.333335, ["V13"])):
        kind = [{"id": "w1", "demand": {"gpu": demand, "bandwidth": 1}}]
        server = [{"id": "s1", "capacity": {"gpu": 1, "cpu": 2, "bandwidth": 6}}]
        instance = instance_of([J1], worker_types=kind, servers=server)
        run = TOY_SCHEDULE["jobs"]["j1"] | {"workers": {"s1": 3}, "duration": 2}
        assert broken(instance, {"jobs": {"j1": run}}) == rules


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ([], "schedule: need an object, got []"),
        ({}, "schedule.jobs: missing key"),
        ({"jobs": []}, "schedule.jobs: need an object, got []"),
        ({"jobs": {}, "job": {}}, "schedule.job: unknown key"),
        ({"jobs": {}, "mode": 1}, "schedule.mode: need a string, got 1"),
        ({"jobs": {}, "mode": "preemptive"}, "schedule.restart_slots: missing key"),
        ({"jobs": {}, "restart_slots": 1}, "schedule.restart_slots: only with mode preemptive"),
        (in_segments(restart="1"), 'schedule.restart_slots: need a number, got "1"'),
        (in_segments() | {"jobs": toy()["jobs"]}, "schedule.jobs.j1.start: unknown key"),
        (in_segments() | {"jobs": {"j1": {}}}, "schedule.jobs.j1.segments: missing key"),
        (
            in_segments() | {"jobs": {"j1": {"segments": {}}}},
            "schedule.jobs.j1.segments: need a list, got {}",
        ),
        (
            in_segments() | {"jobs": {"j1": {"segments": [1]}}},
            "schedule.jobs.j1.segments[0]: need an object, got 1",
        ),
        (without(toy(), "jobs", "j1", "ps"), "schedule.jobs.j1.ps: missing key"),
        (without(toy(), "jobs", "j1", "start"), "schedule.jobs.j1.start: missing key"),
        (toy(end=3), "schedule.jobs.j1.end: unknown key"),
        (toy(start="1"), 'schedule.jobs.j1.start: need a number, got "1"'),
        (toy(start=True), "schedule.jobs.j1.start: need a number, got true"),
        (toy(ps_type=None), "schedule.jobs.j1.ps_type: need a string, got null"),
        (toy(workers={"s1": "2"}), 'schedule.jobs.j1.workers.s1: need a number, got "2"'),
        (toy("j2", ps=[]), "schedule.jobs.j2.ps: need an object, got []"),
    ],
)
def test_a_wrong_shape_is_bad_input(schedule, message):
    with pytest.raises(InputError) as error:
        check(TOY, schedule, {})
    assert str(error.value) == message


def test_numbers_that_json_cannot_hold_are_violations():
    assert broken(TOY, toy(start=math.inf)) == ["V2"]
    assert broken(TOY, toy(workers={"s1": math.nan})) == ["V7"]


@settings(max_examples=60, deadline=None)
@given(elastic_instances(max_jobs=1, objective="weighted_completion", policy="open"))
def test_the_rules_accept_exactly_the_enumerated_runs(instance):
    """Each is valid, one slot less is not, and the best has the optimum's value."""
    (job,) = instance.jobs
    values = [math.inf]
    for run in placements(instance, job):
        data = run.to_data() | {"start": job.arrival}
        fits = all(
            used <= most + 1e-6
            for used, most in zip(
                usage(instance, run),
                (s.capacity.get(r, 0) for s in instance.servers for r in instance.resources),
                strict=True,
            )
        )
        assert broken(instance, {"jobs": {job.id: data}}) == ([] if fits else ["V13"])
        if run.duration > 1:
            shorter = data | {"duration": run.duration - 1}
            assert broken(instance, {"jobs": {job.id: shorter}}) == ["V10"]
        values.append(objective(instance, {"jobs": {job.id: data}}))
    assert min(values) == pytest.approx(brute_force(instance))


@settings(max_examples=45, deadline=None)
@given(elastic_instances(integer=False))
def test_the_rules_accept_the_enumerated_optimum(instance):
    value, best = best_schedule(instance)
    if best is None:
        assert value == math.inf
        return
    data = best.to_data(instance)
    assert broken(instance, data) == []
    assert objective(instance, data) == pytest.approx(value, rel=1e-12)
    assert best.value(instance) == objective(instance, data)


@settings(max_examples=40, deadline=None)
@given(elastic_instances(max_jobs=3, max_servers=3, policy="open"), st.data())
def test_v13_agrees_with_a_count_slot_by_slot(instance, data):
    """Any runs at any starts: an overload is found where adding up slot by slot finds it."""
    runs = {}
    for job in instance.jobs:
        choices = placements(instance, job)
        if choices:
            run = data.draw(st.sampled_from(choices))
            start = data.draw(st.integers(job.arrival, job.arrival + 3))
            runs[job.id] = replace(run, start=start)
    places = [(s, r) for s in instance.servers for r in instance.resources]
    expected = set()
    for slot in range(1, max((run.end for run in runs.values()), default=1)):
        uses = [usage(instance, run) for run in runs.values() if run.start <= slot < run.end]
        for (server, r), *parts in zip(places, *uses, strict=True):
            if math.fsum(parts) > server.capacity.get(r, 0) + 1e-6:
                expected.add((server.id, r))
    schedule = ElasticSchedule(runs).to_data(instance)
    found = [item for item in check(instance, schedule, {}) if item.rule == "V13"]
    assert {item.where[:2] for item in found} == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
VALUES = JSON | st.sampled_from([0, -1, 10**70, 1e308, "w1", "s1", "preemptive", {"s1": 10**30}])


@settings(max_examples=85, deadline=None)
@given(st.data())
def test_whatever_a_file_says_is_a_violation_or_bad_input(data):
    """Any value at any place: an answer, never an error of ours."""
    base = data.draw(st.sampled_from([TOY_SCHEDULE, in_segments((1, 2), (5, 2)), ring_run()]))
    schedule = copy.deepcopy(base)
    target = schedule
    while True:
        key = data.draw(st.sampled_from([*target])) if target else None
        inner = target[key] if isinstance(target, dict) and target else None
        if isinstance(inner, list):
            inner = inner[0]
        if not isinstance(inner, dict) or data.draw(st.booleans()):
            break
        target = inner
    target[data.draw(st.sampled_from([key, "segments", "ps", "restart_slots", "x"]))] = data.draw(
        VALUES
    )
    for instance in (TOY, BATCH, RING):
        try:
            found = list(check(instance, schedule, {}))
        except InputError:
            continue
        for violation in found:
            assert violation.rule in FAMILY.paper.rules and "\n" not in violation.message
            assert violation.amount > 0
        if not found:
            assert math.isfinite(objective(instance, schedule))


def test_a_schedule_survives_its_file():
    for schedule in (TOY_SCHEDULE, in_segments((1, 2), (5, 2))):
        read = ElasticSchedule.from_data(TOY, schedule)
        assert read.to_data(TOY) == schedule
        assert read.value(TOY) == objective(TOY, schedule)
    read = ElasticSchedule.from_data(RING, ring_run())
    assert read.to_data(RING) == {"mode": "nonpreemptive"} | ring_run()
    assert ElasticSchedule.from_data(BATCH, {"jobs": {}}).value(BATCH) == 0


def test_a_schedule_of_the_largest_size_is_checked():
    """250 jobs on 150 servers, horizon 300: some servers hold too much."""
    servers = [
        {"id": f"s{h}", "capacity": {"gpu": 8, "cpu": 64, "bandwidth": 100}} for h in range(150)
    ]
    job = {**RING_JOB, "chunks": 50, "epochs": 50}
    instance = instance_of([job] * 250, servers=servers, architecture="ring_allreduce", horizon=300)
    jobs = {
        f"j{n + 1}": {
            "start": 1 + 7 * (n % 40), "duration": 84, "worker_type": "w1",
            "workers": {f"s{(n + k) % 150}": 1 for k in range(50)},
        }
        for n in range(250)
    }  # fmt: skip
    found = broken(instance, {"jobs": jobs})
    assert {*found} == {"V13"}
