"""Incumbent and bound of a running method, and the stages that close the gap between them.

A stage is a function `stage(progress, ..., budget=) -> StageResult`. It reports every better
schedule and bound to `progress` at once: they survive when it is stopped. Run by
`SearchState.child`, it has a separate process, because two engines cannot share one.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from schedgap.errors import ContradictionError
from schedgap.models.method import (
    Budget,
    MethodResult,
    NullProgress,
    Progress,
    RunContext,
    S,
    S_contra,
    SentProgress,
)
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.children.processes import run_child
from schedgap.solvers.engines.confirm import confirm, ways
from schedgap.solvers.engines.registry import find_engine
from schedgap.solvers.engines.solve import Program
from schedgap.solvers.proofs.tree import Proof

__all__ = [
    "ProofProgress",
    "Relay",
    "SearchState",
    "StageProgress",
    "StageResult",
    "solve_program",
]

_APART = 1e-6  # relative: a bound that lies further past a schedule is wrong


class StageProgress(Progress[S_contra], Protocol[S_contra]):
    """Progress of a stage, which may also read the best bound: a search state, or a child's."""

    @property
    def lower(self) -> float:
        """The best confirmed bound, in the units of the search state."""

    def incumbent(self, schedule: S_contra | None, objective: float | None = None) -> None:
        """Receive a feasible schedule of the whole problem.

        Parameters
        ----------
        schedule : schedule or None
            None for an engine's answer that breaks a rule by less than the engine's tolerance.
        objective : float, optional
            Not read: the search state measures the schedule.
        """


class ProofProgress(StageProgress[S_contra], Protocol[S_contra]):
    """Progress of a stage that proves bounds."""

    def proved_bound(self, value: float, proof: Proof) -> None:
        """Receive a bound with a proof, which survives when the stage is stopped."""


@dataclass(frozen=True, slots=True)
class StageResult:
    """How a stage ended.

    `complete`: whether the search was exhaustive: the best schedule is then optimal. `infeasible`:
    whether it proved that there is no schedule. `trace`: plain JSON data, shown with the solution.
    `value`: data of this stage that later stages need. `proof`: proof that no schedule is better
    than the incumbent, if the search has written one; or, if it was stopped, that none is better
    than `proved`. `proved`: the bound of the proof of a search that was stopped, in the units of
    the search state.
    """

    complete: bool = False
    infeasible: bool = False
    trace: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None
    proof: Proof | None = None
    proved: float = -math.inf


class SearchState(StageProgress[S]):
    """Incumbent and bound of a method; every improvement is reported to the caller.

    Values are minimised, whatever the sense of the problem: `measure` computes the value of a
    schedule, and `to_objective` converts a value to the objective.

    Parameters
    ----------
    call : RunContext
        Of the method: its budget and progress.
    measure : callable
        Value of a schedule, for example in whole time steps; less is better.
    to_objective : callable
        From a value to the instance's units and sense.
    round_bound : callable
        From a bound to the least value >= bound that a schedule can have, for example the next
        integer.
    normalise : callable
        The form in which a schedule is stored, for example left-shifted. None for one that breaks a
        rule by less than an engine's tolerance: it is dropped, and the trace counts it.
    tolerance : float
        Relative difference up to which two values count as equal; 0 for integers.
    trace_of : callable
        What the trace reports on the schedule that is returned.

    Attributes
    ----------
    schedule, upper
        The incumbent and its value; None before the first one.
    lower : float
        The best confirmed bound, -inf at first.
    certified : float
        The best bound with a certificate, -inf at first; at most `lower`.
    certificate : mapping or None
        The data that prove `certified`, if no search has raised `lower` above it.
    reported : float
        The best bound that an engine claims and nothing confirms.
    checkable_only : bool
        Whether a bound counts only if a certificate or a proof supports it. There are two
        exceptions: a bound that closes the gap, and the bound of an exhaustive search. The trace
        names a better one, `reported_bound`.
    infeasible : bool
        Whether a stage proved that there is no schedule.
    proofs : list of str
        Stages whose search was exhaustive.
    proof : Proof or None
        Written by a stage whose search was exhaustive.
    trace : dict
        Plain JSON data of the stages, by name.
    """

    def __init__(
        self,
        call: RunContext[S],
        measure: Callable[[S], float],
        *,
        to_objective: Callable[[float], float] = float,
        round_bound: Callable[[float], float] = float,
        normalise: Callable[[S], S | None] = lambda schedule: schedule,
        tolerance: float = 1e-9,
        trace_of: Callable[[S], Mapping[str, object]] = lambda schedule: {},
    ) -> None:
        self.call = call
        self._measure, self._to_objective = measure, to_objective
        self._round_bound, self._normalise = round_bound, normalise
        self._tolerance, self._trace_of = tolerance, trace_of
        self.schedule: S | None = None
        self.upper: float | None = None
        self._lower = self.certified = -math.inf
        self._certificate: Mapping[str, Any] | None = None
        self._proved: tuple[float, Proof | None] = -math.inf, None
        self.reported = -math.inf
        self.checkable_only = False
        self.infeasible = False
        self.proofs: list[str] = []
        self.proof: Proof | None = None
        self._dropped = 0
        self.trace: dict[str, Any] = {}

    def incumbent(self, schedule: S | None, objective: float | None = None) -> None:
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
            if self.checkable_only and self._meets(self.lower):
                self.call.progress.bound(self._to_objective(self.lower), self.certificate)

    def phase(self, text: str) -> None:
        """Pass a few words on to the caller of the method."""
        self.call.progress.phase(text)

    @property
    def lower(self) -> float:
        """The best confirmed bound."""
        return self._lower

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """The data that prove `lower`, or None."""
        return self._certificate if self.certified >= self.lower else None

    def bound(
        self,
        value: float,
        certificate: Mapping[str, object] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Raise the bound; of equal bounds, the first one with a certificate is stored."""
        if not math.isfinite(value):
            return
        lower = self._round_bound(value)
        if not confirmed:
            if lower > max(self.lower, self.reported) and not self._meets(lower):
                self.reported = lower
                if not self.checkable_only:
                    self.call.progress.bound(self._to_objective(lower), confirmed=False)
            return
        raised = lower > self.lower
        self._lower = max(lower, self.lower)
        if certificate and lower > self.certified:
            self.certified, self._certificate = lower, certificate
            raised |= lower == self.lower or self.checkable_only
        elif self.checkable_only and not self._meets(lower):
            return
        if raised:
            self.call.progress.bound(self._to_objective(lower), certificate)

    def proved_bound(self, value: float, proof: Proof) -> None:
        """Raise the bound, and keep the proof of the best one.

        Parameters
        ----------
        value : float
            The bound, in the units of the search state.
        proof : Proof
            That no schedule is better than `value`.
        """
        self.bound(value)
        if value > self._proved[0]:
            self._proved = self._round_bound(value), proof

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
        """Record how a stage ended; ContradictionError where that contradicts the incumbent.

        Parameters
        ----------
        name : str
            Of the stage, in the trace and among the proofs.
        report : StageResult
            As the stage returned it.
        """
        if report.trace:
            self.trace[name] = dict(report.trace)
        if report.complete:
            self.proofs.append(name)
            self.proof = report.proof or self.proof
        elif report.proof is not None:
            self.proved_bound(report.proved, report.proof)
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

    def solve(
        self,
        program: Program,
        read: Callable[[Any], S | None],
        *,
        real: Callable[[float], float] = float,
        grid: float | None = None,
        start: object = None,
        options: Mapping[str, object] | None = None,
    ) -> EngineResult:
        """Solve one program of the whole problem with the method's engine, in this process.

        Parameters
        ----------
        program : LinearProgram, Pyomo model, CP-SAT or cvxpy program
            As `schedgap.solvers.engines.solve` takes it.
        read : callable
            From an engine's values to a schedule, or None for one that breaks a rule. A Pyomo model
            holds its values itself; `read` is called with None.
        real : callable
            From a bound of the program to the units of `measure`.
        grid, start, options
            As in `schedgap.solvers.engines.solve`.
        """
        engine = self.call.engine or "highs"
        self.phase(f"solving with {engine}")
        result, report = solve_program(
            self,
            program,
            engine,
            budget=self.call.budget,
            read=read,
            real=real,
            grid=grid,
            start=start,
            options=options,
        )
        self.trace |= report.trace
        self.take("complete search", replace(report, trace={}))
        return result

    def child(
        self,
        name: str,
        stage: Callable[..., StageResult],
        *args: Any,
        budget: Budget | None = None,
        engine: str | None = None,
        **kwargs: Any,
    ) -> StageResult | None:
        """Run a stage in a child process.

        Parameters
        ----------
        name : str
            Of the stage, in the trace and among the proofs.
        stage : callable
            A function at the top level of its module, which the child imports.
        *args, **kwargs
            Further arguments of the stage; they are pickled.
        budget : Budget or None
            What the stage may spend; None for all the time that the method has left.
        engine : str or None
            The engine that the stage loads.

        Returns
        -------
        StageResult or None
            None when the stage was stopped at a limit or crashed; the schedules and bounds that it
            had reported remain.
        """
        budget = self.call.budget if budget is None else budget
        reply = run_child(
            f"{__name__}:_run",
            stage,
            self.lower,
            *args,
            limit=None if budget.clock.limit is None else budget.clock.remaining(),
            on_message=self._receive,
            engine=engine,
            budget=budget,
            **kwargs,
        )
        if isinstance(reply.error, Exception):
            raise reply.error
        if reply.outcome != "done":
            self.trace[name] = f"{reply.outcome}: {str(reply.error)[-200:]}"
            return None
        report: StageResult = reply.value
        return self.take(name, report)

    def _receive(self, message: tuple[Any, ...]) -> None:
        """Take a message of `SentProgress`; a stage's phases are not the method's."""
        match message:
            case ("incumbent", _, _, schedule):
                self.incumbent(schedule)
            case ("bound", _, value, certificate, confirmed):
                self.bound(value, certificate, confirmed=confirmed)
            case ("proved", _, value, proof):
                self.proved_bound(value, proof)

    def outcome(self, note: str = "") -> MethodResult[S]:
        """Return incumbent, bound and certificate as the result of the method.

        Parameters
        ----------
        note : str
            One line for the user, as in `MethodResult`.
        """
        if self.infeasible:
            note = note or "complete search"
            return MethodResult(infeasible=True, note=note, trace=self.trace, proof=self.proof)
        if self.closed:
            self.trace["proof"] = self.proofs or ["bounds meet"]
        if self.schedule is not None:
            self.trace |= self._trace_of(self.schedule)
        lower, certificate, proof = self.lower, self.certificate, self.proof
        if self.reported > lower and self._meets(self.reported):
            claimed = self._to_objective(self.reported)
            self.trace["unconfirmed"] = f"an engine's bound of {claimed:.10g}"
        elif self.reported > lower:
            lower, certificate = self.reported, None
        if self.checkable_only and not (self.closed or self.proofs):
            best, (lower, proof) = lower, self._proved
            certificate = self._certificate
            if self.certified >= lower:
                lower, proof = self.certified, None
            if best > lower:
                self.trace["reported_bound"] = self._to_objective(best)
        return MethodResult(
            schedule=self.schedule,
            bound=self._to_objective(lower) if math.isfinite(lower) else None,
            note=note,
            trace=self.trace,
            certificate=certificate,
            proof=proof,
        )


def solve_program(
    progress: StageProgress[S],
    program: Program,
    engine: str,
    *,
    budget: Budget,
    read: Callable[[Any], S | None],
    real: Callable[[float], float] = float,
    grid: float | None = None,
    start: object = None,
    options: Mapping[str, object] | None = None,
) -> tuple[EngineResult, StageResult]:
    """Solve one program in this process; schedules and bounds are reported at once.

    An engine's "optimal" or "infeasible" counts only if a proved bound supports it. Otherwise the
    program is solved a second time in another way, which has to agree
    (`schedgap.solvers.engines.confirm`).

    `progress`: receives schedules and bounds. `program`: as `schedgap.solvers.engines.solve` takes
    it. `budget`: what the engine may spend. `read`: from an engine's values to a schedule, or None
    for one that breaks a rule. A Pyomo model holds its values itself; `read` is called with None.
    `real`: from a bound of the program to the units of `progress`. `grid`, `start`, `options`: as
    in `schedgap.solvers.engines.solve`.
    """

    def better(objective: float, values: object) -> None:
        if values is not None:
            progress.incumbent(read(values))

    exact = not ways(engine)
    settings: dict[str, Any] = {
        "clock": budget.clock,
        "seed": budget.seed,
        "threads": budget.threads,
        "grid": grid,
        "start": start,
        "options": {**find_engine(engine).usual, **(options or {})} or None,
    }
    result = solve(
        program,
        engine,
        on_incumbent=better,
        on_bound=lambda bound: progress.bound(real(bound), confirmed=exact),
        **settings,
    )
    if result.objective is not None:
        progress.incumbent(read(result.values))
    trace: dict[str, Any] = {"engine_says": result.log, "seconds": round(result.seconds, 3)}
    proved = result.bound is not None and progress.lower >= real(result.bound)
    if not exact and not proved and result.status in ("optimal", "infeasible"):
        result, said = confirm(program, engine, result, on_incumbent=better, **settings)
        trace["asked_again"] = said
        if result.objective is not None and "differently" in said:
            progress.incumbent(read(result.values))
    done = result.status in ("optimal", "infeasible")
    if result.bound is not None:
        progress.bound(real(result.bound), confirmed=exact or done)
    return result, StageResult(done, result.status == "infeasible", trace)


class Relay(NullProgress[S]):
    """Progress of a method in other units than the search state that it reports to.

    Where the units are the same, the method reports to the search state itself. Phases are
    dropped: the outer method has its own.

    `progress`: receives schedules and bounds. `real`: from a bound of the method to the units of
    `progress`.
    """

    def __init__(self, progress: StageProgress[S], real: Callable[[float], float] = float) -> None:
        self._progress, self._real = progress, real

    def incumbent(self, schedule: S, objective: float) -> None:
        """Pass a schedule on."""
        self._progress.incumbent(schedule)

    def bound(
        self,
        value: float,
        certificate: Mapping[str, object] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Pass a bound on, converted."""
        self._progress.bound(self._real(value), certificate, confirmed=confirmed)


def _run(
    send: Callable[[object], None],
    stage: Callable[..., StageResult],
    lower: float,
    /,
    *args: Any,
    **kwargs: Any,
) -> StageResult:
    """Run a stage in this child process."""
    return stage(SentProgress(send, Clock(), lower), *args, **kwargs)
