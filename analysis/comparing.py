"""Compare methods on instances: each task in a child process, each record stored at once."""

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
from schedgap.analysis.choices import Choice, label
from schedgap.analysis.folder import FAILURES, Folder, TaskOutcome, TaskRecord, task_key
from schedgap.analysis.proving import with_evidence
from schedgap.analysis.runs import Run
from schedgap.analysis.solving import verified_in_child, verified_solution
from schedgap.analysis.tasks import MethodRun, TaskSpec, run_task, task_spec
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
Problem = tuple[Instance, list[str] | None]  # instance, its methods; None: all installed
OnRecord = Callable[
    [TaskRecord | None, int, int], None
]  # (record, done, total); record None at the start
SUITE = "quick"
DEFAULT_TIME_LIMIT = 60.0  # seconds per task


@dataclass(frozen=True, slots=True)
class Task:
    """One method on one instance, as sent to a worker; `key` names its record."""

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
    """Run methods on instances, store the results in a run folder, and return the run.

    Tasks whose results are in the folder already are not run again. Several processes may work on
    one folder. If a run is killed, only its unfinished tasks are lost.

    Parameters
    ----------
    targets : Instance, Experiment, path, or several
        Instances, instance files, folders of instance files, or a bundled suite: `quick`,
        `FAMILY-figures`, `FAMILY-figure-N`. A figure defines its own methods; its numbers are
        written as CSV into the folder `figures` of the run folder.
    run : path
        The run folder; created if necessary.
    methods : sequence of str, optional
        `NAME`, `NAME@ENGINE` or `NAME:KEY=VALUE`; by default the figure's methods, or every method
        whose engines are installed. A method applies to the families that have one of this name.
    workers : int, optional
        Number of parallel tasks, each with one thread; by default, and at most, one per core.
    time_limit, memory_limit : float, optional
        Limits of each task in wall-clock seconds and MB.
    seed : int, optional
        Random seed of the methods, >= 0.
    retry : bool
        Whether to run failed tasks again.
    cluster : str, optional
        Address of a Dask scheduler; `workers` is then the number of tasks submitted at a time.
    on_record : callable, optional
        Called with each new record, the number of finished tasks and the total; before the first
        task, the record is None.

    Raises
    ------
    UsageError, InputError, EngineUnavailableError
        Before anything is run. Contradictory results do not raise: see `Run.contradictions`.
    """
    problems, figures = _problems(targets)
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
    try:
        if figures and todo:  # the report of a killed run shows its figures
            experiments.write_heads(folder, figures)
        for record in _records(folder, todo, retry, workers, cluster):
            done += 1
            if on_record is not None and record is not None:
                on_record(record, done, len(tasks))
    finally:
        stored = Run(folder.path)
        if figures:
            experiments.write(stored, figures)
    return stored


# --- tasks ------------------------------------------------------------------------------


def _problems(targets: Target | Iterable[Target]) -> tuple[list[Problem], dict[str, Experiment]]:
    """Return the instances in the given order, each with its methods, and the figures by file.

    Only the instances of figures have methods of their own.
    """
    single = isinstance(targets, Instance | Experiment | str | os.PathLike)
    given = [targets] if single else list(cast(Iterable[Target], targets))
    problems: list[Problem] = []
    figures: dict[str, Experiment] = {}
    for target in cast(list[Target], given):
        suite = _figures(target)
        figures |= suite
        for experiment in suite.values():
            problems += experiments.pairs(experiment)
        if not suite:
            problems += [(instance, None) for instance in _expand(target)]
    if not problems:
        raise UsageError("no instances to compare")
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
    problems: Sequence[Problem],
    methods: Sequence[str] | None,
    time_limit: float | None,
    memory_limit: float | None,
    seed: int | None,
) -> Iterator[Task]:
    """Yield each task once, after checking the names of all methods."""
    chosen = None if methods is None else [Choice.read(text) for text in methods]
    if chosen is not None:
        owners = {instance.family: family(instance.family) for instance, _ in problems}
        for choice in chosen:
            if not any(_has(name, choice.method) for name in owners):
                next(iter(owners.values())).method(
                    choice.method
                )  # raises UsageError, which lists the methods
    seen: set[str] = set()
    for instance, figure_methods in problems:
        if chosen is not None:
            choices = chosen
        elif figure_methods is not None:
            choices = [Choice.read(text) for text in figure_methods]
        else:
            choices = _installed(instance)
        for choice in choices:
            if chosen is not None and not _has(instance.family, choice.method):
                continue
            task = Task("", instance, choice, time_limit, memory_limit, seed)
            task = replace(task, key=_key(instance, _spec(task)))
            if task.key not in seen:
                seen.add(task.key)
                yield task


def _has(name: str, method: str) -> bool:
    owner = family(name)
    return method in owner.aliases or any(each.name == method for each in owner.methods)


def _installed(instance: Instance) -> list[Choice]:
    """Return every method of the family whose engines are installed."""
    choices = []
    for method in family(instance.family).methods:
        try:
            task_spec(instance, method.name, settings={})
        except EngineUnavailableError:
            continue
        choices.append(Choice(method.name))
    return choices


def _spec(task: Task) -> TaskSpec:
    return task_spec(
        task.instance,
        task.choice.method,
        engine=task.choice.engine,
        time_limit=task.time_limit,
        memory_limit=task.memory_limit,
        seed=task.seed,
        settings=dict(task.choice.settings),
    )


def _key(instance: Instance, spec: TaskSpec) -> str:
    identity = {
        "instance": instance.sha256,
        "method": spec.method.name,
        "engine": spec.engine,
        "options": spec.recorded_options(),
        "seed": spec.seed,
        "versions": spec.versions(),
    }
    return task_key(identity)


def _open(folder: Folder, task: Task, retry: bool) -> bool:
    """Return whether a task must still be run."""
    outcome = folder.outcome(task.key)
    return outcome is None or (retry and outcome in FAILURES)


# --- workers --------------------------------------------------------------------------------


Submit = Callable[[Task], "Future[dict[str, Any]]"]


def _records(
    folder: Folder,
    todo: Sequence[Task],
    retry: bool,
    workers: int | None,
    cluster: str | None,
) -> Iterator[TaskRecord | None]:
    """Run the tasks and yield each record once stored; None if another process ran the task.

    A task is claimed when it is submitted. Tasks claimed by other processes are awaited at the end,
    and run here if their process died.
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
                # On Windows, Ctrl-C is handled only between two waits.
                for future in wait(running, timeout=1, return_when=FIRST_COMPLETED).done:
                    data = folder.store(future.result())
                    running.pop(future).close()
                    yield validate(TaskRecord, data)
    finally:
        for claim in running.values():
            claim.close()
    for task in elsewhere:
        with folder.claim(task.key, wait=True):
            if _open(folder, task, retry):
                data = folder.store(perform(task))
                yield validate(TaskRecord, data)
            else:
                yield None


def _claimed(
    folder: Folder, todo: Sequence[Task], retry: bool, elsewhere: list[Task]
) -> Iterator[tuple[Task, ExitStack]]:
    """Claim and yield each task; append those of other processes to `elsewhere`."""
    for task in todo:
        claim = ExitStack()
        if claim.enter_context(folder.claim(task.key, wait=False)) and _open(folder, task, retry):
            yield task, claim
        else:
            claim.close()
            elsewhere.append(task)


@contextmanager
def _pool(count: int) -> Iterator[Submit]:
    """Provide a pool of threads, each of which waits for the child process of its task."""
    interrupt = threading.Event()
    with ThreadPoolExecutor(count, thread_name_prefix="schedgap-task") as pool:
        try:
            yield lambda task: pool.submit(perform, task, interrupt)
        finally:
            interrupt.set()


@contextmanager
def _cluster(address: str) -> Iterator[Submit]:
    """Provide a pool of workers on a Dask cluster."""
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "a cluster needs the package 'distributed': pip install 'schedgap[cluster]'"
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are reported below
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"cluster {address}: cannot be reached ({error})") from None
    with client:
        pool = client.get_executor(pure=False)
        try:
            yield lambda task: pool.submit(perform, task)
        finally:
            pool.shutdown(wait=False)  # cancels tasks that have not begun


def perform(task: Task, interrupt: threading.Event | None = None) -> dict[str, object]:
    """Run one task and return its record as JSON data; all errors are recorded, none is raised.

    Parameters
    ----------
    task : Task
        What to run.
    interrupt : threading.Event, optional
        Ends the task when set; used in threads, which do not receive Ctrl-C (see `run_child`).
    """
    spec = _spec(task)
    reason = spec.method.unsupported_reason(task.instance)
    if reason:
        return _record(task, spec, None, "skipped", reason)
    run: MethodRun | None = None
    try:
        run = run_task(task.instance, spec, interrupt=interrupt)
        verified = partial(verified_in_child, interrupt=interrupt)
        solution = with_evidence(
            task.instance,
            verified_solution(task.instance, spec, run, verified),
            engines=spec.engines,
            written=run.proof,
            time_limit=task.time_limit,
            interrupt=interrupt,
        )
    except SchedgapError as error:  # the method itself refused this instance
        return _record(task, spec, run, "skipped", str(error))
    except ContradictionError as error:
        return _record(task, spec, run, "invalid", str(error))
    except Exception as error:  # noqa: BLE001 - one task must not end the whole run
        return _record(task, spec, run, "error", str(error))
    record = _record(task, spec, run, run.end, run.message)
    return record | {
        "solution": solution.to_data(),
        "relaxed": []
        if solution.schedule is None
        else list(spec.family.omitted_rules(solution.schedule)),
        "progress": [list(point) for point in solution.progress],
        "certificate": None if solution.certificate is None else dict(solution.certificate),
        "proof": solution.proof_data,
    }


def _record(
    task: Task, spec: TaskSpec, run: MethodRun | None, outcome: TaskOutcome, message: str
) -> dict[str, object]:
    options = spec.recorded_options()
    return {
        "key": task.key,
        "outcome": outcome,
        "message": " ".join(message.split()),
        "instance": {
            "name": task.instance.name,
            "family": task.instance.family,
            "sha256": task.instance.sha256,
        },
        "method": spec.method.name,
        "label": label(spec),
        "kind": spec.method.kind,
        "engine": spec.engine,
        "options": options,
        "seed": spec.seed,
        "problem": spec.family.problem(options),
        "sense": spec.family.sense(task.instance),
        "solution": None,
        "relaxed": [],
        "progress": [],
        "certificate": None,
        "start_seconds": 0.0 if run is None else run.start_seconds,
        "peak_memory_mb": None if run is None else run.peak_memory_mb,
        "time_limit": task.time_limit,
        "memory_limit": task.memory_limit,
        "versions": spec.versions(),
    }
