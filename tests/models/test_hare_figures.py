"""The figures' claims can hold and fail, and along an axis one thing changes."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import schedgap as sg
from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.figure import Draw, Experiment
from schedgap.models.hare.figures import (
    ALLOX,
    COMBINATIONS,
    FIFO,
    FINISH,
    HARE,
    HOMO,
    IDLE,
    IDLE_TIME,
    MINUTES,
    MIXES,
    SRTF,
    USED,
    experiments,
    gpu_use,
)

OBJECTIVE = "weighted completion time"
SCHEMES = (HARE, FINISH, FIFO, SRTF, HOMO, ALLOX)
QUICK = experiments(quick=True, seeds=(3,))
FULL = experiments(seeds=(3,), gpus=(8, 12, 16), jobs=(12, 15, 20), testbed_jobs=4)
Values = dict[tuple[str, str, float | str], float]


def bars(series: str, **measures: Mapping[str, float]) -> Values:
    """Values of bars, by measure and bar."""
    return {(m, series, bar): v for m, row in measures.items() for bar, v in row.items()}


def curve(xs: Sequence[float | str], **curves: Sequence[float]) -> Values:
    """Values of series along an axis, under the names of the paper's schemes."""
    names = {"hare": (HARE, FINISH), "fifo": (FIFO,), "srtf": (SRTF,), "homo": (HOMO,)}
    names |= {"allox": (ALLOX,), "bound": ("bound",), "equal": ("equal shares",)}
    return {
        (OBJECTIVE, name, x): value
        for key, row in curves.items()
        for name in names[key]
        for x, value in zip(xs, row, strict=True)
    }


def schemes(hare: float, bound: float, **more: Mapping[str, float]) -> Values:
    """Bars of the schemes with values of 80 to 160, with a bound, and further measures."""
    own = {HARE: hare, FINISH: hare, FIFO: 160, SRTF: 120, HOMO: 100, ALLOX: 80}
    values = bars("scheme", **{OBJECTIVE: own}, **more)
    return values | {(OBJECTIVE, "bound", bar): bound for bar in own}


def switching(share: float, delay: float, default: float) -> dict[str, Mapping[str, float]]:
    return {
        "hare switching share (%)": {HARE: share},
        "default switching share (%)": {HARE: default},
        "objective, hare switching": {HARE: 40 * delay},
        "objective, hare-memory switching": {HARE: 40 * delay},
    }


def complete(hare: float, allox: float, homo: float) -> dict[str, Mapping[str, float]]:
    """The same shares at all times of Figure 13."""
    row = {HARE: hare, FINISH: hare, ALLOX: allox, HOMO: homo}
    return {f"complete by {60 * minutes} s (%)": row for minutes in MINUTES}


def shares(pipeswitch: float, memory: float) -> dict[str, Mapping[str, float]]:
    names = {"pipeswitch": pipeswitch, "hare-memory": memory}
    return {f"{mode} switching share (%)": {"i1, i2, i3": x} for mode, x in names.items()}


def use(measure: str, xs: Sequence[float | str], *homo: float) -> Values:
    """Percentages of GPU time with Sched_Homo along an axis."""
    return {(measure, HOMO, x): value for x, value in zip(xs, homo, strict=True)}


TOY = {HOMO: 12.0, ALLOX: 9.0, HARE: 8.0, FINISH: 8.5}
GPUS, JOBS, MBIT, BATCH = (16, 32, 48), (20, 40, 60), (10, 15, 25), (0.5, 1, 4)
DOWN, UP = (3, 2, 1), (1, 2, 3)


def times(factor: float, row: Sequence[float]) -> list[float]:
    return [factor * value for value in row]


# Of each figure, values on which all claims hold and values on which none does.
DRAWS: dict[str, tuple[Values, Values]] = {
    "1": (
        bars("scheme", **{OBJECTIVE: TOY}),
        bars("scheme", **{OBJECTIVE: {HOMO: 9.5, ALLOX: 10.0, HARE: 9.0, FINISH: 11.5}}),
    ),
    "4": (
        bars("synchronization", **{OBJECTIVE: {"fixed": 12.5, "relaxed": 11.0}}),
        bars("synchronization", **{OBJECTIVE: {"fixed": 11.0, "relaxed": 12.5}}),
    ),
    "5": (
        curve(tuple(COMBINATIONS), equal=(7, 7, 6.9, 3.5, 1)),
        curve(tuple(COMBINATIONS), equal=(7, 5, 1.5, 3.5, 1)),
    ),
    "7": (
        bars("model", **{"default switching share (%)": {"alternating": 1800 / 19}}),
        bars("model", **{"default switching share (%)": {"alternating": 40.0}}),
    ),
    "10": (
        bars("schedule", **shares(30.0, 200 / 9)),
        bars("schedule", **shares(30.0, 30.0)),
    ),
    "table-3": (
        schemes(40, 30, **switching(4.9, 1.04, 94.0)),
        schemes(40, 30, **switching(5.1, 1.06, 60.0)),
    ),
    "12": (schemes(40, 30), schemes(81, 50)),
    "13": (
        schemes(40, 30, **complete(91, 67, 57), **{USED: {HARE: 70, FINISH: 70, HOMO: 50}}),
        schemes(40, 30, **complete(91, 92, 91), **{USED: {HARE: 60, FINISH: 60, HOMO: 61}}),
    ),
    "14": (
        curve(GPUS, hare=times(40, DOWN), allox=times(80, DOWN), srtf=times(90, DOWN),
              homo=times(99, DOWN), fifo=times(160, DOWN)),
        curve(GPUS, hare=times(70, UP), allox=times(69, UP), srtf=times(60, UP),
              homo=times(99, UP), fifo=times(65, UP)),
    ),
    "15": (
        curve(JOBS, hare=(40, 70, 90), allox=(80, 160, 240), srtf=(90, 180, 270),
              homo=(99, 198, 297), fifo=(160, 320, 480), bound=(30, 50, 60)),
        curve(JOBS, hare=(40, 39, 45), allox=(80, 70, 60), srtf=(90, 80, 70), homo=(99, 90, 85),
              fifo=(160, 140, 120), bound=(30, 30, 30)),
    ),
    "16": (
        curve(MIXES, hare=(40, 40, 40), allox=(80, 81, 82), srtf=(80, 90, 99), homo=(45, 50, 60),
              fifo=(90, 99, 111)) | use(USED, MIXES, 60, 50, 45),
        curve(MIXES, hare=(40, 60, 90), allox=(80, 81, 85), srtf=(80, 90, 99), homo=(60, 65, 70),
              fifo=(90, 99, 111)) | use(USED, MIXES, 60, 50, 52),
    ),
    "17": (
        curve((0.25, 0.55), hare=(40, 40), allox=(80, 80), srtf=(90, 90), homo=(99, 99),
              fifo=(160, 160)),
        curve((0.25, 0.55), hare=(40, 90), allox=(80, 80), srtf=(90, 90), homo=(99, 99),
              fifo=(160, 80)),
    ),
    "18": (
        curve(MBIT, hare=(100, 80, 69), allox=(90, 85, 80), srtf=(90, 85, 80), homo=(99, 98, 97),
              fifo=(160, 150, 140)),
        curve(MBIT, hare=(100, 99, 95), allox=(90, 91, 80), srtf=(90, 85, 80), homo=(99, 98, 97),
              fifo=(160, 150, 140)),
    ),
    "19": (
        curve(BATCH, hare=(40, 41, 42), allox=(80, 81, 82), srtf=(90, 91, 92), homo=(99, 150, 200),
              fifo=(160, 161, 162)) | use(IDLE, BATCH, 20, 22, 30)
        | use(IDLE_TIME, BATCH, 40, 44, 60),
        curve(BATCH, hare=(40, 41, 60), allox=(80, 81, 82), srtf=(90, 91, 120), homo=(99, 99, 99),
              fifo=(160, 161, 162)) | use(IDLE, BATCH, 20, 22, 21)
        | use(IDLE_TIME, BATCH, 40, 44, 42),
    ),
}  # fmt: skip


def _draws(figure: str) -> tuple[Draw, Draw]:
    """The two draws; in Figure 17 the class says which way all series move."""
    good, bad = (
        dict(values)
        for values in DRAWS[figure.partition("-")[0] if figure.startswith("17") else figure]
    )
    if figure.startswith("17"):
        slope = {"17-NLP": 1.1, "17-Rec": 0.9}.get(figure, 1.0)
        good = {key: value * (slope if key[2] == 0.55 else 1) for key, value in good.items()}
    return Draw(OBJECTIVE, good), Draw(OBJECTIVE, bad)  # fmt: skip


def test_every_figure_has_draws_to_judge() -> None:
    assert {each.figure.partition("-")[0] for each in QUICK} == {
        figure.partition("-")[0] for figure in DRAWS
    }


@pytest.mark.parametrize(
    "experiment", [each for each in QUICK if not each.setting], ids=lambda each: each.figure
)
def test_every_claim_can_hold_and_fail(experiment: Experiment) -> None:
    good, bad = _draws(experiment.figure)
    for claim in experiment.claims:
        assert claim.source.startswith(("Section", "Abstract"))
        if claim.holds is None:
            assert claim.untestable or claim.given or claim.threshold == "ours"
            continue
        assert claim.measure is not None
        assert claim.holds(good), (claim.text, claim.measure(good))
        assert not claim.holds(bad), (claim.text, claim.measure(bad))


@pytest.mark.parametrize(
    ("figure", "text", "number"),
    [
        ("1", "8.5 or less", 8.0), ("1", "of 9", 9.0), ("4", "earlier", 12.0),
        ("5", "Adding T4 or V100", 7 / 6.9), ("5", "for at most 50 %", 100 / 6.9),
        ("7", "9 times", 9.0), ("7", "50 %", 100 / 19), ("10", "three switches", 2 / 3),
        ("12", "47.6 % to 75.3 %", 50.0), ("12", "2x", 2.0),
        ("12", "leaves room", 62.5), ("13", "66.7 %", 24.0), ("13", "56.5 %", 34.0),
        ("13", "within 25 minutes than", 10.0),
        ("14", "all schemes", -66.667), ("14", "2x", 2.0), ("14", "significantly", -11.111),
        ("13", "low GPU", 20.0), ("15", "54.6 % to 80.5 %", 62.5), ("15", "in percent", 6.25),
        ("15", "in weighted", 110.0),
        ("15", "leaves room", 75.0), ("16", "slight", 2.5), ("16", "close", 1.125),
        ("16", "utilization", -15.0), ("18", "31.2 %", 31.0), ("18", "not linear", 0.275),
        ("19", "influence on Hare,", 5.0), ("19", "idle time of a GPU", 50.0),
        ("19", "share of idle time", 10.0), ("table-3", "no more than 5 %", 4.9),
        ("table-3", "negligible", 4.0),
    ],
)  # fmt: skip
def test_the_numbers_of_claims(figure: str, text: str, number: float) -> None:
    (experiment,) = (each for each in QUICK if each.figure == figure and not each.setting)
    good, _ = _draws(figure)
    claims = [each for each in experiment.claims if each.measure is not None and text in each.text]
    assert claims
    assert claims[0].measure is not None
    assert claims[0].measure(good) == pytest.approx(number, abs=1e-3)


def _jobs(instance: HareInstance, *without: str) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = instance.to_data()["jobs"]
    return [{key: job[key] for key in job if key not in without} for job in data]


CHANGES = {  # what may differ between the instances of a figure
    "14": (), "16": ("training_time", "synchronization_time"),
    "18": ("synchronization_time",), "19": ("rounds", "training_time", "synchronization_time"),
    **dict.fromkeys(("17-CV", "17-NLP", "17-Speech", "17-Rec"),
                    ("model", "rounds", "training_time", "synchronization_time")),
}  # fmt: skip


@pytest.mark.parametrize("experiments_", [QUICK, FULL], ids=["quick", "full"])
@pytest.mark.parametrize("figure", CHANGES)
def test_an_axis_changes_one_thing(experiments_: list[Experiment], figure: str) -> None:
    for experiment in experiments_:
        if experiment.figure == figure:
            drawn = {point.x: point.instance for point in experiment.points}
            assert len(drawn) >= 2
            rest = [_jobs(instance, *CHANGES[figure]) for instance in drawn.values()]
            assert all(jobs == rest[0] for jobs in rest)
            kinds = [instance.gpus for instance in drawn.values()]
            assert figure in ("14", "16") or all(gpus == kinds[0] for gpus in kinds)


def test_more_jobs_hold_all_of_fewer() -> None:
    (experiment,) = (each for each in QUICK if each.figure == "15")
    drawn = {point.x: _jobs(point.instance, "id") for point in experiment.points}
    assert [len(jobs) for jobs in drawn.values()] == list(drawn)
    for few, more in zip(list(drawn.values())[:-1], list(drawn.values())[1:], strict=True):
        assert all(job in more for job in few)


def test_the_usual_instance_is_one_in_all_figures() -> None:
    usual = {"14": 32, "15": 40, "16": "high", "17-CV": 0.25, "17-Rec": 0.25, "18": 25, "19": 1}
    found = {
        point.instance.sha256
        for experiment in QUICK
        if not experiment.setting
        for point in experiment.points
        if usual.get(experiment.figure) == point.x
    }
    assert len(found) == 1
    testbed = {
        point.instance.sha256
        for each in QUICK if each.figure in ("12", "13")
        and each.setting in ({}, {"srtf": "not-preemptive"})
        for point in each.points
    }  # fmt: skip
    assert len(testbed) == 1


def test_quick_keeps_the_load_of_the_full_simulation() -> None:
    """Training time on V100 over GPUs, the mean of a few draws; quick has a fifth of both."""
    load = []
    for quick in (False, True):
        (experiment,) = (
            each for each in experiments(quick=quick, seeds=range(5)) if each.figure == "16"
        )
        low = {p.seed: p.instance for p in experiment.points if p.x == "low"}
        work = [
            job.rounds * job.tasks_per_round * job.training_time["V100"] / len(instance.gpus)
            for instance in low.values()
            for job in instance.jobs
        ]  # fmt: skip
        load.append(sum(work) / len(low))
    assert load[1] == pytest.approx(load[0], rel=0.25)


def test_a_setting_is_an_own_file_and_differs() -> None:
    scans = [each for each in FULL if each.figure == "18"]
    assert [each.setting for each in scans] == [{}, {"sync_cap": "false"}, {"exchanges": "1"}]
    slow = [
        max(job.synchronization_time["V100"] for job in each.points[0].instance.jobs)
        for each in scans
    ]
    assert slow[1] > slow[0] > slow[2]


def test_what_cannot_be_tested_or_is_an_input_is_said_once() -> None:
    for of, number in (("untestable", 6), ("given", 15)):
        usual = [each for each in QUICK if not each.setting]
        texts = [claim.text for each in usual for claim in each.claims if getattr(claim, of)]
        assert len(texts) == len(set(texts)) == number


def placed(*tasks: tuple[str, int, int, str, float]) -> dict[str, Any]:
    keys = ("job", "round", "task", "gpu", "start")
    return {"assignments": [dict(zip(keys, task, strict=True)) for task in tasks]}


OBLIVIOUS = placed(  # Fig. 1(a): J3 on GPU2 and GPU3, J2 on GPU1, then J1 on two GPUs
    ("J1", 1, 1, "GPU1", 3), ("J1", 1, 2, "GPU3", 3),
    ("J2", 1, 1, "GPU1", 0), ("J2", 2, 1, "GPU1", 1.5),
    ("J3", 1, 1, "GPU2", 0), ("J3", 1, 2, "GPU3", 0),
    ("J3", 2, 1, "GPU2", 1.5), ("J3", 2, 2, "GPU3", 1.5),
)  # fmt: skip
PARALLEL = placed(
    ("J1", 1, 1, "GPU3", 1.5), ("J1", 1, 2, "GPU2", 0),
    ("J2", 1, 1, "GPU1", 0), ("J2", 2, 1, "GPU1", 1.5),
    ("J3", 1, 1, "GPU3", 0), ("J3", 1, 2, "GPU3", 0.5),
    ("J3", 2, 1, "GPU3", 1), ("J3", 2, 2, "GPU3", 2.5),
)  # fmt: skip


def test_the_toy_has_schedules_with_the_totals_and_makespans_of_the_paper() -> None:
    toy = generate("hare", preset="toy")
    for schedule, total, makespan in ((OBLIVIOUS, 10.5, 4.5), (PARALLEL, 8.5, 3)):
        assert sg.judge(toy, schedule).objective == total
        assert HareSchedule.from_data(toy, schedule).completion(toy).max() == makespan


def test_the_use_of_gpus_is_that_of_a_schedule_worked_out_by_hand() -> None:
    """GPU1 trains 4.5 until 4.5, GPU2 3 until 3, GPU3 2 until 4."""
    used, idle, idle_time = gpu_use(generate("hare", preset="toy"), OBLIVIOUS)
    assert used == pytest.approx(100 * 9.5 / (3 * 4.5))
    assert idle == pytest.approx(100 * 2 / 11.5) and idle_time == pytest.approx(2 / 3)
