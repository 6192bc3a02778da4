"""Compare methods on instances: every task in its own child, every record kept at once."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import psutil

from schedgap.analysis import experiments
from schedgap.analysis.attempts import Attempt, Plan, attempt, plan
from schedgap.analysis.choices import Choice, label
from schedgap.analysis.runs import FAILURES, Folder, Run, TaskOutcome, TaskRecord, task_key
from schedgap.analysis.solving import conclude
from schedgap.errors import (
    ContradictionError,
    EngineUnavailableError,
    InputError,
    SchedgapError,
    UsageError,
)
from schedgap.instances.families import load
from schedgap.instances.instance import Instance
from schedgap.instances.records import validate
from schedgap.models.experiment import Experiment
from schedgap.models.family import families, family

Target = Instance | Experiment | str | os.PathLike[str]
Given = tuple[Instance, list[str] | None]  # None: all methods that are installed
OnRecord = Callable[[TaskRecord | None, int, int], None]  # (record, done, all); None at the start
SUITE = "quick"
DEFAULT_TIME_LIMIT = 60.0  # seconds of each task


@dataclass(frozen=True, slots=True)
class Task:
    """One method on one instance, by names: what is sent to a worker, and what a record says."""

    key: str
    instance: Instance
    choice: Choice
    time_limit: float | None
    memory_limit: float | None
    seed: int | None


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
    targets : Instance, Experiment, path, or several
        Instances, instance files, folders of them, or a bundled suite: `quick`, `FAMILY-figures`,
        `FAMILY-figure-N`. Figures bring their own methods; their numbers are written as CSV into
        `figures` in the run folder.
    run : path
        The run folder; made when it is not there.
    methods : sequence of str, optional
        `NAME`, `NAME@ENGINE` or `NAME:KEY=VALUE`; by default a figure's own, or every method
        whose engines are installed. A family without a method of that name is left out of it.
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
    problems, figures = _given(targets)
    tasks = list(_tasks(problems, methods, time_limit, memory_limit, seed))
    if workers is not None and workers < 1:
        raise UsageError(f"workers {workers}: need an integer >= 1")
    folder = Folder(run)
    folder.create()
    for instance, _ in problems:
        folder.store_instance(instance)
    todo = [task for task in tasks if _open(folder, task, retry)]
    done = len(tasks) - len(todo)
    if on_record is not None:
        on_record(None, done, len(tasks))
    for record in _records(folder, todo, retry, workers, cluster):
        done += 1
        if on_record is not None and record is not None:
            on_record(record, done, len(tasks))
    run_found = Run(folder.path)
    if figures:
        experiments.write(run_found, figures)
    return run_found


# --- what to do ------------------------------------------------------------------------------


def _given(targets: Target | Iterable[Target]) -> tuple[list[Given], dict[str, Experiment]]:
    """Return the instances in the order given, and the figures asked for by their files' names.

    The instances of figures have methods of their own.
    """
    single = isinstance(targets, Instance | Experiment | str | os.PathLike)
    given = [targets] if single else list(cast(Iterable[Target], targets))
    problems: list[Given] = []
    figures: dict[str, Experiment] = {}
    for target in cast(list[Target], given):
        asked = _figures(target)
        figures |= asked
        for experiment in asked.values():
            problems += experiments.pairs(experiment)
        if not asked:
            problems += [(instance, None) for instance in _expand(target)]
    if not problems:
        raise UsageError("no instances to compare on")
    return problems, figures


def _figures(target: Target) -> dict[str, Experiment]:
    if isinstance(target, Experiment):
        return {experiments.file_name(target): target}
    if isinstance(target, Instance) or Path(target).exists():
        return {}
    return experiments.suite(str(target))


def _expand(target: Target) -> list[Instance]:
    if isinstance(target, Instance):
        return [target]
    path = Path(cast(str, target))
    if path.is_dir():
        files = sorted(path.glob("[!.]*.json"))
        if not files:
            raise InputError("no instance files (*.json) in it", file=str(path))
        return [load(file) for file in files]
    if str(target) == SUITE and not path.exists():
        return [item for owner in families() if owner.suite is not None for item in owner.suite()]
    return [load(path)]


def _tasks(
    problems: Sequence[Given],
    methods: Sequence[str] | None,
    time_limit: float | None,
    memory_limit: float | None,
    seed: int | None,
) -> Iterator[Task]:
    """Yield each task once; names and settings are checked before anything runs."""
    chosen = None if methods is None else [Choice.read(text) for text in methods]
    if chosen is not None:
        owners = {instance.family: family(instance.family) for instance, _ in problems}
        for choice in chosen:
            if not any(_has(name, choice.method) for name in owners):
                next(iter(owners.values())).method(choice.method)  # raises, and names the others
    seen: set[str] = set()
    for instance, own in problems:
        if chosen is not None:
            choices = chosen
        elif own is not None:
            choices = [Choice.read(text) for text in own]
        else:
            choices = _installed(instance)
        for choice in choices:
            if chosen is not None and not _has(instance.family, choice.method):
                continue
            task = Task("", instance, choice, time_limit, memory_limit, seed)
            task = replace(task, key=_key(instance, _plan(task)))
            if task.key not in seen:
                seen.add(task.key)
                yield task


def _has(name: str, method: str) -> bool:
    owner = family(name)
    return method in owner.aliases or any(each.name == method for each in owner.methods)


def _installed(instance: Instance) -> list[Choice]:
    """Return every method of the family whose engines are there."""
    found = []
    for method in family(instance.family).methods:
        try:
            plan(instance, method.name, settings={})
        except EngineUnavailableError:
            continue
        found.append(Choice(method.name))
    return found


def _plan(task: Task) -> Plan:
    return plan(
        task.instance,
        task.choice.method,
        engine=task.choice.engine,
        time_limit=task.time_limit,
        memory_limit=task.memory_limit,
        seed=task.seed,
        settings=dict(task.choice.settings),
    )


def _key(instance: Instance, plan: Plan) -> str:
    identity = {
        "instance": instance.sha256,
        "method": plan.method.name,
        "engine": plan.engine,
        "options": plan.recorded_options(),
        "seed": plan.seed,
        "versions": plan.versions(),
    }
    return task_key(identity)


def _open(folder: Folder, task: Task, retry: bool) -> bool:
    """Return whether a task is still to be done."""
    outcome = folder.outcome(task.key)
    return outcome is None or (retry and outcome in FAILURES)


# --- doing it --------------------------------------------------------------------------------


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
    made = _plan(task)
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
