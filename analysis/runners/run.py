"""What a method has returned or reported, and how it ended."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from schedgap.analysis.results.bounds import Scale, tighter
from schedgap.models.method import MethodResult
from schedgap.solvers.children.meter import Spent
from schedgap.solvers.children.processes import ChildResult
from schedgap.solvers.proofs.tree import Proof

End = Literal["done", "timeout", "memory", "crash", "error"]
Point = tuple[float, float | None, float | None]  # (seconds, objective, bound)
Message = tuple[Any, ...]  # kind, seconds, and what `SentProgress` says of it
OnMessage = Callable[[Message], None]


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

    `facts` are what the process has reported in addition to schedules and bounds. Of a benchmark,
    `log` is the engine's log, and `pinned` are the cores to which the process was bound.
    """

    end: End = "done"
    message: str = ""
    result: MethodResult | None = None
    error: Exception | None = None  # the method's own, if it is one of `schedgap.errors`
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
    def best_schedule(self) -> Any:
        """The schedule that was returned, else the best one that was reported."""
        returned = None if self.result is None else self.result.schedule
        return self.schedule if returned is None else returned

    @property
    def infeasible(self) -> bool:
        """Whether the method says that there is no schedule."""
        return self.result is not None and self.result.infeasible

    @property
    def proof(self) -> Proof | None:
        """The proof that the search itself has written, not checked."""
        return None if self.result is None else self.result.proof

    def receive(self, message: Message, sense: str) -> None:
        """Process one message of the running method; keep a schedule or bound if it is better.

        `message`: as sent by `SentProgress`. `sense`: sense of the objective.
        """
        sign = 1.0 if sense == "min" else -1.0
        match message:
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

    def finish(self, reply: ChildResult, *, divided: bool) -> None:
        """Take what the child process returned, and how it ended.

        `divided`: whether a single run of an engine leaves the building of the model only.
        """
        self.end, self.seconds = reply.outcome, reply.seconds
        self.load_seconds, self.peak_memory_mb = reply.start_seconds, reply.peak_mb
        self.cpu_seconds, self.limited = reply.cpu_seconds, reply.limited
        if reply.outcome == "done":
            self.result, self.seconds = reply.value
            if reply.spent is not None and reply.spent.runs:
                self._charge(reply.spent, divided)
        elif isinstance(reply.error, Exception):
            self.error, self.message = reply.error, str(reply.error)
        else:
            self.details = reply.error or reply.outcome
            lines = self.details.strip().splitlines()
            self.message = lines[-1 if reply.outcome == "error" else 0]

    def _charge(self, spent: Spent, divided: bool) -> None:
        """Take the times of engines."""
        self.engine_seconds, self.engine_cpu_seconds = spent.engine, spent.engine_cpu
        self.confirm_seconds = spent.confirm
        self.seconds -= spent.confirm
        if divided and spent.runs == 1:
            self.build_seconds = self.seconds - spent.engine

    def best_bound(
        self, objective: float | None, scale: Scale
    ) -> tuple[float | None, Mapping[str, object] | None]:
        """Return the best bound of the method and its certificate, if it has one.

        A bound reported during the run may be better than the final one. If the method was killed,
        an engine's bound that no second run confirmed counts as well, unless it would prove the
        schedule optimal.
        """
        result, sense = self.result, scale.sense
        if result is not None:
            final = result.bound
            if final is not None and not math.isfinite(final):
                final = None
            if tighter(final, self.bound, sense) == final:
                return final, result.certificate
            return self.bound, self.certificate
        reported = self.unconfirmed
        if reported is None or tighter(self.bound, reported, sense) == self.bound:
            return self.bound, self.certificate
        if objective is not None and scale.compare(objective, reported) != "open":
            return self.bound, self.certificate
        return reported, None

    def points(self, objective: float | None, bound: float | None) -> tuple[Point, ...]:
        """Return the points reported during the run and, last, the final objective and bound."""
        points = (*self.progress, (self.seconds, objective, bound))
        return tuple((round(seconds, 6), value, limit) for seconds, value, limit in points)

    def trace(self, certificate: Mapping[str, object] | None) -> dict[str, object]:
        """Return the `trace` of the solution file; of the certificate, what is short."""
        trace: dict[str, object] = {} if self.result is None else dict(self.result.trace)
        if self.result is not None and self.result.note:
            trace["note"] = self.result.note
        if self.end != "done":
            trace["stopped"] = self.message or self.end
        if certificate is not None:
            trace["certificate"] = {
                key: value if isinstance(value, str | int | float) else f"{len(value)} entries"
                for key, value in certificate.items()
                if isinstance(value, str | int | float | list | dict)
            }
        trace["load_seconds"] = round(self.load_seconds, 6)
        if self.limited is not None:
            trace["limited"] = self.limited
        return {key: _plain(value) for key, value in trace.items()}


def _plain(value: object) -> object:
    """Return a value as JSON data: lists, Python numbers, and null for non-finite numbers."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
