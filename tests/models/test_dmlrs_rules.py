"""Every rule of family `dmlrs` has a schedule that breaks it and no other."""

import copy
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.dmlrs.rules import check, metrics, objective
from strategies.dmlrs import best_schedule, dmlrs_instances, is_done, placements
from strategies.dmlrs_examples import TOY, TOY_2, TOY_SCHEDULE, instance_of, job, row

RULES = {f"V{n}" for n in range(1, 8)}
EMPTY = {"admitted": [], "allocations": []}


def broken(instance, schedule):
    return [violation.rule for violation in check(instance, schedule, {})]


def toy(place=None, *, admitted=None, more=(), **values):
    """The toy's schedule with the values of one allocation changed, or with more of them."""
    schedule = copy.deepcopy(TOY_SCHEDULE)
    if place is not None:
        schedule["allocations"][place] |= values
    schedule["allocations"] += more
    return schedule if admitted is None else schedule | {"admitted": admitted}


def alone(*rows, name="j1"):
    return {"admitted": [name], "allocations": list(rows)}


def test_a_valid_schedule_breaks_no_rule_and_has_its_value():
    assert broken(TOY, TOY_SCHEDULE) == []
    assert objective(TOY, TOY_SCHEDULE) == 20
    times = {"median delay": 1, "median delay, T if unfinished": 1}
    assert metrics(TOY, TOY_SCHEDULE) == {"admitted jobs": 3, **times}


def test_unfinished_jobs_count_with_the_horizon_in_one_of_the_medians():
    """Delays 1 and 2, and T = 4 for j3."""
    two = toy(admitted=["j1", "j2"])
    two["allocations"] = [each for each in two["allocations"] if each["job"] != "j3"]
    times = {"median delay": 1.5, "median delay, T if unfinished": 2}
    assert metrics(TOY, two) == {"admitted jobs": 2, **times}


def test_admitting_nobody_is_valid():
    for instance in (TOY, TOY_2, instance_of([])):
        assert broken(instance, EMPTY) == [] and objective(instance, EMPTY) == 0
        times = {"median delay, T if unfinished": 4} if instance.jobs else {}
        assert metrics(instance, EMPTY) == {"admitted jobs": 0, **times}


@pytest.mark.parametrize(
    ("rule", "schedule"),
    [
        ("V1", toy(admitted=["j1", "j2", "j3", "j4"])),
        ("V1", toy(admitted=["j1", "j2", "j3", "j1"])),
        ("V1", toy(more=[row("j4", 1, "m1")])),
        ("V1", toy(more=[row("j1", 4, "m3")])),
        ("V1", toy(0, slot=0)),
        ("V1", toy(0, slot=5)),
        ("V1", toy(0, slot=1.0)),
        ("V1", toy(0, workers=-1)),
        ("V1", toy(0, workers=2.0)),
        ("V1", toy(0, ps=-1)),
        ("V1", toy(0, ps=0.5)),
        ("V1", toy(0, ps=10**70)),
        ("V1", toy(more=[row("j1", 4, "m1", 0, 0)])),
        ("V1", toy(1, slot=1)),
        ("V2", toy(admitted=["j1", "j3"])),
        ("V2", toy(admitted=["j1", "j3"], more=[row("j2", 4, "m2", 9, 0)])),
        ("V3", alone(row("j3", 1, "m1"), row("j3", 3, "m1"), name="j3")),
        ("V5", toy(0, ps=0)),
        ("V5", toy(more=[row("j1", 4, "m1", 0, 1)])),
        ("V6", toy(0, workers=1)),
        ("V6", alone(row("j1", 1, "m1"), row("j1", 2, "m1", 2, 0), row("j1", 2, "m2", 0, 1))),
        ("V6", toy(admitted=["j1"]) | {"allocations": []}),
        ("V7", toy(more=[row("j1", 4, "m1", 2, 3)])),
        ("V7", toy(more=[row("j1", 4, "m1"), row("j2", 4, "m1", 1, 0), row("j2", 4, "m2", 0, 1)])),
        ("V7", toy(0, ps=3)),
    ],
)  # fmt: skip
def test_a_schedule_breaks_one_rule(rule, schedule):
    assert broken(TOY, schedule) == [rule]


def test_v4_no_more_workers_than_the_batch():
    """The fifth worker would train faster; the room is there."""
    wide = instance_of([job("j1", 1, [1.0] * 4)], [{"gpu": 9, "cpu": 9}])
    assert broken(wide, alone(row("j1", 1, "m1", 4, 2))) == []
    (found,) = check(wide, alone(row("j1", 1, "m1", 5, 3)), {})
    assert (found.rule, found.where, found.amount) == ("V4", ("j1", "1"), 1)


def test_v5_more_parameter_servers_than_needed_only_without_the_exact_rule():
    wide = instance_of([job("j1", 1, [1.0] * 4)], [{"gpu": 9, "cpu": 9}])
    exact = DmlrsInstance.from_data({**wide.to_data(), "ps_rule": "exact"})
    more = alone(row("j1", 1, "m1", 4, 3))
    odd = alone(row("j1", 1, "m1", 3, 2), row("j1", 2, "m1", 1, 1))
    assert broken(wide, more) == [] and broken(wide, odd) == []
    assert broken(exact, more) == ["V5"] and broken(exact, odd) == ["V5", "V5"]
    assert broken(exact, alone(row("j1", 1, "m1", 4, 2))) == []


@pytest.mark.parametrize("rule", ["at_least", "exact"])
def test_v5_no_ratio_is_so_large_that_a_worker_needs_no_parameter_server(rule):
    """E30: 1 / 1e12 is nearly 0, and yet 0 PSs are not enough."""
    fast = {"internal_bandwidth": 1e12, "external_bandwidth": 1e12, "gradient_size": 1e-9}
    large = instance_of(
        [job("j1", 1, [1.0] * 4, worker_ps_ratio=1e12, **fast)],
        [{"gpu": 9, "cpu": 9}],
        ps_rule=rule,
    )
    assert broken(large, alone(row("j1", 1, "m1", 4, 0))) == ["V5"]


def test_v5_has_no_tolerance_on_the_ratio():
    """gamma = 3 - 1e-7: 3 workers need 2 PSs, although 3 - gamma is tiny."""
    ratio = instance_of([job("j1", 1, [1.0] * 4, worker_ps_ratio=3 - 1e-7)], [{"gpu": 9, "cpu": 9}])
    one = alone(row("j1", 1, "m1", 3, 1), row("j1", 2, "m1", 3, 1))
    assert broken(ratio, one) == ["V5", "V5"]


def test_v6_a_machine_with_parameter_servers_only_makes_a_slot_external():
    """Fact 1, E24: 4 worker-slots inside are 4 / 4; of them 2 across are 2 / 7.2."""
    (found,) = check(
        TOY, alone(row("j1", 1, "m1"), row("j1", 2, "m1", 2, 0), row("j1", 2, "m2", 0, 1)), {}
    )
    assert found.amount == pytest.approx(0.5 - 2 / 7.2)
    across = [row("j1", t, m, 2, 1) for t in (1, 2) for m in ("m1", "m2")]
    assert broken(TOY, alone(*across)) == []  # 8 of 7.2


@pytest.mark.parametrize(("more", "rules"), [(0.9e-9, []), (3e-9, ["V6"])])
def test_v6_a_billionth_of_the_work_may_be_missing(more, rules):
    instance = instance_of(
        [job("j1", 1, [1.0] * 4, gradient_size=1e-9, time_per_sample=4 * (1 + more) / 60)]
    )
    assert broken(instance, alone(row("j1", 1, "m1"), row("j1", 2, "m1"))) == rules


def test_v7_adds_up_thousandths_exactly():
    """Of 0.1 CPU three make 0.30000000000000004, and fit into 0.3; a thousandth less does not."""
    tenth = {"worker_demand": {"gpu": 0, "cpu": 0.1}, "ps_demand": {"gpu": 1, "cpu": 0}}
    rows = alone(row("j1", 1, "m1", 3, 2), row("j1", 2, "m1", 3, 2))
    for room, rules in ((0.3, []), (0.299, ["V7", "V7"])):
        instance = instance_of([job("j1", 1, [1.0] * 4, **tenth)], [{"gpu": 2, "cpu": room}])
        assert broken(instance, rows) == rules


def test_slots_after_the_work_is_done_count():
    """(6): j1 is done in slot 2; a worker in slot 4 makes its delay 3, worth 0 instead of 8."""
    idle = toy(more=[row("j1", 4, "m1", 1, 1)])
    assert broken(TOY, idle) == [] and objective(TOY, idle) == 12
    assert DmlrsSchedule.from_data(TOY, idle).value(TOY) == 12


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ([], "schedule: need an object, got []"),
        ({"admitted": []}, "schedule.allocations: missing key"),
        (EMPTY | {"price": 1}, "schedule.price: unknown key"),
        (EMPTY | {"admitted": [1]}, "schedule.admitted[0]: need a string, got 1"),
        (toy(0, workers=True), "schedule.allocations[0].workers: need a number, got true"),
        (toy(0, mode="internal"), "schedule.allocations[0].mode: unknown key"),
        (EMPTY | {"allocations": [{"job": "j1"}]}, "schedule.allocations[0].slot: missing key"),
    ],
)
def test_what_is_no_schedule_is_refused(schedule, message):
    with pytest.raises(InputError) as error:
        broken(TOY, schedule)
    assert str(error.value) == message


@settings(max_examples=50, deadline=None)
@given(dmlrs_instances())
def test_the_rules_accept_the_enumerated_optimum(instance):
    value, best = best_schedule(instance)
    data = best.to_data(instance)
    assert broken(instance, data) == []
    assert objective(instance, data) == pytest.approx(value, abs=1e-9)
    assert DmlrsSchedule.from_data(instance, data) == best
    assert DmlrsSchedule.of_plans(instance, best.plans(instance)) == best


@settings(max_examples=55, deadline=None)
@given(dmlrs_instances(max_jobs=1, max_machines=3), st.data())
def test_v6_agrees_with_a_count_slot_by_slot(instance, data):
    """One job, any placement in any slots: done where the worker-slots of both modes say so."""
    ways = [(brings, placed) for brings, way in placements(instance, 0).items() for placed in way]
    slots = range(instance.jobs[0].arrival, instance.horizon + 1)
    chosen = {
        t: data.draw(st.sampled_from(ways)) for t in slots if ways and data.draw(st.booleans())
    }
    total = tuple(sum(brings[k] for brings, _ in chosen.values()) for k in (0, 1))
    schedule = DmlrsSchedule.of_plans(
        instance, {0: {t: placed for t, (_, placed) in chosen.items()}}
    )
    rules = broken(instance, schedule.to_data(instance))
    assert rules == ([] if is_done(instance, 0, total) else ["V6"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
VALUES = JSON | st.sampled_from([0, -1, 10**60, 10**70, 1e308, "m1", "j2"])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_a_file_says_is_a_violation_or_bad_input(data):
    """Any value at any place: an answer, never an error of ours."""
    schedule = copy.deepcopy(TOY_SCHEDULE)
    target = data.draw(st.sampled_from([schedule, *schedule["allocations"]]))
    target[data.draw(st.sampled_from([*target, "x"]))] = data.draw(VALUES)
    for instance in (TOY, TOY_2, instance_of([])):
        try:
            found = list(check(instance, schedule, {}))
        except InputError:
            continue
        for violation in found:
            assert violation.rule in RULES and "\n" not in violation.message
            assert violation.amount > 0
        if not found:
            assert math.isfinite(objective(instance, schedule))


def test_a_schedule_of_the_largest_size_is_checked():
    """50 jobs on 100 machines in 20 slots, each everywhere: 100,000 allocations."""
    machines = [{"gpu": 99, "cpu": 150}] * 100
    instance = instance_of(
        [job(f"j{n}", 1, [1.0] * 20, batch_size=100) for n in range(50)], machines, 20
    )
    rows = [
        row(f"j{n}", t, f"m{h}", 1, 1)
        for n in range(50)
        for t in range(1, 21)
        for h in range(1, 101)
    ]
    schedule = {"admitted": [f"j{n}" for n in range(50)], "allocations": rows}
    assert broken(instance, schedule) == []
    more = schedule | {"allocations": [*rows[:-1], rows[-1] | {"ps": 52}]}
    assert broken(instance, more) == ["V7"]
