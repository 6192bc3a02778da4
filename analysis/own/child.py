"""Run a user's own method in a child process: a function, a source file, or a command.

Nothing of what the method does is trusted. Its schedule is returned as JSON text, because the
parent process has none of the user's classes, and is verified in another process.
"""

import importlib
import inspect
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

import psutil

from schedgap.analysis.own.fingerprint import file_hash
from schedgap.analysis.runners.request import Limits, Request
from schedgap.errors import OwnMethodError, UsageError
from schedgap.instances.instance import Instance
from schedgap.instances.records import plain
from schedgap.instances.settings import Option, OptionType
from schedgap.instances.solution import SolutionFile
from schedgap.models.options import evaluated
from schedgap.models.options import option as declared
from schedgap.solvers.children import worker
from schedgap.solvers.children.clock import Clock, now, was_limited
from schedgap.solvers.children.processes import descendants

OFFERED = ("seed", "clock")  # parameters that get a value without being options
OFFERED_ONLINE = (*OFFERED, "state")
LARGEST = 32 << 20  # bytes of a schedule
# Arguments of `solve`.
RESERVED = ("engine", "memory_limit", "method", "on_message", "proof", "time_limit")
PLACES = ("instance", "schedule", "seed")  # placeholders of a command
_PLACE = re.compile(r"\{\{\w+\}\}|(?<!\$)\{([A-Za-z_]\w*)\}")
_TAIL = 4000  # bytes of the standard error that are kept
_TYPES: dict[str, OptionType] = {"bool": "bool", "int": "int", "float": "float", "str": "text"}


@dataclass(frozen=True, slots=True)
class Function:
    """A function as bytes of cloudpickle."""

    pickled: bytes


@dataclass(frozen=True, slots=True)
class Source:
    """A function in a Python file."""

    file: str
    name: str


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments, among them `{instance}`, `{schedule}` and `{seed}`.

    `{{word}}` stands for `{word}`, and `${word}` is left as it is.
    """

    words: tuple[str, ...]

    @property
    def places(self) -> set[str]:
        """Names of the placeholders in the arguments, such as `instance`; known ones or not."""
        return {name for word in self.words for name in _PLACE.findall(word) if name}

    def mentions(self, place: str) -> bool:
        """Return whether an argument contains a placeholder.

        `place`: name of the placeholder, such as `instance`.
        """
        return place in self.places


Address = Function | Source | Command


@dataclass(frozen=True)
class Online:
    """An algorithm that is called at each arrival and sees only the jobs that are there."""

    function: Callable[..., Any]

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the function."""
        return self.function(*arguments, **keywords)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A time at which jobs arrive, and what an online algorithm has decided before.

    `now`: time of the arrival, in the unit of the instance. `plan`: last schedule; None at the
    first arrival. `state`: pickled object of its `state`; empty at the first arrival.
    """

    now: float
    plan: Any = None
    state: bytes = b""


@dataclass(frozen=True, slots=True)
class Call:
    """What a user's own method is called with.

    `offered`: names of `OFFERED` that it asks for. `limit`: time limit in seconds. `place`: working
    directory. `folder`: temporary folder for the files of a command; empty if there are none.
    """

    options: Mapping[str, Any]
    offered: tuple[str, ...]
    seed: int
    limit: float | None
    place: str
    folder: str = ""


# --- entry points ----------------------------------------------------------------------------


def run(
    send: Callable[[object], None], address: Address, code: str, instance: Instance, call: Call
) -> tuple[str | None, float]:
    """Run a method; return its schedule as JSON text and its seconds.

    Schedules that a generator yields are sent at once, as `("schedule", seconds, text)`; the result
    is then None.

    `send`: sends a message to the parent process. `address`: where the method is. `code`: hash of
    its source. `call`: what it is called with.

    Raises
    ------
    OwnMethodError
        For every error of the method; the traceback is a note.
    """
    _prepare(call)
    try:
        if isinstance(address, Command):
            return _run_command(address, instance, call)
        function = _load(address, code)
        _seed(call.seed)
        return _run_function(function, instance, call, send)
    finally:
        _tidy()


def decide(
    send: Callable[[object], None],
    address: Address,
    code: str,
    view: Instance,
    call: Call,
    arrival: Arrival,
) -> tuple[str, float, bytes]:
    """Call an online algorithm at an arrival; return its plan, its seconds and its state.

    `send`: sends a message to the parent process; not used. `address`: where the method is. `code`:
    hash of its source. `view`: the instance with the jobs that have arrived; this process never
    sees the others. `call`: what it is called with. `arrival`: the time, and what was decided
    before.
    """
    import cloudpickle

    _prepare(call)
    try:
        assert not isinstance(address, Command)
        function = _load(address, code)
        _seed(call.seed)
        begun = now()
        try:
            state = pickle.loads(arrival.state) if arrival.state else {}
            extra = _extra(call, state)
            found = function(view, arrival.now, arrival.plan, **call.options, **extra)
            seconds = now() - begun
            stored = cloudpickle.dumps(state) if "state" in call.offered else b""
            return schedule_text(found, view), seconds, stored
        except (MemoryError, OwnMethodError):
            raise
        except BaseException as error:  # noqa: BLE001 - the function may raise anything
            _fail(error)
    finally:
        _tidy()


def describe(
    send: Callable[[object], None], address: Source, code: str
) -> tuple[tuple[Option, ...], tuple[str, ...], bool]:
    """Return the options of a function in a file, what it asks for, and whether it is online.

    `send`: sends a message to the parent process; not used. `code`: hash of the source.
    """
    try:
        function = _load(address, code)
        return *parameters(function), isinstance(function, Online)
    finally:
        _tidy()


def parameters(function: Callable[..., Any]) -> tuple[tuple[Option, ...], tuple[str, ...]]:
    """Return the options of a function, and which of `OFFERED` it asks for.

    The first parameter is the instance; an online algorithm has three: the instance, the time and
    its last schedule. All others must have a default. A parameter is an option if its default or
    its annotation is a number, a text or a boolean.

    Raises
    ------
    UsageError
        If it cannot be called with an instance alone.
    """
    online = isinstance(function, Online)
    function = function.function if isinstance(function, Online) else function
    name = getattr(function, "__name__", type(function).__name__)
    first, names = (3, OFFERED_ONLINE) if online else (1, OFFERED)
    try:
        known = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # Python does not know
        return (), ()
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    given = "instance, time and last schedule" if online else "instance"
    if inspect.Parameter.VAR_POSITIONAL in [parameter.kind for parameter in known[:first]]:
        first = 1
    elif len(known) < first or any(parameter.kind not in places for parameter in known[:first]):
        raise UsageError(f"{name}: its first parameters must be: {given}")
    options: list[Option] = []
    offered: list[str] = []
    for parameter in known[first:]:
        if parameter.name in RESERVED and parameter.kind not in several:
            raise UsageError(
                f"{name}: parameter '{parameter.name}' has a name that solve uses: rename it"
                + (
                    " (clock.remaining() is the time left)"
                    if parameter.name == "time_limit"
                    else ""
                )
            )
        if parameter.name in names and parameter.kind not in several:
            offered.append(parameter.name)
        elif parameter.kind not in several:
            if parameter.default is inspect.Parameter.empty:
                raise UsageError(
                    f"{name}: parameter '{parameter.name}' needs a default, as solve passes only "
                    f"{given}, and on request {' and '.join(names)}"
                )
            option = _option(function, parameter)
            if option is not None and parameter.kind not in (inspect.Parameter.POSITIONAL_ONLY,):
                options.append(option)
    return tuple(options), tuple(offered)


def _option(function: Callable[..., Any], parameter: inspect.Parameter) -> Option | None:
    """Return the option of a parameter with a default, or None if text cannot express it."""
    hint, default = evaluated(parameter.annotation, function), plain(parameter.default)
    if (found := declared(parameter.name, hint, default)) is not None:
        return found
    named = hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))
    named = named.replace("Optional[", "").rstrip("]").removesuffix("| None").strip()
    kind = _TYPES.get(named) or _TYPES.get(type(default).__name__)
    if kind is None or not isinstance(default, bool | int | float | str | None):
        return None
    return Option(parameter.name, kind, default, f"parameter of the function, by default {default}")


# --- loading ---------------------------------------------------------------------------------

_compiled: dict[str, types.CodeType] = {}  # keys are hashes of the source


def _load(address: Function | Source, code: str) -> Callable[..., Any]:
    """Return the function, loaded anew for each task: no task depends on earlier ones."""
    try:
        if isinstance(address, Function):
            import cloudpickle

            found = cloudpickle.loads(address.pickled)
        else:
            found = getattr(_module(address, code), address.name, None)
            if found is None:
                raise UsageError(f"{address.file}: has no function '{address.name}'")
    except UsageError:
        raise
    except BaseException as error:  # noqa: BLE001 - a file may raise anything
        _fail(error, "cannot be loaded: ")
    if not callable(found):
        raise UsageError(f"{getattr(address, 'file', '')}: '{found!r}' is not a function")
    return found  # type: ignore[no-any-return]


def _module(address: Source, code: str) -> types.ModuleType:
    """Run a source file as a module; it finds the modules in its folder."""
    file = Path(address.file).resolve()
    sys.path.insert(0, str(file.parent))
    sys.dont_write_bytecode = True
    if code not in _compiled:
        if file_hash(file) != code:
            raise UsageError(f"{address.file}: has changed since the run began")
        _compiled[code] = compile(file.read_bytes(), str(file), "exec")
    name = f"own_{file.stem}"
    module = types.ModuleType(name)
    module.__file__ = str(file)
    sys.modules[name] = module
    exec(_compiled[code], module.__dict__)
    return module


def _seed(seed: int) -> None:
    """Seed the global generators: the result must not depend on earlier tasks."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


# --- functions -------------------------------------------------------------------------------


def _run_function(
    function: Callable[..., Any], instance: Instance, call: Call, send: Callable[[object], None]
) -> tuple[str | None, float]:
    extra = _extra(call, {})
    begun = now()
    clock = Clock(call.limit)
    try:
        found = function(instance, **call.options, **extra)
        if is_model(found):
            found = _solved(found, instance, call.seed, clock)
        if isinstance(found, Iterator):
            found = _stream(found, instance, begun, send)
            if found is None:
                return None, now() - begun
        seconds = now() - begun
        return schedule_text(found, instance), seconds
    except (MemoryError, OwnMethodError):
        raise
    except BaseException as error:  # noqa: BLE001 - the function may raise anything
        _fail(error)


def is_model(value: object) -> bool:
    """Return whether a value is a Pyomo model, without importing Pyomo."""
    return any(kind.__module__.startswith("pyomo.") for kind in type(value).__mro__)


def _solved(model: Any, instance: Instance, seed: int, clock: Clock) -> Any:
    """Solve a model of the instance; its schedule counts, and its bound does not."""
    # The import is by name, because this module must not import `programs`.
    programs = importlib.import_module("schedgap.analysis.programs.solve_model")
    limits = Limits(None if clock.limit is None else max(0.1, clock.remaining()))
    runner = programs.ChangedModel(model).prepare(instance, Request(limits=limits, seed=seed))
    return runner.solution(runner.run())


def _extra(call: Call, state: object) -> dict[str, Any]:
    """Return the values of the parameters that the function asks for by name."""
    given = {"seed": call.seed, "clock": Clock(call.limit), "state": state}
    if "clock" in call.offered:
        was_limited()  # it may do something else under another limit
    return {name: given[name] for name in call.offered}


def _stream(
    schedules: Iterator[Any], instance: Instance, begun: float, send: Callable[[object], None]
) -> object:
    """Send each schedule that a generator yields, and return what it returns."""
    while True:
        try:
            found = next(schedules)
        except StopIteration as end:
            return end.value
        seconds = now() - begun
        if found is not None:
            send(("schedule", seconds, schedule_text(found, instance)))


def schedule_text(found: Any, instance: Instance) -> str:
    """Return what a function returned as JSON text, if it can be a schedule.

    `found`: a schedule of the family, its data, or a solution.

    Raises
    ------
    OwnMethodError
        If it is neither.
    """
    inner = getattr(found, "schedule", None)
    if isinstance(found, SolutionFile):
        data: object = {**dict(found), "proof": None}
    elif hasattr(found, "to_data"):
        data = found.to_data(instance)
    elif inner is not None and hasattr(inner, "to_data"):  # a run of an algorithm
        data = inner.to_data(instance)
    else:
        data = found
    if not isinstance(data, Mapping):
        raise OwnMethodError(
            f"returned {_kind(found)}: need a schedule, or the data of one as a dict"
        )
    try:
        text = json.dumps(plain(data))
    except RecursionError:
        raise OwnMethodError("returned a schedule that is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise OwnMethodError(f"returned a schedule that is no JSON data: {error}") from None
    if len(text) > LARGEST:
        raise OwnMethodError(f"returned a schedule of more than {LARGEST >> 20} MB")
    return text


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _fail(error: BaseException, prefix: str = "") -> NoReturn:
    """Raise an error of the user's code as one of ours, with the place and the traceback."""
    if isinstance(error, MemoryError):
        raise error
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    try:
        said = " ".join(str(error).split())
    except BaseException:  # noqa: BLE001 - its own text fails
        said = ""
    text = f"{type(error).__name__}{': ' if said else ''}{said[:500]}{place}"
    failure = OwnMethodError(prefix + text)
    with suppress(Exception):
        failure.add_note("".join(traceback.format_exception(error))[-10_000:])
    raise failure from None


# --- commands --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Output:
    """Reads a pipe in a thread: all of it up to a limit, or only its end."""

    stream: IO[bytes]
    keep: bool
    full: Callable[[], None]
    text: bytearray = field(default_factory=bytearray)
    overflow: bool = False

    @property
    def last_line(self) -> str:
        """The last line that is not blank."""
        lines = self.text.decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def read(self) -> None:
        with suppress(OSError, ValueError):
            while part := self.stream.read1(1 << 16):  # type: ignore[attr-defined]
                if self.keep and len(self.text) + len(part) > LARGEST:
                    self.overflow = True
                    self.full()
                    return
                self.text += part
                if not self.keep:
                    del self.text[:-_TAIL]


def _run_command(command: Command, instance: Instance, call: Call) -> tuple[str, float]:
    names = {"seed": str(call.seed)}
    for name in ("instance", "schedule"):
        names[name] = str(Path(call.folder, f"{name}.json"))
    data = json.dumps(instance.to_data()).encode()
    by_file, to_file = command.mentions("instance"), command.mentions("schedule")
    if by_file:
        Path(names["instance"]).write_bytes(data)
    words = [_filled(word, names) for word in command.words]
    begun = now()
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL if by_file else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_dies_with_its_parent() if sys.platform == "linux" else None,
        )
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OwnMethodError(f"'{words[0]}' cannot be started: {reason}") from None
    assert process.stdout is not None and process.stderr is not None
    out = _Output(process.stdout, not to_file, process.kill)
    err = _Output(process.stderr, False, process.kill)
    threads = [threading.Thread(target=stream.read, daemon=True) for stream in (out, err)]
    if process.stdin is not None:
        threads.append(threading.Thread(target=_feed, args=(process.stdin, data), daemon=True))
    for thread in threads:
        thread.start()
    code = process.wait()
    seconds = now() - begun
    for thread in threads:  # a process that it has started may hold the pipes
        thread.join(timeout=1.0)
    if out.overflow:
        raise OwnMethodError(f"printed more than {LARGEST >> 20} MB")
    if code != 0:
        raise OwnMethodError(_ending(code) + (f": {err.last_line}" if err.last_line else ""))
    return _written(Path(names["schedule"])) if to_file else _printed(out.text), seconds


def _dies_with_its_parent() -> Callable[[], None]:
    """Return what a new process calls so that it is killed when this one is."""
    import ctypes

    library, pr_set_pdeathsig = ctypes.CDLL(None), 1
    return lambda: library.prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)


def _filled(argument: str, names: Mapping[str, str]) -> str:
    """Return an argument with the placeholders replaced, and `{word}` for `{{word}}`."""
    return _PLACE.sub(lambda found: names[found[1]] if found[1] else found[0][1:-1], argument)


def _feed(stream: IO[bytes], data: bytes) -> None:
    with suppress(OSError), stream:
        stream.write(data)


def _ending(code: int) -> str:
    if code > 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _written(file: Path) -> str:
    if not file.is_file():
        raise OwnMethodError("wrote no file {schedule}")
    if file.stat().st_size > LARGEST:
        raise OwnMethodError(f"wrote a schedule of more than {LARGEST >> 20} MB")
    return file.read_bytes().decode(errors="replace")


def _printed(text: bytearray) -> str:
    if not text.strip():
        raise OwnMethodError(
            "printed nothing: need a schedule (JSON) on the standard output, or in {schedule}"
        )
    return text.decode(errors="replace")


# --- before and after ------------------------------------------------------------------------


def _prepare(call: Call) -> None:
    """Go to the caller's working directory, and adopt processes that lose their parent."""
    with suppress(OSError):
        os.chdir(call.place)
    if sys.platform == "linux":
        import ctypes

        pr_set_child_subreaper = 36
        ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def _tidy() -> None:
    """End what the method has started; end this process too if something of it is left."""
    left = descendants(psutil.Process())
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    with suppress(OSError, AttributeError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    closed = any(getattr(stream, "closed", True) for stream in (sys.stdout, sys.stderr))
    if left or closed or threading.active_count() > 2:  # the main one, and one receives the tasks
        worker.retire()
