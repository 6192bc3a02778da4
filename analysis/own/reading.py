"""Find methods of the user's own: a function, a function in a file, or a command."""

import io
import os
import re
import shlex
import shutil
from collections import ChainMap
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from types import CodeType
from typing import Any, ClassVar

from schedgap.analysis.own.arrivals import OnlineOwn
from schedgap.analysis.own.child import (
    PLACES,
    Command,
    Function,
    Online,
    Source,
    is_model,
    parameters,
)
from schedgap.analysis.own.fingerprint import command_hash, file_hash, function_hash
from schedgap.analysis.own.methods import CHILD, MEMORY_MB, Own, own_process
from schedgap.errors import InputError, UsageError, choices
from schedgap.instances.arguments import a_function, checked
from schedgap.instances.settings import Option
from schedgap.solvers.children.processes import run_child

NO_FILE = "<dynamic-code>"  # file name that cloudpickle writes
MOST_DATA = 64 << 20  # bytes of a function with what it refers to
LOAD_SECONDS = 60.0  # limit for running a source file
LONGEST = 80  # characters of a name
NAME = r"[A-Za-z_][\w.-]*"  # name of a method
_FILE = re.compile(rf"(?:(?P<label>{NAME})=)?(?P<file>.+\.py):(?P<name>[^\W\d]\w*)(?P<rest>:.*)?$")
_COMMAND = re.compile(rf"(?:(?P<label>{NAME})=)?cmd:(?P<words>.*)$", re.DOTALL)
_pickling = Lock()


@checked(function=a_function)
def online(function: Callable[..., Any]) -> Online:
    """Make a function an online algorithm, which is called whenever jobs arrive.

    It is called as `function(view, now, plan)`. `view` is the instance with the jobs that have
    arrived so far, and no other job. `now` is the time of the arrival. `plan` is the data of the
    schedule that the function returned last, or None. The function returns a schedule of the jobs
    in `view`. Before `now` the schedule must agree with `plan`. Later parts may be changed at the
    next arrival. A parameter `state` receives a dict that is kept from call to call. Options,
    `seed` and `clock` are as for other functions.

    Parameters
    ----------
    function : callable
        Called with the instance, the time and its last schedule, each time that jobs arrive.
    """
    return Online(function)


def own(code: "Callable[..., Any] | str | Own", *, name: str | None = None) -> Own:
    """Return a method of your own, for `solve` and `compare`, under a name.

    Parameters
    ----------
    code : callable or str
        A function from an instance to a schedule or a model (docs/programs.md),
        `FILE.py:FUNCTION`, or `cmd:PROGRAM ARGUMENTS`. See docs/own-algorithms.md.
    name : str, optional
        Its name in tables; by default, the name of the function or the program.

    Raises
    ------
    UsageError
        If it cannot be called with an instance alone, or cannot be found.
    """
    if isinstance(code, Own):
        found = code
    elif isinstance(code, str):
        read = from_text(code)
        if read is None:
            raise UsageError(f"'{code}': need FILE.py:FUNCTION or cmd:PROGRAM")
        found = read
    elif is_model(code):
        raise UsageError(
            "a model belongs to one instance: give a function that builds it and changes it; see "
            "docs/programs.md"
        )
    elif callable(code):
        found = from_function(code)
    else:
        raise UsageError(f"a method must be a name or a function, not {type(code).__name__}")
    if name is not None:
        check_name(name)
    return found if name is None else replace(found, name=name)


def check_name(name: str) -> None:
    """Raise UsageError unless a text can be the name of a method in tables."""
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise UsageError(f"name '{name}': need letters, digits, '_', '-' or '.'")
    if len(name) > LONGEST:
        raise UsageError(f"name '{name[:20]}...': need at most {LONGEST} characters")


def from_text(text: str) -> Own | None:
    """Return the own method that a text names, or None if it names none.

    `text`: `FILE.py:FUNCTION`, with options as in `FILE.py:FUNCTION:beta=3`, or `cmd:PROGRAM ...`;
    both may have a name in front, as in `fast=FILE.py:FUNCTION`.
    """
    command = _COMMAND.match(text.strip())
    if command is not None:
        return _named(_from_command(command["words"]), command["label"])
    file = _FILE.match(text.strip())
    if file is None:
        if text.strip().endswith(".py"):
            raise UsageError(f"{text.strip()}: need FILE.py:FUNCTION")
        return None
    settings: dict[str, object] = {}
    for word in filter(None, (file["rest"] or "").split(":")):
        key, equals, value = word.partition("=")
        if not equals or not key or key in settings:
            raise UsageError(
                f"method '{text}': need FILE.py:FUNCTION or FILE.py:FUNCTION:KEY=VALUE"
            )
        settings[key] = value
    found = _from_file(Path(file["file"]).expanduser(), file["name"])
    return replace(_named(found, file["label"]), settings=tuple(settings.items()))


def _named(found: Own, name: str | None) -> Own:
    if name is None:
        return found
    check_name(name)
    return replace(found, name=name)


def _from_command(text: str) -> Own:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"cmd:{text}: {str(error).lower()}") from None
    if not words:
        raise UsageError("cmd: need a program")
    program = shutil.which(words[0])
    if program is None:
        raise UsageError(f"cmd:{text}: no program '{words[0]}' that can be run")
    name = re.sub(r"[^\w.-]", "-", Path(words[0]).stem) or "command"
    command = Command((os.path.abspath(program), *words[1:]))
    for place in sorted(command.places.difference(PLACES)):
        known = choices("{" + place + "}", ["{" + name + "}" for name in PLACES])
        raise UsageError(
            f"cmd:{text}: no placeholder '{{{place}}}': {known}; {{{{{place}}}}} gives the text"
        )
    offered = ("seed",) if command.mentions("seed") else ()
    return Own(name, command, command_hash(words), offered=offered)


def _from_file(file: Path, name: str) -> Own:
    if not file.is_file():
        raise InputError("no such file", file=str(file))
    try:
        code = file_hash(file)
    except OSError as error:
        raise InputError(f"cannot be read: {str(error.strerror).lower()}", file=str(file)) from None
    address = Source(str(file.resolve()), name)
    options, offered, is_online = _described(address, code)
    return (OnlineOwn if is_online else Own)(name, address, code, options, offered)


@lru_cache(maxsize=256)
def _described(address: Source, code: str) -> tuple[tuple[Option, ...], tuple[str, ...], bool]:
    """Describe a function in a file, which is run in a child process only."""
    reply = run_child(
        f"{CHILD}:describe",
        address,
        code,
        limit=LOAD_SECONDS,
        memory_mb=MEMORY_MB,
        engine=own_process(code),
    )
    if reply.outcome == "done":
        options, offered, is_online = reply.value
        return options, offered, is_online
    if isinstance(reply.error, UsageError):
        raise reply.error
    text = str(reply.error or reply.outcome).strip().splitlines()
    raise UsageError(f"{address.file}: {text[-1 if reply.outcome == 'error' else 0]}")


def from_function(function: Callable[..., Any]) -> Own:
    """Return a function as a method.

    `function`: from an instance to a schedule; it may be defined in a notebook.

    Raises
    ------
    UsageError
        If it cannot be called with an instance alone, or cannot be sent to another process.
    """
    inner: Any = function
    while isinstance(inner, Online | partial):
        inner = inner.function if isinstance(inner, Online) else inner.func
    named = getattr(inner, "__name__", type(inner).__name__)
    name = re.sub(r"[^\w.-]", "", named) or "own"
    options, offered = parameters(function)
    try:
        code, modules = function_hash(function)
        pickled = _pickled(function, modules)
    except Exception as error:  # noqa: BLE001 - an object may refuse in any way
        said = " ".join(str(error).split())
        raise UsageError(
            f"{name} cannot be sent to another process: {type(error).__name__}: {said}"
        ) from None
    if len(pickled) > MOST_DATA:
        raise UsageError(
            f"{name} refers to more than {MOST_DATA >> 20} MB of data: let it read them from a file"
        )
    kind = OnlineOwn if isinstance(function, Online) else Own
    return kind(name, Function(pickled), code, options, offered)


def _pickled(function: Callable[..., Any], modules: set[str]) -> bytes:
    """Return a function with what it refers to in the user's modules, as they are in memory."""
    import sys

    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        """A pickler that keeps the files of functions, which messages name; 3.1.3 drops them."""

        dispatch_table: ClassVar[Any] = ChainMap(
            {CodeType: _with_file}, cloudpickle.Pickler.dispatch_table
        )

    packed = io.BytesIO()
    with _pickling:
        fresh = modules - set(cloudpickle.list_registry_pickle_by_value())
        for name in fresh:
            cloudpickle.register_pickle_by_value(sys.modules[name])
        try:
            Pickler(packed).dump(function)
        finally:
            for name in fresh:
                cloudpickle.unregister_pickle_by_value(sys.modules[name])
    return packed.getvalue()


def _with_file(code: CodeType) -> tuple[Any, ...]:
    """Return how to build a function's code again, with the name of its file."""
    import cloudpickle

    build, arguments = cloudpickle.Pickler.dispatch_table[CodeType](code)
    return build, tuple(
        code.co_filename if argument == NO_FILE else argument for argument in arguments
    )
