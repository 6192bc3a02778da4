"""What every family's instance is: a strict record that keeps the JSON data it was made of."""

import hashlib
import html
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

from pydantic import Field, PrivateAttr

from schedgap.instances.records import (
    FileSchema,
    FrozenDict,
    Id,
    Keyed,
    Record,
    Version,
    canonical_json,
    changed,
    copy_json,
    plain,
    plain_record,
    validate,
)


class Instance(Record):
    """A whole problem. Make one with `from_data`, `schedgap.load` or `schedgap.generate`.

    Order of a list carries no meaning beyond tie-breaking. `meta` is free.
    """

    title: ClassVar[str] = ""  # one line on the family's problem

    family: str
    version: Version
    """Of the file's layout."""
    name: Id
    """Shown in tables; not part of what a solution refers to."""
    meta: Keyed[Any] = Field(default_factory=FrozenDict)
    """Free, apart from what the family asks for; not part of what a solution refers to."""

    _data: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return the instance that plain JSON data describe; NumPy numbers may stand among them.

        Raises
        ------
        InputError
            With the JSON path of the first thing that is wrong.
        """
        given = plain(data)
        instance = validate(cls, given)
        instance._data = given
        return instance

    def replace(self, **changes: Any) -> Self:
        """Return an instance with some keys changed, checked anew, with a hash of its own.

        Parameters
        ----------
        **changes
            Keys of the instance file by name: plain JSON data, records such as `instance.jobs[0]`
            or its `replace(...)`, NumPy numbers and arrays. None leaves a key out.

        Raises
        ------
        InputError
            With the JSON path of the first thing that is wrong.
        """
        return self.from_data(changed(self.to_data(), changes))

    def to_data(self) -> dict[str, Any]:
        """Return the JSON data of the instance file, as they were given."""
        if self._data:
            copied: dict[str, Any] = copy_json(self._data)
            return copied
        return plain_record(self)

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON without `meta` and `name`: what a solution refers to."""
        data = self._data or plain_record(self)
        kept = {key: value for key, value in data.items() if key not in ("meta", "name")}
        return hashlib.sha256(canonical_json(kept).encode()).hexdigest()

    @classmethod
    def schema_of_file(cls) -> dict[str, Any]:
        """Return the JSON Schema (draft 2020-12) of the instance file.

        It holds every rule on one key; rules across keys, such as unique ids, are `from_data`'s.
        """
        found = cls.model_json_schema(schema_generator=FileSchema)
        dialect = "https://json-schema.org/draft/2020-12/schema"
        return {"$schema": dialect, **found, "title": f"schedgap instance: {cls.title}"}

    def warnings(self) -> tuple[str, ...]:
        """Return what is allowed but breaks an assumption of the paper, in one line each."""
        return ()

    def summary(self) -> dict[str, str]:
        """Return a few words on the size, for tables and notebooks."""
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
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
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for key, value in self.summary().items()
        )
        return f"<b>{html.escape(self.name)}</b> ({html.escape(self.family)})<table>{rows}</table>"
