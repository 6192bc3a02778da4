"""The programs of a family: what each one is, how it is built, solved and read, and its indices."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal

from schedgap.errors import UsageError
from schedgap.models.method import Budget, I, MethodResult, RunContext, S
from schedgap.models.options import Wrapper

if TYPE_CHECKING:  # they load NumPy
    import pyomo.core as pyo

    from schedgap.models.search_state import SearchState, StageProgress, StageResult
    from schedgap.solvers.programs.indices import Indices, Key

ProgramKind = Literal["exact", "relaxation", "dual", "subproblem"]
_SEARCH = "complete search"
_SPARE_SHARE, _SPARE_SECONDS = 0.05, 1.0  # share of a time limit kept for stopping a child


class NotBuiltError(UsageError):
    """A program is not built: it is too large, or its numbers are unsafe for the engine."""


def check_size(count: int, most: int | None, unit: str = "columns", limit: str = "") -> None:
    """Raise NotBuiltError if a program is too large.

    `count`: its size in `unit`. `most`: largest size that is built; None for any. `limit`: option
    that sets `most`, `max_<unit>` by default.
    """
    if most is not None and count > most:
        raise NotBuiltError(f"too large: {count} {unit} > {limit or f'max_{unit}'}={most}")


@dataclass(frozen=True, slots=True)
class BuiltProgram(Generic[S]):
    """A program of an instance, and how to read what an engine says of it.

    `model`: program that an engine solves. `read`: function from the values of its columns to a
    schedule, or to None if they give none. A Pyomo model has its values itself; they are not looked
    at. `real`: function from a bound on the model to the units of the family's search state.
    `grid`: a number of which every objective value of the model is a multiple. `start`: function
    from a schedule to a starting point of the model.
    """

    model: Any
    read: Callable[[Any], S | None]
    real: Callable[[float], float] = float
    grid: float | None = None
    start: Callable[[S], Any] | None = None


@dataclass(frozen=True, slots=True)
class Known(Generic[S]):
    """What narrows a program: the best known schedule, if any, and a bound in the family's units.

    The program then has an optimal schedule among those that are no worse.
    """

    schedule: S | None
    lower: float = -math.inf


@dataclass(frozen=True, slots=True)
class Narrowed(Generic[I, S]):
    """A builder in the time windows that the schedule of a heuristic leaves open.

    `build`: from an instance and what is `Known`. `heuristic`: from an instance to a schedule, or
    to None if it finds none.
    """

    build: Callable[..., Any]
    heuristic: Callable[[I], S | None]

    def __call__(self, instance: I) -> Any:
        """Build the program."""
        return self.build(instance, Known(self.heuristic(instance)))


@dataclass(frozen=True, slots=True)
class SolveProgram(Wrapper, Generic[I, S]):
    """A method that builds one program of the whole problem and solves it with an engine.

    Its options are the builder's.

    `function`: the builder: from an instance, what is `Known`, and the method's options as keywords
    to a `BuiltProgram`, or to None if there is no schedule. NotBuiltError refuses it. `initial`:
    function from an instance and a `RunContext` to the search state before any search, or to the
    result if nothing is left to search for. `engine_options`: function from an instance and the
    name of an engine to options of the engine; NotBuiltError if the engine's arithmetic is unsafe
    for the instance. `in_child`: whether it is built and solved in a child process, which can be
    stopped while it builds.
    """

    function: Callable[..., BuiltProgram[S] | None]
    initial: "Callable[[I, RunContext[S]], SearchState[S] | MethodResult[S]]"
    engine_options: Callable[[I, str], Mapping[str, Any] | None] = field(
        default=lambda instance, engine: None
    )
    in_child: bool = False

    def __call__(self, instance: I, call: RunContext[S], **options: Any) -> MethodResult[S]:
        """Run the method."""
        state = self.initial(instance, call)
        if isinstance(state, MethodResult):
            return state
        if state.closed:
            return state.outcome()
        engine = call.engine or "highs"
        try:
            settings = self.engine_options(instance, engine)
            known = Known(state.schedule, state.lower)
            arguments = self.function, instance, known, options, engine, settings
            if self.in_child:
                call.progress.phase(f"solving with {engine}")
                spare = max(_SPARE_SHARE, _SPARE_SECONDS / (1 + call.clock.remaining()))
                budget = call.budget.share(1 - spare)
                state.child(_SEARCH, program_stage, *arguments, budget=budget, engine=engine)
            else:
                report = program_stage(state, *arguments, budget=call.budget)
                state.trace |= report.trace
                state.take(_SEARCH, replace(report, trace={}))
        except NotBuiltError as error:
            return state.outcome(str(error))
        return state.outcome()


def program_stage(
    progress: "StageProgress[S]",
    build: Callable[..., BuiltProgram[S] | None],
    instance: I,
    known: Known[S],
    settings: Mapping[str, Any],
    engine: str,
    options: Mapping[str, Any] | None = None,
    *,
    budget: Budget,
) -> "StageResult":
    """Build a program and solve it in this process.

    `progress`: receives schedules and bounds. `build`: as in `SolveProgram`. `known`: incumbent and
    bound. `settings`: options of the method. `options`: of the engine.
    """
    from schedgap.models.search_state import StageResult, solve_program

    progress.phase("building the program")
    built = build(instance, known, **settings)
    if built is None:
        return StageResult(complete=True, infeasible=True)
    progress.phase(f"solving with {engine}")
    start = known.schedule and built.start and built.start(known.schedule)
    return solve_program(
        progress, built.model, engine, budget=budget, read=built.read, real=built.real,
        grid=built.grid, start=start, options=options,
    )[1]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Program(Generic[I, S]):
    """A mathematical program of a family.

    Attributes
    ----------
    summary : str
        What it is, in one line.
    kind : "exact", "relaxation", "dual" or "subproblem"
        `exact`: its optimum is the instance's. `relaxation` and `dual`: its optimum bounds the
        instance's. `subproblem`: a part of an algorithm; bounds nothing.
    equations : str
        The paper's equations; empty for a program of ours.
    build : callable
        From an instance to a Pyomo model, to arrays or to a `BuiltProgram` with either, in the
        instance's full time horizon.
    indices : mapping
        Component -> the kinds of its indices, such as "task gpu"; see `Indices`.
    read : callable or None
        From a solved model, as `build` returns it, and the instance to a schedule, or to None where
        the values give none.
    literal : callable or None
        Like `read`, but the starts, ends and counts are as in the values, whether or not they
        obey the rules; None where `read` returns them.
    narrow : callable or None
        Like `build`, in the time windows that the schedule of a heuristic leaves open.
    symmetry : tuple of str
        Components that only exclude all but one of several equal schedules.
    unit : callable
        From an instance to the value, in units of its objective, of one unit of the program's.
    also : tuple of str
        Further names.
    """

    summary: str
    kind: ProgramKind
    build: Callable[[I], Any]
    equations: str = ""
    indices: Mapping[str, str] = field(default_factory=dict)
    read: "Callable[[pyo.ConcreteModel, I], S | None] | None" = None
    literal: "Callable[[pyo.ConcreteModel, I], S] | None" = None
    narrow: Callable[[I], Any] | None = None
    symmetry: tuple[str, ...] = ()
    unit: Callable[[I], float] = field(default=lambda instance: 1.0)
    also: tuple[str, ...] = ()

    def __call__(self, instance: I) -> Any:
        """Build the program that `schedgap export` writes: in the narrow windows, if it has some.

        Parameters
        ----------
        instance : Instance
            Of the family.
        """
        return self.built(instance, narrow=True).model

    def built(self, instance: I, *, narrow: bool = False) -> BuiltProgram[S]:
        """Build the program, with its reader.

        Parameters
        ----------
        instance : Instance
            Of the family.
        narrow : bool
            Whether jobs may run only in the narrow windows, if the program has some.
        """
        found = (self.narrow if narrow and self.narrow else self.build)(instance)
        if isinstance(found, BuiltProgram):
            return found
        return BuiltProgram(found, lambda values: self._read(found, instance, values))

    def _read(self, found: Any, instance: I, values: Any) -> S | None:
        """Return the schedule of a model without a separate reader; arrays become Pyomo's."""
        from schedgap.solvers.programs.arrays import LinearProgram
        from schedgap.solvers.programs.indices import as_model

        if self.read is None:
            return None
        if isinstance(found, LinearProgram):
            found = as_model(found, "program", unit=self.unit(instance))
            for column, value in zip(found.columns, values, strict=True):
                column.set_value(float(value), skip_validation=True)
        return self.read(found, instance)

    def index_names(self, names: "Mapping[str, Sequence[Key]]") -> "Indices":
        """Return the indices of the program's components.

        Parameters
        ----------
        names : mapping
            Kind -> names of its members, of an instance.
        """
        from schedgap.solvers.programs.indices import Indices

        return Indices({name: kinds.split() for name, kinds in self.indices.items()}, names)


def by_name(names: Mapping[str, str]) -> dict[str, str]:
    """Return what the indices of variables and rows stand for, by name, as `Program.indices`.

    `names`: the names, by what their indices stand for.
    """
    return {name: kinds for kinds, listed in names.items() for name in listed.split()}
