"""The executor: earliest starts, deadlocks, and the three switches of Fig. 10."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.analysis.solving.solve import solve
from schedgap.errors import InputError
from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.instances.hare.workload import MODELS as TABLE_2
from schedgap.models.hare.algorithms.algorithm_1 import algorithm_1
from schedgap.models.hare.replay import replay, sequences_of, switching_metrics
from schedgap.models.hare.rules import check
from strategies.hare import hare_instances, instance_of
from strategies.hare_examples import TOY, one_task

MODES = ["default", "pipeswitch", "hare", "hare-memory"]


def with_switching(instance, room=4.0, models=None):
    """Every job gets a separate model of 2 GB unless given: 10, 2 and 1 to switch."""
    data = instance.to_data()
    for n, job in enumerate(data["jobs"]):
        job["model"] = f"M{n}"
    for kind in data["gpu_kinds"]:
        kind["memory_gb"] = room
    entry = {"default": 10, "pipeswitch": 2, "hare": 1, "memory_gb": 2}
    data["switching"] = {
        "models": {f"M{n}": entry | (models or {}).get(n, {}) for n in range(len(data["jobs"]))}
    }
    return HareInstance.from_data(data)


def figure_10(room=4.0, **models):
    """i1 and i3 of J1, i2 of J2, in this order on one GPU; tasks of length 5."""
    jobs = [one_task(5, tasks_per_round=2), one_task(5)]
    return with_switching(instance_of({"g": "k"}, jobs), room, models)


@pytest.mark.parametrize(
    ("mode", "starts", "share"),
    [
        ("none", [0, 10, 5], 0),
        ("default", [10, 40, 25], 30 / 45),
        ("pipeswitch", [2, 16, 9], 6 / 21),
        ("hare", [1, 13, 7], 3 / 18),
        # J1 stays with J2 (2 + 2 <= 4 GB): the third switch costs 0
        ("hare-memory", [2, 14, 9], 4 / 19),
    ],
)
def test_figure_10(mode, starts, share):
    found = replay(figure_10(), [[0, 2, 1]], mode)
    assert found.schedule.start.tolist() == starts
    assert found.completion.tolist() == [starts[1] + 5, starts[2] + 5]
    assert found.objective == starts[1] + starts[2] + 10
    assert found.share == pytest.approx(share) and found.training == 15


def test_a_model_that_no_longer_fits_is_evicted():
    assert replay(figure_10(room=3.9), [[0, 2, 1]], "hare-memory").switching == 6


def test_the_latest_jobs_stay_and_the_first_that_does_not_fit_ends_the_list():
    # 6 GB hold three jobs of 2 GB. After J1 J2 J3 all are there; J4 (4 GB) leaves room for J3 only.
    jobs = [
        one_task(1, tasks_per_round=2),
        one_task(1),
        one_task(1, tasks_per_round=2),
        one_task(1),
    ]
    instance = with_switching(instance_of({"g": "k"}, jobs), 6, {3: {"memory_gb": 4}})
    # tasks: J1 0 1, J2 2, J3 3 4, J4 5
    found = replay(instance, [[0, 2, 3, 5, 4, 1]], "hare-memory")
    # four misses, J3 is a hit, J1 a miss
    assert found.switching == 10


def test_tasks_of_one_job_in_a_row_switch_once():
    for mode, cost in zip(MODES, (10, 2, 1, 2), strict=True):
        assert replay(figure_10(), [[0, 1, 2]], mode).switching == 2 * cost


def test_a_job_that_goes_on_pushes_nobody_out():
    # J2, then both tasks of J1, then a second one of J2: two misses, two hits
    instance = with_switching(
        instance_of({"g": "k"}, [one_task(5, tasks_per_round=2), one_task(5, tasks_per_round=2)])
    )
    assert replay(instance, [[2, 0, 1, 3]], "hare-memory").switching == 4


def test_another_job_of_the_same_model_is_no_hit():
    data = figure_10().to_data()
    data["jobs"][1]["model"] = "M0"
    assert replay(HareInstance.from_data(data), [[0, 2, 1]], "hare").switching == 3


def test_a_switch_runs_while_the_task_waits_for_its_barrier():
    # g1: J1 [1, 5], J2 [6, 7], then J1's model comes over [7, 8]; its second round waits for the
    # task on slow g2, [1, 21], and starts at 21, not at 22.
    first = {"training_time": {"k": 4, "g2": 20}}
    jobs = [{"task_rounds": [[first, first], [{"training_time": {"k": 1}}]]}, one_task(1)]
    instance = with_switching(instance_of({"g1": "k", "g2": "k"}, jobs))
    found = replay(instance, [[0, 3, 2], [1]], "hare")
    assert found.schedule.start.tolist() == [1, 1, 21, 6] and found.switching == 4


def test_a_deadlock_is_told():
    job = one_task(1, rounds=2)
    instance = instance_of({"g1": "k", "g2": "k"}, [job, job])
    # g1: J1 round 2 before J2 round 1; g2: J2 round 2 before J1 round 1
    with pytest.raises(InputError, match=r"sequences\[0\]\[0\]: deadlock: GPU g1 waits"):
        replay(instance, [[1, 2], [3, 0]])
    assert replay(instance, [[0, 1], [2, 3]]).objective == 4


@pytest.mark.parametrize(
    "sequences", [[[0, 1]], [[0, 1, 1]], [[0, 1, 2, 2]], [[0, 1, 3]], [[0, 1, -1]], [[0, 1, 2], []]]
)
def test_sequences_hold_every_task_once(sequences):
    with pytest.raises(InputError, match="sequences: need one list per GPU, and each task once"):
        replay(figure_10(), sequences)


def test_a_mode_refuses_an_instance_that_lacks_what_it_needs():
    sequences = sequences_of(TOY, algorithm_1(TOY, range(8)).schedule)
    for mode in MODES:
        with pytest.raises(InputError, match=f"switching: missing key: switching mode '{mode}'"):
            replay(TOY, sequences, mode)
    with pytest.raises(InputError, match="switching: need one of none, default"):
        replay(TOY, sequences, "quick")
    data = figure_10().to_data()
    del data["gpu_kinds"][0]["memory_gb"]
    with pytest.raises(InputError, match=r"gpu_kinds\[0\].memory_gb: missing key"):
        replay(HareInstance.from_data(data), [[0, 1, 2]], "hare-memory")
    with pytest.raises(InputError, match=r"jobs\[0\].model: job J1 needs 2 GB, GPU g has 1"):
        replay(figure_10(room=1), [[0, 1, 2]], "hare-memory")


def test_table_3_gives_the_shares_that_the_paper_claims():
    hare = [model.switching["hare"] for model in TABLE_2.values()]
    assert len(hare) == 8
    assert max(cell.milliseconds for cell in hare) <= 6
    assert sum(cell.percent < 2 for cell in hare) == 5 and max(c.percent for c in hare) < 5
    # E22: the three rows imply 59.9, 163.1 and 149.4 ms for VGG19
    implied = [
        TABLE_2["VGG19"].switching[scheme].training for scheme in ("default", "pipeswitch", "hare")
    ]
    assert implied == pytest.approx([59.9, 163.1, 149.4], abs=0.05)


def test_omega_of_graphsage_and_resnet50():
    # E21: GraphSAGE 90.7 ms and ResNet50 161.0 ms: 5213.54 / 251.7 = 20.7, 5961.16 / 251.7 = 23.7
    first, second = (TABLE_2[model].switching["default"] for model in ("GraphSAGE", "ResNet50"))
    training = first.training + second.training
    ratios = [cell.milliseconds / training for cell in (first, second)]
    assert ratios == pytest.approx([20.7, 23.7], abs=0.05)
    # the instance of Fig. 7 alternates: a switch of each model to the training of both
    for row, expected in (("default", 22.2), ("hare", 69.4)):
        instance = generate("hare", preset="fig7", settings={"row": row})
        share = solve(instance, "srtf").metrics["default switching share (%)"] / 100
        assert share / (1 - share) / 2 == pytest.approx(expected, abs=0.05)


def test_metrics_are_there_with_switching_times_only():
    plain = generate("hare", preset="toy")
    assert switching_metrics(plain, solve(plain, "srtf").schedule) == {}
    assert solve(plain, "srtf").metrics == {}
    instance = generate("hare", preset="fig10")
    found = solve(instance, "exact").metrics
    # i1, i2, i3 on one GPU: three switches, and two where the model of i1 stays
    assert found["objective, pipeswitch switching"] == pytest.approx(35 + 3 * 0.00475 + 4 * 0.00475)
    share = [found[f"{mode} switching share (%)"] / 100 for mode in ("pipeswitch", "hare-memory")]
    time = [15 * part / (1 - part) for part in share]
    assert time == pytest.approx([3 * 0.00475, 2 * 0.00475])


def test_metrics_leave_out_the_memory_where_it_is_not_known():
    data = figure_10().to_data()
    del data["gpu_kinds"][0]["memory_gb"]
    instance = HareInstance.from_data(data)
    schedule = algorithm_1(instance, range(3)).schedule.to_data(instance)
    names = list(switching_metrics(instance, schedule))
    assert len(names) == 6 and not any("memory" in name for name in names)
    small = figure_10(room=1)  # no job fits
    assert list(switching_metrics(small, schedule)) == names


def delayed(instance, schedule, data):
    """A valid schedule with the same sequences and arbitrary waits."""
    view = arrays(instance)
    start = np.zeros(view.tasks)
    free, barrier = np.zeros(view.gpus), np.zeros(view.rounds)
    for i in np.argsort(schedule.start, kind="stable"):
        q, n, m = view.task_round[i], view.task_job[i], schedule.gpu[i]
        ready = view.arrival[n] if q == view.job_rounds[n] else barrier[q - 1]
        start[i] = max(ready, free[m]) + data.draw(st.integers(0, 2))
        free[m] = start[i] + view.train[i, view.gpu_class[m]]
        barrier[q] = max(barrier[q], start[i] + view.duration[i, view.gpu_class[m]])
    return HareSchedule(schedule.gpu, start)


@given(instance=hare_instances(), data=st.data())
@settings(max_examples=35, deadline=None)
def test_replay_starts_nothing_later_and_stays_valid(instance, data):
    tasks = arrays(instance).tasks
    middle = data.draw(st.permutations(range(tasks)))
    schedule = algorithm_1(
        instance, middle, gpu_rule=data.draw(st.sampled_from(["available", "finish"]))
    ).schedule
    waits = delayed(instance, schedule, data)
    assert list(check(instance, waits.to_data(instance), {})) == []
    found = replay(instance, sequences_of(instance, waits))
    assert (found.schedule.start <= waits.start).all()
    assert list(check(instance, found.schedule.to_data(instance), {})) == []
    assert found.switching == found.share == 0


@given(instance=hare_instances(), mode=st.sampled_from(MODES))
@settings(max_examples=40, deadline=None)
def test_switching_only_delays(instance, mode):
    schedule = algorithm_1(instance, np.arange(arrays(instance).tasks)).schedule
    sequences = sequences_of(instance, schedule)
    found = replay(with_switching(instance), sequences, mode)
    assert (found.schedule.start >= replay(instance, sequences).schedule.start).all()
    assert list(check(instance, found.schedule.to_data(instance), {})) == []
