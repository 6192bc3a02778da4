"""Algorithm 1 on examples worked by hand, and its schedules under the rules."""

import json
import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedgap as sg
from schedgap.instances.hare import HareSchedule, arrays
from schedgap.models.hare import FAMILY
from schedgap.models.hare.algorithms import algorithm_1 as paper
from schedgap.models.hare.algorithms.algorithm_1 import middles, monotone_middles
from schedgap.models.hare.algorithms.guarantees import alpha, lemma_report, theorem_4
from schedgap.models.hare.algorithms.list_wspt import list_wspt
from schedgap.models.hare.rules import check, objective
from strategies.hare import brute_force, hare_instances, instance_of
from strategies.hare_examples import (
    FIGURE_4,
    THREE_UNIT_TASKS,
    TOY,
    TWO_GPUS,
    UNLIKE_ROUNDS,
    lights_and_sponge,
    one_task,
)

RULES = ["available", "finish"]
# H of the toy: J1 (2, 1), J2 (1.25, 2.75), J3 (2, 2, 2.5, 2.5)
TOY_MIDDLE = [2, 1, 1.25, 2.75, 2, 2, 2.5, 2.5]


def algorithm_1(instance, middle, **options):
    return paper.algorithm_1(instance, middle, **options).schedule


def value(instance, schedule):
    """The rules' own value of a schedule that breaks none of them."""
    data = schedule.to_data(instance)
    assert list(check(instance, data, {})) == []
    return objective(instance, data)


@pytest.mark.parametrize(("gpu_rule", "total"), [("available", 11.5), ("finish", 8)])
def test_toy(gpu_rule, total):
    assert value(TOY, algorithm_1(TOY, TOY_MIDDLE, gpu_rule=gpu_rule)) == total


@pytest.mark.parametrize("gpu_rule", RULES)
def test_ce4_breaks_lemma_2_even_with_every_prefix(gpu_rule):
    # H_B = 3.5 < H_A = 4: B on both GPUs, three of its tasks on g2, then A over [3, 11]: C_B = 4
    schedule = algorithm_1(TWO_GPUS, [4] + [3.5] * 7, gpu_rule=gpu_rule)
    assert value(TWO_GPUS, schedule) == 1104
    # The load of A's GPU is 3 + 8 = 11 > 2 H_A = 8: Lemma 2 fails; alpha = 1 and nobody idles
    report = lemma_report(TWO_GPUS, [4] + [3.5] * 7, schedule)
    assert report["lemma_2"] == pytest.approx(11 / 8) and not report["lemma_2_holds"]
    assert report["lemma_3"] == 0 and report["lemma_3_holds"]
    # alpha = 1: A ends training at 11, 3 H = 12; B's last task at 4 of 10.5
    assert report["equation_22"] == pytest.approx(11 / 12) and report["equation_22_holds"]
    assert (report["alpha"], report["factor"], report["failed_assumptions"]) == (1, 3, [])


def test_ce1_breaks_lemma_2_for_the_printed_relaxation():
    # x_hat = (3, 0, 0): the second task of pi ends at 2 > 2 x 0.5
    middle = middles(THREE_UNIT_TASKS, [3, 0, 0])
    assert middle.tolist() == [3.5, 0.5, 0.5]
    report = lemma_report(THREE_UNIT_TASKS, middle, algorithm_1(THREE_UNIT_TASKS, middle))
    assert report["lemma_2"] == 2
    # 2 > (2 + alpha) x 0.5 = 1.5: so (22) fails too
    assert report["equation_22"] == pytest.approx(4 / 3) and not report["equation_22_holds"]
    assert report["failed_assumptions"] == []


def test_one_gpu_with_arrivals_is_the_single_machine_problem():
    """Theorem 1: 1 | r_j | sum w_j C_j, whose optimum is the best value of an order."""
    arrivals, times, weights = (0, 1, 3, 4), (5, 1, 2, 1), (1, 4, 3, 5)
    instance = instance_of(
        {"g": "k"},
        [one_task(p, w, arrival=a) for a, p, w in zip(arrivals, times, weights, strict=True)],
    )
    values = []
    for order in permutations(range(4)):
        end, total = 0, 0
        for j in order:
            end = max(end, arrivals[j]) + times[j]
            total += weights[j] * end
        values.append(total)
    assert sg.solve(instance, "exact").objective == min(values)
    found = FAMILY.paper.guarantees["theorem_1"].evaluate(instance)
    assert found["factor"] is None and found["failed"][0].startswith("not evaluated: ")


def test_ce2_refutes_theorem_4_for_the_printed_relaxation():
    instance = lights_and_sponge()
    middle = middles(instance, [0] * 11 + [671])
    total = value(instance, algorithm_1(instance, middle))
    assert total == 112221
    smith = value(instance, list_wspt(instance))
    assert smith == 12441
    assert total / smith > theorem_4(instance)["factor"] == 3


@pytest.mark.parametrize("gpu_rule", RULES)
def test_figure_4(gpu_rule):
    # i1, i2, i3 at 0; then n where GPU1 is free at 1, GPU2 at 2, GPU1 again at 2.5: 1 + 2 + 4 + 4
    assert value(FIGURE_4, algorithm_1(FIGURE_4, [0.5, 1, 2, 3, 3, 3], gpu_rule=gpu_rule)) == 11


def test_the_order_guard_keeps_rounds_in_order():
    # H = (0 + 5, 1 + 0.5): round 2 is placed first, at 0 (line 1), round 1 after it on the other
    middle = middles(UNLIKE_ROUNDS, [0, 1])
    assert middle.tolist() == [5, 1.5]
    printed = algorithm_1(UNLIKE_ROUNDS, middle, order_guard=False).to_data(UNLIKE_ROUNDS)
    assert [broken.rule for broken in check(UNLIKE_ROUNDS, printed, {})] == ["V4"]
    assert monotone_middles(UNLIKE_ROUNDS, middle).tolist() == [5, 5]
    # guarded: round 1 on gf over [0, 1], round 2 on the GPU that is free first, gs, over [1, 2]
    guarded = algorithm_1(UNLIKE_ROUNDS, middle)
    assert value(UNLIKE_ROUNDS, guarded) == 2
    # each GPU has load 1, against twice the raised H
    assert lemma_report(UNLIKE_ROUNDS, middle, guarded)["lemma_2"] == 1 / 10


def test_the_guard_raises_over_all_rounds_of_its_own_job_alone():
    task = {"training_time": {"k": 1}}
    instance = instance_of(
        {"g": "k"}, [{"task_rounds": [[task, task], [task], [task]]}, one_task(1)]
    )
    assert monotone_middles(instance, [1, 7, 3, 2, 0]).tolist() == [1, 7, 7, 7, 0]
    wide = instance_of({"g": "k"}, [{"task_rounds": [[task], [task, task], [task]]}])
    assert monotone_middles(wide, [4, 3, 6, 5]).tolist() == [4, 4, 6, 6]


def test_middles_take_the_slowest_or_the_assigned_gpu():
    assert middles(UNLIKE_ROUNDS, [0, 1]).tolist() == [5, 1.5]
    assert middles(UNLIKE_ROUNDS, [0, 1], [0, 0], midpoint="assigned").tolist() == [0.5, 1.5]


def test_a_slow_gpu_listed_first_costs_alpha():
    # Both GPUs are free at 0; the printed line 12 takes the first of the list.
    instance = instance_of(
        {"slow": "s", "fast": "f"}, [one_task(1, training_time={"s": 7, "f": 1})]
    )
    assert value(instance, algorithm_1(instance, [3.5])) == alpha(instance) == 7
    assert value(instance, algorithm_1(instance, [3.5], gpu_rule="finish")) == 1


def test_synchronization_overlaps_the_next_task_on_the_gpu():
    # J1 trains [0, 2] and synchronizes until 5; J2 trains [2, 4]: 5 + 4 = 9
    first = one_task(2, synchronization_time={"k": 3})
    instance = instance_of({"g": "k"}, [first, one_task(2)])
    assert value(instance, algorithm_1(instance, [1, 2])) == 9


def test_ties_go_to_the_gpu_listed_first():
    instance = instance_of({"g2": "k", "g1": "k"}, [one_task(1, tasks_per_round=3)])
    for gpu_rule in RULES:
        assert algorithm_1(instance, [1, 1, 1], gpu_rule=gpu_rule).gpu.tolist() == [
            0,
            1,
            0,
        ]


def test_ties_go_by_round_job_and_number():
    instance = instance_of({"g": "k"}, [one_task(1, rounds=2), one_task(1, tasks_per_round=2)])
    # rounds 1: J1/1/1, J2/1/1, J2/1/2, then J1/2/1
    assert algorithm_1(instance, [1, 1, 1, 1]).start.tolist() == [0, 3, 1, 2]


@pytest.mark.parametrize(
    ("train", "sync", "ratio"),
    [
        ({"s": 6, "f": 2}, None, 3),
        ({"s": 6, "f": 2}, {"s": 8, "f": 2}, 4),
        ({"s": 2, "f": 2}, {"s": 1, "f": 1}, 1),
    ],
)
def test_alpha(train, sync, ratio):
    job = one_task(1, training_time=train) | ({"synchronization_time": sync} if sync else {})
    assert alpha(instance_of({"g1": "s", "g2": "f"}, [job])) == ratio


def test_alpha_of_zero_synchronization():
    # 0 / 0 counts as 1, x / 0 as infinite: then there is no guarantee
    job = one_task(1, training_time={"s": 6, "f": 2})
    for sync, ratio in [({"s": 0, "f": 0}, 3), ({"s": 1, "f": 0}, math.inf)]:
        instance = instance_of({"g1": "s", "g2": "f"}, [job | {"synchronization_time": sync}])
        assert alpha(instance) == ratio
        assert theorem_4(instance)["factor"] == (15 if ratio == 3 else None)


def test_theorem_4_names_the_assumptions_that_fail():
    assert alpha(TOY) == 4
    assert theorem_4(TOY) == {
        "claim": "value <= alpha (2 + alpha) optimum (Theorem 4)",
        "factor": 24,
        "holds": True,
        "failed": [],
    }
    task = {"training_time": {"s": 1, "f": 2}, "synchronization_time": {"s": 3, "f": 0}}
    other = {"training_time": {"s": 1, "f": 1}}
    odd = instance_of({"g1": "s", "g2": "f"}, [{"task_rounds": [[task], [other]]}])
    found = theorem_4(odd)
    assert found["factor"] is None and not found["holds"]
    assert [words.split()[0] for words in found["failed"]] == ["(i)", "(ii)", "(iv)"]
    middle = [1.0, 2.0]
    report = lemma_report(odd, middle, algorithm_1(odd, middle), relaxation_proved=False)
    assert len(report["failed_assumptions"]) == 4
    assert report["alpha"] is report["lemma_3"] is None


def test_idle_time_is_counted_up_to_each_task():
    # g: J1 over [0, 1], J2 arrives at 4: idle 3 before it; H = (1, 6), alpha = 1: 3 / 6
    instance = instance_of({"g": "k"}, [one_task(1), one_task(2, arrival=4)])
    report = lemma_report(instance, [1, 6], algorithm_1(instance, [1, 6]))
    assert report["lemma_3"] == 0.5
    assert report["lemma_2"] == 0.5  # 1 / 2 for J1, 3 / 12 for J2


def test_an_h_that_was_rounded_to_nothing_breaks_no_report():
    instance = instance_of({"g": "k"}, [one_task(1e-6)])
    assert lemma_report(instance, [0.0], algorithm_1(instance, [0.0]))["lemma_2"] == 1


def test_list_wspt_puts_weightless_jobs_last():
    instance = instance_of({"g": "k"}, [one_task(1, 0), one_task(9, 1), one_task(4, 2)])
    assert list_wspt(instance).start.tolist() == [13, 4, 0]


@given(data=st.data(), instance=hare_instances(integer=False), gpu_rule=st.sampled_from(RULES))
@settings(max_examples=45, deadline=None)
def test_every_order_gives_a_valid_schedule(data, instance, gpu_rule):
    tasks = arrays(instance).tasks
    middle = data.draw(st.lists(st.integers(0, 9), min_size=tasks, max_size=tasks))
    schedule = algorithm_1(instance, middle, gpu_rule=gpu_rule)
    assert value(instance, schedule) == pytest.approx(schedule.value(instance))
    value(instance, list_wspt(instance, gpu_rule))
    report = lemma_report(instance, np.array(middle) + 0.5, schedule)
    assert report["lemma_2"] > 0


@given(data=st.data(), instance=hare_instances(max_total=6), gpu_rule=st.sampled_from(RULES))
@settings(max_examples=45, deadline=None)
def test_no_schedule_beats_the_enumerated_optimum(data, instance, gpu_rule):
    tasks = arrays(instance).tasks
    middle = data.draw(st.permutations(range(tasks)))
    assert value(instance, algorithm_1(instance, middle, gpu_rule=gpu_rule)) >= brute_force(
        instance
    )


@given(data=st.data(), instance=hare_instances(4), gpu_rule=st.sampled_from(RULES))
@settings(max_examples=55, deadline=None)
def test_lemma_3_holds_on_random_instances(data, instance, gpu_rule):
    """Its proof uses of x_hat only (4) and (7), which the starts of any valid schedule meet."""
    order = data.draw(st.permutations(range(arrays(instance).tasks)))
    for start in (arrays(instance).head, algorithm_1(instance, order).start):
        middle = middles(instance, start)
        report = lemma_report(instance, middle, algorithm_1(instance, middle, gpu_rule=gpu_rule))
        assert report["lemma_3_holds"] is not False


@given(instance=hare_instances(), data=st.data())
@settings(max_examples=50, deadline=None)
def test_finish_takes_a_gpu_on_which_no_other_ends_earlier(instance, data):
    """Replays the places of a schedule and compares each choice with every GPU."""
    view = arrays(instance)
    middle = data.draw(st.lists(st.integers(0, 9), min_size=view.tasks, max_size=view.tasks))
    schedule = algorithm_1(instance, middle, gpu_rule="finish")
    free = np.zeros(view.gpus)
    place = view.task_round - view.job_rounds[view.task_job]
    barrier = np.zeros(view.rounds)
    for i in np.lexsort((np.arange(view.tasks), place, monotone_middles(instance, middle))):
        q = view.task_round[i]
        ready = view.arrival[view.task_job[i]] if place[i] == 0 else barrier[q - 1]
        ends = np.maximum(free, ready) + view.duration[i, view.gpu_class]
        m = schedule.gpu[i]
        assert ends[m] == ends.min() and schedule.start[i] == max(free[m], ready)
        free[m] = schedule.start[i] + view.train[i, view.gpu_class[m]]
        barrier[q] = max(barrier[q], ends[m])


@settings(max_examples=60, deadline=None)
@given(hare_instances(), st.sampled_from(["available", "finish"]), st.randoms())
def test_the_events_tell_the_whole_schedule(instance, gpu_rule, random):
    middle = [random.random() for _ in range(arrays(instance).tasks)]
    quiet = paper.algorithm_1(instance, middle, gpu_rule=gpu_rule)
    run = paper.algorithm_1(instance, middle, events=True, gpu_rule=gpu_rule)
    assert quiet.events == () and json.loads(json.dumps(run.events)) == list(run.events)
    told = [step for step in run.events if step["event"] == "start"]
    keys = ("job", "round", "task", "gpu", "start")
    rebuilt = {"assignments": [{key: step[key] for key in keys} for step in told]}
    again = HareSchedule.from_data(instance, rebuilt)
    for schedule in (quiet.schedule, again):
        assert (schedule.gpu == run.schedule.gpu).all()
        assert (schedule.start == run.schedule.start).all()
    (order,) = (step["tasks"] for step in run.events if step["event"] == "order")
    assert order == [{key: step[key] for key in keys[:3]} for step in told]
    for step in told:
        assert step["start"] == max(step["ready"], step["gpu_free"]) < step["gpu_busy_until"]
    ends = {(step["job"], step["round"]): step["time"] for step in run.events if "time" in step}
    assert max(ends.values()) == pytest.approx(run.schedule.completion(instance).max())
    assert len(ends) == arrays(instance).rounds
    assert {int(step["line"][1:]) for step in run.events} <= set(range(1, 19))
