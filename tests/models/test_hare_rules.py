"""Every rule of family `hare` has a schedule that breaks it and no other."""

import math
import time

import pytest

from schedgap.errors import InputError
from schedgap.instances.hare import HareInstance
from schedgap.models.hare.rules import check, objective
from strategies.hare import instance_of
from strategies.hare_examples import FIGURE_4, TOY


def rows(*rows):
    keys = ("job", "round", "task", "gpu", "start")
    return {"assignments": [dict(zip(keys, row, strict=True)) for row in rows]}


def broken(instance, schedule, **options):
    return [violation.rule for violation in check(instance, schedule, options)]


# Two rounds of two tasks on two GPUs, arrival 1: training 2, synchronization 1, one unit of slack.
PAIR = instance_of(
    {"g1": "k", "g2": "k"},
    [
        {
            "arrival": 1,
            "weight": 3,
            "rounds": 2,
            "tasks_per_round": 2,
            "training_time": {"k": 2},
            "synchronization_time": {"k": 1},
        }
    ],
)


def pair():
    """C = 5 + 2 + 1 = 8; value 24."""
    return rows(
        ("J1", 1, 1, "g1", 1),
        ("J1", 1, 2, "g2", 1),
        ("J1", 2, 1, "g1", 5.0),
        ("J1", 2, 2, "g2", 5.0),
    )


def changed(k, **values):
    schedule = pair()
    schedule["assignments"][k] |= values
    return schedule


def test_a_valid_schedule_breaks_no_rule_and_has_its_value():
    assert broken(PAIR, pair()) == []
    assert broken(PAIR, pair(), synchronization="fixed") == []
    assert objective(PAIR, pair()) == 24


def test_the_order_of_the_assignments_does_not_matter():
    schedule = {"assignments": pair()["assignments"][::-1]}
    assert broken(PAIR, schedule) == [] and objective(PAIR, schedule) == 24


@pytest.mark.parametrize(
    ("rule", "schedule", "options", "words"),
    [
        ("V0", changed(0, colour="red"), {}, "assignments[0].colour: unknown key"),
        ("V0", changed(0, start="1"), {}, "assignments[0].start: need a number"),
        ("V0", changed(0, start=True), {}, "assignments[0].start: need a number"),
        ("V0", changed(0, start=float("nan")), {}, "assignments[0].start: need a finite number"),
        ("V0", changed(0, start=10**400), {}, "assignments[0].start: need a finite number"),
        ("V0", pair() | {"more": 1}, {}, 'unknown key "more"'),
        ("V1", changed(3, gpu="g9"), {}, 'J1 round 2 task 2 is on "g9", which is no GPU'),
        ("V1", changed(3, gpu="k"), {}, "which is no GPU"),
        ("V2", rows(*[r.values() for r in pair()["assignments"][:3]]), {}, "J1 round 2 task 2 is"),
        (
            "V2",
            {"assignments": [*pair()["assignments"], pair()["assignments"][0]]},
            {},
            "J1 round 1 task 1 is assigned 2 times",
        ),
        ("V3", changed(1, start=0.5), {}, "J1 round 1 task 2 starts at 0.5 on g2, 0.5 before"),
        ("V4", changed(3, start=3.25), {}, "J1 round 2 task 2 starts at 3.25 on g2, 0.75 before"),
        ("V6", changed(1, start=1.5), {"synchronization": "fixed"}, "on g2, 0.5 after J1 round 1"),
    ],
)
def test_each_rule_is_broken_alone(rule, schedule, options, words):
    (violation,) = check(PAIR, schedule, options)
    assert violation.rule == rule and words in violation.message and violation.amount > 0


def test_a_task_may_not_start_while_another_trains():
    # g1: J1 trains over [0, 1], J2 starts at 0.75
    instance = FIGURE_4
    schedule = rows(
        ("J1", 1, 1, "GPU1", 0), ("J2", 1, 1, "GPU1", 0.75), ("J3", 1, 1, "GPU2", 0),
        ("J4", 1, 1, "GPU3", 0), ("J4", 1, 2, "GPU3", 1.5), ("J4", 1, 3, "GPU3", 3),
    )  # fmt: skip
    (violation,) = check(instance, schedule, {})
    assert violation.rule == "V5" and violation.amount == 0.25
    assert violation.where == ("J2 round 1 task 1", "GPU1", "J1 round 1 task 1")


def test_synchronization_does_not_block_the_gpu():
    # On g1: round 1 over [1, 3], synchronized at 4; J2 trains over [3, 4] meanwhile.
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 2}}
    instance = instance_of({"g": "k"}, [job | {"synchronization_time": {"k": 1}}, job])
    assert broken(instance, rows(("J1", 1, 1, "g", 0), ("J2", 1, 1, "g", 2))) == []


def test_equal_starts_on_one_gpu_are_a_violation():
    # also when the tasks are shorter than the tolerance
    job = {"rounds": 1, "tasks_per_round": 2, "training_time": {"k": 1e-8}}
    instance = instance_of({"g": "k"}, [job])
    assert broken(instance, rows(("J1", 1, 1, "g", 0), ("J1", 1, 2, "g", 0))) == ["V5"]
    assert broken(instance, rows(("J1", 1, 1, "g", 0), ("J1", 1, 2, "g", 1e-8))) == []


def test_a_round_waits_for_the_round_before_wherever_it_stands_in_the_file():
    # Round 2 starts within the tolerance before the barrier at 3, and counts from 3: C = 5.
    job = {"rounds": 2, "tasks_per_round": 1, "training_time": {"k": 2}, "arrival": 1}
    instance = instance_of({"g1": "k", "g2": "k"}, [job])
    schedule = rows(("J1", 2, 1, "g2", 3 - 0.9e-6), ("J1", 1, 1, "g1", 1))
    assert broken(instance, schedule) == [] and objective(instance, schedule) == 5


def test_the_tolerance_is_one_millionth():
    assert broken(PAIR, changed(0, start=1 - 0.9e-6)) == []
    assert broken(PAIR, changed(0, start=1 - 1.1e-6)) == ["V3"]
    assert broken(PAIR, changed(2, start=4 - 0.9e-6)) == []
    assert broken(PAIR, changed(2, start=4 - 1.1e-6)) == ["V4"]
    late = changed(1, start=1 + 1.1e-6)
    assert broken(PAIR, late) == [] and broken(PAIR, late, synchronization="fixed") == ["V6"]


def test_rounding_at_large_times_is_no_violation():
    # 1e12 + 0.1 is not a double, and doubles are 1.2e-4 apart there, far above the tolerance.
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 0.1}, "arrival": 1e12}
    instance = instance_of({"g": "k"}, [job, job])
    second = 1e12 + 0.1
    for rules in ([], [], [], ["V5"]):  # none, one, two, three units in the last place early
        assert broken(instance, rows(("J1", 1, 1, "g", 1e12), ("J2", 1, 1, "g", second))) == rules
        second = math.nextafter(second, 0)


def test_a_gpu_twice_in_a_round_breaks_fixed_synchronization():
    # At 1e9 doubles cannot tell the ends of such short tasks from their starts.
    job = {"rounds": 1, "tasks_per_round": 2, "training_time": {"k": 1e-8}, "arrival": 1e9}
    instance = instance_of({"g": "k"}, [job])
    schedule = rows(("J1", 1, 1, "g", 1e9), ("J1", 1, 2, "g", 1e9))
    (violation,) = check(instance, schedule, {"synchronization": "fixed"})
    assert violation.rule == "V6" and "another task of its round" in violation.message


def test_the_barrier_is_the_latest_task_of_the_round_before():
    # The slow GPU's task (c = 4, s = 2) holds the barrier until 6, the fast one's until 1.
    task = {"training_time": {"f": 1, "s": 4}, "synchronization_time": {"f": 0, "s": 2}}
    instance = instance_of({"gf": "f", "gs": "s"}, [{"task_rounds": [[task, task], [task]]}])
    start = (("J1", 1, 1, "gf", 0), ("J1", 1, 2, "gs", 0))
    assert broken(instance, rows(*start, ("J1", 2, 1, "gf", 6))) == []
    (violation,) = check(instance, rows(*start, ("J1", 2, 1, "gf", 1)), {})
    assert (violation.rule, violation.amount) == ("V4", 5)
    assert violation.where == ("J1 round 2 task 1", "gf", "J1 round 1 task 2")


def test_a_gpus_own_key_wins_over_its_kinds():
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 9, "g2": 1}}
    instance = instance_of({"g1": "k", "g2": "k"}, [job])
    assert objective(instance, rows(("J1", 1, 1, "g2", 0))) == 1
    assert objective(instance, rows(("J1", 1, 1, "g1", 0))) == 9


@pytest.mark.parametrize(
    ("item", "rules"),
    [
        (None, ["V0"]),
        ([], ["V0"]),
        ({}, ["V0"]),
        ({"job": 1, "round": 1, "task": 1, "gpu": "g1", "start": 0}, ["V0"]),
        ({"job": "J1", "round": 1.0, "task": 1, "gpu": "g1", "start": 0}, ["V0"]),
        ({"job": "J1", "round": True, "task": 1, "gpu": "g1", "start": 0}, ["V0"]),
        ({"job": "J1", "round": 1, "task": "1", "gpu": "g1", "start": 0}, ["V0"]),
        ({"job": "J1", "round": 1, "task": 1, "gpu": ["g1"], "start": 0}, ["V0", "V2"]),
        ({"job": "J9", "round": 1, "task": 1, "gpu": "g1", "start": 0}, ["V1"]),
        ({"job": "J1", "round": 0, "task": 1, "gpu": "g1", "start": 0}, ["V1"]),
        ({"job": "J1", "round": 3, "task": 1, "gpu": "g1", "start": 0}, ["V1"]),
        ({"job": "J1", "round": 1, "task": 10**30, "gpu": "g1", "start": 0}, ["V1"]),
    ],
)
def test_a_useless_assignment_is_told_and_left_out(item, rules):
    # V2 where it names a task that another assignment names, too.
    schedule = {"assignments": [*pair()["assignments"], item]}
    assert broken(PAIR, schedule, synchronization="fixed") == rules


@pytest.mark.parametrize(
    ("schedule", "path"),
    [
        (None, "schedule"),
        ([], "schedule"),
        ({}, "schedule.assignments"),
        ({"assignments": None}, "schedule.assignments"),
        ({"assignments": {}}, "schedule.assignments"),
    ],
)
def test_what_is_no_schedule_of_the_family_is_refused(schedule, path):
    with pytest.raises(InputError) as error:
        check(PAIR, schedule, {})
    assert error.value.path == path


def test_every_task_is_assigned_exactly_once():
    twice = changed(1, task=1, gpu="g2")  # both assignments of round 1 name task 1
    assert [violation.message for violation in check(PAIR, twice, {})] == [
        "J1 round 1 task 1 is assigned 2 times",
        "J1 round 1 task 2 is not assigned to any GPU",
    ]


def test_rounds_count_from_one_in_files():
    assert broken(PAIR, pair()) == []
    zero = pair()
    for row in zero["assignments"]:
        row["round"] -= 1
    assert broken(PAIR, zero) == ["V1", "V1", "V2", "V2"]


def test_an_empty_schedule_misses_every_task():
    assert broken(PAIR, {"assignments": []}, synchronization="fixed") == ["V2"] * 4


def test_the_toy_has_schedules_with_every_quoted_value():
    # (a) J2 [0, 3] on GPU1; J3 rounds at 0 and 1.5 on GPU2 and GPU3; J1 at 3: 4.5 + 3 + 3 = 10.5
    a = rows(
        ("J2", 1, 1, "GPU1", 0), ("J2", 2, 1, "GPU1", 1.5), ("J3", 1, 1, "GPU2", 0),
        ("J3", 1, 2, "GPU3", 0), ("J3", 2, 1, "GPU2", 1.5), ("J3", 2, 2, "GPU3", 1.5),
        ("J1", 1, 1, "GPU1", 3), ("J1", 1, 2, "GPU3", 3),
    )  # fmt: skip
    # (b) one GPU per job: J1 on GPU2 (4), J2 on GPU1 (3), J3 on GPU3 (2): 9
    b = rows(
        ("J1", 1, 1, "GPU2", 0), ("J1", 1, 2, "GPU2", 2), ("J2", 1, 1, "GPU1", 0),
        ("J2", 2, 1, "GPU1", 1.5), ("J3", 1, 1, "GPU3", 0), ("J3", 1, 2, "GPU3", 0.5),
        ("J3", 2, 1, "GPU3", 1), ("J3", 2, 2, "GPU3", 1.5),
    )  # fmt: skip
    # (c) J1 fills the hole of GPU3 before J3's barrier: 2.5 + 3 + 3 = 8.5
    c = rows(
        ("J2", 1, 1, "GPU1", 0), ("J2", 2, 1, "GPU1", 1.5), ("J3", 1, 1, "GPU2", 0),
        ("J3", 2, 1, "GPU2", 1.5), ("J3", 1, 2, "GPU3", 0), ("J1", 1, 1, "GPU3", 0.5),
        ("J1", 1, 2, "GPU3", 1.5), ("J3", 2, 2, "GPU3", 2.5),
    )  # fmt: skip
    for schedule, value in [(a, 10.5), (b, 9), (c, 8.5)]:
        assert broken(TOY, schedule) == [] and objective(TOY, schedule) == value


def test_figure_4_relaxed_and_fixed():
    alone = (("J1", 1, 1, "GPU1", 0), ("J2", 1, 1, "GPU2", 0), ("J3", 1, 1, "GPU3", 0))
    relaxed = rows(
        *alone, ("J4", 1, 1, "GPU1", 1), ("J4", 1, 2, "GPU1", 2.5), ("J4", 1, 3, "GPU2", 2)
    )
    fixed = rows(*alone, *(("J4", 1, i, f"GPU{i}", 4) for i in (1, 2, 3)))
    assert broken(FIGURE_4, relaxed) == [] and objective(FIGURE_4, relaxed) == 11
    assert broken(FIGURE_4, relaxed, synchronization="fixed") == ["V6", "V6"]
    assert broken(FIGURE_4, fixed, synchronization="fixed") == []
    assert objective(FIGURE_4, fixed) == 12.5


def test_weights_of_zero_give_zero():
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 1}, "weight": 0}
    assert objective(instance_of({"g": "k"}, [job]), rows(("J1", 1, 1, "g", 0))) == 0


def test_the_schedule_of_35_000_tasks_is_checked_in_well_under_a_second():
    gpus, rounds, width = 160, 30, 8
    jobs = 146
    shape = {"rounds": rounds, "tasks_per_round": width, "training_time": {"k": 1}}
    instance = instance_of({f"g{m}": "k" for m in range(gpus)}, [shape] * jobs)
    side = gpus // width  # jobs side by side; then the next lot
    schedule = rows(
        *(
            (f"J{n + 1}", r + 1, i + 1, f"g{n % side * width + i}", n // side * rounds + r)
            for n in range(jobs)
            for r in range(rounds)
            for i in range(width)
        )
    )
    start = time.process_time()
    assert broken(instance, schedule) == []
    assert objective(instance, schedule) == sum((n // side + 1) * rounds for n in range(jobs))
    assert time.process_time() - start < 3  # about 0.4 s on an idle machine, both together


# --- the tolerance ------------------------------------------------------------------------------


def test_tasks_shorter_than_the_tolerance_still_need_a_gpu_of_their_own():
    job = {"rounds": 1, "tasks_per_round": 50, "training_time": {"k": 5e-7}}
    instance = instance_of({"g": "k"}, [job])
    stacked = rows(*(("J1", 1, i, "g", i * 1e-12) for i in range(1, 51)))
    assert broken(instance, stacked) == ["V5"] * 49
    in_a_row = rows(*(("J1", 1, i, "g", (i - 1) * 5e-7) for i in range(1, 51)))
    assert broken(instance, in_a_row) == []
    assert objective(instance, in_a_row) == pytest.approx(2.5e-5, rel=1e-12)


@pytest.mark.parametrize(("length", "early"), [(1.0, 0.9e-6), (1e-3, 0.9e-6), (1e-6, 0.9e-9)])
def test_early_starts_in_a_chain_gain_nothing(length, early):
    """The value of a thousand rounds in a row is a thousand times their length, no less."""
    job = {"rounds": 1000, "tasks_per_round": 1, "training_time": {"k": length}, "weight": 1000}
    instance = instance_of({"g": "k"}, [job])
    chain = rows(*(("J1", r + 1, 1, "g", r * (length - early)) for r in range(1000)))
    assert broken(instance, chain) == []
    assert objective(instance, chain) == pytest.approx(1e6 * length, rel=1e-12)


@pytest.mark.parametrize("length", [1.0, 1e-3])
def test_early_starts_of_rounds_in_step_gain_nothing(length):
    """Two tasks in each round, on two GPUs, together: moved by one of them, both wait."""
    job = {"rounds": 100, "tasks_per_round": 2, "training_time": {"a": length, "b": 2 * length}}
    instance = instance_of({"g1": "a", "g2": "b"}, [job])
    early = min(0.9e-6, 0.9e-3 * length)
    times = [r * (2 * length - early) for r in range(100)]
    step = rows(
        *((("J1", r + 1, i, f"g{i}", times[r])) for r in range(100) for i in (1, 2)),
    )
    assert broken(instance, step, synchronization="fixed") == []
    assert objective(instance, step) == pytest.approx(200 * length, rel=1e-12)


def test_starts_of_a_round_that_are_to_be_equal_are_almost():
    job = {"rounds": 1, "tasks_per_round": 2, "training_time": {"k": 1e-3}}
    instance = instance_of({"g1": "k", "g2": "k"}, [job])
    for late, rules in ((0.9e-10, []), (0.9e-6, ["V6"])):
        schedule = rows(("J1", 1, 1, "g1", 0), ("J1", 1, 2, "g2", late))
        assert broken(instance, schedule, synchronization="fixed") == rules


def test_a_schedule_that_waits_longer_than_it_must_is_taken_as_it_is():
    assert objective(PAIR, changed(3, start=7.0)) == 3 * 10
    assert objective(PAIR, changed(3, start=5.25)) == 3 * 8.25


def test_a_short_task_in_the_tolerance_of_a_long_one_hides_no_wait() -> None:
    """Round 2 starts before the short task of round 1 ends, which X's overlap pushes later still.

    The optimum is 1.1034; judged in the order of the starts, the schedule was worth 1.102411.
    """
    gpus = [{"id": "g1", "kind": "f"}, {"id": "g2", "kind": "s"}]
    rounds = [
        [{"training_time": {"f": 0.0005, "s": 1}}, {"training_time": {"f": 1, "s": 4e-07}}],
        [{"training_time": {"f": 0.0001, "s": 1}}],
    ]
    instance = HareInstance.from_data(
        {
            "family": "hare",
            "version": 1,
            "name": "t",
            "meta": {"time_unit": "s"},
            "gpu_kinds": [{"id": "f"}, {"id": "s"}],
            "gpus": gpus,
            "jobs": [
                {"id": "X", "arrival": 0, "weight": 3,
                 "task_rounds": [[{"training_time": {"f": 1, "s": 0.001}}]]},
                {"id": "J", "arrival": 0.000499411, "weight": 1000, "task_rounds": rounds},
            ],
        }
    )  # fmt: skip
    starts = [("X", 1, 1, "g2", 0), ("J", 1, 1, "g1", 0.000499411)]
    starts += [("J", 1, 2, "g2", 0.00099901), ("J", 2, 1, "g1", 0.0009989159999999999)]
    keys = ("job", "round", "task", "gpu", "start")
    schedule = {"assignments": [dict(zip(keys, each, strict=True)) for each in starts]}
    assert "V4" in {violation.rule for violation in check(instance, schedule, {})}
    late = {"assignments": [*schedule["assignments"][:3], {**schedule["assignments"][3]}]}
    late["assignments"][3]["start"] = 0.0009994108  # within the tolerance of both tasks
    assert not list(check(instance, late, {}))
    assert objective(instance, late) >= 1.1034 - 1e-9
