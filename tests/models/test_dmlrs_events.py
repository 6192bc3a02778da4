"""What PD-ORS tells of a run: enough to do it again, in the paper's lines, as plain data."""

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.instances.dmlrs.schedule import Allocation
from schedgap.models.dmlrs import FAMILY
from schedgap.models.dmlrs.algorithms import events as events_module
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors
from schedgap.models.dmlrs.algorithms.prices import final_prices
from schedgap.solvers import Clock
from strategies.dmlrs import dmlrs_instances
from strategies.dmlrs_examples import MACHINE, TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import METHODS

Events = Iterable[Mapping[str, Any]]
KEYS = {  # as the docstring lists them
    name: set(re.findall(r"`(\w+)`", keys.split(". ")[0]))
    for name, keys in re.findall(
        r"^- `(\w+)` \([^)]*\): ((?:.|\n(?!- ))*)", events_module.__doc__ or "", re.MULTILINE
    )
}
LINES = dict(re.findall(r"^- `(\w+)` \((A\d L\d+)\)", events_module.__doc__ or "", re.MULTILINE))


def rebuilt(instance: DmlrsInstance, events: Events) -> DmlrsSchedule:
    """Return the schedule that the events tell of; of the instance only the order is used."""
    held = {each["job"]: each["allocations"] for each in events if each["event"] == "admit"}
    order = {machine.id: h for h, machine in enumerate(instance.machines)}
    admitted = [each.id for each in instance.jobs if each.id in held]
    rows = [
        Allocation(name, **row)
        for name in admitted
        for row in sorted(held[name], key=lambda row: (row["slot"], order[row["machine"]]))
    ]
    return DmlrsSchedule(tuple(admitted), tuple(rows))


def told_prices(instance: DmlrsInstance, events: Events) -> np.ndarray:
    """Return the prices [t - 1, h, r] at the end, where U and L never change."""
    machines = {machine.id: h for h, machine in enumerate(instance.machines)}
    found = np.zeros((instance.horizon, len(machines), len(instance.resources)))
    for each in events:
        if each["event"] == "range":
            assert not found.any()
            found[:] = each["min_unit_utility"]
            for h, machine in enumerate(instance.machines):
                found[:, h, [machine.capacity[name] == 0 for name in instance.resources]] = 0
        for rise in each.get("rises", ()):
            place = rise["slot"] - 1, machines[rise["machine"]]
            place = *place, instance.resources.index(rise["resource"])
            assert found[place] == rise["from"] < rise["to"]
            found[place] = rise["to"]
    return found


@settings(max_examples=50)
@given(
    dmlrs_instances(max_machines=3),
    st.sampled_from(["round", "round-hull", "greedy", "exact"]),
    st.sampled_from(["exact", "grid", "literal"]),
    st.sampled_from([None, "oracle"]),
)
def test_a_run_can_be_told_again_from_its_events(instance, across, dp, prices):
    options = {"across": across, "dp": dp, "prices": prices, "seed": 3}
    run, silent = (pd_ors(instance, events=events, **options) for events in (True, False))
    assert silent.events == ()
    assert silent.schedule == run.schedule and silent.trace == run.trace
    events = json.loads(json.dumps(run.events))
    assert events == list(run.events)
    assert rebuilt(instance, events) == run.schedule
    for each in events:
        assert each["line"] == LINES[each["event"]]
        of_a_job = set() if each["event"] == "range" else {"job"}
        assert set(each) == {"line", "event", "time"} | of_a_job | KEYS[each["event"]]
    judged = {each["job"]: each["event"] for each in events if each["event"] in ("admit", "reject")}
    assert list(judged) == [each["job"] for each in events if each["event"] == "arrive"]
    assert list(judged) == list(run.trace["payoffs"])


@settings(max_examples=60)
@given(dmlrs_instances(max_machines=3), st.sampled_from(["round", "greedy"]))
def test_the_prices_can_be_told_again_where_their_range_is_known_beforehand(instance, across):
    run = pd_ors(instance, events=True, across=across, prices="oracle")
    assert told_prices(instance, run.events) == pytest.approx(final_prices(instance, run))


@settings(max_examples=60)
@given(dmlrs_instances(min_jobs=2), st.sampled_from(["round", "exact"]))
def test_a_job_is_admitted_if_its_best_payoff_is_positive(instance, across):
    run = pd_ors(instance, events=True, across=across)
    best = {each["job"]: each for each in run.events if each["event"] == "best"}
    curves = {each["job"]: each for each in run.events if each["event"] == "costs"}
    assert set(best) == set(curves)
    for name, payoff in run.trace["payoffs"].items():
        if payoff:
            assert best[name]["payoff"] == payoff > 0
            rows = [row for row in run.schedule.allocations if row.job == name]
            assert best[name]["completion"] == max(row.slot for row in rows)
        if name in best:
            k = curves[name]["completions"].index(best[name]["completion"])
            gains = np.subtract(curves[name]["utilities"], curves[name]["costs"])
            assert gains[k] == best[name]["payoff"] == max(gains)


def test_every_line_is_one_of_the_paper():
    assert set(LINES) == set(KEYS) and len(LINES) == 9
    for line in LINES.values():
        label, number = re.fullmatch(r"A(\d) L(\d+)", line).groups()
        assert 1 <= int(number) <= FAMILY.paper.algorithms[label].lines


def test_the_toy_step_by_step():
    """j1 pays 0.05 in each of slots 1 and 2, for 2 workers and their PS: 2 GPUs and 3 CPUs."""
    events = pd_ors(TOY, events=True, across="greedy").events
    assert [each["event"] for each in events] == [
        "range", *3 * ["arrive", "costs", "best", "admit", "prices"]
    ]  # fmt: skip
    assert events[0] == {
        "line": "A1 L1", "event": "range", "time": 1,
        "max_unit_utility": {"gpu": 8, "cpu": 4}, "min_unit_utility": 0.01,
    }  # fmt: skip
    assert events[2]["completions"] == [2, 3, 4] and events[2]["utilities"] == [8, 2, 0]
    assert events[2]["costs"] == pytest.approx([0.1, 0.1, 0.1])
    assert events[3]["cost"] == pytest.approx(0.1) and events[3]["completion"] == 2
    assert events[4]["allocations"] == [
        {"slot": t, "machine": "m1", "workers": 2, "ps": 1} for t in (1, 2)
    ]
    rises = events[5]["rises"]
    assert [(each["slot"], each["resource"]) for each in rises] == [
        (1, "gpu"), (1, "cpu"), (2, "gpu"), (2, "cpu")
    ]  # fmt: skip
    assert {each["from"] for each in rises} == {0.01}
    assert [each["to"] for each in rises[:2]] == pytest.approx([8, 0.01 * 400 ** (3 / 4)])


def test_why_a_job_is_rejected():
    """Each job takes a machine for two slots."""
    dear = instance_of(
        [job("j1", 1, [9.0] * 4)],
        price_parameters={
            "max_unit_utility": {"gpu": 80.0, "cpu": 80.0}, "min_unit_utility": 50.0
        },
    )  # fmt: skip
    reasons = {
        "no room": instance_of([job(name, 3, [9.0] * 4) for name in ("j1", "j2")], [MACHINE]),
        "worthless": instance_of([job("j1", 1, [0.0] * 4)]),
        "too late": instance_of([job("j1", 4, [9.0] * 4)], [MACHINE]),
        "too dear": dear,
    }
    for reason, instance in reasons.items():
        events = pd_ors(instance, events=True).events
        assert events[-1]["event"] == "reject" and events[-1]["reason"] == reason
        assert ("best" in [each["event"] for each in events[-2:]]) == (reason == "too dear")
    assert pd_ors(TOY_2, events=True).events[-1]["reason"] == "too dear"  # 0 at the end


def test_the_range_is_told_again_where_a_job_moves_it():
    found = pd_ors(TOY, events=True, prices="running", across="greedy")
    ranges = [each for each in found.events if each["event"] == "range"]
    assert [each["max_unit_utility"] for each in ranges] == [
        {"gpu": 0, "cpu": 0}, *2 * [{"gpu": 10, "cpu": 5}]
    ]  # fmt: skip
    assert [each["time"] for each in ranges] == [1, 1, 1]  # j2 lowers L, j3 moves nothing
    assert ranges[-1]["min_unit_utility"] == found.trace["min_unit_utility"]


def test_the_draws_of_the_jobs_are_those_of_the_run():
    found = pd_ors(TOY, events=True, gain=0.01, rounds=3, seed=1)
    told = [each for each in found.events if each["event"] == "rounding"]
    for key, count in found.trace["rounding"].items():
        assert sum(each[key] for each in told) == count
    assert found.trace["rounding"]["draws_failed"] > 0


def test_a_run_without_time_says_who_was_not_looked_at():
    found = pd_ors(TOY, events=True, clock=Clock(0.0))
    assert found.schedule.admitted == () and found.trace["payoffs"] == {}
    assert [each["event"] for each in found.events] == ["range", "stop"]
    assert found.events[-1]["jobs"] == ["j1", "j2", "j3"] and found.events[-1]["time"] == 1


@pytest.mark.parametrize("name", ["pd-ors", "pd-ors-greedy"])
def test_options_have_the_names_and_defaults_of_the_methods(name):
    known = inspect.signature(pd_ors).parameters
    for option in METHODS[name].options:
        assert known[option.name].default == option.default, option.name
    assert all(
        each.kind is inspect.Parameter.KEYWORD_ONLY for each in list(known.values())[1:]
    )  # fmt: skip
