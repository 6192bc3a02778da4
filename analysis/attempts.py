"""One method on one instance in a child process: what to run, what came back, and how it ended."""

import importlib
import importlib.metadata
import math
import platform
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from schedgap.errors import UsageError
from schedgap.instances.instance import Instance
from schedgap.instances.settings import whole_number
from schedgap.models.family import Family, family
from schedgap.models.method import Method, MethodResult, RunContext
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.results import ENGINES

End = Literal["done", "timeout", "memory", "crash", "error"]
Point = tuple[float, float | None, float | None]  # (seconds, objective, bound)
OnMessage = Callable[[tuple[Any, ...]], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """A method with everything that it is run with. Limits in wall-clock seconds and MB."""

    family: Family
    method: Method
    engine: str | None
    options: Mapping[str, Any]
    seed: int | None
    time_limit: float | None
    memory_limit: float | None

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that this plan loads, each in a process of its own."""
        if self.method.runs_children:
            return self.method.engines
        return () if self.engine is None else (self.engine,)

    @property
    def process(self) -> str | None:
        """The engine of the child process that the method runs in; None where it loads none."""
        return None if self.method.runs_children else self.engine

    @property
    def module(self) -> str:
        """The module of the family, for a child process to import."""
        return sys.modules[f"schedgap.models.{self.family.name}"].__name__

    def recorded_options(self) -> dict[str, Any]:
        """The `options` of the solution file: all of them, and the time limit where given."""
        limit = {} if self.time_limit is None else {"time_limit": self.time_limit}
        plain = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in self.options.items()
        }
        return plain | limit

    def versions(self) -> dict[str, str]:
        """Versions of all that could change the answer."""
        found = {
            "schedgap": importlib.metadata.version("schedgap"),
            "python": platform.python_version(),
        }
        for engine in self.engines:
            package = ENGINES[engine][0]
            found[package] = importlib.metadata.version(package)
        return found


def plan(
    instance: Instance,
    method: str,
    *,
    engine: str | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    seed: int | None = None,
    settings: Mapping[str, object],
) -> Plan:
    """Return the plan for a method by name, with every option at its value.

    Raises
    ------
    UsageError
        For an unknown method, option or engine, or a limit that is not a positive number.
    EngineUnavailableError
        When an engine that it needs is not installed.
    """
    for name, limit in (("time", time_limit), ("memory", memory_limit)):
        if limit is not None and not (0 < limit < math.inf):
            raise UsageError(f"{name} limit {limit}: need a number > 0")
    if seed is not None:
        seed = whole_number(seed, "seed", most=2**31 - 1)
    owner = family(instance.family)
    found = owner.method(method)
    options = found.parse(settings)
    chosen = found.choose_engine(engine)
    made = Plan(
        family=owner,
        method=found,
        engine=chosen,
        options=options,
        seed=0 if seed is None and found.seeded else seed,
        time_limit=None if time_limit is None else float(time_limit),
        memory_limit=None if memory_limit is None else float(memory_limit),
    )
    if made.engines:
        from schedgap.solvers.engines.availability import require

        for name in made.engines:
            require(name)
    return made


@dataclass(slots=True)
class Attempt:
    """How a run ended and what it left: the outcome, or what it had streamed when it was killed.

    `schedule` is the best streamed one, `certificate` that of the best streamed bound; `word` is
    the best bound of an engine that nothing has confirmed. Seconds are the method's own;
    `start_seconds` those of its process before it.
    """

    end: End = "done"
    message: str = ""
    outcome: MethodResult | None = None
    error: Exception | None = None  # as the method raised it, when it is one of ours
    details: str = ""  # traceback, or the last words of a process that crashed
    schedule: Any = None
    objective: float | None = None
    bound: float | None = None
    word: float | None = None
    certificate: Mapping[str, Any] | None = None
    progress: list[Point] = field(default_factory=list)
    seconds: float = 0.0
    start_seconds: float = 0.0
    peak_memory_mb: float | None = None

    def receive(self, message: tuple[Any, ...], sense: str) -> None:
        """Take in one streamed message: keep it when it is better than what is there."""
        sign = 1.0 if sense == "min" else -1.0
        match message:
            case ("incumbent", seconds, objective, schedule):
                if self.objective is None or sign * (objective - self.objective) < 0:
                    self.objective, self.schedule = objective, schedule
                    self.progress.append((seconds, objective, self.bound))
            case ("bound", seconds, value, certificate, False):
                if self.word is None or sign * (value - self.word) > 0:
                    self.word = value
                    self.progress.append((seconds, self.objective, value))
            case ("bound", seconds, value, certificate, True):
                if self.bound is None or sign * (value - self.bound) > 0:
                    self.bound, self.certificate = value, certificate
                    self.progress.append((seconds, self.objective, value))
                elif value == self.bound and self.certificate is None:
                    self.certificate = certificate


def attempt(
    instance: Instance,
    plan: Plan,
    on_message: OnMessage | None = None,
    interrupt: threading.Event | None = None,
) -> Attempt:
    """Run a plan in a child process and return how it ended; never raises for what it did.

    In a thread, `interrupt` stands for Ctrl-C (see `run_child`).
    """
    from schedgap.solvers.children.processes import run_child

    kept = Attempt()
    sense = plan.family.sense(instance)

    def receive(message: tuple[Any, ...]) -> None:
        kept.receive(message, sense)
        if on_message is not None:
            on_message(message[:3] if message[0] == "bound" else message)

    reply = run_child(
        "schedgap.analysis.attempts:run_method",
        plan.module,
        instance,
        plan.method.name,
        dict(plan.options),
        plan.engine,
        plan.time_limit,
        plan.seed or 0,
        limit=plan.time_limit,
        memory_mb=plan.memory_limit,
        on_message=receive,
        engine=plan.process,
        interrupt=interrupt,
    )
    kept.end, kept.seconds = reply.outcome, reply.seconds
    kept.start_seconds, kept.peak_memory_mb = reply.start_seconds, reply.peak_mb
    if reply.outcome == "done":
        kept.outcome, kept.seconds = reply.value
    elif isinstance(reply.error, Exception):
        kept.error, kept.message = reply.error, str(reply.error)
    else:
        kept.details = reply.error or reply.outcome
        lines = kept.details.strip().splitlines()
        kept.message = lines[-1 if reply.outcome == "error" else 0]
    return kept


class _Stream:
    """A method's progress, sent to the parent process with the method's own clock."""

    def __init__(self, send: Callable[[object], None], clock: Clock) -> None:
        self._send, self._clock = send, clock

    def incumbent(self, schedule: Any, objective: float) -> None:
        """Send a feasible schedule and its value."""
        self._send(("incumbent", self._clock.elapsed(), float(objective), schedule))

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Send a bound and its certificate; an infinite one is none."""
        if math.isfinite(value):
            self._send(("bound", self._clock.elapsed(), float(value), certificate, confirmed))

    def phase(self, text: str) -> None:
        """Send a few words on what is being done."""
        self._send(("phase", self._clock.elapsed(), text))


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
    """Run a method in this process (a child); return its outcome and its seconds."""
    owner: Family = importlib.import_module(module).FAMILY
    found = owner.method(method)
    clock = Clock(limit)
    begun = time.monotonic()
    outcome = found.run(instance, RunContext(options, engine, clock, seed, _Stream(send, clock)))
    return outcome, time.monotonic() - begun
