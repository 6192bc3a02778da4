"""Entry of the command line: run it, and map errors to exit codes."""

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import typer

from schedgap import show
from schedgap.cli.parser import app
from schedgap.errors import (
    ContradictionError,
    EngineWarning,
    FamilyError,
    FamilyWarning,
    FolderWarning,
    SchedgapError,
)


def _version(asked: bool) -> None:
    if asked:
        from schedgap import __version__

        show.lines(f"schedgap {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


_received: list[int] = []  # signals that asked the process to end
_PATIENCE = 10.0  # seconds in which a repeated Ctrl-C does not disturb what the first one started
_first: list[float] = []  # time of the first Ctrl-C


def _interrupt(_number: int, _frame: object) -> None:
    """End at the first Ctrl-C; the next ones may not break off what is kept and said."""
    now = time.monotonic()
    if not _first or now > _first[0] + _PATIENCE:
        _first[:] = [now]
        raise KeyboardInterrupt


def _terminate(number: int, _: object) -> None:
    """End as with Ctrl-C, when a batch system asks for it at the end of its time."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _received.append(number)
    raise KeyboardInterrupt


def _interrupted() -> int:
    """Say that a command was interrupted and kept nothing more, and return its exit code."""
    if not _received:
        show.note("interrupted")
        return 130
    show.note("terminated (SIGTERM); what was finished is kept")
    return 143


def _with_retry(arguments: list[str]) -> list[str]:
    """Return the arguments with `all` after each `--retry` that has no value.

    A word that cannot be a target of `compare` is a value. A misspelt value is then refused as one.
    """
    given: list[str] = []
    for place, word in enumerate(arguments):
        given.append(word)
        following = arguments[place + 1 : place + 2]
        if word == "--retry" and not (following and _is_kind(following[0])):
            given.append("all")
    return given


def _is_kind(word: str) -> bool:
    """Return whether the word after `--retry` is its value: not an option, nor a target."""
    if set(word.split(",")) <= show.RETRIES:
        return True
    suite = word in ("quick", "traces") or "-figure" in word
    return not (suite or set("./\\") & set(word) or word.startswith("-") or Path(word).exists())


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; an error is one line on stderr.

    `arguments`: the arguments without the name of the program.
    """
    with warnings.catch_warnings():
        usual, told = warnings.showwarning, set[str]()
        for kind in (EngineWarning, FamilyWarning, FolderWarning):
            warnings.simplefilter("always", kind)

        def in_one_line(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, EngineWarning | FamilyWarning | FolderWarning):
                usual(message, category, filename, lineno, file, line)
            elif str(message) not in told:
                told.add(str(message))
                show.note(str(message))

        warnings.showwarning = in_one_line
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    try:
        code = app(args=_with_retry(arguments), prog_name="schedgap", standalone_mode=False)
        sys.stdout.flush()
        return _interrupted() if _received else code if isinstance(code, int) else 0
    except (SchedgapError, ContradictionError) as error:
        if isinstance(error, FamilyError) and os.environ.get("SCHEDGAP_DEBUG"):
            traceback.print_exc()
        prefix = "contradiction: " if isinstance(error, ContradictionError) else ""
        show.note(f"{prefix}{error}")
        return error.exit_code
    except (BrokenPipeError, SystemExit):  # the reader of a pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except Exception as error:  # noqa: BLE001 - no traceback reaches the user
        if hasattr(error, "format_message"):  # errors of the parser
            show.note(_of_parser(error))
            return 2
        if os.environ.get("SCHEDGAP_DEBUG"):
            traceback.print_exc()
        from schedgap.models.family import blamed

        if outsider := blamed(error):
            show.note(str(outsider))
            return outsider.exit_code
        show.note(f"internal error: {type(error).__name__}: {error} (SCHEDGAP_DEBUG=1 shows more)")
        return 70


def _of_parser(error: Any) -> str:
    """Return the text of an error of the parser, with the command whose help says more."""
    text = error.format_message()
    if close := getattr(error, "possibilities", None):
        named = " or ".join(f"'{name}'" for name in close)
        text = f"no option '{error.option_name}' (did you mean {named}?)"
    context = getattr(error, "ctx", None)
    command = "schedgap" if context is None else context.command_path
    return f"{text} (see '{command} --help')"


def main() -> None:
    """Run the command line of this process and exit."""
    # Looking for plugins of pydantic reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # This process does no dense linear algebra, and starting a thread per core costs CPU time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # The terminal shows '?' for a character that it lacks.
            stream.reconfigure(errors="replace")
    with contextlib.suppress(ValueError):  # signals need the main thread
        signal.signal(signal.SIGTERM, _terminate)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # SIGINT is not ignored
            signal.signal(signal.SIGINT, _interrupt)
    _leave(run(sys.argv[1:] or ["--help"]))


def _leave(code: int) -> NoReturn:
    """End the process without freeing each object, which takes a fifth of a short command."""
    if _first:  # Python resets its own handler while it ends, and Ctrl-C would then kill it
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
