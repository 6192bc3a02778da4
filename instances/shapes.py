"""The shape of plain JSON data that nobody vouches for: what rules ask of a schedule first."""

from collections.abc import Mapping
from typing import Any, Literal

from schedgap.errors import InputError
from schedgap.instances.records import json_path, short

Shape = Literal["object", "list", "string", "number", "boolean"]
_TYPES: Mapping[Shape, Any] = {
    "object": Mapping,
    "list": (list, tuple),
    "string": str,
    "number": (int, float),
    "boolean": bool,
}


def require(value: Any, shape: Shape, *path: str | int) -> None:
    """Refuse a value of another JSON type; true and false are no numbers."""
    wrong_bool = isinstance(value, bool) and shape != "boolean"
    if wrong_bool or not isinstance(value, _TYPES[shape]):
        need = {"boolean": "true or false", "object": "an object"}.get(shape, f"a {shape}")
        raise schedule_error(f"need {need}, got {short(value)}", *path)


Shapes = Mapping[str, Shape]  # by key


def require_keys(data: Mapping[str, Any], keys: Shapes, optional: Shapes, *path: str | int) -> None:
    """Refuse an unknown key, a missing one, and a value of another JSON type."""
    for key in data:
        if key not in keys and key not in optional:
            raise schedule_error("unknown key", *path, key)
    for key, shape in {**keys, **optional}.items():
        if key in data:
            require(data[key], shape, *path, key)
        elif key in keys:
            raise schedule_error("missing key", *path, key)


def schedule_error(message: str, *path: str | int) -> InputError:
    """Return the error at a place of the schedule."""
    return InputError(message, path=json_path(("schedule", *path)))


def is_whole(value: Any, least: int, most: int) -> bool:
    """Whether a value is an integer (1.0 is none) in a range."""
    return type(value) is int and least <= value <= most
