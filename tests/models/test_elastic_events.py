"""What `a_online` and `a_maxweight` tell of their steps: enough to do them again."""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Placement
from schedgap.models.elastic import FAMILY
from schedgap.models.elastic.algorithms import a_maxweight as batches
from schedgap.models.elastic.algorithms import a_online as rounds
from schedgap.models.elastic.algorithms.a_maxweight import (
    a_maxweight,
    batch_of,
    constants,
    serve_batch,
)
from schedgap.models.elastic.algorithms.a_online import a_online
from schedgap.models.elastic.methods import METHODS
from schedgap.models.method import AlgorithmRun
from strategies.elastic import elastic_instances, instance_of
from strategies.elastic_examples import BATCH, J1, RING, TOY

Events = Sequence[Mapping[str, Any]]
RUN = ("start", "duration", "worker_type", "ps_type", "workers", "ps")


def replay(events: Events, kind: str) -> ElasticSchedule:
    """Return the schedule that the events of this kind, written and read again, describe."""
    told = json.loads(json.dumps(events, allow_nan=False))
    return ElasticSchedule(
        {
            each["job"]: Placement.from_data({key: each[key] for key in RUN if key in each})
            for each in told
            if each["event"] == kind
        }
    )


def of(run: AlgorithmRun, kind: str) -> list[Mapping[str, Any]]:
    return [each for each in run.events if each["event"] == kind]


def moved_starts(events: Events) -> dict[str, tuple[int, int]]:
    """Return of each job the slot in its window, and that in the schedule."""
    inside = {each["job"]: each["start"] for each in events if each["event"] == "accept"}
    return {
        each["job"]: (inside[each["job"]], each["start"])
        for each in events
        if each["event"] == "start"
    }


def test_the_toy_by_hand() -> None:
    """Round 1 has nothing that can run, round 2 serves j2 in slot 9, round 3 j1 from slot 17 on."""
    run = a_online(TOY, events=True)
    lines = [(each["line"], each["event"]) for each in run.events]
    serve = [("A1 L2", "round"), ("A2 L2", "window"), ("A3 L1", "batch")]
    take = [("A3 L10", "accept"), ("A3 L14", "prices")]
    end = [("A3 L16", "batch_end"), ("A1 L9", "start"), ("A1 L10", "round_end")]
    stuck = [("A2 L2", "window"), ("A3 L1", "batch"), ("A3 L9", "leave"), ("A3 L16", "batch_end")]
    assert lines == [
        ("A1 L2", "round"), ("A1 L10", "round_end"),
        *serve, ("A3 L9", "leave"), *take, *end[:1], *stuck, *end[1:],
        *serve, *take, *end,
    ]  # fmt: skip
    assert [each["batch"] for each in of(run, "round")] == [["j1"], ["j1", "j2"], ["j1"]]
    assert [each["left"] for each in of(run, "round_end")] == [["j1"], ["j1"], []]
    assert of(run, "start")[0] == {
        "line": "A1 L9", "event": "start", "time": 2, "window": 1, "job": "j2", "start": 9,
        "duration": 1, "worker_type": "w1", "workers": {"s1": 2}, "ps_type": "p1", "ps": {"s1": 1},
    }  # fmt: skip
    assert of(run, "leave")[0] | {"job": "j1", "weight": 3, "cost": None} == of(run, "leave")[0]
    assert moved_starts(run.events) == {"j2": (1, 9), "j1": (1, 17)}


def test_the_batch_by_hand() -> None:
    """j1 takes both GPUs of s1 for nothing in slots 1-3; j2 fits in none of them."""
    run = a_maxweight(BATCH, events=True)
    accept, prices, leave, end = run.events[1:]
    assert run.events[0] == {
        "line": "A3 L1", "event": "batch", "deadline": 4, "jobs": ["j1", "j2"],
    }  # fmt: skip
    assert (accept["job"], accept["weight"], accept["cost"], accept["start"]) == ("j1", 3, 0, 1)
    const = constants(BATCH)
    top = (const.lam - 1) / 2 / const.kappa
    gpu, cpu, bandwidth = prices["rises"]
    assert gpu == {
        "server": "s1", "resource": "gpu", "first": 1, "last": 3, "before": 0,
        "after": pytest.approx(top),
    }  # fmt: skip
    assert [each["resource"] for each in (cpu, bandwidth)] == ["cpu", "bandwidth"]
    assert leave == {"line": "A3 L9", "event": "leave", "job": "j2", "weight": 5, "cost": None}
    assert (end["served"], end["left"], end["weight"]) == (["j1"], ["j2"], 3)


def test_a_job_that_is_too_dear_is_left_with_its_cost() -> None:
    job = {"train_time": {"w1": 1}, "update_time": {"p1": 0}}
    instance = instance_of(
        [job, job],
        objective="scheduled_weight",
        deadline=2,
        horizon=1,
        servers=[{"id": "s", "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 8}}],
    )
    run = a_maxweight(instance, F=1e6, events=True)
    (left,) = of(run, "leave")
    assert left["job"] == "j2" and left["cost"] > left["weight"] == 1


@pytest.mark.parametrize(
    ("instance", "options"),
    [
        (TOY, {}),
        (TOY, {"compact": True}),
        (TOY, {"alpha": "theory", "placement": "repaired", "tie": "volume"}),
        (RING, {"order": "density"}),
        (RING, {"alpha": 1, "normalise": False, "F": 2.0}),
    ],
)
def test_the_toys_can_be_replayed(instance: ElasticInstance, options: dict[str, Any]) -> None:
    run = a_online(instance, events=True, **options)
    assert run.schedule.placements.keys() == {job.id for job in instance.jobs}
    assert replay(run.events, "start") == run.schedule
    assert a_online(instance, **options) == AlgorithmRun(run.schedule, (), run.trace)


COMPLETION = {"objective": "weighted_completion", "placeable": True, "integer": False}


@given(elastic_instances(max_jobs=4, **COMPLETION))
@settings(max_examples=18, deadline=None)
def test_an_online_run_can_be_replayed(instance: ElasticInstance) -> None:
    for options in ({}, {"compact": True, "alpha": 2}, {"placement": "repaired", "alpha": 1}):
        run = a_online(instance, events=True, **options)
        assert replay(run.events, "start") == run.schedule
        assert a_online(instance, **options) == AlgorithmRun(run.schedule, (), run.trace)
        # A window's place is one number for all its jobs.
        places: dict[tuple[int, int], set[int]] = {}
        moved = moved_starts(run.events)
        for each in of(run, "start"):
            inside, real = moved[each["job"]]
            places.setdefault((each["time"], each["window"]), set()).add(real - inside)
        assert all(len(shifts) == 1 for shifts in places.values())
        waiting: list[str] = []
        for each in run.events:
            if each["event"] == "round":
                assert set(waiting) <= set(each["batch"])
                waiting = list(each["batch"])
            elif each["event"] == "start":
                waiting.remove(each["job"])
            elif each["event"] == "round_end":
                assert each["left"] == waiting
        assert waiting == []


@given(elastic_instances(max_jobs=4, objective="scheduled_weight", integer=False))
@settings(max_examples=18, deadline=None)
def test_a_batch_can_be_replayed_with_its_prices(instance: ElasticInstance) -> None:
    view, jobs = batch_of(instance)
    assert instance.deadline is not None
    servers = [server.id for server in instance.servers]
    for options in ({}, {"F": 1e4}, {"order": "density", "tie": "volume"}):
        run = a_maxweight(instance, events=True, **options)
        assert replay(run.events, "accept") == run.schedule
        assert a_maxweight(instance, **options) == AlgorithmRun(run.schedule, (), run.trace)

        const = constants(instance, F=options.get("F"))  # type: ignore[arg-type]
        rules = {key: options[key] for key in options if key != "F"}
        expected = serve_batch(view, jobs, instance.deadline, const, **rules).prices  # type: ignore[arg-type]
        prices = np.zeros_like(expected)
        for each in of(run, "prices"):
            for rise in each["rises"]:
                h = servers.index(rise["server"])
                r = instance.resources.index(rise["resource"])
                cell = prices[h, r, rise["first"] - 1 : rise["last"]]
                assert (cell == rise["before"]).all() and rise["after"] > rise["before"]
                cell[:] = rise["after"]
        assert (prices == expected).all()

        able = run.events[0]["jobs"]
        judged = [each["job"] for each in run.events if each["event"] in ("accept", "leave")]
        assert judged == able
        (end,) = of(run, "batch_end")
        assert end["served"] == [each["job"] for each in of(run, "accept")]
        assert end["left"] == [each["job"] for each in of(run, "leave")]
        for each in of(run, "accept"):
            assert each["cost"] <= each["weight"] * (1 + 1e-12)
        for each in of(run, "leave"):
            assert each["cost"] is None or each["cost"] >= each["weight"] * (1 - 1e-12)


@given(elastic_instances(max_jobs=4, placeable=True))
@settings(max_examples=25, deadline=None)
def test_lines_and_events_are_those_that_are_documented(instance: ElasticInstance) -> None:
    name = a_maxweight if instance.is_batch else a_online
    listed = re.findall(r"^- `(\w+)` \((A\d L\d+)\)", inspect.getdoc(batches) or "", re.MULTILINE)
    listed += re.findall(r"^- `(\w+)` \((A\d L\d+)\)", inspect.getdoc(rounds) or "", re.MULTILINE)
    assert len(listed) == len(dict(listed)) == 9
    for each in name(instance, events=True).events:
        assert (each["event"], each["line"]) in listed
        number, line = re.fullmatch(r"A(\d) L(\d+)", each["line"]).groups()  # type: ignore[union-attr]
        assert 1 <= int(line) <= FAMILY.paper.algorithms[number].lines


@pytest.mark.parametrize(
    ("method", "function"),
    [("a-online", a_online), ("a-online-compact", a_online), ("a-maxweight", a_maxweight)],
)
def test_the_keywords_are_the_method_s_options(method: str, function: Any) -> None:
    (found,) = (each for each in METHODS if each.name == method)
    keywords = inspect.signature(function).parameters
    for option in found.options:
        assert keywords[option.name].default == option.default
        assert keywords[option.name].kind is inspect.Parameter.KEYWORD_ONLY


def test_what_cannot_be_run() -> None:
    servers = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 3, "bandwidth": 6}}]
    assert a_online(instance_of([J1], servers=servers), events=True) == AlgorithmRun(None)
    with pytest.raises(UsageError, match="a_maxweight needs objective scheduled_weight"):
        a_maxweight(TOY)
