"""Compare methods on instances: each task in a child process, each record stored at once."""

import math
import os
import random
import re
import shutil
import tempfile
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from schedgap.analysis.comparing.performing import Task, execute_task, new_task
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.evaluations import experiments
from schedgap.analysis.own.methods import Own
from schedgap.analysis.records.folder import FAILURES, Folder, TaskRecord
from schedgap.analysis.records.index import Index
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.sessions import REFERENCE, SPAN, new_id, new_session, write_session
from schedgap.analysis.records.sources import refresh
from schedgap.analysis.runners.request import Limits
from schedgap.analysis.solving import live
from schedgap.analysis.solving.choices import Choice
from schedgap.errors import EngineUnavailableError, FolderWarning, InputError, UsageError
from schedgap.instances.arguments import (
    A_LIMIT,
    MEMORY,
    a_function,
    a_path,
    a_text,
    an_integer,
    checked,
    refuse,
    several,
)
from schedgap.instances.book import book_instances, near_names
from schedgap.instances.families import load
from schedgap.instances.instance import Instance
from schedgap.instances.records import read_json, validate
from schedgap.models.family import families, family
from schedgap.models.figure import Experiment
from schedgap.solvers.children.processes import close_children, cores, run_child

Target = Instance | Experiment | str | os.PathLike[str]
Named = str | Callable[..., Any] | Own | Choice  # a method
Problem = tuple[Instance, list[str] | None]  # instance, its methods; None: all installed
OnRecord = Callable[
    [TaskRecord | None, int, int], None
]  # (record, done, total); record None at the start
SUITE = "quick"
DEFAULT_TIME_LIMIT = 60.0  # seconds per task
BRIEF = 5.0  # seconds within which the computer's speed is not measured again


@checked(
    run=a_path,
    methods=several,
    workers=an_integer(1),
    time_limit=A_LIMIT,
    memory_limit=MEMORY,
    cluster=a_text,
    on_record=a_function,
)
def compare(
    targets: Target | Iterable[Target],
    *,
    run: str | os.PathLike[str] | None = None,
    methods: Sequence[Named] | None = None,
    workers: int | None = None,
    time_limit: float | None = DEFAULT_TIME_LIMIT,
    memory_limit: float | None = None,
    seed: int | None = None,
    retry: bool | str | Iterable[str] = False,
    cluster: str | None = None,
    on_record: OnRecord | None = None,
) -> Run:
    """Run methods on instances, store the results in a run folder, and return the run.

    A task does not run again if the folder has its result, or a result that smaller limits did not
    disturb. Results of other code or of other versions stay, but do not count. Several processes
    may work on one folder. If a run is killed, only its unfinished tasks are lost. In a notebook, a
    bar shows how many tasks are finished.

    Parameters
    ----------
    targets : Instance, Experiment, path, or several
        Instances, instance files, folders of instance files, or a bundled suite: `quick`,
        `FAMILY-figures`, `FAMILY-figure-N`, or instances of the record book: `records/FAMILY`,
        `hare-p`, `hare-p3`. A figure defines its own methods; its numbers are
        written as CSV into the folder `figures` of the run folder.
    run : path, optional
        The run folder; created if necessary. By default a temporary one, which exists as long as
        the returned run.
    methods : sequence of str, callable or Own, optional
        `NAME`, `NAME@ENGINE` or `NAME:KEY=VALUE`; by default the figure's methods, or every method
        whose engines are installed. A method applies to the families that have one of this name.
        Methods of your own are functions, `FILE.py:FUNCTION` or `cmd:PROGRAM ARGUMENTS`, as for
        `solve`; their errors and invalid schedules are outcomes of their tasks.
    workers : int, optional
        Number of parallel tasks, each with one thread; by default, and at most, one per core.
    time_limit, memory_limit : float, optional
        Limits of each task in wall-clock seconds and MB.
    seed : int, optional
        Random seed of the methods, >= 0.
    retry : bool, str or iterable of str
        Which failed tasks to run again: `timeout`, `memory`, `crash`, `invalid`, `error`; True and
        `all` mean all of them. The new results replace the failures.
    cluster : str, optional
        Address of a Dask scheduler; `workers` is then the number of tasks in flight, by default
        slightly more than the cluster has threads.
    on_record : callable, optional
        Called with each new record, the number of finished tasks and the total; before the first
        task, the record is None. By default, the bar of a notebook.

    Raises
    ------
    UsageError, InputError, EngineUnavailableError
        Before anything is run. Contradictory results do not raise: see `Run.contradictions`.
    """
    if on_record is None and live.in_notebook():
        on_record = live.Comparison()
    retried = _retried(retry)
    if refresh():
        close_children()  # they have imported the older source
    problems, figures = _problems(targets)
    limits = Limits(
        *(None if limit is None else float(limit) for limit in (time_limit, memory_limit))
    )
    chosen = None if methods is None else _chosen(methods)
    if chosen is not None and not chosen:
        raise UsageError("methods: need at least one")
    tasks = list(_tasks(problems, chosen, limits, seed))
    temporary = tempfile.mkdtemp(prefix="schedgap-run-") if run is None else None
    folder = Folder(temporary or run or "")
    plan = _Plan(folder, {item.sha256: item for item, _ in problems}, retried)
    _check_own_names(plan, chosen or ())
    todo = [task for task in tasks if not plan.reuse(task, plan.known(task))]
    try:
        with ExitStack() as stack:
            pool = stack.enter_context(_pool(plan, todo, workers, cluster)) if todo else None
            folder.create()
            for instance in plan.instances.values():
                folder.store_instance(instance)
            plan.store_reused()
            if figures and todo:  # the report of a killed run shows its figures
                experiments.write_heads(folder, figures)
            done = len(tasks) - len(todo)
            if on_record is not None:
                on_record(None, done, len(tasks))
            for record in [] if pool is None else _records(plan, todo, pool):
                done += 1
                if on_record is not None and record is not None:
                    on_record(record, done, len(tasks))
    except BaseException:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        if figures and folder.tasks.is_dir():
            experiments.write(Run(folder.path), figures)
    stored = Run(folder.path)
    if temporary is not None:
        weakref.finalize(stored, shutil.rmtree, temporary, ignore_errors=True)
    return stored


class Work(NamedTuple):
    """The tasks of a comparison, and how much of it a run folder has already.

    `seconds` is the wall-clock time that these took. `most` is what the others take if each uses up
    its limit (infinite without one).
    """

    tasks: int
    done: int
    seconds: float
    most: float


def work(
    targets: Target | Iterable[Target],
    *,
    run: str | os.PathLike[str],
    time_limit: float | None = DEFAULT_TIME_LIMIT,
) -> Work:
    """Return how much `compare` would do, without doing it.

    `targets`: as for `compare`. `run`: the run folder; it need not exist. `time_limit`: limit of
    each task in wall-clock seconds.

    Raises
    ------
    UsageError, InputError
        As `compare`.
    """
    problems, _ = _problems(targets)
    limits = Limits(None if time_limit is None else float(time_limit), None)
    tasks = list(_tasks(problems, None, limits, None))
    plan = _Plan(Folder(run), {item.sha256: item for item, _ in problems}, frozenset())
    done = [task for task in tasks if plan.reuse(task, plan.known(task))]
    seconds = sum(max(map(_seconds, plan.known(task))) for task in done)
    each = math.inf if limits.time is None else limits.time
    left = len(tasks) - len(done)
    return Work(len(tasks), len(done), seconds, left * each if left else 0.0)


def _seconds(row: TaskRow) -> float:
    """Return the wall-clock time of a task; of one that failed, its CPU time."""
    return (row.cpu_seconds or 0.0) if row.seconds is None else row.seconds


def _an_outcome(value: object) -> str | None:
    """Need a flag, or names."""
    return None if isinstance(value, bool | str) else several(value) and "a flag or names"


def _retried(retry: bool | str | Iterable[str]) -> frozenset[str]:
    """Return the outcomes of tasks that are run again."""
    refuse("retry", retry, _an_outcome)
    if isinstance(retry, bool):
        return frozenset(FAILURES if retry else ())
    names = [name.strip() for name in retry.split(",")] if isinstance(retry, str) else [*retry]
    for name in names:
        if name not in (*FAILURES, "all"):
            raise UsageError(f"retry '{name}': choose from {', '.join(FAILURES)}, all")
    return frozenset(FAILURES if "all" in names else names)


# --- tasks ------------------------------------------------------------------------------


def _problems(targets: Target | Iterable[Target]) -> tuple[list[Problem], dict[str, Experiment]]:
    """Return the instances in the given order, each with its methods, and the figures by file.

    Only an instance of a figure comes with its methods.
    """
    single = isinstance(targets, Instance | Experiment | str | os.PathLike)
    if not single:
        refuse("targets", targets, several)
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


def instances_of(target: Target) -> list[Instance]:
    """Return the instances of a target of `compare`, without the methods of a figure."""
    return [instance for instance, _ in _problems(target)[0]]


def _a_target(value: object) -> str | None:
    """Need an instance, or a path."""
    return a_path(value) and "an instance, a figure, or a file or folder of instances"


def _figures(target: Target) -> dict[str, Experiment]:
    if isinstance(target, Experiment):
        return {experiments.file_name(target): target}
    if isinstance(target, Instance):
        return {}
    refuse("target", target, _a_target)
    if Path(target).exists():
        return {}
    return experiments.suite(str(target))


def _expand(target: Target) -> list[Instance]:
    if isinstance(target, Instance):
        return [target]
    path = Path(cast(str, target))
    if path.is_dir():
        return _of_folder(path)
    if str(target) == SUITE and not path.exists():
        return [item for owner in families() if owner.suite is not None for item in owner.suite()]
    if not path.exists():
        if found := list(book_instances(path.as_posix())):
            return found
        raise InputError(
            f"cannot be read: no such file or directory{_meant(target)}", file=str(path)
        )
    return [load(path)]


def _of_folder(path: Path) -> list[Instance]:
    """Return the instances of a folder; files that `solve` has written into it are left out."""
    found, others = [], []
    for file in sorted(path.glob("[!.]*.json")):
        try:
            found.append(load(file))
        except InputError:
            if not _is_of_a_solution(file):
                raise
            others.append(file.name)
    if not found:
        raise InputError("no instance files (*.json) in it", file=str(path))
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        text = f"{path}: left out, because no instances: {', '.join(others[:3])}{more}"
        warnings.warn(text, FolderWarning, stacklevel=2)
    return found


def _is_of_a_solution(file: Path) -> bool:
    """Return whether a file is a solution, or evidence for one: both name their instance."""
    try:
        data = read_json(file)
    except InputError:
        return False
    return isinstance(data, dict) and "instance_sha256" in data


def _meant(target: Target) -> str:
    """Return what a target without a file may mean: a method, or a misspelt suite or instance."""
    name = str(target)
    head = re.split("[:@]", name)[0]
    if any(Choice(head).has(owner) for owner in families()):
        return f"; it is a method: separate methods by commas, as in exact,{name}"
    suites = [SUITE, "traces", *(f"{owner.name}-figures" for owner in families())]
    close = get_close_matches(name, suites, n=1)
    if close:
        return f" (did you mean '{close[0]}'?)"
    near = near_names(name)
    return f", and no instance of the record book: {near}" if near else ""


def _tasks(
    problems: Sequence[Problem], chosen: Sequence[Choice] | None, limits: Limits, seed: int | None
) -> list[Task]:
    """Return each task once, after checking the names of all methods, in mixed order.

    Instances and methods take turns, each in random order: a computer that becomes slower slows
    down all of them.
    """
    if chosen is not None:
        owners = {instance.family: family(instance.family) for instance, _ in problems}
        for choice in chosen:
            if not any(map(choice.has, owners.values())):
                next(iter(owners.values())).method(
                    choice.method
                )  # raises UsageError, which lists the methods
    seen: set[str] = set()
    by_instance: list[list[Task]] = []
    for instance, figure_methods in problems:
        if chosen is not None:
            choices = [choice for choice in chosen if choice.has(family(instance.family))]
        elif figure_methods is not None:
            choices = [Choice.read(text) for text in figure_methods]
        else:
            choices = _installed(instance)
        tasks = {task.key: task for task in
                 (new_task(instance, choice, limits, seed) for choice in choices)}  # fmt: skip
        by_instance.append([task for key, task in tasks.items() if key not in seen])
        seen |= tasks.keys()
    return _mixed(by_instance)


def _mixed(by_instance: list[list[Task]]) -> list[Task]:
    """Return all tasks: in each round one of each instance, and not of the same method."""
    order = random.Random(0)
    order.shuffle(by_instance)
    for place, tasks in enumerate(by_instance):
        random.Random(0).shuffle(tasks)
        turn = place % max(1, len(tasks))
        tasks[:] = tasks[turn:] + tasks[:turn]
    rounds = max(map(len, by_instance), default=0)
    return [tasks[k] for k in range(rounds) for tasks in by_instance if k < len(tasks)]


def _chosen(methods: Sequence[Named]) -> list[Choice]:
    """Return the methods; a user's own methods must differ in their names."""
    choices = [Choice.of(method) for method in methods]
    codes: dict[str, str] = {}
    for own in (choice.own for choice in choices if choice.own is not None):
        if codes.setdefault(own.name, own.code) != own.code:
            raise UsageError(
                f"two different methods are named '{own.name}': rename one, as in "
                f"sg.own(rule, name='other') or other=FILE.py:FUNCTION"
            )
    return choices


def _check_own_names(plan: "_Plan", chosen: Sequence[Choice]) -> None:
    """Raise UsageError if a schedule in the folder has the name of a method of the user's own."""
    judged = {row.method for group in plan.by_task.values() for row in group if row.judged}
    for choice in chosen:
        if choice.own is not None and choice.own.name in judged:
            raise UsageError(
                f"'{choice.own.name}' is a schedule that judge has put into the run: give your "
                "method another name"
            )


def _installed(instance: Instance) -> list[Choice]:
    """Return every method of the family whose engines are installed."""
    choices = []
    for choice in [Choice(method.name) for method in family(instance.family).methods]:
        try:
            choice.runner(instance)
        except EngineUnavailableError:
            continue
        choices.append(choice)
    return choices


@dataclass(slots=True)
class _Plan:
    """What is to be done in a run folder, and which records answer a task already."""

    folder: Folder
    instances: Mapping[str, Instance]  # keys are hashes
    retried: frozenset[str]  # outcomes of tasks that are run again
    by_task: dict[str, list[TaskRow]] = field(init=False)
    reused: list[tuple[TaskRow, Limits]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_task = {}
        for row in Index(self.folder.path).rows():
            self.by_task.setdefault(row.task, []).append(row)

    def known(self, task: Task) -> list[TaskRow]:
        """Return the records of a task that were in the folder at the start."""
        return self.by_task.get(task.key, [])

    def reuse(self, task: Task, records: Sequence[TaskRow]) -> bool:
        """Return whether one of the records answers the task."""
        same = [record for record in records if record.limits == task.limits]
        if any(record.outcome not in self.retried for record in same):
            return True
        others = [record for record in records if record.limits != task.limits]
        answers = [record for record in others if record.answers(task.limits)]
        if answers and not same:
            self.reused.append((min(answers, key=lambda record: record.key), task.limits))
            return True
        return False

    def store_reused(self) -> None:
        """Store the results of other limits that answer tasks."""
        for record, limits in self.reused:
            self.folder.reuse(Path(record.file), limits)
        self.reused.clear()

    def is_open(self, task: Task) -> bool:
        """Return whether a locked task must still be run, after another process may have run it.

        A failure that is to be run again is not run a third time.
        """
        before = {record.key for record in self.known(task)}
        now = self.folder.find(task.key, task.limits)
        return all(record.key in before and record.outcome in self.retried for record in now)

    def store(self, task: Task, data: Mapping[str, Any]) -> TaskRecord:
        """Store a record and remove the failures that it replaces; return it."""
        record = validate(TaskRecord, self.folder.store(data))
        for old in self.known(task):
            if old.limits == task.limits and old.outcome in self.retried:
                self.folder.remove(old.key)
        return record


# --- workers --------------------------------------------------------------------------------


class Pool(Protocol):
    """Runs tasks somewhere."""

    def slots(self) -> int:
        """Return how many tasks should be in flight at this moment."""

    def submit(self, task: Task) -> "Future[dict[str, Any]]":
        """Begin a task; its result is the data of a record."""

    def finish(self) -> None:
        """Measure the speed of the computer once more, after all tasks."""

    def stop(self) -> None:
        """End all tasks, if there are any."""


def _records(plan: _Plan, todo: Sequence[Task], pool: Pool) -> Iterator[TaskRecord | None]:
    """Run the tasks and yield each record once stored; None if another process ran the task.

    A task is locked when it is submitted. Tasks locked by other processes are awaited at the end,
    and run here if their process died.
    """
    elsewhere: list[Task] = []
    locked = _locked(plan, todo, elsewhere)
    running: dict[Future[dict[str, Any]], tuple[Task, ExitStack]] = {}
    try:
        while True:
            for task, lock in islice(locked, max(0, pool.slots() - len(running))):
                running[pool.submit(task)] = task, lock
            if not running:
                break
            # On Windows, Ctrl-C is handled only between two waits.
            for future in wait(running, timeout=1, return_when=FIRST_COMPLETED).done:
                yield _stored(plan, running, future)
        for task in elsewhere:
            lock = ExitStack()
            lock.enter_context(plan.folder.lock(task.key, wait=True))
            if plan.is_open(task):
                future = pool.submit(task)
                running[future] = task, lock
                yield _stored(plan, running, future)
            else:
                lock.close()
                yield None
        pool.finish()
    finally:
        pool.stop()  # its tasks must end before their locks are released
        for _, lock in running.values():
            lock.close()


def _stored(
    plan: _Plan,
    running: "dict[Future[dict[str, Any]], tuple[Task, ExitStack]]",
    future: "Future[dict[str, Any]]",
) -> TaskRecord:
    """Store the record of a task, and then release its lock."""
    record = plan.store(running[future][0], future.result())
    running.pop(future)[1].close()
    return record


def _locked(
    plan: _Plan, todo: Sequence[Task], elsewhere: list[Task]
) -> Iterator[tuple[Task, ExitStack]]:
    """Lock and yield each task; append tasks that others have locked to `elsewhere`."""
    for task in todo:
        lock = ExitStack()
        if lock.enter_context(plan.folder.lock(task.key, wait=False)) and plan.is_open(task):
            yield task, lock
        else:
            lock.close()
            elsewhere.append(task)


@contextmanager
def _pool(
    plan: _Plan, todo: Sequence[Task], workers: int | None, cluster: str | None
) -> Iterator[Pool]:
    """Provide the pool that runs the tasks; nothing is written before the first one."""
    if cluster is None:
        versions = {name: version for task in todo for name, version in task.versions.items()}
        threads = _Threads(plan, versions, min(workers or cores(), cores()))
        try:
            yield threads
        finally:
            threads.stop()
    else:
        from schedgap.analysis.comparing.clusters import dask_pool

        with dask_pool(cluster, plan.folder, plan.instances, workers) as pool:
            yield pool


# Number of threads -> what the reference task has last taken in each, for the next comparison.
_measured: dict[int, tuple[tuple[float, float], ...]] = {}


def _age(point: tuple[float, float]) -> float:
    """Return the seconds since the reference task was run."""
    return abs(time.time() - point[0])


class _Threads:
    """A pool of threads, each of which waits for the child process of its task.

    `plan`: what is to be done. `versions`: versions of the packages that the tasks use. `count`:
    number of threads.
    """

    def __init__(self, plan: _Plan, versions: Mapping[str, str], count: int) -> None:
        self.plan, self.count = plan, count
        self.interrupt, self.lock = threading.Event(), threading.Lock()
        self.session = new_session(new_id(), versions)
        self.due = [-math.inf] * count  # times after which each thread runs the reference task
        points = [record for record in _measured.get(count, ()) if _age(record) <= BRIEF]
        if len(points) == count:
            self.session = self.session.replace(references=tuple(points))
            self.due = [time.monotonic() + SPAN * (k + 1) for k in range(count)]
        self.executor = ThreadPoolExecutor(count, thread_name_prefix="schedgap-task")

    def slots(self) -> int:
        """Return the number of threads."""
        return self.count

    def submit(self, task: Task) -> "Future[dict[str, Any]]":
        """Begin a task."""
        file = self.plan.folder.sessions / f"{self.session.id}.json"
        if not file.exists():
            write_session(file.parent, self.session)
        return self.executor.submit(self._perform, task)

    def _perform(self, task: Task) -> dict[str, Any]:
        if self._is_due():
            self._measure()
        instance = self.plan.instances[task.sha256]
        return execute_task(instance, task, self.session.id, self.interrupt)

    def _is_due(self) -> bool:
        """Return whether it is time for the reference task: first in each thread, then in one."""
        with self.lock:
            now = time.monotonic()
            if now < min(self.due):
                return False
            first = self.due.index(min(self.due))
            turns = self.count if math.isfinite(self.due[first]) else first + 1
            self.due[first] = now + SPAN * turns
            return True

    def _measure(self) -> None:
        reply = run_child(REFERENCE, limit=SPAN, engine="highs", interrupt=self.interrupt)
        if reply.outcome == "done":
            with self.lock:
                point = (round(time.time(), 1), round(reply.value, 6))
                references = (*self.session.references, point)
                self.session = self.session.replace(references=references)
                _measured[self.count] = references[-self.count :]
                write_session(self.plan.folder.sessions, self.session)

    def finish(self) -> None:
        """Run the reference task in each thread at the same time, unless one has just been run."""
        points = self.session.references
        if points and _age(points[-1]) > BRIEF:
            wait([self.executor.submit(self._measure) for _ in range(self.count)])

    def stop(self) -> None:
        """End the tasks and the threads."""
        self.interrupt.set()
        self.executor.shutdown()
