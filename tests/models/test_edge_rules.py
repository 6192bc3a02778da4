"""Every rule of family `edge` has a schedule that breaks it and no other."""

import copy
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.rules import check, objective, omitted_rules
from strategies.edge import (
    best_schedule,
    brute_force,
    edge_instances,
    instance_of,
    placements,
)
from strategies.edge_examples import TOY_A, TOY_A_SCHEDULE, TOY_BATCH, TOY_C

RULES = {"V1", "V1b", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9", "V10"}
J1, J2, J3 = TOY_A_SCHEDULE["jobs"].values()


def broken(instance, schedule):
    return [violation.rule for violation in check(instance, schedule, {})]


def toy(job="j1", **values):
    schedule = copy.deepcopy(TOY_A_SCHEDULE)
    del schedule["jobs"][job]["colocated"]
    schedule["jobs"][job] |= values
    return schedule


def without(schedule, *path):
    schedule = copy.deepcopy(schedule)
    target = schedule
    for key in path[:-1]:
        target = target[key]
    del target[path[-1]]
    return schedule


def segment(start, end, overhead=0, workers=None, ps_server="edge-1"):
    workers = workers or {"edge-1": 2}
    values = {"start": start, "end": end, "workers": workers, "ps_server": ps_server}
    return values | {"overhead": overhead}


def in_segments(*segments, relaxed=("2c-2d",)):
    """The toy's schedule with j1 in segments."""
    jobs = TOY_A_SCHEDULE["jobs"] | {"j1": {"segments": list(segments)}}
    return {"relaxed": list(relaxed), "jobs": jobs}


def batch(**jobs):
    return {"jobs": jobs}


RUN = {"start": 5, "completion": 6, "workers": {"edge-1": 2}, "ps_server": "edge-1"}


def test_a_valid_schedule_breaks_no_rule_and_has_its_value():
    assert broken(TOY_A, TOY_A_SCHEDULE) == []
    assert objective(TOY_A, TOY_A_SCHEDULE) == 5
    assert EdgeSchedule.from_data(TOY_A, TOY_A_SCHEDULE).flow_time(TOY_A) == 8
    assert broken(TOY_A, toy()) == []  # `colocated` may be left out
    assert omitted_rules(TOY_A_SCHEDULE) == ()


def test_running_longer_than_needed_is_valid():
    assert broken(TOY_A, toy(completion=9)) == [] and objective(TOY_A, toy(completion=9)) == 10


def test_a_batch_schedule_may_leave_jobs_out():
    assert broken(TOY_BATCH, batch(j2=RUN)) == [] and objective(TOY_BATCH, batch(j2=RUN)) == 1
    assert broken(TOY_BATCH, batch()) == [] and objective(TOY_BATCH, batch()) == 0


@pytest.mark.parametrize(
    ("rule", "schedule"),
    [
        ("V1", without(TOY_A_SCHEDULE, "jobs", "j2")),
        ("V1", {"jobs": TOY_A_SCHEDULE["jobs"] | {"j4": J1}}),
        ("V2", toy(start=0)),
        ("V2", toy(start=3.0)),
        ("V2", toy(completion=17)),
        ("V2", toy(completion=10**70)),
        ("V2", toy(start=5)),
        ("V3", toy(workers={"edge-1": 0})),
        ("V3", toy(workers={"edge-1": 1.5})),
        ("V3", toy(workers={"edge-1": -2})),
        ("V3", toy(workers={"edge-9": 1, "edge-1": 1})),
        ("V3", toy(workers={})),
        ("V3", toy(workers={"cloud": 4}, ps_server="cloud", start=5, completion=6)),
        ("V4", toy() | {"jobs": toy()["jobs"] | {"j1": {"segments": [segment(3, 4)]}}}),
        ("V4", in_segments(segment(3, 4), relaxed=["2i"])),
        ("V4", in_segments()),
        ("V4", in_segments(segment(3, 4), segment(4, 5, 0, {"cloud": 2}, "cloud"))),
        ("V4", in_segments(segment(5, 6), segment(3, 4))),
        ("V4", in_segments(segment(3, 4, -1))),
        ("V4", in_segments(segment(3, 4, 0.5))),
        ("V5", toy(ps_server="edge-9")),
        ("V6", toy("j3", start=4, completion=4, workers={"cloud": 1}, ps_server="cloud")),  # 2 + 3
        ("V6", toy("j3", ps_server="cloud")),  # the PS needs its data, too
        ("V6", in_segments(segment(1, 1), segment(3, 4))),
        ("V7", toy(colocated=False)),
        ("V7", toy("j2", colocated=True)),
        ("V8", toy(completion=3)),
        ("V8", toy(workers={"edge-1": 1}, ps_server="edge-2", start=4, completion=8)),  # 5 of 6
        ("V8", in_segments(segment(3, 3), segment(5, 6, 2))),
        ("V9", toy("j3", workers={"edge-1": 1}, ps_server="edge-2")),
        ("V10", toy("j3", ps_server="edge-1")),
    ],
)
def test_a_schedule_breaks_one_rule(rule, schedule):
    assert broken(TOY_A, schedule) == [rule]


def test_v1b_a_round_has_its_jobs_and_its_slots():
    """Round 3: jobs that arrived before slot 4, slots 5 to 8."""
    (found,) = check(TOY_BATCH, batch(j1=RUN | {"start": 4}), {})
    assert (found.rule, found.amount) == ("V1b", 1)
    assert broken(TOY_BATCH, batch(j1=RUN | {"completion": 9})) == ["V1b"]
    data = TOY_BATCH.to_data()
    data["jobs"][0] = data["jobs"][0] | {"arrival": 4}
    late = EdgeInstance.from_data(data)
    (found,) = check(late, batch(j1=RUN), {})
    assert (found.rule, found.amount) == ("V1b", 1) and "before 4" in found.message
    assert broken(late, batch(j2=RUN)) == []


def test_v1b_the_last_round_ends_with_the_horizon():
    short = EdgeInstance.from_data(TOY_BATCH.to_data() | {"horizon": 6})
    assert broken(short, batch(j1=RUN)) == []
    assert broken(short, batch(j1=RUN | {"completion": 7})) == ["V2"]


def test_v6_the_slowest_server_counts_and_a_schedule_may_leave_it_out():
    schedule = toy(start=2, completion=3, workers={"cloud": 2}, ps_server="cloud")
    (found,) = check(TOY_A, schedule, {})
    assert (found.rule, found.where, found.amount) == ("V6", ("j1", "cloud"), 2)
    assert broken(TOY_A, schedule | {"relaxed": ["2i"]}) == []
    assert omitted_rules(schedule | {"relaxed": ["2i"]}) == ("2i",)
    early = toy("j3", start=1, completion=1, workers={"cloud": 1}, ps_server="cloud") | {
        "relaxed": ["2i"]
    }
    assert broken(TOY_A, early) == ["V6"]  # before it arrives


def test_v8_counts_a_millionth_of_a_worker_slot_as_done():
    for more, rules in ((0.9e-6, []), (2e-6, ["V8"])):
        instance = instance_of([{"compute_seconds": 3600 * (2 + more)}])
        run = RUN | {"workers": {"edge-1": 1}}
        assert broken(instance, {"jobs": {"j1": run}}) == rules


def test_v8_segments_lose_their_overhead_and_each_has_its_own_rate():
    """j1: 4 worker-slots colocated, 6 split."""
    assert broken(TOY_A, in_segments(segment(3, 3), segment(5, 6, 1))) == []
    assert objective(TOY_A, in_segments(segment(3, 3), segment(5, 6, 1))) == 7
    assert broken(TOY_A, in_segments(segment(3, 3), segment(5, 5, 1))) == ["V8"]
    split = {"workers": {"edge-2": 1}, "ps_server": "edge-1"}  # 2/4 + 3/6
    assert broken(TOY_A, in_segments(segment(3, 3), segment(5, 7, **split))) == []
    (found,) = check(TOY_A, in_segments(segment(3, 3), segment(5, 6, **split)), {})
    assert found.rule == "V8" and found.amount == pytest.approx(1 / 6)


def test_a_segment_needs_no_overhead():
    assert broken(TOY_A, in_segments(without(segment(3, 4), "overhead"))) == []


def test_v9_names_the_worst_slot_and_what_ends_is_free_in_the_next():
    """j1 in 3-4 with both workers of edge-1; j3 takes one there from slot 4, then from 5."""
    shared = {"workers": {"edge-1": 2}, "ps_server": "edge-2"}
    (found,) = check(TOY_A, toy("j3", start=4, completion=9, **shared), {})
    assert (found.rule, found.where, found.amount) == ("V9", ("edge-1", "gpu", "4"), 2)
    assert found.message == "edge-1, slot 4: 4 workers gpu, it has 2"
    assert broken(TOY_A, toy("j3", start=5, completion=9, **shared)) == []


def test_capacities_are_by_type():
    servers = [
        {"id": "s", "kind": "edge", "workers": {"a": 1, "b": 1}, "parameter_servers": {"p": 2}}
    ]
    jobs = [{"worker_type": name} for name in ("a", "b", "b")]
    instance = instance_of(jobs, servers=servers, worker_types=["a", "b"], ps_types=["p", "q"])
    run = {"start": 2, "completion": 2, "workers": {"s": 1}, "ps_server": "s"}
    assert (
        broken(
            instance, {"jobs": {"j1": run, "j2": run, "j3": run | {"start": 3, "completion": 3}}}
        )
        == []
    )
    found = list(check(instance, {"jobs": {"j1": run, "j2": run, "j3": run}}, {}))
    assert [v.where for v in found] == [("s", "b", "2"), ("s", "p", "2")]


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ([], "schedule: need an object, got []"),
        ({}, "schedule.jobs: missing key"),
        ({"jobs": []}, "schedule.jobs: need an object, got []"),
        ({"jobs": {}, "job": {}}, "schedule.job: unknown key"),
        ({"jobs": {}, "relaxed": "2i"}, 'schedule.relaxed: need a list, got "2i"'),
        (
            {"jobs": {}, "relaxed": ["2i", "2e"]},
            "schedule.relaxed[1]: must be '2c-2d' or '2i', got \"2e\"",
        ),
        ({"jobs": {"j1": 3}}, "schedule.jobs.j1: need an object, got 3"),
        ({"jobs": {"x": {}}}, "schedule.jobs.x.start: missing key"),
        (without(toy(), "jobs", "j1", "ps_server"), "schedule.jobs.j1.ps_server: missing key"),
        (toy(end=3), "schedule.jobs.j1.end: unknown key"),
        (toy(start="1"), 'schedule.jobs.j1.start: need a number, got "1"'),
        (toy(start=True), "schedule.jobs.j1.start: need a number, got true"),
        (toy(colocated=1), "schedule.jobs.j1.colocated: need true or false, got 1"),
        (toy(colocated=None), "schedule.jobs.j1.colocated: need true or false, got null"),
        (toy(workers={"edge-1": "2"}), 'schedule.jobs.j1.workers.edge-1: need a number, got "2"'),
        (toy(ps_server=None), "schedule.jobs.j1.ps_server: need a string, got null"),
        (in_segments(1), "schedule.jobs.j1.segments[0]: need an object, got 1"),
        (
            in_segments(segment(3, 4) | {"colocated": True}),
            "schedule.jobs.j1.segments[0].colocated: unknown key",
        ),
        (
            in_segments(segment(3, 4) | {"completion": 4}),
            "schedule.jobs.j1.segments[0].completion: unknown key",
        ),
        ({"jobs": {"j1": {"segments": {}}}}, "schedule.jobs.j1.segments: need a list, got {}"),
        ({"jobs": {"j1": J1 | {"segments": []}}}, "schedule.jobs.j1.start: unknown key"),
    ],
)
def test_a_wrong_shape_is_bad_input(schedule, message):
    with pytest.raises(InputError) as error:
        check(TOY_A, schedule, {})
    assert str(error.value) == message


def test_numbers_that_json_cannot_hold_are_violations():
    assert broken(TOY_A, toy(start=math.inf)) == ["V2"]
    assert broken(TOY_A, toy(workers={"edge-1": math.nan})) == ["V3"]


@settings(max_examples=60, deadline=None)
@given(edge_instances(max_jobs=1, horizon=(8, 30)))
def test_the_rules_accept_exactly_the_enumerated_runs(instance):
    """Each is valid; a slot less, or a slot earlier, is not; the best has the optimum's value."""
    (job,) = instance.jobs
    values = [math.inf]
    for run in placements(instance, job):
        if run.completion > instance.horizon:
            continue
        data = {"jobs": {job.id: run.to_data()}}
        assert broken(instance, data) == []
        if run.slots > 1:
            shorter = replace(run, completion=run.completion - 1).to_data()
            assert broken(instance, {"jobs": {job.id: shorter}}) == ["V8"]
        if run.start > 1:
            early = replace(run, start=run.start - 1, completion=run.completion - 1).to_data()
            assert broken(instance, {"jobs": {job.id: early}}) == ["V6"]
        values.append(objective(instance, data))
    assert min(values) == brute_force(instance)


@settings(max_examples=50, deadline=None)
@given(edge_instances(batch=None))
def test_the_rules_accept_the_enumerated_optimum(instance):
    value, best = best_schedule(instance)
    if best is None:
        assert value == math.inf
        return
    data = best.to_data(instance)
    assert broken(instance, data) == []
    assert objective(instance, data) == value == best.value(instance)


@settings(max_examples=45, deadline=None)
@given(edge_instances(max_jobs=4, horizon=(14, 20)), st.data())
def test_v9_and_v10_agree_with_a_count_slot_by_slot(instance, data):
    """Any runs at any starts: an overload is found where adding up slot by slot finds it."""
    runs = {}
    known = {job.id: job for job in instance.jobs}
    for job in instance.jobs:
        choices = [r for r in placements(instance, job) if r.completion + 2 <= instance.horizon]
        if choices:
            run = data.draw(st.sampled_from(choices))
            late = data.draw(st.integers(0, 2))
            runs[job.id] = replace(run, start=run.start + late, completion=run.completion + late)
    expected = set()
    for slot in range(1, instance.horizon + 1):
        running = [(known[j], r) for j, r in runs.items() if r.start <= slot <= r.completion]
        for server in instance.servers:
            for kind in instance.worker_types:
                used = sum(r.workers.get(server.id, 0) for j, r in running if j.worker_type == kind)
                if used > server.workers.get(kind, 0):
                    expected.add(("V9", server.id, kind))
            for kind in instance.ps_types:
                used = sum(r.ps_server == server.id for j, r in running if j.ps_type == kind)
                if used > server.parameter_servers.get(kind, 0):
                    expected.add(("V10", server.id, kind))
    schedule = EdgeSchedule(runs).to_data(instance)
    found = [v for v in check(instance, schedule, {}) if v.rule in ("V9", "V10")]
    assert {(v.rule, *v.where[:2]) for v in found} == expected and len(found) == len(expected)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
VALUES = JSON | st.sampled_from([0, -1, 10**70, 1e308, "edge-1", "2i", {"edge-1": 10**30}])
KEYS = ["segments", "colocated", "overhead", "relaxed", "x"]


@settings(max_examples=70, deadline=None)
@given(st.data())
def test_whatever_a_file_says_is_a_violation_or_bad_input(data):
    """Any value at any place: an answer, never an error of ours."""
    preemptive = in_segments(segment(3, 3), segment(5, 6, 1))
    schedule = copy.deepcopy(data.draw(st.sampled_from([TOY_A_SCHEDULE, preemptive])))
    target, key = schedule, "jobs"
    while True:
        key = data.draw(st.sampled_from([*target])) if target else None
        inner = target[key] if target else None
        if isinstance(inner, list):
            inner = inner[0]
        if not isinstance(inner, dict) or data.draw(st.booleans()):
            break
        target = inner
    target[data.draw(st.sampled_from([key, *KEYS]))] = data.draw(VALUES)
    for instance in (TOY_A, TOY_BATCH, TOY_C):
        try:
            found = list(check(instance, schedule, {}))
        except InputError:
            continue
        for violation in found:
            assert violation.rule in RULES and "\n" not in violation.message
            assert violation.amount > 0
        if not found:
            assert math.isfinite(objective(instance, schedule))


def test_a_schedule_survives_its_file():
    for schedule in (TOY_A_SCHEDULE, in_segments(segment(3, 3), segment(5, 6, 1))):
        read = EdgeSchedule.from_data(TOY_A, schedule)
        assert read.to_data(TOY_A) == schedule
        assert read.value(TOY_A) == objective(TOY_A, schedule)
    assert EdgeSchedule.from_data(TOY_BATCH, batch(j1=RUN)).value(TOY_BATCH) == 1


def test_a_schedule_of_the_largest_size_is_checked():
    """200 jobs of 50 workers on 201 servers, horizon 4096."""
    servers = [
        {"id": f"s{k}", "kind": "edge", "workers": {"gpu": 8}, "parameter_servers": {"cpu": 9}}
        for k in range(201)
    ]
    job = {"chunks": 50, "epochs": 100}
    instance = instance_of([job] * 200, servers=servers, horizon=4096)
    jobs = {
        f"j{n + 1}": {
            "start": 2 + 7 * (n % 40), "completion": 101 + 7 * (n % 40),
            "workers": {f"s{(n + k) % 201}": 1 for k in range(50)}, "ps_server": f"s{n}",
        }
        for n in range(200)
    }  # fmt: skip
    assert {*broken(instance, {"jobs": jobs})} == {"V9"}
