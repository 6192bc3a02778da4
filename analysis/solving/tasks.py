"""Run one method on one instance in a child process: specification, run, and messages."""

import importlib.metadata
import math
import platform
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from schedgap.analysis.benchmarks.formulation import (
    Formulation,
    engine_version,
    read_log,
    reserved,
)
from schedgap.analysis.own.arrivals import run_online
from schedgap.analysis.own.methods import MEMORY_MB, Own, measured, schedule_data
from schedgap.errors import InvalidScheduleError, OwnMethodError, SchedgapError, UsageError
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.instances.settings import whole_number
from schedgap.models.family import Family, family, family_of
from schedgap.models.method import (
    Budget,
    Lazy,
    Method,
    MethodResult,
    RunContext,
    SentProgress,
)
from schedgap.solvers.children.clock import Clock, now
from schedgap.solvers.children.meter import Spent
from schedgap.solvers.engines.registry import ENGINES
from schedgap.solvers.proofs.tree import Proof

End = Literal["done", "timeout", "memory", "crash", "error"]
Point = tuple[float, float | None, float | None]  # (seconds, objective, bound)
Message = tuple[Any, ...]  # kind, seconds, and what `SentProgress` says of it
OnMessage = Callable[[Message], None]


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A method with its engine, options, seed and limits (wall-clock seconds and MB)."""

    family: Family
    method: Method
    engine: str | None
    options: Mapping[str, Any]
    seed: int | None
    time_limit: float | None
    memory_limit: float | None

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that the task loads, each in a separate process."""
        if self.method.runs_children:
            return self.method.engines
        return () if self.engine is None else (self.engine,)

    @property
    def process(self) -> str | None:
        """The engine that the method's own child process loads, or None.

        The processes of a user's own method run nothing else.
        """
        if self.own is not None:
            return self.own.process
        return None if self.method.runs_children else self.engine

    @property
    def helpers(self) -> tuple[tuple[str, ...], str] | None:
        """The engines that the method runs in child processes, and the module that they need."""
        if self.method.runs_children and isinstance(self.method.run, Lazy):
            return self.engines, self.method.run.module
        return None

    @property
    def own(self) -> Own | None:
        """The user's own method, if it is one."""
        return self.method.run if isinstance(self.method.run, Own) else None

    @property
    def formulation(self) -> Formulation | None:
        """The program that an engine solves in a benchmark, if it is one."""
        return self.method.run if isinstance(self.method.run, Formulation) else None

    @property
    def module(self) -> str:
        """Name of the family's module, which the child process imports."""
        return FAMILIES[self.family.name].models

    def recorded_options(self) -> dict[str, object]:
        """Return the `options` of the solution file: all options, and the time limit if set."""
        limit = {} if self.time_limit is None else {"time_limit": self.time_limit}
        return self.plain_options() | limit

    def plain_options(self) -> dict[str, object]:
        """Return all options as JSON data."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in self.options.items()
        }

    def versions(self) -> dict[str, str]:
        """Return the versions of Python, this package, the family's and the engines, by package."""
        versions = installed_versions()
        source = FAMILIES.get(self.family.name)
        if source is not None and source.package:
            versions[source.package] = _version(source.package)
        for engine in self.engines:
            package = ENGINES[engine].package
            if self.formulation is None or engine_version(engine):
                versions[package] = _version(package)
        return versions


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of this package."""
    return {"schedgap": _version("schedgap"), "python": platform.python_version()}


@cache
def _version(package: str) -> str:
    return importlib.metadata.version(package)


def task_spec(
    instance: Instance,
    method: str | Own | Formulation,
    *,
    engine: str | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    seed: int | None = None,
    settings: Mapping[str, object],
) -> TaskSpec:
    """Return the specification of a task, with a value for every option.

    `method`: name or alias of a method of the instance's family, one of the user's own, or a
    program to be solved by an engine, which need not be installed. `engine`: one of the method's
    engines; by default its first. `time_limit`, `memory_limit`: limits in wall-clock seconds and
    MB, > 0. A user's own method has a memory limit always. `seed`: random seed, >= 0; by default 0
    for a method that uses one. `settings`: values of options, as Python values or as text, by name.

    Raises
    ------
    UsageError
        For an unknown method, option or engine, or a limit that is not a positive number.
    EngineUnavailableError
        If a required engine is not installed.
    """
    for name, limit in (("time", time_limit), ("memory", memory_limit)):
        if limit is not None and not (0 < limit < math.inf):
            raise UsageError(f"{name} limit {limit}: need a number > 0")
    if seed is not None:
        seed = whole_number(seed, "seed", most=2**31 - 1)
    owner = family(instance.family)
    if isinstance(method, Own):
        chosen_method = method.method(owner)
        memory_limit = MEMORY_MB if memory_limit is None else memory_limit
        settings = {**dict(method.settings), **settings}
    elif isinstance(method, Formulation):
        chosen_method, seed = method.method(owner), method.seed
        settings = {**method.settings, **settings}
    else:
        chosen_method = owner.method(method)
    options = chosen_method.parse(settings)
    chosen = chosen_method.choose_engine(engine)
    spec = TaskSpec(
        family=owner,
        method=chosen_method,
        engine=chosen,
        options=options,
        seed=0 if seed is None and chosen_method.seeded else seed,
        time_limit=None if time_limit is None else float(time_limit),
        memory_limit=None if memory_limit is None else float(memory_limit),
    )
    if spec.engines and spec.formulation is None:
        from schedgap.solvers.engines.availability import require

        for name in spec.engines:
            require(name)
    return spec


@dataclass(slots=True)
class MethodRun:
    """How a method ended and what it returned or, if it was killed, had reported before.

    `schedule` is the best schedule reported while the method ran, `objective` its value, and
    `certificate` belongs to the best reported bound. `unconfirmed` is the best bound that an engine
    reported and no second run confirmed. `rejected` says why schedules that a user's own method
    reported do not count.

    `seconds` is the time of the method, without `load_seconds` (start of its process, imports) and
    `confirm_seconds` (repeated solves). Of a method that runs an engine once, `engine_seconds` and
    `build_seconds` add up to it. Otherwise `engine_seconds` is the sum over all runs of engines.

    Of a formulation: `facts` are what its process has reported beside schedules and bounds, `log`
    is the engine's log, and `pinned` are the cores to which the process was bound.
    """

    end: End = "done"
    message: str = ""
    result: MethodResult | None = None
    error: Exception | None = None  # as the method raised it, if it is one of `schedgap.errors`
    details: str = ""  # traceback, or the last output of a process that crashed
    schedule: Any = None
    objective: float | None = None
    bound: float | None = None
    unconfirmed: float | None = None
    certificate: Mapping[str, Any] | None = None
    progress: list[Point] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    seconds: float = 0.0
    load_seconds: float = 0.0
    build_seconds: float | None = None
    engine_seconds: float | None = None
    engine_cpu_seconds: float | None = None
    confirm_seconds: float | None = None
    peak_memory_mb: float | None = None
    cpu_seconds: float | None = None
    limited: bool | None = None  # whether the time limit may have had an influence
    facts: dict[str, Any] = field(default_factory=dict)
    log: str = ""
    pinned: tuple[int, ...] = ()

    @property
    def proof(self) -> Proof | None:
        """The proof that the search itself has written, not checked."""
        return None if self.result is None else self.result.proof

    def charge(self, spent: Spent, *, divided: bool) -> None:
        """Take the times of engines.

        `spent`: what the task has spent in engines. `divided`: whether a single run of an engine
        leaves the building of the model only.
        """
        self.engine_seconds, self.engine_cpu_seconds = spent.engine, spent.engine_cpu
        self.confirm_seconds = spent.confirm
        self.seconds -= spent.confirm
        if divided and spent.runs == 1:
            self.build_seconds = self.seconds - spent.engine

    def receive(self, message: Message, sense: str) -> None:
        """Process one message of the running method; keep a schedule or bound if it is better.

        `message`: as sent by `_Stream`. `sense`: sense of the objective.
        """
        sign = 1.0 if sense == "min" else -1.0
        match message:
            case ("facts", _, facts):
                self.facts |= facts
            case ("incumbent", seconds, objective, schedule):
                if self.objective is None or sign * (objective - self.objective) < 0:
                    self.objective, self.schedule = objective, schedule
                    self.progress.append((seconds, objective, self.bound))
            case ("bound", seconds, value, certificate, False):
                if self.unconfirmed is None or sign * (value - self.unconfirmed) > 0:
                    self.unconfirmed = value
                    self.progress.append((seconds, self.objective, value))
            case ("bound", seconds, value, certificate, True):
                if self.bound is None or sign * (value - self.bound) > 0:
                    self.bound, self.certificate = value, certificate
                    self.progress.append((seconds, self.objective, value))
                elif value == self.bound and self.certificate is None:
                    self.certificate = certificate


def run_task(
    instance: Instance,
    spec: TaskSpec,
    on_message: OnMessage | None = None,
    interrupt: threading.Event | None = None,
    run: MethodRun | None = None,
    *,
    timed: bool = False,
) -> MethodRun:
    """Run a task in a child process; errors of the method are returned, not raised.

    `spec`: what to run. `on_message`: called with each message of the method while it runs.
    `interrupt`: ends the run when set; used in threads, which do not receive Ctrl-C (see
    `run_child`). `run`: what is filled in and returned; after a KeyboardInterrupt it has what was
    reported by then. `timed`: whether the processes of all engines of the method are started before
    its clock.
    """
    from schedgap.solvers.children.processes import run_child

    run = run or MethodRun()
    sense = spec.family.sense(instance)
    reports = None if spec.formulation is None else spec.formulation.reports()

    def receive(message: Message) -> None:
        if message[0] == "schedule":
            _, seconds, text = message
            try:
                schedule, value = measured(
                    instance, spec.family, spec.method, text, spec.recorded_options()
                )
            except InvalidScheduleError as error:
                run.rejected.append(str(error))
                return
            message = ("incumbent", seconds, value, schedule)
        elif message[0] == "incumbent" and spec.formulation is not None:
            assert reports is not None
            reports.add(message[2], message[3])
            incumbent = spec.formulation.incumbent(spec.module, instance, reports)
            message = (*message[:3], incumbent)
        run.receive(message, sense)
        if on_message is not None and message[0] != "facts":
            on_message(message[:3] if message[0] == "bound" else message)

    if spec.own is not None and spec.own.online:
        reply = run_online(
            instance,
            spec.family,
            spec.own,
            spec.options,
            seed=spec.seed or 0,
            limit=spec.time_limit,
            memory_mb=spec.memory_limit,
            interrupt=interrupt,
        )
    else:
        with _request(instance, spec, run) as (function, *arguments):
            reply = run_child(
                function,
                *arguments,
                limit=spec.time_limit,
                memory_mb=spec.memory_limit,
                on_message=receive,
                engine=spec.process,
                helpers=spec.helpers if timed else None,
                interrupt=interrupt,
            )
    run.end, run.seconds = reply.outcome, reply.seconds
    run.load_seconds, run.peak_memory_mb = reply.start_seconds, reply.peak_mb
    run.cpu_seconds, run.limited = reply.cpu_seconds, reply.limited
    if reply.outcome == "done":
        run.result, run.seconds = reply.value
        if reply.spent is not None and reply.spent.runs:
            run.charge(reply.spent, divided=not spec.method.runs_children)
        if spec.own is not None:
            _receive_own(run, cast(str | None, run.result), instance, spec)
    elif isinstance(reply.error, Exception):
        run.error, run.message = reply.error, str(reply.error)
        if isinstance(reply.error, OwnMethodError):
            run.error = _renamed(reply.error, spec.method.name)
    else:
        run.details = reply.error or reply.outcome
        lines = run.details.strip().splitlines()
        run.message = lines[-1 if reply.outcome == "error" else 0]
    return run


def _renamed(error: Exception, name: str) -> OwnMethodError:
    """Return an error of a user's own method that names it; notes, such as a traceback, stay."""
    named = OwnMethodError(f"method {name}: {error}")
    for note in getattr(error, "__notes__", ()):
        named.add_note(note)
    return named


@contextmanager
def _request(instance: Instance, spec: TaskSpec, run: MethodRun) -> Iterator[tuple[Any, ...]]:
    """Provide the function that the child process runs, and its arguments."""
    seed = spec.seed or 0
    if spec.own is not None:
        with spec.own.request(instance, spec.options, spec.time_limit, seed) as found:
            yield found
    elif spec.formulation is not None:
        one = spec.formulation
        with (
            tempfile.TemporaryDirectory(prefix="schedgap-", ignore_cleanup_errors=True) as folder,
            reserved(one.threads) as run.pinned,
        ):
            log = Path(folder, "log")
            yield one.call(spec.family, spec.module, instance, spec.time_limit, log, run.pinned)
            run.log = read_log(log)
    else:
        yield (
            "schedgap.analysis.solving.tasks:run_method",
            spec.module,
            instance,
            spec.method.name,
            dict(spec.options),
            spec.engine,
            spec.time_limit,
            seed,
        )


def _receive_own(run: MethodRun, text: str | None, instance: Instance, spec: TaskSpec) -> None:
    """Take what a user's own method has returned as JSON text: its schedule, or None."""
    run.result = MethodResult()
    if run.rejected:
        more = "" if len(run.rejected) == 1 else f" (and {len(run.rejected) - 1} more)"
        run.result = MethodResult(note=f"not counted: {run.rejected[0]}{more}")
    try:
        if text is not None and run.schedule is None:
            run.result = MethodResult(schedule_data(instance, text, spec.method.name))
        elif text is not None:  # after incumbents, one more
            schedule, value = measured(
                instance, spec.family, spec.method, text, spec.recorded_options()
            )
            run.receive(("incumbent", run.seconds, value, schedule), spec.family.sense(instance))
        elif run.schedule is None and run.rejected:
            raise InvalidScheduleError(run.rejected[0])
    except SchedgapError as error:
        run.end, run.error, run.message = "error", error, str(error)


def run_method(
    send: Callable[[object], None],
    module: str,
    instance: Instance,
    method: str,
    options: Mapping[str, Any],
    engine: str | None,
    limit: float | None,
    seed: int,
) -> tuple[MethodResult, float]:
    """Run a method in this (child) process; return its result and its seconds.

    `send`: sends a message to the parent process. `options`: a value for every option of the
    method. `engine`: engine of the method. `limit`: time limit in wall-clock seconds.
    """
    owner = family_of(module)
    chosen = owner.method(method)
    clock = Clock(limit)
    begun = now()
    call = RunContext(options, engine, Budget(clock, seed), SentProgress(send, clock))
    result = owner.run(chosen, instance, call)
    return result, now() - begun
