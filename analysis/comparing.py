"""Compare methods on instances: every task in its own child, every record kept at once."""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

from schedgap.analysis import experiments
from schedgap.analysis.attempts import Attempt, Plan, attempt, plan
from schedgap.analysis.choices import Choice, label
from schedgap.analysis.folder import FAILURES, Folder, TaskOutcome, TaskRecord, task_key
from schedgap.analysis.runs import Run
from schedgap.analysis.solving import conclude, verified_in_child
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
from schedgap.models.family import families, family
from schedgap.models.figure import Experiment
from schedgap.solvers.children.processes import cores

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


Submit = Callable[[Task], "Future[dict[str, Any]]"]


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
    count = workers or cores()
    if cluster is None:
        count = min(count, cores())
    elsewhere: list[Task] = []
    claimed = _claimed(folder, todo, retry, elsewhere)
    running: dict[Future[dict[str, Any]], ExitStack] = {}
    try:
        with _pool(count) if cluster is None else _cluster(cluster) as submit:
            while True:
                for task, claim in islice(claimed, count - len(running)):
                    running[submit(task)] = claim
                if not running:
                    break
                # Windows hears Ctrl-C between two waits.
                for future in wait(running, timeout=1, return_when=FIRST_COMPLETED).done:
                    data = future.result()
                    folder.store(data)
                    running.pop(future).close()
                    yield validate(TaskRecord, data)
    finally:
        for claim in running.values():
            claim.close()
    for task in elsewhere:
        with folder.claim(task.key, wait=True):
            if _open(folder, task, retry):
                data = perform(task)
                folder.store(data)
                yield validate(TaskRecord, data)
            else:
                yield None


def _claimed(
    folder: Folder, todo: Sequence[Task], retry: bool, elsewhere: list[Task]
) -> Iterator[tuple[Task, ExitStack]]:
    """Yield each task with this process's claim on it; note those that another one has or did."""
    for task in todo:
        claim = ExitStack()
        if claim.enter_context(folder.claim(task.key, wait=False)) and _open(folder, task, retry):
            yield task, claim
        else:
            claim.close()
            elsewhere.append(task)


@contextmanager
def _pool(count: int) -> Iterator[Submit]:
    """Hold threads of this process, each of which waits for the child that does its task."""
    interrupt = threading.Event()
    with ThreadPoolExecutor(count, thread_name_prefix="schedgap-task") as pool:
        try:
            yield lambda task: pool.submit(perform, task, interrupt)
        finally:
            interrupt.set()


@contextmanager
def _cluster(address: str) -> Iterator[Submit]:
    """Hold a Dask cluster."""
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "a cluster needs the package 'distributed': pip install 'schedgap[cluster]'"
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it would say it all twice
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"cluster {address}: cannot be reached ({error})") from None
    with client:
        pool = client.get_executor(pure=False)
        try:
            yield lambda task: pool.submit(perform, task)
        finally:
            pool.shutdown(wait=False)  # cancels what it has not begun


def perform(task: Task, interrupt: threading.Event | None = None) -> dict[str, Any]:
    """Do one task and return its record as plain data; whatever happens is in the record.

    In a thread, `interrupt` stands for Ctrl-C (see `run_child`).
    """
    made = _plan(task)
    reason = made.method.unsupported_reason(task.instance)
    if reason:
        return _record(task, made, None, "skipped", reason)
    ended: Attempt | None = None
    try:
        ended = attempt(task.instance, made, interrupt=interrupt)
        verified = partial(verified_in_child, interrupt=interrupt)
        solution = conclude(task.instance, made, ended, verified)
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
        else list(made.family.omitted_rules(solution.schedule)),
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
