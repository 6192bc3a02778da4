"""Base class of all families' instances."""

import hashlib
import html
import os
from collections.abc import Mapping
from functools import cached_property, wraps
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, PrivateAttr

from schedgap.instances import contract
from schedgap.instances.contract import Guard
from schedgap.instances.records import (
    FileSchema,
    FrozenDict,
    Id,
    Record,
    Version,
    canonical_json,
    changed,
    copy_json,
    json_data,
    plain,
    plain_record,
    validate,
    write_json,
)

_PARTS: Mapping[str, contract.Accept] = {  # members that a class may define
    "summary": contract.named_texts,
    "demands": contract.demands,
    "warnings": contract.texts,
}


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def _guarded(part: str, method: Any, accept: contract.Accept) -> Any:
    """Return a method of a class of another package, which is checked as functions of families."""
    if not callable(method):
        return method

    @wraps(method)
    def checked(instance: "Instance") -> Any:
        return Guard(instance.family, f"instances: {part}", method, accept)(instance)

    return checked


class Instance(Record):
    """An instance of a problem, created by `from_data`, `schedgap.load` or `schedgap.generate`.

    The order of a list matters only for breaking ties.
    """

    title: ClassVar[str] = ""  # the family's problem in one line

    family: str
    version: Version
    """Version of the file format."""
    name: Id
    """Shown in tables; not part of the hash."""
    meta: Annotated[dict[str, Any], AfterValidator(json_data), AfterValidator(FrozenDict)] = Field(
        default_factory=FrozenDict
    )
    """Free data, apart from keys that the family requires; not part of the hash."""

    _data: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for part, accept in _PARTS.items():
            if part in cls.__dict__ and not _is_ours(cls):
                setattr(cls, part, _guarded(part, cls.__dict__[part], accept))

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> Self:
        """Return an instance from JSON data; `Instance` itself returns one of the family they name.

        Parameters
        ----------
        data : mapping
            Content of an instance file; NumPy numbers and pandas tables are accepted too.

        Raises
        ------
        InputError
            If the data are invalid; names the JSON path of the first fault.
        """
        if cls is Instance:
            from schedgap.instances import families

            found: Any = families.from_data(data)
            return found  # type: ignore[no-any-return]
        given = plain(data)
        name = given.get("family") if isinstance(given, Mapping) else ""
        part = f"instances: {cls.__name__}"
        read = validate if _is_ours(cls) else Guard(str(name), part, validate, contract.anything)
        instance: Self = read(cls, given)
        instance._data = given
        return instance

    def replace(self, **changes: object) -> Self:
        """Return a validated copy of the instance with some keys changed.

        Parameters
        ----------
        **changes
            New values by key: JSON data, records such as `instance.jobs[0]` or its
            `replace(...)`, NumPy numbers and arrays, pandas tables. None removes a key.

        Raises
        ------
        InputError
            If the changed data are invalid; names the JSON path of the first fault.
        """
        return self.from_data(changed(self.to_data(), changes))

    def to_data(self) -> dict[str, Any]:
        """Return the JSON data of the instance file, as they were read."""
        if self._data:
            copied: dict[str, Any] = copy_json(self._data)
            return copied
        return plain_record(self)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the instance file.

        Parameters
        ----------
        file : path
            The file; one that exists is replaced.
        """
        write_json(file, self.to_data())

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON without `meta` and `name`, to which solutions refer."""
        data = self._data or plain_record(self)
        hashed = {key: value for key, value in data.items() if key not in ("meta", "name")}
        return hashlib.sha256(canonical_json(hashed).encode()).hexdigest()

    @classmethod
    def schema_of_file(cls) -> dict[str, Any]:
        """Return the JSON Schema (draft 2020-12) of the instance file.

        It has the rules that concern one key; `from_data` also checks rules across keys.
        """
        schema = cls.model_json_schema(schema_generator=FileSchema)
        dialect = "https://json-schema.org/draft/2020-12/schema"
        return {"$schema": dialect, **schema, "title": f"schedgap instance: {cls.title}"}

    def warnings(self) -> tuple[str, ...]:
        """Return one line for each assumption of the paper that the instance violates."""
        return ()

    def summary(self) -> dict[str, str]:
        """Return the size of the instance as texts by name, for tables and notebooks.

        By default the lengths of its lists of records, and its integers.
        """
        keys = type(self).model_fields.keys() - Instance.model_fields.keys()
        values = {key: getattr(self, key) for key in type(self).model_fields if key in keys}
        return {
            key.replace("_", " "): str(len(value) if isinstance(value, tuple) else value)
            for key, value in values.items()
            if type(value) is int
            or (isinstance(value, tuple) and all(isinstance(item, Record) for item in value))
        }

    def demands(self) -> tuple[str, list[float]]:
        """Return what the picture shows of the jobs: a name, and a number for each job."""
        return "", []

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).from_data, (self.to_data(),)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instance) and other.sha256 == self.sha256

    def __repr__(self) -> str:
        facts = ", ".join(f"{key} {value}" for key, value in self.summary().items())
        return f"<{self.family} instance {self.name!r}: {facts}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from schedgap.instances.page import instance_page

        return instance_page(self)


def html_table(facts: Mapping[str, str]) -> str:
    """Return an HTML table with a row for each fact, for notebooks.

    `facts`: texts by name.
    """
    rows = (
        f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for key, value in facts.items()
    )
    return f"<table>{''.join(rows)}</table>"
