"""`teach.check` says why an answer is wrong; `teach.replay` draws the events of an algorithm."""

import math
from collections import Counter
from typing import Any

import pytest

import schedgap as sg
from schedgap import teach
from schedgap.errors import UsageError
from schedgap.models.family import family as named
from schedgap.steps import dmlrs, edge, elastic, hare, ring


def schedule(family: str, method: str = "exact") -> Any:
    return sg.solve(sg.generate(family, preset="toy"), method, time_limit=60).schedule


def in_order(instance: sg.HareInstance) -> dict[str, object]:
    """Take the jobs by arrival and give each task to the GPU that ends it first."""
    free = {gpu.id: 0.0 for gpu in instance.gpus}
    kinds = {gpu.id: gpu.kind for gpu in instance.gpus}
    rows = []
    for job in sorted(instance.jobs, key=lambda job: job.arrival):
        ready = job.arrival
        sync = job.synchronization_time or {}
        for k in range(1, job.rounds + 1):
            ends = []
            for task in range(1, job.tasks_per_round + 1):
                took = {gpu: job.training_time[kinds[gpu]] for gpu in free}
                gpu = min(free, key=lambda gpu: max(free[gpu], ready) + took[gpu])
                start = max(free[gpu], ready)
                rows.append({"job": job.id, "round": k, "task": task, "gpu": gpu, "start": start})
                free[gpu] = start + took[gpu]
                ends.append(free[gpu] + sync.get(kinds[gpu], 0))
            ready = max(ends)
    return {"assignments": rows}


def unlike_rings() -> sg.Instance:
    """Two jobs of one slot and one of two, on two GPUs: Graham's example."""
    data = sg.generate("ring", preset="toy-pcmax").to_data()
    plain = data["jobs"][0]
    jobs = [
        plain | {"id": f"j{n}", "iterations": n, "estimated_slots": float(n)} for n in (1, 1, 2)
    ]
    jobs = [job | {"id": f"j{k}"} for k, job in enumerate(jobs)]
    return sg.load(data | {"servers": [{"id": "s1", "gpus": 2}], "jobs": jobs})


PROOF = {
    "vectors": [{"o": 1, "d": []}, {"o": 0, "d": [[0, -1]]}],
    "tree": [
        {"b": ["var", 2, 0]},
        {"b": ["var", 1, 0]},
        {"v": 0},
        {"b": ["var", 0, 0]},
        {"v": 0},
        {"v": 1},
        {"b": ["var", 0, 0]},
        {"b": ["var", 1, 0]},
        {"v": 0},
        {"v": 1},
        {"v": 1},
    ],
}
ANSWERS: dict[str, tuple[Any, Any, str]] = {  # right, wrong, a part of the reason
    "tour-1": (5 / 3, 0.6, "at least 1"),
    "tour-2": ("edge", "hare", "larger ratio"),
    "tour-3": ((1.2, 1.5), (1, 1.5), "at most 5"),
    "ring-1": (8, 5, "3 iterations in a slot"),
    "ring-2": (1.8, 1, "Theorem 5 claims"),
    "ring-3": (lambda: schedule("ring"), lambda: schedule("ring", "sjf-bco"), "objective is 8"),
    "hare-1": (lambda: schedule("hare", "big-m"), {"assignments": []}, "not feasible. V2"),
    "hare-2": (1.6, 0.625, "Invert"),
    "hare-3": (lambda: hare_ratio(20), 3, "guarantee"),
    "edge-1": (97, 96, "one more"),
    "edge-2": (math.sqrt(97) - 1, math.sqrt(97), "Subtract 1"),
    "edge-3": (lambda: schedule("edge"), lambda: schedule("edge", "a-online"), "objective is 21"),
    "elastic-1": (12.5, 13.5, "start + duration"),
    "elastic-2": (9, 49.5, "exponentially"),
    "elastic-3": (lambda: schedule("elastic"), {"jobs": 1}, "no schedule"),
    "dmlrs-1": (0.2828, 4.005, "exponentially"),
    "dmlrs-2": ("j3", "j1", "same utility"),
    "dmlrs-3": (lambda: schedule("dmlrs"), lambda: schedule("dmlrs", "pd-ors"), "objective is 12"),
    "formulations-1": (8, 3, "number of jobs"),
    "formulations-2": ("complete-pool", "rar-ddls", "root_gap"),
    "formulations-3": (0.375, 0.6, "by the optimum"),
    "optimal-1": (100, 99.2, "integers"),
    "optimal-2": (0.04, 4, "per cent"),
    "optimal-3": ("reported", "proved", "a file"),
    "proofs-1": (39, 40, "exists"),
    "proofs-2": (PROOF, PROOF | {"tree": PROOF["tree"][:-1]}, "The checker"),
    "proofs-3": (8, 7, "one leaf"),
    "worst-1": (unlike_rings, lambda: sg.generate("ring", preset="toy"), "8 slots"),
    "worst-2": (5 / 3, 3, "too large"),
    "worst-3": ("open", "proved", "no proof"),
    "benchmarking-1": (18.93, 10, "without a shift"),
    "benchmarking-2": (1.1, 1.4, "common"),
    "benchmarking-3": (0.0625, 0.03125, "one-sided"),
    "benchmarking-4": (lambda: _most("ring-c4"), 1, "may be optimal"),
    "benchmarking-5": (
        lambda: sg.solve("ring-c2", "random-orders"),
        lambda: sg.solve("ring-c2", "lpt-pack"),
        "objective is 44. Reach",
    ),
    "your-own-1": (lambda: in_order, lambda: lambda instance: {"assignments": []}, "breaks V2"),
    "your-own-2": ("V5", "V9", "violations"),
    "your-own-3": (8, 9, "no bound"),
}


def _most(name: str) -> float:
    """Return the largest possible ratio of a record to the optimum."""
    book = sg.records(name)
    best, bound = book.best(name), book.best_bound(name)
    assert best is not None and bound is not None
    return float(best.objective or 0) / float(bound.bound or 1)


def hare_ratio(lights: int) -> float:
    instance = sg.generate("hare", preset="ce2", settings={"lights": lights})
    solutions = [sg.solve(instance, method, time_limit=60) for method in ("hare", "exact")]
    assert solutions[1].status == "optimal"
    found = sg.ratio(*solutions)
    assert found.exact
    return found.low


def made(answer: Any) -> Any:
    return answer() if callable(answer) else answer


def test_every_exercise_has_an_answer_here() -> None:
    assert [row["exercise"] for row in teach.exercises()] == list(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_right_answers_are_accepted_and_wrong_ones_explained(name: str) -> None:
    right, wrong, why = ANSWERS[name]
    good = teach.check(name, made(right))
    assert good and good.right and not good.reason, good.reason
    bad = teach.check(name, made(wrong))
    assert not bad and why in bad.reason, bad.reason
    assert bad.reason in repr(bad)


@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_ends_the_check_with_an_error(name: str) -> None:
    for nothing in (None, "x", math.nan, [], {}):
        assert not teach.check(name, nothing)


def test_every_notebook_has_at_least_three_exercises() -> None:
    books = Counter(row["exercise"].rpartition("-")[0] for row in teach.exercises())
    assert len(books) == 12 and min(books.values()) >= 3
    assert [row["exercise"] for row in teach.exercises("ring")] == ["ring-1", "ring-2", "ring-3"]


def test_an_unknown_exercise_is_named() -> None:
    with pytest.raises(UsageError, match="no exercise 'ring-9'"):
        teach.check("ring-9", 1)
    with pytest.raises(UsageError, match="no exercises 'rings': choose from"):
        teach.exercises("rings")


RUNS = {
    "hare": lambda toy: hare.algorithm_1(toy, range(8), events=True),
    "elastic": lambda toy: elastic.a_online(toy, events=True),
    "edge": lambda toy: edge.a_online(toy, events=True),
    "ring": lambda toy: ring.sjf_bco(toy, events=True),
    "dmlrs": lambda toy: dmlrs.pd_ors(toy, events=True),
}


@pytest.mark.parametrize("family", RUNS)
def test_a_replay_ends_with_the_schedule_of_the_run(family: str) -> None:
    """The last picture covers the same times of the same lanes as the schedule's Gantt chart."""
    toy = sg.generate(family, preset="toy")
    run = RUNS[family](toy)
    replay = teach.replay(toy, run.events)
    assert len(replay) == len(replay.table()) == len(run.events)
    bars = named(family).chart(toy, run.schedule.to_data(toy)).bars
    assert covered(replay._drawn[-1]) == covered(bars)
    assert len(replay.figure(1).data) <= len(replay.figure().data)


def covered(bars: Any) -> set[tuple[str, str, float]]:
    """Return lane, job and time of every half unit."""
    return {
        (bar.lane, bar.group, time / 2)
        for bar in bars
        for time in range(int(2 * bar.start), int(2 * bar.end))
    }


def test_a_replay_of_many_runs_starts_each_anew_and_ends_with_the_answer() -> None:
    toy = sg.generate("ring", preset="toy")
    run = ring.sjf_bco(toy, events=True)
    drawn = teach.replay(toy, run.events)._drawn
    for event, bars in zip(run.events, drawn, strict=True):
        assert len(bars) <= 4 and (bars or event["event"] in ("order", "limit", "run"))
        assert not bars or event["event"] != "run"
    assert [event["event"] for event in run.events].count("run") == 2
    rows = run.schedule.to_data(toy)["jobs"]
    placed = {(row["job"], server): n for row in rows for server, n in row["placement"].items()}
    assert placed == {(bar.group, bar.lane): int(bar.text.split()[-1]) for bar in drawn[-1]}


def test_bars_of_a_lane_do_not_overlap() -> None:
    toy = sg.generate("ring", preset="toy")
    for bars in teach.replay(toy, ring.sjf_bco(toy, events=True).events)._drawn:
        for k, one in enumerate(bars):
            for other in bars[:k]:
                if one.lane == other.lane and one.start < other.end and other.start < one.end:
                    low, high = sorted((one, other), key=lambda bar: bar.offset)
                    assert low.offset + low.share <= high.offset + 1e-9


def test_a_replay_refuses_what_is_no_list_of_events() -> None:
    toy = sg.generate("ring", preset="toy")
    with pytest.raises(UsageError, match="events=True"):
        teach.replay(toy, [])
    with pytest.raises(UsageError, match="from 1 to 29"):
        teach.replay(toy, ring.sjf_bco(toy, events=True).events).figure(30)
