"""What A_online and A_maxsche tell of a run: schedule, prices and queues follow from it alone."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings

from schedgap.errors import UsageError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge import FAMILY
from schedgap.models.edge.algorithms import a_maxsche as batches
from schedgap.models.edge.algorithms import a_online as rounds
from schedgap.models.edge.algorithms.a_maxsche import VARIANTS, a_maxsche
from schedgap.models.edge.algorithms.a_online import a_online
from schedgap.models.edge.algorithms.prices import price_scale
from strategies.edge import edge_instances
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C

Events = Iterable[Mapping[str, Any]]


def rebuilt(events: Events) -> EdgeSchedule:
    """The schedule, from the events alone."""
    return EdgeSchedule(
        {
            each["job"]: Placement(
                each["start"], each["completion"], each["workers"], each["ps_server"]
            )
            for each in events
            if each["event"] == "accept"
        }
    )


def documented() -> dict[str, tuple[str, set[str]]]:
    """Line and keys of every event, as the docstrings list them."""
    text = " ".join(f"{rounds.__doc__}\n{batches.__doc__}".split())
    return {
        event: (line, set(re.findall(r"`(\w+)`", keys)))
        for event, line, keys in re.findall(r"- `(\w+)` \((A\d L\d+)\): ((?:`\w+`,? ?)+):", text)
    }


def check_form(events: Events) -> None:
    """Plain data, with the documented keys, on lines that the paper's algorithms have."""
    assert json.loads(json.dumps(list(events), allow_nan=False)) == list(events)
    known = documented()
    for each in events:
        line, keys = known[each["event"]]
        assert each["line"] == line and set(each) == keys | {"line", "event"}
        label, number = re.fullmatch(r"A(\d) L(\d+)", line).groups()  # type: ignore[union-attr]
        assert 1 <= int(number) <= FAMILY.paper.algorithms[label].lines


def check_prices(instance: EdgeInstance, events: Events) -> None:
    """Follow what is in use by the placements: every price told follows (7), (8) before/after.

    And no price changes that is not told.
    """
    full = {"worker": price_scale(instance).worker, "ps": price_scale(instance).ps}
    capacity = {
        ("worker", server.id, kind): count
        for server in instance.servers
        for kind, count in server.workers.items()
    } | {
        ("ps", server.id, kind): count
        for server in instance.servers
        for kind, count in server.parameter_servers.items()
    }
    job_of = {job.id: job for job in instance.jobs}
    used: dict[tuple[str, str, str, int], int] = {}
    due: dict[tuple[str, str, str, int], tuple[float, float]] = {}

    def price(key: tuple[str, str, str, int]) -> float:
        return float((1 + full[key[0]]) ** (used.get(key, 0) / capacity[key[:3]]) - 1)

    for each in events:
        if each["event"] != "raise":
            assert not due
        if each["event"] == "open":
            used.clear()
            assert (each["worker"], each["ps"]) == (0, 0)
            assert (each["worker_full"], each["ps_full"]) in ((full["worker"], full["ps"]), (0, 0))
            if not each["worker_full"]:
                return
        elif each["event"] == "accept":
            job = job_of[each["job"]]
            taken = {("worker", s, job.worker_type): n for s, n in each["workers"].items()}
            for place, count in (taken | {("ps", each["ps_server"], job.ps_type): 1}).items():
                for slot in range(each["start"], each["completion"] + 1):
                    before = price((*place, slot))
                    used[*place, slot] = used.get((*place, slot), 0) + count
                    due[*place, slot] = before, price((*place, slot))
        elif each["event"] == "raise":
            for slot in range(each["first"], each["last"] + 1):
                expected = due.pop((each["resource"], each["server"], each["type"], slot))
                assert (each["from"], each["to"]) == pytest.approx(expected)
                assert each["from"] < each["to"]
    assert not due


def check_queues(instance: EdgeInstance, events: Events, left: list[str]) -> None:
    """Every job of a batch is accepted or left; those that are left are in the next batch."""
    waiting: list[str] = []
    batch: list[str] = []
    for each in events:
        if each["event"] == "round":
            assert each["time"] == 2 ** (each["number"] - 1)
            new = [job for job in each["batch"] if job not in waiting]
            assert each["batch"] == waiting + new
            batch, waiting = list(each["batch"]), []
        elif each["event"] in ("accept", "leave"):
            assert each["job"] == batch.pop(0)
            assert (each["event"] == "leave") == (each["cost"] is None or each["cost"] >= 1 - 1e-9)
            if each["event"] == "leave":
                waiting.append(each["job"])
        elif each["event"] == "wait":
            assert not batch and each["jobs"] == waiting
    last = list(events)[-1]
    assert last["event"] == "unplaced" and last["jobs"] == left
    assert last["jobs"][: len(waiting)] == waiting


def check(instance: EdgeInstance, name: str) -> None:
    """All that holds of a run of A_online."""
    told, silent = a_online(instance, events=True, variant=name), a_online(instance, variant=name)
    assert silent.events == () and silent.schedule == told.schedule and silent.trace == told.trace
    assert rebuilt(told.events) == told.schedule
    check_form(told.events)
    check_prices(instance, told.events)
    check_queues(instance, told.events, told.trace["left"])


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("instance", [TOY_A, TOY_B, TOY_C], ids=["a", "b", "c"])
def test_a_toy_is_rebuilt_from_its_events(instance: EdgeInstance, name: str) -> None:
    check(instance, name)


@pytest.mark.parametrize("name", VARIANTS)
@given(instance=edge_instances(max_jobs=5, horizon=(6, 40), placeable=True))
@settings(max_examples=12, deadline=None)
def test_a_run_is_rebuilt_from_its_events(name: str, instance: EdgeInstance) -> None:
    check(instance, name)


@pytest.mark.parametrize("name", VARIANTS)
@given(instance=edge_instances(max_jobs=5, horizon=(6, 24), batch=True))
@settings(max_examples=11, deadline=None)
def test_a_batch_is_rebuilt_from_its_events(name: str, instance: EdgeInstance) -> None:
    told, silent = a_maxsche(instance, events=True, variant=name), a_maxsche(instance, variant=name)
    assert silent.events == () and silent.schedule == told.schedule and silent.trace == told.trace
    assert rebuilt(told.events) == told.schedule
    check_form(told.events)
    check_prices(instance, told.events)
    looked_at = [each["job"] for each in told.events if each["event"] in ("accept", "leave")]
    assert len(looked_at) == told.trace["jobs"]


def test_what_is_told_of_toy_b() -> None:
    """As worked out in `test_toy_b` of test_edge_algorithm; theta_1 = 2 x 16 x 2 + 1 = 65.

    Round 4: j1 fits on edge-1 at no cost; j2 and j3 arrive as well and find its PS taken, and the
    cloud not ready: no schedule at all. A worker of two costs 65^(1/2) - 1 afterwards, the PS 64.
    """
    found = a_online(TOY_B, events=True)
    short = [(each["line"], each["event"], each.get("job")) for each in found.events]
    fourth = next(
        k for k, each in enumerate(found.events) if each["event"] == "round" and each["time"] == 4
    )
    assert short[fourth : fourth + 8] == [
        ("A1 L5", "round", None),
        ("A2 L1", "open", None),
        ("A2 L17", "accept", "j1"),
        ("A2 L18", "raise", "j1"),
        ("A2 L18", "raise", "j1"),
        ("A2 L15", "leave", "j2"),
        ("A2 L15", "leave", "j3"),
        ("A1 L12", "wait", None),
    ]
    opened, worker, ps, left = (found.events[fourth + k] for k in (1, 3, 4, 5))
    assert (opened["first"], opened["last"], opened["worker_full"]) == (5, 8, 64)
    assert worker["to"] == pytest.approx(65**0.5 - 1) and ps["to"] == pytest.approx(64)
    assert (worker["resource"], worker["type"], worker["server"]) == ("worker", "gpu", "edge-1")
    assert (ps["first"], ps["last"], ps["from"]) == (5, 8, 0)
    assert left["cost"] is None
    assert found.events[-1]["jobs"] == []


def test_the_docstrings_list_every_event() -> None:
    assert set(documented()) == {"round", "wait", "unplaced", "open", "accept", "leave", "raise"}


def test_what_the_algorithms_are_not_for() -> None:
    with pytest.raises(UsageError, match="a_online needs an instance without batch_round"):
        a_online(TOY_BATCH)
    with pytest.raises(UsageError, match="a_maxsche needs an instance with batch_round"):
        a_maxsche(TOY_A)
    with pytest.raises(UsageError, match="no variant 'fifo' of A_online; there are a-online, "):
        a_online(TOY_A, variant="fifo")
