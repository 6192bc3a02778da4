"""Comparisons on a Dask cluster of two local worker processes, one of which is killed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import schedgap as sg
from schedgap.analysis.comparing import clusters
from schedgap.analysis.comparing.clusters import DaskPool, perform_there
from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.performing import new_task
from schedgap.analysis.records.folder import Folder, TaskRecord
from schedgap.analysis.runners.request import Limits
from schedgap.analysis.solving.choices import Choice
from schedgap.errors import UsageError

INSTANCES = [sg.generate("hare", preset="small", seed=seed) for seed in (1, 2, 3)]
METHODS = ["srtf", "job-alone", "lp"]  # the last needs HiGHS


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """The one cluster of all tests; killed workers start again."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


def test_a_killed_worker_loses_no_task(tmp_path: Path, cluster: Any) -> None:
    """One of two workers is killed when the first record arrives: all records arrive all the same,
    and are as on this computer."""
    from distributed import Client

    killed: list[int] = []
    seen: list[TaskRecord] = []

    def kill_one(record: TaskRecord | None, done: int, count: int) -> None:
        if record is not None:
            seen.append(record)
        if record is not None and not killed:
            with Client(cluster.scheduler_address, set_as_default=False) as client:
                killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    there = compare(
        INSTANCES,
        run=tmp_path / "there",
        methods=METHODS,
        cluster=cluster.scheduler_address,
        on_record=kill_one,
    )
    here = compare(INSTANCES, run=tmp_path / "here", methods=METHODS, workers=1)
    assert len(killed) == 1 and len(seen) == 9
    columns = ["instance", "method", "outcome", "objective", "bound", "code"]
    assert there.table()[columns].equals(here.table()[columns])
    assert set(there.table()["outcome"]) == {"done"} and there.verify() == []
    sessions = [there.sessions[each] for each in there.table()["session"]]
    assert len({each.host for each in sessions}) == 1
    assert all(each.references for each in sessions)
    assert list((tmp_path / "there/tasks").glob(".*")) == []  # no claim
    again: list[int] = []
    compare(
        INSTANCES,
        run=tmp_path / "there",
        methods=METHODS,
        cluster=cluster.scheduler_address,
        on_record=lambda record, done, count: again.append(done),
    )
    assert again == [9]  # nothing is run


def test_tasks_in_flight_follow_the_threads_of_the_cluster(tmp_path: Path, cluster: Any) -> None:
    from distributed import Client

    with Client(cluster.scheduler_address, set_as_default=False) as client:
        client.wait_for_workers(2)
        pool = DaskPool(client, Folder(tmp_path), {}, None)
        assert pool.slots() == 2 + 1
        cluster.scale(3)
        client.wait_for_workers(3)
        pool.asked = 0.0
        assert pool.slots() == 3 + 1
        assert DaskPool(client, Folder(tmp_path), {}, 7).slots() == 7


def test_a_worker_with_other_source_is_refused() -> None:
    task = new_task(INSTANCES[0], Choice("srtf"), Limits(1, None), None)
    other = type(task)(
        **{
            name: getattr(task, name) for name in ("sha256", "choice", "limits", "seed", "versions")
        },
        key="0" * 32,
        code="0123456789ab",
    )
    with pytest.raises(UsageError, match=r"has other source code or versions .*0123456789ab"):
        perform_there(INSTANCES[0], other, "ab12")


def test_a_cluster_that_does_not_answer_gets_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "CONNECT", "1s")
    with pytest.raises(UsageError, match=r"cluster tcp://127\.0\.0\.1:9: cannot be reached"):
        compare(INSTANCES[0], run=tmp_path / "r", methods=["srtf"], cluster="tcp://127.0.0.1:9")
    assert not (tmp_path / "r").exists()
