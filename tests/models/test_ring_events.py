"""Events of SJF-BCO: its schedule can be rebuilt from them alone."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.ring import FAMILY
from schedgap.models.ring.algorithms import events as module
from schedgap.models.ring.algorithms.sjf_bco import sjf_bco
from strategies.ring import ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job

Events = Sequence[Mapping[str, Any]]
TOYS = ["toy", "toy-pcmax", "toy-mixed"]
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "bisection": st.sampled_from(["feasibility", "scan"]),
        "kappa": st.integers(1, 6),
        "ffp_rule": st.just("pack"),
        "lbsgf_rule": st.just("list"),
    },
)


def steps_of(events: Events) -> dict[tuple[int, int], list[Mapping[str, Any]]]:
    """Return the events of every run by limit and threshold; a repeated run has the same."""
    runs: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for event in events:
        if event["event"] == "run":
            steps = runs[event["theta"], event["kappa"]] = []
        elif event["event"] == "repeat":
            runs[event["theta"], event["kappa"]] = runs[event["like"], event["kappa"]]
        elif event["event"] in ("place", "wait", "fail", "finish"):
            steps.append(event)
    return runs


def rebuild(events: Events) -> RingSchedule | None:
    """Return the schedule that the events describe, and use nothing else."""
    answer = events[-1]
    assert answer["event"] == "answer"
    if answer["makespan"] is None:
        return None
    steps = steps_of(events)[answer["theta"], answer["kappa"]]
    finish = steps[-1]
    runs = {}
    for step in steps:
        if step["event"] == "place":
            gpus = {server: tuple(numbers) for server, numbers in step["gpus"].items()}
            counts = {server: len(numbers) for server, numbers in gpus.items()}
            name = step["job"]
            runs[name] = Run(finish["starts"][name], finish["ends"][name], counts, gpus)
    facts = {"order": events[0]["jobs"], "theta": answer["theta"], "kappa": answer["kappa"]}
    return RingSchedule(runs, facts)


def check(instance: RingInstance, **options: Any) -> Events:
    """Check a run against its events and against the same run without events; return the events."""
    found, quiet = sjf_bco(instance, events=True, **options), sjf_bco(instance, **options)
    assert quiet.events == () and quiet.trace == found.trace
    # as anybody else would read them
    events: Events = json.loads(json.dumps(found.events))
    assert list(found.events) == events
    rebuilt = rebuild(events)
    if found.schedule is None:
        assert quiet.schedule is None and rebuilt is None
    else:
        data = found.schedule.to_data(instance)
        assert rebuilt is not None and rebuilt.to_data(instance) == data
        assert quiet.schedule.to_data(instance) == data
        assert events[-1]["makespan"] == found.schedule.makespan
    check_lines(events)
    for (theta, kappa), steps in steps_of(events).items():
        check_run(instance, steps, theta, kappa, options.get("clock", "actual"))
    return events


def check_lines(events: Events) -> None:
    """Every event is in the module's table, with a line of the paper and the keys listed there."""
    table = {row[0]: row[1:] for row in re.findall(r"\| `(\w+)` \| (.+?) \| (.+)", module.__doc__)}
    for event in events:
        label, line = re.fullmatch(r"A(\d) L(\d+)", event["line"]).groups()  # type: ignore[union-attr]
        assert 1 <= int(line) <= FAMILY.paper.algorithms[label].lines
        lines, keys = table[event["event"]]
        assert event["line"] in lines.split(", ")
        assert set(event) - {"line", "event"} <= set(re.findall(r"`(\w+)`", keys)) | {"reason"}


def check_run(instance: RingInstance, steps: Events, theta: int, kappa: int, clock: str) -> None:
    """Replay a run: GPUs are idle when taken, and loads add up and keep to the limit."""
    sizes = {each.id: each.gpus for each in instance.jobs}
    busy: dict[tuple[str, int], str] = {}
    loads: dict[tuple[str, int], float] = {}
    now, placed = 1, {}
    for step in steps[:-1]:
        assert step["time"] == now
        assert step["line"].startswith("A2" if sizes[step["job"]] <= kappa else "A3")
        if step["event"] == "place":
            own = [(server, n) for server, numbers in step["gpus"].items() for n in numbers]
            assert len(own) == sizes[step["job"]] and not busy.keys() & set(own)
            for gpu in own:
                busy[gpu] = step["job"]
                loads[gpu] = loads.get(gpu, 0.0) + step["load"]
            assert step["most"] == pytest.approx(max(loads[gpu] for gpu in own))
            assert step["most"] <= theta + 1e-6
            placed[step["job"]] = now
        elif step["exited"]:
            assert step["until"] > now
            now = step["until"]
            busy = {gpu: name for gpu, name in busy.items() if name not in step["exited"]}
    end = steps[-1]
    if end["event"] == "fail":
        assert end["job"] is None or (steps[-2]["job"], steps[-2]["until"]) == (end["job"], None)
        return
    assert end["event"] == "finish" and end["load"] == pytest.approx(max(loads.values()))
    assert end["makespan"] == max(end["ends"].values()) <= instance.horizon
    if clock == "actual":
        assert end["starts"] == placed
        exits = {
            name: step["until"] - 1
            for step in steps
            if step["event"] == "wait"
            for name in step["exited"]
        }
        assert exits.items() <= end["ends"].items()


@pytest.mark.parametrize("preset", [*TOYS, "small"])
@pytest.mark.parametrize("options", [{}, {"bisection": "scan"}])
def test_the_events_of_a_preset_are_its_schedule(preset: str, options: dict[str, Any]) -> None:
    instance = generate("ring", preset=preset, seed=1)
    assert isinstance(instance, RingInstance)
    assert check(instance, **options)[0]["event"] == "order"


@given(ring_instances(max_jobs=6, placeable=True), OPTIONS)
@settings(max_examples=55, deadline=None)
def test_the_events_of_any_instance_are_its_schedule(
    instance: RingInstance, options: dict[str, Any]
) -> None:
    check(instance, **options)


@pytest.mark.nightly
@given(ring_instances(max_jobs=9, max_servers=5), OPTIONS)
@settings(max_examples=4000, deadline=None)
def test_the_events_of_thousands_are_their_schedules(
    instance: RingInstance, options: dict[str, Any]
) -> None:
    check(instance, **options)


def test_the_events_of_w1_by_hand() -> None:
    """Limit 15: both rings by LBSGF at kappa = 1, by FA-FFP at 4; 3.36 slots each by estimate."""
    events = check(W1)
    assert events[:5] == [
        {"line": "A1 L3", "event": "order", "jobs": ["a", "b"]},
        {"line": "A1 L6", "event": "limit", "theta": 15, "left": 1, "right": 30},
        {"line": "A1 L7", "event": "run", "theta": 15, "kappa": 1},
        {
            "line": "A3 L7", "event": "place", "time": 1, "job": "a",
            "gpus": {"s1": [0, 1, 2], "s2": [0]},
            "load": pytest.approx(3.36), "most": pytest.approx(3.36),
        },
        {
            "line": "A3 L7", "event": "place", "time": 1, "job": "b",
            "gpus": {"s2": [1], "s3": [0, 1, 2]},
            "load": pytest.approx(3.36), "most": pytest.approx(3.36),
        },
    ]  # fmt: skip
    assert events[5] == {
        "line": "A1 L17", "event": "finish", "theta": 15, "kappa": 1,
        "starts": {"a": 1, "b": 1}, "ends": {"a": 8, "b": 8},
        "makespan": 8, "load": pytest.approx(3.36),
    }  # fmt: skip
    later = [event for event in events[6:] if event["event"] not in ("place", "finish", "run")]
    assert later[:3] == [
        {
            "line": "A1 L20", "event": "improve", "theta": 15, "kappa": 1,
            "makespan": 8, "before": None,
        },
        {"line": "A1 L21", "event": "lower", "right": 14},
        {"line": "A1 L6", "event": "limit", "theta": 7, "left": 1, "right": 14},
    ]  # fmt: skip
    assert events[-1] == {
        "line": "A1 L24", "event": "answer", "theta": 15, "kappa": 1, "makespan": 8
    }  # fmt: skip


def test_w2_waits_and_repeats() -> None:
    """3 | 3, then 2 | 2 from slot 4, then 2 from slot 6; the limit 22 changes nothing of it."""
    events = check(W2)
    waits = [(e["time"], e["job"], e["until"], e["exited"]) for e in events if e["event"] == "wait"]
    assert waits[:2] == [(1, "c", 4, ["a", "b"]), (4, "e", 6, ["c", "d"])]
    repeats = [(e["theta"], e["like"]) for e in events if e["event"] == "repeat"]
    assert (22, 30) in repeats
    assert sum(e["event"] == "run" for e in events) < sum(e["event"] == "limit" for e in events)


def test_a_job_without_a_place_is_named() -> None:
    """W2 with T = 10: limit 5 has room for 3 | 3, then 2 | 2, not for the last 2."""
    events = check(RingInstance.from_data(W2.to_data() | {"horizon": 10}))
    fail = next(event for event in events if event["event"] == "fail")
    assert fail == {"line": "A1 L14", "event": "fail", "theta": 5, "kappa": 1, "job": "e"}


def test_an_end_after_the_horizon_is_nobodys_fault() -> None:
    """W1 with T = 7: both rings find a place at once, and end in 8."""
    events = check(RingInstance.from_data(W1.to_data() | {"horizon": 7}))
    fails = [(event["theta"], event["job"]) for event in events if event["event"] == "fail"]
    assert fails[0] == (4, None)
    assert events[-1]["reason"] == "no run found a schedule within the horizon"


def test_what_cannot_be_scheduled_is_answered_at_once() -> None:
    (answer,) = check(instance_of([job("a", 4, 10)], [3]))
    assert answer["makespan"] is None and answer["reason"] == "job a asks for 4 GPUs, there are 3"


def test_events_say_when_time_was_up() -> None:
    """W3, limit 20: kappa = 1 gives 8, kappa = 2 gives 10, and then time is up."""
    asked = iter([False, False, True])
    found = sjf_bco(W3, events=True, stop=lambda: next(asked))
    assert [event["event"] for event in found.events[-3:]] == ["improve", "stop", "answer"]
    assert found.events[-2] == {"line": "A1 L7", "event": "stop", "theta": 20, "kappa": 4}
    assert rebuild(found.events).to_data(W3) == found.schedule.to_data(W3)  # type: ignore[union-attr]


def test_a_better_schedule_is_heard_as_it_comes() -> None:
    """Each reported schedule is an improvement in the events, or the first one at its limit."""
    heard: list[int] = []
    instance = instance_of([job(f"j{n}", 1 + n % 4, 14 * (1 + n % 3)) for n in range(9)], [3, 4, 2])
    found = sjf_bco(instance, events=True, hear=lambda made: heard.append(made.makespan))
    improved = [event["makespan"] for event in found.events if event["event"] == "improve"]
    assert set(improved) <= set(heard) and heard == sorted(set(heard), reverse=True)
    assert improved[-1] == heard[-1] == found.schedule.makespan
