"""A program of a family, solved by one engine with one setting: what a benchmark measures."""

import hashlib
import importlib.metadata
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from schedgap.analysis.programs.models import program_name
from schedgap.errors import ContradictionError, EngineUnavailableError, UsageError
from schedgap.instances.families import OWN
from schedgap.instances.instance import Instance
from schedgap.instances.settings import Option
from schedgap.models.family import Family
from schedgap.models.method import Method, MethodResult, RunContext
from schedgap.solvers.engines.availability import is_installed
from schedgap.solvers.engines.registry import ENGINES, find_engine

if TYPE_CHECKING:
    from schedgap.analysis.benchmarks.answers import Reports

PREFIX = "model:"  # of the method's name
PAPER = "paper"
CHECK = 1e-4  # relative tolerance of an engine's values and of its objective
CHILD = "schedgap.analysis.benchmarks.child:solve_formulation"
READ = "schedgap.analysis.benchmarks.child:read_values"
MOST_LOG = 1 << 20  # bytes of a log; of a longer one, the beginning and the end are kept
OPTIONS = (
    Option("threads", "int", 1, "threads of the engine", least=1),
    Option("permutation", "int", 0, "order of rows and columns; 0: as built", least=0),
    Option("narrow", "bool", False, "whether jobs may run only in a heuristic's time windows"),
    Option("confirm", "bool", False, "whether the engine must repeat its answer without presolve"),
    Option("engine_options", "text", "", "options of the engine that differ from the default"),
)
# Options by which our adapters depart from an engine's defaults for the sake of right answers: a
# benchmark measures the engine as its authors ship it.
DEFAULTS: dict[str, dict[str, object]] = {"highs": {"mip_allow_restart": True}}
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

    @property
    def all_options(self) -> dict[str, object]:
        """Options of the engine: its authors' defaults, except for `engine_options`."""
        return DEFAULTS.get(self.engine, {}) | dict(self.engine_options)

    def method(self, owner: Family) -> Method:
        """Return the formulation as a method of a family."""
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
            code=source_code(),
        )

    def label(self, owner: Family) -> str:
        """Return program, engine, version and changed options: `paper@highs 1.15.1 [threads=4]`."""
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
        log: Path,
        cores: tuple[int, ...],
    ) -> tuple[object, ...]:
        """Return the function of a child process and its arguments, for `run_child`.

        `limit`: time limit in wall-clock seconds. `log`: file for the engine's log. `cores`: cores
        to which the process is bound; empty if it is not.
        """
        return (CHILD, module, instance, self.key(owner), self, limit, str(log), cores)

    @staticmethod
    def reports() -> "Reports":
        """Return a place for what the engine reports."""
        from schedgap.analysis.benchmarks.answers import Reports

        return Reports()

    def incumbent(self, module: str, instance: Instance, reports: "Reports") -> "Incumbent":
        """Return the schedule of the incumbent that was reported last, when it is asked for.

        `reports`: what the engine has reported until then, and what it goes on to report.
        """
        from schedgap.models.family import family

        key, place = self.key(family(instance.family)), len(reports.incumbents) - 1
        return Incumbent(module, key, self, reports, place)

    def check(
        self,
        instance: Instance,
        objective: float | None,
        stated: float | None,
        bound: float | None = None,
    ) -> None:
        """Check a schedule against what the engine states, in units of the instance.

        `objective`: verified objective of the schedule. `stated`: objective of the program by the
        engine's account. `bound`: best bound that a killed engine has reported.

        Raises
        ------
        ContradictionError
            If the schedule is worse than what is stated, or the bound lies past the schedule.
        """
        from schedgap.models.family import family

        if objective is None:
            return
        sign = -1.0 if family(instance.family).sense(instance) == "max" else 1.0
        near = CHECK * max(1.0, abs(objective))
        if stated is not None and sign * (objective - stated) > near:
            raise ContradictionError(
                f"{self.engine} states the objective {stated:.10g}, but the schedule of its values "
                f"has {objective:.10g}"
            )
        if bound is not None and sign * (bound - objective) > near:
            raise ContradictionError(
                f"{self.engine} reported the bound {bound:.10g}, but its schedule has "
                f"{objective:.10g}"
            )


@dataclass(frozen=True, slots=True)
class Incumbent:
    """An incumbent of a killed engine; its schedule is read when it is asked for.

    `reports`: all that the engine has reported. `place`: of the incumbent in it.
    """

    module: str
    key: str
    formulation: Formulation
    reports: "Reports"
    place: int

    def to_data(self, instance: Instance) -> dict[str, object]:
        """Return the schedule as plain JSON data, after a check of all reported incumbents.

        Raises
        ------
        ContradictionError
            If values break a row or do not have their objective, or those of this incumbent give no
            schedule.
        """
        from schedgap.solvers.children.processes import run_child

        how = self.formulation, self.reports, self.place
        schedule = run_child(READ, self.module, instance, self.key, *how).result()
        if schedule is None:
            raise ContradictionError("the values of the best incumbent give no schedule")
        data: dict[str, object] = schedule.to_data(instance)
        return data


def benchmarked(owner: Family, name: str) -> str:
    """Return the name of a program whose optimum is the instance's and whose values are a schedule.

    `name`: the name, or one of the program's further names.

    Raises
    ------
    UsageError
        If there is no such program.
    """
    key = program_name(owner, name)
    program = owner.programs[key]
    if not is_benchmarked(owner, key):
        known = [each for each in owner.programs if is_benchmarked(owner, each)]
        what = program.kind if program.kind != "exact" else "program without schedules"
        raise UsageError(
            f"program '{name}' of family {owner.name} is a {what}: choose from {', '.join(known)}"
        )
    return key


def is_benchmarked(owner: Family, key: str) -> bool:
    """Return whether the optimum of a program is the instance's, and its values are a schedule."""
    program = owner.programs[key]
    return program.kind == "exact" and (program.read is not None or owner.name in OWN)


def shown(owner: Family, key: str) -> str:
    """Return the name of a program in tables: `paper` for the paper's program."""
    try:
        return PAPER if program_name(owner, PAPER) == key else key
    except UsageError:
        return key


def engine_version(engine: str) -> str:
    """Return the version of an engine's package; empty if it is not installed."""
    try:
        return importlib.metadata.version(ENGINES[engine].package)
    except (importlib.metadata.PackageNotFoundError, KeyError):
        return ""


def recorded_version(engine: str, versions: Mapping[str, str]) -> str:
    """Return the version of an engine among those of a record; empty if it is not known.

    `versions`: versions by package.
    """
    known = ENGINES.get(engine)
    return "" if known is None else versions.get(known.package, "")


@cache
def source_code() -> str:
    """Return a hash of the source that solves formulations."""
    digest = hashlib.sha256()
    for name in ("answers", "child", "formulation"):
        source = Path(__file__).with_name(f"{name}.py").read_bytes()
        digest.update(source.replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:12]


def read_log(file: Path) -> str:
    """Return the log of an engine; empty if it has written none."""
    try:
        if not file.is_file():
            return ""
        with open(file, "rb") as stream:
            data = stream.read(MOST_LOG)
            size = stream.seek(0, os.SEEK_END)
            if size > MOST_LOG:
                half = MOST_LOG // 2
                stream.seek(-half, os.SEEK_END)
                data = data[:half] + b"\n... (left out) ...\n" + stream.read(half)
    except OSError:
        return ""
    return data.decode("utf-8", "replace")


def check_engine(engine: str, options: Mapping[str, object], threads: int) -> None:
    """Raise `UsageError` for an unknown engine, and for options or threads that it rejects.

    An engine that is not installed, or has no licence, is not asked.

    `options`: options of the engine by name. `threads`: threads of the engine.
    """
    from schedgap.solvers.children.processes import run_child

    known = find_engine(engine)
    if "mixed-integer" not in known.takes:
        raise UsageError(f"engine {engine} solves no programs with integer variables")
    if not is_installed(engine):
        return
    reply = run_child(
        "schedgap.analysis.benchmarks.child:try_options",
        engine,
        dict(options),
        threads,
        limit=30.0,
        engine=engine,
    )
    if isinstance(reply.error, UsageError) and not isinstance(reply.error, EngineUnavailableError):
        raise reply.error


# --- cores -----------------------------------------------------------------------------------

_taken: set[int] = set()
_lock = threading.Lock()


@contextmanager
def reserved(count: int) -> Iterator[tuple[int, ...]]:
    """Reserve cores for one task; none if the system cannot bind a process, or too few are free.

    `count`: how many.
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
