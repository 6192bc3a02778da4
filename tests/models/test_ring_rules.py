"""Every rule of family `ring` has a schedule that breaks it and no other."""

import copy
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.models.ring.rates import rate_table
from schedgap.models.ring.rules import check, objective
from schedgap.models.ring.simulator import schedule_of, simulate
from strategies.ring import ring_instances, ring_plans, slot_by_slot
from strategies.ring_examples import W1, W2, W3, instance_of, job


def row(name, start, end, placement, **more):
    return {"job": name, "start": start, "end": end, "placement": placement, **more}


# W1's optimum, see test_ring_simulator
BEST = {"jobs": [row("a", 1, 4, {"s1": 3, "s2": 1}), row("b", 4, 7, {"s2": 2, "s3": 2})]}
NUMBERED = {
    "jobs": [
        row("a", 1, 4, {"s1": 3, "s2": 1}, gpus={"s1": [0, 1, 2], "s2": [0]}),
        row("b", 4, 7, {"s2": 2, "s3": 2}, gpus={"s2": [1, 2], "s3": [0, 1]}),
    ]
}


def broken(instance, schedule):
    return [violation.rule for violation in check(instance, schedule, {})]


def found(instance, schedule):
    return [(v.rule, v.where, v.amount, v.message) for v in check(instance, schedule, {})]


def changed(schedule, index, **values):
    schedule = copy.deepcopy(schedule)
    schedule["jobs"][index] |= values
    return schedule


def test_a_valid_schedule_breaks_no_rule_and_has_its_makespan():
    for schedule in (BEST, NUMBERED, BEST | {"order": ["a", "b"], "theta": 15, "kappa": 4}):
        assert broken(W1, schedule) == []
        assert objective(W1, schedule) == 7
    backward = {"jobs": BEST["jobs"][::-1]}
    assert broken(W1, backward) == [] and objective(W1, backward) == 7


def test_v1_every_job_once_and_no_other():
    only = {"jobs": [row("a", 1, 4, {"s1": 3, "s2": 1})]}
    assert found(W1, only) == [("V1", ("b",), 1, "b is not scheduled")]
    twice = {"jobs": [*BEST["jobs"], BEST["jobs"][0]]}
    assert found(W1, twice) == [("V1", ("a",), 1, "a is scheduled more than once")]
    other = {"jobs": [*BEST["jobs"], row("c", 1, 4, {"s1": 3, "s2": 1})]}
    assert found(W1, other) == [("V1", ("c",), 1, 'no job "c"')]


@pytest.mark.parametrize("start", [0, -1, 31, 1.0, 10**100])
def test_v2_a_start_is_a_slot(start):
    # b alone on s2 and s3 takes 4 slots: the row of a is left out
    schedule = changed(changed(BEST, 0, start=start), 1, start=1, end=4)
    (only,) = found(W1, schedule)
    assert only[:3] == ("V2", ("a",), 1) and only[3].endswith("must be an integer in 1..30")


def test_v3_a_placement_has_servers_and_whole_counts():
    alone = changed(BEST, 1, start=1, end=4)
    for placement, message in (
        ({}, "a has no placement"),
        ({"s1": 3, "s9": 1}, 'a: no server "s9"'),
        ({"s1": 4, "s2": 0}, "a: 0 workers on s2, must be an integer >= 1"),
        ({"s1": 3, "s2": 1.0}, "a: 1.0 workers on s2, must be an integer >= 1"),
    ):
        ((rule, _, amount, said),) = found(W1, changed(alone, 0, placement=placement))
        assert (rule, amount, said) == ("V3", 1, message)


def test_v4_all_workers_of_the_ring():
    # still on two servers and meeting b on one: the same course
    fewer = changed(BEST, 0, placement={"s1": 2, "s2": 1})
    assert found(W1, fewer) == [("V4", ("a",), 1, "a has 3 workers, needs 4")]
    one = instance_of([job("a", 1, 24)], [3])  # inside one server: 24 at 14 a slot
    assert found(one, {"jobs": [row("a", 1, 2, {"s1": 3})]}) == [
        ("V4", ("a",), 2, "a has 3 workers, needs 1")
    ]


def test_v5_complete_by_the_horizon():
    # a alone ends in slot 4; b takes 4 slots from 28 on, the horizon is 30
    late = changed(BEST, 1, start=28, end=31)
    assert found(W1, late) == [("V5", ("b",), 1, "b is not complete by the end of slot 30")]
    slow = instance_of([job("a", 4, 24, 4 / 3)], [3, 3], bandwidth_between=0.5)
    assert broken(slow, {"jobs": [row("a", 1, 4, {"s1": 3, "s2": 1})]}) == ["V5"]


@pytest.mark.parametrize(("end", "amount"), [(6, 1), (8, 1), (7.0, 0), (10, 3), (-1, 8)])
def test_v6_the_end_is_the_simulated_one(end, amount):
    ((rule, where, size, _),) = found(W1, changed(BEST, 1, end=end))
    assert (rule, where, size) == ("V6", ("b",), amount)


def test_v7_no_more_workers_than_gpus():
    # slot 4 only: 3 of b and 1 of a on the 3 GPUs of s2
    crowded = changed(BEST, 1, placement={"s2": 3, "s3": 1})
    assert found(W1, crowded) == [("V7", ("s2", "4", "4"), 1, "s2, slot 4: 4 workers on 3 GPUs")]
    # W2: a, b 3 slots, c 2: three at once on two GPUs in slots 1-2, then d and e in turn
    rows = [row(name, 1, 3, {"s1": 1}) for name in "ab"] + [row("c", 1, 2, {"s1": 1})]
    rows += [row("d", 4, 5, {"s1": 1}), row("e", 4, 5, {"s1": 1})]
    assert found(W2, {"jobs": rows}) == [
        ("V7", ("s1", "1", "2"), 1, "s1, slots 1-2: 3 workers on 2 GPUs")
    ]


def test_v7_counts_to_the_simulated_end_whatever_is_stated():
    # a's 24 iterations take slots 1-4, so slot 4 is crowded also where its end is said to be 3
    schedule = changed(changed(BEST, 1, placement={"s2": 3, "s3": 1}), 0, end=3)
    assert broken(W1, schedule) == ["V6", "V7"]
    # a job that never completes holds its GPUs to the horizon
    slow = instance_of([job("a", 4, 24, 4 / 3), job("b", 3, 10)], [3, 3], bandwidth_between=0.5)
    rows = [row("a", 1, 4, {"s1": 3, "s2": 1}), row("b", 30, 30, {"s1": 3})]
    assert broken(slow, {"jobs": rows}) == ["V5", "V7"]


@pytest.mark.parametrize(
    ("index", "gpus", "message"),
    [
        (0, {"s1": [0, 1, 2]}, "a: GPU numbers and placement name different servers"),
        (0, {"s1": [0, 1], "s2": [0]}, "a: 2 GPU numbers on s1, 3 workers"),
        (0, {"s1": [0, 1, 3], "s2": [0]}, "a: no GPU 3 on s1"),
        (0, {"s1": [0, 1, 1.0], "s2": [0]}, "a: no GPU 1.0 on s1"),
        (0, {"s1": [0, 1, 1], "s2": [0]}, "a: a GPU number of s1 twice"),
        (1, {"s2": [0, 1], "s3": [0, 1]}, "GPU 0 of s2: b starts in slot 4, a holds it to slot 4"),
    ],
)
def test_v8_gpu_numbers(index, gpus, message):
    ((rule, _, amount, said),) = found(W1, changed(NUMBERED, index, gpus=gpus))
    assert (rule, amount, said) == ("V8", 1, message)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ([], "schedule: need an object, got []"),
        ({}, "schedule.jobs: missing key"),
        ({"jobs": [], "log": 1}, "schedule.log: need a list, got 1"),
        ({"jobs": [], "end": 1}, "schedule.end: unknown key"),
        ({"jobs": [{"job": "a"}]}, "schedule.jobs[0].start: missing key"),
        ({"jobs": [row("a", True, 4, {})]}, "schedule.jobs[0].start: need a number, got true"),
        (
            {"jobs": [row("a", 1, 4, {"s1": "3"})]},
            'schedule.jobs[0].placement.s1: need a number, got "3"',
        ),
        (
            {"jobs": [row("a", 1, 4, {"s1": 3}, gpus={"s1": 0})]},
            "schedule.jobs[0].gpus.s1: need a list, got 0",
        ),
        (
            {"jobs": [row("a", 1, 4, {"s1": 3}, gpus={"s1": [None]})]},
            "schedule.jobs[0].gpus.s1[0]: need a number, got null",
        ),
    ],
)
def test_what_is_no_schedule_at_all_is_refused(schedule, message):
    with pytest.raises(InputError) as refused:
        list(check(W1, schedule, {}))
    assert str(refused.value) == message


@given(st.data())
@settings(max_examples=70, deadline=None)
def test_the_rules_accept_what_looking_at_every_slot_accepts(data):
    instance = data.draw(ring_instances(max_jobs=5, placeable=True))
    starts, placements = data.draw(ring_plans(instance))
    ends, within = slot_by_slot(instance, starts, placements, instance.horizon)
    names = [server.id for server in instance.servers]
    rows = [
        row(job.id, starts[j], ends[j] or 1, {names[s]: n for s, n in placements[j].items()})
        for j, job in enumerate(instance.jobs)
    ]
    rules = set(broken(instance, {"jobs": rows}))
    assert ("V5" in rules) == (None in ends)
    assert ("V7" in rules) == (not within)
    assert rules <= {"V5", "V7"}
    made = schedule_of(instance, starts, placements)
    assert (made is not None) == (not rules)
    if made is not None:
        assert broken(instance, made.to_data(instance)) == []
        assert objective(instance, made.to_data(instance)) == made.makespan == max(ends)


def test_w3_has_a_schedule_of_8():
    # s1: d (3 slots, 4 GPUs), then a (5) with c (3, 2 GPUs); s2: b (6, 2 GPUs), then e (2)
    rows = [
        row("d", 1, 3, {"s1": 4}),
        row("a", 4, 8, {"s1": 1}),
        row("c", 4, 6, {"s1": 2}),
        row("b", 1, 6, {"s2": 2}),
        row("e", 7, 8, {"s2": 1}),
    ]
    assert broken(W3, {"jobs": rows}) == [] and objective(W3, {"jobs": rows}) == 8


def test_large_schedules_are_verified_quickly():
    random = np.random.default_rng(1)
    jobs = [job(f"j{n}", 1 + n % 9, 15_000 + 7 * n, 0.05 * (n % 3)) for n in range(160)]
    instance = instance_of(jobs, [8] * 20, horizon=100_000, rate_scale=1)
    table = rate_table(instance)
    starts, placements = [], []
    for n, one in enumerate(jobs):
        first = int(random.integers(20))
        placed = {first: min(8, one["gpus"])}
        if one["gpus"] > 8:
            placed[(first + 1) % 20] = one["gpus"] - 8
        starts.append(1 + 1100 * (n // 2))
        placements.append(placed)
    ends = simulate(table, starts, [tuple(placed) for placed in placements])
    rows = [
        row(one["id"], starts[n], ends[n], {f"s{s + 1}": c for s, c in placements[n].items()})
        for n, one in enumerate(jobs)
    ]
    begun = time.process_time()
    rules = broken(instance, {"jobs": rows})
    assert set(rules) <= {"V7"}
    assert time.process_time() - begun < 3
