"""A method: the only thing that joins a family's mathematics to an engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from schedgap.errors import UsageError
from schedgap.instances.instance import Instance
from schedgap.instances.settings import Option, parse_settings
from schedgap.instances.solution import Kind
from schedgap.solvers.children.clock import Clock

__all__ = [
    "Algorithm",
    "AlgorithmRun",
    "Lazy",
    "Method",
    "MethodResult",
    "NullProgress",
    "Option",
    "Progress",
    "RunContext",
    "check_instance",
]


@dataclass(frozen=True, slots=True)
class Lazy:
    """A function by its name, `package.module:function`, imported when it is first called.

    Tables of methods refer to what they run in this way, so that reading a table loads no search.
    """

    name: str

    def load(self) -> Callable[..., Any]:
        """Return the function itself."""
        module, _, function = self.name.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), function)
        return found

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the function."""
        return self.load()(*arguments, **keywords)


class Progress(Protocol):
    """Where a running method says what it has; a killed method leaves what it said."""

    def incumbent(self, schedule: Any, objective: float) -> None:
        """A feasible schedule of the whole problem (the family's schedule class)."""

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """A valid bound on the optimum of the whole problem, and the evidence that proves it.

        One that is not `confirmed` is an engine's word: it is shown, and makes nothing optimal.
        """

    def phase(self, text: str) -> None:
        """What is being done, in a few words."""


class NullProgress:
    """Progress that nobody hears: of a run whose findings are not the method's own."""

    def incumbent(self, schedule: Any, objective: float) -> None:
        """Say nothing."""

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Say nothing."""

    def phase(self, text: str) -> None:
        """Say nothing."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a method is given beside the instance.

    `engine` is None for a method without engines and for one that drives several in children.
    """

    options: Mapping[str, Any]
    engine: str | None
    clock: Clock
    seed: int
    progress: Progress
    threads: int = 1


@dataclass(frozen=True, slots=True)
class MethodResult:
    """What a method returns; the caller judges the schedule and derives the status.

    `schedule` is the family's schedule class (it has `to_data(instance)`) or None. `infeasible`:
    the method proved that no schedule exists. `note`: one line for the user on why there is no
    schedule or bound. `partial`: plain JSON data of a schedule with something left out, only to be
    looked at. `trace` is plain JSON data. `certificate`: what a checker needs to evaluate `bound`
    again without the engine (plain JSON data), or None.
    """

    schedule: Any = None
    bound: float | None = None
    infeasible: bool = False
    note: str = ""
    partial: Any = None
    trace: Mapping[str, Any] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AlgorithmRun:
    """What a paper's algorithm returns.

    `schedule` is the family's schedule class, or None. `events`: what the algorithm did, step by
    step, as plain data, where it was asked for; `line` of each is the line of the pseudocode.
    `trace`: what else is reported of the run, as plain JSON data.
    """

    schedule: Any
    events: tuple[Mapping[str, Any], ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A method that is one function from an instance and its options to a schedule or a run."""

    function: Callable[..., Any]

    def __call__(self, instance: Any, call: RunContext) -> MethodResult:
        """Run the function with the options of a call."""
        found = self.function(instance, **call.options)
        if isinstance(found, AlgorithmRun):
            return MethodResult(found.schedule, trace=found.trace)
        return MethodResult(found)


@dataclass(frozen=True, slots=True)
class Method:
    """One way to solve, bound or approximate a family's problem.

    `engines`: those that can run it, default first. `runs_children`: it uses all of them, each in a
    child process of its own, and none itself. `online`: it sees a job only from its arrival on.
    `seeded`: the seed can change the answer. `unsupported_reason(instance)` says in one line why it
    cannot serve an instance, or None.
    """

    name: str
    kind: Kind
    run: Callable[[Any, RunContext], MethodResult]
    summary: str
    source: str
    ours: bool = False
    engines: tuple[str, ...] = ()
    runs_children: bool = False
    options: tuple[Option, ...] = ()
    online: bool = False
    seeded: bool = False
    unsupported_reason: Callable[[Any], str | None] = field(default=lambda instance: None)

    def parse(self, settings: Mapping[str, object]) -> dict[str, Any]:
        """Return every option with its value; UsageError for an unknown one."""
        return parse_settings(self.options, settings, f"method {self.name} has no option")

    def choose_engine(self, asked: str | None) -> str | None:
        """Return the engine to run with; UsageError when the method cannot use it."""
        if asked is None:
            return "+".join(self.engines) if self.runs_children else next(iter(self.engines), None)
        if self.runs_children or asked not in self.engines:
            if self.runs_children:
                can = f"always uses {' and '.join(self.engines)}"
            else:
                can = f"can use {', '.join(self.engines)}" if self.engines else "uses no engine"
            raise UsageError(f"method {self.name} {can}, not '{asked}'")
        return asked


def check_instance(instance: Instance, method: Method) -> None:
    """Raise UsageError when the method is not for this kind of instance."""
    reason = method.unsupported_reason(instance)
    if reason:
        raise UsageError(f"method {method.name}: {reason}")
