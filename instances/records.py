"""Strict JSON records, field types, and errors that name file and JSON path."""

import ast
import difflib
import inspect
import json
import math
import os
import re
import reprlib
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise, zip_longest
from numbers import Real
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

LARGEST = 1e12  # limit on times, weights and amounts, so that sums and products are accurate
SMALLEST = 1e-9  # least positive duration, far below the tolerance of the rules
DEEPEST = 50  # levels of a JSON document
HIDDEN = "\0"  # prefix of the tags of union types, which are left out of JSON paths


class FrozenDict(dict[str, Any]):
    """An immutable dict, so that hashes and arrays computed from a record remain valid."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError("records are frozen: use replace(...) to get a changed copy")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[object, ...]:
        return FrozenDict, (dict(self),)

    def __copy__(self) -> "FrozenDict":
        return self

    def __deepcopy__(self, memo: object) -> "FrozenDict":
        return self


class Record(BaseModel):
    """Base class of validated JSON objects: strict types, no unknown keys, finite numbers.

    Records are frozen; `replace` returns a validated copy with changes.
    """

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
    )

    def replace(self, **changes: object) -> Self:
        """Return a validated copy with some fields changed.

        Parameters
        ----------
        **changes
            New values by field: JSON data, records, or NumPy numbers and arrays. None removes an
            optional field.

        Raises
        ------
        InputError
            If the changed data are invalid; names the JSON path of the first fault.
        """
        return validate(type(self), changed(plain(self), changes))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return the (frozen) record itself, or `replace(**update)`.

        Parameters
        ----------
        update : mapping, optional
            New values by field.
        deep : bool
            Ignored.
        """
        return self.replace(**update) if update else self

    def copy(self, **arguments: Any) -> Self:  # pydantic's old name
        """Return `model_copy(**arguments)`.

        Parameters
        ----------
        **arguments
            As for `model_copy`.
        """
        return self.model_copy(**arguments)

    def __replace__(self, **changes: object) -> Self:
        return self.replace(**changes)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self


def problem(message: str, *path: str | int) -> PydanticCustomError:
    """Return an error to raise in a validator.

    Parameters
    ----------
    message : str
        What is wrong.
    *path : str or int
        JSON path from the validated record to the fault.
    """
    return PydanticCustomError("schedgap", "{message}", {"message": message, "path": path})


def changed(data: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, Any]:
    """Return JSON data with some keys changed.

    Equal numbers keep their notation (1 or 1.0), so that unchanged data keep their hash.

    Parameters
    ----------
    data : mapping
        JSON data.
    changes : mapping
        New values by key; None removes the key.
    """
    merged = dict(data)
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _as_written(plain(value), data.get(key))
    return merged


def _as_written(value: object, before: object) -> object:
    """Return JSON data in which numbers equal to those in `before` keep their notation."""
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


Item = TypeVar("Item")


def _not_null(value: Item) -> Item:
    if value is None:
        raise problem("must not be null: leave the key out")
    return value


def _version_1(value: int) -> int:
    if value != 1:
        raise problem(f"must be 1, got {short(value)}")
    return value


Id = Annotated[str, Field(min_length=1, max_length=200)]
NonNegative = Annotated[float, Field(ge=0, le=LARGEST)]
Positive = Annotated[float, Field(ge=SMALLEST, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Version = Annotated[int, AfterValidator(_version_1), Field(json_schema_extra={"const": 1})]
Many = Annotated[tuple[Item, ...], Field(strict=False)]  # a JSON array
Keyed = Annotated[dict[str, Item], AfterValidator(FrozenDict)]  # a JSON object of free keys
NonEmpty = Annotated[tuple[Item, ...], Field(strict=False, min_length=1)]
Absent = Annotated[Item | None, BeforeValidator(_not_null)]  # optional key, with default None


class FileSchema(GenerateJsonSchema):
    """The JSON Schema of a file: `Absent` keys are optional but never null; no default titles.

    The docstrings of attributes become descriptions. They are read here, from the source, because
    pydantic's `use_attribute_docstrings` would read them whenever a class is imported.
    """

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of a record, its keys with their descriptions."""
        found = super().model_schema(schema)
        for name, text in _attribute_docstrings(schema["cls"]).items():
            found["properties"][name]["description"] = text
        return found

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Return the schema of the value without null.

        Parameters
        ----------
        schema : NullableSchema
            Schema of the optional value.
        """
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema without a default of null.

        Parameters
        ----------
        schema : WithDefaultSchema
            Schema of a value with a default.
        """
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: object) -> bool:
        """Return False, because titles derived from keys are not informative.

        Parameters
        ----------
        schema : CoreSchema
            Schema of a field; not used.
        """
        return False


def _attribute_docstrings(record: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings of a record's attributes, inherited ones included, by name."""
    texts: dict[str, str] = {}
    for base in reversed(record.__mro__):
        if not issubclass(base, Record):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for statement, after in pairwise(body.body):
            match statement, after:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ) if name in record.model_fields:
                    texts[name] = inspect.cleandoc(text)
    return texts


def require_unique(ids: Iterable[str], *path: str | int, key: str | None = "id") -> None:
    """Raise an error for a duplicate id; its path names the second occurrence.

    Parameters
    ----------
    ids : iterable of str
        Ids in the order of the list.
    *path : str or int
        JSON path of the list.
    key : str or None
        Key of the id in each item; None if the items are ids.
    """
    seen: set[str] = set()
    for index, name in enumerate(ids):
        if name in seen:
            where = (*path, index) if key is None else (*path, index, key)
            raise problem(f"duplicate id '{name}'", *where)
        seen.add(name)


# --- reading ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Duplicate:
    """Marks an object with a duplicate key."""

    key: str


_TOO_LARGE = object()  # marks an integer that exceeds every float


def _integer(digits: str) -> object:
    return int(digits) if len(digits) <= 310 else _TOO_LARGE


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | _Duplicate:
    data = dict(pairs)
    if len(data) == len(pairs):
        return data
    count = Counter(key for key, _ in pairs)
    return _Duplicate(next(key for key, _ in pairs if count[key] > 1))


def json_path(parts: Iterable[str | int]) -> str:
    """Return a path as text, such as `jobs[1].training_time.T4`.

    Parameters
    ----------
    parts : iterable of str or int
        Keys and indices.
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


def _fault(value: Any, depth: int = 0) -> Fault | None:
    """Return the first violation of strict JSON that Python's parser accepts, or None."""
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
            fault = _fault(item, depth + 1)
            if fault is not None:
                return fault[0], (key, *fault[1])
        return None
    if kind is _Duplicate:
        return "duplicate key", (value.key,)
    if value is _TOO_LARGE or (kind is int and abs(value) >= 10**310):
        return "number too large", ()
    known = kind in (int, bool, type(None))
    return None if known else (f"a value of type {kind.__name__} is no JSON data", ())


def json_data(value: Item) -> Item:
    """Return a value if it is strict JSON data, which a file can hold; for validators.

    Parameters
    ----------
    value : object
        The value.
    """
    fault = _fault(value)
    if fault is not None:
        raise problem(fault[0], *fault[1])
    return value


def _is_text(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def parse_json(text: str | bytes) -> Any:
    """Parse one strict JSON document.

    Parameters
    ----------
    text : str or bytes
        The document.

    Raises
    ------
    InputError
        If it is not JSON, or has duplicate keys, NaN or trailing data.
    """
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


def copy_json(value: object) -> Any:
    """Return a deep copy of JSON data.

    Parameters
    ----------
    value : JSON data
        The data.
    """
    if isinstance(value, Mapping):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [copy_json(item) for item in value]
    return value


def plain(value: object) -> Any:
    """Convert Python data with records, NumPy numbers and pandas tables to JSON data.

    A table becomes a list of objects, one for each row, without the cells that are missing; a
    column `training_time.fast` becomes the key `fast` of an object `training_time`, and an index
    with a name becomes a column. Other values that are not JSON are kept, so that validation
    reports them.

    Parameters
    ----------
    value : object
        The data.

    Raises
    ------
    InputError
        If they are nested too deeply, or contain themselves.
    """
    try:
        return _plain(value)
    except RecursionError:
        raise InputError("nested too deeply") from None


def _plain(value: object) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is float or kind is bool or value is None:
        return value
    if isinstance(value, BaseModel):
        return plain_record(value)
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, tuple) else _plain(key): _plain(item)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "columns") and hasattr(value, "to_dict"):  # a table of pandas
        return _table_rows(value)
    if hasattr(value, "tolist"):  # numbers and arrays of NumPy and pandas
        listed = value.tolist()
        return float(value) if type(listed) is kind else _plain(listed)  # type: ignore[arg-type]
    if isinstance(value, Real | Decimal) and not isinstance(value, int | float):
        return _number_of(value)
    return value


def _number_of(value: Real | Decimal) -> float:
    """Return a fraction or a decimal number as the nearest float."""
    try:
        return float(value)
    except (OverflowError, ValueError):  # too large; a signalling NaN
        return math.nan


def _table_rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a pandas DataFrame as JSON data."""
    named = [str(name) for name in table.index.names if name is not None]
    columns = Counter([*named, *map(str, table.columns)])
    for column, count in columns.items():
        if count > 1:
            raise InputError(f"a table has {count} columns '{column}'")
    if named:
        table = table.reset_index()
    rows: list[dict[str, Any]] = []
    for cells in table.to_dict("records"):
        row: dict[str, Any] = {}
        for column, cell in cells.items():
            value = _whole(plain(cell))
            if value is None or value != value or type(value).__name__ == "NAType":
                continue  # missing
            *outer, key = str(column).split(".")
            place = row
            for name in outer:
                place = place.setdefault(name, {})
                if not isinstance(place, dict):
                    raise InputError(f"a table has both '{name}' and '{column}' as columns")
            if key in place:
                raise InputError(f"a table has '{column}' in two columns")
            place[key] = value
        rows.append(row)
    return rows


class Schedule(Record):
    """Base class of schedules that a solution file stores as they are: records of JSON data."""

    def to_data(self, instance: Any) -> dict[str, Any]:
        """Return the `schedule` of a solution file.

        Parameters
        ----------
        instance : Instance
            The instance; a schedule that is stored in another form may need it.
        """
        return self.model_dump(mode="json")


def plain_record(record: BaseModel) -> dict[str, Any]:
    """Return the JSON data of a record without defaults; integral floats become integers.

    Parameters
    ----------
    record : BaseModel
        The record.
    """
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
    """Return the bytes of a file.

    Parameters
    ----------
    file : path
        The file.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise InputError(f"cannot be read: {_reason(error)}", file=str(file)) from None


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def read_json(file: str | os.PathLike[str]) -> Any:
    """Return the content of a strict JSON file.

    Parameters
    ----------
    file : path
        The file.

    Raises
    ------
    InputError
        If the file cannot be read or is not strict JSON.
    """
    try:
        return parse_json(read_bytes(file))
    except InputError as error:
        raise error.inside(str(file)) from None


RecordType = TypeVar("RecordType", bound=BaseModel)


def validate(record: type[RecordType], data: object, *path: str | int) -> RecordType:
    """Return a record from JSON data.

    Parameters
    ----------
    record : type
        Class of the record.
    data : JSON data
        The data.
    *path : str or int
        JSON path of the data in their file.

    Raises
    ------
    InputError
        If the data are invalid; names the JSON path of the first fault.
    """
    if not isinstance(data, Mapping):
        raise InputError("need one JSON object", path=json_path(path))
    try:
        return record.model_validate(data)
    except ValidationError as error:
        first = min(error.errors(include_url=False), key=_importance)
        place, message = _explain(record, first)
        raise InputError(message, path=json_path([*path, *place])) from None
    except RecursionError:
        raise InputError("nested too deeply", path=json_path(path)) from None


def _importance(detail: ErrorDetails) -> int:
    """Return a sort key: unknown keys first, because a misspelt key also causes a missing one."""
    return {"extra_forbidden": 0, "missing": 1}.get(detail["type"], 2)


def _explain(record: type[BaseModel], detail: ErrorDetails) -> tuple[Sequence[str | int], str]:
    loc = detail["loc"]
    # an unknown key is the last part and must be shown, even if it starts like a tag
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
            return path, f"too large{shown}"  # an integer that exceeds every float
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


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def short(value: object) -> str:
    """Return a value as text of at most 40 characters, as JSON if it can be.

    Parameters
    ----------
    value : object
        The value.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):  # keys that are no texts; data that contain themselves
        text = reprlib.repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _suggest(record: type[BaseModel], path: Sequence[str | int]) -> str:
    """Return a hint such as `: did you mean 'weight'?` if a similar key exists."""
    keys: set[str] = set()
    _collect_keys(record, keys, set())
    keys.discard(str(path[-1]))  # a known key, but in the wrong place
    close = difflib.get_close_matches(str(path[-1]), sorted(keys), n=1)
    return f": did you mean '{close[0]}'?" if close else ""


def _collect_keys(record: type[BaseModel], keys: set[str], seen: set[type]) -> None:
    if record in seen:
        return
    seen.add(record)
    for definition in [
        record.model_json_schema(),
        *record.model_json_schema().get("$defs", {}).values(),
    ]:
        keys |= set(definition.get("properties", {}))


# --- writing ---------------------------------------------------------------------------------


def canonical_json(value: object) -> str:
    """Return canonical JSON: sorted keys, no spaces, shortest round-trip floats.

    Parameters
    ----------
    value : JSON data
        The data.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def write_text(file: str | os.PathLike[str], text: str) -> None:
    """Write a file atomically: write a temporary file, fsync, rename.

    Parameters
    ----------
    file : path
        The file.
    text : str
        Its content.

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
    """Write a JSON document atomically.

    Parameters
    ----------
    file : path
        The file.
    value : JSON data
        Its content.
    indent : int or None
        Indentation; None for one line.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    write_text(file, json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n")
