"""FIFO and DRF of family `dmlrs`: worked out by hand, and held to the rules and the optimum."""

import pytest
from hypothesis import given, settings

from schedgap.instances.dmlrs import DmlrsInstance, Job
from schedgap.models.dmlrs.baselines.drf import dominant_shares, drf
from schedgap.models.dmlrs.baselines.fifo import fifo
from schedgap.models.dmlrs.baselines.simulation import UNBOUNDED, UnfinishedJob
from schedgap.models.dmlrs.rules import check, objective
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import METHODS

FLAT = [4.0, 3.0, 2.0, 1.0]


def held(instance, schedule):
    """What each job holds, by slot: {machine: (workers, PSs)}."""
    return {instance.jobs[i].id: slots for i, slots in schedule.plans(instance).items()}


def judged(instance, schedule):
    data = schedule.to_data(instance)
    assert list(check(instance, data, {})) == []
    value = objective(instance, data)
    assert value == pytest.approx(schedule.value(instance))
    return value


def test_fifo_on_the_toy():
    """j1 takes all GPUs of slots 1 and 2: 4 and 4 of 7.2 across; 8, delay 1. j2 in 3-4: delay 3, 1.

    In slot 2 it misses 0.444: 2 workers inside are 0.5, but of the 4 across that it needs as well
    (0.556) all fit, and wider is first. Nothing is left for j3.
    """
    found = fifo(TOY)
    assert held(TOY, found)["j1"] == {t: {0: (2, 2), 1: (2, 0)} for t in (1, 2)}
    assert found.admitted == ("j1", "j2") and judged(TOY, found) == 9


def test_fifo_with_two_workers_stays_inside_machines():
    """j1 on m1 in 1-2 (8), j2 on m2 in 1-2 (3), j3 then in 3-4 (delay 2: 1)."""
    found = fifo(TOY, 2)
    assert {name: sorted(slots) for name, slots in held(TOY, found).items()} == {
        "j1": [1, 2], "j2": [1, 2], "j3": [3, 4],
    }  # fmt: skip
    assert judged(TOY, found) == 12


def test_fifo_on_one_machine():
    """j1 in slots 1-2, worth 3; j3 in 3-4, delay 2, worth 0."""
    assert judged(TOY_2, fifo(TOY_2)) == 3


def test_a_job_that_gets_nothing_holds_up_the_others_only_when_strict():
    """j1 finds no machine of 3 GPUs for its one worker; its work is needed in no slot."""
    large = {"worker_demand": {"gpu": 3, "cpu": 1}}
    instance = instance_of([job("j1", 1, FLAT, **large), job("j2", 1, FLAT)])
    assert fifo(instance).admitted == ("j2",)
    assert fifo(instance, strict=True).admitted == ()


def test_fifo_takes_no_more_workers_than_the_rest_of_the_work_needs():
    """4 worker-slots on a machine of 3 workers and 2 PSs: 3, then 1."""
    instance = instance_of([job("j1", 1, FLAT)], [{"gpu": 3, "cpu": 5}])
    assert held(instance, fifo(instance)) == {"j1": {1: {0: (3, 2)}, 2: {0: (1, 1)}}}


def test_fifo_takes_no_more_workers_across_than_the_rest_needs():
    """1.8 worker-slots across: 2 workers of 4 that it may have. They land on one machine."""
    instance = instance_of([job("j1", 1, FLAT, epochs=1, samples=15)])
    assert held(instance, fifo(instance)) == {"j1": {1: {0: (2, 1)}}}


@pytest.mark.parametrize(
    ("machines", "placed"),
    [
        # PSs need CPUs, of which m1 has one; its own machines in list order take the workers
        ([{"gpu": 9, "cpu": 1}, {"gpu": 9, "cpu": 9}], {0: (3, 1), 1: (0, 2)}),
        # the PS of the second worker goes to m3, and is there before the worker
        (
            [{"gpu": 1, "cpu": 1}, {"gpu": 9, "cpu": 0}, {"gpu": 9, "cpu": 9}],
            {0: (1, 1), 2: (2, 2)},
        ),
    ],
)
def test_drf_prefers_the_machines_that_a_job_has(machines, placed):
    apart = {"worker_demand": {"gpu": 1, "cpu": 0}, "ps_demand": {"gpu": 0, "cpu": 1}}
    one = job("j1", 1, FLAT, batch_size=3, worker_ps_ratio=1.0, **apart)
    instance = instance_of([one], machines)
    assert dominant_shares(instance, [UnfinishedJob(0, UNBOUNDED, UNBOUNDED)]) == {0: placed}


def test_drf_on_the_toy():
    """Slot 1: a worker and a PS of j1, then of j2, fill m1; so their second workers go to m2.

    With j3, in slots 2 and 3: j1 has 2 across, j2 1 on m1, j3 1 on m2; in slot 4 j1 needs just 1,
    and j3 has 2. j1: 6 / 7.2 + 1 / 4; j2: 2 / 7.2 + 3 / 4; j3: 4 / 4; all done in 4: 0 + 1 + 1.
    """
    found = drf(TOY)
    assert held(TOY, found)["j1"][1] == {0: (1, 1), 1: (1, 0)}
    assert held(TOY, found)["j1"][4] == {0: (1, 1)}
    assert held(TOY, found)["j3"] == {2: {1: (1, 1)}, 3: {1: (1, 1)}, 4: {1: (2, 1)}}
    assert judged(TOY, found) == 2


def test_drf_evens_out_shares():
    """Of 6 GPUs equal jobs get 3 each; of 2 one worker of a GPU as much as two of half a GPU."""
    machine = [{"gpu": 6, "cpu": 99}]
    one = instance_of([job("j1", 1, FLAT), job("j2", 1, FLAT)], machine)
    for name in ("j1", "j2"):
        assert held(one, drf(one))[name][1] == {0: (3, 2)}
    small = {"worker_demand": {"gpu": 0.5, "cpu": 1}}
    two = instance_of([job("j1", 1, FLAT), job("j2", 1, FLAT, **small)], [{"gpu": 2, "cpu": 99}])
    assert held(two, drf(two))["j2"][1] == {0: (2, 1)}
    assert held(two, drf(two))["j1"][1] == {0: (1, 1)}


def test_drf_stops_where_a_job_is_done():
    """4 worker-slots on a large machine: all 4 in slot 1, then nothing."""
    wide = instance_of(
        [job("j1", 1, FLAT, batch_size=8, worker_ps_ratio=4.0)], [{"gpu": 99, "cpu": 99}]
    )
    assert held(wide, drf(wide)) == {"j1": {1: {0: (4, 1)}}}


@pytest.mark.parametrize("make", [fifo, drf, lambda i: fifo(i, 1), lambda i: fifo(i, strict=True)])
def test_no_jobs_no_schedule(make):
    empty = instance_of([])
    assert make(empty).admitted == () and make(empty).allocations == ()


@settings(max_examples=42, deadline=None)
@given(dmlrs_instances(max_machines=3))
def test_baselines_keep_the_rules_and_are_no_better_than_the_optimum(instance):
    best = optimum(instance)
    for schedule in (fifo(instance), fifo(instance, 1), fifo(instance, strict=True), drf(instance)):
        assert judged(instance, schedule) <= best + 1e-9


@settings(max_examples=45, deadline=None)
@given(dmlrs_instances())
def test_baselines_do_not_peek(instance):
    """Without the jobs of the last arrival all is as before, up to that slot."""
    last = max(each.arrival for each in instance.jobs)
    kept = [each for each in instance.to_data()["jobs"] if each["arrival"] < last]
    less = DmlrsInstance.from_data(instance.to_data() | {"jobs": kept})
    for make in (fifo, drf):
        before, after = (
            held_before(less, make(less), last),
            held_before(instance, make(instance), last),
        )
        both = set(before) & set(after)
        assert {name: before[name] for name in both} == {name: after[name] for name in both}


def held_before(instance, schedule, slot):
    return {
        name: {t: counts for t, counts in slots.items() if t < slot}
        for name, slots in held(instance, schedule).items()
    }


def test_the_methods_run():
    for method in (METHODS["fifo"], METHODS["drf"]):
        call = RunContext(method.parse({}), None, Budget(Clock(10)), NullProgress())
        assert judged(TOY, method(TOY, call).schedule) > 0
    assert isinstance(TOY.jobs[0], Job)
