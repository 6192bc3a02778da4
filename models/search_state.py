"""Incumbent and bound of a running method, and the stages that close the gap between them.

A stage is a function `stage(found, ..., clock=, seed=, threads=) -> StageResult`. It reports every
better schedule and bound at once, so that nothing is lost when it is stopped. Run by `child`, it
has a process and an engine of its own, because two engines cannot share one.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from schedgap.errors import ContradictionError
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.children.processes import run_child
from schedgap.solvers.engines.confirm import WORDS, confirm
from schedgap.solvers.engines.results import USUAL_TOLERANCES

__all__ = ["Finder", "Relay", "SearchState", "StageResult", "solve_program"]

_APART = 1e-6  # relative: a bound that lies further past a schedule is wrong


class Finder(Protocol):
    """Receiver of schedules and bounds: a search state, or the connection of a child to it."""

    def offer(self, schedule: Any) -> None:
        """Take a feasible schedule of the whole problem."""

    @property
    def lower(self) -> float:
        """The best confirmed bound, in the units of the search state."""

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Take a valid bound, in the units of the search state.

        `certificate` proves it. One that is not `confirmed` is an engine's word: it is shown, and
        closes nothing.
        """


@dataclass(frozen=True, slots=True)
class StageResult:
    """How a stage ended.

    `complete`: the search was exhaustive, so that its schedule is optimal. `infeasible`: it proved
    that no schedule exists. `trace` is plain JSON data for the reader; `value` is for the
    stages after it.
    """

    complete: bool = False
    infeasible: bool = False
    trace: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None


class SearchState:
    """Incumbent and bound of a method; every improvement is reported to the caller.

    All values are minimised: `measure` turns a schedule into one, `to_objective` turns it back.

    Parameters
    ----------
    call : RunContext
        Of the method: its clock, seed, threads and progress.
    measure : callable
        Value of a schedule, for example in whole steps of time; less is better.
    to_objective : callable
        From a value to the instance's own units and sense.
    round_bound : callable
        Least value of any schedule that is not below a bound, for example the next whole number.
    normalise : callable
        The form in which a schedule is kept, for example shifted to the left. None for one that
        breaks a rule by less than an engine's tolerance: it is dropped, and the trace counts it.
    tolerance : float
        Relative difference up to which two values count as equal; 0 for whole numbers.
    trace_of : callable
        What the trace says of the schedule that is returned.
    """

    def __init__(
        self,
        call: RunContext,
        measure: Callable[[Any], float],
        *,
        to_objective: Callable[[float], float] = float,
        round_bound: Callable[[float], float] = float,
        normalise: Callable[[Any], Any] = lambda schedule: schedule,
        tolerance: float = 1e-9,
        trace_of: Callable[[Any], Mapping[str, Any]] = lambda schedule: {},
    ) -> None:
        self.call = call
        self._measure, self._to_objective = measure, to_objective
        self._round_bound, self._normalise = round_bound, normalise
        self._tolerance, self._trace_of = tolerance, trace_of
        self.schedule: Any = None  # the incumbent
        self.upper: float | None = None  # its value
        self._lower = -math.inf
        self.certificate: Mapping[str, Any] | None = None  # of `lower`
        self.word = -math.inf  # an engine's unconfirmed bound
        self.infeasible = False
        self.proofs: list[str] = []
        self._dropped = 0
        self.trace: dict[str, Any] = {}

    def offer(self, schedule: Any) -> None:
        """Make a schedule the incumbent if it is better; None counts as a dropped answer."""
        schedule = None if schedule is None else self._normalise(schedule)
        if schedule is None:
            self._dropped += 1
            self.trace["dropped"] = (
                f"{self._dropped} answers that an engine accepts within its tolerances only"
            )
            return
        value = self._measure(schedule)
        if self.upper is None or value < self.upper - self._tolerance * max(1.0, abs(value)):
            self.upper, self.schedule = value, schedule
            self.call.progress.incumbent(schedule, self._to_objective(value))

    @property
    def lower(self) -> float:
        """The best confirmed bound."""
        return self._lower

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Raise the bound; of equal bounds the first with a certificate is kept."""
        if not math.isfinite(value):
            return
        lower = self._round_bound(value)
        if not confirmed:
            if lower > max(self.lower, self.word) and not self._meets(lower):
                self.word = lower
                self.call.progress.bound(self._to_objective(lower), confirmed=False)
            return
        if lower > self.lower or (lower == self.lower and self.certificate is None and certificate):
            self._lower, self.certificate = lower, certificate
            self.call.progress.bound(self._to_objective(lower), certificate)

    def _meets(self, lower: float) -> bool:
        """Whether a bound closes the gap to the incumbent."""
        if self.upper is None:
            return False
        return lower >= self.upper - self._tolerance * max(1.0, abs(self.upper))

    @property
    def closed(self) -> bool:
        """Whether the gap is closed, or infeasibility is proved."""
        return self.infeasible or self._meets(self.lower)

    def take(self, name: str, report: StageResult) -> StageResult:
        """Record the end of a stage; ContradictionError where it contradicts the incumbent."""
        if report.trace:
            self.trace[name] = dict(report.trace)
        if report.complete:
            self.proofs.append(name)
        if report.infeasible:
            self.infeasible = True
        if self.upper is not None and (
            self.infeasible or self.lower - self.upper > _APART * max(1.0, abs(self.upper))
        ):
            proved = (
                "that there is no schedule" if self.infeasible else self._to_objective(self.lower)
            )
            raise ContradictionError(
                f"{name} proves {proved}, beside a schedule of {self._to_objective(self.upper)}"
            )
        return report

    def solve(self, program: Any, read: Callable[[Any], Any], **settings: Any) -> EngineResult:
        """Solve one program of the whole problem with the method's engine, in this process.

        Parameters are those of `solve_program`, but for the call's own.
        """
        call, engine = self.call, self.call.engine or "highs"
        call.progress.phase(f"solving with {engine}")
        result, report = solve_program(
            self,
            program,
            engine,
            clock=call.clock,
            seed=call.seed,
            threads=call.threads,
            read=read,
            **settings,
        )
        self.trace |= report.trace
        self.take("complete search", replace(report, trace={}))
        return result

    def child(
        self,
        name: str,
        stage: Callable[..., StageResult],
        *args: Any,
        clock: Clock | None = None,
        engine: str | None = None,
        **kwargs: Any,
    ) -> StageResult | None:
        """Run a stage in a child process.

        Parameters
        ----------
        name : str
            Of the stage, in the trace and among the proofs.
        stage : callable
            A function at the top of its module, which the child imports.
        clock : Clock or None
            The stage's own; None: all that is left.
        engine : str or None
            The one that the stage loads.

        Returns
        -------
        StageResult or None
            None when the stage was stopped from outside; what it had found is kept.
        """
        clock = self.call.clock if clock is None else clock
        reply = run_child(
            f"{__name__}:_run",
            stage,
            self.lower,
            *args,
            limit=None if clock.limit is None else clock.remaining(),
            on_message=self._hear,
            engine=engine,
            clock=clock,
            seed=self.call.seed,
            threads=self.call.threads,
            **kwargs,
        )
        if isinstance(reply.error, Exception):
            raise reply.error
        if reply.outcome != "done":
            self.trace[name] = f"{reply.outcome}: {str(reply.error)[-200:]}"
            return None
        report: StageResult = reply.value
        return self.take(name, report)

    def _hear(self, message: tuple[str, Any]) -> None:
        kind, content = message
        if kind == "schedule":
            self.offer(content)
        else:
            value, certificate, confirmed = content
            self.bound(value, certificate, confirmed=confirmed)

    def outcome(self, note: str = "") -> MethodResult:
        """Return incumbent, bound and certificate as the result of the method."""
        if self.infeasible:
            return MethodResult(infeasible=True, note=note or "complete search", trace=self.trace)
        if self.closed:
            self.trace["proof"] = self.proofs or ["bounds meet"]
        if self.schedule is not None:
            self.trace |= self._trace_of(self.schedule)
        lower, certificate = self.lower, self.certificate
        if self.word > lower and self._meets(self.word):
            self.trace["unconfirmed"] = f"an engine's bound of {self._to_objective(self.word):.10g}"
        elif self.word > lower:
            lower, certificate = self.word, None
        return MethodResult(
            schedule=self.schedule,
            bound=self._to_objective(lower) if math.isfinite(lower) else None,
            note=note,
            trace=self.trace,
            certificate=certificate,
        )


def solve_program(
    found: Finder,
    program: Any,
    engine: str,
    *,
    clock: Clock,
    read: Callable[[Any], Any],
    real: Callable[[float], float] = float,
    **settings: Any,
) -> tuple[EngineResult, StageResult]:
    """Solve one program in this process; schedules and bounds are reported to `found` at once.

    An engine's last word that no bound in `found` supports is asked for a second time in another
    way; until then it is not believed (`schedgap.solvers.engines.confirm`).

    Parameters
    ----------
    read : callable
        From an engine's values to a schedule, or None for one that breaks a rule; a Pyomo model
        holds its values itself (given None).
    real : callable
        From the program's bound to the units of `found`.
    **settings
        `seed`, `threads`, `grid`, `start`, `options` of `schedgap.solvers.engines.solve`.
    """

    def better(objective: float, values: Any) -> None:
        if values is not None:
            found.offer(read(values))

    exact = engine not in WORDS
    usual = USUAL_TOLERANCES.get(engine, {})
    settings["options"] = {**usual, **(settings.get("options") or {})} or None
    result = solve(
        program,
        engine,
        clock=clock,
        on_incumbent=better,
        on_bound=lambda bound: found.bound(real(bound), confirmed=exact),
        **settings,
    )
    if result.objective is not None:
        found.offer(read(result.values))
    trace: dict[str, Any] = {"engine_says": result.log, "seconds": round(result.seconds, 3)}
    proved = result.bound is not None and found.lower >= real(result.bound)
    if not exact and not proved and result.status in ("optimal", "infeasible"):
        result, said = confirm(
            program, engine, result, clock=clock, on_incumbent=better, **settings
        )
        trace["asked_again"] = said
        if result.objective is not None and "differently" in said:
            found.offer(read(result.values))
    done = result.status in ("optimal", "infeasible")
    if result.bound is not None:
        found.bound(real(result.bound), confirmed=exact or done)
    return result, StageResult(done, result.status == "infeasible", trace)


class Relay:
    """Progress of a method run as a stage of another one, passed on to its search state."""

    def __init__(self, found: Finder, real: Callable[[float], float] = float) -> None:
        self._found, self._to_objective = found, real

    def incumbent(self, schedule: Any, objective: float) -> None:
        """Pass a schedule on."""
        self._found.offer(schedule)

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Pass a bound on, in the units of the search state."""
        self._found.bound(self._to_objective(value), certificate, confirmed=confirmed)

    def phase(self, text: str) -> None:
        """Report no phase: the outer method has its own."""


class _Line:
    """Connection of a child process to the search state; knows its bound at the start."""

    def __init__(self, send: Callable[[Any], None], lower: float) -> None:
        self._send, self._lower = send, lower

    @property
    def lower(self) -> float:
        """The best bound."""
        return self._lower

    def offer(self, schedule: Any) -> None:
        """Send a schedule."""
        self._send(("schedule", schedule))

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Send a bound."""
        if confirmed:
            self._lower = max(self._lower, value)
        self._send(("bound", (value, certificate, confirmed)))


def _run(
    send: Callable[[Any], None],
    stage: Callable[..., StageResult],
    lower: float,
    /,
    *args: Any,
    **kwargs: Any,
) -> StageResult:
    """Run a stage in this child process."""
    return stage(_Line(send, lower), *args, **kwargs)
