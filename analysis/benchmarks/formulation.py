"""A program of a family, solved by one engine with one setting: what a benchmark measures."""

import importlib.metadata
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil

from schedgap.analysis.programs.models import program_name
from schedgap.errors import ContradictionError, UsageError, choices
from schedgap.instances.instance import Instance
from schedgap.instances.settings import Option
from schedgap.models.family import Family
from schedgap.models.method import Method, MethodResult, RunContext
from schedgap.solvers.engines.availability import is_installed
from schedgap.solvers.engines.results import ENGINES

PREFIX = "model:"  # of the method's name
PAPER = "paper"
CHECK = 1e-4  # relative tolerance of an engine's values and of its objective
CHILD = "schedgap.analysis.benchmarks.child:solve_formulation"
OPTIONS = (
    Option("threads", "int", 1, "threads of the engine", least=1),
    Option("permutation", "int", 0, "number of the order of rows and columns; 0: as built", least=0),
    Option("narrow", "bool", False, "whether jobs may run only in a heuristic's time windows"),
    Option("confirm", "bool", False, "whether the engine must repeat its answer without presolve"),
    Option("engine_options", "text", "", "options of the engine that differ from the default"),
)
Settings = tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class Formulation:
    """A program with the engine that solves it.

    Attributes
    ----------
    program : str
        Name of the program; each family has its own programs.
    engine : str
        Name of the engine.
    engine_options : tuple of (str, value)
        Options of the engine that differ from its defaults.
    threads : int
        Threads of the engine, >= 1.
    permutation : int
        0: rows and columns as built; otherwise the seed of another order.
    seed : int
        Random seed of the engine.
    narrow : bool
        Whether jobs may run only in the time windows that a heuristic leaves open.
    confirm : bool
        Whether the engine must repeat its answer without presolve.
    workers : int
        How many tasks run at a time; recorded only.
    """

    program: str
    engine: str
    engine_options: Settings = ()
    threads: int = 1
    permutation: int = 0
    seed: int = 0
    narrow: bool = False
    confirm: bool = False
    workers: int = 1

    def __call__(self, instance: Instance, call: RunContext) -> MethodResult:
        """Not run in this process: see `call`."""
        raise TypeError("a formulation is solved in a child process only")

    def key(self, owner: Family) -> str:
        """Return the name under which the family lists the program.

        Parameters
        ----------
        owner : Family
            The family.

        Raises
        ------
        UsageError
            If the family has no such program, or the optimum of the program is not the instance's.
        """
        return benchmarked(owner, self.program)

    def has(self, owner: Family) -> bool:
        """Return whether a family has the program."""
        try:
            self.key(owner)
        except UsageError:
            return False
        return True

    @property
    def settings(self) -> dict[str, object]:
        """Values of `OPTIONS`."""
        return {
            "threads": self.threads,
            "permutation": self.permutation,
            "narrow": self.narrow,
            "confirm": self.confirm,
            "engine_options": ", ".join(f"{name}={value}" for name, value in self.engine_options),
        }

    def method(self, owner: Family) -> Method:
        """Return the formulation as a method of a family.

        Parameters
        ----------
        owner : Family
            The family.
        """
        key = self.key(owner)
        program = owner.programs[key]
        return Method(
            name=PREFIX + key,
            kind="exact",
            run=self,
            summary=program.summary,
            source=program.equations,
            engines=(self.engine,),
            options=OPTIONS,
            seeded=True,
        )

    def label(self, owner: Family) -> str:
        """Return program, engine, version and changed options: `paper@highs 1.15.1 [threads=4]`.

        Parameters
        ----------
        owner : Family
            The family.
        """
        key = self.key(owner)
        version = engine_version(self.engine)
        changed = [f"{name}={value}" for name, value in self.engine_options]
        changed += [f"threads={self.threads}"] if self.threads != 1 else []
        changed += [name for name in ("narrow", "confirm") if getattr(self, name)]
        head = f"{shown(owner, key)}@{self.engine}{f' {version}' if version else ''}"
        return f"{head} [{', '.join(changed)}]" if changed else head

    def call(
        self,
        owner: Family,
        module: str,
        instance: Instance,
        limit: float | None,
        log: str,
        cores: tuple[int, ...],
    ) -> tuple[object, ...]:
        """Return the function of a child process and its arguments, for `run_child`.

        Parameters
        ----------
        owner : Family
            The family.
        module : str
            Name of the family's module.
        limit : float or None
            Time limit in wall-clock seconds.
        log : str
            File for the engine's log.
        cores : tuple of int
            Cores to which the process is bound; empty if it is not.
        """
        return (CHILD, module, instance, self.key(owner), self, limit, log, cores)

    def check(self, instance: Instance, stated: float | None, objective: float | None) -> None:
        """Raise `ContradictionError` if a schedule is worse than the objective that was stated.

        Parameters
        ----------
        stated : float or None
            The objective of the program by the engine's account, in units of the instance.
        objective : float or None
            The verified objective of the schedule.
        """
        from schedgap.models.family import family

        if stated is None or objective is None:
            return
        worse = objective - stated
        if family(instance.family).sense(instance) == "max":
            worse = -worse
        if worse > CHECK * max(1.0, abs(stated), abs(objective)):
            raise ContradictionError(
                f"{self.engine} states the objective {stated:.10g}, but the schedule of its values "
                f"has {objective:.10g}"
            )


def benchmarked(owner: Family, name: str) -> str:
    """Return the name of a program whose optimum is the instance's and whose values are a schedule.

    Parameters
    ----------
    owner : Family
        The family.
    name : str
        The name, or one of the program's further names.

    Raises
    ------
    UsageError
        If there is no such program.
    """
    key = program_name(owner, name)
    program = owner.programs[key]
    if program.kind != "exact" or program.read is None:
        known = [each for each in owner.programs if is_benchmarked(owner, each)]
        what = program.kind if program.kind != "exact" else "program without schedules"
        raise UsageError(
            f"program '{name}' of family {owner.name} is a {what}: choose from {', '.join(known)}"
        )
    return key


def is_benchmarked(owner: Family, key: str) -> bool:
    """Return whether the optimum of a program is the instance's, and its values are a schedule.

    Parameters
    ----------
    owner : Family
        The family.
    key : str
        Name of the program.
    """
    program = owner.programs[key]
    return program.kind == "exact" and program.read is not None


def shown(owner: Family, key: str) -> str:
    """Return the name of a program in tables: `paper` for the paper's program.

    Parameters
    ----------
    owner : Family
        The family.
    key : str
        Name of the program.
    """
    try:
        return PAPER if program_name(owner, PAPER) == key else key
    except UsageError:
        return key


def engine_version(engine: str) -> str:
    """Return the version of an engine's package; empty if it is not installed.

    Parameters
    ----------
    engine : str
        Name of the engine.
    """
    try:
        return importlib.metadata.version(ENGINES[engine][0])
    except (importlib.metadata.PackageNotFoundError, KeyError):
        return ""


def check_engine(engine: str, options: Mapping[str, object]) -> None:
    """Raise `UsageError` for an unknown engine, or an option that the engine rejects.

    An engine that is not installed is not asked.

    Parameters
    ----------
    engine : str
        Name of the engine.
    options : mapping
        Options of the engine by name.
    """
    from schedgap.solvers.children.processes import run_child

    if not is_installed(engine) or not options:
        return
    reply = run_child(
        "schedgap.analysis.benchmarks.child:try_options",
        engine,
        dict(options),
        limit=30.0,
        engine=engine,
    )
    if reply.outcome == "done" and reply.value is None:
        return
    if reply.outcome == "done":
        refused, known = reply.value
        text = choices(refused, known) if known else "unknown option, or a value that it rejects"
        raise UsageError(f"engine {engine} has no option '{refused}': {text}")
    if isinstance(reply.error, UsageError):
        raise reply.error


# --- cores -----------------------------------------------------------------------------------

_taken: set[int] = set()
_lock = threading.Lock()


@contextmanager
def reserved(count: int) -> Iterator[tuple[int, ...]]:
    """Reserve cores for one task; none if the system cannot bind a process, or too few are free.

    Parameters
    ----------
    count : int
        How many.
    """
    with _lock:
        free = [core for core in _affinity() if core not in _taken][:count]
        chosen = tuple(free) if len(free) == count else ()
        _taken.update(chosen)
    try:
        yield chosen
    finally:
        with _lock:
            _taken.difference_update(chosen)


def _affinity() -> list[int]:
    """Return the cores that this process may use; empty where the system does not tell."""
    try:
        return sorted(psutil.Process().cpu_affinity())
    except (AttributeError, psutil.Error):  # macOS
        return []
