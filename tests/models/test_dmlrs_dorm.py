"""Dorm of family `dmlrs`: utilization, its limits, and the rules."""

import numpy as np
import pytest
from hypothesis import given, settings

from schedgap.instances.dmlrs import arrays
from schedgap.models.dmlrs.baselines.dorm import (
    DormLimits,
    build,
    dorm,
    pack,
    totals,
)
from schedgap.models.dmlrs.rules import check
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock, solve
from strategies.dmlrs import dmlrs_instances, fits, optimum, placements, slot_choices
from strategies.dmlrs_examples import TOY, instance_of, job
from strategies.dmlrs_methods import METHODS

FREE = DormLimits(None, None)
DORM = DormLimits(0.1, 0.2)
FLAT = [4.0, 3.0, 2.0, 1.0]


def highs(program):
    return solve(program, "highs", clock=Clock(20)).values


def used(instance, placed):
    """The sum over resources of the part of the cluster that is in use."""
    value = 0.0
    for i, counts in placed.items():
        w, s = (sum(pair[k] for pair in counts.values()) for k in (0, 1))
        for name in instance.resources:
            total = sum(machine.capacity[name] for machine in instance.machines)
            demand = instance.jobs[i].worker_demand[name] * w + instance.jobs[i].ps_demand[name] * s
            value += demand / total if total else 0
    return value


def test_limits_that_nothing_keeps_to_are_given_free():
    asked = []

    def refuse_twice(program):
        asked.append(program.matrix.shape[0])
        return None if len(asked) < 3 else highs(program)

    instance = instance_of([job("j1", 1, FLAT)], [{"gpu": 4, "cpu": 9}])
    assert dorm(instance, refuse_twice, DORM).admitted == ("j1",)
    assert len(asked) == 3 and asked[0] > asked[1] >= asked[2]
    assert dorm(instance, lambda program: None, DORM).admitted == ()


def test_a_stopped_run_keeps_its_placement():
    """j1 takes all GPUs in slot 1; no time is left for the program of slot 2, when j2 comes."""
    clock = Clock(1000)

    def last(program):
        found = highs(program)
        object.__setattr__(clock, "limit", 0)
        return found

    instance = instance_of([job("j1", 1, FLAT), job("j2", 2, FLAT)], [{"gpu": 4, "cpu": 9}])
    assert dorm(instance, last, FREE, clock).admitted == ("j1",)
    assert dorm(instance, highs, FREE).admitted == ("j1", "j2")


@settings(max_examples=14, deadline=None)
@given(dmlrs_instances())
def test_dorm_keeps_the_rules_and_is_no_better_than_the_optimum(instance):
    schedule = dorm(instance, highs, DORM)
    assert list(check(instance, schedule.to_data(instance), {})) == []
    assert schedule.value(instance) <= optimum(instance) + 1e-9


@settings(max_examples=15, deadline=None)
@given(dmlrs_instances(max_machines=1))
def test_on_one_machine_nothing_uses_more_without_limits(instance):
    """Both ps rules; the numbers that the program chooses are allowed, and fit."""
    jobs = range(len(instance.jobs))
    program = build(instance, jobs, {}, FREE)
    values = highs(program.builder.program())
    steps, ps = (
        np.round(block.extract(values)).astype(int) for block in (program.steps, program.ps)
    )
    chosen = {i: {0: (int(steps[i] * program.step[i]), int(ps[i]))} for i in jobs if steps[i]}
    best = max(used(instance, packed) for packed in slot_choices(instance).values())
    assert used(instance, chosen) == pytest.approx(best, abs=1e-6)
    assert fits(instance, chosen)
    for i, counts in chosen.items():
        assert counts in [way for ways in placements(instance, i).values() for way in ways]


@pytest.mark.parametrize(("changed", "workers"), [(0.0, [1, 3]), (1.0, [4])])
def test_a_job_changes_its_numbers_only_where_it_may(changed, workers):
    """Two machines of 2 GPUs; j1 has a worker, and j2's workers take more CPUs."""
    room = {"gpu": 2, "cpu": 9}
    wide = job("j2", 1, FLAT, worker_demand={"gpu": 1, "cpu": 2})
    instance = instance_of([job("j1", 1, FLAT), wide], [room, room])
    program = build(instance, (0, 1), {0: (1, 1)}, DormLimits(None, changed))
    values = highs(program.builder.program())
    found = program.steps.extract(values).round().tolist()
    assert [n for n in found if n] == workers


def test_shares_are_those_of_drf_but_for_the_unfairness_allowed():
    """Two equal jobs on 4 GPUs and 7 CPUs: 2 workers each, but 3 with 2 PSs next to 1 use more.

    A worker with half a PS takes 1/4 of the GPUs and 1.5/7 of the CPUs. 3 and 1 are off by 1/4
    each, 0.5 together; allowed is as much for each of two resources.
    """
    instance = instance_of([job("j1", 1, FLAT), job("j2", 1, FLAT)], [{"gpu": 4, "cpu": 7}])
    for unfair, wanted in ((0.0, [2, 2]), (0.24, [2, 2]), (0.25, [1, 3]), (None, [1, 3])):
        program = build(instance, (0, 1), {}, DormLimits(unfair, None))
        values = highs(program.builder.program())
        assert sorted(program.steps.extract(values).round().tolist()) == wanted


def test_numbers_that_stay_keep_their_place_and_the_rest_goes_where_room_is():
    """j1 stays on m2; j2 of 3 workers needs 5 CPUs and has both machines' room: 2 GPUs on m1."""
    instance = instance_of([job("j1", 1, FLAT), job("j2", 1, FLAT)])
    before = {0: {1: (1, 1)}}
    placed = pack(instance, {0: (1, 1), 1: (3, 2)}, before)
    assert placed[0] == {1: (1, 1)} and totals(placed[1]) == (3, 2) and len(placed[1]) == 2
    assert fits(instance, placed)
    assert pack(instance, {0: (0, 0), 1: (2, 1)}, before) == {1: {0: (2, 1)}}
    fewer = pack(instance, {0: (4, 2), 1: (4, 2)}, {})
    assert totals(fewer[0]) == (4, 2) and 1 not in fewer and fits(instance, fewer)


def test_a_run_does_not_depend_on_the_time_it_may_take():
    """No program has a separate wall-clock limit."""
    method = METHODS["dorm"]
    found = {
        method(
            TOY, RunContext(method.parse({}), "highs", Budget(Clock(limit)), NullProgress())
        ).schedule.value(TOY)
        for limit in (30, 300)
    }
    assert len(found) == 1 and arrays(TOY).capacity.sum() == 12


def test_the_method_hands_its_limits_on(monkeypatch):
    heard = []
    monkeypatch.setattr(
        "schedgap.models.dmlrs.baselines.dorm.dorm", lambda *given: heard.append(given[2])
    )
    method = METHODS["dorm"]
    for options in ({}, {"theta_f": "0.5", "theta_a": "1"}):
        method(TOY, RunContext(method.parse(options), "highs", Budget(Clock(60)), NullProgress()))
    assert heard == [DORM, DormLimits(0.5, 1.0)]


def test_the_method_runs_and_counts_its_programs():
    """Events of the toy: two arrivals in slot 1, one in slot 2, and completions."""
    method = METHODS["dorm"]
    outcome = method(TOY, RunContext(method.parse({}), "highs", Budget(Clock(60)), NullProgress()))
    assert list(check(TOY, outcome.schedule.to_data(TOY), {})) == []
    assert 2 <= outcome.trace["programs"] <= 12 and outcome.trace["not_proved"] == 0
