"""Run the tasks of a comparison on a Dask cluster."""

import logging
import os
import platform
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from schedgap.analysis.comparing.performing import Task, execute_task, new_task
from schedgap.analysis.records.folder import Folder
from schedgap.analysis.records.sessions import (
    REFERENCE,
    SPAN,
    Session,
    new_id,
    new_session,
    write_session,
)
from schedgap.errors import UsageError
from schedgap.instances.families import from_data
from schedgap.instances.instance import Instance
from schedgap.instances.records import validate
from schedgap.solvers.children.processes import run_child

CONNECT = "10s"  # time to reach the scheduler
ATTEMPTS = 4  # attempts at a task whose workers die; Dask makes several in each
AHEAD = 0.25  # tasks in flight beyond the cluster's threads, as a fraction, and at least 1
REFRESH = 2.0  # seconds between two questions for the cluster's threads


@contextmanager
def dask_pool(
    address: str, folder: Folder, instances: Mapping[str, Instance], workers: int | None
) -> Iterator["DaskPool"]:
    """Provide a pool of the workers of a Dask cluster.

    `address`: address of the scheduler, or the path of its scheduler file. `folder`: the run
    folder, into which the sessions of the workers are written. `workers`: number of tasks in
    flight; by default slightly more than the cluster has threads.

    Raises
    ------
    UsageError
        If Dask is not installed or the scheduler cannot be reached.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "a cluster needs the package 'distributed': pip install 'schedgap[cluster]'"
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are reported below
    file = {"scheduler_file": address} if os.path.isfile(address) else {"address": address}
    try:
        client = Client(**file, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"cluster {address}: cannot be reached ({error})") from None
    with client:
        pool = DaskPool(client, folder, instances, workers)
        try:
            yield pool
        finally:
            pool.stop()


class DaskPool:
    """The workers of a Dask cluster.

    An instance is sent to the scheduler once, which hands it to the workers that need it. If a
    worker dies, Dask runs its tasks on another; if it gives up, the task is submitted again.

    `client`: connected to the scheduler. `workers`: number of tasks in flight, if it does not
    follow from the cluster.
    """

    def __init__(
        self, client: Any, folder: Folder, instances: Mapping[str, Instance], workers: int | None
    ) -> None:
        self.client, self.folder, self.instances = client, folder, instances
        self.workers, self.base = workers, new_id()
        self.sent: dict[str, Any] = {}  # hash of an instance -> future of the instance
        self.sessions: set[str] = set()
        self.stopped = False
        self.lock = threading.Lock()
        self.asked, self.threads = 0.0, 0
        self.open: dict[Future[dict[str, Any]], Any] = {}

    def slots(self) -> int:
        """Return the number of tasks that should be in flight: as the cluster is at this moment."""
        if self.workers is not None:
            return self.workers
        if time.monotonic() > self.asked + REFRESH:
            self.threads = sum(self.client.nthreads().values())
            self.asked = time.monotonic()
        return self.threads + max(1, int(AHEAD * self.threads))

    def submit(self, task: Task) -> "Future[dict[str, Any]]":
        """Begin a task."""
        result: Future[dict[str, Any]] = Future()
        result.set_running_or_notify_cancel()
        self._send(task, result, 1)
        return result

    def _send(self, task: Task, result: "Future[dict[str, Any]]", attempt: int) -> None:
        """Send a task to the cluster; `result` receives its record, or why there is none."""
        sha = task.sha256
        if sha not in self.sent or self.sent[sha].status in ("cancelled", "error", "lost"):
            data = self.instances[sha].to_data()
            self.sent[sha] = self.client.submit(from_data, data, key=f"instance-{sha}-{attempt}")
        sent = replace(task, runner=None)
        there = self.client.submit(perform_there, self.sent[sha], sent, self.base, pure=False)
        self.open[result] = there

        def ended(future: Any) -> None:
            try:
                data, session = future.result()
                self._store_session(session)
            except UsageError as error:  # the worker has other source code
                result.set_exception(error)
            except Exception as error:  # noqa: BLE001 - a lost worker or connection, of any class
                if self.stopped:
                    return
                if attempt < ATTEMPTS and self.client.status == "running":
                    self._send(task, result, attempt + 1)
                else:
                    result.set_exception(
                        UsageError(f"cluster: a task failed {attempt} times: {error!r}"[:500])
                    )
            else:
                self.open.pop(result, None)
                result.set_result(data)

        there.add_done_callback(ended)

    def _store_session(self, data: dict[str, Any]) -> None:
        """Write the session of a worker, when it is new or has more reference tasks."""
        with self.lock:
            mark = f"{data['id']} {len(data['references'])}"
            if mark not in self.sessions:
                self.sessions.add(mark)
                write_session(self.folder.sessions, validate(Session, data))

    def stop(self) -> None:
        """Give up the tasks that have not ended."""
        self.stopped = True
        left = [future for result, future in self.open.items() if not result.done()]
        if left:
            self.client.cancel(left, force=True)

    def finish(self) -> None:
        """Do nothing: the workers run reference tasks themselves."""


def perform_there(
    instance: Instance, task: Task, base: str
) -> tuple[dict[str, object], dict[str, Any]]:
    """Run one task on a worker of a cluster; return the data of its record and of its session.

    `task`: what to run. `base`: id of the call of `compare`; with the worker it gives the id of the
    session.

    Raises
    ------
    UsageError
        If the package or an engine is not the same here as where the task comes from.
    """
    here = new_task(instance, task.choice, task.limits, task.seed)
    if here.key != task.key:
        raise UsageError(
            f"cluster: worker {platform.node()} has other source code or versions "
            f"(code {here.code}, {_words(here.versions)}) than this computer (code {task.code}, "
            f"{_words(task.versions)}): install the same ones"
        )
    place = _place(base, tuple(sorted(task.versions.items())))
    place.measure()
    data = execute_task(instance, here, place.session.id)
    return data, place.data()


def _words(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


class _Place:
    """The session of this worker process."""

    def __init__(self, versions: Mapping[str, str]) -> None:
        self.session = new_session(new_id(), versions)
        self.lock = threading.Lock()
        self.due = 0.0

    def measure(self) -> None:
        """Run the reference task if it is time."""
        with self.lock:
            if time.monotonic() < self.due:
                return
            self.due = time.monotonic() + SPAN
        reply = run_child(REFERENCE, limit=SPAN, engine="highs")
        if reply.outcome == "done":
            point = (round(time.time(), 1), round(reply.value, 6))
            with self.lock:
                self.session = self.session.replace(references=(*self.session.references, point))

    def data(self) -> dict[str, Any]:
        """Return the session as JSON data."""
        return self.session.model_dump()


@cache
def _place(base: str, versions: tuple[tuple[str, str], ...]) -> _Place:
    """Return the session of this process in one call of `compare`."""
    return _Place(dict(versions))
