"""Strict JSON: documents, files that hold one, and paths in them."""

import json
import math
import os
import re
import reprlib
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedgap.errors import InputError

DEEPEST = 50  # levels of a JSON document


# --- documents ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Duplicate:
    """Marks an object with a duplicate key."""

    key: str


DIGITS = 310  # digits of an integer; one with more digits exceeds every float
_TOO_LARGE = object()  # marks an integer of more digits


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | _Duplicate:
    data = dict(pairs)
    if len(data) == len(pairs):
        return data
    count = Counter(key for key, _ in pairs)
    return _Duplicate(next(key for key, _ in pairs if count[key] > 1))


def json_path(parts: Iterable[str | int]) -> str:
    """Return a path as text, such as `jobs[1].training_time.T4`.

    `parts`: keys and indices.
    """
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[\w/+-]{1,60}", part):
            text += f".{part}" if text else part
        else:  # a key that would be ambiguous
            text += f"[{short(part)}]"
    return text


Fault = tuple[str, tuple[str | int, ...]]  # what is wrong, and where


def json_fault(value: Any, depth: int = 0, *, digits: int = DIGITS) -> Fault | None:
    """Return the first violation of strict JSON that Python's parser accepts, or None.

    `value`: JSON data. `depth`: levels above them. `digits`: most digits of an integer.
    """
    kind = type(value)
    if kind is float:
        return None if math.isfinite(value) else ("not a finite number", ())
    if kind is str:
        return None if _is_text(value) else ("not valid Unicode text", ())
    if kind is dict or kind is list:
        if depth == DEEPEST:
            raise InputError(f"nested too deeply: more than {DEEPEST} levels")
        for key, item in value.items() if kind is dict else enumerate(value):
            if kind is dict and not (type(key) is str and _is_text(key)):
                what = "valid Unicode text" if type(key) is str else "a text"
                return f"a key that is not {what}", ()
            fault = json_fault(item, depth + 1, digits=digits)
            if fault is not None:
                return fault[0], (key, *fault[1])
        return None
    if kind is _Duplicate:
        return "duplicate key", (value.key,)
    long = kind is int and value.bit_length() > 3 * digits  # each digit needs at least 3 bits
    if value is _TOO_LARGE or (long and abs(value) >= 10**digits):
        return "number too large", ()
    known = kind in (int, bool, type(None))
    return None if known else (f"a value of type {kind.__name__} is no JSON data", ())


def _is_text(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def parse_json(text: str | bytes, *, digits: int = DIGITS) -> Any:
    """Parse one strict JSON document.

    `digits`: most digits of an integer.

    Raises
    ------
    InputError
        If it is not JSON, or has duplicate keys, NaN or trailing data.
    """

    def integer(written: str) -> object:
        return int(written) if len(written) <= digits else _TOO_LARGE

    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        if text.startswith("\ufeff"):
            raise InputError("not JSON: starts with a byte order mark; save as UTF-8 without it")
        value = json.loads(text, object_pairs_hook=_object, parse_int=integer)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}",
            path=f"line {error.lineno} column {error.colno}",
        ) from None
    except RecursionError:
        raise InputError("not JSON: nested too deeply") from None
    fault = json_fault(value, digits=digits)
    if fault is not None:
        raise InputError(fault[0], path=json_path(fault[1]))
    return value


def copy_json(value: object) -> Any:
    """Return a deep copy of JSON data."""
    if isinstance(value, Mapping):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [copy_json(item) for item in value]
    return value


def short(value: object) -> str:
    """Return a value as text of at most 40 characters, as JSON if it can be."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):  # keys that are no texts; data that contain themselves
        text = reprlib.repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def canonical_json(value: object) -> str:
    """Return canonical JSON: sorted keys, no spaces, shortest round-trip floats."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


# --- files -------------------------------------------------------------------------------------


def read_bytes(file: str | os.PathLike[str], *, most: int | None = None) -> bytes:
    """Return the bytes of a file.

    `most`: largest size in bytes.

    Raises
    ------
    InputError
        If the file cannot be read, is too large, or is a pipe or a device, which may never end.
    """
    try:
        path = Path(file)
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError("cannot be read: not a regular file", file=str(file))
        with path.open("rb") as source:
            content = source.read() if most is None else source.read(most + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise InputError(f"cannot be read: {_reason(error)}", file=str(file)) from None
    if most is not None and len(content) > most:
        raise InputError(f"larger than {most >> 20} MB", file=str(file))
    return content


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def read_json(file: str | os.PathLike[str]) -> Any:
    """Return the content of a strict JSON file.

    Raises
    ------
    InputError
        If the file cannot be read or is not strict JSON.
    """
    try:
        return parse_json(read_bytes(file))
    except InputError as error:
        raise error.inside(str(file)) from None


def write_text(file: str | os.PathLike[str], text: str) -> None:
    """Write a file of text as `write_bytes` does."""
    write_bytes(file, text.encode("utf-8"))


def write_bytes(file: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically: write a temporary file, fsync, rename.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    try:
        target = Path(file)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"cannot be written: {_reason(error)}", file=str(file)) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot be written: {_reason(error)}", file=str(file)) from None
        raise


def write_json(file: str | os.PathLike[str], value: Any, *, indent: int | None = 1) -> None:
    """Write a JSON document atomically.

    `indent`: indentation; None for one line.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    write_text(file, json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n")
