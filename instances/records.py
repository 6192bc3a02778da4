"""Strict JSON at the border: records, field types, and errors that name file and JSON path."""

import difflib
import json
import math
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, NoReturn, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import ErrorDetails, PydanticCustomError, core_schema

from schedgap.errors import InputError

LARGEST = 1e12  # no time, weight or amount beyond it: sums and products stay exact enough
SMALLEST = 1e-9  # no duration below it, far under the tolerance of the rules: quotients stay finite
DEEPEST = 50  # levels of a JSON document
HIDDEN = "\0"  # starts the tags of a choice between types, which no path shows


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed: hashes and arrays made of a record stay true to it."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("records are frozen: make a changed one with replace(...)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)

    def __copy__(self) -> "FrozenDict":
        return self

    def __deepcopy__(self, memo: Any) -> "FrozenDict":
        return self


class Record(BaseModel):
    """What crosses the border: strict, frozen, no unknown keys, finite numbers.

    A changed record is a new one, checked like the first: `replace`.
    """

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,  # they become descriptions in the JSON Schema
    )

    def replace(self, **changes: Any) -> Self:
        """Return a record with some fields changed, checked anew.

        Parameters
        ----------
        **changes
            Fields by name: plain JSON data, records, or NumPy numbers and arrays. None leaves a
            field out that need not be there.

        Raises
        ------
        InputError
            With the path of the first thing that is wrong.
        """
        return validate(type(self), changed(plain(self), changes))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return the record itself, which cannot change, or `replace(**update)`."""
        return self.replace(**update) if update else self

    def copy(self, **arguments: Any) -> Self:  # pydantic's old name
        """Do what `model_copy` does."""
        return self.model_copy(**arguments)

    def __replace__(self, **changes: Any) -> Self:
        return self.replace(**changes)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self


def problem(message: str, *path: str | int) -> PydanticCustomError:
    """Return the error to raise in a validator; the path starts at the validated record."""
    return PydanticCustomError("schedgap", "{message}", {"message": message, "path": path})


def changed(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data with some keys changed; None takes a key out.

    A number that stays the same stays as it was written, 1 or 1.0, and so does the hash.
    """
    merged = dict(data)
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _as_written(plain(value), data.get(key))
    return merged


def _as_written(value: Any, before: Any) -> Any:
    """Return JSON data with the numbers that it shares with others as they were written there."""
    if isinstance(value, dict) and isinstance(before, dict):
        return {key: _as_written(item, before.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(before, list):
        named = {each["id"]: each for each in before if isinstance(each, dict) and "id" in each}
        if named:
            return [
                _as_written(each, named.get(each.get("id")) if isinstance(each, dict) else None)
                for each in value
            ]
        return [_as_written(*pair) for pair in zip_longest(value, before[: len(value)])]
    same = type(value) in (int, float) and type(before) in (int, float) and value == before
    return before if same else value


def _not_null(value: Any) -> Any:
    if value is None:
        raise problem("must not be null: leave the key out")
    return value


def _version_1(value: int) -> int:
    if value != 1:
        raise problem(f"must be 1, got {short(value)}")
    return value


Item = TypeVar("Item")
Id = Annotated[str, Field(min_length=1, max_length=200)]
NonNegative = Annotated[float, Field(ge=0, le=LARGEST)]
Positive = Annotated[float, Field(ge=SMALLEST, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Version = Annotated[int, AfterValidator(_version_1), Field(json_schema_extra={"const": 1})]
Many = Annotated[tuple[Item, ...], Field(strict=False)]  # a JSON array
Keyed = Annotated[dict[str, Item], AfterValidator(FrozenDict)]  # a JSON object of free keys
NonEmpty = Annotated[tuple[Item, ...], Field(strict=False, min_length=1)]
Absent = Annotated[Item | None, BeforeValidator(_not_null)]  # may be left out, with default None


class FileSchema(GenerateJsonSchema):
    """The JSON Schema of a file: `Absent` keys are optional and never null; no made-up titles."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Return the schema of the value alone."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema without a default of null."""
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False: a title made of the key says nothing."""
        return False


def require_unique(ids: Iterable[str], *path: str | int, key: str | None = "id") -> None:
    """Refuse an id that a list holds twice; the path names the second one (`key` None: itself)."""
    seen: set[str] = set()
    for index, name in enumerate(ids):
        if name in seen:
            where = (*path, index) if key is None else (*path, index, key)
            raise problem(f"duplicate id '{name}'", *where)
        seen.add(name)


# --- reading ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Duplicate:
    """Stands for an object that holds a key twice."""

    key: str


_TOO_LARGE = object()  # stands for an integer beyond every float


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= 310 else _TOO_LARGE


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Duplicate:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    count = Counter(key for key, _ in pairs)
    return _Duplicate(next(key for key, _ in pairs if count[key] > 1))


def json_path(parts: Iterable[str | int]) -> str:
    """Return a path such as `jobs[1].training_time.T4`."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[\w/+-]{1,60}", part):
            text += f".{part}" if text else part
        else:  # a key that would not read as one
            text += f"[{short(part)}]"
    return text


Fault = tuple[str, tuple[str | int, ...]]  # what is wrong, and where


def _fault(value: Any, depth: int = 0) -> Fault | None:
    """Return the first thing that strict JSON forbids and Python's reader lets through, or None."""
    kind = type(value)
    if kind is float:
        return None if math.isfinite(value) else ("not a finite number", ())
    if kind is str:
        return None if _is_text(value) else ("not valid Unicode text", ())
    if kind is dict or kind is list:
        if depth == DEEPEST:
            raise InputError(f"nested too deeply: more than {DEEPEST} levels")
        for key, item in value.items() if kind is dict else enumerate(value):
            found = _fault(item, depth + 1)
            if found is not None:
                return found[0], (key, *found[1])
            if type(key) is str and not _is_text(key):
                return "a key that is not valid Unicode text", ()
    if kind is _Duplicate:
        return "duplicate key", (value.key,)
    if value is _TOO_LARGE:
        return "number too large", ()
    return None


def _is_text(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def parse_json(text: str | bytes) -> Any:
    """Return the value of one strict JSON document; refuse duplicate keys, NaN, trailing data."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        if text.startswith("\ufeff"):
            raise InputError("not JSON: starts with a byte order mark; save as UTF-8 without it")
        value = json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}",
            path=f"line {error.lineno} column {error.colno}",
        ) from None
    except RecursionError:
        raise InputError("not JSON: nested too deeply") from None
    fault = _fault(value)
    if fault is not None:
        raise InputError(fault[0], path=json_path(fault[1]))
    return value


def copy_json(value: Any) -> Any:
    """Return a copy of plain JSON data."""
    if isinstance(value, Mapping):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [copy_json(item) for item in value]
    return value


def plain(value: Any) -> Any:
    """Return a copy of Python data as JSON has them: of records their keys, of NumPy the numbers.

    Whatever else is no JSON is left as it is, for the validation to refuse.
    """
    kind = type(value)
    if kind is str or kind is int or kind is float or kind is bool or value is None:
        return value
    if isinstance(value, BaseModel):
        return plain_record(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's and pandas' numbers and arrays
        return plain(value.tolist())
    return value


def plain_record(record: BaseModel) -> dict[str, Any]:
    """Return the JSON data of a record: what it was given; whole numbers without a point."""
    data: dict[str, Any] = _whole(record.model_dump(mode="json", exclude_unset=True))
    return data


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    whole = type(value) is float and value.is_integer() and abs(value) < 2**53
    return int(value) if whole else value


def read_bytes(file: str | os.PathLike[str]) -> bytes:
    """Return a file's bytes, or refuse it in one line."""
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise InputError(f"cannot be read: {_reason(error)}", file=str(file)) from None


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def read_json(file: str | os.PathLike[str]) -> Any:
    """Return the value of a strict JSON file."""
    try:
        return parse_json(read_bytes(file))
    except InputError as error:
        raise error if error.file else error.inside(str(file)) from None


RecordType = TypeVar("RecordType", bound=BaseModel)


def validate(record: type[RecordType], data: Any) -> RecordType:
    """Return the record that plain JSON data describe; InputError names the JSON path."""
    if not isinstance(data, Mapping):
        raise InputError("need one JSON object")
    try:
        return record.model_validate(data)
    except ValidationError as error:
        first = min(error.errors(include_url=False), key=_importance)
        path, message = _explain(record, first)
        raise InputError(message, path=json_path(path)) from None
    except RecursionError:
        raise InputError("nested too deeply") from None


def _importance(detail: ErrorDetails) -> int:
    """A misspelt key is behind a missing one, so it is named first; then in the file's order."""
    return {"extra_forbidden": 0, "missing": 1}.get(detail["type"], 2)


def _explain(record: type[BaseModel], detail: ErrorDetails) -> tuple[Sequence[str | int], str]:
    loc = detail["loc"]
    # an unknown key comes last and is the file's own, even where it starts like a tag
    inside = loc[:-1] if detail["type"] == "extra_forbidden" else loc
    path = tuple(part for part in inside if not str(part).startswith(HIDDEN))
    path += loc[len(inside) :]
    kind, context = detail["type"], detail.get("ctx", {})
    given = detail.get("input")
    shown = f", got {short(given)}"
    match kind:
        case "schedgap":
            return (*path, *context["path"]), str(context["message"])
        case "extra_forbidden":
            return path, "unknown key" + _suggest(record, path)
        case "missing":
            return path, "missing key"
        case "greater_than_equal" if context["ge"] == SMALLEST:
            return path, ("must be > 0" if given <= 0 else f"must be >= {SMALLEST:g}") + shown
        case "greater_than_equal":
            return path, f"must be >= {_number(context['ge'])}{shown}"
        case "greater_than":
            return path, f"must be > {_number(context['gt'])}{shown}"
        case "less_than_equal":
            return path, f"too large: must be <= {_number(context['le'])}{shown}"
        case "float_type" | "float_parsing" if type(given) is int:
            return path, f"too large{shown}"  # an integer beyond every float
        case "float_type" | "float_parsing":
            return path, f"need a number{shown}"
        case "int_type" | "int_parsing" | "int_from_float" | "int_parsing_size":
            return path, f"not an integer{shown}"
        case "string_type":
            return path, f"need a string{shown}"
        case "string_too_short":
            return path, "must not be empty"
        case "string_too_long":
            return path, f"longer than {context['max_length']} characters{shown}"
        case "too_short":
            return path, "empty list"
        case "bool_type":
            return path, f"need true or false{shown}"
        case "tuple_type" | "list_type":
            return path, f"need a list{shown}"
        case "dict_type" | "model_type" | "model_attributes_type":
            return path, f"need an object{shown}"
        case "literal_error":
            return path, f"must be {context['expected']}{shown}"
        case "finite_number":
            return path, "not a finite number"
        case _:
            return path, f"{detail['msg']}{shown}"


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def short(value: Any) -> str:
    """Return a JSON value that fits into one line of an error."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:37] + "..."


def _suggest(record: type[BaseModel], path: Sequence[str | int]) -> str:
    """Return `: did you mean 'weight'?` when some record of this file has nearly such a key."""
    known: set[str] = set()
    _collect_keys(record, known, set())
    known.discard(str(path[-1]))  # the right key, at the wrong place
    close = difflib.get_close_matches(str(path[-1]), sorted(known), n=1)
    return f": did you mean '{close[0]}'?" if close else ""


def _collect_keys(record: type[BaseModel], known: set[str], seen: set[type]) -> None:
    if record in seen:
        return
    seen.add(record)
    for definition in [
        record.model_json_schema(),
        *record.model_json_schema().get("$defs", {}).values(),
    ]:
        known |= set(definition.get("properties", {}))


# --- writing ---------------------------------------------------------------------------------


def canonical_json(value: Any) -> str:
    """Return sorted keys, no spaces, shortest round-trip floats."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def write_text(file: str | os.PathLike[str], text: str) -> None:
    """Write a file whole or not at all: temporary file beside it, fsync, rename."""
    target = Path(file)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be written: {_reason(error)}", file=str(file)) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
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
    """Write one JSON document atomically."""
    write_text(file, json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n")
