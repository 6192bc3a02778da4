"""Compare methods on instances: every task in its own child, every record kept at once."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

import psutil

from schedgap.analysis.attempts import Attempt, Plan, attempt
from schedgap.analysis.runs import FAILURES, Folder, Run, TaskOutcome, TaskRecord
from schedgap.analysis.solving import conclude
from schedgap.analysis.tasks import Target, Task, instances_of, label, plan_of, tasks_of
from schedgap.errors import ContradictionError, SchedgapError, UsageError
from schedgap.instances.records import validate

OnRecord = Callable[[TaskRecord | None, int, int], None]  # (record, done, all); None at the start
DEFAULT_TIME_LIMIT = 60.0  # seconds of each task


def compare(
    targets: Target | Iterable[Target],
    *,
    run: str | os.PathLike[str],
    methods: Sequence[str] | None = None,
    workers: int | None = None,
    time_limit: float | None = DEFAULT_TIME_LIMIT,
    memory_limit: float | None = None,
    seed: int | None = None,
    retry: bool = False,
    cluster: str | None = None,
    on_record: OnRecord | None = None,
) -> Run:
    """Run methods on instances into a run folder, and return all that the folder holds.

    What the folder holds already is not done again. Several processes may fill one folder. A run
    that was killed loses only the tasks in flight.

    Parameters
    ----------
    targets : Instance, path, or several
        Instances, instance files, folders of them, or the bundled suite `quick`.
    run : path
        The run folder; made when it is not there.
    methods : sequence of str, optional
        `NAME`, `NAME@ENGINE` or `NAME:KEY=VALUE`; by default every method whose engines are
        installed. A family without a method of that name is left out of it.
    workers : int, optional
        Tasks at the same time, by default one for each core and never more; a task has one thread.
    time_limit, memory_limit : float, optional
        Wall-clock seconds and MB of each task.
    retry : bool
        Do tasks that failed again.
    cluster : str, optional
        Address of a Dask scheduler; `workers` then counts tasks in flight there.
    on_record : callable, optional
        Called with each new record, the number of tasks done and of all; first with None.

    Raises
    ------
    UsageError, InputError, EngineUnavailableError
        Before anything is run. Contradictions among the results are in the run returned.
    """
    problems = list(instances_of(targets))
    tasks = list(tasks_of(problems, methods, time_limit, memory_limit, seed))
    if workers is not None and workers < 1:
        raise UsageError(f"workers {workers}: need an integer >= 1")
    folder = Folder(run)
    folder.create()
    for instance in problems:
        folder.store_instance(instance)
    todo = [task for task in tasks if _open(folder, task, retry)]
    done = len(tasks) - len(todo)
    if on_record is not None:
        on_record(None, done, len(tasks))
    for record in _records(folder, todo, retry, workers, cluster):
        done += 1
        if on_record is not None and record is not None:
            on_record(record, done, len(tasks))
    return Run(folder.path)


def _records(
    folder: Folder,
    todo: Sequence[Task],
    retry: bool,
    workers: int | None,
    cluster: str | None,
) -> Iterator[TaskRecord | None]:
    """Do the tasks and yield each record when it is stored; None for one done by another process.

    A task is claimed when it is handed out. What other processes have claimed is waited for at
    the end, and taken over if they died.
    """
    import joblib

    count = workers or joblib.cpu_count()
    if cluster is None:
        count = min(count, joblib.cpu_count())
    claims: dict[str, ExitStack] = {}
    elsewhere: list[Task] = []

    def claimed() -> Iterator[Any]:
        for task in todo:
            stack = ExitStack()
            if not stack.enter_context(folder.claim(task.key, wait=False)):
                elsewhere.append(task)
            elif not _open(folder, task, retry):
                stack.close()
                elsewhere.append(task)
            else:
                claims[task.key] = stack
                yield joblib.delayed(_perform)(task, None if cluster else os.getpid())

    with _backend(cluster):
        parallel = joblib.Parallel(
            n_jobs=count, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
        )
        try:
            for data in parallel(claimed()):
                folder.store(data)
                claims.pop(data["key"]).close()
                yield validate(TaskRecord, data)
        finally:
            for stack in list(claims.values()):
                stack.close()
    for task in elsewhere:
        with folder.claim(task.key, wait=True):
            if _open(folder, task, retry):
                data = perform(task)
                folder.store(data)
                yield validate(TaskRecord, data)
            else:
                yield None


def _open(folder: Folder, task: Task, retry: bool) -> bool:
    """Return whether a task is still to be done."""
    outcome = folder.outcome(task.key)
    return outcome is None or (retry and outcome in FAILURES)


@contextmanager
def _backend(cluster: str | None) -> Iterator[None]:
    """Hold the context in which tasks run: this machine, or a Dask cluster."""
    if cluster is None:
        yield
        return
    import joblib

    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "a cluster needs the package 'distributed': pip install 'schedgap[cluster]'"
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it would say it all twice
    try:
        client = Client(cluster, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"cluster {cluster}: cannot be reached ({error})") from None
    with client, joblib.parallel_config(backend="dask", client=client):
        yield


def _perform(task: Task, parent: int | None) -> dict[str, Any]:
    """Do one task in a worker process, which does not outlive the process that started it."""
    if parent is not None and parent != os.getpid():
        _die_with(parent)
    return perform(task)


@lru_cache
def _die_with(parent: int) -> None:
    """End this process, and with it its child, soon after the parent has gone (kill -9 too)."""

    def watch() -> None:
        while os.getppid() == parent and psutil.pid_exists(parent):
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def perform(task: Task) -> dict[str, Any]:
    """Do one task and return its record as plain data; whatever happens is in the record."""
    made = plan_of(task)
    reason = made.method.refuses(task.instance)
    if reason:
        return _record(task, made, None, "skipped", reason)
    ended: Attempt | None = None
    try:
        ended = attempt(task.instance, made)
        solution = conclude(task.instance, made, ended)
    except SchedgapError as error:  # the method found out itself that it is not for this one
        return _record(task, made, ended, "skipped", str(error))
    except ContradictionError as error:
        return _record(task, made, ended, "invalid", str(error))
    except Exception as error:  # noqa: BLE001 - a run of a thousand tasks must not die of one
        return _record(task, made, ended, "error", str(error))
    outcome: TaskOutcome = "done" if ended.end == "done" else ended.end
    record = _record(task, made, ended, outcome, ended.message)
    return record | {
        "solution": solution.to_data(),
        "relaxed": []
        if solution.schedule is None
        else list(made.family.relaxed(solution.schedule)),
        "progress": [list(point) for point in solution.progress],
        "certificate": None if solution.certificate is None else dict(solution.certificate),
    }


def _record(
    task: Task, made: Plan, ended: Attempt | None, outcome: TaskOutcome, message: str
) -> dict[str, Any]:
    options = made.recorded_options()
    return {
        "key": task.key,
        "outcome": outcome,
        "message": " ".join(message.split()),
        "instance": {
            "name": task.instance.name,
            "family": task.instance.family,
            "sha256": task.instance.sha256,
        },
        "method": made.method.name,
        "label": label(made),
        "kind": made.method.kind,
        "engine": made.engine,
        "options": options,
        "seed": made.seed,
        "problem": made.family.problem(options),
        "sense": made.family.sense(task.instance),
        "solution": None,
        "relaxed": [],
        "progress": [],
        "certificate": None,
        "start_seconds": 0.0 if ended is None else ended.start_seconds,
        "peak_memory_mb": None if ended is None else ended.peak_memory_mb,
        "time_limit": task.time_limit,
        "memory_limit": task.memory_limit,
        "versions": made.versions(),
    }
