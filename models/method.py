"""Methods of a family, and the protocol by which a running method reports what it finds."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, cast

from typing_extensions import TypeVar

from schedgap.errors import UsageError
from schedgap.instances.instance import Instance
from schedgap.instances.settings import Option, parse_settings
from schedgap.instances.solution import Kind
from schedgap.models.options import Keywords, Lazy, Wrapper
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.proofs.tree import Proof

__all__ = [
    "LINEAR_ENGINES",
    "MIXED_ENGINES",
    "Algorithm",
    "AlgorithmRun",
    "Budget",
    "I",
    "Keywords",
    "Lazy",
    "Method",
    "MethodResult",
    "NullProgress",
    "Option",
    "Progress",
    "RunContext",
    "S",
    "Schedule",
    "SentProgress",
    "Within",
    "check_instance",
]


# The engines of this package for linear programs, and for programs of integer columns; the first
# one is the default. A method that can use all of `LINEAR_ENGINES` can also use engines of other
# packages.
LINEAR_ENGINES = ("highs", "gurobi", "scip")
MIXED_ENGINES = (*LINEAR_ENGINES, "cp-sat")


class Schedule(Protocol):
    """A schedule as a family computes with it: any class that can write itself to a file."""

    def to_data(self, instance: Any, /) -> dict[str, object]:
        """Return the `schedule` of a solution file as plain JSON data."""


# A family's classes of instances and schedules. Code that serves all families leaves them out.
I = TypeVar("I", bound=Instance, default=Any)  # noqa: E741
S = TypeVar("S", bound=Schedule, default=Any)
S_co = TypeVar("S_co", bound=Schedule, covariant=True, default=Any)
S_contra = TypeVar("S_contra", bound=Schedule, contravariant=True, default=Any)
Found_co = TypeVar("Found_co", bound=Schedule | None, covariant=True, default=Any)


class Progress(Protocol[S_contra]):
    """Receiver of what a running method or stage finds; what it has received survives a kill.

    Values are in the receiver's units: the objective's for a method, and the search state's for
    one of its stages.
    """

    def incumbent(self, schedule: S_contra, objective: float) -> None:
        """Receive a feasible schedule of the whole problem and its value.

        Parameters
        ----------
        schedule
            Of the family's schedule class.
        objective : float
            Its value. A search state does not ask for it: it measures the schedule itself.
        """

    def bound(
        self,
        value: float,
        certificate: Mapping[str, object] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Receive a valid bound on the optimum of the whole problem.

        Parameters
        ----------
        value : float
            The bound.
        certificate : mapping, optional
            Plain JSON data from which a checker evaluates the bound again.
        confirmed : bool
            False for a bound that only an engine claims: it is shown, but proves no optimality.
        """

    def phase(self, text: str) -> None:
        """Receive a few words on what is being done now."""


class NullProgress(Progress[S_contra]):
    """Progress that discards everything; for a method that runs as a part of another."""

    def incumbent(self, schedule: S_contra, objective: float) -> None:
        """Discard a schedule."""

    def bound(
        self,
        value: float,
        certificate: Mapping[str, object] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Discard a bound."""

    def phase(self, text: str) -> None:
        """Discard a phase."""


class SentProgress(Progress[S_contra]):
    """Progress of a child process, sent to its parent as tuples.

    `("incumbent", seconds, objective, schedule)`, `("bound", seconds, value, certificate,
    confirmed)`, `("proved", seconds, value, proof)` and `("phase", seconds, text)`; the clock
    counts the seconds.

    `send`: sends one message to the parent. `lower`: the best confirmed bound that the parent has,
    in the same units, for a stage to read.
    """

    def __init__(
        self, send: Callable[[object], None], clock: Clock, lower: float = -math.inf
    ) -> None:
        self._send, self._clock, self._lower = send, clock, lower

    @property
    def lower(self) -> float:
        """The best confirmed bound: the parent's at the start, or one that was sent since."""
        return self._lower

    def incumbent(self, schedule: S_contra | None, objective: float | None = None) -> None:
        """Send a schedule; None is an engine's answer that breaks a rule within tolerances."""
        value = None if objective is None else float(objective)
        self._send(("incumbent", self._clock.elapsed(), value, schedule))

    def bound(
        self,
        value: float,
        certificate: Mapping[str, object] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Send a bound and its certificate; an infinite one says nothing and is not sent."""
        if math.isfinite(value):
            if confirmed:
                self._lower = max(self._lower, value)
            self._send(("bound", self._clock.elapsed(), float(value), certificate, confirmed))

    def proved_bound(self, value: float, proof: Proof) -> None:
        """Send a bound and its proof."""
        self._lower = max(self._lower, value)
        self._send(("proved", self._clock.elapsed(), float(value), proof))

    def phase(self, text: str) -> None:
        """Send a few words on what is being done."""
        self._send(("phase", self._clock.elapsed(), text))


@dataclass(frozen=True, slots=True)
class Budget:
    """What a method, or a stage of it, may spend: time, randomness and threads.

    `clock`: time limit; without one by default. `seed`: seed of all randomness. `threads`: threads
    that an engine may use.
    """

    clock: Clock = field(default_factory=Clock)
    seed: int = 0
    threads: int = 1

    def share(self, fraction: float, *, most: float = math.inf) -> "Budget":
        """Return the budget with a part of the remaining time.

        `fraction`: fraction of the remaining time, in [0, 1]. `most`: upper limit in seconds.
        """
        return replace(self, clock=self.clock.share(fraction, most=most))


@dataclass(frozen=True, slots=True)
class RunContext(Generic[S_contra]):
    """What a method gets besides the instance.

    Attributes
    ----------
    options : mapping
        Every option of the method with its value.
    engine : str or None
        None for a method without an engine, and for one that runs several in child processes.
    budget : Budget
        Time limit, seed and threads of the method; also as `clock`, `seed` and `threads`.
    progress : Progress
        Where the method reports schedules and bounds as soon as it has them.
    """

    options: Mapping[str, Any]
    engine: str | None
    budget: Budget
    progress: Progress[S_contra]

    @property
    def clock(self) -> Clock:
        """Time limit of the method."""
        return self.budget.clock

    @property
    def seed(self) -> int:
        """Seed of all randomness."""
        return self.budget.seed

    @property
    def threads(self) -> int:
        """Threads that an engine may use."""
        return self.budget.threads


@dataclass(frozen=True, slots=True)
class MethodResult(Generic[S_co]):
    """What a method returns; the caller verifies the schedule and derives the status.

    Attributes
    ----------
    schedule : schedule or None
        Of the family's schedule class.
    bound : float or None
        A bound on the optimum, in the objective's units.
    infeasible : bool
        Whether the method proved that there is no schedule.
    note : str
        One line for the user: why there is no schedule, or no bound.
    partial : JSON data or None
        A schedule that leaves something out, shown for inspection only.
    trace : mapping
        Plain JSON data on the run.
    certificate : mapping or None
        Plain JSON data from which a checker evaluates `bound` again without the engine. Next to
        a proof that leaves the gap open, the data show a weaker bound, if the proof is refused.
    proof : Proof or None
        That no schedule is better than `bound`, if the search has written one.
    """

    schedule: S_co | None = None
    bound: float | None = None
    infeasible: bool = False
    note: str = ""
    partial: Any = None
    trace: Mapping[str, Any] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class AlgorithmRun(Generic[Found_co]):
    """What a paper's algorithm returns.

    Attributes
    ----------
    schedule : schedule or None
        Of the family's schedule class; None only for an algorithm that may find no schedule,
        `AlgorithmRun[RingSchedule | None]`.
    events : tuple of mapping
        What the algorithm did, step by step, if events were asked for; `line` of each is the line
        of the pseudocode.
    trace : mapping
        Plain JSON data that are reported with the schedule.
    """

    schedule: Found_co
    events: tuple[Mapping[str, Any], ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Algorithm(Wrapper, Generic[I, S]):
    """A method that is one function from an instance and its options to a schedule or a run."""

    function: Callable[..., AlgorithmRun[S | None] | S | None]

    def __call__(self, instance: I, call: RunContext[S], **options: Any) -> MethodResult[S]:
        """Run the function with the options of a call."""
        found = self.function(instance, **{**call.options, **options})
        if isinstance(found, AlgorithmRun):
            return MethodResult(found.schedule, trace=found.trace)
        return MethodResult(found)


@dataclass(frozen=True, slots=True)
class Within(Wrapper, Generic[I, S]):
    """A method that is a function inside another one, `outer(function, instance, call, **options)`.

    The options are the function's keyword arguments.
    """

    outer: Callable[..., MethodResult[S]]
    function: Callable[..., Any]

    def __call__(self, instance: I, call: RunContext[S], **options: Any) -> MethodResult[S]:
        """Run the function inside the other one."""
        return self.outer(self.function, instance, call, **options)


_OF_RUN = Keywords()  # stands for the keyword arguments of `run`


@dataclass(frozen=True, slots=True)
class Method(Generic[I, S]):
    """One way to solve, bound or approximate the problem of a family.

    Attributes
    ----------
    name, kind, summary, source : str
        `kind` is exact, bound, algorithm or baseline; `summary` is one line for tables; `source`
        says where the paper describes the method.
    run : callable
        From an instance, a `RunContext` and the options as keyword arguments to a `MethodResult`.
    ours : bool
        Whether the method is this package's own, not the paper's.
    engines : tuple of str
        Engines that can run it, default first; with `runs_children`, all that it uses. With all of
        `LINEAR_ENGINES`, engines of other packages can run it, too.
    runs_children : bool
        Whether it runs its engines in child processes, and none in its own.
    options : sequence of Option
        By default, the keyword arguments of `run` that have a meaning (`schedgap.models.options`),
        or another function's, `Keywords(function)`. The values of a tuple of options are not
        passed to `run`: they are in the `RunContext` only.
    online : bool
        Whether it sees a job only from its arrival on.
    seeded : bool
        Whether the seed can change the answer.
    proves_infeasible : bool
        Whether the method solves the family's problem: it has no answer where the family's
        `refute` has a reason; False for one that leaves out rules.
    unsupported_reason : callable
        From an instance to one line on why the method cannot solve it, or None.
    kernels : tuple of str
        Kernels, as `module:name`. Those for which the instance is large are compiled before the
        clock of a task starts. Compiling is done once on each machine.
    child_engines : tuple of str
        Further engines, which it runs in child processes where they are installed.
    code : str
        Hash of the source of a user's own method; empty for the methods of a family.
    """

    name: str
    kind: Kind
    run: Callable[[I, RunContext[S]], MethodResult[S]]
    summary: str
    source: str
    ours: bool = False
    engines: tuple[str, ...] = ()
    runs_children: bool = False
    options: Sequence[Option] = _OF_RUN
    online: bool = False
    seeded: bool = False
    proves_infeasible: bool = True
    unsupported_reason: Callable[[I], str | None] = field(default=lambda instance: None)
    kernels: tuple[str, ...] = ()
    child_engines: tuple[str, ...] = ()
    code: str = ""

    def __post_init__(self) -> None:
        if self.options is _OF_RUN:
            object.__setattr__(self, "options", Keywords(self.run))

    def __call__(self, instance: I, call: RunContext[S]) -> MethodResult[S]:
        """Run the method with the options of a call."""
        run = cast(Callable[..., MethodResult[S]], self.run)
        return run(instance, call, **call.options if isinstance(self.options, Keywords) else {})

    def parse(self, settings: Mapping[str, object]) -> dict[str, Any]:
        """Return every option with its value; UsageError for an unknown or invalid one.

        Parameters
        ----------
        settings : mapping
            Option name -> value, as Python has it or as text from the command line.
        """
        return parse_settings(self.options, settings, f"method {self.name} has no option")

    def choose_engine(self, asked: str | None) -> str | None:
        """Return the engine to run with; UsageError when the method cannot use it.

        Parameters
        ----------
        asked : str or None
            The engine that the user named; None for the default.
        """
        if asked is None:
            return "+".join(self.engines) if self.runs_children else next(iter(self.engines), None)
        if self.runs_children:
            can = f"always uses {' and '.join(self.engines)}"
        elif asked in self.engines or asked in (others := self._other_engines()):
            return asked
        else:
            names = ", ".join((*self.engines, *others))
            can = f"can use {names}" if names else "uses no engine"
        raise UsageError(f"method {self.name} {can}, not '{asked}'")

    def _other_engines(self) -> tuple[str, ...]:
        """Return the engines of other packages that can run the method's linear programs."""
        if not set(LINEAR_ENGINES) <= set(self.engines):
            return ()
        from schedgap.solvers.engines.registry import ENGINES

        return tuple(name for name in ENGINES if ENGINES.is_outside(name))


def check_instance(instance: Instance, method: Method) -> None:
    """Raise UsageError when a method does not support an instance."""
    reason = method.unsupported_reason(instance)
    if reason:
        raise UsageError(f"method {method.name}: {reason}")
