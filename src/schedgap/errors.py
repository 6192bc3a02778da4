"""Errors that a user can cause, each with its exit code."""

from collections.abc import Iterable
from typing import Any


class SchedgapError(Exception):
    """An error that the user can correct; shown as one line on stderr without a traceback."""

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


def one_line(text: str) -> str:
    """Escape control characters; file names and ids given by users may contain any.

    `text`: of a message.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


class InputError(SchedgapError):
    """An unusable file; the message names the file, the JSON path or line, and the fault.

    Parameters
    ----------
    message : str
        What is wrong.
    path : str
        JSON path, or line and column, of the fault; may be empty.
    file : str
        Name of the file; may be empty.
    """

    def __init__(self, message: str, *, path: str = "", file: str = "") -> None:
        self.message, self.path, self.file = message, path, file
        super().__init__(": ".join(part for part in (file, path, message) if part))

    def __reduce__(self) -> tuple[object, ...]:
        return _input_error, (self.message, self.path, self.file)

    def inside(self, file: str) -> "InputError":
        """Return this error with the name of its file, unless it has one.

        Parameters
        ----------
        file : str
            Name of the file that contains the fault.
        """
        return self if self.file else InputError(self.message, path=self.path, file=file)


def _input_error(message: str, path: str, file: str) -> InputError:
    return InputError(message, path=path, file=file)


class UsageError(SchedgapError):
    """An unknown family, method, engine or setting, or an invalid combination of them."""


class ScaleError(SchedgapError):
    """Times or weights that the integer scale of an exact method cannot represent."""


class EngineUnavailableError(SchedgapError):
    """An engine that is not installed or cannot be loaded, or whose licence is too small."""

    exit_code = 5


class EngineLicenceError(EngineUnavailableError):
    """An engine whose licence is missing, or too small for the program."""


class FamilyError(SchedgapError):
    """A family of another package that breaks the contract; names the part and the fault."""


class FamilyWarning(UserWarning):
    """A family of another package that is left out; names the package."""


class EngineWarning(UserWarning):
    """An engine of another package that is left out; names the package."""


class Interrupted(KeyboardInterrupt):
    """An interrupt of work that leaves something; the message says what is kept, and how to go on.

    `message`: for the user; may be empty. `solution`: what a method has reached.
    """

    def __init__(self, message: str = "", solution: Any = None) -> None:
        super().__init__(message)
        self.solution = solution


class FolderWarning(UserWarning):
    """Files in a folder of instances that are left out; names the files."""


class OwnMethodError(SchedgapError):
    """A user's own method that failed: it raised an error, or returned no schedule."""


class InvalidScheduleError(SchedgapError):
    """A user's own method returned a schedule that breaks a rule, or data of another form."""

    exit_code = 1


class ContradictionError(Exception):
    """Contradictory results of our own, such as a schedule below a proved bound: a bug."""

    exit_code = 70


def choices(name: str, known: Iterable[str]) -> str:
    """Return a text for messages on an unknown name: all known ones, and the closest of them.

    `known`: names that exist.
    """
    from difflib import get_close_matches

    names = list(known)
    close = get_close_matches(str(name)[:100], names, n=1)
    hint = f" (did you mean '{close[0]}'?)" if close else ""
    return f"choose one of {', '.join(names) or 'none'}{hint}"
