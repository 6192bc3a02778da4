"""A program of a family, solved by one engine with one setting: what a benchmark measures."""

import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import psutil

from schedgap.analysis.programs.models import program_name
from schedgap.analysis.records.folder import TIMES
from schedgap.analysis.runners.request import Request
from schedgap.analysis.runners.run import Message, MethodRun
from schedgap.analysis.runners.runner import Receiver, Runnable, Runner, package_version
from schedgap.errors import ContradictionError, EngineUnavailableError, UsageError
from schedgap.instances.families import OWN
from schedgap.instances.instance import Instance
from schedgap.instances.settings import Option
from schedgap.models.family import Family, family
from schedgap.models.method import Method
from schedgap.solvers.children.processes import ChildResult, run_child
from schedgap.solvers.engines.availability import is_installed, require
from schedgap.solvers.engines.registry import ENGINES, find_engine

if TYPE_CHECKING:
    from schedgap.analysis.benchmarks.answers import Reports

PREFIX = "model:"  # prefix of the method's name
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
# Our adapters change these defaults of an engine to get right answers. A benchmark changes them
# back, because it measures the engine as its authors ship it.
DEFAULTS: dict[str, dict[str, object]] = {"highs": {"mip_allow_restart": True}}
Settings = tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class Formulation(Runnable):
    """A program with the engine that solves it.

    `engine_options`: options of the engine that differ from its defaults. `permutation`: 0 for
    rows and columns as built, otherwise the seed of another order. `narrow`: whether jobs may run
    only in the time windows that a heuristic leaves open. `confirm`: whether the engine must repeat
    its answer without presolve. `workers`: number of tasks that run at a time, recorded only.
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
            code=source_hash(),
        )

    def prepare(self, instance: Instance, request: Request) -> "FormulationRunner":
        """Return its runner; the engine need not be installed."""
        method = self.method(family(instance.family))
        settings = {**self.settings, **request.settings}
        request = replace(request, settings=settings, seed=self.seed)
        return FormulationRunner.prepare(instance, method, request, formulation=self)


@dataclass(frozen=True, slots=True)
class FormulationRunner(Runner):
    """Runs an engine on a program, with the cores and the log of a benchmark."""

    formulation: Formulation

    seeks_proofs: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """Program, engine, version and changed options: `paper@highs 1.15.1 [threads=4]`."""
        one = self.formulation
        version = engine_version(one.engine)
        changed = [f"{name}={value}" for name, value in one.engine_options]
        changed += [f"threads={one.threads}"] if one.threads != 1 else []
        changed += [name for name in ("narrow", "confirm") if getattr(one, name)]
        name = shown(self.family, one.key(self.family))
        head = f"{name}@{one.engine}{f' {version}' if version else ''}"
        return f"{head} [{', '.join(changed)}]" if changed else head

    def call(self, run: MethodRun, **terms: Any) -> ChildResult:
        """Call the engine in a child process that is bound to its cores, if the system can."""
        one = self.formulation
        require(one.engine)
        with (
            tempfile.TemporaryDirectory(prefix="schedgap-", ignore_cleanup_errors=True) as folder,
            reserved(one.threads) as run.pinned,
        ):
            log = Path(folder, "log")
            reply = run_child(
                CHILD,
                self.module,
                self.instance,
                one.key(self.family),
                one,
                self.limits.time,
                str(log),
                run.pinned,
                engine=self.process,
                **terms,
            )
            run.log = read_log(log)
        return reply

    def receiver(self, run: MethodRun) -> Receiver:
        """Return what keeps facts, and gives incumbents a schedule that is read when needed."""
        from schedgap.analysis.benchmarks.answers import Reports

        reports = Reports()

        def read(message: Message) -> Message | None:
            if message[0] == "facts":
                run.facts |= message[2]
                return None
            if message[0] != "incumbent":
                return message
            reports.add(message[2], message[3])
            one, place = self.formulation, len(reports.incumbents) - 1
            return (*message[:3], Incumbent(self.module, one.key(self.family), one, reports, place))

        return read

    def check(self, run: MethodRun, objective: float | None) -> None:
        """Check a schedule against what the engine states.

        The best bound that it has reported counts where it was killed, not its last answer.

        Raises
        ------
        ContradictionError
            If the schedule is worse than what is stated, or the bound lies past the schedule.
        """
        if run.result is not None and run.result.schedule is not None:
            self.compare(objective, run.facts.get("stated"))
        else:
            self.compare(objective, run.objective, run.unconfirmed)

    def compare(
        self, objective: float | None, stated: float | None, bound: float | None = None
    ) -> None:
        """Compare a schedule with what the engine states, in units of the instance.

        `objective`: verified objective of the schedule. `stated`: objective of the program by the
        engine's account. `bound`: best bound that a killed engine has reported.
        """
        if objective is None:
            return
        engine, sign = self.formulation.engine, -1.0 if self.sense == "max" else 1.0
        near = CHECK * max(1.0, abs(objective))
        if stated is not None and sign * (objective - stated) > near:
            raise ContradictionError(
                f"{engine} states the objective {stated:.10g}, but the schedule of its values "
                f"has {objective:.10g}"
            )
        if bound is not None and sign * (bound - objective) > near:
            raise ContradictionError(
                f"{engine} reported the bound {bound:.10g}, but its schedule has {objective:.10g}"
            )

    def recorded(self, run: MethodRun | None) -> dict[str, object]:
        """Return program, threads, order, cores, log and statistics."""
        one, facts = self.formulation, {} if run is None else run.facts
        times = {} if run is None else {
            name: facts[name] for name in TIMES if getattr(run, name) is None and name in facts
        }  # fmt: skip
        return times | {
            "formulation": one.key(self.family),
            "threads": one.threads,
            "workers": one.workers,
            "permutation": one.permutation,
            "pinned": [] if run is None else list(run.pinned),
            "log": "" if run is None else run.log,
            "statistics": facts.get("statistics", {}),
        }


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
            If values break a row or do not have their objective, or if the incumbent gives no
            schedule.
        """
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
        known = [program for program in owner.programs if is_benchmarked(owner, program)]
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
    known = ENGINES.get(engine)
    return "" if known is None else package_version(known.package)


def recorded_version(engine: str, versions: Mapping[str, str]) -> str:
    """Return the version of an engine in a record; empty if it is not known.

    `versions`: versions by package.
    """
    known = ENGINES.get(engine)
    return "" if known is None else versions.get(known.package, "")


@cache
def source_hash() -> str:
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
