"""Strict JSON records, field types, and errors that name file and JSON path.

Reading and writing of JSON files is in `json_files`; its names can be imported from here too.
"""

import ast
import difflib
import inspect
import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise, zip_longest
from numbers import Real
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
from schedgap.instances.json_files import DEEPEST as DEEPEST
from schedgap.instances.json_files import canonical_json as canonical_json
from schedgap.instances.json_files import copy_json as copy_json
from schedgap.instances.json_files import json_fault
from schedgap.instances.json_files import json_path as json_path
from schedgap.instances.json_files import parse_json as parse_json
from schedgap.instances.json_files import read_bytes as read_bytes
from schedgap.instances.json_files import read_json as read_json
from schedgap.instances.json_files import short as short
from schedgap.instances.json_files import write_bytes as write_bytes
from schedgap.instances.json_files import write_json as write_json
from schedgap.instances.json_files import write_text as write_text

LARGEST = 1e12  # limit on times, weights and amounts: sums and products are then accurate
SMALLEST = 1e-9  # least positive duration, far below the tolerance of the rules
HIDDEN = "\0"  # prefix of the tags of union types, which are left out of JSON paths


class FrozenDict(dict[str, Any]):
    """An immutable dict: hashes and arrays computed from a record remain valid."""

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


def field_error(message: str, *path: str | int) -> PydanticCustomError:
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

    Equal numbers keep their notation (1 or 1.0), so unchanged data keep their hash.

    `data`: JSON data. `changes`: new values by key; None removes the key.
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
        named = {item["id"]: item for item in before if isinstance(item, dict) and "id" in item}
        if named:
            return [
                _as_written(item, named.get(item.get("id")) if isinstance(item, dict) else None)
                for item in value
            ]
        return [_as_written(*pair) for pair in zip_longest(value, before[: len(value)])]
    same = type(value) in (int, float) and type(before) in (int, float) and value == before
    return before if same else value


Item = TypeVar("Item")


def _not_null(value: Item) -> Item:
    if value is None:
        raise field_error("must not be null: leave the key out")
    return value


def _version_1(value: int) -> int:
    if value != 1:
        raise field_error(f"must be 1, got {short(value)}")
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

        `schema`: schema of the optional value.
        """
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema without a default of null.

        `schema`: schema of a value with a default.
        """
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: object) -> bool:
        """Return False, because titles derived from keys are not informative.

        `schema`: schema of a field; not used.
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
            raise field_error(f"duplicate id '{name}'", *where)
        seen.add(name)


# --- JSON data ---------------------------------------------------------------------------------


def json_data(value: Item) -> Item:
    """Return a value if it is strict JSON data, which a file can hold; for validators."""
    fault = json_fault(value)
    if fault is not None:
        raise field_error(fault[0], *fault[1])
    return value


def plain(value: object) -> Any:
    """Convert Python data with records, NumPy numbers and pandas tables to JSON data.

    A table becomes a list of objects, one for each row, without missing cells. A column
    `training_time.fast` becomes the key `fast` of an object `training_time`. An index with a name
    becomes a column. Other values that are not JSON are kept, and validation reports them.

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
            value = _with_integers(plain(cell))
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
    """Return the JSON data of a record without defaults; integral floats become integers."""
    data: dict[str, Any] = _with_integers(record.model_dump(mode="json", exclude_unset=True))
    return data


def _with_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    integral = type(value) is float and value.is_integer() and abs(value) < 2**53
    return int(value) if integral else value


# --- validation --------------------------------------------------------------------------------

RecordType = TypeVar("RecordType", bound=BaseModel)


def validate(record: type[RecordType], data: object, *path: str | int) -> RecordType:
    """Return a record from JSON data.

    Parameters
    ----------
    record : type
        Class of the record.
    data : JSON data
        Lists, dicts and plain values, as `json.loads` returns them.
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


def is_solution(data: Mapping[str, object]) -> bool:
    """Return whether JSON data are meant as a solution file, right or wrong.

    `data`: JSON data.
    """
    return {"family", "instance_sha256", "method", "status"} <= data.keys()


def is_instance(data: Mapping[str, object]) -> bool:
    """Return whether JSON data are meant as an instance file, right or wrong.

    `data`: JSON data.
    """
    return {"family", "version", "name"} <= data.keys() and "instance_sha256" not in data


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
