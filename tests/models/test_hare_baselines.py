"""The baselines on examples worked by hand, under the rules, and without foresight."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare import FAMILY
from schedgap.models.hare.algorithms.algorithm_1 import algorithm_1
from schedgap.models.hare.algorithms.list_wspt import list_schedule, list_wspt
from schedgap.models.hare.baselines.gavel_fifo import gavel_fifo
from schedgap.models.hare.baselines.sched_allox import match, sched_allox
from schedgap.models.hare.baselines.sched_homo import sched_homo
from schedgap.models.hare.baselines.srtf import srtf
from schedgap.models.hare.methods import METHODS
from schedgap.models.hare.replay import replay, sequences_of
from schedgap.models.hare.rules import check, objective
from schedgap.models.method import Algorithm, Budget, RunContext
from strategies.hare import brute_force, hare_instances, instance_of
from strategies.hare_examples import TOY, one_task

BASELINES = {
    "gavel-fifo": gavel_fifo,
    "srtf": srtf,
    "srtf without backfill": lambda instance: srtf(instance, backfill=False),
    "srtf without preemption": lambda instance: srtf(instance, preempt=False),
    "sched-homo": sched_homo,
    "sched-allox": sched_allox,
    "sched-allox weighted": lambda instance: sched_allox(instance, weighted=True),
}


def value(instance, schedule):
    """The rules' own value of a schedule that breaks none of them."""
    data = schedule.to_data(instance)
    assert list(check(instance, data, {})) == []
    return objective(instance, data)


@pytest.mark.parametrize(
    ("baseline", "total"), [(gavel_fifo, 10), (srtf, 9), (sched_homo, 12), (sched_allox, 9)]
)
def test_toy(baseline, total):
    # gavel-fifo: J1 on GPU3 and GPU1 (3.5 and 3 in all, GPU2 4): 1.5; J2 on GPU2: 5; J3 at 1.5 on
    # GPU3 and GPU1: both tasks on GPU3, 0.5 + 0.5 < 2, twice: 3.5. Total 10.
    # sched-allox: J1 on GPU2 (4), J2 on GPU1 (3), J3 on GPU3 (2). Total 9.
    assert value(TOY, baseline(TOY)) == total


def test_gavel_fifo_lets_nobody_overtake():
    # J1 holds g1 over [0, 4]; J2 needs both GPUs and waits; J3 could use g2 at 2 but waits until 7.
    instance = instance_of(
        {"g1": "k", "g2": "k"},
        [one_task(4), one_task(3, tasks_per_round=2, arrival=1), one_task(1, arrival=2)],
    )
    assert gavel_fifo(instance).start.tolist() == [0, 4, 4, 7]


def test_gavel_fifo_holds_the_gpus_of_a_job_until_it_completes():
    # J1 trains over [0, 2] and synchronizes until 5: J2 starts at 5, not at 2.
    instance = instance_of({"g": "k"}, [one_task(2, synchronization_time={"k": 3}), one_task(1)])
    assert gavel_fifo(instance).start.tolist() == [0, 5]


def test_srtf_releases_a_gpu_at_the_end_of_training():
    # J1 (5 with synchronization) goes before J2 (9), which starts at 2.
    instance = instance_of({"g": "k"}, [one_task(2, synchronization_time={"k": 3}), one_task(9)])
    assert srtf(instance).start.tolist() == [0, 2]


def test_a_round_places_each_task_where_it_is_synchronized_first():
    # gs is done with both tasks at 3 + 3 + 1 = 7, gf with one at 1 + 9 = 10.
    times, delays = {"f": 1, "s": 3}, {"f": 9, "s": 1}
    job = one_task(0, tasks_per_round=2, training_time=times, synchronization_time=delays)
    schedule = gavel_fifo(instance_of({"gf": "f", "gs": "s"}, [job]))
    assert schedule.gpu.tolist() == [1, 1] and schedule.start.tolist() == [0, 3]


def test_sched_allox_lets_synchronization_overlap_in_a_jobs_length():
    # J1 takes 2 + 2 + 3 = 7 alone, less than J2's 8.
    first = one_task(2, tasks_per_round=2, synchronization_time={"k": 3})
    instance = instance_of({"g": "k"}, [first, one_task(8)])
    assert sched_allox(instance).start.tolist() == [0, 2, 7]


def test_srtf_preempts_a_job_between_rounds_whatever_its_weight():
    # J1, two rounds of 4 (weight 9); J2 arrives at 1 with 3: at 4, 3 < 4 left, so J2 runs first.
    instance = instance_of({"g": "k"}, [one_task(4, 9, rounds=2), one_task(3, arrival=1)])
    assert srtf(instance).start.tolist() == [0, 7, 4]


def test_srtf_holds_the_gpus_of_a_job_unless_it_may_preempt():
    """One GPU: a job of two rounds of 4 from 0, a job of 1 from 1; the first is longer."""
    jobs = [one_task(4, rounds=2), one_task(1, arrival=1)]
    instance = instance_of({"g": "k"}, jobs)
    assert srtf(instance).start.tolist() == [0, 5, 4]
    assert srtf(instance, preempt=False).start.tolist() == [0, 4, 8]


def test_srtf_backfills_only_when_asked():
    # At 2, J2 (two tasks of 2) is shorter than J3 (7) and needs two GPUs; J1 holds g1 until 5.
    instance = instance_of(
        {"g1": "k", "g2": "k"},
        [one_task(5), one_task(2, tasks_per_round=2, arrival=2), one_task(7, arrival=2)],
    )
    # J3 on g2 over [2, 9], then J2 at 9
    assert srtf(instance).start.tolist() == [0, 9, 9, 2]
    assert srtf(instance, backfill=False).start.tolist() == [0, 5, 5, 7]


def test_srtf_without_backfilling_leaves_no_gpu_idle_that_the_next_job_can_use():
    # J1 takes two of the three GPUs; J2 needs only the third, so it does not overtake anybody.
    gpus, jobs = dict.fromkeys(("g1", "g2", "g3"), "k"), [one_task(1, tasks_per_round=2)]
    instance = instance_of(gpus, [*jobs, one_task(3)])
    assert srtf(instance, backfill=False).start.tolist() == [0, 0, 0]


def test_sched_homo_shares_equally_and_sees_no_speed():
    # Mean work: J1 2 x (1 + 9) / 2 = 10, J2 8. Weight / work: 3 / 10 > 2 / 8. J1 on both GPUs, a
    # task each, barrier at 9; then J2 on gf alone (first of the list) over [9, 9 + 4].
    times = {"f": 1, "s": 9}
    instance = instance_of(
        {"gf": "f", "gs": "s"},
        [
            one_task(0, 3, tasks_per_round=2, training_time=times),
            one_task(0, 2, training_time={"f": 4, "s": 12}),
        ],
    )
    schedule = sched_homo(instance)
    assert schedule.gpu.tolist() == [0, 1, 0] and schedule.start.tolist() == [0, 0, 9]


def test_sched_homo_takes_fewer_gpus_when_fewer_are_idle():
    # J1 holds g1 until 5; J2 has three tasks and gets g2 alone: 1, 3, 5.
    instance = instance_of(
        {"g1": "k", "g2": "k"}, [one_task(5, 9), one_task(2, tasks_per_round=3, arrival=1)]
    )
    assert sched_homo(instance).start.tolist() == [0, 1, 3, 5]


def test_sched_allox_weighted_orders_a_gpus_jobs_by_weight():
    # One GPU: shortest first gives J1, J2; weight / length 1 / 2 < 9 / 3 gives J2, J1.
    instance = instance_of({"g": "k"}, [one_task(2, 1), one_task(3, 9)])
    assert sched_allox(instance).start.tolist() == [0, 2]
    assert sched_allox(instance, weighted=True).start.tolist() == [3, 0]


@given(instance=hare_instances(5, 3, 1, 1, unlike=False, sync=False, arrivals=False, integer=False))
@settings(max_examples=35, deadline=None)
def test_sched_allox_is_optimal_for_jobs_of_one_task_and_equal_weight(instance):
    data = instance.to_data()
    for job in data["jobs"]:
        job["weight"] = 1
    instance = HareInstance.from_data(data)
    assert value(instance, sched_allox(instance)) == pytest.approx(brute_force(instance))


@given(data=st.data())
@settings(max_examples=70, deadline=None)
def test_the_reduced_matching_costs_no_more_than_the_full_one(data):
    jobs, gpus, classes = (data.draw(st.integers(1, most)) for most in (6, 6, 3))
    release = data.draw(st.lists(st.integers(0, 4), min_size=gpus, max_size=gpus))
    kind = data.draw(st.lists(st.integers(0, classes - 1), min_size=gpus, max_size=gpus))
    length = data.draw(
        st.lists(
            st.lists(st.integers(1, 5), min_size=classes, max_size=classes),
            min_size=jobs,
            max_size=jobs,
        )
    )
    arguments = np.array(release, float), np.array(kind), np.array(length, float)

    def cost(matching):
        assert len(set(matching)) == jobs
        return sum(release[m] + q * length[n][kind[m]] for n, (m, q) in enumerate(matching))

    reduced = match(*arguments)
    # the same columns as by looking through all: the union of each row's cheapest, ties first come
    columns = [(m, q) for m in range(gpus) for q in range(1, jobs + 1)]
    full = np.array([[release[m] + q * row[kind[m]] for m, q in columns] for row in length])
    best = linear_sum_assignment(full)
    assert cost(reduced) == full[best].sum()
    kept = np.unique(np.argsort(full, axis=1, kind="stable")[:, :jobs])
    chosen = kept[linear_sum_assignment(full[:, kept])[1]]
    assert reduced == [columns[column] for column in chosen]


@given(instance=hare_instances(4, 4, integer=False))
@settings(max_examples=35, deadline=None)
def test_every_baseline_is_valid(instance):
    for baseline in BASELINES.values():
        schedule = baseline(instance)
        assert value(instance, schedule) == pytest.approx(schedule.value(instance))


@given(instance=hare_instances(max_total=6))
@settings(max_examples=25, deadline=None)
def test_no_baseline_beats_the_enumerated_optimum(instance):
    optimum = brute_force(instance)
    for baseline in BASELINES.values():
        assert value(instance, baseline(instance)) >= optimum - 1e-9


@pytest.mark.nightly
@given(instance=hare_instances(7, 5, 4, 4, max_total=60, integer=False), data=st.data())
@settings(max_examples=2000, deadline=None)
def test_all_schedules_of_larger_instances_are_valid(instance, data):
    order = data.draw(st.permutations(range(arrays(instance).tasks)))
    schedules = [make(instance) for make in BASELINES.values()]
    for rule in ("available", "finish"):
        schedules.append(algorithm_1(instance, order, gpu_rule=rule).schedule)
    for schedule in schedules:
        total = value(instance, schedule)
        again = replay(instance, sequences_of(instance, schedule))
        assert value(instance, again.schedule) <= total + 1e-9


@pytest.mark.nightly
@given(instance=hare_instances(max_total=7))
@settings(max_examples=3000, deadline=None)
def test_no_baseline_beats_the_optimum_of_thousands(instance):
    optimum = brute_force(instance)
    assert min(value(instance, make(instance)) for make in BASELINES.values()) >= optimum - 1e-9


@pytest.mark.parametrize("name", BASELINES)
@given(instance=hare_instances(4, 3), other=hare_instances(1, 3), data=st.data())
@settings(max_examples=18, deadline=None)
def test_a_job_cannot_influence_decisions_before_its_arrival(name, instance, other, data):
    """Another job in its place, arriving no earlier: all earlier decisions stay as they were."""
    before = instance.to_data()
    n = data.draw(st.integers(0, len(before["jobs"]) - 1))
    cut = before["jobs"][n]["arrival"]
    assume(cut > min(job["arrival"] for job in before["jobs"]))
    after = instance.to_data()
    late = {"id": before["jobs"][n]["id"], "arrival": cut + data.draw(st.integers(0, 3))}
    job = other.to_data()["jobs"][0] | late
    kinds = {kind["id"] for kind in before["gpu_kinds"]}
    for task in [job, *(task for tasks in job.get("task_rounds", ()) for task in tasks)]:
        for key in ("training_time", "synchronization_time"):
            if key in task:
                some = next(iter(task[key].values()))
                ours = {name: task[key].get(name, some) for name in sorted(kinds)}
                task[key] = ours | {
                    gpu["id"]: task[key][gpu["id"]]
                    for gpu in before["gpus"]
                    if gpu["id"] in task[key]
                }
    after["jobs"][n] = job
    changed = HareInstance.from_data(after)
    early = []
    for problem in (instance, changed):
        schedule, view = BASELINES[name](problem), arrays(problem)
        kept = (view.task_job != n) & (schedule.start < cut)
        first = view.round_tasks[view.job_rounds[:-1]]
        number = np.arange(view.tasks) - first[view.task_job]
        early.append(
            sorted(
                zip(
                    view.task_job[kept].tolist(), number[kept].tolist(),
                    schedule.gpu[kept].tolist(), schedule.start[kept].tolist(), strict=True,
                )
            )
        )  # fmt: skip
    assert early[0] == early[1]


@pytest.mark.parametrize(
    "method",
    [each for each in METHODS if isinstance(each.run, Algorithm)],
    ids=lambda each: each.name,
)
def test_every_method_runs_with_its_defaults(method):
    outcome = FAMILY.run(method, TOY, RunContext(method.parse({}), None, Budget(), None))
    totals = {"gavel-fifo": 10, "srtf": 9, "sched-homo": 12, "sched-allox": 9, "list": 8.5}
    assert value(TOY, outcome.schedule) == totals[method.name]
    assert outcome.bound is None and method.online == (method.kind == "baseline")


def test_list_takes_the_tasks_by_their_earliest_start_or_the_jobs_in_smiths_order():
    # heads: round 1 of all jobs 0; then J3 0.5, J2 1.5
    by_start = algorithm_1(TOY, [0, 0, 0, 1.5, 0, 0, 0.5, 0.5], gpu_rule="finish").schedule
    assert list_schedule(TOY).start.tolist() == by_start.start.tolist()
    assert list_schedule(TOY, "smith").value(TOY) == list_wspt(TOY).value(TOY)
    assert list_schedule(TOY, gpu_rule="available").value(TOY) > list_schedule(TOY).value(TOY)


def test_list_wspt_takes_the_jobs_in_smiths_order():
    # Work 2, 3, 2: J1 on GPU3 [0, 1] and GPU1 [0, 1.5]; J3 on GPU2 [0, 1.5] (first of the list at
    # 1.5) and GPU3 [1, 1.5], then GPU3 [1.5, 2.5]; J2 on GPU1 [1.5, 4.5]: 8.5
    assert value(TOY, list_wspt(TOY)) == 8.5
