"""Errors that a user can cause, each with its exit code; all other outcomes are statuses."""


class SchedgapError(Exception):
    """Something that the user can mend; one line on stderr, no traceback."""

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(_one_line(message))


def _one_line(text: str) -> str:
    """Escape what would break the line or the terminal; what users name may hold anything."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


class InputError(SchedgapError):
    """A file is unusable: names the file, the JSON path (or line and column), and what is wrong."""

    def __init__(self, message: str, *, path: str = "", file: str = "") -> None:
        self.message, self.path, self.file = message, path, file
        super().__init__(": ".join(part for part in (file, path, message) if part))

    def __reduce__(self) -> tuple[object, ...]:
        return _input_error, (self.message, self.path, self.file)

    def inside(self, file: str) -> "InputError":
        """Return the same error with the name of the file in front."""
        return InputError(self.message, path=self.path, file=file)


def _input_error(message: str, path: str, file: str) -> InputError:
    return InputError(message, path=path, file=file)


class UsageError(SchedgapError):
    """No such family, method, engine or setting, or they do not go together."""


class ScaleError(SchedgapError):
    """Times or weights that the integer scale of an exact method cannot hold."""


class EngineUnavailableError(SchedgapError):
    """The engine is not installed, or its licence does not admit the model; says what to do."""

    exit_code = 5


class ContradictionError(Exception):
    """Our own results disagree (a schedule below a bound, an invalid 'optimum'): a bug."""

    exit_code = 70
