"""One method on one instance: prepared here, run in a child process, read and verified here."""

import importlib.metadata
import math
import platform
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar, Self

from schedgap.analysis.results.bounds import Scale, derive_status
from schedgap.analysis.results.solution import Solution, solution_data
from schedgap.analysis.runners.child import verified_objective
from schedgap.analysis.runners.request import Limits, Request
from schedgap.analysis.runners.run import Message, MethodRun, OnMessage
from schedgap.errors import ContradictionError, FamilyError, InputError, UsageError
from schedgap.instances.contract import Guard, json_object
from schedgap.instances.families import FAMILIES, OWN
from schedgap.instances.instance import Instance
from schedgap.instances.settings import whole_number
from schedgap.models.family import Family, family
from schedgap.models.method import Lazy, Method, MethodResult, RunContext
from schedgap.solvers.children.processes import ChildResult, run_child
from schedgap.solvers.engines.availability import is_installed
from schedgap.solvers.engines.registry import ENGINES

Receiver = Callable[[Message], Message | None]
Verifier = Callable[["Runner", object], float]  # (runner, schedule) -> verified objective
_CHILD = "schedgap.analysis.runners.child"


@dataclass(frozen=True, slots=True)
class Runner(ABC):
    """A method with its engine, options, seed and limits, on an instance.

    `Choice.runner` prepares it, `run` runs the method in a child process, and `solution` verifies
    what it has found. Each kind of method has a subclass: methods that a family lists
    (`NamedRunner`), users' methods (`own/`), changed models (`programs/`), and programs of a
    benchmark (`benchmarks/`).
    """

    instance: Instance
    family: Family
    method: Method
    engine: str | None
    options: Mapping[str, Any]
    seed: int | None
    limits: Limits

    is_own: ClassVar[bool] = False  # a method of the user's own, whose faults contradict nothing
    seeks_proofs: ClassVar[bool] = True  # whether an optimum is worth the search for a proof

    # --- in the parent: prepare -------------------------------------------------------------

    @classmethod
    def prepare(
        cls,
        instance: Instance,
        method: Method,
        request: Request,
        **parts: Any,
    ) -> Self:
        """Return the runner, with a value for every option.

        `parts`: fields of the subclass.

        Raises
        ------
        UsageError
            For an unknown option or engine, or a limit that is not a positive number.
        """
        limits, seed = asdict(request.limits), request.seed
        for name, limit in limits.items():
            if limit is not None and not (0 < limit < math.inf):
                raise UsageError(f"{name} limit {limit}: need a number > 0")
        if seed is not None:
            seed = whole_number(seed, "seed", most=2**31 - 1)
        return cls(
            instance=instance,
            family=family(instance.family),
            method=method,
            options=method.parse(request.settings),
            engine=method.choose_engine(request.engine),
            seed=0 if seed is None and method.seeded else seed,
            limits=Limits(*(limit and float(limit) for limit in limits.values())),
            **parts,
        )

    @property
    def module(self) -> str:
        """Name of the family's module, which the child process imports."""
        return FAMILIES[self.family.name].models

    @property
    def sense(self) -> str:
        """Sense of the values that the method reports."""
        return self.family.sense(self.instance)

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that the task loads, each in a separate process."""
        if self.method.runs_children:
            return self.method.engines
        own = () if self.engine is None else (self.engine,)
        return own + tuple(filter(is_installed, self.method.child_engines))

    @property
    def recorded_engine(self) -> str | None:
        """The engines that the task loads, as records name them."""
        return "+".join(self.engines) or None

    @property
    def process(self) -> str | None:
        """The engine that the method's own child process loads, or None."""
        return None if self.method.runs_children else self.engine

    @property
    def helpers(self) -> tuple[tuple[str, ...], str] | None:
        """The engines that the method runs in child processes, and the module that they need."""
        if self.method.runs_children and isinstance(self.method.run, Lazy):
            return self.engines, self.method.run.module
        return None

    @property
    def label(self) -> str:
        """The method with its non-default engine and options: `hare:gpu_rule=finish`."""
        engine = "" if self.engine == self.method.choose_engine(None) else f"@{self.engine}"
        changed = [
            f":{option.name}={option.plain(self.options[option.name])}"
            for option in self.method.options
            if self.options[option.name] != option.default
        ]
        return self.method.name + engine + "".join(changed)

    def plain_options(self) -> dict[str, object]:
        """Return all options as JSON data."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in self.options.items()
        }

    def recorded_options(self) -> dict[str, object]:
        """Return the `options` of the solution file: all options, and the time limit if set."""
        limit = {} if self.limits.time is None else {"time_limit": self.limits.time}
        return self.plain_options() | limit

    def versions(self) -> dict[str, str]:
        """Return the versions of Python, this package, the family's and the engines, by package."""
        source = FAMILIES.get(self.family.name)
        packages = [ENGINES[engine].package for engine in self.engines]
        if source is not None and source.package:
            packages.insert(0, source.package)
        found = {package: package_version(package) for package in packages}
        return installed_versions() | {name: value for name, value in found.items() if value}

    # --- in the child: run ------------------------------------------------------------------

    def run(
        self,
        on_message: OnMessage | None = None,
        *,
        interrupt: threading.Event | None = None,
        run: MethodRun | None = None,
        timed: bool = False,
    ) -> MethodRun:
        """Run the method in a child process; its errors are returned, not raised.

        `on_message`: called with each message of the method while it runs. `interrupt`: ends the
        run when set; used in threads, which do not receive Ctrl-C (see `run_child`). `run`: what is
        filled in and returned; after a KeyboardInterrupt it has what was reported by then. `timed`:
        whether the processes of all engines of the method are started before its clock.
        """
        run = run or MethodRun()
        read = self.receiver(run)

        def receive(sent: Message) -> None:
            message = read(sent)
            if message is None:
                return
            run.receive(message, self.sense)
            if on_message is not None:
                on_message(message[:3] if message[0] == "bound" else message)

        reply = self.call(
            run,
            limit=self.limits.time,
            memory_mb=self.limits.memory,
            on_message=receive,
            helpers=self.helpers if timed else None,
            interrupt=interrupt,
        )
        run.finish(reply, divided=not self.method.runs_children)
        self.read(run)
        return run

    @abstractmethod
    def call(self, run: MethodRun, **terms: Any) -> ChildResult:
        """Call the method in a child process; the value is what it returned and its seconds.

        `terms`: limits, receiver of messages and the like, for `run_child`.
        """

    def receiver(self, run: MethodRun) -> Receiver:
        """Return what translates a message of the child process; None if it says nothing new."""
        return lambda message: message

    def read(self, run: MethodRun) -> None:  # noqa: B027 - no other terms here
        """Read what the child process returned, or its error, in terms of the instance."""

    # --- in the parent: verify --------------------------------------------------------------

    def solution(self, run: MethodRun, verified: "Verifier | None" = None) -> Solution:
        """Verify what the method found, recompute the objective, and derive the status.

        `verified`: returns the verified objective of a schedule: `verified_here` (default) or
        `verified_in_child`.

        Raises
        ------
        SchedgapError
            As raised by the method.
        RuntimeError, FamilyError
            If the method failed in another way, which is a bug of ours or of the family's package.
        ContradictionError
            If the schedule breaks a rule or refutes the bound.
        """
        failure, name, kind = self.failure(run), self.method.name, self.method.kind
        if failure is not None:
            raise failure
        data = None if run.best_schedule is None else self._data(run.best_schedule)
        if run.infeasible and data is not None:
            raise ContradictionError(f"method {name}: 'infeasible', but it has a schedule")
        if data is None and not run.infeasible and kind != "bound":
            data = self.null_schedule()
        objective = None if data is None else self._verified(data, verified or verified_here)
        self.check(run, objective)
        scale = Scale.of(self.instance)
        relaxed = data is not None and bool(self.family.omitted_rules(data))
        reported, bound, certificate = None, None, None
        if kind in ("exact", "bound") and not relaxed:
            reported, certificate = run.best_bound(objective, scale)
            bound = self._fitted(objective, reported, scale)
        is_rounded = kind == "bound" and bound is not None and bound != reported
        rounded = {"bound_before_rounding": reported} if is_rounded else {}
        solution = solution_data(
            self.instance,
            method=name,
            engine=self.recorded_engine,
            kind=kind,
            options=self.recorded_options(),
            seed=self.seed,
            status=derive_status(kind, objective, bound, scale, infeasible=run.infeasible),
            objective=objective,
            bound=bound,
            seconds=round(run.seconds, 6),
            schedule=data,
            trace=run.trace(certificate) | rounded,
            versions=self.versions(),
        )
        return Solution.bind(
            self.instance,
            solution,
            progress=run.points(objective, bound),
            certificate=certificate,
            partial=None if run.result is None else run.result.partial,
        ).as_verified()

    def failure(self, run: MethodRun) -> Exception | None:
        """Return the error to raise for a method that failed, or None."""
        if run.end != "error":
            return None
        if run.error is not None:
            return run.error
        failure: Exception = RuntimeError(f"method {self.method.name} failed: {run.message}")
        if self.family.name not in OWN:
            where = f"family {self.family.name}: method {self.method.name}"
            failure = FamilyError(f"{where}: {_last_error(run)}")
        failure.add_note(run.details)
        return failure

    def null_schedule(self) -> Any:
        """Return the schedule of a method that was stopped before it had one, or None."""
        return None

    def check(self, run: MethodRun, objective: float | None) -> None:  # noqa: B027 - none here
        """Check the verified objective against what was reported during the run."""

    def refused(self, error: Exception, text: str) -> Exception:
        """Return the error to raise for a schedule that the rules refuse; `text` says why."""
        if isinstance(error, InputError) and self.family.name not in OWN:
            return FamilyError(f"family {self.family.name}: {text}")
        return error

    def recorded(self, run: MethodRun | None) -> dict[str, object]:
        """Return what the record of this kind of method has in addition to other records."""
        return {}

    def _data(self, schedule: Any) -> Any:
        """Return a schedule as JSON data."""
        if self.family.name in OWN:
            return schedule.to_data(self.instance)
        part = f"method {self.method.name}: to_data of its schedule"
        write = Guard(self.family.name, part, lambda: schedule.to_data(self.instance), json_object)
        return write()

    def _verified(self, data: object, verified: Verifier) -> float:
        """Return the verified objective."""
        try:
            return verified(self, data)
        except (ContradictionError, InputError) as error:
            text = str(error)
            if isinstance(error, InputError):
                text = f"method {self.method.name} returned no schedule of the family: {text}"
            raise self.refused(error, text) from None

    def _fitted(self, objective: float | None, bound: float | None, scale: Scale) -> float | None:
        """Return a bound rounded to the objective's grid, without round-off past the objective."""
        if bound is None:
            return None
        bound = scale.on_grid(bound)
        if objective is None:
            return bound
        if scale.refutes(objective, bound):
            raise ContradictionError(
                f"method {self.method.name}: its bound {bound:.10g} lies past its own verified "
                f"schedule of {objective:.10g}"
            )
        return min(bound, objective) if scale.sense == "min" else max(bound, objective)


class Runnable(ABC):
    """A method that can be run on instances: what a `Choice` chooses."""

    __slots__ = ()

    def has(self, owner: Family) -> bool:
        """Return whether it can be run on instances of a family; by default it can on all."""
        return True

    @abstractmethod
    def prepare(self, instance: Instance, request: Request) -> Runner:
        """Return its runner on an instance."""

    def __call__(self, instance: Instance, call: RunContext) -> MethodResult:
        """Not run in this process: see its runner."""
        raise TypeError("it runs in a child process only")


@dataclass(frozen=True, slots=True)
class NamedMethod(Runnable):
    """A method that families list, by its name or an alias."""

    name: str

    def has(self, owner: Family) -> bool:
        """Return whether a family lists the method."""
        return self.name in owner.aliases or any(
            method.name == self.name for method in owner.methods
        )

    def prepare(self, instance: Instance, request: Request) -> "NamedRunner":
        """Return its runner.

        Raises
        ------
        UsageError
            For an unknown method, option or engine.
        EngineUnavailableError
            If a required engine is not installed.
        """
        from schedgap.solvers.engines.availability import require

        method = family(instance.family).method(self.name)
        runner = NamedRunner.prepare(instance, method, request)
        for name in runner.engines:
            require(name)
        return runner


@dataclass(frozen=True, slots=True)
class NamedRunner(Runner):
    """Runs a method that a family lists."""

    def call(self, run: MethodRun, **terms: Any) -> ChildResult:
        """Call the method in a child process, with the engines that it runs in others.

        Where the method needs compiled code, that is made first, and not on the method's clock.
        """
        kernels = {place: resolve_name(place) for place in self.method.kernels}
        waited = [p for p, k in kernels.items() if k.large(self.instance) and k.waits]
        for number, place in enumerate(waited, 1):
            part = f" ({number} of {len(waited)})" if len(waited) > 1 else ""
            terms["on_message"](("phase", 0.0, f"compiling code, once on this machine{part}"))
            reply = run_child(
                "schedgap.solvers.search.compiled:compile_kernel",
                place,
                interrupt=terms["interrupt"],
            )
            if reply.outcome in ("error", "crash"):  # the disk may be full
                kernels[place].give_up()
        return run_child(
            f"{_CHILD}:run_method",
            self.module,
            self.instance,
            self.method.name,
            dict(self.options),
            self.engine,
            self.limits.time,
            self.seed or 0,
            engine=self.process,
            **terms,
        )

    def null_schedule(self) -> Any:
        """Return the empty schedule, if it is feasible."""
        return self.family.null_schedule(self.instance)


def verified_here(runner: Runner, schedule: object) -> float:
    """Verify a schedule in this process and return its objective.

    `runner`: of the method that returned the schedule.

    Raises
    ------
    ContradictionError
        If the schedule breaks a rule.
    """
    return verified_objective(
        runner.family, runner.method.name, runner.instance, schedule, runner.recorded_options()
    )


def verified_in_child(
    runner: Runner, schedule: object, *, interrupt: threading.Event | None = None
) -> float:
    """Verify a schedule in a child process; threads can then verify schedules in parallel.

    `runner`: of the method that returned the schedule. `interrupt`: ends the child process when
    set.

    Raises
    ------
    ContradictionError
        If the schedule breaks a rule.
    """
    reply = run_child(
        f"{_CHILD}:verify_schedule",
        runner.module,
        runner.method.name,
        runner.instance,
        schedule,
        runner.recorded_options(),
        engine=runner.process,
        interrupt=interrupt,
    )
    return float(reply.result())


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of this package."""
    return {"schedgap": package_version("schedgap"), "python": platform.python_version()}


def package_version(package: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    try:
        return _version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


@cache
def _version(package: str) -> str:
    return importlib.metadata.version(package)


def _last_error(run: MethodRun) -> str:
    """Return the error of a method of another package on one line, with its place."""
    lines = run.details.strip().splitlines()
    head = max((n for n, line in enumerate(lines) if line.startswith(" ")), default=-1)
    text = " ".join(lines[head + 1 :]) or run.message
    places = re.findall(r'File "([^"]*)", line (\d+)', run.details)
    return f"{text} ({Path(places[-1][0]).name}, line {places[-1][1]})" if places else text
